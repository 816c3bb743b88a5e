#!/usr/bin/python3
"""`rkb eval`, `rkb doctor` and `rkb` itself, as a person would use them."""
import json
import os
import subprocess
import sys
import tempfile

SOURCE, BINARY = os.environ["RKB_SOURCE_DIR"], os.environ["RKB_BINARY_DIR"]
RKB = os.path.join(BINARY, "bin/rkb")
TASKS = ["mnist_linear", "mnist_cross_entropy", "layernorm", "llama_rmsnorm"]
SAMPLES = os.path.join(SOURCE, "tasks/robust-kbench")
failures = []


def run(*args, env=None):
    done = subprocess.run([RKB, *args], capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, **(env or {})), check=False)
    return done.returncode, done.stdout, done.stderr


def check(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}")


def expect(code, words, *args):
    """The command exits with `code` and its stderr is one line that holds all words."""
    got, _, err = run(*args)
    check(got == code, f"rkb {' '.join(args)}: exit {got}, expected {code}: {err}")
    check(all(word in err for word in words), f"rkb {' '.join(args)}: {words} not in: {err}")
    check(len(err.strip().splitlines()) == 1, f"rkb {' '.join(args)}: not one line: {err}")


def controls():
    """The reference is right everywhere; a trivial answer nowhere."""
    for task in TASKS:
        for direction in ("forward", "backward"):
            code, out, err = run("eval", "--task", task, "--direction", direction, "--controls",
                                 "--json", "--trials", "2")
            check(code == 0, f"controls of {task} {direction}: exit {code}: {err}")
            items = [json.loads(line) for line in out.splitlines()]
            check(len(items) >= 8, f"controls of {task} {direction}: {len(items)} items")
            for item in items:
                right = item["verdict"] == "ok"
                check(right == (item["candidate"] == "@reference"),
                      f"{task} {direction} {item['candidate']} {item['config']}: "
                      f"{item['verdict']}: {item['detail']}")


def bad_input(folder):
    with open(f"{folder}/k.cu", "w", encoding="utf-8") as file:
        file.write("// empty\n")
    kernel = f"{folder}/k.cu"
    expect(2, ["unknown command", "evaluate"], "evaluate")
    expect(2, ["--task"], "eval", kernel)
    expect(2, ["--confi", "--config"], "eval", "--confi", "x")
    os.mkfifo(f"{folder}/pipe.cu")
    expect(2, ["pipe.cu", "regular file"], "eval", "--task", "layernorm", f"{folder}/pipe.cu")
    expect(2, ["layernorm"], "eval", "--task", "layernrm", kernel)
    expect(2, [f"{folder}/missing.cu"], "eval", "--task", "layernorm", f"{folder}/missing.cu")
    expect(2, ["nosuchset", "smoke, single, multi"], "eval", "--task", "layernorm", "--configs", "nosuchset", kernel)
    expect(2, ["Q"], "eval", "--task", "mnist_linear", "--config", "B=1,I=2,O=3,Q=4,init=kaiming",
           kernel)
    expect(2, ["/nonexistent"], "eval", "--task", "layernorm", "--tasks", "/nonexistent", kernel)
    expect(3, ["cuda"], "eval", "--task", "layernorm", "--device", "cuda", kernel)
    os.makedirs(f"{folder}/tasks/broken")
    with open(f"{folder}/tasks/broken/task.json", "w", encoding="utf-8") as file:
        file.write('{"schema": "rkb-task/1", "name": "broken"')
    expect(2, ["broken/task.json"], "eval", "--task", "broken", "--tasks", f"{folder}/tasks", kernel)


