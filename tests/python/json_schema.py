"""JSON reports against their committed schema, and the schema against reports that are wrong on purpose.

usage: json_schema.py SCHEMA REPORT...
"""

import copy
import json
import pathlib
import sys
from importlib.metadata import version

from jsonschema import Draft202012Validator

STATUSES = {"passed", "failed", "mistrusted", "refused", "skipped"}


def objects(value, path=()):
    """Every JSON object in `value`, with the path that leads to it."""
    if isinstance(value, dict):
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from objects(item, path + (key,))


def at(report, path):
    for key in path:
        report = report[key]
    return report


def mutants(report):
    """Copies of the report, each wrong in one place: a key too many, a key missing, a value of another type."""
    for path, found in objects(report):
        if path and path[-1] == "options":
            continue  # scenarios choose its keys
        mutant = copy.deepcopy(report)
        at(mutant, path)["surprise"] = 1
        yield f"{path}: a key too many", mutant
        for key in found:
            mutant = copy.deepcopy(report)
            del at(mutant, path)[key]
            yield f"{path}: no {key}", mutant
            mutant = copy.deepcopy(report)
            at(mutant, path)[key] = True  # no field is a boolean
            yield f"{path}: {key} is true", mutant


def without_duplicate_keys(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"duplicate keys in {keys}"
    return dict(pairs)


def check(validator, path):
    report = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=without_duplicate_keys)
    for error in validator.iter_errors(report):
        sys.exit(f"{path}: {error.json_path}: {error.message}")
    totals, found = report["totals"], [verdict["status"] for verdict in report["verdicts"]]
    assert totals["passed"] == found.count("passed") + found.count("refused"), totals
    assert totals["failed"] == found.count("failed") + found.count("mistrusted"), totals
    assert totals["skipped"] == found.count("skipped"), totals
    return report


def main():
    schema = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    reports = [check(validator, pathlib.Path(path)) for path in sys.argv[2:]]
    seen = {verdict["status"] for report in reports for verdict in report["verdicts"]}
    assert seen == STATUSES, f"no report has a verdict that is {STATUSES - seen}"
    n_refused = 0
    for what, mutant in mutants(reports[0]):
        assert not validator.is_valid(mutant), f"the schema accepts a wrong report: {what}"
        n_refused += 1
    assert n_refused > 100, n_refused
    print(f"jsonschema {version('jsonschema')}: {len(reports)} reports are valid, {n_refused} wrong ones refused")


if __name__ == "__main__":
    main()
