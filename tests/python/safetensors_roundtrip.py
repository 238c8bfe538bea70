"""Our reader and writer of safetensors files against the public package, in both directions.

usage: safetensors_roundtrip.py CHECKPOINT_DUMP
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy
import safetensors
import safetensors.numpy

INDEX = "model.safetensors.index.json"


def fnv1a64(data):
    state = 0xCBF29CE484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return state


def shards():
    """Two shards: names, and numpy arrays. F32 holds every special value, I64 every byte position."""
    random = numpy.random.default_rng(20)
    special = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-45, 3.4e38, -1.5]
    return {
        "model-00001-of-00002.safetensors": {
            "embed.weight": random.integers(0, 256, (7, 11), dtype=numpy.uint8),
            "layers.0.norm.weight": numpy.array(special, dtype=numpy.float32).reshape(2, 4),
            "layers.0.empty": numpy.zeros((3, 0), dtype=numpy.float32),
        },
        "model-00002-of-00002.safetensors": {
            "layers.1.positions": numpy.array([[-1, 2**62, 0x0102030405060708]], dtype=numpy.int64),
            "layers.1.scalar": numpy.array(2.5, dtype=numpy.float32),
            "layers.1.ünïcode": random.integers(0, 256, 5, dtype=numpy.uint8),
        },
    }


def raw_shard():
    """What numpy has no dtype for: (dtype of the package's byte interface, dtype in the file, shape, bytes)."""
    data = bytes(range(256))
    return {
        "layers.2.brain": ("bfloat16", "BF16", [4, 6], data[:48]),
        "layers.2.fp8": ("float8_e4m3fn", "F8_E4M3", [16, 16], data),
        "layers.2.scale": ("float8_e8m0fnu", "F8_E8M0", [3], data[100:103]),
    }


def spec(dtype, shape, array):
    """The package's byte interface: an object over memory that `array` keeps alive since 0.8, a dict before."""
    if hasattr(safetensors, "TensorSpec"):
        return safetensors.TensorSpec(dtype=dtype, shape=shape, data_ptr=array.ctypes.data, data_len=array.nbytes)
    return {"dtype": dtype, "shape": shape, "data": array.tobytes()}


def write_folder(folder):
    """Writes shards and index with the package; returns what our reader must print, in any order."""
    weight_map, lines = {}, set()
    for shard, tensors in shards().items():
        safetensors.numpy.save_file(tensors, folder / shard, metadata={"format": "np"})
        for name, array in tensors.items():
            dtype = {"uint8": "U8", "float32": "F32", "int64": "I64"}[array.dtype.name]
            lines.add(line(name, dtype, array.shape, array.tobytes()))
            weight_map[name] = shard
    raw = raw_shard()
    arrays = {name: numpy.frombuffer(data, dtype=numpy.uint8) for name, (_, _, _, data) in raw.items()}
    specs = {name: spec(dtype, shape, arrays[name]) for name, (dtype, _, shape, _) in raw.items()}
    (folder / "raw.safetensors").write_bytes(safetensors.serialize(specs))
    for name, (_, dtype, shape, data) in raw.items():
        lines.add(line(name, dtype, shape, data))
        weight_map[name] = "raw.safetensors"
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map}))
    return lines


def line(name, dtype, shape, data):
    return f"{name} {dtype} [{','.join(map(str, shape))}] {fnv1a64(data):016x}"


def check_reading(dump, folder):
    expected = write_folder(folder)
    result = subprocess.run([dump, folder], capture_output=True, encoding="utf-8")
    assert result.returncode == 0, result.stderr
    printed = result.stdout.splitlines()
    assert len(printed) == len(expected) and set(printed) == expected, f"{printed}\nexpected\n{sorted(expected)}"
    return len(printed)


def check_writing(dump, path):
    """The bytes that tests/checkpoint_dump.c describes: byte i of tensor t is (7 i + t) modulo 256."""
    expected = [
        ("bytes", "U8", [5], 5),
        ('layer.0.weight "é"', "F32", [2, 3], 24),
        ("scalar", "I64", [], 8),
        ("half", "F16", [2, 1, 4], 16),
        ("empty", "I32", [0, 4], 0),
        ("flags", "BOOL", [3], 3),
        ("brain", "BF16", [32], 64),
    ]
    subprocess.run([dump, "--write", path], check=True)
    (length,) = struct.unpack("<Q", path.read_bytes()[:8])
    assert length % 8 == 0, f"header of {length} bytes is not aligned"
    with safetensors.safe_open(path, framework="numpy") as file:
        assert sorted(file.keys()) == sorted(name for name, *_ in expected), file.keys()
        for name, dtype, shape, _ in expected:
            part = file.get_slice(name)
            assert (part.get_dtype(), part.get_shape()) == (dtype, shape), (name, part.get_dtype(), part.get_shape())
    read = dict(safetensors.deserialize(path.read_bytes()))
    for number, (name, dtype, _, size) in enumerate(expected):
        data = bytes((7 * i + number) % (2 if dtype == "BOOL" else 256) for i in range(size))
        assert bytes(read[name]["data"]) == data, name
    return len(expected)


def main():
    dump = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        n_read = check_reading(dump, folder)
        n_written = check_writing(dump, folder / "written.safetensors")
    print(f"safetensors {safetensors.__version__}: {n_read} tensors read, {n_written} written, all equal")


if __name__ == "__main__":
    main()