def unreadable(folder):
    """A source that cannot be read costs its own items, and the exit code says so."""
    kernels = f"{folder}/kernels/layernorm/forward"
    os.makedirs(kernels)
    os.symlink("/nonexistent", f"{kernels}/dangling.cu")
    with open(f"{SAMPLES}/layernorm/kernels/forward/split_rows.cu", encoding="utf-8") as good:
        with open(f"{kernels}/good.cu", "w", encoding="utf-8") as file:
            file.write(good.read())
    done = subprocess.run(
        [f"{BINARY}/bin/rkb-mpi", "--device", "cpu", "--tasks", f"{SOURCE}/tasks", "--kernels",
         f"{folder}/kernels", "--configs", "smoke", "--out", f"{folder}/run"],
        capture_output=True, text=True, timeout=300, check=False,
        env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0", OMPI_ALLOW_RUN_AS_ROOT="1",
                 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    check(done.returncode == 4, f"unreadable source: exit {done.returncode}: {done.stderr}")
    with open(f"{folder}/run/report.json", encoding="utf-8") as file:
        items = json.load(file)["items"]
    verdicts = {item["candidate"]: item["verdict"] for item in items}
    check(verdicts == {"dangling": "infra_error", "good": "ok"}, f"unreadable source: {verdicts}")
    check(all("dangling.cu" in item["detail"] for item in items if item["verdict"] != "ok"),
          "the path of the unreadable source is told")


def cache(folder):
    """Only a folder that rkb made is cleared; a full disk is no fault of a candidate."""
    os.makedirs(f"{folder}/mine/objects/precious")
    expect(2, ["CACHEDIR.TAG", f"{folder}/mine"], "cache", "clear", "--cache-dir", f"{folder}/mine")
    check(os.path.isdir(f"{folder}/mine/objects/precious"), "a foreign folder was cleared")
    source = f"{SAMPLES}/layernorm/kernels/forward/split_rows.cu"
    one = ["eval", "--task", "layernorm", "--json", "--cache-dir", f"{folder}/cache", source]
    code, out, err = run(*one)
    check(code == 0 and '"ok"' in out, f"eval with a new cache: {code} {err}")
    code, out, err = run("cache", "clear", "--cache-dir", f"{folder}/cache")
    check(code == 0 and "1 objects" in out, f"cache clear: {code} {out} {err}")
    code, out, err = run(*one)
    check(code == 0 and '"ok"' in out, f"eval after clearing: {code} {err}")
    os.mkdir(f"{folder}/tiny")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "rkb", f"{folder}/tiny"],
                             capture_output=True, check=False).returncode == 0
    if not mounted:
        print("a full disk was not tried: mounting a tmpfs is not allowed here")
        return
    try:
        one[one.index(f"{folder}/cache")] = f"{folder}/tiny"
        code, out, err = run(*one)
        items = [json.loads(line) for line in out.splitlines()]
        check(code == 4 and items and all(item["verdict"] == "infra_error" for item in items),
              f"full disk: exit {code}: {out}{err}")
    finally:
        subprocess.run(["umount", f"{folder}/tiny"], check=True)


def reproduce():
    """The same seed gives the same numbers; another one does not."""
    source = f"{SAMPLES}/llama_rmsnorm/kernels/forward/warp_per_row.cu"
    numbers = []
    for seed in ("11", "11", "12"):
        code, out, err = run("eval", "--task", "llama_rmsnorm", "--json", "--seed", seed, source)
        check(code == 0, f"exit {code}: {err}")
        items = [json.loads(line) for line in out.splitlines()]
        check(all(item["verdict"] == "ok" for item in items), f"warp_per_row: {out}")
        numbers.append([item["max_abs_error"] for item in items])
    check(numbers[0] == numbers[1], f"seed 11 twice: {numbers}")
    check(numbers[0] != numbers[2], f"seeds 11 and 12: {numbers}")


def fail_on_any():
    wrong = f"{SAMPLES}/layernorm/kernels/forward/zeros.cu"
    code, out, _ = run("eval", "--task", "layernorm", wrong)
    check(code == 0 and "mismatch" in out, f"zeros.cu: exit {code}: {out}")
    code, _, _ = run("eval", "--task", "layernorm", "--fail-on-any", wrong)
    check(code == 1, f"--fail-on-any with a wrong kernel: exit {code}")


def help_texts():
    for command in ([], ["eval"], ["tasks"], ["report"], ["doctor"], ["cache"], ["serve"]):
        code, out, err = run(*command, "--help")
        check(code == 0 and "usage" in out.lower() and not err, f"{command} --help: {code} {err}")
        code, out, _ = run(*command, "--version")
        check(code == 0 and out.startswith("rkb"), f"{command} --version: {code} {out}")


def doctor():
    code, out, err = run("doctor")
    check(code == 0, f"doctor: exit {code}: {out}{err}")
    for word in ("cpu", "cuda", "compiler", "libtorch", "seccomp", "landlock", "tasks"):
        check(any(word in line.split()[:2] for line in out.splitlines()), f"doctor lacks {word}: {out}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        bad_input(folder)
        cache(folder)
        if os.path.exists(f"{BINARY}/bin/rkb-mpi"):
            unreadable(folder)
    help_texts()
    doctor()
    controls()
    reproduce()
    fail_on_any()
    print(f"{'FAILED' if failures else 'passed'}: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
