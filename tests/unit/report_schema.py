#!/usr/bin/python3
"""Validates the golden run's journal and report, and refuses spoiled ones, by the JSON Schemas."""
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError as missing:
    print(f"skipped: {missing}; Debian package python3-jsonschema (4.0 or later)")
    sys.exit(77)

tool = sys.argv[1]
source = os.environ["RKB_SOURCE_DIR"]
failures = []


def validator(name):
    with open(f"{source}/results/schema/{name}.schema.json") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def expect(valid, validator, document, what):
    errors = [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(document)]
    if valid == bool(errors):
        failures.append(f"{what}: " + (errors[0] if errors else "was accepted"))


def spoiled(document, change):
    document = copy.deepcopy(document)
    change(document)
    return document


report_schema = validator("rkb-report-1")
journal_schema = validator("rkb-journal-1")

with tempfile.TemporaryDirectory() as folder:
    for name in ("run.json", "journal.jsonl"):
        shutil.copy(f"{source}/tests/unit/report/{name}", folder)
    subprocess.run([tool, folder], check=True, stdout=subprocess.DEVNULL)
    with open(f"{folder}/report.json") as file:
        report = json.load(file)
    with open(f"{folder}/journal.jsonl") as file:
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    # The emptiest run there is: a journal of one line, and no run.json.
    os.remove(f"{folder}/run.json")
    with open(f"{folder}/journal.jsonl", "w") as file:
        file.write('{"type":"run","schema":"rkb-journal/1"}\n')
    subprocess.run([tool, folder, "--rewrite"], check=True, stdout=subprocess.DEVNULL)
    with open(f"{folder}/report.json") as file:
        expect(True, report_schema, json.load(file), "report of an empty run")

expect(True, report_schema, report, "golden report")
for change, what in [
    (lambda r: r.update(schema="rkb-report/2"), "another schema"),
    (lambda r: r["items"][0].update(verdict="splendid"), "an unknown verdict"),
    (lambda r: r["items"][0].pop("source_sha256"), "an item without source_sha256"),
    (lambda r: r["items"][0].update(speedup=2.0), "a speed-up without interval"),
    (lambda r: r["items"][0].update(max_abs_error="nan"), "a number as text"),
    (lambda r: r["items"][0].update(flags=["shiny"]), "an unknown flag"),
    (lambda r: r["summary"].update(correct_rate=1.5), "a rate above 1"),
    (lambda r: r["summary"]["fast_p"].pop("1.0"), "fast_p without 1.0"),
    (lambda r: r["context"].update(seed="abc"), "a seed that is no number"),
    (lambda r: r.pop("notices"), "no notices"),
]:
    expect(False, report_schema, spoiled(report, change), what)

for number, line in enumerate(lines, 1):
    expect(True, journal_schema, line, f"journal line {number}")
result = next(line for line in lines if line["type"] == "result")
for change, what in [
    (lambda r: r.pop("type"), "a record without type"),
    (lambda r: r.pop("key"), "a result without key"),
    (lambda r: r["result"].pop("verdict"), "a result without verdict"),
    (lambda r: r["result"].update(verdict="splendid"), "a result with an unknown verdict"),
    (lambda r: r.update(attempt=0), "attempt 0"),
]:
    expect(False, journal_schema, spoiled(result, change), what)
expect(False, journal_schema, {"type": "run", "schema": "rkb-journal/2"}, "another journal schema")

print("\n".join(failures) or "all documents are as their schemas say")
sys.exit(1 if failures else 0)
