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
    expect(2, ["layernorm"], "eval", "--task", "layernrm", kernel)
    expect(2, [f"{folder}/missing.cu"], "eval", "--task", "layernorm", f"{folder}/missing.cu")
    expect(2, ["nosuchset"], "eval", "--task", "layernorm", "--configs", "nosuchset", kernel)
    expect(2, ["Q"], "eval", "--task", "mnist_linear", "--config", "B=1,I=2,O=3,Q=4,init=kaiming",
           kernel)
    expect(2, ["/nonexistent"], "eval", "--task", "layernorm", "--tasks", "/nonexistent", kernel)
    expect(3, ["cuda"], "eval", "--task", "layernorm", "--device", "cuda", kernel)
    os.makedirs(f"{folder}/tasks/broken")
    with open(f"{folder}/tasks/broken/task.json", "w", encoding="utf-8") as file:
        file.write('{"schema": "rkb-task/1", "name": "broken"')
    expect(2, ["broken/task.json"], "eval", "--task", "broken", "--tasks", f"{folder}/tasks", kernel)


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
    help_texts()
    doctor()
    controls()
    reproduce()
    fail_on_any()
    print(f"{'FAILED' if failures else 'passed'}: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
