"""The rules of the house, read from the text of its files: who may include whom, how long things get, what may not stay.

usage: layering.py FOLDER

A problem is one line, "file:line: what is wrong: what to do". Exit status 1 when there is one.
"""

import os
import pathlib
import re
import sys

# The folders of sim/, from the ground floor up: each may use what stands before it, never what stands behind.
ORDER = """base mutant tensor device checkpoint padding model method loader driver session audit coverage fuzz script report
           matrix conform bench cli""".split()
DEVICES = {"ref", "gpu"}  # byte work: they see the first three folders, and sim/ never includes them
DEVICES_SEE = {"base", "tensor", "device"}
DECLARED = {"coverage": "coverage/model.h"}  # data outside of sim/ that a folder of it compiles in
NAMES_DEVICES = "sim/device/devices.c"  # the one file of sim/ that knows them, by an extern declaration

LONGEST_FILE, LONGEST_FUNCTION = 500, 70
C_FILES = {".c", ".h", ".cu", ".cuh"}
SHORT_FILES = C_FILES | {".lua", ".py", ".sh"}
MADE = {"scenarios/library/cs.lua"}  # by the program, from its tables: one page for editors, as long as the language
TEXT_FILES = SHORT_FILES | {".md", ".txt", ".json", ".cmake", ""}
SKIPPED = {".git", ".venv", "build", "golden", "__pycache__"}

# Written so that none of them matches its own line.
LEFT_OVER = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b|not implemented [y]et")
ONE_MACHINE = re.compile(r"(?<![\w.}])/(?:home|root|work|farm|mnt|Users)/|\.\./[s]hared")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
NAMED_DEVICE = re.compile(r"\bcs_device_(ref|gpu|emu)\b")


def files_of(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED)
        for path in (pathlib.Path(folder, file) for file in sorted(set(files) - SKIPPED)):
            if path.suffix in TEXT_FILES:
                yield path.relative_to(root).as_posix(), path.suffix, path.read_text(encoding="utf-8", errors="replace")


def home(name):
    """The folder that a file belongs to: "loader" of sim/loader/…, "ref" of ref/…; None elsewhere."""
    parts = name.split("/")
    if parts[0] in DEVICES and len(parts) > 1:
        return parts[0]
    return parts[1] if parts[0] == "sim" and len(parts) > 2 else None


def door(folder):
    return f"{folder}/{folder}.h" if folder in DEVICES else f"sim/{folder}/{folder}.h"


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found[1] == '"', found[2]


def sees(folder):
    if folder in DEVICES:
        return DEVICES_SEE | {folder}
    return set(ORDER[: ORDER.index(folder) + 1])


def open_headers(texts):
    """Doors, and the headers of their own folder that they include: who opens the door sees those too."""
    seen, waiting = set(), [door(folder) for folder in ORDER + sorted(DEVICES)]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in texts:
            continue
        seen.add(name)
        waiting += [target for _, _, target in includes(texts[name]) if home(target) == home(name)]
    return seen


def check_include(name, number, target, texts, open_ones):
    here, there = home(name), home(target)
    if DECLARED.get(here) == target:
        return
    if there is None or target not in texts:
        yield f'{name}:{number}: "{target}" is no header of the house: write its path from the top, "sim/base/base.h"'
    elif there not in sees(here):
        below = "stands below" if there in ORDER and here in ORDER else "is not for"
        yield f"{name}:{number}: {there} {below} {here}: let {there} call {here}, or move what is shared upwards"
    elif there != here and target not in open_ones:
        yield f"{name}:{number}: {target} is private to {there}: declare what is needed in {door(there)}"


def check_house(texts):
    open_ones = open_headers(texts)
    folders = {home(name) for name in texts} - {None}
    for folder in sorted(folders):
        if folder not in ORDER and folder not in DEVICES:
            yield f"sim/{folder}: a folder without a place in the order of folders: give it one"
        elif door(folder) not in texts:
            yield f"{door(folder)}: missing: a folder's door is the header with its name"
    for name, text in texts.items():
        here = home(name)
        if here not in ORDER and here not in DEVICES:
            continue
        for number, is_quoted, target in includes(text):
            if is_quoted:
                yield from check_include(name, number, target, texts, open_ones)
            elif here != "gpu" and target.startswith("cuda"):
                yield f"{name}:{number}: <{target}> belongs in gpu/*.cu: no CUDA type leaves that folder"
        if here in ORDER and name != NAMES_DEVICES and NAMED_DEVICE.search(text):
            yield f"{name}: names a device: only {NAMES_DEVICES} does, others ask it by name"


# ---- lengths ----

NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/"  # comments
    r'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''  # what is quoted
    r"|^[ \t]*#(?:\\\n|[^\n])*"  # directives, with their continued lines
    r"|__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)",
    re.S | re.M,
)
FUNCTION = re.compile(r"([A-Za-z_]\w*)\s*\([^;{}]*\)[^;{}()]*$", re.S)


def functions(text):
    """Name, first line and number of lines of each function. `extern "C" {` and the like open no function."""
    code = NOT_CODE.sub(lambda found: "\n" * found[0].count("\n"), text)
    depth, line, start, name = 0, 1, 0, None
    head, head_line = [], 1
    for character in code:
        line += character == "\n"
        if depth and name:
            depth += {"{": 1, "}": -1}.get(character, 0)
            if depth == 0:
                yield name, start, line - start + 1
                name, head, head_line = None, [], line
        elif character == "{":
            found = FUNCTION.search("".join(head))
            if found:
                name, start, depth = found[1], head_line, 1
            head = []
        elif character in ";}":
            head = []
        else:
            if not "".join(head).strip():
                head_line = line
            head.append(character)


def check_lengths(name, suffix, text):
    n_lines = text.count("\n")
    if suffix in SHORT_FILES and name not in MADE and n_lines > LONGEST_FILE:
        yield f"{name}: {n_lines} lines, at most {LONGEST_FILE}: split it by subject"
    if suffix in C_FILES:
        for function, line, length in functions(text):
            if length > LONGEST_FUNCTION:
                yield f"{name}:{line}: {function} has {length} lines, at most {LONGEST_FUNCTION}: name its parts"


def check_words(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        if LEFT_OVER.search(line):
            yield f"{name}:{number}: a left-over: do it, or delete it"
        if ONE_MACHINE.search(line):
            yield f"{name}:{number}: a path that exists on one machine only: make it relative"


def problems(root):
    texts = {}
    for name, suffix, text in files_of(root):
        if suffix in C_FILES:
            texts[name] = text
        yield from check_lengths(name, suffix, text)
        yield from check_words(name, text)
    yield from check_house(texts)


def main():
    root = pathlib.Path(sys.argv[1])
    found = sorted(problems(root))
    print("\n".join(found) if found else "every include, length and word is as it should be")
    if not any(files_of(root)):
        sys.exit(f"{root}: no file found")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
