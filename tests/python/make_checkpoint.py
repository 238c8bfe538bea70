"""Checkpoints in folders, in both directions: what make-checkpoint writes, read by the public safetensors package and computed
again from the documented formula; what the package writes, run by us.

usage: make_checkpoint.py COLDSTART SOURCE_FOLDER
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import safetensors
import safetensors.numpy

from small_gpt_oss import as_bf16

INDEX = "model.safetensors.index.json"
GOLDEN = "tests/golden/loaders/gptoss-mx-96-{}.safetensors"
CAPTURES = ["FLASHINFER_TRTLLM_MXFP4_MXFP8-tp1", "TRITON-tp1", "ep2r1"]

# What the published model has beside experts, routers and norms; the models leave it out by name.
NOT_SIMULATED = [
    "model.embed_tokens.weight", "lm_head.weight",
    *(f"model.layers.{layer}.self_attn.{name}" for layer in range(2) for name in
      ("q_proj.weight", "q_proj.bias", "k_proj.weight", "v_proj.weight", "o_proj.weight", "sinks")),
]

SCENARIO = """\
local models = require "models.gpt_oss"
return cs.scenario {{
  name = "from_files",
  model = models.gpt_oss_20b {{ layers = {layers}, experts = {experts}, hidden = {hidden}, intermediate = 96 }},
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 1,
  policies = {{ "none", "record_and_fill" }},
  run = function(s)
    s:cold_start "A"
    s:reload {{ driver = "layerwise", checkpoint = "B" }}
    s:expect {{ none = {{ params_differ = {differ} }}, record_and_fill = {{ params_differ = 0, params_lucky = 0, excess = 0, missing = 0 }} }}
  end,
}}
"""


class Coldstart:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, *arguments, status=0):
        result = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, encoding="utf-8")
        assert result.returncode == status, f"{arguments}: exit status {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout

    def verdicts(self, *arguments):
        return json.loads(self("run", *arguments, "--json", "-"))["verdicts"]


# ---- the formula of synthetic checkpoints: sim/tensor/tensor.h ----

MASK = 2**64 - 1


def mix64(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def stream_key(seed, name):
    key = mix64(seed + 0x9E3779B97F4A7C15 & MASK)
    for byte in name.encode():
        key = mix64(key ^ byte) + byte & MASK
    return mix64(key)


def synthetic_bytes(seed, name, n):
    key = stream_key(seed, name)
    words = numpy.array([mix64(key + i & MASK) for i in range((n + 7) // 8)], dtype="<u8")
    return words.view(numpy.uint8)[:n]


def synthetic(seed, name, dtype, shape):
    """The file's bytes of a tensor: u8 as it is, scales as e8m0, bf16 as (byte - 128) / 64."""
    raw = synthetic_bytes(seed, name, int(numpy.prod(shape)))
    if dtype == "BF16":
        return ((raw.astype(numpy.float32) - 128) / 64).view(numpy.uint32) >> 16
    return 120 + raw % 8 if name.endswith("_scales") else raw


# ---- reading with the package ----


def loaded(folder):
    """Name → (dtype, shape, bytes), by way of the index if there is one, as Hugging Face's libraries do."""
    index = folder / INDEX
    files = {"model.safetensors"}
    weight_map = None
    if index.exists():
        content = json.loads(index.read_text())
        weight_map = content["weight_map"]
        files = set(weight_map.values())
    assert {path.name for path in folder.glob("*.safetensors")} == files, f"{folder}: {files}"
    tensors = {}
    for file in files:
        with safetensors.safe_open(folder / file, framework="numpy") as opened:
            assert opened.metadata() == {"format": "pt"}, opened.metadata()
        for name, tensor in safetensors.deserialize((folder / file).read_bytes()):
            assert name not in tensors and (weight_map is None or weight_map[name] == file), name
            tensors[name] = (tensor["dtype"], list(tensor["shape"]), bytes(tensor["data"]))
    if weight_map is not None:
        assert set(weight_map) == set(tensors)
        assert content["metadata"]["total_size"] == sum(len(data) for *_, data in tensors.values())
    return tensors


def check_written(coldstart, scenario):
    """Every byte of A is the formula's, with one file or many; B differs from A in every element."""
    coldstart("make-checkpoint", scenario, "A", "a1", "--seed", 7)
    coldstart("make-checkpoint", scenario, "A", "a5", "--seed", 7, "--max-shard-size", "64KiB")
    coldstart("make-checkpoint", scenario, "B", "b", "--seed", 7)
    one, many, other = (loaded(coldstart.folder / name) for name in ("a1", "a5", "b"))
    assert one == many and len(one) == 21, sorted(one)
    assert len(list((coldstart.folder / "a5").glob("model-0000?-of-00005.safetensors"))) == 5
    assert not (coldstart.folder / "a1" / INDEX).exists()
    for name, (dtype, shape, data) in one.items():
        width = "<u2" if dtype == "BF16" else "u1"
        expected = synthetic(7, name, dtype, shape).astype(width)
        assert data == expected.tobytes(), f"{name}: {data[:8].hex()} is not {expected.tobytes()[:8].hex()}"
        assert other[name][:2] == (dtype, shape)
        assert (numpy.frombuffer(other[name][2], dtype=width) != expected).all(), f"{name}: B equals A somewhere"
    return len(one)


