"""Every row of the support matrix goes there and back in scenarios/backends: layerwise and in place, to another checkpoint and its own again.

usage: there_and_back.py SOURCE_FOLDER COLDSTART

A scenario is found by its name: backends.METHOD.BACKEND for the method's first loader, with .LOADER behind it for the others.
"""

import pathlib
import re
import subprocess
import sys

# Upstream refuses the second load of these: activation scales must agree with what their slots hold.
REFUSED = {
    ("fp8_tensor_ct", backend): {f"backends.agreed_scales_{driver}.{backend}" for driver in ("layerwise", "direct")}
    for backend in ("flashinfer_cutlass", "flashinfer_trtllm")
}


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout.splitlines()


def missing(rows, names):
    """Rows (method, back end, loader) that no scenario of `names` is about; the first loader of a method comes first."""
    first = {}
    for method, backend, loader in rows:
        usual = first.setdefault((method, backend), loader) == loader
        wanted = REFUSED.get((method, backend)) or {f"backends.{method}.{backend}" + ("" if usual else f".{loader}")}
        if not wanted <= names:
            yield method, backend, loader


def main(source, coldstart):
    listed = [re.split(r"  +", line) for line in lines_of(coldstart, "list", "support", source / "tests/golden")[1:]]
    rows = [(row[0], row[1], row[2]) for row in listed if row[4] != "refused"]
    names = {line.split()[-1] for line in lines_of(coldstart, "check", source / "scenarios/backends")}
    wrong = list(missing(rows, names))
    for method, backend, loader in wrong:
        print(f"{method} with {backend} by {loader}: no scenario of scenarios/backends takes it there and back")
    assert list(missing([("fp8_block", "none_such", "per_expert")], names)), "the check cannot fail"
    print(f"{len(rows) - len(wrong)} of {len(rows)} rows of the support matrix go there and back")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
