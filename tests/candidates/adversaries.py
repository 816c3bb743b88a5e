#!/usr/bin/python3
"""Hostile candidates beside right ones, in one sweep on two ranks.

Every hostile file gets one of the verdicts that its manifest allows, every right file stays `ok`
whatever ran before it, nothing leaks (a canary file, its content, processes), and no item is
infra_error. usage: adversaries.py [zoo]   (zoo: the right files only)
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE, BINARY = os.environ["RKB_SOURCE_DIR"], os.environ["RKB_BINARY_DIR"]
HERE = os.path.join(SOURCE, "tests/candidates")
CANARY, SECRET = "/tmp/rkb-canary", "canary-secret-4711"


def plant():
    shutil.rmtree(CANARY, ignore_errors=True)
    os.mkdir(CANARY)
    for name, text, mode in (("keep", "alive\n", 0o644), ("secret", SECRET + "\n", 0o600)):
        with open(f"{CANARY}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(f"{CANARY}/{name}", mode)


def canary_damage():
    found = {}
    for name in sorted(os.listdir(CANARY)):
        with open(f"{CANARY}/{name}", encoding="utf-8", errors="replace") as file:
            found[name] = file.read()
    whole = {"keep": "alive\n", "secret": SECRET + "\n"}
    return [] if found == whole else [f"the canary was touched: {found}"]


def leaks(*folders):
    out = []
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(parent, name), "rb") as file:
                    if SECRET.encode() in file.read():
                        out.append(f"{parent}/{name} holds the secret")
    return out


def processes_left(mark):
    out = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                command = file.read().replace(b"\0", b" ").decode(errors="replace")
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                name = file.read().strip()
        except OSError:
            continue
        if name == "rkb-hostile" or mark in command and int(pid) != os.getpid():
            out.append(f"process {pid} is left: {command or name}")
    return out


def wrong_verdicts(report, hostile):
    out, seen = [], set()
    for item in report["items"]:
        key = f"{item['task'].split('/')[-1]}/{item['direction']}/{item['candidate']}.cu"
        seen.add(key)
        allowed = hostile.get(key, {"verdicts": ["ok"]})["verdicts"]
        if item["verdict"] not in allowed:
            out.append(f"{key} {item['config']}: {item['verdict']}, expected {' or '.join(allowed)}: "
                       f"{item['detail']}")
    return out + [f"{key} was not judged" for key in hostile if key not in seen]


def main():
    zoo_only = sys.argv[1:] == ["zoo"]
    if shutil.which("mpirun") is None:
        print("SKIP: no mpirun")
        return 77
    env = dict(os.environ, OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_ALLOW_RUN_AS_ROOT="1",
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               ASAN_OPTIONS="detect_leaks=0")  # Open MPI leaks at exit
    hostile = {}
    kernels = ["--kernels", f"{HERE}/zoo"]
    if not zoo_only:
        with open(f"{HERE}/hostile/expected.json", encoding="utf-8") as file:
            hostile = json.load(file)["kernels"]
        kernels += ["--kernels", f"{HERE}/hostile"]
    with tempfile.TemporaryDirectory(prefix="rkb-adversaries-") as work:
        plant()
        run = subprocess.run(
            ["mpirun", "-np", "2", f"{BINARY}/bin/rkb-mpi", "--device", "cpu", "--tasks",
             f"{SOURCE}/tasks", *kernels, "--configs", "smoke", "--timeout", "10s",
             "--compile-timeout", "60s", "--cache-dir", f"{work}/cache", "--progress", "never",
             "--out", f"{work}/run"], env=env, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            print(run.stdout[-4000:], run.stderr[-4000:])
            print(f"FAILED: exit code {run.returncode}")
            return 1
        with open(f"{work}/run/report.json", encoding="utf-8") as file:
            report = json.load(file)
        problems = (wrong_verdicts(report, hostile) + canary_damage() +
                    leaks(f"{work}/run", f"{work}/cache") + processes_left(work))
        shutil.rmtree(CANARY)
    for problem in problems:
        print(f"FAILED: {problem}")
    print(f"{len(report['items'])} items, {len(problems)} problems")
    return 1 if problems or not report["items"] else 0


if __name__ == "__main__":
    sys.exit(main())
