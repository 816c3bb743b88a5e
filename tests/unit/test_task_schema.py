"""Every task file satisfies the JSON Schema, and the schema refuses what rkb refuses."""
import copy
import json
import os
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: /usr/bin/python3 has no jsonschema (Debian: python3-jsonschema)")
    sys.exit(77)

root = pathlib.Path(os.environ["RKB_SOURCE_DIR"])
schema = json.loads((root / "tasks/schema/rkb-task-1.schema.json").read_text())
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)

files = sorted((root / "tasks").rglob("task.json"))
assert files, "no task.json found"
for file in files:
    task = json.loads(file.read_text())
    for error in validator.iter_errors(task):
        sys.exit(f"{file}: {error.json_path}: {error.message}")
    expected = f"{task['suite']}/{task['name']}"
    actual = str(file.parent.relative_to(root / "tasks"))
    assert expected == actual, f"{file} calls itself {expected}"

page = (root / "docs/tasks.md").read_text()
for block in page.split("```json\n")[1:]:
    validator.validate(json.loads(block.split("```")[0]))


def broken(task, change):
    changed = copy.deepcopy(task)
    change(changed)
    assert not validator.is_valid(changed), f"the schema lets {change.__name__} pass"


def unknown_key(task):
    task["colour"] = "red"


def two_initialisers(task):
    task["inputs"][0]["init"]["constant"] = {"value": 0}


def no_initialiser(task):
    del task["inputs"][0]["init"]


def no_result(task):
    del task["program"][0]["result"]


def bad_expression(task):
    task["inputs"][0]["shape"][0] = "B; rm"


def unknown_dtype(task):
    task["inputs"][0]["dtype"] = "float33"


def empty_set(task):
    task["configs"]["smoke"] = []


def negative_tolerance(task):
    task["forward"]["tolerance"]["atol"] = -1


def no_entry(task):
    del task["forward"], task["backward"]


def reserved_name(task):
    task["inputs"][0]["name"] = "grad_x"


sample = json.loads((root / "tasks/robust-kbench/mnist_linear/task.json").read_text())
changes = [unknown_key, two_initialisers, no_initialiser, no_result, bad_expression, unknown_dtype,
           empty_set, negative_tolerance, no_entry, reserved_name]
for change in changes:
    broken(sample, change)
print(f"{len(files)} task files satisfy the schema; {len(changes)} broken ones do not")
