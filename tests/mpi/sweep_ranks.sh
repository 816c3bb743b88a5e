#!/bin/sh
# The same sweep with 1, 4 and 7 ranks gives the same report but for ranks, times and order, and every
# sample has its manifest's verdict.
. "$(dirname "$0")/sweep_lib.sh"
for ranks in 4 1 7; do
    sweep $ranks "$work/np$ranks" --seed 20261201
done
reports samples "$work/np4/report.json"
reports equal "$work/np4/report.json" "$work/np1/report.json" "$work/np7/report.json"
