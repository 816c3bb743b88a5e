# Sourced by the sweep tests: the real programs over the sample candidates, in a scratch folder.
set -eu
: "${RKB_SOURCE_DIR:?set by CTest}" "${RKB_BINARY_DIR:?set by CTest}"
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}"
command -v mpirun >/dev/null || { echo "SKIP: no mpirun"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# One cache for all sweep tests of this build: what one compiled, the others find.
export RKB_CACHE_DIR="${RKB_TEST_CACHE_DIR:-$RKB_BINARY_DIR/tests/sweep-cache}"

# sweep RANKS OUT [options]: judges the samples with `smoke` configs.
sweep() {
    ranks=$1 out=$2
    shift 2
    mpirun -np "$ranks" "$RKB_BINARY_DIR/bin/rkb-mpi" --device cpu --tasks "$RKB_SOURCE_DIR/tasks" \
        --samples --configs smoke --timeout 10s --progress never --out "$out" "$@"
}

reports() {
    /usr/bin/python3 "$RKB_SOURCE_DIR/tests/mpi/reports.py" "$@"
}
