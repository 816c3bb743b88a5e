#!/usr/bin/python3
"""docs/architecture.md names every state and event that `rkb-mpi --explain-states` prints and that
matters, and none that it does not have."""
import os
import re
import subprocess
import sys

SOURCE, BINARY = os.environ["RKB_SOURCE_DIR"], os.environ["RKB_BINARY_DIR"]
# Events that change nothing but a clock or a log.
QUIET = {"BEAT", "STALE_RESULT"}


def main():
    text = subprocess.run([f"{BINARY}/bin/rkb-mpi", "--explain-states"], capture_output=True,
                          text=True, check=True).stdout
    graphs = dict(re.findall(r"digraph (\w+) \{(.*?)\n\}", text, re.S))
    with open(f"{SOURCE}/docs/architecture.md", encoding="utf-8") as file:
        page = file.read()
    bad = []
    for name, body in graphs.items():
        edges = re.findall(r"(\w+) -> (\w+) \[label=\"(\w+) /", body)
        known = {word for a, b, event in edges for word in (a, b, event)}
        table = re.search(rf"^\| {name}\b[^\n]*\| event → next \|\n.*?(?=\n\n)", page, re.S | re.M)
        if table is None:
            bad.append(f"no table for {name}")
            continue
        rows = table.group(0).split("\n", 2)[2]
        written = set(re.findall(r"\b[A-Z][A-Z_]{3,}\b", rows)) - {"FATE"}
        bad += [f"{name}: {word} is not in the page" for word in sorted(known - written - QUIET)]
        bad += [f"{name}: the page's {word} does not exist" for word in sorted(written - known)]
    for line in bad:
        print(f"FAILED: {line}")
    print(f"{len(graphs)} life cycles")
    return 1 if bad or len(graphs) < 4 else 0


if __name__ == "__main__":
    sys.exit(main())
