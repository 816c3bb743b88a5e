#!/bin/sh
# rkb-mpi links MPI and nothing of CUDA, NCCL or libtorch. usage: driver_links.sh PROGRAM
set -eu
libraries=$(ldd "$1" | sed 's/ (0x[0-9a-f]*)$//')
echo "$libraries" | grep -Eq 'libmpi|libmpich' || { echo "no MPI library: $libraries"; exit 1; }
if echo "$libraries" | grep -Ei '/lib[^/]*(cuda|nvrtc|nvidia|nvml|nccl|torch|c10)[^/]*$'; then
    echo "these must not be linked into the driver"
    exit 1
fi
