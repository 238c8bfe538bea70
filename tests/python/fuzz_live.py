"""Campaigns as they run: processes, signals, interruption, canaries, exit statuses.

usage: fuzz_live.py COLDSTART
"""

import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from live import PATIENCE, children_of, wait_until

SMALL = ["--strength", "1", "--depth", "1", "--device", "ref", "--quiet"]
FAILING = ["--strength", "1", "--depth", "0", "--runs", "0", "--device", "ref", "--quiet", "--policy", "none"]

MISSING = object()
# where a result is damaged, with what, and what the message says of it
DAMAGES = [
    (["failures", 0, "text", 3], None, "failures[0].text[3]: found null, expected a string"),
    (["failures", 0], None, "failures[0]: found null, expected an object"),
    (["failures", 0], "x", 'failures[0]: found "x", expected an object'),
    (["failures", 0, "name"], None, "failures[0].name: found null, expected a string of 1 to 255 bytes"),
    (["failures", 0, "name"], MISSING, "failures[0].name: found missing, expected a string"),
    (["failures", 0, "fingerprint"], 5, "failures[0].fingerprint: found 5, expected a string"),
    (["failures", 0, "fingerprint"], "x" * 256, "failures[0].fingerprint: found a string of 256 bytes, expected a string"),
    (["failures", 0, "plan"], [], "failures[0].plan: found an array of 0 elements, expected a string"),
    (["failures", 0, "file"], 1, "failures[0].file: found 1, expected a string or null"),
    (["failures", 0, "number"], -1, "failures[0].number: found -1, expected a whole number of 0 or more"),
    (["failures", 0, "times"], 2 ** 63 - 1, f"failures[0].times: found {2 ** 63 - 1}, expected a whole number from 1"),
    (["failures", 0, "minimal"], 1, "failures[0].minimal: found 1, expected true or false"),
    (["failures", 0, "shrink_seconds"], "1", 'failures[0].shrink_seconds: found "1", expected a number'),
    (["failures", 0, "text"], "x", 'failures[0].text: found "x", expected an array'),
    (["failures", 0, "text"], ["x"] * 16, "failures[0].text: found an array of 16 elements, expected an array of 0 to 15"),
    (["failures"], MISSING, "failures: found missing, expected an array"),
    (["failures"], {}, "failures: found an object, expected an array"),
    (["schema"], 2, "schema: found 2, expected 1"),
    (["seed"], 1, "seed: found 1, expected a string"),
    (["options"], None, "options: found null, expected a string"),
    (["shard_index"], 1, "shard_index: found 1, expected 0"),
    (["plans"], -1, "plans: found -1, expected a whole number from 0"),
    (["plans"], 2 ** 63 - 1, f"plans: found {2 ** 63 - 1}, expected a whole number from 0"),
    (["plans"], 1.5, "plans: found 1.5, expected a whole number"),
    (["plans"], 10 ** 6, "plans: found 1000000, expected "),
    (["finished"], MISSING, "finished: found missing, expected true or false"),
    (["finished"], 1, "finished: found 1, expected true or false"),
    (["refused"], 2 ** 63 - 1, f"refused: found {2 ** 63 - 1}, expected a whole number from 0"),
    (["refused"], 10 ** 6, "refused: found 1000000, expected a whole number from 0"),
    (["seconds"], -1, "seconds: found -1, expected a number from 0"),
    (["parts"], "x", 'parts: found "x", expected an object'),
    (["parts", "random"], "x", 'parts.random: found "x", expected a whole number'),
    (["parts", "corpus"], MISSING, "parts.corpus: found missing, expected a whole number"),
    (["parts", "<other>"], 0, "parts: found 6, expected 5"),
    (["guaranteed", "orders"], None, "guaranteed.orders: found null, expected a whole number"),
    (["canary"], 7, "canary: found 7, expected a string or null"),
    (["canary_found_at"], -2, "canary_found_at: found -2, expected a whole number from -1"),
]


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
        arguments = [*SMALL, "--runs", 400]
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

    def _finished(self, folder, *arguments):
        """What the finished campaign says of itself, seconds aside: its state, and its lines about the canary and plans."""
        result = self.fuzz(*arguments, "-o", folder)
        assert result.returncode == 0, result
        state = json.loads((folder / "campaign.json").read_text())
        lines = [line.split(", in an earlier")[0].split(", after")[0] for line in result.stdout.splitlines()
                 if line.startswith(("canary", "plans:"))]
        return {key: value for key, value in state.items() if "second" not in key}, lines

    def a_finished_campaign_that_is_asked_again_says_the_same(self, folder):
        late = ["--canary", "side_tensors_rebuilt"]  # its first plans do not find it
        for number, limits in enumerate((["--runs", 60, *late], ["--time", "2s"], ["--runs", 60, "--shard", "1/2"])):
            arguments = [*SMALL, *limits, "--jobs", 1]
            first = self._finished(folder / str(number), *arguments)
            assert first[0]["canary_found_at"] > 1 and first[0]["finished"], first
            assert self._finished(folder / str(number), *arguments) == first, limits
        more, lines = self._finished(folder / "0", *SMALL, "--runs", 90, *late)
        assert more["parts"]["random"] == 90 and len(lines) == 2, (more, lines)

    def a_campaign_goes_on_with_its_own_canary_and_no_fewer_plans(self, folder):
        out = folder / "out"
        state = out / "campaign.json"
        n_fixed = len(self.fuzz(*SMALL, "--runs", 0, "--plans").stdout.splitlines())
        for shard in ([], ["--shard", "1/3"]):
            arguments = [*SMALL, *shard, "-o", out]
            assert self.fuzz(*arguments, "--runs", 12).returncode == 0
            whole = json.loads(state.read_text())
            assert whole["parts"]["random"] == (4 if shard else 12), whole
            least = 1 + max(number for number in range(12) if not shard or (n_fixed + number) % 3 == 1)
            for limit, status in ((0, 2), (least - 1, 2), (least, 0)):
                result = self.fuzz(*arguments, "--runs", limit)
                assert result.returncode == status, (limit, result)
                says = f"--runs: found {limit}, expected {least} or more: {out} holds a campaign that has done so many"
                assert (says in result.stderr) == (status == 2), (says, result.stderr)
            for canary in ("none", "copy_back_skipped"):
                result = self.fuzz(*arguments, "--runs", 12, "--canary", canary)
                assert result.returncode == 2, result
                assert f"holds a campaign with --canary no_fill, found --canary {canary}: " in result.stderr, result
            again = json.loads(state.read_text())
            assert {k: v for k, v in again.items() if "second" not in k} == {
                k: v for k, v in whole.items() if "second" not in k}, (whole, again)
            state.unlink()

    def a_canary_is_not_sent_with_plans_that_must_be_refused(self, folder):
        """Nobody finds this one, so that the campaign says how many canaries it has sent."""
        arguments = [*SMALL, "--seed", 3]  # one of the first canaries at random would come with a broken plan
        plans = self.fuzz(*arguments, "--runs", 64, "--plans").stdout.splitlines()
        due = [plan for number, plan in enumerate(plans, 1) if number % 16 == 0 and plan.startswith("random")]
        n_more = []
        for runs in (0, 64):
            result = self.fuzz(*arguments, "--runs", runs, "--canary", "warning_lost")
            n_more.append(int(result.stdout.split("NOT found in ")[1].split()[0]))
        n_legal = sum(" breaks=" not in plan for plan in due)  # some of these are against a rule
        assert n_more[1] - n_more[0] <= n_legal < len(due), (n_more, n_legal, len(due))

    def pipes_are_no_files(self, folder):
        pipe, out = folder / "pipe.lua", folder / "out"
        out.mkdir()
        for path in (pipe, out / "campaign.json"):
            os.mkfifo(path)
        runs = {pipe: self.fuzz(*SMALL, "--runs", 0, pipe), out / "campaign.json": self.fuzz(*SMALL, "--runs", 0, "-o", out)}
        results = [*runs.items(), (pipe, self.merge(pipe)), (out / "campaign.json", self.merge(out))]
        results.append((pipe, subprocess.run([self.program, "coverage", str(pipe)], capture_output=True, encoding="utf-8",
                                             timeout=PATIENCE)))
        for path, result in results:
            assert result.returncode == 2, result
            assert f"{path}: found a device or pipe, expected a file" in result.stderr, result

    def _hurt_once(self, folder, number, *arguments):
        # no canary, whose own processes are soon gone; and plans for seconds, wherever this runs
        with self.start(*SMALL, "--runs", 400, "--jobs", 2, "--canary", "none", "-o", folder, *arguments) as process:
            child = wait_until("two children", lambda: len(children_of(process.pid)) == 2 and children_of(process.pid))[0]
            time.sleep(0.3)
            os.kill(child, number)
            wait_until("the child's end", lambda: child not in children_of(process.pid))
            out, err = process.communicate(timeout=3 * PATIENCE)
        return process.returncode, out, err

    def hurt(self, folder, number, what, *arguments):
        """A child that got signal `number` is named; the campaign ends by itself. Between two plans, it hurts nobody."""
        for attempt in range(10):
            status, out, err = self._hurt_once(folder / f"out{attempt}", number, *arguments)
            if "0 unique failures" not in out:
                break
        assert status == 1, (status, out, err)
        assert what in out, out
        assert "1 unique failures" in out, out

    def a_crash_is_isolated_and_named(self, folder):
        self.hurt(folder, signal.SIGKILL, "crash: its process was ended by signal 9 (Killed)")

    def a_hang_is_isolated_and_named(self, folder):
        self.hurt(folder, signal.SIGSTOP, "hang: no answer within 5 s", "--timeout", "5s")

    def a_campaign_that_stood_still_blames_nobody(self, folder):
        """Ctrl-Z, and on again after more time than a plan may take."""
        with self.start(*SMALL, "--runs", 30, "--canary", "none", "--timeout", "2s", "-o", folder / "out") as process:
            wait_until("a child", lambda: children_of(process.pid))
            time.sleep(0.3)
            everybody = [process.pid, *children_of(process.pid)]
            for pid in everybody:
                os.kill(pid, signal.SIGSTOP)
            time.sleep(4)
            for pid in everybody:
                os.kill(pid, signal.SIGCONT)
            out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 and "\n0 unique failures" in out, (out, err)

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
        assert mutant["found"] and mutant["mutant"] == "no_fill", mutant
        assert "padding" in mutant["fingerprint"] or "params_lucky" in mutant["fingerprint"], mutant
        assert 1 <= mutant["plans"] and mutant["operations"] <= 4 and mutant["experts"] <= 2, mutant

    def failures_end_with_status_1_and_are_saved_as_scenarios_that_fail_by_themselves(self, folder):
        result = self.fuzz(*FAILING, "-o", folder / "out")
        assert result.returncode == 1, result.stdout
        saved = sorted((folder / "out").glob("*.lua"))
        assert saved, result.stdout
        again = subprocess.run([self.program, "run", str(saved[0]), "--quiet"], capture_output=True, encoding="utf-8")
        assert again.returncode == 1, again.stdout + again.stderr

    def failures_are_in_junit_word_for_word(self, folder):
        state, junit = folder / "out" / "campaign.json", folder / "junit.xml"
        assert self.fuzz(*FAILING, "-o", folder / "out", "--junit", junit).returncode == 1
        failures = {failure["fingerprint"]: failure["text"] for failure in json.loads(state.read_text())["failures"]}
        suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
        told = {failure.get("message"): failure.text.splitlines() for failure in suite.iter("failure")}
        assert told == failures and len(told) == int(suite.get("failures")) > 1, (told, failures)

    def a_corpus_finds_its_failures_again_first(self, folder):
        assert self.fuzz(*FAILING, "-o", folder / "out").returncode == 1
        saved = {path.stem for path in (folder / "out").glob("*.lua")}
        result = self.fuzz(*FAILING, folder / "out", "--json", folder / "again.json")
        again = json.loads((folder / "again.json").read_text())
        assert result.returncode == 1 and again["parts"]["corpus"] == len(saved) > 1, again["parts"]
        assert {failure["name"] for failure in again["failures"]} == saved, (again["failures"], saved)

    def failures_of_several_shards_are_joined_by_fingerprint(self, folder):
        names, times = [folder / "0", folder / "1"], collections.Counter()
        for shard, name in enumerate(names):
            assert self.fuzz(*FAILING, "--shard", f"{shard}/2", "-o", name).returncode == 1
            for failure in json.loads((name / "campaign.json").read_text())["failures"]:
                times[failure["fingerprint"]] += failure["times"]
        result = self.merge(*names, "--json", folder / "merged.json")
        merged = json.loads((folder / "merged.json").read_text())["failures"]
        assert result.returncode == 1 and {f["fingerprint"]: f["times"] for f in merged} == times, (merged, times)

    def merge(self, *arguments):
        return subprocess.run([self.program, "merge", *map(str, arguments)], capture_output=True, encoding="utf-8",
                              timeout=PATIENCE)

    def a_damaged_result_is_refused_by_merge_and_by_the_campaign_itself(self, folder):
        out = folder / "out"
        arguments = [*FAILING, "-o", out]
        assert self.fuzz(*arguments).returncode == 1
        state = out / "campaign.json"
        whole = state.read_text()
        assert self.merge(out).returncode == self.fuzz(*arguments).returncode == 1, "the whole one is taken"
        for number, (place, value, says) in enumerate(DAMAGES):
            damaged = json.loads(whole)
            *way, last = place
            inside = damaged
            for key in way:
                inside = inside[key]
            if value is MISSING:
                del inside[last]
            else:
                inside[last] = value
            state.write_text(json.dumps(damaged))
            results = [self.merge(out, "--junit", folder / "q.xml")]
            if number % 7 == 0:  # both read it with the same function; a campaign makes its plans first, which takes time
                results.append(self.fuzz(*arguments))
            for result in results:
                assert result.returncode == 2, (place, value, result)
                assert f"{state}: {says}" in result.stderr, (says, result.stderr)
            assert not (folder / "q.xml").exists()
        for text in ("", "[]"):
            state.write_text(text)
            for result in (self.merge(out), self.fuzz(*arguments)):
                assert result.returncode == 2 and str(state) in result.stderr, (text, result)

    def a_state_says_no_more_than_the_campaign_can_have_done(self, folder):
        arguments = [*SMALL, "--runs", 0, "-o", folder / "out"]
        assert self.fuzz(*arguments).returncode == 0
        path = folder / "out" / "campaign.json"
        state = json.loads(path.read_text())
        state["plans"] += 10 ** 6
        state["parts"]["guaranteed"] += 10 ** 6
        path.write_text(json.dumps(state))
        result = self.fuzz(*arguments)
        assert result.returncode == 2, result
        assert f"plans: found {state['plans']}, 0 of them random, expected " in result.stderr, result.stderr

    def one_shard_that_missed_its_canary_fails_the_merged_campaign(self, folder):
        for shard in (0, 1):
            result = self.fuzz(*SMALL, "--runs", 0, "--shard", f"{shard}/2", "--json", folder / f"{shard}.json")
            assert result.returncode == 0, result
        names = [folder / "0.json", folder / "1.json"]
        assert self.merge(*names).returncode == 0
        for name in names:
            whole = name.read_text()
            result = json.loads(whole)
            assert result["canary_found_at"] >= 1, result
            result["canary_found_at"] = -1
            name.write_text(json.dumps(result))
            merged = self.merge(*names, "--json", folder / "merged.json")
            assert merged.returncode == 1 and "canary no_fill: NOT found" in merged.stdout, merged
            assert json.loads((folder / "merged.json").read_text())["canary_found_at"] == -1
            name.write_text(whole)

    def a_shard_that_was_interrupted_is_not_merged_until_it_is_finished(self, folder):
        out, merged = folder / "out", folder / "merged.xml"
        state = out / "campaign.json"
        arguments = [*SMALL, "--time", "1s", "-o", out]
        with self.start(*arguments) as process:
            wait_until("a child", lambda: children_of(process.pid))
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
            assert process.returncode != 0, "it was not interrupted"
        assert json.loads(state.read_text())["finished"] is False
        result = self.merge(out, "--junit", merged)
        assert result.returncode == 2 and not result.stdout and not merged.exists(), result
        assert f"{state}: finished: found false after " in result.stderr, result
        assert "run the same command again: it goes on where it ended" in result.stderr, result
        for _ in ("goes on", "a finished one with its time used up stays finished"):
            assert self.fuzz(*arguments).returncode == 0
            assert json.loads(state.read_text())["finished"] is True
            assert self.merge(out, "--junit", merged).returncode == 0

    def bytes_that_are_not_utf_8_cost_no_failure(self, folder):
        out = os.fsencode(folder) + b"/caf\xe9"
        command = [self.program, "fuzz", *["--strength", "1", "--depth", "0", "--runs", "0", "--device", "ref", "--quiet"],
                   "--policy", "none", "-o", out]
        n_new = []
        for _ in range(2):  # the second goes on from the state of the first
            result = subprocess.run(command, capture_output=True, timeout=PATIENCE)
            assert result.returncode == 1, result
            n_new.append(result.stdout.count(b"FAILED  "))
        n = len([name for name in os.listdir(out) if name.endswith(b".lua")])
        assert n_new == [n, 0] and n, n_new
        with open(out + b"/campaign.json", encoding="utf-8") as file:
            failures = json.load(file)["failures"]
        assert len(failures) == n, failures
        for failure in failures:
            assert failure["file"] == f"{folder}/caf?/{failure['name']}.lua", failure
            assert failure["text"][-1] == f"repeat: coldstart run {failure['file']}", failure
        result = self.merge(os.fsdecode(out))
        assert result.returncode == 1 and f"{n} unique failures" in result.stdout, result

    def a_result_that_is_not_there_is_named_with_the_reason(self, folder):
        empty = folder / "empty"
        empty.mkdir()
        for word, path in (("nofile", "nofile"), (empty, empty / "campaign.json")):
            result = self.merge(word)
            assert result.returncode == 2, result
            assert result.stderr == f'coldstart: cannot read "{path}": No such file or directory\n', result
        (empty / "campaign.json").mkdir()
        assert f'cannot read "{empty}/campaign.json": Is a directory' in self.merge(empty).stderr

    def coverage_of_a_campaign_that_goes_on_is_refused(self, folder):
        path = folder / "coverage.json"
        arguments = [*SMALL, "--runs", 0, "-o", folder / "out", "--coverage", path]
        assert self.fuzz(*arguments).returncode == 0
        first = path.read_text()
        result = self.fuzz(*arguments)
        assert result.returncode == 2 and "--coverage with --output-dir" in result.stderr, result
        assert path.read_text() == first

    def options_that_would_do_nothing_are_refused(self, folder):
        apart = [["--self-test", *other] for other in (["--junit", folder / "x"], ["--coverage", folder / "x"],
                 ["-o", folder / "x"], ["--plans"], ["--shard", "0/2"], [folder / "no_such.lua"], ["--canary", "none"])]
        apart += [["--plans", *other] for other in (["--json", folder / "x"], ["--junit", folder / "x"],
                  ["--coverage", folder / "x"], ["-o", folder / "x"], [folder / "no_such.lua"])]
        for arguments in apart:
            result = self.fuzz(*SMALL, "--runs", 0, *arguments)
            assert result.returncode == 2 and not result.stdout, (arguments, result)
            assert f"{arguments[0]}" in result.stderr and "leave" in result.stderr, (arguments, result)
            assert not (folder / "x").exists(), arguments

    def the_self_test_deals_plans_as_they_are_wanted(self, folder):
        start = time.monotonic()
        result = self.fuzz("--strength", 1, "--depth", 0, "--device", "ref", "--self-test", "--canary", "no_fill",
                           "--time", "20s", "--runs", 10 ** 11, "--json", folder / "self_test.json")
        assert result.returncode == 0, result
        assert time.monotonic() - start < PATIENCE
        assert json.loads((folder / "self_test.json").read_text())["most_plans"] == 10 ** 11

    def limits_that_messages_name_are_true(self, folder):
        most = 2 ** 63 - 1
        arguments = ["--strength", 1, "--depth", 0, "--device", "ref", "--plans", "--runs"]
        with self.start(*arguments, most) as process:
            for _ in range(1000):
                assert process.stdout.readline(), process.stderr.read()
        for number in (most + 1, 2 ** 64, 10 ** 30):
            result = self.fuzz(*arguments, number)
            assert result.returncode == 2 and f'from 0 to {most}, found "{number}"' in result.stderr, result
        result = self.fuzz("--shard", "0/0")
        assert result.returncode == 2 and "shard 0 of 0: expected one shard or more, such as 0/1" in result.stderr, result

    def bad_options_end_with_status_2(self, folder):
        for arguments in (["--runs", "many"], ["--strength", "9"], ["--canary", "no_such"], ["--shard", "3/3"], ["--time", "1y"]):
            result = self.fuzz(*arguments)
            assert result.returncode == 2 and result.stderr, (arguments, result)


def main():
    campaigns = Campaigns(pathlib.Path(sys.argv[1]).resolve())
    tests = [name for name, test in vars(Campaigns).items() if callable(test) and not name.startswith("_")]
    for name in tests:
        if name in ("fuzz", "start", "hurt", "merge"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            getattr(campaigns, name)(pathlib.Path(folder))
            print(f"{name}: {time.monotonic() - start:.1f} s", flush=True)


main()
