"""The models of scenarios/models/ are those that were published, and take real checkpoint folders.

usage: published_models.py COLDSTART SOURCE_FOLDER

tests/published/MODEL.json says what a published checkpoint consists of, and who says so. For each model:
* the listing adds up to the numbers that were published: tensors, elements, bytes, tensors of each dtype;
* "make-checkpoint --list" at the published sizes prints exactly the tensors that we take, each with its dtype and shape;
* a folder with every header as published, and holes for bytes, fits ("check --checkpoint"), and exactly the others are skipped;
* a small folder of the same names, reloaded from what "make-checkpoint" writes, runs as synthetic numbers do;
* a tensor that is missing, too much, renamed, of another dtype or of another shape is refused by its name.
Folders are written here, without the safetensors package: shards, their index, a config and what else lies beside them.
"""

import collections
import itertools
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

WIDTH = {"BF16": 2, "F32": 4, "F8_E4M3": 1, "U8": 1}
INDEX = "model.safetensors.index.json"
EXPERTS = 4  # of the small models

# What scenarios/published/ makes of them: layers, hidden size, intermediate size.
SMALL = {
    "gpt_oss_20b": (2, 224, 96),
    "gpt_oss_120b": (2, 224, 96),
    "qwen3_30b_a3b": (2, 256, 96),
    "qwen3_30b_a3b_fp8": (2, 256, 128),
    "qwen3_235b_a22b": (2, 256, 384),
    "qwen3_235b_a22b_bf16": (2, 256, 384),
    "deepseek_v3": (4, 256, 384),
    "kimi_k2": (2, 256, 256),
    "mixtral_8x7b": (2, 256, 192),
    "llama_4_scout": (2, 256, 192),
    "glm_4_5": (4, 256, 192),
    "glm_4_5_air": (2, 256, 176),
}


class Listing:
    """A file of tests/published/. Rows are name, dtype and shape: {3-60} are layers, {E} the experts; 2I and H/128 are sizes."""

    def __init__(self, path):
        self.model = path.stem
        self.content = json.loads(path.read_text())
        self.sizes = self.content["sizes"]
        self.published = self.content["published"]
        self.scenario = self.content.get("scenario", self.model)  # of scenarios/published/, with a setting
        self.settings = ("--set", self.content["set"]) if "set" in self.content else ()
        assert set(self.content["sources"]) >= {"names", "shapes", "dtypes", "totals"}, f"{path}: who says so?"

    def expand(self, part, sizes=None):
        """Name → dtype and shape, of every layer and expert."""
        sizes = sizes or self.sizes
        found = {}
        for name, dtype, shape in self.content[part]:
            words = re.split(r"\{(.*?)\}", name)
            ranges = [range(sizes["E"]) if word == "E" else layers(word) for word in words[1::2]]
            what = (dtype, [extent(text, sizes) for text in shape])
            for numbers in itertools.product(*ranges):
                ends = itertools.zip_longest(words[::2], map(str, numbers), fillvalue="")
                found["".join(itertools.chain(*ends))] = what
        return found

    def small(self):
        """What a small model takes of all names, and what it leaves."""
        n_layers, hidden, intermediate = SMALL[self.model]
        sizes = {"L": n_layers, "E": EXPERTS, "H": hidden, "I": intermediate}
        everything = self.expand("taken", sizes)
        taken = {name: what for name, what in everything.items() if layer_of(name) < n_layers}
        skipped = {name: (dtype, [2]) for name, (dtype, _) in (self.expand("skipped", sizes) | everything).items() if name not in taken}
        return taken, skipped

    def shards(self):
        pattern, first, last = self.content["shards"]
        return [pattern % (number, last) for number in range(first, last + 1)]


def layers(word):
    first, last = map(int, word.split("-"))
    return range(first, last + 1)


