"""What is made of the tables of the language is what stands in the repository: stubs for editors, and the reference page.

usage: reference.py SOURCE_FOLDER COLDSTART [--write]

In scenarios/README.md a table stands between "<!-- NAME -->" and "<!-- end -->". With --write both files are brought up to
date. Checked besides: every key that the sources read, and every count, is in both files.
"""

import json
import pathlib
import re
import subprocess
import sys

STUBS, PAGE = "scenarios/library/cs.lua", "scenarios/README.md"
SECTION = re.compile(r"<!-- ([\w.]+) -->\n(.*?)<!-- end -->\n", re.S)


class Wrong(Exception):
    pass


def printed(coldstart, option):
    return subprocess.run([coldstart, "help", "lua", option], check=True, capture_output=True, text=True, encoding="utf-8").stdout


def support(source, coldstart):
    """Method x back end x loader, by what "list support" says of the captured cases, and where they were run."""
    listed = subprocess.run([coldstart, "list", "support", source / "tests/golden"], check=True, capture_output=True, text=True).stdout
    rows = [re.split(r"  +", line) for line in listed.splitlines()[1:]]
    manifest = source / "tests/gpu/manifest.json"
    on_gpu = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
    found = re.search(r'"conform": "(\d+) of \1 passed', json.dumps(on_gpu))
    gpu = f"on `gpu` {found[1]} of {found[1]} of them passed (`tests/gpu/run`)" if found else "on `gpu` they have not been run yet (`tests/gpu/run`)"
    lines = [f"CI runs all captured cases on `ref` and on `emu`; {gpu}.", "", "| method | back end | loader | loading | post-load | |", "|---|---|---|---|---|---|"]
    for method, backend, loader, loading, post_load, why in rows:
        why = "" if why == "-" or post_load == "refused" and why == "post-load is not implemented" else why.replace("|", "\\|")
        lines.append(f"| `{method}` | `{backend}` | `{loader}` | {loading} | {post_load} | {why} |")
    return "\n".join(lines) + "\n"


def sections(text):
    found = SECTION.findall(text)
    names = [name for name, _ in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Wrong(f"{PAGE}: two sections are called {', '.join(twice)}")
    return dict(found)


def renewed(page, tables):
    """The page with the tables as they are now."""
    lost, unknown = sorted(set(tables) - set(sections(page))), sorted(set(sections(page)) - set(tables))
    if lost:
        raise Wrong(f"{PAGE} has no section <!-- {lost[0]} --> … <!-- end -->: write one where the reader wants it")
    if unknown:
        raise Wrong(f"{PAGE}: no table is called {unknown[0]}: remove <!-- {unknown[0]} -->")
    return SECTION.sub(lambda found: f"<!-- {found[1]} -->\n{tables[found[1]]}<!-- end -->\n", page)


def keys(source):
    """Every key that a record reads, with its file; every count; every function."""
    for path in sorted((source / "sim/script").glob("*.[ch]")):
        for key in re.findall(r'\{CS_\w*ROW\(\s*"([^"]+)"', path.read_text(encoding="utf-8")):
            yield path.name, key
    header = (source / "sim/session/session.h").read_text(encoding="utf-8")
    for count in re.findall(r"\bX\((\w+),", header.split("#define CS_COUNTS(X)")[1].split("enum cs_count")[0]):
        yield "session.h", count
    for function in re.findall(r'\{"((?:cs\.|s:)\w+)"', (source / "sim/script/bindings.c").read_text(encoding="utf-8")):
        yield "bindings.c", function


def check_keys(source, stubs, page):
    found = list(keys(source))
    if len(found) < 90:
        raise Wrong(f"only {len(found)} keys look like rows: has their notation changed?")
    for file, key in found:
        in_stubs = re.search(rf"---@field {re.escape(key)}\?? |function {re.escape(key)}\(", stubs)
        in_page = re.search(rf"^\| `{re.escape(key)}[`( ]", page, re.M)
        if not in_stubs or not in_page:
            raise Wrong(f'{file}: "{key}" is missing in {PAGE if in_stubs else STUBS}: no record that a function names leads to its row')


def check_words(source, page):
    """Every operation of a program is a word of the page's table of them."""
    header = (source / "sim/device/device.h").read_text(encoding="utf-8")
    words = re.findall(r'\bX\(\w+,\s*"([^"]+)"', header.split("#define CS_CODES(X)")[1].split("enum cs_code")[0])
    table = page.split("| words | what becomes of x |")[1].split("\n\n")[0]
    missing = [word for word in words if f"`{word}`" not in table and f"`{word} " not in table]
    if len(words) < 25 or missing:
        raise Wrong(f"{PAGE}: the table of a program's words lacks {', '.join(missing) or 'them all'}")


def compare(source, name, now):
    path = source / name
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    for number, (old, new) in enumerate(zip(before.splitlines() + [""], now.splitlines() + [""]), 1):
        if old != new:
            raise Wrong(f"{name}:{number} is not what the tables give: run reference.py with --write\n  is    {old}\n  gives {new}")
    if before != now:
        raise Wrong(f"{name} is not what the tables give: run reference.py with --write")


def main():
    source, coldstart = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    stubs = printed(coldstart, "--stubs")
    tables = sections(printed(coldstart, "--reference")) | {"support": support(source, coldstart)}
    page = renewed((source / PAGE).read_text(encoding="utf-8"), tables)
    if sys.argv[3:] == ["--write"]:
        (source / STUBS).parent.mkdir(exist_ok=True)
        (source / STUBS).write_text(stubs, encoding="utf-8")
        (source / PAGE).write_text(page, encoding="utf-8")
    check_keys(source, stubs, page)
    check_words(source, page)
    compare(source, STUBS, stubs)
    compare(source, PAGE, page)
    print(f"{STUBS} and {PAGE}: as the tables give them")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(str(wrong))
