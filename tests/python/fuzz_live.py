"""Campaigns as they run: processes, signals, interruption, canaries, exit statuses.

usage: fuzz_live.py COLDSTART
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE = 300  # seconds until something that must happen counts as missing
SMALL = ["--strength", "1", "--depth", "1", "--device", "ref", "--quiet"]


def children_of(pid):
    children = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                children.append(int(stat.parent.name))
    return children


def wait_until(what, condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {PATIENCE} s for {what}")


class Campaigns:
    def __init__(self, program):
        self.program = str(program)

    def fuzz(self, *arguments):
        return subprocess.run([self.program, "fuzz", *map(str, arguments)], capture_output=True, encoding="utf-8",
                              timeout=5 * PATIENCE)

    @contextlib.contextmanager
    def start(self, *arguments):
        process = subprocess.Popen([self.program, "fuzz", *map(str, arguments)], encoding="utf-8",
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def plans_and_results_do_not_depend_on_jobs(self, folder):
        listed, reports = [], []
        for jobs in (1, 4):
            arguments = [*SMALL, "--runs", 20, "--jobs", jobs]
            listed.append(self.fuzz(*arguments, "--plans").stdout)
            assert self.fuzz(*arguments, "--json", folder / f"{jobs}.json").returncode == 0
            report = json.loads((folder / f"{jobs}.json").read_text())
            reports.append({key: value for key, value in report.items() if "second" not in key})
        assert listed[0].count("\n") > 200, listed[0]
        assert listed[0] == listed[1]
        assert reports[0] == reports[1], reports

    def the_seed_is_printed_first_and_last(self, folder):
        lines = self.fuzz(*SMALL, "--runs", 5, "--seed", "0x2a").stderr.splitlines()
        assert lines[0] == lines[-1] == "seed 0x2a", lines

    def an_interrupted_campaign_goes_on_without_loss(self, folder):
        whole, parts = folder / "whole.json", folder / "parts.json"
        arguments = [*SMALL, "--runs", 100]
        assert self.fuzz(*arguments, "-o", folder / "whole", "--json", whole).returncode == 0
        with self.start(*arguments, "-o", folder / "parts") as process:
            wait_until("a child", lambda: children_of(process.pid))
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
            assert process.returncode != 0, "it was not interrupted: more --runs are needed"
        assert self.fuzz(*arguments, "-o", folder / "parts", "--json", parts).returncode == 0
        both = [json.loads(path.read_text()) for path in (whole, parts)]
        both = [{key: value for key, value in report.items() if "second" not in key} for report in both]
        assert both[0] == both[1], both

    def hurt(self, folder, number, what, *arguments):
        """A child that got signal `number` is named; the campaign ends by itself."""
        with self.start(*SMALL, "--runs", 30, "--jobs", 2, "-o", folder / "out", *arguments) as process:
            child = wait_until("two children", lambda: len(children_of(process.pid)) == 2 and children_of(process.pid))[0]
            time.sleep(0.3)
            os.kill(child, number)
            wait_until(what, lambda: child not in children_of(process.pid))
            out, err = process.communicate(timeout=3 * PATIENCE)
        assert process.returncode == 1, (process.returncode, out, err)
        assert what in out, out
        assert "1 unique failures" in out, out

    def a_crash_is_isolated_and_named(self, folder):
        self.hurt(folder, signal.SIGKILL, "crash: its process was ended by signal 9 (Killed)")

    def a_hang_is_isolated_and_named(self, folder):
        self.hurt(folder, signal.SIGSTOP, "hang: no answer within 5 s", "--timeout", "5s")

    def a_canary_is_found(self, folder):
        result = self.fuzz(*SMALL, "--runs", 30, "--canary", "no_fill")
        assert result.returncode == 0, result.stdout + result.stderr
        assert "canary" in result.stdout, result.stdout

    def a_canary_is_there_without_being_asked_for(self, folder):
        assert "canary no_fill: found by its plan" in self.fuzz(*SMALL, "--runs", 0).stdout
        assert "canary" not in self.fuzz(*SMALL, "--runs", 0, "--canary", "none").stdout

    def a_canary_that_is_not_found_fails_the_campaign(self, folder):
        result = self.fuzz("--strength", 1, "--depth", 0, "--runs", 0, "--device", "ref", "--quiet", "--canary",
                           "warning_lost")  # no plan has a tensor that is not registered
        assert result.returncode == 1, result.stdout + result.stderr
        assert "canary warning_lost: NOT found in" in result.stdout, result.stdout

    def the_self_test_says_how_soon_a_mutant_is_found_and_how_small_it_becomes(self, folder):
        path = folder / "self_test.json"
        result = self.fuzz("--strength", 1, "--depth", 0, "--device", "ref", "--self-test", "--canary", "no_fill",
                           "--json", path)
        assert result.returncode == 0, result.stdout + result.stderr
        (mutant,) = json.loads(path.read_text())["mutants"]
        assert mutant["found"] and mutant["mutant"] == "no_fill" and "padding" in mutant["fingerprint"], mutant
        assert 1 <= mutant["plans"] and mutant["operations"] <= 4 and mutant["experts"] <= 2, mutant

    def failures_end_with_status_1_and_are_saved_as_scenarios_that_fail_by_themselves(self, folder):
        result = self.fuzz("--strength", 1, "--depth", 0, "--runs", 0, "--device", "ref", "--quiet", "--policy", "none",
                           "-o", folder / "out")
        assert result.returncode == 1, result.stdout
        saved = sorted((folder / "out").glob("*.lua"))
        assert saved, result.stdout
        again = subprocess.run([self.program, "run", str(saved[0]), "--quiet"], capture_output=True, encoding="utf-8")
        assert again.returncode == 1, again.stdout + again.stderr

    def bad_options_end_with_status_2(self, folder):
        for arguments in (["--runs", "many"], ["--strength", "9"], ["--canary", "no_such"], ["--shard", "3/3"], ["--time", "1y"]):
            result = self.fuzz(*arguments)
            assert result.returncode == 2 and result.stderr, (arguments, result)


def main():
    campaigns = Campaigns(pathlib.Path(sys.argv[1]).resolve())
    tests = [name for name, test in vars(Campaigns).items() if callable(test) and not name.startswith("_")]
    for name in tests:
        if name in ("fuzz", "start", "hurt"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            getattr(campaigns, name)(pathlib.Path(folder))
            print(f"{name}: {time.monotonic() - start:.1f} s", flush=True)


main()
