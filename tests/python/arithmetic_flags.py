"""No fused, reassociated or approximate arithmetic: what every compiler is told.

    arithmetic_flags.py SOURCE BUILD

Reads the compile commands of BUILD and the nvcc command of gpu/cuda.cmake. Exit 1 with the file and the flag that is wrong or missing.
"""

import json
import pathlib
import re
import shlex
import sys

LOOSE = re.compile(r"-Ofast|-f(fast-math|unsafe-math-optimizations|associative-math|reciprocal-math|finite-math-only|no-signed-zeros)"
                   r"|--?use_fast_math|-?-?(fmad|ftz|prec-div|prec-sqrt)=.*|-ffp-contract=.*")
STRICT = {"-ffp-contract=off", "--fmad=false", "-fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"}


def loose(words):
    """Flags that let a compiler change results. A flag that is turned off again later still counts: write it once."""
    return [word for word in words if LOOSE.fullmatch(word) and word not in STRICT]


def of_compiler(entry):
    words = shlex.split(entry["command"]) if "command" in entry else entry["arguments"]
    wrong = [f"{word} lets results depend on the compiler" for word in loose(words)]
    if "-ffp-contract=off" not in words:
        wrong.append("-ffp-contract=off is missing")
    return [f"{entry['file']}: {text}" for text in wrong]


def of_nvcc(text):
    commands = re.findall(r"COMMAND \$\{COLDSTART_NVCC\}(.*?)(?:DEPENDS|COMMENT|VERBATIM)", text, re.S)
    wrong = [] if commands else ["gpu/cuda.cmake: no nvcc command"]
    for command in commands:
        words = [word for word in re.split(r"[ ,\n]|-Xcompiler=", command) if word]
        wrong += [f"gpu/cuda.cmake: {word} lets results depend on the device" for word in loose(words)]
        if "--fmad=false" not in words:
            wrong.append("gpu/cuda.cmake: --fmad=false is missing")
        if "-ffp-contract=off" not in re.split(r"[ ,\n]|-Xcompiler=", command):
            wrong.append("gpu/cuda.cmake: -ffp-contract=off for the host compiler is missing")
    return wrong


def main(source, build):
    source = pathlib.Path(source)
    entries = json.loads(pathlib.Path(build, "compile_commands.json").read_text(encoding="utf-8"))
    ours = [entry for entry in entries if pathlib.Path(entry["file"]).resolve().is_relative_to(source.resolve())]
    wrong = [] if ours else [f"{build}: no compile command is for a file of {source}"]
    for entry in ours:
        wrong += of_compiler(entry)
    wrong += of_nvcc((source / "gpu/cuda.cmake").read_text(encoding="utf-8"))
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"{len(ours)} compile commands and nvcc's: no fused, reassociated or approximate arithmetic")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