def extent(text, sizes):
    """2I, H/128 (rounded up), or a number."""
    if isinstance(text, int):
        return text
    factor, size, divisor = re.fullmatch(r"(\d*)([A-Z])(?:/(\d+))?", text).groups()
    return -(-int(factor or 1) * sizes[size] // int(divisor or 1))


def layer_of(name):
    found = re.search(r"\.layers\.(\d+)\.", name)
    return int(found[1]) if found else -1


def size_of(what):
    return WIDTH[what[0]] * math.prod(what[1])


# ---- folders ----


class Folder:
    """A checkpoint as it is published: tensors in shards, in their order."""

    def __init__(self, path, listing, tensors, n_shards=None):
        self.path, self.listing, self.tensors = path, listing, tensors
        names = listing.shards()[:n_shards]
        each = -(-len(tensors) // len(names))
        order = list(tensors)
        self.shards = {shard: order[i * each : (i + 1) * each] for i, shard in enumerate(names)}

    def header(self, names):
        found, at = {"__metadata__": {"format": "pt"}}, 0
        for name in names:
            dtype, shape = self.tensors[name]
            found[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at := at + size_of((dtype, shape))]}
        text = json.dumps(found, separators=(",", ":")).encode()
        return struct.pack("<Q", len(text)) + text, at

    def write_rest(self):
        """Index, config, and what nobody should read."""
        weight_map = {name: shard for shard, names in self.shards.items() for name in names}
        total = sum(map(size_of, self.tensors.values()))
        (self.path / INDEX).write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}))
        for name in self.listing.content["beside"]:
            (self.path / name).parent.mkdir(exist_ok=True)
            (self.path / name).write_bytes(b"{}" if name.endswith(".json") else b"no checkpoint")

    def write_headers(self):
        """Every byte of a tensor is a hole in its file."""
        self.path.mkdir(parents=True)
        for shard, names in self.shards.items():
            header, size = self.header(names)
            with open(self.path / shard, "wb") as file:
                file.write(header)
                file.truncate(len(header) + size)
        self.write_rest()
        return self

    def write_numbers(self):
        """As downloaded into a cache: shards are links. Bytes up to 0x3F are finite in every dtype here."""
        numbers, blobs = random.Random(1), self.path.parent / "blobs" / self.path.name
        self.path.mkdir(parents=True)
        blobs.mkdir(parents=True)
        for i, (shard, names) in enumerate(self.shards.items()):
            header, size = self.header(names)
            (blobs / str(i)).write_bytes(header + numbers.randbytes(size).translate(bytes(byte & 0x3F for byte in range(256))))
            (self.path / shard).symlink_to(blobs / str(i))
        self.write_rest()
        return self


def spoil(taken):
    """What is wrong, the tensor that a message must name, and the checkpoint."""
    victim = next(name for name in taken if ".experts." in name)
    dtype, shape = taken[victim]
    rest = {name: what for name, what in taken.items() if name != victim}
    yield "1 of ", f'tensors are missing, the first is "{victim}"', rest
    yield "1 tensors are unknown to the model", f'the first is "{victim}_"', taken | {victim + "_": taken[victim]}
    yield "1 of ", f'tensors are missing, the first is "{victim}"', rest | {victim + "_": taken[victim]}
    yield f'tensor "{victim}" is ', "convert the tensor, or take a checkpoint of this format", taken | {victim: ("U8" if dtype != "U8" else "BF16", shape)}
    yield f'tensor "{victim}" is ', "does the checkpoint belong to a model of another size?", taken | {victim: (dtype, [shape[0] + 1, *shape[1:]])}


# ---- the tests ----