def check_same_verdicts(coldstart, scenario):
    """A from files gives the verdicts of the synthetic A: all but time, and but what B's numbers decide, which is then a
    copy of the files; both from files give all but time."""
    without = lambda verdicts, *left_out: [{key: value for key, value in v.items() if key not in left_out} for v in verdicts]
    numbers = ("seconds", "first", "why", "digest", "states")
    synthetic_ones = coldstart.verdicts(scenario, "--seed", 7)
    from_files = coldstart.verdicts(scenario, "--seed", 7, "--checkpoint", "A=a5")
    assert len(synthetic_ones) == 4 and without(synthetic_ones, *numbers) == without(from_files, *numbers)
    both = coldstart.verdicts(scenario, "--seed", 7, "--checkpoint", "A=a5", "--checkpoint", "B=b")
    assert without(synthetic_ones, "seconds") == without(both, "seconds")


# ---- written by the package ----


def add_shard(folder, shard, tensors, weight_map):
    safetensors.numpy.save_file(tensors, folder / shard, metadata={"format": "pt"})
    as_bf16(folder / shard)
    weight_map.update(dict.fromkeys(tensors, shard))


def check_published_names(coldstart, source):
    """The package's shards with all names of the published model: attention and embeddings are counted and skipped."""
    subprocess.run([sys.executable, source / "tests/python/small_gpt_oss.py", coldstart.folder / "one_file"], check=True, capture_output=True)
    small = loaded_raw(coldstart.folder / "one_file/model.safetensors")
    folder = coldstart.folder / "published"
    folder.mkdir()
    weight_map = {}
    experts = {name: array for name, array in small.items() if ".experts." in name}
    others = {name: array for name, array in small.items() if name not in experts and name != "model.embed_tokens.weight"}
    skipped = {name: numpy.arange(64, dtype=numpy.uint16).reshape(8, 8) for name in NOT_SIMULATED}
    add_shard(folder, "model-00001-of-00002.safetensors", experts | dict(list(skipped.items())[:7]), weight_map)
    add_shard(folder, "model-00002-of-00002.safetensors", others | dict(list(skipped.items())[7:]), weight_map)
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map}))
    scenario = write_scenario(coldstart, "published.lua", layers=2, experts=4, hidden=224, differ=12)
    for verdict in coldstart.verdicts(scenario, "--checkpoint", "A=published"):
        assert (verdict["status"], verdict["params_total"]) == ("passed", 21), verdict
        assert verdict["accounting"] == {"missing": 0, "duplicate": 0, "excess": 0, "not_simulated": len(NOT_SIMULATED)}, verdict


def loaded_raw(path):
    """Arrays of a file that holds bf16: as U16."""
    arrays = {}
    for name, tensor in safetensors.deserialize(path.read_bytes()):
        dtype = {"BF16": "<u2", "U8": "u1"}[tensor["dtype"]]
        arrays[name] = numpy.frombuffer(bytes(tensor["data"]), dtype=dtype).reshape(tensor["shape"])
    return arrays


def write_scenario(coldstart, name, **sizes):
    folder = coldstart.folder / "scenarios"
    (folder / name).write_text(SCENARIO.format(**sizes))
    return folder / name


def check_captured(coldstart, source, capture):
    """The checkpoint that a captured loader read from (tensors "ckpt.*"), with routers and norms of ours."""
    captured = loaded_raw(source / GOLDEN.format(capture))
    tensors = {name[len("ckpt."):]: array for name, array in captured.items() if name.startswith("ckpt.")}
    assert len(tensors) == 6 and all(name.startswith("model.layers.0.mlp.experts.") for name in tensors), sorted(tensors)
    experts = tensors["model.layers.0.mlp.experts.down_proj_bias"].shape[0]
    random = numpy.random.default_rng(96)
    for name, shape in {"model.norm.weight": 96, "model.layers.0.input_layernorm.weight": 96,
                        "model.layers.0.post_attention_layernorm.weight": 96,
                        "model.layers.0.mlp.router.weight": (experts, 96), "model.layers.0.mlp.router.bias": experts}.items():
        tensors[name] = random.integers(0x3C00, 0x4000, shape, dtype=numpy.uint16)
    folder = coldstart.folder / f"captured-{capture}"
    folder.mkdir()
    add_shard(folder, "model.safetensors", tensors, {})
    scenario = write_scenario(coldstart, f"captured_{experts}.lua", layers=1, experts=experts, hidden=96, differ=6)
    for verdict in coldstart.verdicts(scenario, "--checkpoint", f"A={folder.name}"):
        assert verdict["status"] == "passed" and verdict["accounting"]["not_simulated"] == 0, verdict
    wrong = write_scenario(coldstart, "captured_wrong.lua", layers=1, experts=experts, hidden=224, differ=6)
    result = subprocess.run([coldstart.program, "run", wrong, "--checkpoint", f"A={folder}"], capture_output=True, encoding="utf-8")
    assert result.returncode == 2 and re.search(r'tensor "\S+" is \S+.*the model expects .*another size\?', result.stderr), result.stderr


def main():
    program, source = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        coldstart = Coldstart(program, pathlib.Path(folder))
        (coldstart.folder / "scenarios").mkdir()
        os.symlink(source / "scenarios/models", coldstart.folder / "scenarios/models")
        scenario = source / "scenarios/gpt_oss/mxfp4_tp1_sync.lua"
        n_written = check_written(coldstart, scenario)
        check_same_verdicts(coldstart, scenario)
        check_published_names(coldstart, source)
        for capture in CAPTURES:
            check_captured(coldstart, source, capture)
    print(f"safetensors {safetensors.__version__}: {n_written} tensors as computed, {len(NOT_SIMULATED)} skipped by name, {len(CAPTURES)} captured checkpoints run")


if __name__ == "__main__":
    main()
