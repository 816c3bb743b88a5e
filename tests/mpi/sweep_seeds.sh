#!/bin/sh
# No wrong sample passes and no right one fails, whatever the seed. usage: sweep_seeds.sh RUNS
. "$(dirname "$0")/sweep_lib.sh"
for run in $(seq "${1:-3}"); do
    sweep 4 "$work/run$run" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    reports samples "$work/run$run/report.json"
done