class Tester:
    def __init__(self, coldstart, source, scratch):
        self.coldstart, self.source, self.scratch = coldstart, source, scratch

    def run(self, *arguments):
        alone = os.environ | {"OMP_NUM_THREADS": "1"}  # threads that wait for each other take longer than such small work
        done = subprocess.run([self.coldstart, *map(str, arguments)], capture_output=True, text=True, cwd=self.source, env=alone)
        return done.returncode, done.stdout, done.stderr

    def listed(self, *arguments):
        status, output, errors = self.run("make-checkpoint", *arguments, "--list")
        assert status == 0, errors
        rows = [line.split("  ") for line in output.splitlines()]
        shapes = {shape: json.loads(shape) for shape in {row[2] for row in rows}}
        found = {name: (dtype, shapes[shape]) for name, dtype, shape in rows}
        assert len(found) == len(rows), "a tensor is listed twice"
        return found

    def check(self, listing):
        script = f"scenarios/published/{listing.scenario}.lua"
        taken, skipped = listing.expand("taken"), listing.expand("skipped")
        check_totals(listing, taken, skipped)
        full = (*listing.settings, "--set", "published=true", "--set", f"layers={listing.sizes['L']}")
        same(listing.model, self.listed(script, "A", *full), taken)
        self.check_headers(listing, script, full, taken, skipped)
        self.check_small(listing, script)
        return len(taken), len(skipped)

    def check_headers(self, listing, script, full, taken, skipped):
        """Every tensor of every shard as published, at the published sizes."""
        folder = Folder(self.scratch / listing.model / "headers", listing, taken | skipped).write_headers()
        self.check_fits(folder, script, full, len(taken))
        if len(folder.tensors) < 20000:  # its first layers alone
            n_layers = SMALL[listing.model][0]
            n_first = sum(layer_of(name) < n_layers for name in taken)
            first = (*listing.settings, "--set", "published=true", "--set", f"layers={n_layers}")
            self.check_fits(folder, script, first, n_first)

    def check_fits(self, folder, script, settings, n_taken):
        status, output, errors = self.run("check", script, *settings, "--checkpoint", f"A={folder.path}")
        n = len(folder.tensors)
        fits = f"fits   A={folder.path}  {n} tensors: {n_taken} taken, {n - n_taken} not simulated\n"
        assert (status, errors) == (0, "") and output.startswith(fits), f"{folder.listing.model}: {output}{errors}"

    def check_small(self, listing, script):
        taken, skipped = listing.small()
        run, check = ("run", script, *listing.settings), ("check", script, *listing.settings)
        status, expected, errors = self.run(*run)
        assert status == 0 and re.search(rf"^PASSED  published.{listing.scenario} ", expected, re.M), expected + errors
        same(listing.model, self.listed(script, "A", *listing.settings), taken)

        folder = Folder(self.scratch / listing.model / "small", listing, taken | skipped, 3).write_numbers()
        made = self.scratch / listing.model / "made"
        status, _, errors = self.run("make-checkpoint", script, "A", made, *listing.settings)
        assert status == 0, errors
        same(listing.model, tensors_in(made), taken)
        status, found, errors = self.run(*run, "--checkpoint", f"A={folder.path}", "--checkpoint", f"B={made}")
        assert (status, found) == (0, expected), f"{listing.model}: {found}{errors}"

        for i, (message, tensor, tensors) in enumerate(spoil(taken)):
            folder = Folder(self.scratch / listing.model / f"spoiled{i}", listing, tensors | skipped, 3).write_numbers()
            status, _, errors = self.run(*run, "--checkpoint", f"A={folder.path}")
            assert status == 2 and message in errors and tensor in errors, f"{listing.model}: {status}, not {message} {tensor}: {errors}"
            status, output, _ = self.run(*check, "--checkpoint", f"A={folder.path}")
            assert status == 2 and message in output and tensor in output, f"{listing.model}: {status}, not {message} {tensor}: {output}"


def check_totals(listing, taken, skipped):
    """Nothing here is of this program: the listing against numbers that others published."""
    everything = taken | skipped
    assert len(taken) + len(skipped) == len(everything), f"{listing.model}: a tensor is both taken and skipped"
    found = counted(everything)
    same(listing.model, {key: found[key] for key in listing.published}, listing.published)


def counted(tensors):
    return {
        "tensors": len(tensors),
        "elements": sum(math.prod(shape) for _, shape in tensors.values()),
        "bytes": sum(map(size_of, tensors.values())),
        "dtypes": dict(collections.Counter(dtype for dtype, _ in tensors.values())),
    }


def same(model, found, expected):
    if found != expected:
        wrong = [key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)]
        first = min(wrong)
        raise AssertionError(f"{model}: {len(wrong)} differ, the first is {first}: {found.get(first)}, published {expected.get(first)}")


def tensors_in(folder):
    found = {}
    for path in folder.glob("*.safetensors"):
        raw = path.read_bytes()
        header = json.loads(raw[8 : 8 + struct.unpack("<Q", raw[:8])[0]])
        found |= {name: (what["dtype"], what["shape"]) for name, what in header.items() if name != "__metadata__"}
    return found


def main():
    source = pathlib.Path(sys.argv[2]).resolve()
    listings = [Listing(path) for path in sorted((source / "tests/published").glob("*.json"))]
    here = {path.stem for path in (source / "scenarios/published").glob("*.lua")}
    assert here == {listing.scenario for listing in listings} and set(SMALL) == {listing.model for listing in listings}, here
    with tempfile.TemporaryDirectory() as scratch:
        tester = Tester(pathlib.Path(sys.argv[1]).resolve(), source, pathlib.Path(scratch))
        for listing in listings:
            n_taken, n_skipped = tester.check(listing)
            print(f"{listing.model}: {n_taken} tensors taken, {n_skipped} skipped, as published")


if __name__ == "__main__":
    main()
