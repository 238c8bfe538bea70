"""coverage/lines.py: percentages by hand, floors that only rise, exclusions that say why, and runs that join."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "coverage"))
import lines as coverage  # noqa: E402


def line(number, count, *branches, **more):
    return {"line_number": number, "count": count, "branches": [{"count": b} for b in branches]} | more


def report(**files):
    return {"files": [{"file": name.replace("__", "/") + ".c", "lines": lines} for name, lines in files.items()]}


class Measure(unittest.TestCase):
    def test_percentages_are_of_lines_and_branches_of_a_folder(self):
        found = coverage.measure(report(sim__padding__a=[line(1, 3, 1, 0), line(2, 0)], sim__padding__b=[line(9, 1), line(10, 2, 5, 5)], ref__c=[line(1, 0)]))
        self.assertEqual(found, {"ref": (0.0, 100.0), "sim/padding": (75.0, 75.0)})

    def test_instances_of_a_template_are_one_line(self):
        found = coverage.measure(report(gpu__tile=[line(7, 0, 0, 0), line(7, 2, 2, 0), line(7, 0, 0, 0)]))
        self.assertEqual(found, {"gpu": (100.0, 50.0)})

    def test_what_is_excluded_does_not_count(self):
        found = coverage.measure(report(ref__a=[line(1, 1), line(2, 0, **{"gcovr/excluded": True}), line(3, 0, **{"gcovr/noncode": True})]))
        self.assertEqual(found["ref"], (100.0, 100.0))


class Floors(unittest.TestCase):
    def problems(self, measured, floors):
        return list(coverage.below(measured, floors))

    def test_what_is_reached_passes(self):
        self.assertEqual(self.problems({"ref": (92.0, 1.0)}, {"ref": [92, 0]}), [])

    def test_a_percentage_below_its_floor_is_named(self):
        found = self.problems({"ref": (95.99, 70.0)}, {"ref": [96, 71]})
        self.assertEqual(len(found), 2)
        self.assertTrue(found[0].startswith("ref: 95.99 % of lines, the floor is 96 %"), found)
        self.assertTrue(found[1].startswith("ref: 70.00 % of branches, the floor is 71 %"), found)

    def test_a_new_folder_begins_with_the_least_and_a_dead_floor_goes(self):
        self.assertEqual(self.problems({"sim/new": (92.0, 0.0)}, {}), [])
        self.assertIn("sim/new: 91.99 % of lines, the floor is 92 %", self.problems({"sim/new": (91.99, 0.0)}, {})[0])
        self.assertIn("ref has a floor and no code", self.problems({}, {"ref": [92, 0]})[0])

    def test_no_floor_is_below_what_is_asked_for(self):
        found = self.problems({"sim/padding": (100.0, 100.0)}, {"sim/padding": [98, 89]})
        self.assertEqual(found, ["coverage/line_floors.json: sim/padding is [98, 89], at least [98, 90] is asked for"])

    def test_a_lowered_floor_is_named_with_the_commit_that_had_more(self):
        earlier = [("abc", {"ref": [92, 0], "gone": [99, 99]}), ("def", {"ref": [93, 0]})]
        found = list(coverage.lowered({"ref": [92, 0]}, earlier))
        self.assertEqual(found, ["coverage/line_floors.json: ref is [92, 0], was [93, 0] in def: floors only rise"])


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        for name in ("coverage", "sim/padding", "ref", "gpu"):
            (self.root / name).mkdir(parents=True)
        self.write("report.json", json.dumps(report(sim__padding__a=[line(1, 1, 1)])))

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        (self.root / name).write_text(text, encoding="utf-8")

    def run_code(self, *words):
        script = pathlib.Path(coverage.__file__)
        return subprocess.run([sys.executable, script, *words], capture_output=True, text=True, check=False)

    def check(self):
        return self.run_code("check", self.root / "report.json", self.root)

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=t", "-c", "user.email=t@localhost", *words], check=True, capture_output=True)

    def test_raise_writes_floors_and_never_lowers_one(self):
        self.write("coverage/line_floors.json", '{"sim/padding": [99.5, 90]}')
        self.assertEqual(self.run_code("raise", self.root / "report.json", self.root).returncode, 0)
        self.assertEqual(json.loads((self.root / "coverage/line_floors.json").read_text()), {"sim/padding": [100.0, 100.0]})
        self.write("report.json", json.dumps(report(sim__padding__a=[line(1, 0, 1)])))
        self.run_code("raise", self.root / "report.json", self.root)
        self.assertEqual(json.loads((self.root / "coverage/line_floors.json").read_text()), {"sim/padding": [100.0, 100.0]})
        found = self.check()
        self.assertEqual(found.returncode, 1)
        self.assertIn("sim/padding: 0.00 % of lines, the floor is 100.0 %", found.stdout)

    def test_the_history_of_the_file_is_asked(self):
        self.git("init", "-q")
        for floor in (99, 98):
            self.write("coverage/line_floors.json", json.dumps({"sim/padding": [floor, 90]}))
            self.git("add", "coverage")
            self.git("commit", "-qm", str(floor))
        found = self.check()
        self.assertEqual(found.returncode, 1)
        self.assertIn("sim/padding is [98, 90], was [99, 90]", found.stdout)

    def test_notes_of_a_deleted_source_are_forgotten(self):
        objects, tests = self.root / "build/CMakeFiles/engine.dir", self.root / "build/tests/CMakeFiles/a_test.dir"
        for folder in (objects / "sim/padding", tests, self.root / "tests"):
            folder.mkdir(parents=True)
        self.write("sim/padding/kept.c", "")
        self.write("build/made.c", "")
        self.write("tests/a_test.c", "")
        for name in ("sim/padding/kept.c", "sim/padding/gone.c", "made.c"):
            for kind in ("gcno", "gcda"):
                (objects / f"{name}.{kind}").write_text("")
        (tests / "a_test.c.gcno").write_text("")
        (tests / "gone_test.c.gcno").write_text("")
        coverage.forget_deleted(self.root / "build", self.root)
        left = sorted(str(path.relative_to(self.root / "build")) for path in (self.root / "build").rglob("*.gc*"))
        self.assertEqual(left, ["CMakeFiles/engine.dir/made.c.gcda", "CMakeFiles/engine.dir/made.c.gcno",
                                "CMakeFiles/engine.dir/sim/padding/kept.c.gcda", "CMakeFiles/engine.dir/sim/padding/kept.c.gcno",
                                "tests/CMakeFiles/a_test.dir/a_test.c.gcno"])

    def test_an_exclusion_says_why(self):
        self.write("coverage/line_floors.json", '{"sim/padding": [98, 90]}')
        self.assertEqual(self.check().returncode, 0)
        self.write("sim/padding/a.c", "int a; /* GCOVR_EXCL_LINE: only CUDA gets here */\n")
        self.assertEqual(self.check().returncode, 0)
        self.write("ref/b.c", "int a;\nint b; /* GCOVR_EXCL_LINE */\n")
        found = self.check()
        self.assertEqual(found.returncode, 1)
        self.assertIn("ref/b.c:2: excluded without a reason", found.stdout)

    def test_a_wrong_command_line_shows_how(self):
        for words in ((), ("check",), ("report",), ("report", "a", "--join", "b"), ("lower", "a")):
            found = self.run_code(*words)
            self.assertEqual(found.returncode, 2, words)
            self.assertIn("usage: lines.py", found.stderr)


if __name__ == "__main__":
    unittest.main()
