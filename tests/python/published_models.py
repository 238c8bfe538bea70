"""The models of scenarios/models/ load checkpoints that have the published names of their tensors.

usage: published_models.py COLDSTART SOURCE_FOLDER

The names below are those of the published safetensors indexes, written down for one dense and one expert layer each. For
every scenario of scenarios/published/ a folder is written with all of them, in the sizes of the scenario: the run must be
what it is on synthetic numbers, and so must a run on what "make-checkpoint" writes. A wrong name must be refused.
"""

import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

WIDTH = {"BF16": 2, "F32": 4, "F8_E4M3": 1}
E = 4  # experts of the small models

ATTENTION = [f"self_attn.{p}_proj.weight" for p in "qkvo"]
QK_NORM = ["self_attn.q_norm.weight", "self_attn.k_norm.weight"]
MLA = ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]
MLA_NORM = ["self_attn.q_a_layernorm.weight", "self_attn.kv_a_layernorm.weight"]
PROJECTIONS = ["gate_proj", "up_proj", "down_proj"]
ENDS = {"model.embed_tokens.weight", "lm_head.weight"}
# The multi-token prediction layer: a decoder layer with an embedding and a head of its own.
MTP = ["embed_tokens.weight", "enorm.weight", "hnorm.weight", "eh_proj.weight", "shared_head.norm.weight", "shared_head.head.weight"]


def fp8(names):
    return [f"{name}.{part}" for name in names for part in ("weight", "weight_scale_inv")]


def bf16(names):
    return [f"{name}.weight" for name in names]


def block(kind, names):
    return kind([f"{names}.{p}" for p in PROJECTIONS])


