#!/usr/bin/env python3
"""Family loaders/: how the real vLLM creates, rounds and loads parameters of routed experts, on a CPU.

usage: loaders.py OUT [PART | id:TEXT]

PART is one of the functions of loader_cases.py, id:TEXT selects cases with TEXT in their id: what is selected goes to
OUT/loaders/selected.json. Without either everything is captured: OUT/loaders/<method>.json, rounding.json, errors.json,
and bytes of some cases in <id>.safetensors.

create_weights, maybe_roundup_sizes, RoutedExperts and the load_weights of gpt-oss are the real functions. What is
replaced around them is in PATCHES, and printed at the end.
"""
import hashlib
import importlib
import json
import os
import sys
import time
import types

PATCHES = [
    "vllm.platforms._current_platform = UnspecifiedPlatform subclass with device_type 'cpu' (set before other imports); "
    "is_cuda_alike() returns True on it while a non-gated layer is built, supports_fp8() returns True while any layer is built; "
    "is_cuda()/is_rocm()/is_xpu() stay False (only the rounding table fakes is_rocm/is_xpu)",
    "VllmConfig(device_config=cpu) made current with set_current_vllm_config; for Quark and gpt-oss its model_config is a "
    "SimpleNamespace carrying hf_config only",
    "select_{unquantized,mxfp4,deepseek_v4_mxfp4,fp8,mxfp8,nvfp4,wna16}_moe_backend replaced in every vllm module that "
    "imported them: returns (forced enum member, dummy experts class)",
    "get_tensor_model_parallel_{rank,world_size}, get_{dp,pcp,ep,pp}_group replaced in every vllm module by fakes",
    "check_moe_marlin_supports_config / get_marlin_input_dtype replaced (CT WNA16 only) by True / None",
    "FusedMoEParallelConfig is built directly (not through .make)",
    "torch.empty/zeros/ones/full/rand wrapped during create_weights only to tag how each parameter was made; "
    "torch.empty results on CPU are filled with 0xAA",
    "a tiny QuantizationConfig shim returns the real quant method object where the real config needs a whole model config "
    "(Quark, compressed-tensors, online methods)",
    "online methods: process_weights_after_loading replaced by a recorder (no fp8/mx kernels on CPU); "
    "torch.empty_strided filled with the poison byte while the layer materialises",
    "gpt-oss: GptOssForCausalLM / GptOssModel objects are made without __init__ (only the expert block and config attached); "
    "their load_weights, hf_to_vllm_mapper and AutoWeightsLoader are real",
]

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
import numpy as np  # noqa: E402
import torch  # noqa: E402
import vllm.platforms as _P  # noqa: E402
from vllm.platforms.interface import DeviceCapability, UnspecifiedPlatform  # noqa: E402


class FakePlatform(UnspecifiedPlatform):
    device_name = "fake"
    device_type = "cpu"
    dispatch_key = "CPU"
    cuda_alike = False

    @classmethod
    def get_device_capability(cls, device_id=0):
        return DeviceCapability(10, 0)

    @classmethod
    def get_device_name(cls, device_id=0):
        return "fake"

    fp8 = False

    def is_cuda_alike(self):
        return FakePlatform.cuda_alike

    @classmethod
    def supports_fp8(cls):
        return FakePlatform.fp8


_P._current_platform = FakePlatform()

from torch import nn  # noqa: E402
from vllm.config import DeviceConfig, VllmConfig, set_current_vllm_config  # noqa: E402
from vllm.model_executor.layers.fused_moe.activation import MoEActivation  # noqa: E402
from vllm.model_executor.layers.fused_moe.config import (  # noqa: E402
    FusedMoEConfig, FusedMoEParallelConfig, RoutingMethodType)
from vllm.model_executor.layers.fused_moe.expert_map_manager import ExpertMapManager  # noqa: E402
from vllm.model_executor.layers.fused_moe.routed_experts import RoutedExperts  # noqa: E402
from vllm.model_executor.layers.quantization.base_config import QuantizationConfig  # noqa: E402
from vllm.model_executor.model_loader.reload.utils import get_layer_size  # noqa: E402
from vllm.model_executor.model_loader.reload.meta import get_numel_loaded  # noqa: E402
import inspect  # noqa: E402

