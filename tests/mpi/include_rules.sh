#!/bin/sh
# Who may include whom (docs/architecture.md). usage: include_rules.sh SOURCE_FOLDER
set -eu

# rule TEXT PATTERN ALLOWED FOLDERS...: no file below the folders includes PATTERN, but for ALLOWED.
rule() {
    text=$1 pattern=$2 allowed=$3
    shift 3
    found=$(cd "$root" && find "$@" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cc' -o \
        -name '*.cpp' -o -name '*.hpp' \) -exec \
        grep -lE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" {} + |
        grep -vE "^($allowed)" || true)
    if [ -n "$found" ]; then
        echo "$text:"
        echo "$found" | sed 's/^/    /'
        failed=1
    fi
}

check() {
    root=$1 failed=0
    rule "only main and transport_mpi.c of the driver may include mpi.h" 'mpi\.h' \
        'mpi_driver/(main|transport_mpi)\.c$' common results evaluator mpi_driver
    # kernel_api is rkb's own stand-in for those headers.
    rule "only evaluator/reference/*.cc may include libtorch" '(ATen|torch|c10)/' \
        'evaluator/(reference/[^/]*\.cc$|kernel_api/)' common results evaluator mpi_driver
    rule "the driver shares only the protocol with the evaluator" 'evaluator/' 'nothing$' mpi_driver
    rule "the evaluator shares only the protocol with the driver" 'mpi_driver/' 'nothing$' evaluator
    rule "results knows common only" '(evaluator|mpi_driver)/' 'nothing$' results
    rule "common knows nobody" '(evaluator|mpi_driver|results)/' 'nothing$' common
    return $failed
}

check "$1"

# A rule that cannot be broken proves nothing: each of these must be found.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for case in 'common/a.c|mpi.h' 'mpi_driver/worker.c|mpi.h' 'evaluator/judge/a.c|ATen/ATen.h' \
    'mpi_driver/a.h|torch/torch.h' 'mpi_driver/a.c|evaluator/rkb.h' 'evaluator/a.c|mpi_driver/rank.h' \
    'results/a.c|evaluator/rkb.h' 'common/a.h|results/report.h'; do
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/common" "$scratch/tree/results" "$scratch/tree/evaluator/judge" \
        "$scratch/tree/mpi_driver"
    echo "# include <${case#*|}>" >"$scratch/tree/${case%|*}"
    if (check "$scratch/tree") >/dev/null; then
        echo "${case%|*} with ${case#*|} was not noticed"
        exit 1
    fi
done
