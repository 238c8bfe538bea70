"""readme.py finds what it is for: a document that shows something else than what is printed does not pass."""

import pathlib
import tempfile
import unittest

import readme

PROGRAM = "#!/bin/sh\ncat \"$2\"; exit 3\n"  # what stands in for coldstart


class Documents(unittest.TestCase):
    def play(self, document):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "source")
            for name, text in (("scenarios/a.lua", ""), (".ci/run", "tests/run </dev/null # all\n"), ("bin/coldstart", PROGRAM)):
                path = source / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            (source / "bin/coldstart").chmod(0o755)
            (source / "README.md").write_text(document, encoding="utf-8")
            copy = pathlib.Path(folder, "copy")
            copy.mkdir()
            readme.Player(source, source / "bin/coldstart", copy).play(source / "README.md")

    def assert_wrong(self, document, words):
        with self.assertRaises(readme.Wrong) as raised:
            self.play(document)
        self.assertIn(words, str(raised.exception))

    def test_what_is_shown_is_what_is_printed(self):
        self.play("text\n```console\n$ echo a; echo b >&2\na\nb\n$ true\n$ echo \\\nc\nc\n```\n```sh\ntests/run\n```\n")

    def test_other_output_is_wrong(self):
        self.assert_wrong("text\n```console\n$ echo a\nb\n```\n", "README.md:2: $ echo a")
        self.assert_wrong("```console\n$ echo a\n```\n", "--- printed\na")
        self.assert_wrong("```console\n$ true\na\n```\n", "--- shown\na")
        self.assert_wrong("```console\n$ echo a; echo b\na\n```\n", "b")
        self.assert_wrong("```console\na\n```\n", "begins with")

    def test_dots_match_any_lines(self):
        self.play("```console\n$ seq 5\n1\n...\n4\n...\n```\n")
        self.assert_wrong("```console\n$ seq 5\n1\n...\n7\n```\n", "$ seq 5")

    def test_seconds_are_not_compared(self):
        self.play('```console\n$ echo took 1.25 s; echo \'"seconds": 0.5,\'\ntook 0.01 s\n"seconds": 1e-3,\n```\n')
        self.assert_wrong("```console\n$ echo took 1 of 2\ntook 1 of 3\n```\n", "$ echo took")

    def test_scripts_end_as_they_say(self):
        self.play("```lua run=3\nx\n```\n")
        self.play("```lua file=scenarios/b.lua\nx\n```\n```console\n$ coldstart run scenarios/b.lua\nx\n```\n")
        self.assert_wrong("```lua run=0\nx\n```\n", "exit status 3, expected 0")
        self.assert_wrong("```lua\nx\n```\n", "needs file=PATH, run=STATUS")

    def test_a_document_that_runs_nothing_is_wrong(self):
        self.assert_wrong("```c\nx\n```\n", "nothing in it could be run")

    def test_shell_lines_are_run_by_ci(self):
        self.assert_wrong("```sh\ntests/ran\n```\n", 'no line of .ci/run is "tests/ran"')


if __name__ == "__main__":
    unittest.main()
