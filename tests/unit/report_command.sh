#!/bin/sh
# Exit codes and forms of `rkb report`.
tool=$1
golden=$RKB_SOURCE_DIR/tests/unit/report
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0

expect() { # code, words that the output must hold, arguments
    want=$1 words=$2
    shift 2
    output=$("$tool" "$@" 2>&1)
    code=$?
    case $output in
    *"$words"*) ;;
    *) echo "rkb report $*: no \"$words\" in: $output"; failed=1 ;;
    esac
    [ $code = "$want" ] || { echo "rkb report $*: exit $code instead of $want: $output"; failed=1; }
}

run=$folder/run
mkdir "$run" && cp "$golden/run.json" "$golden/journal.jsonl" "$run"

expect 0 "usage: rkb report" --help
expect 2 "give one RUN_DIR"
expect 2 "did you mean mismatch?" "$run" --fail-on mismach
expect 2 "no metric" "$run" --fail-on 'speed<1'
expect 2 "is not a number" "$run" --fail-on 'correct_rate<x'
expect 2 "no such folder" "$folder/none"
[ -e "$run/report.json" ] && { echo "a refused call wrote a report"; failed=1; }
expect 0 "6 of 11 right" "$run"
for file in json csv md; do
    [ -s "$run/report.$file" ] || { echo "no report.$file"; failed=1; }
    "$tool" "$run" --format $file | cmp - "$run/report.$file" || failed=1
done
expect 0 "and 5 more" "$run" --failures 1
expect 1 "condition met: any" "$run" --fail-on any
expect 1 "condition met: crash" "$run" --fail-on tampering --fail-on crash
expect 1 "condition met: nondeterministic" "$run" --fail-on nondeterministic
expect 0 "" "$run" --fail-on tampering --fail-on 'correct_rate<0.5' --fail-on 'fast_p[1.0]<0.18'
expect 1 "condition met: correct_rate<0.6" "$run" --fail-on 'correct_rate<0.6'
expect 1 "condition met: fast_p[2.0]<=0" "$run" --fail-on 'fast_p[2.0]<=0'
expect 1 "condition met: unjudged>0" "$run" --fail-on 'unjudged>0'
expect 0 "" "$run" --fail-on 'geomean_speedup<1.18' --fail-on 'items>=13'

# Up to date: left alone. Out of date: made anew.
sleep 0.02; echo stamp > "$run/report.json"
expect 0 "stamp" "$run" --format json
sleep 0.02; touch "$run/journal.jsonl"
expect 0 '"rkb-report/1"' "$run" --format json
echo stamp > "$run/report.json"
expect 0 '"rkb-report/1"' "$run" --format json --rewrite

sed -i 's|rkb-run/1|rkb-run/9|' "$run/run.json"
expect 2 "schema is rkb-run/9; this rkb reads rkb-run/1" "$run"
rm "$run/run.json"
expect 0 "6 of 11 right" "$run"
sed -i '3s/.*/broken/' "$run/journal.jsonl"
expect 2 "line 3 is broken" "$run"
rm "$run/journal.jsonl"
expect 2 "journal.jsonl: No such file" "$run" --rewrite
[ $failed = 0 ] && echo "rkb report behaves"
exit $failed
