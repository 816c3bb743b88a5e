#!/usr/bin/python3
"""rkb-mpi under mpirun with a scripted evaluator. usage: driver_mpi.py CASE

Each case is a function below. Exit code 0: passed, 77: cannot run here, else: failed.
"""
import fcntl
import json
import os
import pty
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

BINARY = os.environ["RKB_BINARY_DIR"]
DRIVER = os.path.join(BINARY, "bin/rkb-mpi")
FAKE = os.path.join(BINARY, "tests/fake_evaluator")
ENV = dict(os.environ, OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_ALLOW_RUN_AS_ROOT="1",
           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
ENV.setdefault("ASAN_OPTIONS", "detect_leaks=0")  # Open MPI leaks by itself


def command(ranks, out, *more):
    launcher = ["mpirun", "-np", str(ranks)] if ranks else []
    return launcher + [DRIVER, "--tasks", WORK, "--seed", "7", "--out", f"{WORK}/{out}", *more]


def start(ranks, out, spec, *more, **env):
    log = open(f"{WORK}/log", "wb")
    return subprocess.Popen(command(ranks, out, *more), stdout=log, stderr=log,
                            env=dict(ENV, RKB_EVALUATOR=f"{FAKE} state={WORK} {spec}", **env),
                            start_new_session=True)


def run(ranks, out, spec, *more, expect=0, timeout=60, **env):
    job = start(ranks, out, spec, *more, **env)
    try:
        code = job.wait(timeout)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        code = "no end"
    said = open(f"{WORK}/log", encoding="utf-8", errors="replace").read()
    check(code == expect, f"{ranks} ranks, {spec}, {more}: exit code {code}, not {expect}\n{said}")
    return said


def check(condition, text):
    if not condition:
        raise SystemExit(f"FAILED: {text}")


def records(out, kind):
    found = []
    with open(f"{WORK}/{out}/journal.jsonl", encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if record["type"] == kind:
                found.append(record)
    return found


def results(out):
    """key -> what does not depend on where it ran; each key once"""
    found = {}
    for record in records(out, "result"):
        check(record["key"] not in found, f"{out}: {record['key']} twice")
        result = record["result"]
        found[record["key"]] = (result["verdict"], result.get("max_abs_error"))
    return found


def family(root):
    """pid -> name of root and all that it has started"""
    table = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        state, parent = text[text.rindex(")") + 2:].split()[:2]
        if state != "Z":
            table[int(pid)] = (int(parent), text[text.index("(") + 1:text.rindex(")")])
    found = {root} if root in table else set()
    grown = True
    while grown:
        more = {pid for pid, (parent, _) in table.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return {pid: table[pid][1] for pid in found}


def alive(pids):
    left = []
    for pid, name in pids.items():
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        if f"({name})" in text and text[text.rindex(")") + 2] != "Z":
            left.append((pid, name))
    return left


def wait_for(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f"{what} never happened")
        time.sleep(0.01)


def journalled(out):
    try:
        with open(f"{WORK}/{out}/journal.jsonl", "rb") as file:
            return file.read().count(b'"type":"result"')
    except OSError:
        return 0


# ---- cases ----

def ranks():
    """1, 4 and 7 ranks find the same, and mpirun is not needed for one."""
    for count in (1, 4, 7):
        run(count, f"np{count}", "items=40 notices=1")
        check(len(records(f"np{count}", "rank")) == count, "a rank record each")
        for name in ("run.json", "report.json", "report.csv", "report.md"):
            check(os.path.exists(f"{WORK}/np{count}/{name}"), f"np{count}/{name} is missing")
    run(0, "alone", "items=40 notices=1")
    whole = results("np4")
    check(len(whole) == 40, "40 items")
    for other in ("np1", "np7", "alone"):
        check(results(other) == whole, f"{other} differs")
    run(7, "few", "items=2")
    check(len(results("few")) == 2, "more ranks than items")


def terminal():
    """A line is repainted, in colours, for a person; a file gets plain lines. mpirun hides which."""
    said = run(2, "file", "items=20 seconds=0.05")
    check("\x1b" not in said and "rkb-mpi: 20/20 (100%)" in said, said)
    for launcher in (0, 2):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        env = dict(ENV, RKB_EVALUATOR=f"{FAKE} items=40 seconds=0.05", TERM="xterm")
        env.pop("NO_COLOR", None)
        job = subprocess.Popen(command(launcher, f"tty{launcher}"), stdin=slave, stdout=slave,
                               stderr=slave, env=env)
        os.close(slave)
        said = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:
                part = b""
            if not part:
                break
            said += part
        os.close(master)
        check(job.wait(30) == 0, said)
        painted = [line for line in said.split(b"\r") if line.startswith(b"\x1b[K") and b"/40 (" in line]
        check(len(painted) > 2, said)
        check(all(len(line.split(b"\n")[0]) <= 60 + 3 for line in painted), painted)
        check(b"\x1b[32m" in said, said)


def crash():
    """An evaluator that dies is replaced; what kills it twice is infra_error."""
    run(3, "calm", "items=24")
    run(3, "once", "items=24 crash_once=5 crash_once=11")
    check(results("once") == results("calm"), "a crash that does not come again changes nothing")
    run(3, "crash", "items=24 crash=5 garbage=8", expect=4)
    verdicts = [result["result"]["verdict"] for result in records("crash", "result")]
    check(verdicts.count("infra_error") == 2 and len(verdicts) == 24, verdicts)


def kill():
    """kill -9 of the whole job at random moments, then --resume; nobody survives it."""
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    print(f"moments from random seed {seed}")
    spec = "items=60 seconds=0.01 child=1"
    begun = time.monotonic()
    run(4, "calm", spec)
    whole = time.monotonic() - begun
    for i in range(6):
        out = f"killed{i}"
        job = start(4, out, spec)
        time.sleep(rng.uniform(0, whole))
        pids = family(job.pid)
        victims = [pid for pid, name in pids.items() if name in ("mpirun", "orterun", "rkb-mpi")]
        rng.shuffle(victims)  # in any order: mpirun first, or a rank first
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.wait()
        wait_for(lambda pids=pids: not alive(pids), f"the end of {alive(pids)}", 10)
        done = journalled(out)
        run(2, out, "items=60", "--resume")
        check(results(out) == results("calm"), f"{out} differs")
        print(f"killed with {done} results, resumed")
    job = start(4, "mpirun", spec)
    wait_for(lambda: journalled("mpirun") > 3, "some results")
    pids = family(job.pid)
    os.kill(job.pid, signal.SIGKILL)  # the launcher alone: its ranks must not stay
    job.wait()
    wait_for(lambda: not alive(pids), "the end of the ranks", 10)
    run(2, "mpirun", "items=60", "--resume")
    check(results("mpirun") == results("calm"), "mpirun differs")


def drain():
    """SIGUSR1 to mpirun drains; a second one stops at once; both can be resumed."""
    run(3, "calm", "items=60")
    job = start(3, "drained", "items=60 seconds=0.2")
    wait_for(lambda: journalled("drained") > 3, "some results")
    job.send_signal(signal.SIGUSR1)
    code = job.wait(20)
    check(code == 75, f"exit code {code}, expected 75")
    check(3 < len(results("drained")) < 60, "some are left")
    check(records("drained", "end")[-1]["status"] == "drained", "the end says so")
    run(3, "drained", "items=60", "--resume")
    check(results("drained") == results("calm"), "drained differs")

    job = start(2, "stopped", "items=60 hang=13 seconds=0.01")
    wait_for(lambda: journalled("stopped") > 30, "some results")
    pids = family(job.pid)
    job.send_signal(signal.SIGUSR1)
    time.sleep(0.5)
    job.send_signal(signal.SIGUSR1)
    code = job.wait(20)
    check(code == 75, f"exit code {code}, expected 75")
    said = open(f"{WORK}/log", encoding="utf-8", errors="replace").read()
    check(said.count("stopping at once") == 1 and "--resume" in said, said)
    check(os.path.exists(f"{WORK}/stopped/report.json"), "the report of what is known")
    wait_for(lambda: not alive(pids), "the end of all processes", 10)
    run(3, "stopped", "items=60", "--resume")
    check(results("stopped") == results("calm"), "stopped differs")


def lone_rank_killed():
    """Plain mpirun ends the job with one rank; nothing is lost."""
    run(3, "calm", "items=40")
    job = start(3, "broken", "items=40 seconds=0.01 kill_rank_once=20")
    code = job.wait(30)
    check(code != 0, "mpirun says that a rank was killed")
    run(3, "broken", "items=40", "--resume")
    check(results("broken") == results("calm"), "broken differs")


def folder():
    """An existing folder is refused and nothing in it is touched."""
    os.mkdir(f"{WORK}/mine")
    with open(f"{WORK}/mine/thesis", "w", encoding="utf-8") as file:
        file.write("x")
    before = os.stat(f"{WORK}/mine").st_mtime_ns
    said = run(2, "mine", "items=4", expect=2)
    check("exists already" in said, said)
    check(os.listdir(f"{WORK}/mine") == ["thesis"], "nothing was added")
    check(os.stat(f"{WORK}/mine").st_mtime_ns == before, "nothing was touched")
    run(2, "deep/er/run", "items=4")
    check(len(results("deep/er/run")) == 4, "folders above are made")
    os.mkdir(f"{WORK}/cwd")
    subprocess.run([DRIVER, "--tasks", WORK, "--samples"], cwd=f"{WORK}/cwd", check=True,
                   env=dict(ENV, RKB_EVALUATOR=f"{FAKE} items=4"), stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    check(len(os.listdir(f"{WORK}/cwd/results/runs")) == 1, "the default folder")
    runs = [json.load(open(f"{WORK}/{out}/run.json", encoding="utf-8")) for out in ("deep/er/run",)]
    for key in ("schema", "id", "command", "started", "host", "seed", "device", "configs", "tasks",
                "tasks_sha256", "plan_sha256", "items", "versions", "out", "options", "evaluator"):
        check(key in runs[0], f"run.json lacks {key}")


def usage():
    """Errors in the command line end all ranks at once, are said once, and leave nothing."""
    rows = [(["--trials", "0"], "--trials"), (["--confgis", "x"], "--configs"), (["x.cu"], "--kernels"),
            (["--device", "tpu"], "auto|cpu|cuda"), (["--fail-on", "mismach"], "mismatch"),
            (["--kernels", f"{WORK}/nowhere"], "--kernels"), (["--timeout", "0"], "--timeout"),
            (["--progress", "loud"], "never")]
    for more, part in rows:
        said = run(3, "never", "items=4", *more, expect=2, timeout=30)
        lines = [line for line in said.splitlines() if line.startswith("rkb-mpi:") and part in line]
        check(len(lines) == 1, f"{more}: {said}")
        check(not os.path.exists(f"{WORK}/never"), f"{more}: a folder was made")
    for more, part in ((["--help"], "examples:"), (["--version"], "rkb"),
                       (["--explain-states"], "digraph worker")):
        said = subprocess.run(["mpirun", "-np", "3", DRIVER, *more], env=ENV, check=True, timeout=30,
                              capture_output=True, encoding="utf-8").stdout
        check(said.count(part) == 1, f"{more}: {said}")
    said = subprocess.run([DRIVER, "--resume"], env=ENV, check=False, capture_output=True,
                          encoding="utf-8")
    check(said.returncode == 2 and "--out" in said.stderr, said.stderr)
    empty = subprocess.run(command(2, "never"), env=dict(ENV, RKB_EVALUATOR=" "), check=False,
                           timeout=30, capture_output=True, encoding="utf-8")
    check(empty.returncode == 2 and "RKB_EVALUATOR" in empty.stderr, empty.stderr)


def strangers():
    """Processes that do not know each other are told how to start."""
    for name in ("PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        said = run(0, "alone", "items=4", expect=2, **{name: "4"})
        check("4 processes" in said and "mpirun" in said, said)
        check(not os.path.exists(f"{WORK}/alone"), "a folder was made")


def exit_codes():
    """3 without device, 1 for --fail-on, 4 for another protocol: from every rank, without hanging."""
    check("no GPU" in run(3, "none", "refuse=no_GPU_here start=0.2", expect=3), "the reason")
    run(2, "failon", "items=8", "--fail-on", "mismatch", expect=1)
    run(2, "foreign", "protocol=3", expect=4)
    run(2, "plan", "plan_error=bad_task", expect=2)
    run(3, "one", "items=8 refuse=no_GPU refuse_but=2")
    check(len(results("one")) == 8, "one rank of three can do it")


CASES = (ranks, terminal, crash, kill, drain, lone_rank_killed, folder, usage, strangers, exit_codes)


def main():
    global WORK
    cases = {case.__name__: case for case in CASES}
    if len(sys.argv) != 2 or sys.argv[1] not in cases:
        raise SystemExit(f"usage: driver_mpi.py {'|'.join(cases)}")
    if shutil.which("mpirun") is None:
        print("SKIP: no mpirun")
        return 77
    with tempfile.TemporaryDirectory(prefix="rkb-mpi-") as WORK:
        cases[sys.argv[1]]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