class Model:
    """What an index names: beside experts, routers and norms, which the simulation has too."""

    def __init__(self, scenario, hidden, intermediate, layers, **rest):
        self.scenario, self.hidden, self.intermediate, self.layers = scenario, hidden, intermediate, layers
        self.prefix, self.block, self.router = "model.", "mlp", "gate"
        self.names, self.kind, self.dense, self.mtp_at = PROJECTIONS, bf16, 0, None
        self.attention, self.shared, self.ends, self.bias, self.published = ATTENTION, [], ENDS, False, None
        self.bias_dtype = self.scale_dtype = "F32"
        self.__dict__.update(rest)

    def skipped(self):
        names = set(self.ends)
        for layer in range(self.layers):
            rest = self.attention + (block(self.kind, self.block) if layer < self.dense else self.shared)
            names |= {f"{self.prefix}layers.{layer}.{name}" for name in rest}
        if self.mtp_at:
            rest = MTP + self.attention + self.shared + list(self.norms()) + list(self.experts()) + list(self.routers())
            names |= {f"{self.prefix}layers.{self.mtp_at}.{name}" for name in rest}
        names |= {f"{self.prefix}layers.{self.layers}.{name}" for name in list(self.norms()) + list(self.experts())}
        return names

    def norms(self):
        return {f"{n}.weight": ("BF16", [self.hidden]) for n in ("input_layernorm", "post_attention_layernorm")}

    def routers(self):
        router = {f"{self.block}.{self.router}.weight": ("BF16", [E, self.hidden])}
        if self.bias:
            router[f"{self.block}.gate.e_score_correction_bias"] = (self.bias_dtype, [E])
        return router

    def experts(self):
        found = {}
        gate, up, down = self.names
        for expert in range(E):
            for name, rows, columns in ((gate, self.intermediate, self.hidden), (up, self.intermediate, self.hidden),
                                        (down, self.hidden, self.intermediate)):
                prefix = f"{self.block}.experts.{expert}.{name}"
                found[f"{prefix}.weight"] = ("F8_E4M3" if self.kind is fp8 else "BF16", [rows, columns])
                if self.kind is fp8:
                    found[f"{prefix}.weight_scale_inv"] = (self.scale_dtype, [-(-rows // 128), -(-columns // 128)])
        return found

    def simulated(self):
        tensors = {f"{self.prefix}norm.weight": ("BF16", [self.hidden])}
        for layer in range(self.layers):
            here = self.norms() | ({} if layer < self.dense else self.routers() | self.experts())
            tensors |= {f"{self.prefix}layers.{layer}.{name}": what for name, what in here.items()}
        return tensors


class Llama4(Model):
    def experts(self):
        return {
            "feed_forward.experts.gate_up_proj": ("BF16", [E, self.hidden, 2 * self.intermediate]),
            "feed_forward.experts.down_proj": ("BF16", [E, self.intermediate, self.hidden]),
        }


DEEPSEEK = dict(kind=fp8, attention=fp8([f"self_attn.{p}" for p in MLA]) + MLA_NORM, shared=block(fp8, "mlp.shared_experts"), bias=True)
GLM = dict(attention=ATTENTION + [f"self_attn.{p}_proj.bias" for p in "qkv"], shared=block(bf16, "mlp.shared_experts"), bias=True)

MODELS = [
    Model("qwen3_30b_a3b", 256, 96, 2, attention=ATTENTION + QK_NORM),
    Model("qwen3_235b_a22b", 256, 384, 2, kind=fp8, scale_dtype="BF16", attention=fp8([f"self_attn.{p}_proj" for p in "qkvo"]) + QK_NORM),
    Model("deepseek_v3", 256, 384, 4, dense=3, mtp_at=61, **DEEPSEEK),
    Model("kimi_k2", 256, 256, 2, dense=1, bias_dtype="BF16", **DEEPSEEK),  # engines keep the bias as f32, and convert
    Model("glm_4_5", 256, 192, 4, dense=3, mtp_at=92, **{**GLM, "attention": GLM["attention"] + QK_NORM}),
    Model("glm_4_5_air", 256, 176, 2, dense=1, mtp_at=46, **GLM),
    Model("mixtral_8x7b", 256, 192, 2, block="block_sparse_moe", names=["w1", "w3", "w2"]),
    Llama4("llama_4_scout", 256, 192, 2, prefix="language_model.model.", block="feed_forward", router="router",
           shared=block(bf16, "feed_forward.shared_expert"),
           ends={"language_model.model.embed_tokens.weight", "language_model.lm_head.weight", "multi_modal_projector.linear_1.weight",
                 "vision_model.patch_embedding.linear.weight", "vision_model.model.layers.0.self_attn.q_proj.weight"}),
]


def write(folder, tensors):
    """One file of small numbers: bytes up to 0x3F are finite in every dtype here."""
    numbers, header, at = random.Random(1), {}, 0
    for name, (dtype, shape) in tensors.items():
        size = WIDTH[dtype]
        for extent in shape:
            size *= extent
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir(parents=True)
    body = numbers.randbytes(at).translate(bytes(byte & 0x3F for byte in range(256)))
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)


def names_in(folder):
    found = set()
    for path in folder.glob("*.safetensors"):
        raw = path.read_bytes()
        found |= set(json.loads(raw[8 : 8 + struct.unpack("<Q", raw[:8])[0]])) - {"__metadata__"}
    return found


class Tester:
    def __init__(self, coldstart, source):
        self.coldstart, self.source = coldstart, source

    def run(self, *arguments):
        done = subprocess.run([self.coldstart, *arguments], capture_output=True, text=True, cwd=self.source)
        return done.returncode, done.stdout, done.stderr

    def check(self, model, folder):
        script = f"scenarios/published/{model.scenario}.lua"
        status, expected, errors = self.run("run", script)
        assert status == 0 and re.search(rf"^PASSED  published.{model.scenario} ", expected, re.M), expected + errors

        simulated, skipped = model.simulated(), model.skipped()
        write(folder / "published", simulated | {name: ("BF16", [2]) for name in skipped})
        status, found, errors = self.run("run", script, "--checkpoint", f"A={folder / 'published'}")
        assert (status, found) == (0, expected), f"{model.scenario}: {found}{errors}"

        status, _, errors = self.run("make-checkpoint", script, "A", str(folder / "made"))
        assert status == 0, errors
        made = names_in(folder / "made")
        assert made == set(simulated), f"{model.scenario}: {sorted(made ^ set(simulated))[:4]}"
        status, found, errors = self.run("run", script, "--checkpoint", f"A={folder / 'made'}")
        assert (status, found) == (0, expected), f"{model.scenario}: {found}{errors}"

        wrong = next(name for name in simulated if ".experts." in name)
        write(folder / "wrong", {name + ("_" if name == wrong else ""): what for name, what in simulated.items()})
        status, _, errors = self.run("run", script, "--checkpoint", f"A={folder / 'wrong'}")
        assert status == 2 and wrong in errors, f"{model.scenario}: {status} {errors}"
        return len(simulated) + len(skipped)


def main():
    tester = Tester(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
    here = {path.stem for path in (tester.source / "scenarios/published").glob("*.lua")}
    assert here == {model.scenario for model in MODELS}, here
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            n = tester.check(model, pathlib.Path(folder) / model.scenario)
            print(f"{model.scenario}: {n} published names")


if __name__ == "__main__":
    main()
