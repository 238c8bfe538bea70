"""Coverage of the code by gcovr: reports, and floors that only rise.

usage: lines.py report BUILD [--add JSON]...   reads what tests left in BUILD; writes BUILD/report/{index.html,cobertura.xml,coverage.json}
       lines.py check JSON [ROOT]              compares with coverage/line_floors.json and the rules for exclusions
       lines.py raise JSON [ROOT]              raises the floors to what JSON has; never lowers one

--add joins the coverage.json of another machine's run. Exit status 1: a floor is not reached, was lowered, or an exclusion
has no reason; 2: the command line.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

FLOORS = "coverage/line_floors.json"
# What no floor may be below, in percent: lines, branches.
LEAST = {"sim/loader": (98, 0), "sim/padding": (98, 90), "sim/driver": (98, 0), "sim/audit": (98, 90)}
LEAST_ELSEWHERE = (92, 0)
EXCLUSION = re.compile(r"GCOVR_EXCL_(LINE|START|BR_LINE|BR_START|FUNCTION)\b(?P<rest>[^*\n]*)")
CODE = {".c", ".h", ".cu", ".cuh", ".cpp"}


def folder_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "sim" and len(parts) > 2 else parts[0]


class Counts:
    """Lines and branches of a folder, and how many of them ran."""

    def __init__(self):
        self.lines = self.lines_run = self.branches = self.branches_run = 0

    def percent(self):
        return (100.0 * self.lines_run / self.lines if self.lines else 100.0,
                100.0 * self.branches_run / self.branches if self.branches else 100.0)


def merged_lines(file):
    """Line number → (times run, [times taken of each branch]): instances of a template are one line."""
    lines = {}
    for line in file["lines"]:
        if line.get("gcovr/noncode") or line.get("gcovr/excluded"):
            continue
        count, taken = lines.get(line["line_number"], (0, []))
        branches = [b["count"] for b in line["branches"] if not b.get("gcovr/excluded")]
        wide = max(len(branches), len(taken))
        both = [sum(row[i] for row in (branches, taken) if i < len(row)) for i in range(wide)]
        lines[line["line_number"]] = (count + line["count"], both)
    return lines


def measure(report):
    folders = collections.defaultdict(Counts)
    for file in report["files"]:
        counts = folders[folder_of(file["file"])]
        for count, branches in merged_lines(file).values():
            counts.lines += 1
            counts.lines_run += count > 0
            counts.branches += len(branches)
            counts.branches_run += sum(taken > 0 for taken in branches)
    return {name: counts.percent() for name, counts in sorted(folders.items())}


def least_of(folder):
    return LEAST.get(folder, LEAST_ELSEWHERE)


def committed_floors(root):
    """Every earlier version of the floors, newest first; none outside of a repository."""
    log = subprocess.run(["git", "-C", root, "log", "--format=%H", "--", FLOORS], capture_output=True, text=True, check=False)
    for commit in log.stdout.split():
        text = subprocess.run(["git", "-C", root, "show", f"{commit}:{FLOORS}"], capture_output=True, text=True, check=False)
        if text.returncode == 0:
            yield commit[:10], json.loads(text.stdout)


def lowered(floors, earlier):
    for commit, old in earlier:
        for folder, (lines, branches) in old.items():
            now = floors.get(folder)
            if now and (now[0] < lines or now[1] < branches):
                yield f"{FLOORS}: {folder} is {now}, was {[lines, branches]} in {commit}: floors only rise"


def below(measured, floors):
    for folder, found in measured.items():
        floor = floors.get(folder, least_of(folder))  # a new folder begins with the least that is asked for
        for what, value, least in zip(("lines", "branches"), found, floor):
            if value < least:
                yield f"{folder}: {value:.2f} % of {what}, the floor is {least} %: test what is new, or delete it"
    for folder, floor in floors.items():
        if folder not in measured:
            yield f"{FLOORS}: {folder} has a floor and no code: delete the row"
        elif any(value < least for value, least in zip(floor, least_of(folder))):
            yield f"{FLOORS}: {folder} is {floor}, at least {list(least_of(folder))} is asked for"


def unexplained(root):
    for top in ("sim", "ref", "gpu"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in CODE:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                found = EXCLUSION.search(line)
                if found and len(re.findall(r"\w+", found["rest"])) < 2:
                    yield f"{path.relative_to(root)}:{number}: excluded without a reason: say why it cannot run in a test"


def table(measured, floors):
    print(f"{'folder':<16} {'lines':>8} {'floor':>6} {'branches':>9} {'floor':>6}")
    for folder, (lines, branches) in measured.items():
        floor = floors.get(folder, (0, 0))
        print(f"{folder:<16} {lines:>6.2f} % {floor[0]:>6g} {branches:>7.2f} % {floor[1]:>6g}")


def load(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def check(report, root):
    measured, floors = measure(load(report)), load(root / FLOORS)
    table(measured, floors)
    found = [*below(measured, floors), *lowered(floors, committed_floors(root)), *unexplained(root)]
    print("\n".join(found) if found else "every floor is reached, and none was lowered")
    return 1 if found else 0


def raise_floors(report, root):
    path = root / FLOORS
    floors = load(path) if path.exists() else {}
    for folder, found in measure(load(report)).items():
        old = floors.get(folder, least_of(folder))
        floors[folder] = [max(least, int(value * 2) / 2) for value, least in zip(found, old)]
    rows = ",\n".join(f'  "{folder}": {json.dumps(floor)}' for folder, floor in sorted(floors.items()))
    path.write_text("{\n" + rows + "\n}\n", encoding="utf-8")
    return 0


def forget_deleted(build, root):
    """A build folder keeps the compiler's notes of a source that was deleted since; gcovr would want to show it."""
    for notes in build.rglob("*.gcno"):
        folder, _, rest = str(notes.relative_to(build)).partition("CMakeFiles/")
        source = rest.partition(".dir/")[2].removesuffix(".gcno")
        if not any((top / folder / source).exists() for top in (root, build)):
            notes.unlink()
            notes.with_suffix(".gcda").unlink(missing_ok=True)


def report(build, added, root):
    out = build / "report"
    out.mkdir(exist_ok=True)
    forget_deleted(build, root)
    # No effect on joined ones.
    counts = ["--exclude-throw-branches", "--exclude-unreachable-branches", "--gcov-ignore-errors=source_not_found"]
    gcovr = [str(root / ".venv/bin/gcovr"), "--config", str(root / "coverage/gcovr.cfg"), "--root", str(root)]
    mine, joined = out / "this_machine.json", out / "coverage.json"
    subprocess.run([*gcovr, *counts, "--object-directory", str(build), str(build), "-j", "2", "--json", str(mine)], check=True)
    traces = [word for path in [mine, *added] for word in ("--json-add-tracefile", str(path))]
    outputs = ["--json", str(joined), "--cobertura", str(out / "cobertura.xml"), "--html-details", str(out / "index.html")]
    subprocess.run([*gcovr, *traces, *outputs], check=True)
    print(f"{out}/index.html, cobertura.xml, coverage.json")
    return 0


def main(words):
    root = pathlib.Path(__file__).resolve().parent.parent
    if len(words) >= 2 and words[0] == "report" and len(words) % 2 == 0 and set(words[2::2]) <= {"--add"}:
        return report(pathlib.Path(words[1]).resolve(), [pathlib.Path(w).resolve() for w in words[3::2]], root)
    if len(words) in (2, 3) and words[0] in ("check", "raise"):
        root = pathlib.Path(words[2]) if len(words) == 3 else root
        return {"check": check, "raise": raise_floors}[words[0]](words[1], root)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