for _m in """mxfp4 fp8 modelopt quark.quark_moe auto_gptq auto_awq online.fp8 online.mxfp8 online.mxfp4 online.nvfp4
compressed_tensors.compressed_tensors compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_w4a4_nvfp4
compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_wna16
compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_w8a8_fp8
compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_w4a4_mxfp4""".split():
    importlib.import_module("vllm.model_executor.layers.quantization." + _m)
import vllm.model_executor.models.gpt_oss as GO  # noqa: E402

Q = "vllm.model_executor.layers.quantization."
HERE = os.path.dirname(os.path.abspath(__file__))
if not 2 <= len(sys.argv) <= 3 or sys.argv[1].startswith("-"):
    sys.exit(__doc__)
OUT = os.path.join(sys.argv[1], "loaders")


# ------------------------------------------------------------------ fakes
class S:  # state read by the fakes
    tp = 1
    rank = 0
    ep = 1
    eprank = 0
    backend = None


class DummyExperts:
    consumes_expert_mask = False

    @classmethod
    def is_monolithic(cls):
        return False


class _Grp:
    def __init__(self, ws, r):
        self.world_size, self.rank_in_group, self.rank = ws, r, r
        self.is_first_rank = self.is_last_rank = True


def install():
    rep = {
        "get_tensor_model_parallel_world_size": lambda: S.tp,
        "get_tensor_model_parallel_rank": lambda: S.rank,
        "get_dp_group": lambda: _Grp(1, 0), "get_pcp_group": lambda: _Grp(1, 0),
        "get_pp_group": lambda: _Grp(1, 0), "get_ep_group": lambda: _Grp(S.ep, S.eprank),
        "check_moe_marlin_supports_config": lambda *a, **k: True,
        "get_marlin_input_dtype": lambda *a, **k: None,
    }
    for k in ("unquantized", "mxfp4", "deepseek_v4_mxfp4", "fp8", "mxfp8", "nvfp4", "wna16"):
        rep[f"select_{k}_moe_backend"] = lambda *a, **kw: (S.backend, DummyExperts)
    for mn, mod in list(sys.modules.items()):
        if not mn.startswith("vllm") or mod is None:
            continue
        for k, v in rep.items():
            if k in getattr(mod, "__dict__", {}):
                setattr(mod, k, v)


install()
VC = VllmConfig(device_config=DeviceConfig(device="cpu"))
_ctx = set_current_vllm_config(VC)
_ctx.__enter__()


class Shim(QuantizationConfig):
    def __init__(self, make, name="shim"):
        super().__init__()
        self.make, self._n = make, name

    def get_name(self):
        return self._n

    def get_quant_method(self, layer, prefix):
        return self.make(layer)

    def get_supported_act_dtypes(self):
        return []

    @classmethod
    def get_min_capability(cls):
        return 0

    @classmethod
    def get_config_filenames(cls):
        return []

    @classmethod
    def from_config(cls, c):
        return None


# ------------------------------------------------------------------ creation with tags
class Tag:
    names = ("empty", "zeros", "ones", "full", "rand")

    def __enter__(self):
        self.made, self.orig = [], {n: getattr(torch, n) for n in self.names}
        for n in self.names:
            def w(*a, _n=n, **k):
                t = self.orig[_n](*a, **k)
                if _n == "empty" and t.device.type == "cpu" and t.numel():
                    t.view(-1).view(torch.uint8).fill_(0xAA)
                self.made.append((_n, t))
                return t
            setattr(torch, n, w)
        return self

    def __exit__(self, *a):
        for n, f in self.orig.items():
            setattr(torch, n, f)

    def kind(self, p):
        if p.is_meta:   # storages of meta tensors are not distinguishable: match shape and dtype, last made first
            c = [n for n, t in self.made if t.is_meta and t.shape == p.shape and t.dtype == p.dtype]
            return c[-1] if c else "other"
        c = p.untyped_storage()._cdata
        for n, t in self.made:
            if t.untyped_storage()._cdata == c:
                return n
        return "other"


