"""Writes a checkpoint with the tensor names of the published gpt-oss, small enough to look at.

usage: small_gpt_oss.py FOLDER

2 layers, 4 experts, hidden size 224, intermediate size 96: the sizes that scenarios/gpt_oss/ makes of the 20b model.
"""

import pathlib
import sys

import numpy
from safetensors.numpy import save_file

LAYERS, EXPERTS, HIDDEN, INTERMEDIATE = 2, 4, 224, 96
BLOCK = 32  # MXFP4: 32 weights in 16 bytes share one scale


def experts(random):
    rows = 2 * INTERMEDIATE
    yield "gate_up_proj_blocks", random.integers(0, 256, (EXPERTS, rows, HIDDEN // BLOCK, BLOCK // 2), numpy.uint8)
    yield "gate_up_proj_scales", random.integers(118, 128, (EXPERTS, rows, HIDDEN // BLOCK), numpy.uint8)
    yield "gate_up_proj_bias", random.standard_normal((EXPERTS, rows), numpy.float32)
    yield "down_proj_blocks", random.integers(0, 256, (EXPERTS, HIDDEN, INTERMEDIATE // BLOCK, BLOCK // 2), numpy.uint8)
    yield "down_proj_scales", random.integers(118, 128, (EXPERTS, HIDDEN, INTERMEDIATE // BLOCK), numpy.uint8)
    yield "down_proj_bias", random.standard_normal((EXPERTS, HIDDEN), numpy.float32)


def tensors(random):
    yield "model.norm.weight", random.standard_normal(HIDDEN, numpy.float32)
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield f"{prefix}.{norm}.weight", random.standard_normal(HIDDEN, numpy.float32)
        yield f"{prefix}.mlp.router.weight", random.standard_normal((EXPERTS, HIDDEN), numpy.float32)
        yield f"{prefix}.mlp.router.bias", random.standard_normal(EXPERTS, numpy.float32)
        for name, values in experts(random):
            yield f"{prefix}.mlp.experts.{name}", values
    yield "model.embed_tokens.weight", random.standard_normal((8, HIDDEN), numpy.float32)


def as_bf16(path):
    """numpy has no bf16: the file is written as U16 and its header then says BF16."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = raw[8 : 8 + length].replace(b'"U16"', b'"BF16"').rstrip()
    header += b" " * (-len(header) % 8)
    path.write_bytes(len(header).to_bytes(8, "little") + header + raw[8 + length :])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    stored = dict(tensors(numpy.random.default_rng(1)))
    for name, values in stored.items():
        if values.dtype == numpy.float32:
            stored[name] = (values.view(numpy.uint32) >> 16).astype(numpy.uint16)
    save_file(stored, folder / "model.safetensors")
    as_bf16(folder / "model.safetensors")
    print(f"{folder}: {len(stored)} tensors")


if __name__ == "__main__":
    main()
