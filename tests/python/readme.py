"""The documents of the project, executed: what they show is what the program prints.

usage: readme.py SOURCE_FOLDER COLDSTART DOCUMENT...

Each document is played in a copy of the tree, so that it may add scenarios:
  ```console   lines "$ command", then what it prints, stdout and stderr together. A line "..." matches any lines.
  ```lua       a whole file. file=PATH: is written there; run=STATUS: "coldstart run" must end with that exit status.
  ```sh        commands that .ci/run runs, letter by letter.
Numbers of seconds are not compared. Of README.md and scenarios/README.md it is checked that nothing is left out.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\S*)([^\n]*)\n(.*?)^```$", re.M | re.S)
SECONDS = re.compile(r"\d+\.\d+ s\b|(\"seconds\": )[\d.e-]+")


class Wrong(Exception):
    pass


def matches(shown, printed):
    """Whether the lines `printed` are the lines `shown`, where "..." stands for any number of lines."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(matches(shown[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and matches(shown[1:], printed[1:])


def lines_of(text):
    return SECONDS.sub(r"\1N s", text).rstrip("\n").split("\n") if text.strip() else []


def commands_of(body):
    """Pairs of a command and the lines that it prints. A command that ends in a backslash goes on."""
    commands = []
    for line in body.splitlines():
        if commands and commands[-1][0].endswith("\\"):
            commands[-1][0] += "\n" + line
        elif line.startswith("$ "):
            commands.append([line[2:], []])
        elif commands:
            commands[-1][1].append(line)
        else:
            raise Wrong(f'a console block begins with a line "$ command", found "{line}"')
    return commands


class Player:
    def __init__(self, source, coldstart, folder):
        self.source, self.folder, self.n_run = source, folder, 0
        build = str(coldstart.parent)
        self.environment = os.environ | {
            "PATH": f"{build}:{os.environ['PATH']}", "COLDSTART_BUILD": build, "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
        }
        shutil.copytree(source / "scenarios", folder / "scenarios")
        for entry in source.iterdir():
            if entry.name not in ("scenarios", ".git", "build"):
                (folder / entry.name).symlink_to(entry)

    def run(self, command):
        self.n_run += 1
        return subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", timeout=1200,
        )

    def play_console(self, body, _):
        for command, shown in commands_of(body):
            printed = self.run(command).stdout
            if not matches(lines_of("\n".join(shown)), lines_of(printed)):
                raise Wrong("\n".join([f"$ {command}", "--- shown", *shown, "--- printed", printed]))

    def play_lua(self, body, info):
        options = dict(word.split("=", 1) for word in info.split())
        if not options:
            raise Wrong("a lua block needs file=PATH, run=STATUS, or both")
        path = self.folder / options.get("file", f"scenarios/block_{self.n_run}.lua")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")
        if "run" in options:
            result = self.run(f"coldstart run '{path.relative_to(self.folder)}'")
            if result.returncode != int(options["run"]):
                raise Wrong(f"exit status {result.returncode}, expected {options['run']}\n{body}---\n{result.stdout}")

    def play_sh(self, body, _):
        lines = (self.source / ".ci/run").read_text(encoding="utf-8").splitlines()
        known = [line.split(" #")[0].replace("</dev/null", "").strip() for line in lines]
        for line in body.splitlines():
            if line not in known:
                raise Wrong(f'no line of .ci/run is "{line}"')

    def play(self, document):
        text = document.read_text(encoding="utf-8")
        for found in FENCE.finditer(text):
            language, info, body = found.groups()
            play = getattr(self, f"play_{language}", None)
            if not play:
                continue
            try:
                play(body, info)
            except Wrong as wrong:
                line = text.count("\n", 0, found.start()) + 1
                raise Wrong(f"{document}:{line}: {wrong}") from None
        if self.n_run == 0:
            raise Wrong(f"{document}: nothing in it could be run")


# ---- nothing is left out ----


def folders_in(folder):
    return [f"{entry.name}/" for entry in folder.iterdir() if entry.is_dir()]


def check_complete(source, player):
    def check(document, names):
        """Each name stands in a `code span`, alone or among other words."""
        text = re.sub(r"^```.*?^```$", "", (source / document).read_text(encoding="utf-8"), flags=re.M | re.S)
        words = {word for span in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"[\w.:/-]+", span)}
        missing = sorted(set(names) - words)
        if missing:
            raise Wrong(f"{document} says nothing about {', '.join(missing)}")

    helped = player.run("coldstart help").stdout
    verbs = re.findall(r"^  ([a-z-]+)  +", helped.split("verbs:")[1], re.M)
    options = [name for verb in verbs for name in re.findall(r"--[a-z][a-z-]*", player.run(f"coldstart help {verb}").stdout)]
    assert len(verbs) >= 4 and len(options) >= 7, (verbs, options)
    check("README.md", verbs + options)

    check("scenarios/README.md", folders_in(source / "scenarios"))  # keys and functions: reference.py
    check("sim/README.md", folders_in(source / "sim"))


def main():
    source, coldstart = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    n_run = 0
    for document in sys.argv[3:]:
        with tempfile.TemporaryDirectory() as folder:
            player = Player(source, coldstart, pathlib.Path(folder))
            player.play(source / document)
            n_run += player.n_run
            if document == sys.argv[3]:
                check_complete(source, player)
    print(f"{len(sys.argv) - 3} documents, {n_run} commands: all as shown")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(str(wrong))