def build(c):
    """c: dict(E,H,I,tp,rank,ep,eprank,all2all,bias,act,backend,quant,dtype,redundant,cls,fused_t,names,cuda_alike)."""
    use_ep = c.get("ep", 1) > 1
    S.tp, S.rank, S.ep, S.eprank, S.backend = c["tp"], c["rank"], c.get("ep", 1), c.get("eprank", 0), c.get("backend")
    if use_ep:
        S.tp, S.rank = c["ep"], c["eprank"]
    act = c.get("act", "silu")
    gated = MoEActivation.from_str(act).is_gated
    FakePlatform.cuda_alike = (not gated) or bool(c.get("cuda_alike"))
    FakePlatform.fp8 = True
    pc = FusedMoEParallelConfig(
        tp_size=1 if use_ep else c["tp"], pcp_size=1, dp_size=c.get("dp", 1), ep_size=c.get("ep", 1),
        tp_rank=0 if use_ep else c["rank"], pcp_rank=0, dp_rank=0, ep_rank=c.get("eprank", 0), sp_size=1, use_ep=use_ep,
        all2all_backend=c.get("all2all", "allgather_reducescatter"), enable_eplb=c.get("redundant", 0) > 0)
    El, R = c["E"], c.get("redundant", 0)
    mgr = ExpertMapManager(max_num_batched_tokens=64, top_k=2, global_num_experts=El + R, num_redundant_experts=R,
                           num_expert_group=c.get("groups"), moe_parallel_config=pc,
                           placement_strategy=c.get("placement", "linear"), enable_eplb=R > 0)
    dt = c.get("dtype", torch.bfloat16)
    cfg = FusedMoEConfig(
        num_experts=El + R, experts_per_token=2, hidden_dim=c["H"], intermediate_size=c["I"],
        num_local_experts=mgr.local_num_experts, num_logical_experts=El, activation=MoEActivation.from_str(act),
        device="cpu", routing_method=RoutingMethodType.Default, moe_parallel_config=pc, in_dtype=dt,
        has_bias=c.get("bias", False), moe_backend=c.get("moe_backend", "auto"))
    names = c.get("names", ("gate_proj", "down_proj", "up_proj"))
    if not gated:
        names = ("up_proj", "down_proj", None)
    qc = c["quant"](c) if c.get("quant") else None
    with Tag() as tag:
        layer = c.get("cls", RoutedExperts)(
            c.get("layer_name", "model.layers.0.mlp.experts"), dt, cfg, qc, mgr, ckpt_gate_proj_name=names[0],
            ckpt_down_proj_name=names[1], ckpt_up_proj_name=names[2],
            is_fused_checkpoint_transposed=c.get("fused_t", False))
        layer._kinds = {n: tag.kind(p) for n, p in layer.named_parameters()}
    FakePlatform.cuda_alike = FakePlatform.fp8 = False
    return layer


ATTRS = ("quant_method", "is_transposed", "weight_loader_numel", "input_dim", "output_dim", "packed_dim", "packed_factor",
         "load_full_w2", "dummy_weight_value", "padding_value")


def pinfo(layer):
    out = {}
    for n, p in layer.named_parameters():
        at = {}
        for k in ATTRS:
            try:
                v = getattr(p, k)
            except Exception:
                continue
            if callable(v):
                continue
            at[k] = v if isinstance(v, (int, float, str, bool)) or v is None else str(v)
        out[n] = dict(shape=list(p.shape), dtype=str(p.dtype).replace("torch.", ""), stride=list(p.stride()),
                      init=layer._kinds.get(n, "other") + ("@meta" if p.is_meta else ""),
                      cls=type(p).__name__, attrs=at)
    return out


# ------------------------------------------------------------------ index-coded checkpoints
B = 120


