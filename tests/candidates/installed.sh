#!/bin/sh
# An installation works by itself: its own tasks, headers, cell and libtorch plugin.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$RKB_BINARY_DIR" --prefix "$work/inst" >"$work/log" || { cat "$work/log"; exit 1; }
cp "$RKB_SOURCE_DIR/tasks/robust-kbench/layernorm/kernels/forward/split_rows.cu" "$work/k.cu"
cd "$work"
export RKB_CACHE_DIR="$work/cache"
inst/bin/rkb doctor >doctor || { cat doctor; exit 1; }
grep -F "$work/inst/share/rkb/tasks" doctor
inst/bin/rkb eval --task layernorm --fail-on-any k.cu
test -x inst/bin/rkb-mpi -o ! -x "$RKB_BINARY_DIR/bin/rkb-mpi"
