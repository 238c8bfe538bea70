"""What only shows while the program runs: progress, killed processes, files that change, signals.

usage: run_live.py COLDSTART SOURCE_FOLDER
"""

import contextlib
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

from live import PATIENCE, children_of, wait_until

FOREVER = ["--repeat", "1000000"]


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Live:
    def __init__(self, program, source, folder):
        self.program, self.source, self.folder = str(program), source, folder
        self.scenario = source / "scenarios/gpt_oss/mxfp4_tp1_sync.lua"
        self.other = source / "scenarios/gpt_oss/mxfp4_tp2_disk.lua"

    @contextlib.contextmanager
    def start(self, *arguments, **options):
        process = subprocess.Popen([self.program, *map(str, arguments)], cwd=self.folder, encoding="utf-8",
                                   **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options))
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    # ---- -j ----

    def a_killed_child_is_an_internal_error_that_names_its_scenario(self):
        with self.start("run", self.scenario, self.other, "-j", 2, *FOREVER) as process:
            children = wait_until("two children", lambda: len(children_of(process.pid)) == 2 and children_of(process.pid))
            os.kill(min(children), signal.SIGKILL)
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 3, process.returncode
            assert err.endswith(f"coldstart: scenario gpt_oss.mxfp4.trtllm.tp1.sync ({self.scenario}): its process was ended by signal 9 (Killed)\n"), err
            assert "passed" not in out, out
            wait_until("the other child to end", lambda: not any(map(is_alive, children)))

    def children_end_with_their_parent(self):
        with self.start("run", self.scenario, self.other, "-j", 2, *FOREVER) as process:
            children = wait_until("two children", lambda: len(children_of(process.pid)) == 2 and children_of(process.pid))
            process.kill()
            wait_until("the children to end", lambda: not any(map(is_alive, children)))

    # ---- --repeat ----

    def a_repetition_that_differs_is_flaky(self):
        """A checkpoint that somebody overwrites during the run."""
        subprocess.run([self.program, "make-checkpoint", self.scenario, "A", self.folder / "changing"], check=True, capture_output=True)
        file = self.folder / "changing/model.safetensors"
        arguments = ("run", self.scenario, "--policy", "record_and_fill", "--checkpoint", "A=changing", *FOREVER)
        with self.start(*arguments) as process, open(file, "r+b", buffering=0) as changing:
            size, value = file.stat().st_size, 0
            while process.poll() is None:
                value = (value + 1) % 256
                changing.seek(size - 1)
                changing.write(bytes([value]))
                time.sleep(0.3)
            out, _ = process.communicate()
            assert process.returncode == 1, process.returncode
            assert re.search(r"^FAILED  gpt_oss\S+  record_and_fill  ref\n  \S+:\d+: flaky: repetition \d+ of 1000000 differs from the first: ", out, re.M), out

    # ---- progress ----

    def stderr_of_terminal(self, *arguments, until):
        """What a terminal on stderr gets, until the pattern appears in it or the program ends."""
        ours, theirs = pty.openpty()
        text = ""
        with self.start(*arguments, stdout=subprocess.DEVNULL, stderr=theirs, env=os.environ | {"TERM": "xterm"}):
            os.close(theirs)
            end = time.monotonic() + PATIENCE
            while not re.search(until, text) and time.monotonic() < end:
                try:
                    part = os.read(ours, 4096)
                except OSError:  # nobody has the other end open any more
                    break
                text += part.decode()
        os.close(ours)
        return text

    def a_terminal_shows_how_far_a_long_run_is(self):
        line = r"\r\x1b\[Kscenario 1 of 1, (\d+\.\d+ scenarios/s|\d+\.\d\d GB/s), about \d+ (s|min) left: gpt_oss"
        for jobs in ([], ["-j", "2"]):
            text = self.stderr_of_terminal("run", self.scenario, *FOREVER, *jobs, until=f"{line}.*{line}")
            assert re.search(f"{line}.*{line}", text), text

    def quiet_and_quick_runs_show_nothing(self):
        quick = self.stderr_of_terminal("run", self.scenario, until="(?!)")
        assert quick == "seed 1\r\n", repr(quick)
        with self.start("run", self.scenario, "--quiet", *FOREVER, stderr=subprocess.PIPE) as process:
            time.sleep(2)
            process.kill()
            assert process.communicate()[1] == "seed 1\n"

    def elsewhere_a_line_comes_every_ten_seconds(self):
        with self.start("run", self.scenario, *FOREVER) as process:
            start = time.monotonic()
            assert process.stderr.readline() == "seed 1\n"
            line = process.stderr.readline()
            assert 9.5 < time.monotonic() - start < 30, time.monotonic() - start
            assert re.fullmatch(r"scenario 1 of 1, \d+\.\d\d GB/s, about \d+ (s|min) left: gpt_oss\.mxfp4\.trtllm\.tp1\.sync\n", line), line

    # ---- make-checkpoint ----

    def an_interrupted_checkpoint_leaves_nothing(self):
        """13 GB would take a while: a signal finds it half written."""
        before = set(self.folder.iterdir())
        full = self.source / "scenarios/full/gpt_oss_20b_tp1_sync.lua"
        with self.start("make-checkpoint", full, "A", "large") as process:
            wait_until("the temporary folder", lambda: list(self.folder.glob("large.tmp-*/*")))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
            assert (process.returncode, out, err) == (-signal.SIGINT, "", "coldstart: interrupted\n"), (process.returncode, out, err)
        assert set(self.folder.iterdir()) == before, set(self.folder.iterdir()) - before


def main():
    tests = [name for name, value in vars(Live).items() if callable(value) and not name.startswith("_") and name not in ("start", "stderr_of_terminal")]
    with tempfile.TemporaryDirectory() as folder:
        live = Live(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(folder))
        for name in tests:
            start = time.monotonic()
            getattr(live, name)()
            print(f"{name}: {time.monotonic() - start:.1f} s", flush=True)
    assert len(tests) == 7, tests


if __name__ == "__main__":
    main()