class Ckpt:
    """list of entries: name, shape, dtype, kind, expert(None=leading expert dim), const"""

    def __init__(self, entries):
        self.e = []
        base = 0
        for d in entries:
            d = dict(d)
            n = int(np.prod(d["shape"])) if len(d["shape"]) else 1
            d["n"], d["base"] = n, base
            base += n
            self.e.append(d)
        self.total = base
        P = 1
        while 118 * B ** (P - 1) < base:
            P += 1
        self.P = P
        self.bases = np.array([d["base"] for d in self.e], np.int64)
        self.kinds = sorted({d["kind"] for d in self.e})

    def tensors(self, mode, add=0, rng=None):
        """mode: digit plane number, or 'rand'"""
        out = []
        for d in self.e:
            dt = d["dtype"]
            if d.get("const") is not None:
                t = torch.full(d["shape"], d["const"], dtype=torch.float32).to(dt)
                out.append((d["name"], t))
                continue
            if mode == "rand":
                if dt in (torch.uint8, torch.float8_e4m3fn, torch.float8_e8m0fnu):
                    v = rng.integers(0, 120, d["n"]).astype(np.uint8)
                else:
                    v = rng.integers(-120, 120, d["n"])
            else:
                i = np.arange(d["base"], d["base"] + d["n"], dtype=np.int64)
                v = (i // B ** mode) % B
                if mode == self.P - 1:
                    v = v + 2
                v = (v + add) % B
            if dt in (torch.float8_e4m3fn, torch.float8_e8m0fnu):
                t = torch.from_numpy(v.astype(np.uint8)).view(dt)
            elif dt == torch.uint8:
                t = torch.from_numpy(v.astype(np.uint8))
            elif dt == torch.int32:
                t = torch.from_numpy(v.astype(np.int32))
            elif dt == torch.int64:
                t = torch.from_numpy(v.astype(np.int64))
            else:
                t = torch.from_numpy(v.astype(np.float32)).to(dt)
            out.append((d["name"], t.reshape(d["shape"])))
        return out


def decode(p):
    """parameter -> int64 digits"""
    if p.dtype in (torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.uint8):
        return p.contiguous().view(torch.uint8).numpy().astype(np.int16)
    if p.dtype in (torch.int32, torch.int64):
        return p.numpy().astype(np.int64)
    return p.float().numpy()


def rects(lab):
    """2-D int array -> list of (label,r0,c0,nr,nc), row bands x column runs"""
    Rr, Cc = lab.shape
    if Rr == 0 or Cc == 0:
        return []
    brk = np.flatnonzero(np.any(lab[1:] != lab[:-1], axis=1)) + 1
    starts = np.concatenate([[0], brk])
    ends = np.concatenate([brk, [Rr]])
    out = []
    for a, b in zip(starts, ends):
        row = lab[a]
        cb = np.flatnonzero(row[1:] != row[:-1]) + 1
        cs = np.concatenate([[0], cb])
        ce = np.concatenate([cb, [Cc]])
        for x, y in zip(cs, ce):
            out.append((int(row[x]), int(a), int(x), int(b - a), int(y - x)))
    # merge vertically adjacent rects of same label and same column extent
    merged = []
    for r in out:
        for m in merged:
            if m[0] == r[0] and m[2] == r[2] and m[4] == r[4] and m[1] + m[3] == r[1]:
                m[3] += r[3]
                break
        else:
            merged.append(list(r))
    return [tuple(m) for m in merged]


POISON_F32 = {}   # parameter name -> (value instead of 0xAA, value instead of 0x55); for loaders that read the slot first


def set_poison(layer, byte):
    for n, p in layer.named_parameters():
        if n in POISON_F32:
            p.data.fill_(POISON_F32[n][0 if byte == 0xAA else 1])
        elif p.numel() and not p.is_meta:
            p.data.view(-1).view(torch.uint8).fill_(byte)


def analyse(layer, ck, load, refine=None):
    """load(list of (name, tensor)) -> runs the real loader.  Returns per-param written/padding description."""
    def run(mode, add, poison):
        set_poison(layer, poison)
        load(ck.tensors(mode, add))
        return {n: p.detach().clone() for n, p in layer.named_parameters()}

    names = [n for n, _ in layer.named_parameters()]
    a0 = run(0, 0, 0xAA)
    b0 = run(0, 0, 0x55)
    mask, dig0 = {}, {}
    for n in names:
        x, y = a0[n], b0[n]
        xb = x.contiguous().reshape(-1).view(torch.uint8).numpy().reshape(x.numel(), -1) if x.numel() else np.zeros((0, 1))
        yb = y.contiguous().reshape(-1).view(torch.uint8).numpy().reshape(y.numel(), -1) if y.numel() else np.zeros((0, 1))
        mask[n] = np.all(xb == yb, axis=1)
        dig0[n] = decode(x).reshape(-1)
    x2 = run(0, 1, 0xAA)
    const = {n: mask[n] & (decode(x2[n]).reshape(-1) == dig0[n]) for n in names}
    idx = {n: np.zeros(mask[n].shape, np.int64) for n in names}
    for p in range(ck.P):
        cur = dig0 if p == 0 else {n: decode(t).reshape(-1) for n, t in run(p, 0, 0xAA).items()}
        for n in names:
            v = np.where(mask[n], cur[n], 0).astype(np.int64)
            if p == ck.P - 1:
                v = v - 2
            idx[n] += v * B ** p
    res = {}
    for n in names:
        shp = tuple(a0[n].shape)
        if len(shp) == 0:
            res[n] = dict(written=bool(mask[n].all()))
            continue
        E = shp[0]
        rc = (E, shp[1] if len(shp) > 1 else 1, int(np.prod(shp[2:])) if len(shp) > 2 else 1)
        m, cst, ix = mask[n].reshape(rc), const[n].reshape(rc), idx[n].reshape(rc)
        per = []
        for e in range(E):
            per.append(describe(ck, m[e], cst[e], ix[e], dig0[n].reshape(rc)[e], refine if "scale" in n else None))
        srcs = [d.pop("src_expert") for d in per]
        d = dict(n_written=int(m.sum()), n_padding=int((~m).sum()))
        if all(x == per[0] for x in per):
            d["experts"] = "all"
            d.update(per[0])
        else:
            d["experts"] = per
        d["src_expert"] = srcs
        res[n] = d
    return res


def describe(ck, m, cst, ix, d0, refine):
    """one expert, 2-D"""
    R_, C_ = m.shape
    lab = np.full((R_, C_), -1, np.int64)   # -1 padding
    lab[cst & m] = -2                        # constant fill or const checkpoint tensor
    real = m & ~cst
    out_src = []
    info = {}
    if real.any():
        t = np.searchsorted(ck.bases, ix, side="right") - 1
        t = np.clip(t, 0, len(ck.e) - 1)
        rr, cc = np.meshgrid(np.arange(R_), np.arange(C_), indexing="ij")
        sr = np.zeros((R_, C_), np.int64)
        sc = np.zeros((R_, C_), np.int64)
        se = np.zeros((R_, C_), np.int64)
        kind = np.zeros((R_, C_), np.int64)
        for ti in np.unique(t[real]):
            d = ck.e[ti]
            sel = real & (t == ti)
            loc = ix[sel] - d["base"]
            sh = list(d["shape"])
            if d["expert"] is None:
                per = d["n"] // sh[0]
                se[sel] = loc // per
                loc = loc % per
                sh = sh[1:]
            else:
                se[sel] = d["expert"]
            cols = int(np.prod(sh[1:])) if len(sh) > 1 else 1
            sr[sel], sc[sel] = loc // cols, loc % cols
            kind[sel] = ck.kinds.index(d["kind"])
        best = None
        for tr in (0, 1):
            dr, dc = (sr - rr, sc - cc) if not tr else (sr - cc, sc - rr)
            L = (kind * (1 << 40)) + ((dr + (1 << 18)) << 20) + (dc + (1 << 18))
            u = np.unique(L[real])
            if best is None or len(u) < len(best[0]):
                best = (u, L, tr)
            if len(u) <= 4:
                break
        u, L, tr = best
        aff = True
        if len(u) > 16 or refine:   # not piecewise affine with unit stride (e.g. repeated scales): label by kind only
            L = kind
            u = np.unique(L[real])
            aff = False
        lab[real] = np.searchsorted(u, L[real])
        info = dict(sr=sr, sc=sc, kind=kind, tr=tr, aff=aff)
        out_src = sorted({int(v) for v in np.unique(se[real])})
    wr, pad, fill = [], [], []
    for l, r0, c0, nr, nc in rects(lab):
        if l == -1:
            pad.append([[r0, c0], [nr, nc]])
        elif l == -2:
            v = d0[r0, c0]
            fill.append([[r0, c0], [nr, nc], float(v)])
        else:
            s = [int(info["sr"][r0, c0]), int(info["sc"][r0, c0])]
            e = [int(info["sr"][r0 + nr - 1, c0 + nc - 1]), int(info["sc"][r0 + nr - 1, c0 + nc - 1])]
            w = dict(off=[r0, c0], ext=[nr, nc], src=ck.kinds[int(info["kind"][r0, c0])], src_first=s, src_last=e)
            if info["tr"]:
                w["transposed"] = True
            if not info["aff"]:
                blk_r, blk_c = info["sr"][r0:r0 + nr, c0:c0 + nc], info["sc"][r0:r0 + nr, c0:c0 + nc]
                f = refine or (1, 1)
                ok = False
                for pr in range(f[0]):      # source row = base + (phase + r) // factor
                    for pc in range(f[1]):
                        er = blk_r[0, 0] + (pr + np.arange(nr))[:, None] // f[0] + np.zeros((1, nc), np.int64)
                        ec = blk_c[0, 0] + (pc + np.arange(nc))[None, :] // f[1] + np.zeros((nr, 1), np.int64)
                        if not ok and (er == blk_r).all() and (ec == blk_c).all():
                            ok = True
                            w["repeat"], w["phase"] = [int(f[0]), int(f[1])], [pr, pc]
                w["formula_holds"] = ok
            wr.append(w)
    d = dict(written=wr, padding=pad, src_expert=out_src)
    if fill:
        d["filled"] = fill
    return d


def numel_count(layer, load, ck):
    """What the real layerwise-reload counter (get_numel_loaded) sums to for one full load, and the trigger total."""
    total = get_layer_size(layer)
    cnt = {"n": 0, "calls": 0}
    saved = {}
    for n, p in layer.named_parameters():
        f = getattr(p, "weight_loader", None)
        if f is None:
            continue
        sig = inspect.signature(f)

        def w(*a, _f=f, _s=sig, **k):
            ba = _s.bind(*a, **k)
            ba.apply_defaults()
            c, r = get_numel_loaded(_f, ba)
            cnt["n"] += c
            cnt["calls"] += 1
            return r
        saved[n] = (p, f)
        try:
            p.weight_loader = w
        except Exception:
            p._weight_loader = w
    try:
        load(ck.tensors(0, 0))
    finally:
        for p, f in saved.values():
            try:
                p.weight_loader = f
            except Exception:
                p._weight_loader = f
    return dict(load_numel_total=int(total), counted_full_load=int(cnt["n"]), loader_calls=cnt["calls"],
                reaches_total=bool(cnt["n"] >= total))


# ------------------------------------------------------------------ checkpoint shapes
def std_ckpt(c, wdt, wdiv_h=1, scales=None, extra=(), order=("gate_proj", "up_proj", "down_proj"), experts=None, bias=None,
             wname="weight", prefix=""):
    """per-expert gate/up [I,H/wdiv], down [H,I/wdiv]; scales: list of (suffix, dtype, shapefn(proj,out,in))"""
    E, H, I = c["E"], c["H"], c["I"]
    act = MoEActivation.from_str(c.get("act", "silu"))
    ent = []
    projs = [p for p in order if act.is_gated or p != "gate_proj"]
    for e in (experts if experts is not None else range(E)):
        for pj in projs:
            o, i = (H, I) if pj == "down_proj" else (I, H)
            n = f"{prefix}{e}.{pj}."
            if wdt is not None:
                ent.append(dict(name=n + wname, shape=(o, i // wdiv_h), dtype=wdt, kind=pj + "." + wname, expert=e))
            for suf, dt, fn in (scales or []):
                r = fn(pj, o, i)
                if r is None:
                    continue
                ent.append(dict(name=n + suf, shape=r, dtype=dt, kind=pj + "." + suf, expert=e))
            for suf, dt, fn, cv in extra:
                ent.append(dict(name=n + suf, shape=fn(pj, o, i), dtype=dt, kind=pj + "." + suf, expert=e, const=cv))
            if bias:
                ent.append(dict(name=n + "bias", shape=(o,), dtype=bias, kind=pj + ".bias", expert=e))
    return Ckpt(ent)


def std_load(layer):
    def f(ts):
        list(layer.load_weights(iter(ts)))
    return f


# ------------------------------------------------------------------ gpt-oss real path
def gpt_model(c, layer, quant):
    m = GO.GptOssForCausalLM.__new__(GO.GptOssForCausalLM)
    nn.Module.__init__(m)
    md = GO.GptOssModel.__new__(GO.GptOssModel)
    nn.Module.__init__(md)
    hf = types.SimpleNamespace(num_local_experts=c["E"], intermediate_size=c["I"], hidden_size=c["H"], model_type="gpt_oss")
    if quant:
        hf.quantization_config = {"quant_method": quant}
    md.config = m.config = hf
    md.parallel_config = types.SimpleNamespace(enable_expert_parallel=c.get("ep", 1) > 1)
    blk, mlp, ex = nn.Module(), nn.Module(), nn.Module()
    ex.routed_experts = layer
    ex._quant_method = layer.quant_method
    mlp.experts = ex
    blk.mlp = mlp
    md.layers = nn.ModuleList([blk])
    m.model = md
    return m


def gpt_ckpt(c, fmt="mxfp4"):
    E, H, I = c["E"], c["H"], c["I"]
    u8, bf = torch.uint8, torch.bfloat16
    p = "model.layers.0.mlp.experts."
    if fmt == "mxfp4":
        ent = [("gate_up_proj_blocks", (E, 2 * I, H // 32, 16), u8), ("gate_up_proj_scales", (E, 2 * I, H // 32), u8),
               ("gate_up_proj_bias", (E, 2 * I), bf), ("down_proj_blocks", (E, H, I // 32, 16), u8),
               ("down_proj_scales", (E, H, I // 32), u8), ("down_proj_bias", (E, H), bf)]
    else:
        ent = [("gate_up_proj", (E, H, 2 * I), bf), ("gate_up_proj_bias", (E, 2 * I), bf), ("down_proj", (E, I, H), bf),
               ("down_proj_bias", (E, H), bf)]
    return Ckpt([dict(name=p + n, shape=s, dtype=d, kind=n, expert=None) for n, s, d in ent])


def gpt_stream_ckpt(c, fmt="mxfp4"):
    E, H, I = c["E"], c["H"], c["I"]
    u8, bf = torch.uint8, torch.bfloat16
    out = []
    for e in range(E):
        p = f"model.layers.0.mlp.experts.{e}."
        if fmt == "mxfp4":
            ent = [("w13_weight", (2 * I, H // 32, 16), u8), ("w13_weight_scale", (2 * I, H // 32), u8), ("w13_bias", (2 * I,), bf),
                   ("w2_weight", (H, I // 32, 16), u8), ("w2_weight_scale", (H, I // 32), u8), ("w2_bias", (H,), bf)]
        else:
            ent = [("w13_weight", (H, 2 * I), bf), ("w13_bias", (2 * I,), bf), ("w2_weight", (I, H), bf), ("w2_bias", (H,), bf)]
        out += [dict(name=p + n, shape=s, dtype=d, kind=n, expert=e) for n, s, d in ent]
    return Ckpt(out)


# ------------------------------------------------------------------ case runner
CASES, ERRORS = [], []


def head(cid, method, backend, c, note=""):
    d = dict(id=cid, method=method, backend=backend,
             dims={k: c[k] for k in ("E", "H", "I")}, tp=c["tp"], rank=c["rank"], bias=c.get("bias", False),
             activation=c.get("act", "silu"))
    for k in ("ep", "eprank", "dp", "all2all", "redundant", "placement", "moe_backend", "groups"):
        if k in c:
            d[k] = c[k]
    if note:
        d["note"] = note
    return d


def sizes(layer):
    m = layer.moe_config
    return dict(H=layer.hidden_size, I_per_rank=layer.intermediate_size_per_partition, H_unpadded=m.hidden_dim_unpadded,
                I_unpadded=m.intermediate_size_per_partition_unpadded, E_local=layer.local_num_experts,
                E_global=layer.global_num_experts, tp_shard_with_padding=m.tp_shard_with_padding)


PART = sys.argv[2] if len(sys.argv) > 2 else ""  # "", a function of loader_cases.py, or "id:" and a part of an id
FILTER = PART[3:] if PART.startswith("id:") else ""
RUN_PARTS = [PART] if PART and not FILTER else None


def case(cid, method, c, ckf=None, loadf=None, note="", dump=False, create_only=False, post=None):
    if FILTER and FILTER not in cid:
        return
    be = c.get("backend")
    d = head(cid, method, be.value if be is not None else None, c, note)
    t0 = time.time()
    try:
        layer = build(c)
    except Exception as e:
        d["create_error"] = dict(type=type(e).__name__, said=str(e)[:90])
        CASES.append(d)
        print(f"{cid}: create {type(e).__name__}: {str(e)[:150]}", flush=True)
        return
    d["sizes"] = sizes(layer)
    if getattr(layer.quant_method, "block_quant", False):
        d["moe_block_shape"] = list(getattr(layer.quant_method, "moe_block_shape", None) or layer.quant_method.weight_block_size)
        d["weight_scale_refine"] = getattr(layer.quant_method, "weight_scale_refine", None)
    d["params"] = pinfo(layer)
    em = layer._expert_map
    if em is not None:
        d["expert_map"] = em.tolist()
    if not create_only:
        ck = ckf(c)
        d["checkpoint"] = compact([[e["name"], list(e["shape"]), str(e["dtype"]).replace("torch.", "")] for e in ck.e])
        load = (loadf or std_load)(layer) if loadf is None else loadf(c, layer)
        try:
            r = analyse(layer, ck, load, getattr(layer.quant_method, "weight_scale_refine", None))
            for n, v in r.items():
                d["params"][n].update(v)
            d["reload_counter"] = numel_count(layer, load, ck)
        except Exception as e:
            d["load_error"] = dict(type=type(e).__name__, said=str(e)[:90])
            print(f"{cid}: load {type(e).__name__}: {str(e)[:200]}", flush=True)
        else:
            if dump:
                dump_bytes(cid, layer, ck, load)
                d["bytes"] = cid + ".safetensors"
    if post:
        post(layer, d)
    CASES.append(d)
    dt = time.time() - t0
    if dt > 5:
        print(f"{cid}: {dt:.1f}s", flush=True)


def compact(l):
    """keep expert 0 (and mark) when all experts have the same tensors"""
    if len(l) <= 12:
        return l
    return l[:12] + [["... same for the other experts", len(l)]]


def dump_bytes(cid, layer, ck, load):
    from safetensors.torch import save_file
    rng = np.random.default_rng(int(hashlib.md5(cid.encode()).hexdigest()[:8], 16))
    ts = ck.tensors("rand", rng=rng)
    out = {"ckpt." + n: t.clone().contiguous() for n, t in ts}
    set_poison(layer, 0xAA)
    load([(n, t.clone()) for n, t in ts])
    for n, p in layer.named_parameters():
        out["param." + n] = p.detach().clone().contiguous()
    os.makedirs(OUT, exist_ok=True)
    f = os.path.join(OUT, cid + ".safetensors")
    save_file(out, f)
    if os.path.getsize(f) > 256 * 1024:
        print("TOO BIG", cid, os.path.getsize(f))


def error(eid, method, fn, paraphrase):
    if FILTER and FILTER not in eid:
        return
    try:
        r = fn()
        ERRORS.append(dict(id=eid, method=method, raised=None, result=r, what=paraphrase))
        print(f"{eid}: no error -> {r}", flush=True)
    except Exception as e:
        ERRORS.append(dict(id=eid, method=method, raised=type(e).__name__, what=paraphrase))
        print(f"{eid}: {type(e).__name__}: {str(e)[:140]}", flush=True)
    FakePlatform.cuda_alike = False


def write_list(name, entries):
    with open(os.path.join(OUT, name), "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries) + "\n]\n")


def finish(rounding):
    """One list for each method, and what is no list of cases beside them."""
    os.makedirs(OUT, exist_ok=True)
    if PART:
        write_list("selected.json", CASES)
        return
    files = {}
    for entry in CASES:
        files.setdefault(entry["method"].split("/")[0], []).append(entry)
    for name, entries in files.items():
        write_list(name + ".json", entries)
    write_list("errors.json", ERRORS)
    with open(os.path.join(OUT, "rounding.json"), "w", encoding="utf-8") as file:
        json.dump(rounding, file)


def main():
    sys.path.insert(0, HERE)
    sys.modules["loaders"] = sys.modules["__main__"]  # loader_cases imports this very module
    import loader_cases
    start = time.time()
    loader_cases.run()
    finish(loader_cases.rounding_table())
    print(len(CASES), "cases,", sum("load_error" in d for d in CASES), "load errors,",
          sum("create_error" in d for d in CASES), "create errors,", f"{time.time() - start:.0f} s")
    print("replaced:", *PATCHES, sep="\n  ")


if __name__ == "__main__":
    main()
