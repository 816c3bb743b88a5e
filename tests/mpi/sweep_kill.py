#!/usr/bin/python3
"""kill -9 of the whole job at random moments, then --resume.

The final report must equal the undisturbed one, and what the ranks had started (evaluators, cells,
compile jobs) must be gone soon after them. usage: sweep_kill.py [TIMES]
"""
import os
import random
import signal
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE, BINARY = os.environ["RKB_SOURCE_DIR"], os.environ["RKB_BINARY_DIR"]
REPORTS = ["/usr/bin/python3", os.path.join(SOURCE, "tests/mpi/reports.py")]


def sweep_command(out, cache, *more):
    return ["mpirun", "-np", "4", os.path.join(BINARY, "bin/rkb-mpi"), "--device", "cpu", "--tasks",
            os.path.join(SOURCE, "tasks"), "--samples", "--configs", "smoke", "--timeout", "10s",
            "--progress", "never", "--seed", "7", "--cache-dir", cache, "--out", out, *more]


def processes():
    """pid -> (parent, name)"""
    table = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        name = text[text.index("(") + 1:text.rindex(")")]
        state, parent = text[text.rindex(")") + 2:].split()[:2]
        if state != "Z":
            table[int(pid)] = (int(parent), name)
    return table


def descendants(root):
    table = processes()
    found, todo = {root}, [root]
    while todo:
        parent = todo.pop()
        for pid, (its_parent, _) in table.items():
            if its_parent == parent and pid not in found:
                found.add(pid)
                todo.append(pid)
    return {pid: table[pid][1] for pid in found if pid in table}


def run(command, log, env):
    with open(log, "wb") as file:
        return subprocess.run(command, stdout=file, stderr=file, env=env, check=False).returncode


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    if shutil.which("mpirun") is None:
        print("SKIP: no mpirun")
        return 77
    env = dict(os.environ, OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_ALLOW_RUN_AS_ROOT="1",
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               ASAN_OPTIONS="detect_leaks=0")  # Open MPI leaks at exit
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    print(f"moments from random seed {seed}")
    with tempfile.TemporaryDirectory() as work:
        start = time.monotonic()
        code = run(sweep_command(f"{work}/whole", f"{work}/cache0"), f"{work}/log", env)
        whole = time.monotonic() - start
        if code != 0:
            print(open(f"{work}/log", encoding="utf-8", errors="replace").read())
            return 1
        print(f"undisturbed: {whole:.1f} s")
        for i in range(1, times + 1):
            out, cache = f"{work}/killed{i}", f"{work}/cache{i}"
            delay = rng.uniform(0, whole)
            with open(f"{work}/log{i}", "wb") as log:
                job = subprocess.Popen(sweep_command(out, cache), stdout=log, stderr=log, env=env,
                                       start_new_session=True)
            time.sleep(delay)
            family = descendants(job.pid)
            for pid, name in family.items():
                if name in ("mpirun", "orterun", "orted", "prterun", "rkb-mpi"):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            job.wait()
            deadline = time.monotonic() + 10
            left = family
            while left and time.monotonic() < deadline:
                alive = processes()
                left = {pid: name for pid, name in family.items()
                        if pid in alive and alive[pid][1] == name}
                time.sleep(0.05)
            if left:
                print(f"after {delay:.1f} s: still alive 10 s after the ranks: {left}")
                return 1
            done = 0
            if os.path.exists(f"{out}/journal.jsonl"):
                with open(f"{out}/journal.jsonl", "rb") as file:
                    done = sum(b'"type":"result"' in line for line in file)
            code = run(sweep_command(out, cache, "--resume"), f"{work}/log{i}r", env)
            if code != 0:
                print(open(f"{work}/log{i}r", encoding="utf-8", errors="replace").read())
                return 1
            print(f"killed after {delay:.1f} s, {done} results journalled, resumed")
            code = subprocess.run(REPORTS + ["equal", f"{work}/whole/report.json",
                                             f"{out}/report.json"], check=False).returncode
            if code != 0:
                return 1
            shutil.rmtree(cache, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
