#!/usr/bin/python3
"""Compares reports of rkb-mpi.

reports.py samples REPORT          every sample has the verdict and flags of its expected.json
reports.py equal REPORT REPORT...  the reports differ only in ranks, times, paths and order
"""
import json
import sys

# What may differ between two runs of one sweep: where and when an item ran.
VOLATILE = {"rank", "device", "eval_s", "compile_s", "candidate_ms", "baseline_ms", "speedup", "log"}


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def key(item):
    return (item["task"], item["direction"], item["candidate"], item["config"])


def check_samples(path):
    report = load(path)
    wrong, without = [], []
    for item in report["items"]:
        expected = (item.get("meta") or {}).get("expected")
        if expected is None:
            without.append(key(item))
            continue
        missing = [flag for flag in expected.get("flags", []) if flag not in item["flags"]]
        if item["verdict"] != expected["verdict"] or missing:
            wrong.append((key(item), expected["verdict"], item["verdict"], missing, item["detail"]))
    for where, want, got, missing, detail in wrong:
        print(f"{' '.join(where)}: expected {want}, got {got} {missing or ''}: {detail}")
    for where in without:
        print(f"{' '.join(where)}: no expected verdict in its manifest")
    print(f"{len(report['items'])} items, {len(wrong)} with another verdict, {len(without)} without one")
    return not wrong and not without and len(report["items"]) > 0


def stable(path):
    report = load(path)
    items = {}
    for item in report["items"]:
        if key(item) in items:
            raise SystemExit(f"{path}: {key(item)} is there twice")
        items[key(item)] = {k: v for k, v in item.items() if k not in VOLATILE}
    summary = {k: v for k, v in report["summary"].items()
               if k in ("items", "by_verdict", "correct_rate")}
    return {"items": items, "summary": summary, "notices": sorted(map(str, report.get("notices", [])))}


def check_equal(paths):
    first = stable(paths[0])
    same = True
    for path in paths[1:]:
        other = stable(path)
        for where in sorted(set(first["items"]) | set(other["items"])):
            a, b = first["items"].get(where), other["items"].get(where)
            if a != b:
                same = False
                keys = [k for k in (a or {}) if a.get(k) != (b or {}).get(k)] if a and b else []
                print(f"{path}: {' '.join(where)} differs in {keys or 'presence'}")
                for k in keys:
                    print(f"    {a.get(k)!r}\n    {b.get(k)!r}")
        for part in ("summary", "notices"):
            if first[part] != other[part]:
                same = False
                print(f"{path}: {part} differs: {first[part]} {other[part]}")
    print(f"{len(paths)} reports of {len(first['items'])} items: {'equal' if same else 'different'}")
    return same and len(first["items"]) > 0


def main(argv):
    if len(argv) == 3 and argv[1] == "samples":
        return 0 if check_samples(argv[2]) else 1
    if len(argv) >= 4 and argv[1] == "equal":
        return 0 if check_equal(argv[2:]) else 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv))
