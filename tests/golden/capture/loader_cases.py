"""The cases of loaders.py."""
import functools
import importlib
import re
import sys
import types

import torch
import loaders as C
from loaders import (Ckpt, GO, Q, Shim, MoEActivation, build, case, error, gpt_ckpt, gpt_model,
                             gpt_stream_ckpt, pinfo, std_ckpt, std_load)

u8, bf, f16, f32, i32, i64, f8 = (torch.uint8, torch.bfloat16, torch.float16, torch.float32, torch.int32, torch.int64,
                                  torch.float8_e4m3fn)
e8m0 = torch.float8_e8m0fnu
from vllm.model_executor.layers.fused_moe.oracle.unquantized import UnquantizedMoeBackend as UB
from vllm.model_executor.layers.fused_moe.oracle.mxfp4 import Mxfp4MoeBackend as MB
from vllm.model_executor.layers.fused_moe.oracle.fp8 import Fp8MoeBackend as FB
from vllm.model_executor.layers.fused_moe.oracle.nvfp4 import NvFp4MoeBackend as NB
from vllm.model_executor.layers.fused_moe.oracle.int_wna16 import WNA16MoEBackend as WB
import vllm.model_executor.layers.quantization.utils.quant_utils as QU


def m(name):
    return importlib.import_module(Q + name)


def cd(a, b):
    return -(-a // b)


# ---------------------------------------------------------------- gpt-oss
def gpt_load(quant):
    def lf(c, layer):
        model = gpt_model(c, layer, quant)
        return lambda ts: model.load_weights(iter([(n, t.clone()) for n, t in ts]))
    return lf


@functools.lru_cache(2)
def _cached_ck(E, H, I):
    ck = gpt_ckpt(dict(E=E, H=H, I=I))
    orig, memo = ck.tensors, {}

    def tensors(mode, add=0, rng=None):
        if rng is not None:
            return orig(mode, add, rng)
        if (mode, add) not in memo:
            memo[(mode, add)] = orig(mode, add)
        return memo[(mode, add)]
    ck.tensors = tensors
    return ck


def gptq_cfg(c):
    return m("mxfp4").GptOssMxfp4Config()


OSS = dict(bias=True, act="swigluoai", cls=GO.GptOssRoutedExperts, quant=gptq_cfg)


def oss_tiny():
    backs = [MB.FLASHINFER_TRTLLM_MXFP4_MXFP8, MB.FLASHINFER_TRTLLM_MXFP4_BF16, MB.MARLIN, MB.BATCHED_MARLIN, MB.TRITON,
             MB.TRITON_UNFUSED, MB.FLASHINFER_CUTLASS_MXFP4_BF16, MB.FLASHINFER_CUTLASS_MXFP4_MXFP8, MB.DEEPGEMM_MXFP4, MB.EMULATION,
             MB.NONE, MB.CPU, MB.B12X_MXFP4_BF16, MB.CUTLASS_MXFP4_MXFP4]
    for be in backs:
        c = dict(E=2, H=96, I=96, tp=1, rank=0, backend=be, **OSS)
        case(f"gptoss-mx-96-{be.name}-tp1", "gptoss_mxfp4", c, gpt_ckpt, gpt_load("mxfp4"),
             dump=be in (MB.FLASHINFER_TRTLLM_MXFP4_MXFP8, MB.TRITON))
    for tp in (2, 3):
        for r in range(tp):
            for be in (MB.FLASHINFER_TRTLLM_MXFP4_MXFP8, MB.TRITON, MB.EMULATION, MB.B12X_MXFP4_BF16):
                c = dict(E=2, H=96, I=96, tp=tp, rank=r, backend=be, **OSS)
                case(f"gptoss-mx-96-{be.name}-tp{tp}r{r}", "gptoss_mxfp4", c, gpt_ckpt, gpt_load("mxfp4"),
                     dump=(tp == 2 and be is MB.FLASHINFER_TRTLLM_MXFP4_MXFP8))
    # 160 = 5 blocks: tp4 gives 2,2,1,0 blocks
    for r in range(4):
        c = dict(E=2, H=64, I=160, tp=4, rank=r, backend=MB.MARLIN, **OSS)
        case(f"gptoss-mx-160-MARLIN-tp4r{r}", "gptoss_mxfp4", c, gpt_ckpt, gpt_load("mxfp4"),
             note="5 blocks over 4 ranks: last rank owns no block")
    # expert parallel
    for r in range(2):
        c = dict(E=4, H=96, I=96, tp=1, rank=0, ep=2, eprank=r, backend=MB.FLASHINFER_TRTLLM_MXFP4_MXFP8, **OSS)
        case(f"gptoss-mx-96-ep2r{r}", "gptoss_mxfp4", c, gpt_ckpt, gpt_load("mxfp4"), dump=(r == 1))
    # streamed per expert
    for tp in (1, 2, 3):
        for r in range(tp):
            for be in (MB.TRITON, MB.FLASHINFER_TRTLLM_MXFP4_MXFP8):
                c = dict(E=2, H=96, I=96, tp=tp, rank=r, backend=be, **OSS)
                case(f"gptoss-mx-stream-96-{be.name}-tp{tp}r{r}", "gptoss_mxfp4_streamed", c, gpt_stream_ckpt, gpt_load("mxfp4"),
                     dump=(tp == 2 and r == 1 and be is MB.TRITON))
    for r in range(2):
        c = dict(E=2, H=64, I=128, tp=2, rank=r, backend=MB.TRITON, **OSS)
        case(f"gptoss-mx-stream-128-TRITON-tp2r{r}", "gptoss_mxfp4_streamed", c, gpt_stream_ckpt, gpt_load("mxfp4"))
    for r in range(2):
        c = dict(E=4, H=96, I=96, tp=1, rank=0, ep=2, eprank=r, backend=MB.TRITON, **OSS)
        case(f"gptoss-mx-stream-96-ep2r{r}", "gptoss_mxfp4_streamed", c, gpt_stream_ckpt, gpt_load("mxfp4"))
    # unquantized gpt-oss
    for be in (UB.TRITON, UB.FLASHINFER_TRTLLM, UB.AITER):
        for tp in (1, 2):
            for r in range(tp):
                c = dict(E=2, H=64, I=96, tp=tp, rank=r, backend=be, bias=True, act="swigluoai", cls=GO.GptOssRoutedExperts)
                case(f"gptoss-bf16-{be.name}-tp{tp}r{r}", "gptoss_bf16", c, lambda c: gpt_ckpt(c, "bf16"), gpt_load(None),
                     dump=(be is UB.TRITON and tp == 2 and r == 1))
                case(f"gptoss-bf16-stream-{be.name}-tp{tp}r{r}", "gptoss_bf16", c, lambda c: gpt_stream_ckpt(c, "bf16"), gpt_load(None))


def oss_real(backs=None, tps=(1, 2, 4, 8)):
    backs = backs or [MB.FLASHINFER_TRTLLM_MXFP4_MXFP8, MB.MARLIN, MB.TRITON, MB.FLASHINFER_CUTLASS_MXFP4_BF16, MB.DEEPGEMM_MXFP4,
                      MB.EMULATION]
    for tp in tps:
        for be in backs:
            for r in range(tp):
                c = dict(E=2, H=2880, I=2880, tp=tp, rank=r, backend=be, **OSS)
                case(f"gptoss-mx-2880-{be.name}-tp{tp}r{r}", "gptoss_mxfp4", c, lambda c: _cached_ck(c["E"], c["H"], c["I"]),
                     gpt_load("mxfp4"))


# ---------------------------------------------------------------- unquantized
def fused_ckpt(c, transposed=True):
    E, H, I = c["E"], c["H"], c["I"]
    if transposed:
        ent = [("gate_up_proj", (E, H, 2 * I)), ("down_proj", (E, I, H))]
    else:
        ent = [("gate_up_proj", (E, 2 * I, H)), ("down_proj", (E, H, I))]
    return Ckpt([dict(name=n, shape=s, dtype=bf, kind=n, expert=None) for n, s in ent])


def unq():
    plain = lambda c: std_ckpt(c, bf)
    for tp in (1, 2, 4, 8):
        for be in (UB.FLASHINFER_TRTLLM, UB.AITER, UB.TRITON):
            for r in range(tp):
                c = dict(E=2, H=2048, I=768, tp=tp, rank=r, backend=be)
                case(f"bf16-qwen30b-{be.name}-tp{tp}r{r}", "unquantized", c, plain)
    for be in (UB.FLASHINFER_CUTLASS, UB.BATCHED_TRITON, UB.CPU, UB.MOONEP):
        case(f"bf16-96-{be.name}-tp1", "unquantized", dict(E=2, H=64, I=96, tp=1, rank=0, backend=be), plain)
    for be in (UB.FLASHINFER_TRTLLM, UB.AITER, UB.TRITON):
        for tp in (1, 2):
            for r in range(tp):
                c = dict(E=2, H=64, I=96, tp=tp, rank=r, backend=be, bias=True)
                case(f"bf16-bias-{be.name}-tp{tp}r{r}", "unquantized", c, lambda c: std_ckpt(c, bf, bias=bf),
                     dump=(be is UB.FLASHINFER_TRTLLM and tp == 2 and r == 1))
                c = dict(E=2, H=64, I=96, tp=tp, rank=r, backend=be, act="relu2_no_mul")
                case(f"bf16-nongated-{be.name}-tp{tp}r{r}", "unquantized", c, plain)
                c = dict(E=2, H=64, I=96, tp=tp, rank=r, backend=be, fused_t=True)
                case(f"bf16-fused3d-T-{be.name}-tp{tp}r{r}", "unquantized", c, fused_ckpt,
                     dump=(be is UB.FLASHINFER_TRTLLM and tp == 2 and r == 0))
                c = dict(E=2, H=64, I=96, tp=tp, rank=r, backend=be)
                case(f"bf16-fused3d-N-{be.name}-tp{tp}r{r}", "unquantized", c, lambda c: fused_ckpt(c, False))
    for i in (64, 128, 192, 193, 200, 256, 320, 384):
        case(f"bf16-aiter-round-{i}", "unquantized", dict(E=2, H=64, I=i, tp=1, rank=0, backend=UB.AITER), create_only=True)
        case(f"bf16-trtllm-round-{i}", "unquantized", dict(E=2, H=64, I=i, tp=1, rank=0, backend=UB.FLASHINFER_TRTLLM), create_only=True)
    # fp32 checkpoint into bf16 params, fp16 params
    case("bf16-from-f32-ckpt", "unquantized", dict(E=2, H=64, I=96, tp=1, rank=0, backend=UB.TRITON), lambda c: std_ckpt(c, f32))


# ---------------------------------------------------------------- fp8
def fp8cfg(block=None, act="dynamic"):
    return lambda c: Shim(lambda l: m("fp8").Fp8MoEMethod(m("fp8").Fp8Config(True, act, None, block), l), "fp8")


def blk_sc(pj, o, i):
    return (cd(o, 128), cd(i, 128))


def fp8():
    B128 = [128, 128]
    ck = lambda c: std_ckpt(c, f8, scales=[("weight_scale_inv", f32, blk_sc)])

    def go(name, c, **k):
        c.setdefault("backend", FB.TRITON)
        c["quant"] = fp8cfg(B128)
        case(name, "fp8_block", c, ck, **k)
    for (I, H, tps) in ((256, 128, (1, 2)), (640, 128, (1, 2, 4, 8)), (768, 256, (1, 2, 4, 8)), (192, 128, (1,)), (96, 128, (1,)), (48, 128, (1,)),
                        (128, 192, (1, 2)), (384, 192, (2,)), (128, 200, (1,)), (320, 128, (1, 2)), (130, 128, (1,))):
        for tp in tps:
            for r in range(tp):
                go(f"fp8blk-auto-I{I}-H{H}-tp{tp}r{r}", dict(E=2, H=H, I=I, tp=tp, rank=r),
                   dump=False)
    go("fp8blk-auto-small-tp4r1", dict(E=1, H=128, I=256, tp=4, rank=1), dump=True)
    go("fp8blk-trtllm-small-tp4r1", dict(E=1, H=128, I=256, tp=4, rank=1, backend=FB.FLASHINFER_TRTLLM, moe_backend="flashinfer_trtllm"), dump=True)
    go("fp8blk-trtllm-small-tp4r3", dict(E=1, H=128, I=256, tp=4, rank=3, backend=FB.FLASHINFER_TRTLLM, moe_backend="flashinfer_trtllm"), dump=True)
    for mb, be in (("flashinfer_trtllm", FB.FLASHINFER_TRTLLM), ("flashinfer_cutlass", FB.FLASHINFER_CUTLASS), ("deep_gemm", FB.DEEPGEMM),
                   ("cutlass", FB.VLLM_CUTLASS), ("marlin", FB.MARLIN), ("triton", FB.TRITON), ("aiter", FB.AITER)):
        for (I, tp) in ((640, 2), (640, 4), (640, 8), (768, 4), (768, 8)):
            for r in ((0, tp - 1) if mb != "flashinfer_trtllm" else range(tp)):
                go(f"fp8blk-{mb}-I{I}-tp{tp}r{r}", dict(E=2, H=128, I=I, tp=tp, rank=r, backend=be, moe_backend=mb),
                   dump=False)
    for r in (0, 3):
        go(f"fp8blk-qwen30b-auto-tp4r{r}", dict(E=2, H=2048, I=768, tp=4, rank=r))
        go(f"fp8blk-qwen30b-trtllm-tp4r{r}", dict(E=2, H=2048, I=768, tp=4, rank=r, backend=FB.FLASHINFER_TRTLLM, moe_backend="flashinfer_trtllm"))
    for nm, kw in (("bias", dict(bias=True)), ("Ipartial", dict(I=320)), ("Hpartial", dict(H=192)), ("nongated", dict(act="relu2_no_mul"))):
        c = dict(E=2, H=128, I=640, tp=2, rank=0, backend=FB.FLASHINFER_TRTLLM, moe_backend="flashinfer_trtllm")
        c.update(kw)
        go(f"fp8blk-trtllm-padrule-{nm}", c)
    # per tensor
    sc = ("weight_scale", f32, lambda pj, o, i: ())
    isc = ("input_scale", f32, lambda pj, o, i: ())
    for act in ("dynamic", "static"):
        for tp, r in ((1, 0), (2, 0), (2, 1)):
            c = dict(E=2, H=64, I=96, tp=tp, rank=r, backend=FB.TRITON, quant=fp8cfg(None, act))
            case(f"fp8pt-{act}-tp{tp}r{r}", "fp8_per_tensor", c, lambda c, act=act: std_ckpt(c, f8, scales=[sc] + ([isc] if act == "static" else [])),
                 dump=(act == "static" and tp == 2 and r == 1), note="w13_input_scale: w1 and w3 write the same slot, later wins (up after gate here)")
    c = dict(E=2, H=64, I=96, tp=1, rank=0, backend=FB.TRITON, quant=fp8cfg(None, "static"))
    case("fp8pt-static-order-up-first", "fp8_per_tensor", c, lambda c: std_ckpt(c, f8, scales=[sc, isc], order=("up_proj", "down_proj", "gate_proj")))
    case("fp8pt-bias", "fp8_per_tensor", dict(E=2, H=64, I=96, tp=2, rank=1, backend=FB.TRITON, bias=True, quant=fp8cfg(None)),
         lambda c: std_ckpt(c, f8, scales=[sc], bias=bf))
    case("fp8pt-nongated", "fp8_per_tensor", dict(E=2, H=64, I=96, tp=2, rank=1, backend=FB.TRITON, act="relu2_no_mul", quant=fp8cfg(None)),
         lambda c: std_ckpt(c, f8, scales=[sc]))
    # ModelOpt FP8 per tensor
    mo = m("modelopt")
    q = lambda c: Shim(lambda l: mo.ModelOptFp8MoEMethod(mo.ModelOptFp8Config("FP8", True, None, []), l.moe_config), "modelopt")
    for tp, r in ((1, 0), (2, 1)):
        case(f"fp8pt-modelopt-tp{tp}r{r}", "fp8_per_tensor", dict(E=2, H=64, I=96, tp=tp, rank=r, backend=FB.TRITON, quant=q),
             lambda c: std_ckpt(c, f8, scales=[sc, isc]))
    # compressed-tensors fp8 channel / tensor static
    from compressed_tensors.quantization import QuantizationArgs
    ct = m("compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_w8a8_fp8")

    def ctq(ws, is_, dyn):
        def f(c):
            w = QuantizationArgs(num_bits=8, type="float", strategy=ws, symmetric=True)
            a = QuantizationArgs(num_bits=8, type="float", strategy=is_, symmetric=True, dynamic=dyn)
            return Shim(lambda l: ct.CompressedTensorsW8A8Fp8MoEMethod(w, a, l.moe_config, "x"), "compressed-tensors")
        return f
    for tp, r in ((1, 0), (2, 1)):
        case(f"fp8ch-ct-tp{tp}r{r}", "fp8_per_channel", dict(E=2, H=64, I=96, tp=tp, rank=r, backend=FB.TRITON, quant=ctq("channel", "token", True)),
             lambda c: std_ckpt(c, f8, scales=[("weight_scale", bf, lambda pj, o, i: (o, 1))]))
        C.POISON_F32.update(w13_input_scale=(1.0, float("nan")), w2_input_scale=(1.0, float("nan")))
        case(f"fp8pt-ct-static-tp{tp}r{r}", "fp8_per_tensor", dict(E=2, H=64, I=96, tp=tp, rank=r, backend=FB.TRITON, quant=ctq("tensor", "tensor", False)),
             lambda c: std_ckpt(c, f8, scales=[("weight_scale", f32, lambda pj, o, i: (1,))], extra=[("input_scale", f32, lambda *a: (1,), 0.5)]),
             note="checkpoint input_scale is the constant 0.5; input-scale slots hold 1.0 or NaN before the load (poison bytes would trip the equality check, see errors)")
        C.POISON_F32.clear()


# ---------------------------------------------------------------- nvfp4
def nv():
    mo = m("modelopt")
    q = lambda c: Shim(lambda l: mo.ModelOptNvFp4FusedMoE(mo.ModelOptNvFp4Config("NVFP4", True), l.moe_config), "modelopt_fp4")
    S0 = lambda pj, o, i: ()
    sc = [("weight_scale", f8, lambda pj, o, i: (o, i // 16)), ("weight_scale_2", f32, S0), ("input_scale", f32, S0)]
    ck = lambda c: std_ckpt(c, u8, 2, scales=sc)
    for be in (NB.FLASHINFER_TRTLLM, NB.FLASHINFER_CUTLASS, NB.VLLM_CUTLASS, NB.MARLIN, NB.B12X, NB.EMULATION):
        for tp, r in ((1, 0), (2, 0), (2, 1)):
            case(f"nvfp4-mo-{be.name}-tp{tp}r{r}", "nvfp4_modelopt", dict(E=2, H=64, I=96, tp=tp, rank=r, backend=be, quant=q), ck,
                 dump=(be is NB.FLASHINFER_TRTLLM and tp == 2 and r == 1))
    for be in (NB.FLASHINFER_TRTLLM, NB.VLLM_CUTLASS):
        for r in range(2):
            case(f"nvfp4-mo-{be.name}-ep2r{r}", "nvfp4_modelopt", dict(E=4, H=64, I=96, tp=1, rank=0, ep=2, eprank=r, backend=be, quant=q), ck,
                 note="TRT-LLM/FlashInfer: input scales are global (Eg rows, all loaded)")
    case("nvfp4-mo-nongated", "nvfp4_modelopt", dict(E=2, H=64, I=96, tp=2, rank=0, backend=NB.FLASHINFER_TRTLLM, act="relu2_no_mul", quant=q), ck)
    case("nvfp4-mo-qwen30b-tp8r7", "nvfp4_modelopt", dict(E=2, H=2048, I=768, tp=8, rank=7, backend=NB.FLASHINFER_TRTLLM, quant=q), ck)
    case("nvfp4-mo-scale1elem", "nvfp4_modelopt", dict(E=2, H=64, I=96, tp=1, rank=0, backend=NB.VLLM_CUTLASS, quant=q),
         lambda c: std_ckpt(c, u8, 2, scales=[sc[0], ("weight_scale_2", f32, lambda *a: (1,)), ("input_scale", f32, lambda *a: (1,))]),
         note="scalar scales stored as shape (1,)")
    case("nvfp4-mo-bias", "nvfp4_modelopt", dict(E=2, H=64, I=96, tp=1, rank=0, backend=NB.VLLM_CUTLASS, quant=q, bias=True), ck)
    # ModelOpt mxfp8
    qm = lambda c: Shim(lambda l: mo.ModelOptMxFp8FusedMoE(mo.ModelOptMxFp8Config(True, None, []), l.moe_config), "modelopt_mxfp8")

    class Late:  # create_weights asserts attributes set before; nothing to patch
        pass
    for tp, r in ((1, 0), (3, 1)):
        case(f"mxfp8-mo-tp{tp}r{r}", "mxfp8_modelopt", dict(E=2, H=64, I=96, tp=tp, rank=r, backend=FB.TRITON, quant=qm),
             lambda c: std_ckpt(c, f8, scales=[("weight_scale", u8, lambda pj, o, i: (o, i // 32))]))
    # compressed-tensors
    ct = m("compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_w4a4_nvfp4")
    qc = lambda c: Shim(lambda l: ct.CompressedTensorsW4A4Nvfp4MoEMethod(l.moe_config, "x"), "compressed-tensors")
    S1 = lambda pj, o, i: (1,)
    cck = lambda c: std_ckpt(c, u8, 2, wname="weight_packed", scales=[("weight_scale", f8, lambda pj, o, i: (o, i // 16)),
                                                                   ("weight_global_scale", f32, S1), ("input_global_scale", f32, S1)])
    for be in (NB.FLASHINFER_TRTLLM, NB.VLLM_CUTLASS, NB.MARLIN):
        for tp, r in ((1, 0), (2, 1)):
            case(f"nvfp4-ct-{be.name}-tp{tp}r{r}", "nvfp4_ct", dict(E=2, H=64, I=96, tp=tp, rank=r, backend=be, quant=qc), cck,
                 dump=(be is NB.VLLM_CUTLASS and tp == 2))
    for r in range(2):
        case(f"nvfp4-ct-ep2r{r}", "nvfp4_ct", dict(E=4, H=64, I=96, tp=1, rank=0, ep=2, eprank=r, backend=NB.FLASHINFER_TRTLLM, quant=qc), cck)
    # compressed-tensors mxfp4
    cx = m("compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_w4a4_mxfp4")
    cx.CutlassExpertsMxfp4._supports_current_device = staticmethod(lambda: False)
    qx = lambda c: Shim(lambda l: cx.CompressedTensorsW4A4Mxfp4MoEMethod(l.moe_config), "compressed-tensors")
    xck = lambda c: std_ckpt(c, u8, 2, wname="weight_packed", scales=[("weight_scale", u8, lambda pj, o, i: (o, i // 32))])
    for tp, r in ((1, 0), (2, 1), (3, 2)):
        case(f"mxfp4-ct-tp{tp}r{r}", "mxfp4_ct", dict(E=2, H=64, I=96, tp=tp, rank=r, backend=MB.MARLIN, quant=qx), xck,
             note="no rounding in this method; I per rank 48 -> scale columns floor(48/32)")
    # generic mxfp4 (per expert)
    mx = m("mxfp4")
    qg = lambda c: mx.Mxfp4Config()
    gck = lambda c: std_ckpt(c, u8, 2, scales=[("weight_scale", u8, lambda pj, o, i: (o, i // 32))])
    for be in (MB.FLASHINFER_TRTLLM_MXFP4_MXFP8, MB.MARLIN, MB.TRITON, MB.DEEPGEMM_MXFP4, MB.EMULATION, MB.FLASHINFER_CUTLASS_MXFP4_MXFP8,
               MB.CUTLASS_MXFP4_MXFP4, MB.B12X_MXFP4_MXFP8):
        for tp, r in ((1, 0), (2, 0), (2, 1), (3, 2)):
            case(f"mxfp4-gen-{be.name}-tp{tp}r{r}", "mxfp4_generic", dict(E=2, H=96, I=192, tp=tp, rank=r, backend=be, quant=qg), gck,
                 dump=(be is MB.FLASHINFER_TRTLLM_MXFP4_MXFP8 and (tp, r) == (2, 1)))
    case("mxfp4-gen-halfblock-tp2r1", "mxfp4_generic", dict(E=2, H=96, I=96, tp=2, rank=1, backend=MB.FLASHINFER_TRTLLM_MXFP4_MXFP8, quant=qg), gck,
         note="I_full=96 TP2: 48 per rank; 3 scale blocks // 2 = 1 block: weight and scale split disagree")
    case("mxfp4-gen-e8m0-scale", "mxfp4_generic", dict(E=2, H=96, I=192, tp=2, rank=1, backend=MB.MARLIN, quant=qg),
         lambda c: std_ckpt(c, u8, 2, scales=[("weight_scale", e8m0, lambda pj, o, i: (o, i // 32))]))
    case("mxfp4-gen-bias", "mxfp4_generic", dict(E=2, H=96, I=192, tp=2, rank=1, backend=MB.MARLIN, quant=qg, bias=True),
         lambda c: std_ckpt(c, u8, 2, scales=[("weight_scale", u8, lambda pj, o, i: (o, i // 32))], bias=bf))


# ---------------------------------------------------------------- quark
def model_type(new=None):
    """By which Quark knows gpt-oss."""
    if new:
        object.__setattr__(C.VC, "model_config", types.SimpleNamespace(hf_config=types.SimpleNamespace(model_type=new), dtype=bf))
    return getattr(getattr(C.VC.model_config, "hf_config", None), "model_type", None)


def quark():
    qk = m("quark.quark_moe")

    model_type("qwen3_moe")

    def q(wk, ak, cls="QuarkOCP_MX_MoEMethod"):
        return lambda c: Shim(lambda l: getattr(qk, cls)(l.moe_config, wk, ak), "quark")
    mx4 = lambda c: std_ckpt(c, u8, 2, scales=[("weight_scale", u8, lambda pj, o, i: (o, i // 32))])
    for be in (MB.EMULATION, MB.MARLIN, MB.FLASHINFER_TRTLLM_MXFP4_MXFP8, MB.TRITON, MB.AITER_MXFP4_MXFP4):
        for tp, r in ((1, 0), (2, 0), (2, 1), (3, 2)):
            case(f"quark-w4a4-{be.name}-tp{tp}r{r}", "quark_mxfp4",
                 dict(E=2, H=96, I=192, tp=tp, rank=r, backend=be, quant=q(QU.kMxfp4Static, QU.kMxfp4Dynamic)), mx4,
                 dump=(be is MB.MARLIN and (tp, r) == (2, 1)),
                 note="AITER back end: no ROCm platform faked, so the default 64 rule applies" if be is MB.AITER_MXFP4_MXFP4 else "")
    case("quark-w4a16-bias", "quark_mxfp4", dict(E=2, H=96, I=192, tp=2, rank=1, backend=MB.MARLIN, bias=True, quant=q(QU.kMxfp4Static, None)),
         lambda c: std_ckpt(c, u8, 2, scales=[("weight_scale", u8, lambda pj, o, i: (o, i // 32))], bias=bf))
    case("quark-w4afp8-static", "quark_mxfp4", dict(E=2, H=96, I=192, tp=2, rank=1, backend=MB.TRITON, quant=q(QU.kMxfp4Static, QU.kFp8StaticTensorSym)),
         lambda c: std_ckpt(c, u8, 2, scales=[("weight_scale", u8, lambda pj, o, i: (o, i // 32)), ("input_scale", f32, lambda *a: ())]))
    for nm in ("kMxfp6E3M2", "kMxfp6E2M3"):
        case(f"quark-{nm}-tp2r1", "quark_mxfp6", dict(E=2, H=96, I=192, tp=2, rank=1, backend=MB.EMULATION,
                                                    quant=q(getattr(QU, nm + "Static"), getattr(QU, nm + "Dynamic"))),
             lambda c: Ckpt([dict(name=f"{e}.{pj}.{suf}", shape=shp, dtype=u8, kind=f"{pj}.{suf}", expert=e) for e in range(2)
                             for pj, o, i in (("gate_proj", 192, 96), ("up_proj", 192, 96), ("down_proj", 96, 192))
                             for suf, shp in (("weight", (o, i * 3 // 4)), ("weight_scale", (o, i // 32)))]))
    F = "QuarkW8A8Fp8MoEMethod"
    s0 = lambda pj, o, i: ()
    for tp, r in ((1, 0), (2, 1)):
        case(f"quark-fp8pt-static-tp{tp}r{r}", "quark_fp8", dict(E=2, H=64, I=96, tp=tp, rank=r, backend=FB.TRITON,
                                                               quant=q(QU.kFp8StaticTensorSym, QU.kFp8StaticTensorSym, F)),
             lambda c: std_ckpt(c, f8, scales=[("weight_scale", f32, s0), ("input_scale", f32, s0)]))
        case(f"quark-fp8ch-tp{tp}r{r}", "quark_fp8", dict(E=2, H=64, I=96, tp=tp, rank=r, backend=FB.TRITON,
                                                        quant=q(QU.kFp8StaticChannelSym, QU.kFp8DynamicTokenSym, F)),
             lambda c: std_ckpt(c, f8, scales=[("weight_scale", f32, lambda pj, o, i: (o,))]))
    case("quark-fp8blk-tp2r1", "quark_fp8", dict(E=2, H=128, I=256, tp=2, rank=1, backend=FB.TRITON,
                                               quant=q(QU.kFp8Static128BlockSym, QU.kFp8Dynamic128Sym, F)),
         lambda c: std_ckpt(c, f8, scales=[("weight_scale", f32, blk_sc)]))
    # gpt-oss quark path (real _load_weights_quark), fp8 and mxfp4
    model_type("gpt_oss")
    oss = dict(bias=True, act="swigluoai", cls=GO.GptOssRoutedExperts)

    def qfp8(c):
        E, H, I = c["E"], c["H"], c["I"]
        p = "model.layers.0.mlp.experts."
        ent = []
        for e in range(E):
            for n, s, d in (("gate_up_proj.weight", (2 * I, H), f8), ("gate_up_proj.weight_scale", (), f32), ("gate_up_proj.bias", (2 * I,), bf),
                            ("down_proj.weight", (H, I), f8), ("down_proj.weight_scale", (), f32), ("down_proj.bias", (H,), bf),
                            ("gate_up_proj.input_scale", (), f32), ("down_proj.input_scale", (), f32)):
                ent.append(dict(name=f"{p}{e}.{n}", shape=s, dtype=d, kind=n, expert=e))
        return Ckpt(ent)

    def qmx(c):
        E, H, I = c["E"], c["H"], c["I"]
        p = "model.layers.0.mlp.experts."
        ent = []
        for e in range(E):
            for n, s, d in (("gate_up_proj.weight", (2 * I, H // 2), u8), ("gate_up_proj.weight_scale", (2 * I, H // 32), u8),
                            ("gate_up_proj.bias", (2 * I,), bf), ("down_proj.weight", (H, I // 2), u8),
                            ("down_proj.weight_scale", (H, I // 32), u8), ("down_proj.bias", (H,), bf)):
                ent.append(dict(name=f"{p}{e}.{n}", shape=s, dtype=d, kind=n, expert=e))
        return Ckpt(ent)
    for tp, r in ((1, 0), (2, 0), (2, 1)):
        c = dict(E=2, H=96, I=96, tp=tp, rank=r, backend=FB.TRITON, quant=q(QU.kFp8StaticTensorSym, QU.kFp8StaticTensorSym, F), **oss)
        case(f"quark-gptoss-fp8-tp{tp}r{r}", "quark_gptoss", c, qfp8, gpt_load("quark"))
        for be in (MB.MARLIN, MB.TRITON):
            c = dict(E=2, H=96, I=96, tp=tp, rank=r, backend=be, quant=q(QU.kMxfp4Static, None), **oss)
            case(f"quark-gptoss-mx-{be.name}-tp{tp}r{r}", "quark_gptoss", c, qmx, gpt_load("quark"))
        c = dict(E=2, H=96, I=96, tp=tp, rank=r, backend=MB.MARLIN, quant=q(QU.kMxfp4Static, None), **oss)

        def comb(c):
            E, H, I = c["E"], c["H"], c["I"]
            p = "model.layers.0.mlp.experts."
            return Ckpt([dict(name=p + n, shape=s, dtype=d, kind=n, expert=None) for n, s, d in (
                ("gate_up_proj_blocks", (E, 2 * I, H // 32, 16), u8), ("gate_up_proj_scales", (E, 2 * I, H // 32), u8),
                ("down_proj_blocks", (E, H, I // 32, 16), u8), ("down_proj_scales", (E, H, I // 32), u8))])
        case(f"quark-gptoss-mx-combined-tp{tp}r{r}", "quark_gptoss", c, comb, gpt_load("quark"),
             note="combined tensors through the quark path with a padded parameter")


# ---------------------------------------------------------------- int
def wna():
    g, a = m("auto_gptq"), m("auto_awq")

    def gq(bits=4, grp=32, act=False):
        return lambda c: Shim(lambda l: g.AutoGPTQMoEMethod(g.AutoGPTQConfig(bits, grp, act, True, False, {}, {}), l.moe_config), "auto_gptq")

    def gck(bits=4, grp=32, gidx=False, bias=False):
        pf = 32 // bits

        def f(c):
            sc = [("scales", bf, lambda pj, o, i: ((i // grp) if grp > 0 else 1, o)), ("qzeros", i32, lambda pj, o, i: ((i // grp) if grp > 0 else 1, o // pf)),
                  ("qweight", i32, lambda pj, o, i: (i // pf, o))]
            if gidx:
                sc.append(("g_idx", i32, lambda pj, o, i: (i,)))
            return std_ckpt(c, None, scales=sc, bias=bf if bias else None)
        return f
    for tp, r in ((1, 0), (2, 0), (2, 1)):
        case(f"gptq4-g32-tp{tp}r{r}", "gptq", dict(E=2, H=64, I=128, tp=tp, rank=r, backend=WB.MARLIN, quant=gq()), gck(), dump=(tp == 2 and r == 1))
        case(f"gptq8-g32-tp{tp}r{r}", "gptq", dict(E=2, H=64, I=128, tp=tp, rank=r, backend=WB.MARLIN, quant=gq(8)), gck(8))
        case(f"gptq4-ch-tp{tp}r{r}", "gptq", dict(E=2, H=64, I=128, tp=tp, rank=r, backend=WB.MARLIN, quant=gq(4, -1)), gck(4, -1),
             note="group_size -1 (channel)")
    case("gptq4-g32-bias-tp2r1", "gptq", dict(E=2, H=64, I=128, tp=2, rank=1, backend=WB.MARLIN, quant=gq()), gck(bias=True))
    case("gptq4-g32-gidx", "gptq", dict(E=2, H=64, I=128, tp=1, rank=0, backend=WB.MARLIN, quant=gq()), gck(gidx=True),
         note="checkpoint carries g_idx")
    case("gptq4-g128-I192-tp2", "gptq", dict(E=2, H=128, I=192, tp=2, rank=0, backend=WB.MARLIN, quant=gq(4, 64)), gck(4, 64),
         note="96 per rank, group 64: floor(96/64)=1 scale group")
    error("gptq-desc_act", "gptq", lambda: str(build(dict(E=2, H=64, I=128, tp=1, rank=0, backend=WB.MARLIN, quant=gq(4, 32, True))).hidden_size),
          "AutoGPTQConfig(desc_act=True)")
    aq = lambda c: Shim(lambda l: a.AutoAWQMoEMethod(a.AutoAWQConfig(4, 32, True, False), l.moe_config), "auto_awq")
    ack = lambda c: std_ckpt(c, None, scales=[("qweight", i32, lambda pj, o, i: (i, o // 8)), ("scales", bf, lambda pj, o, i: (i // 32, o)),
                                              ("qzeros", i32, lambda pj, o, i: (i // 32, o // 8))])
    for tp, r in ((1, 0), (2, 0), (2, 1)):
        case(f"awq4-g32-tp{tp}r{r}", "awq", dict(E=2, H=64, I=128, tp=tp, rank=r, backend=WB.MARLIN, quant=aq), ack, dump=(tp == 2 and r == 1))
    from compressed_tensors.quantization import QuantizationArgs
    ct = m("compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_wna16")

    def cq(sym=True, grp=32, strat="group", bits=4):
        def f(c):
            w = QuantizationArgs(num_bits=bits, type="int", strategy=strat, symmetric=sym, group_size=grp)
            return Shim(lambda l: ct.CompressedTensorsWNA16MoEMethod(w, None, l.moe_config, "x"), "compressed-tensors")
        return f

    def cck(sym=True, grp=32, bits=4, shape=True):
        pf = 32 // bits

        def f(c):
            sc = [("weight_packed", i32, lambda pj, o, i: (o, i // pf)), ("weight_scale", bf, lambda pj, o, i: (o, (i // grp) if grp else 1))]
            if not sym:
                sc.append(("weight_zero_point", i32, lambda pj, o, i: (o // pf, (i // grp) if grp else 1)))
            if shape:
                sc.append(("weight_shape", i64, lambda pj, o, i: (2,)))
            return std_ckpt(c, None, scales=sc)
        return f
    for be in (WB.MARLIN, WB.FLASHINFER_TRTLLM):
        for tp, r in ((1, 0), (2, 0), (2, 1)):
            case(f"ctwna16-{be.name}-tp{tp}r{r}", "ct_wna16", dict(E=2, H=64, I=128, tp=tp, rank=r, backend=be, quant=cq()), cck(),
                 dump=(be is WB.MARLIN and tp == 2 and r == 1))
    case("ctwna16-asym-tp2r1", "ct_wna16", dict(E=2, H=64, I=128, tp=2, rank=1, backend=WB.MARLIN, quant=cq(False)), cck(False))
    case("ctwna16-channel-tp2r1", "ct_wna16", dict(E=2, H=64, I=128, tp=2, rank=1, backend=WB.MARLIN, quant=cq(True, None, "channel")), cck(True, None))
    case("ctwna16-w8-tp2r1", "ct_wna16", dict(E=2, H=64, I=128, tp=2, rank=1, backend=WB.MARLIN, quant=cq(True, 32, "group", 8)), cck(True, 32, 8))
    case("ctwna16-badgroup", "ct_wna16", dict(E=2, H=64, I=96, tp=2, rank=1, backend=WB.MARLIN, quant=cq()), cck(), note="48 per rank, group 32")
    case("ctwna16-bias-noshape", "ct_wna16", dict(E=2, H=64, I=128, tp=1, rank=0, backend=WB.MARLIN, quant=cq(), bias=True), cck(shape=False))


# ---------------------------------------------------------------- online
def online():
    specs = [("fp8_per_tensor", m("online.fp8").Fp8PerTensorOnlineMoEMethod, FB.TRITON), ("fp8_ptpc", m("online.fp8").Fp8PtpcOnlineMoEMethod, FB.TRITON),
             ("fp8_per_block", m("online.fp8").Fp8PerBlockOnlineMoEMethod, FB.TRITON), ("mxfp8", m("online.mxfp8").Mxfp8OnlineMoEMethod, FB.TRITON),
             ("mxfp4-EMU", m("online.mxfp4").Mxfp4OnlineMoEMethod, MB.EMULATION), ("mxfp4-TRT", m("online.mxfp4").Mxfp4OnlineMoEMethod, MB.FLASHINFER_TRTLLM_MXFP4_MXFP8),
             ("mxfp4-MARLIN", m("online.mxfp4").Mxfp4OnlineMoEMethod, MB.MARLIN)]
    orig_es = torch.empty_strided
    for name, cls, be in specs:
        for tp, r, I, bias in ((1, 0, 96, False), (2, 0, 192, False), (2, 1, 192, True), (3, 2, 96, False), (2, 1, 96, False)):
            q = lambda c, cls=cls: Shim(lambda l: cls(moe=l.moe_config), "fp8")
            c = dict(E=2, H=96, I=I, tp=tp, rank=r, backend=be, bias=bias, quant=q)
            cid = f"online-{name}-I{I}-tp{tp}r{r}"
            if C.FILTER and C.FILTER not in cid and C.FILTER != "online":
                continue
            online_case(cid, c, orig_es)


def online_case(cid, c, orig_es):
    """create on meta, then the real wrapped loaders; PWAL replaced by a recorder.  A fresh layer per pass."""
    d = C.head(cid, "online", c["backend"].value, c, "meta at creation; written/padding below describe the tensors as materialised and "
               "loaded, before quantisation (what process_weights_after_loading sees)")
    try:
        layer = build(c)
    except Exception as e:
        d["create_error"] = dict(type=type(e).__name__, said=str(e)[:90])
        C.CASES.append(d)
        print(cid, type(e).__name__, str(e)[:100])
        return
    d["sizes"], d["params"] = C.sizes(layer), pinfo(layer)
    ck = std_ckpt(c, bf, bias=bf if c.get("bias") else None)
    d["checkpoint"] = C.compact([[e["name"], list(e["shape"]), "bfloat16"] for e in ck.e])
    from vllm.model_executor.model_loader.reload.layerwise import get_layerwise_info
    st = {"byte": 0xAA}
    trig = {}

    class Dst(torch.nn.Module):
        pass
    dst = Dst()
    for n, s in d["params"].items():
        dst.register_parameter(n, torch.nn.Parameter(torch.zeros(s["shape"], dtype=getattr(torch, s["dtype"])), requires_grad=False))

    def load(ts):
        byte = int(next(dst.parameters()).data.reshape(-1).view(torch.uint8)[0])
        lay = build(c)
        got = {}

        def rec(l):
            for n, p in l.named_parameters():
                got[n] = p.detach().clone()
        lay.quant_method.process_weights_after_loading = rec

        def es(*a, **k):
            t = orig_es(*a, **k)
            if t.device.type == "cpu" and t.numel() and t.is_contiguous():
                t.view(-1).view(torch.uint8).fill_(byte)
            return t
        torch.empty_strided = es
        try:
            info = get_layerwise_info(lay)
            tot = info.load_numel_total
            list(lay.load_weights(iter(ts)))
            trig["load_numel_total"], trig["triggered_during_load"] = int(tot), bool(got)
            trig["counted"] = None if got else int(info.load_numel)
            if not got:   # what finalize_layerwise_processing does for a layer that did not reach the total
                from vllm.model_executor.model_loader.reload import layerwise as LW
                LW._layerwise_process(lay, info)
        finally:
            torch.empty_strided = orig_es
        for n, p in dst.named_parameters():
            p.data.copy_(got[n])
    dst._expert_map = None
    try:
        r = C.analyse(dst, ck, load)
        for n, v in r.items():
            d["params"][n].update(v)
        d["reload_counter"] = dict(trig)
    except Exception as e:
        d["load_error"] = dict(type=type(e).__name__, said=str(e)[:90])
        print(cid, "load", type(e).__name__, str(e)[:200])
    C.CASES.append(d)


# ---------------------------------------------------------------- deepep
class Stub(types.ModuleType):
    def __getattr__(self, k):
        if k.startswith("__") or k == "topk_idx_t":
            raise AttributeError(k)
        return type(k, (), {})


def deepep():
    import vllm.model_executor.layers.fused_moe.all2all_utils as A
    for modn in ("deep_ep", "nixl_ep"):
        if modn not in sys.modules:
            s = Stub(modn)
            sys.modules[modn] = s
    pk = "vllm.model_executor.layers.fused_moe.prepare_finalize."
    for modn, cls in (("deepep_ht", "DeepEPHTPrepareAndFinalize"), ("deepep_ll", "DeepEPLLPrepareAndFinalize"),
                      ("deepep_v2", "DeepEPV2PrepareAndFinalize"), ("nixl_ep", "NixlEPPrepareAndFinalize")):
        try:
            setattr(A, cls, getattr(importlib.import_module(pk + modn), cls))
        except Exception as e:
            print("deepep import", modn, type(e).__name__, e)
    C.PATCHES.append("deepep cases: empty stub modules deep_ep / nixl_ep in sys.modules so that the real prepare_finalize classes import")
    for a2a in ("deepep_high_throughput", "deepep_low_latency", "deepep_v2", "nixl_ep", "allgather_reducescatter"):
        for H in (64, 200, 2048, 2880, 8192, 8200):
            c = dict(E=4, H=H, I=64, tp=1, rank=0, ep=2, eprank=1, dp=2, all2all=a2a, backend=UB.TRITON)
            big = H > 1000
            case(f"a2a-{a2a}-H{H}", "all2all_rounding", c, lambda c: std_ckpt(c, bf), create_only=big)
        c = dict(E=4, H=200, I=96, tp=1, rank=0, ep=2, eprank=1, dp=2, all2all=a2a, backend=UB.FLASHINFER_TRTLLM, bias=True)
        case(f"a2a-{a2a}-trt-bias-H200", "all2all_rounding", c, lambda c: std_ckpt(c, bf, bias=bf))
    c = dict(E=4, H=2880, I=2880, tp=1, rank=0, ep=2, eprank=1, dp=2, all2all="deepep_high_throughput", backend=MB.TRITON, **OSS)
    case("a2a-gptoss-ht-TRITON", "all2all_rounding", c, gpt_ckpt, gpt_load("mxfp4"), create_only=True)
    c = dict(E=2, H=128, I=256, tp=1, rank=0, ep=2, eprank=1, dp=2, all2all="deepep_high_throughput", backend=FB.TRITON, quant=fp8cfg([128, 128]))
    case("a2a-fp8blk-ht-H128", "all2all_rounding", c, lambda c: std_ckpt(c, f8, scales=[("weight_scale_inv", f32, blk_sc)]),
         note="H 128 -> 256: scale columns 2, checkpoint has 1")


# ---------------------------------------------------------------- edges
def edge():
    plain = lambda c: std_ckpt(c, bf)
    # EP
    for E, ep in ((4, 2), (5, 2), (4, 4), (3, 2)):
        for r in range(ep):
            case(f"ep-E{E}-ep{ep}r{r}", "edge", dict(E=E, H=32, I=32, tp=1, rank=0, ep=ep, eprank=r, backend=UB.TRITON), plain,
                 dump=(E == 5 and r == 1))
    for r in range(2):
        case(f"ep-roundrobin-E4-ep2r{r}", "edge", dict(E=4, H=32, I=32, tp=1, rank=0, ep=2, eprank=r, backend=UB.TRITON, placement="round_robin", groups=2), plain)
    # EPLB redundant experts
    for r in range(2):
        case(f"eplb-E4-red2-ep2r{r}", "edge", dict(E=4, H=32, I=32, tp=1, rank=0, ep=2, eprank=r, redundant=2, backend=UB.TRITON), plain,
             note="physical 4,5 replicate logical 0,1", dump=(r == 1))
    case("eplb-E2-red2-ep1", "edge", dict(E=2, H=32, I=32, tp=1, rank=0, redundant=2, backend=UB.TRITON), plain)
    case("ep-fused3d-T-E4-ep2r1", "edge", dict(E=4, H=32, I=32, tp=1, rank=0, ep=2, eprank=1, backend=UB.TRITON, fused_t=True), fused_ckpt)
    case("eplb-fused3d-T-E4-red2-ep2r1", "edge", dict(E=4, H=32, I=32, tp=1, rank=0, ep=2, eprank=1, redundant=2, backend=UB.TRITON, fused_t=True), fused_ckpt,
         note="fused 3-D checkpoint with redundant experts: are the replicas loaded?")
    # order
    for nm, od in (("up-gate-down", ("up_proj", "gate_proj", "down_proj")), ("down-up-gate", ("down_proj", "up_proj", "gate_proj"))):
        case(f"order-{nm}", "edge", dict(E=2, H=32, I=48, tp=2, rank=1, backend=UB.FLASHINFER_TRTLLM), lambda c, od=od: std_ckpt(c, bf, order=od))
    # experts in reverse, and one expert missing
    case("order-experts-reversed", "edge", dict(E=3, H=32, I=48, tp=1, rank=0, backend=UB.TRITON), lambda c: std_ckpt(c, bf, experts=[2, 1, 0]))
    case("missing-expert", "edge", dict(E=3, H=32, I=48, tp=1, rank=0, backend=UB.TRITON), lambda c: std_ckpt(c, bf, experts=[0, 2]),
         note="expert 1 absent from the checkpoint: its whole slice stays unwritten")
    case("missing-up", "edge", dict(E=2, H=32, I=48, tp=1, rank=0, backend=UB.TRITON), lambda c: std_ckpt(c, bf, order=("gate_proj", "down_proj")))
    # per-expert combined gate_up
    def pegu(c):
        return Ckpt([dict(name=f"{e}.{n}.weight", shape=s, dtype=bf, kind=n, expert=e) for e in range(c["E"])
                     for n, s in (("gate_up_proj", (2 * c["I"], c["H"])), ("down_proj", (c["H"], c["I"])))])
    for r in range(2):
        case(f"per-expert-gate_up-tp2r{r}", "edge", dict(E=2, H=32, I=96, tp=2, rank=r, backend=UB.FLASHINFER_TRTLLM), pegu)
    # repeated load of the same expert with other data: last wins (loaded twice inside one stream)
    def rep(c):
        a = std_ckpt(c, bf)
        ent = [dict(d) for d in a.e] + [dict(d, kind="again." + d["kind"]) for d in a.e if d["expert"] == 0]
        return Ckpt(ent)
    case("repeat-expert0", "edge", dict(E=2, H=32, I=48, tp=1, rank=0, backend=UB.TRITON), rep, note="second copy of expert 0 in the stream wins; "
         "reload_counter shows over-counting")
    # wrong shapes
    def wrong(dims, **k):
        def f():
            c = dict(E=2, H=32, I=48, tp=1, rank=0, backend=UB.TRITON)
            c.update(k)
            l = build(c)
            ck = std_ckpt(dict(c, **dims), bf)
            C.set_poison(l, 0xAA)
            std_load(l)(ck.tensors(0))
            w = {n: int((p.data.view(torch.uint8) != 0xAA).any(-1).sum()) for n, p in l.named_parameters()}
            return "accepted; rows touched " + str(w)
        return f
    error("shape-I-small", "edge", wrong(dict(I=32)), "checkpoint I=32 into a layer of I=48: accepted silently, narrower rectangle written")
    error("shape-I-large", "edge", wrong(dict(I=64)), "checkpoint I=64 into I=48: copy of 64 rows into 48")
    error("shape-I-large-tp2", "edge", wrong(dict(I=128), tp=2, rank=1), "checkpoint I=128, layer I=48, TP2")
    error("shape-H-small", "edge", wrong(dict(H=16)), "checkpoint H=16 into H=32: accepted silently")
    error("shape-H-large", "edge", wrong(dict(H=64)), "checkpoint H=64 into H=32")
    error("shape-H-1", "edge", wrong(dict(H=1)), "checkpoint H=1 into H=32 (narrowed, no broadcast)")
    error("shape-I-1", "edge", wrong(dict(I=1)), "checkpoint I=1 into I=48")
    error("shape-I-odd-tp2", "edge", wrong(dict(I=47), tp=2, rank=1), "checkpoint I=47, TP2: floor 23 rows per rank, remainder row dropped silently")
    error("shape-E-more", "edge", wrong(dict(E=3)), "checkpoint has expert 2, layer has 2 experts")
    error("config-I-not-divisible", "edge", lambda: build(dict(E=2, H=32, I=47, tp=2, rank=0, backend=UB.TRITON)) and "built",
          "intermediate_size % tp != 0 is an assertion in FusedMoEConfig.__post_init__")

    def dtype_case(dt, val=1.5):
        def f():
            l = build(dict(E=2, H=32, I=48, tp=1, rank=0, backend=UB.TRITON))
            C.set_poison(l, 0xAA)
            list(l.load_weights(iter([("0.gate_proj.weight", torch.full((48, 32), val, dtype=torch.float32).to(dt))])))
            return f"accepted, value {float(l.w13_weight[0, 0, 0])}"
        return f
    error("dtype-f16-into-bf16", "edge", dtype_case(f16), "float16 checkpoint into bf16 parameter: silent conversion")
    error("dtype-f8-into-bf16", "edge", dtype_case(f8), "fp8 checkpoint weight into bf16 parameter: silent value conversion (no scale)")
    error("dtype-u8-into-bf16", "edge", dtype_case(u8, 7), "uint8 into bf16: silent value conversion")
    error("dtype-f64-into-bf16", "edge", dtype_case(torch.float64), "float64 into bf16")

    def bf16_into_fp8():
        l = build(dict(E=2, H=64, I=96, tp=1, rank=0, backend=FB.TRITON, quant=fp8cfg(None)))
        list(l.load_weights(iter([("0.gate_proj.weight", torch.full((96, 64), 1000.0, dtype=bf))])))
        return f"accepted, byte 0x{int(l.w13_weight.data.view(torch.uint8)[0, 0, 0]):02x} for 1000.0"
    error("dtype-bf16-into-fp8", "edge", bf16_into_fp8, "bf16 checkpoint into e4m3fn parameter: silent cast of 1000.0")

    def bf16_into_u8():
        mx = m("mxfp4")
        l = build(dict(E=2, H=64, I=64, tp=1, rank=0, backend=MB.MARLIN, quant=lambda c: mx.Mxfp4Config()))
        list(l.load_weights(iter([("0.gate_proj.weight", torch.full((64, 32), 300.0, dtype=bf))])))
        return f"accepted, byte {int(l.w13_weight[0, 0, 0])} for 300.0"
    error("dtype-bf16-into-mxfp4-u8", "edge", bf16_into_u8, "bf16 tensor of packed shape into uint8 parameter")

    def unknown_param():
        l = build(dict(E=2, H=32, I=48, tp=1, rank=0, backend=UB.TRITON))
        list(l.load_weights(iter([("0.gate_proj.weight_scale", torch.ones(48, 1))])))
        return "accepted"
    error("unknown-param", "edge", unknown_param, "checkpoint tensor with no matching parameter (weight_scale on a BF16 layer)")

    def unknown_bias():
        l = build(dict(E=2, H=32, I=48, tp=1, rank=0, backend=UB.TRITON))
        r = list(l.load_weights(iter([("0.gate_proj.bias", torch.ones(48))])))
        return f"skipped silently, yielded {r}"
    error("unknown-bias", "edge", unknown_bias, "checkpoint bias for a layer without bias")

    def unknown_expert():
        l = build(dict(E=2, H=32, I=48, tp=1, rank=0, backend=UB.TRITON))
        r = list(l.load_weights(iter([("7.gate_proj.weight", torch.ones(48, 32))])))
        return f"skipped silently, yielded {r}"
    error("unknown-expert", "edge", unknown_expert, "expert id beyond the layer")

    def bad_shard():
        l = build(dict(E=2, H=32, I=48, tp=1, rank=0, backend=UB.TRITON))
        l.weight_loader(l.w13_weight, torch.ones(48, 32), "w13_weight", "w9", 0)
        return "accepted"
    error("bad-shard-id", "edge", bad_shard, "shard id other than w1/w2/w3")

    def ct_static():
        from compressed_tensors.quantization import QuantizationArgs
        ct = m("compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_w8a8_fp8")
        w = QuantizationArgs(num_bits=8, type="float", strategy="tensor", symmetric=True)
        a = QuantizationArgs(num_bits=8, type="float", strategy="tensor", symmetric=True, dynamic=False)
        return build(dict(E=2, H=64, I=96, tp=1, rank=0, backend=FB.TRITON,
                          quant=lambda c: Shim(lambda l: ct.CompressedTensorsW8A8Fp8MoEMethod(w, a, l.moe_config, "x"), "compressed-tensors")))

    def ct_scale(v1, v3, first_reload=None):
        def f():
            l = ct_static()
            if first_reload is not None:
                l.w13_input_scale.data.fill_(first_reload)
            list(l.load_weights(iter([("0.gate_proj.input_scale", torch.tensor([v1])), ("0.up_proj.input_scale", torch.tensor([v3]))])))
            return f"accepted, stored {float(l.w13_input_scale[0])}"
        return f
    error("ct-input-scale-equal", "edge", ct_scale(0.5, 0.5), "compressed-tensors static input scale, w1 == w3")
    error("ct-input-scale-differ", "edge", ct_scale(0.5, 0.6), "w1 != w3")
    error("ct-input-scale-first-is-1", "edge", ct_scale(1.0, 0.6), "w1 == 1.0 exactly, w3 differs: check skipped because the slot equals 1")
    error("ct-input-scale-reload-changed", "edge", ct_scale(0.7, 0.7, 0.5), "second load (no re-creation) with a new scale: compared with the old value")
    error("ct-input-scale-nan-slot", "edge", ct_scale(0.7, 0.7, float("nan")), "slot holds NaN garbage: comparison false, accepted")

    def scalar_numel2():
        l = build(dict(E=2, H=64, I=96, tp=1, rank=0, backend=FB.TRITON, quant=fp8cfg(None)))
        list(l.load_weights(iter([("0.gate_proj.weight_scale", torch.ones(2))])))
        return "accepted"
    error("per-tensor-scale-numel2", "edge", scalar_numel2, "per-tensor weight scale with two elements")

    def in_scale_numel2():
        l = build(dict(E=2, H=64, I=96, tp=1, rank=0, backend=FB.TRITON, quant=fp8cfg(None, "static")))
        list(l.load_weights(iter([("0.gate_proj.input_scale", torch.ones(2))])))
        return "accepted"
    error("per-tensor-input-scale-numel2", "edge", in_scale_numel2, "per-tensor input scale with two elements")

    # gpt-oss: source destroyed by the loader
    def destroys():
        c = dict(E=2, H=96, I=96, tp=2, rank=1, backend=MB.TRITON, **OSS)
        l = build(c)
        model = gpt_model(c, l, "mxfp4")
        ts = gpt_ckpt(c).tensors(0)
        before = {n: t.clone() for n, t in ts}
        model.load_weights(iter(ts))
        return "source tensors changed by loading on rank 1: " + str([n.rsplit(".", 1)[1] for n, t in ts if not torch.equal(before[n], t)])
    error("gptoss-source-destroyed", "gptoss_mxfp4", destroys, "in-place zero_ on the incoming down_proj_bias for tp_rank != 0")

    def gpt_wrong(delta, key):
        def f():
            c = dict(E=2, H=96, I=96, tp=1, rank=0, backend=MB.TRITON, **OSS)
            l = build(c)
            model = gpt_model(c, l, "mxfp4")
            cc = dict(c)
            cc[key] += delta
            C.set_poison(l, 0xAA)
            model.load_weights(iter(gpt_ckpt(cc).tensors(0)))
            return "accepted"
        return f
    error("gptoss-ckpt-H-small", "gptoss_mxfp4", gpt_wrong(-32, "H"), "combined checkpoint with H=64 into a layer of H=96 (config I right)")
    error("gptoss-ckpt-I-small", "gptoss_mxfp4", gpt_wrong(-32, "I"), "combined checkpoint with I=64, config I=96")
    error("gptoss-ckpt-E-more", "gptoss_mxfp4", gpt_wrong(1, "E"), "combined checkpoint with one expert more than the config")

    def gptq_gidx():
        g = m("auto_gptq")
        l = build(dict(E=2, H=64, I=128, tp=1, rank=0, backend=WB.MARLIN,
                       quant=lambda c: Shim(lambda l: g.AutoGPTQMoEMethod(g.AutoGPTQConfig(4, 32, False, True, False, {}, {}), l.moe_config), "auto_gptq")))
        list(l.load_weights(iter([("0.gate_proj.g_idx", torch.zeros(64, dtype=i32))])))
        return "accepted"
    error("gptq-g_idx-tensor", "gptq", gptq_gidx, "checkpoint g_idx, no g_idx parameter exists any more in the layer (model loaders may filter the name first)")


# ---------------------------------------------------------------- real layerwise reload
def reload_case(rid, method, c, ckf, mk=None, order=None, note=""):
    """first load + (fake) processing, then the real initialize_layerwise_reload / load_weights / finalize with changed data.
    process_weights_after_loading is a recorder: it notes which elements are still poison when it is called."""
    from vllm.model_executor.model_loader.reload import layerwise as LW
    d = C.head(rid, method, c["backend"].value, c, note)
    try:
        layer = build(c)
        ck = ckf(c)
        model = mk(c, layer) if mk else layer
        LW.record_metadata_for_reloading(model)
        C.set_poison(layer, 0x11)
        ts0 = [(n, t.clone()) for n, t in ck.tensors(0)]
        list(model.load_weights(iter(ts0)) or [])
        old = {n: p.detach().clone() for n, p in layer.named_parameters()}
        calls = []

        def rec(l):
            calls.append({n: p.detach().clone() for n, p in l.named_parameters()})
        layer.quant_method.process_weights_after_loading = rec
        ts1 = [(n, t.clone()) for n, t in ck.tensors(0, 1)]
        if order:
            ts1 = [ts1[i] for i in order(ts1)]
        # reference: what a plain load of the new data writes (two poison values -> exact mask)
        refs = []
        for byte in (0x11, 0x22):
            ref = build(c)
            rmodel = mk(c, ref) if mk else ref
            C.set_poison(ref, byte)
            list(rmodel.load_weights(iter([(n, t.clone()) for n, t in ts1])) or [])
            refs.append({n: p.detach().clone() for n, p in ref.named_parameters()})
        refp = refs[0]
        orig = torch.empty_strided

        def es(*a, **k):
            t = orig(*a, **k)
            if t.device.type == "cpu" and t.numel() and t.is_contiguous():
                t.view(-1).view(torch.uint8).fill_(0xAA)
            return t
        torch.empty_strided = es
        where = None
        try:
            LW.initialize_layerwise_reload(model)
            info = LW.get_layerwise_info(layer)
            if mk:
                model.load_weights(iter(ts1))
                where = None
            else:
                for k, (n, t) in enumerate(ts1):
                    list(layer.load_weights(iter([(n, t)])))
                    if calls and where is None:
                        where = k
            cnt, tot = info.load_numel, info.load_numel_total
            ncalls_before = len(calls)
            LW.finalize_layerwise_reload(model, None)
        finally:
            torch.empty_strided = orig
        fin = {n: p.detach() for n, p in layer.named_parameters()}

        def eq(a, b):
            return (a.contiguous().reshape(-1).view(torch.uint8) == b.contiguous().reshape(-1).view(torch.uint8)).reshape(a.numel(), -1).all(1)
        rep = {}
        for n in fin:
            padm = ~eq(refs[0][n], refs[1][n])
            isp = lambda x: (x.contiguous().reshape(-1).view(torch.uint8) == 0xAA).reshape(x.numel(), -1).all(1)
            e, g = eq(fin[n], refp[n]), isp(fin[n])
            rep[n] = dict(numel=fin[n].numel(), padding=int(padm.sum()), final_wrong=int((~e & ~padm).sum()), final_padding_garbage=int((g & padm).sum()),
                          equals_old=bool(eq(fin[n], old[n]).all()))
            if calls:
                p = calls[0][n]
                rep[n].update(at_processing_wrong=int((~eq(p, refp[n]) & ~padm).sum()), at_processing_padding_garbage=int((isp(p) & padm).sum()))
        d["reload"] = dict(pwal_calls=len(calls), triggered_during_load=ncalls_before > 0,
                           triggered_at=[where, ts1[where][0]] if where is not None else None, n_tensors=len(ts1),
                           tensors_after_trigger=[n for n, _ in ts1[where + 1:]][:8] if where is not None else [],
                           load_numel_before_finalize=int(cnt or 0), load_numel_total=int(tot or 0), params=rep)
    except Exception as e:
        import traceback
        traceback.print_exc()
        d["load_error"] = dict(type=type(e).__name__, said=str(e)[:90])
    d["sizes"] = C.sizes(layer)
    C.CASES.append(d)
    r = d.get("reload")
    if r:
        print(rid, "calls", r["pwal_calls"], "during", r["triggered_during_load"], r["triggered_at"], "after", r["tensors_after_trigger"], r["load_numel_before_finalize"], r["load_numel_total"])
        for n, v in r["params"].items():
            if v["final_wrong"] or v["final_padding_garbage"] or v["equals_old"] or v.get("at_processing_wrong"):
                print("     ", n, v)


def alpha(ts):
    return sorted(range(len(ts)), key=lambda i: ts[i][0])


def reload():
    s0 = lambda pj, o, i: ()
    fck = lambda c: std_ckpt(c, f8, scales=[("input_scale", f32, s0), ("weight_scale", f32, s0)])

    def late():
        """as reload-fp8pt-static-E4-alpha, but processing changes shapes as the real one does (real replace_parameter; no requantisation)"""
        from vllm.model_executor.model_loader.reload import layerwise as LW
        from vllm.model_executor.utils import replace_parameter
        l = build(dict(E=4, H=64, I=96, tp=1, rank=0, backend=FB.TRITON, quant=fp8cfg(None, "static")))
        ck = fck(dict(E=4, H=64, I=96))
        LW.record_metadata_for_reloading(l)
        list(l.load_weights(iter(ck.tensors(0))))

        def pw(x):
            replace_parameter(x, "w13_weight_scale", x.w13_weight_scale.max(dim=1).values)
            for n in ("w13_input_scale", "w2_input_scale"):
                replace_parameter(x, n, getattr(x, n).max())
        l.quant_method.process_weights_after_loading = pw
        pw(l)
        LW.initialize_layerwise_reload(l)
        ts = ck.tensors(0, 1)
        list(l.load_weights(iter([ts[i] for i in alpha(ts)])))
        return "accepted"
    error("reload-fp8pt-static-late-scale", "reload", late,
          "layer processed one tensor early (input scales counted twice); the last up_proj.weight_scale then meets the processed [E] scale")
    for be in (UB.TRITON, UB.FLASHINFER_TRTLLM, UB.AITER):
        reload_case(f"reload-bf16-{be.name}-tp2r1", "reload", dict(E=2, H=64, I=96, tp=2, rank=1, backend=be, bias=True), lambda c: std_ckpt(c, bf, bias=bf))
    for E, ep, r in ((5, 2, 0), (5, 2, 1), (7, 3, 1)):   # a rank that has what it needs before the last tensors come
        c = dict(E=E, H=64, I=96, tp=1, rank=0, ep=ep, eprank=r)
        reload_case(f"reload-bf16-TRITON-E{E}-ep{ep}r{r}", "reload", dict(c, backend=UB.TRITON, bias=True), lambda c: std_ckpt(c, bf, bias=bf))
        reload_case(f"reload-mxfp4-gen-MARLIN-E{E}-ep{ep}r{r}", "reload", dict(c, backend=MB.MARLIN, quant=lambda c: m("mxfp4").Mxfp4Config()),
                    lambda c: std_ckpt(c, u8, 2, scales=[("weight_scale", u8, lambda pj, o, i: (o, i // 32))]))
    for E in (2, 4):
        reload_case(f"reload-fp8pt-static-E{E}-alpha", "reload", dict(E=E, H=64, I=96, tp=1, rank=0, backend=FB.TRITON, quant=fp8cfg(None, "static")), fck, order=alpha,
                    note="alphabetical tensor order, as in a sorted safetensors index")
        reload_case(f"reload-fp8pt-static-E{E}-wfirst", "reload", dict(E=E, H=64, I=96, tp=1, rank=0, backend=FB.TRITON, quant=fp8cfg(None, "static")), fck,
                    note="per projection: weight, input_scale, weight_scale")
    reload_case("reload-fp8pt-dynamic-alpha", "reload", dict(E=2, H=64, I=96, tp=1, rank=0, backend=FB.TRITON, quant=fp8cfg(None)),
                lambda c: std_ckpt(c, f8, scales=[("weight_scale", f32, s0)]), order=alpha)
    for r in (0, 1, 3):
        reload_case(f"reload-fp8blk-trtllm-tp4r{r}", "reload", dict(E=2, H=128, I=640, tp=4, rank=r, backend=FB.FLASHINFER_TRTLLM, moe_backend="flashinfer_trtllm",
                    quant=fp8cfg([128, 128])), lambda c: std_ckpt(c, f8, scales=[("weight_scale_inv", f32, blk_sc)]), order=alpha)
    mk = lambda qn: (lambda c, l: gpt_model(c, l, qn))
    for be in (MB.FLASHINFER_TRTLLM_MXFP4_MXFP8, MB.TRITON, MB.EMULATION):
        for r in (0, 1):
            reload_case(f"reload-gptoss-mx-{be.name}-tp2r{r}", "reload", dict(E=2, H=96, I=96, tp=2, rank=r, backend=be, **OSS), gpt_ckpt, mk=mk("mxfp4"))
    reload_case("reload-gptoss-bf16-TRITON", "reload", dict(E=2, H=64, I=96, tp=1, rank=0, backend=UB.TRITON, bias=True, act="swigluoai", cls=GO.GptOssRoutedExperts),
                lambda c: gpt_ckpt(c, "bf16"), mk=mk(None))
    reload_case("reload-gptoss-bf16-stream-TRITON", "reload", dict(E=2, H=64, I=96, tp=1, rank=0, backend=UB.TRITON, bias=True, act="swigluoai", cls=GO.GptOssRoutedExperts),
                lambda c: gpt_stream_ckpt(c, "bf16"), mk=mk(None))
    from compressed_tensors.quantization import QuantizationArgs
    ct = m("compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_wna16")

    def cq(grp, strat):
        return lambda c: Shim(lambda l: ct.CompressedTensorsWNA16MoEMethod(QuantizationArgs(num_bits=4, type="int", strategy=strat, symmetric=True, group_size=grp),
                                                                       None, l.moe_config, "x"), "compressed-tensors")
    reload_case("reload-ctwna16-g32-alpha", "reload", dict(E=2, H=64, I=128, tp=1, rank=0, backend=WB.MARLIN, quant=cq(32, "group")),
                lambda c: std_ckpt(c, None, scales=[("weight_packed", i32, lambda pj, o, i: (o, i // 8)), ("weight_scale", bf, lambda pj, o, i: (o, i // 32)),
                                                    ("weight_shape", i64, lambda *a: (2,))]), order=alpha)
    reload_case("reload-ctwna16-channel-E32-alpha", "reload", dict(E=32, H=64, I=32, tp=1, rank=0, backend=WB.MARLIN, quant=cq(None, "channel")),
                lambda c: std_ckpt(c, None, scales=[("weight_packed", i32, lambda pj, o, i: (o, i // 8)), ("weight_scale", bf, lambda pj, o, i: (o, 1)),
                                                    ("weight_shape", i64, lambda *a: (2,))]), order=alpha)
    mo = m("modelopt")
    q = lambda c: Shim(lambda l: mo.ModelOptNvFp4FusedMoE(mo.ModelOptNvFp4Config("NVFP4", True), l.moe_config), "modelopt_fp4")
    for ep, r in ((1, 0), (2, 1)):
        reload_case(f"reload-nvfp4-mo-ep{ep}-alpha", "reload", dict(E=4, H=64, I=96, tp=1, rank=0, ep=ep, eprank=r, backend=NB.FLASHINFER_TRTLLM, quant=q),
                lambda c: std_ckpt(c, u8, 2, scales=[("input_scale", f32, s0), ("weight_scale", f8, lambda pj, o, i: (o, i // 16)), ("weight_scale_2", f32, s0)]), order=alpha)
    ct8 = m("compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_w8a8_fp8")
    qa = lambda dyn: QuantizationArgs(num_bits=8, type="float", strategy="tensor", symmetric=True, dynamic=dyn)
    C.POISON_F32.update(w13_input_scale=(1.0, 1.0), w2_input_scale=(1.0, 1.0))
    real_set = C.set_poison
    C.set_poison = lambda l, b: [p.data.fill_(1.0) if "input_scale" in n else p.data.view(-1).view(torch.uint8).fill_(b) for n, p in l.named_parameters()]
    reload_case("reload-ct-fp8-static", "reload", dict(E=2, H=64, I=96, tp=1, rank=0, backend=FB.TRITON,
                quant=lambda c: Shim(lambda l: ct8.CompressedTensorsW8A8Fp8MoEMethod(qa(False), qa(False), l.moe_config, "x"), "compressed-tensors")),
                lambda c: std_ckpt(c, f8, scales=[("weight_scale", f32, lambda *a: (1,))], extra=[("input_scale", f32, lambda *a: (1,), 0.5)]),
                note="static input scale check runs on the meta / garbage slot")
    C.set_poison = real_set
    C.POISON_F32.clear()
    reload_case("reload-eplb-red2", "reload", dict(E=4, H=32, I=32, tp=1, rank=0, ep=2, eprank=1, redundant=2, backend=UB.TRITON), lambda c: std_ckpt(c, bf))
    reload_case("reload-missing-expert", "reload", dict(E=3, H=32, I=48, tp=1, rank=0, backend=UB.TRITON), lambda c: std_ckpt(c, bf, experts=[0, 2]),
                note="partial update: expert 1 not sent")
    reload_case("reload-mxfp4-gen-MARLIN-tp2r1", "reload", dict(E=2, H=96, I=192, tp=2, rank=1, backend=MB.MARLIN, quant=lambda c: m("mxfp4").Mxfp4Config()),
                lambda c: std_ckpt(c, u8, 2, scales=[("weight_scale", u8, lambda pj, o, i: (o, i // 32))]), note="generic Mxfp4Config method (not Quark)")


# ---------------------------------------------------------------- other model loaders, sparse patches
def models():
    from vllm.model_executor.models.llama4 import Llama4Model
    nn = torch.nn

    def l4(c, layer):
        md = Llama4Model.__new__(Llama4Model)
        nn.Module.__init__(md)
        md.num_experts, md.n_redundant_experts = c["E"], c.get("redundant", 0)
        blk, ff, ex = nn.Module(), nn.Module(), nn.Module()
        ex.routed_experts = layer
        ex.expert_map = layer._expert_map
        ff.experts = ex
        blk.feed_forward = ff
        md.layers = nn.ModuleList([blk])
        return md

    def lf(c, layer):
        md = l4(c, layer)
        return lambda ts: md.load_weights(iter([(n, t.clone()) for n, t in ts]))

    def ck(c):
        E, H, I = c["E"], c["H"], c["I"]
        return Ckpt([dict(name="layers.0.feed_forward.experts." + n, shape=s, dtype=bf, kind=n, expert=None)
                     for n, s in (("gate_up_proj", (E, H, 2 * I)), ("down_proj", (E, I, H)))])
    for be in (UB.TRITON, UB.FLASHINFER_TRTLLM, UB.AITER):
        for tp, r in ((1, 0), (2, 0), (2, 1)):
            case(f"llama4-3d-{be.name}-tp{tp}r{r}", "llama4_fused3d", dict(E=4, H=32, I=96, tp=tp, rank=r, backend=be), ck, lf)
        for r in range(2):
            case(f"llama4-3d-{be.name}-ep2r{r}", "llama4_fused3d", dict(E=4, H=32, I=96, tp=1, rank=0, ep=2, eprank=r, backend=be), ck, lf)
    case("llama4-3d-eplb-red2-ep2r1", "llama4_fused3d", dict(E=4, H=32, I=96, tp=1, rank=0, ep=2, eprank=1, redundant=2, backend=UB.TRITON), ck, lf,
         note="fused 3-D with redundant experts: index list runs past the checkpoint")
    for E, ep, red, place in ((5, 2, 0, "linear"), (5, 2, 0, "round_robin"), (5, 2, 1, "linear")):
        for r in range(ep):
            c = dict(E=E, H=32, I=96, tp=1, rank=0, ep=ep, eprank=r, backend=UB.TRITON)
            if red:
                c["redundant"] = red
            if place == "round_robin":
                c.update(placement=place, groups=5)
            case(f"llama4-3d-E{E}-{place}-red{red}-ep{ep}r{r}", "llama4_fused3d", c, ck, lf)
    case("llama4-3d-nongated", "llama4_fused3d", dict(E=2, H=32, I=96, tp=1, rank=0, backend=UB.TRITON, act="relu2_no_mul"), ck, lf)
    # sparse checkpoint patches through the real load_checkpoint_weight_patches
    from vllm.model_executor.model_loader.checkpoint_weight_patch import CheckpointWeightPatch as CP, load_checkpoint_weight_patches as lp

    def sparse(c, name, shape, dt, base, ckf):
        def f():
            l = build(c)
            full = ckf(c)
            rng = __import__("numpy").random.default_rng(5)
            list(l.load_weights(iter(full.tensors("rand", rng=rng))))
            before = {n: p.detach().clone() for n, p in l.named_parameters()}

            class M(torch.nn.Module):
                def __init__(s):
                    super().__init__()
                    s.l = l

                def load_weights(s, w):
                    return set(l.load_weights(iter(w)))
            lp(M(), [CP(name, shape, dt, torch.tensor([3.0]), torch.tensor([base]))])
            out = {}
            for n, p in l.named_parameters():
                a = p.detach().contiguous().reshape(-1).view(torch.uint8).reshape(p.numel(), -1)
                b = before[n].contiguous().reshape(-1).view(torch.uint8).reshape(p.numel(), -1)
                ch = int((a != b).any(1).sum())
                nan = int(torch.isnan(p.detach().float()).sum())
                out[n] = [ch, nan]
            return "elements changed, NaN per parameter: " + str(out)
        return f
    bfck = lambda c: std_ckpt(c, bf)
    error("sparse-bf16-1elem", "sparse_patch", sparse(dict(E=2, H=32, I=48, tp=1, rank=0, backend=UB.TRITON), "0.up_proj.weight", (48, 32), bf, 5, bfck),
          "one element of a BF16 expert")
    error("sparse-bf16-trt-padded", "sparse_patch", sparse(dict(E=2, H=32, I=48, tp=1, rank=0, backend=UB.FLASHINFER_TRTLLM), "0.up_proj.weight", (48, 32), bf, 5, bfck),
          "one element, padded parameter")
    s0 = lambda *a: ()
    error("sparse-fp8pt-scale", "sparse_patch", sparse(dict(E=2, H=64, I=96, tp=1, rank=0, backend=FB.TRITON, quant=fp8cfg(None)), "0.up_proj.weight_scale", (1,), f32, 0,
          lambda c: std_ckpt(c, f8, scales=[("weight_scale", f32, s0)])), "scalar scale: stored by index assignment, not Tensor.copy_")

    def sparse_empty_scale():
        l = build(dict(E=2, H=64, I=96, tp=1, rank=0, backend=FB.TRITON, quant=fp8cfg(None)))

        class M(torch.nn.Module):
            def load_weights(s, w):
                return set(l.load_weights(iter(w)))
        lp(M(), [CP("0.up_proj.weight_scale", (1,), f32, torch.tensor([]), torch.tensor([], dtype=torch.int64))])
        return f"w13_weight_scale[0,1] after an empty sparse patch: {float(l.w13_weight_scale[0, 1])} (was 1.0)"
    error("sparse-fp8pt-scale-empty", "sparse_patch", sparse_empty_scale, "empty sparse patch of a scalar scale")
    fb = lambda c: std_ckpt(c, f8, scales=[("weight_scale_inv", f32, blk_sc)])
    B = [128, 128]
    for nm, k in (("plain", dict(tp=1, rank=0, backend=FB.TRITON)), ("blockaligned", dict(tp=4, rank=1, backend=FB.FLASHINFER_TRTLLM, moe_backend="flashinfer_trtllm"))):
        c = dict(E=2, H=128, I=640, quant=fp8cfg(B), **k)
        idx = 0 if nm == "plain" else 256 * 128 + 3
        error(f"sparse-fp8blk-weight-{nm}", "sparse_patch", sparse(c, "0.gate_proj.weight", (640, 128), f8, idx, fb), "one fp8 weight element")
        error(f"sparse-fp8blk-scale-{nm}", "sparse_patch", sparse(c, "0.gate_proj.weight_scale_inv", (5, 1), f32, 0 if nm == "plain" else 2, fb), "one block scale")
    error("sparse-mxfp4-u8", "sparse_patch", sparse(dict(E=2, H=64, I=64, tp=1, rank=0, backend=MB.MARLIN, quant=lambda c: m("mxfp4").Mxfp4Config()), "0.gate_proj.weight",
          (64, 32), u8, 0, lambda c: std_ckpt(c, u8, 2, scales=[("weight_scale", u8, lambda pj, o, i: (o, i // 32))])), "packed uint8 weight: refused")


# ---------------------------------------------------------------- sizes that do not divide, experts that ranks cannot move
def uneven():
    mx = lambda c: gpt_ckpt(c)
    oss_bf = dict(bias=True, act="swigluoai", cls=GO.GptOssRoutedExperts)
    bf_ck, bf_st = (lambda c: gpt_ckpt(c, "bf16")), (lambda c: gpt_stream_ckpt(c, "bf16"))
    for E, ep in ((5, 2), (3, 2), (7, 3)):
        for r in range(ep):
            c = dict(E=E, H=64, I=64, tp=1, rank=0, ep=ep, eprank=r)
            case(f"gptoss-mx-E{E}-ep{ep}r{r}", "gptoss_mxfp4", dict(c, backend=MB.TRITON, **OSS), mx, gpt_load("mxfp4"))
            case(f"gptoss-mx-stream-E{E}-ep{ep}r{r}", "gptoss_mxfp4_streamed", dict(c, backend=MB.TRITON, **OSS), gpt_stream_ckpt,
                 gpt_load("mxfp4"))
            case(f"gptoss-bf16-E{E}-ep{ep}r{r}", "gptoss_bf16", dict(c, backend=UB.TRITON, **oss_bf), bf_ck, gpt_load(None))
            case(f"gptoss-bf16-stream-E{E}-ep{ep}r{r}", "gptoss_bf16", dict(c, backend=UB.TRITON, **oss_bf), bf_st, gpt_load(None))
    for r in range(2):
        c = dict(E=4, H=64, I=64, tp=1, rank=0, ep=2, eprank=r, placement="round_robin", groups=2)
        case(f"gptoss-mx-roundrobin-ep2r{r}", "gptoss_mxfp4", dict(c, backend=MB.TRITON, **OSS), mx, gpt_load("mxfp4"))
        c = dict(E=4, H=64, I=64, tp=1, rank=0, ep=2, eprank=r, redundant=2)
        case(f"gptoss-bf16-stream-eplb-ep2r{r}", "gptoss_bf16", dict(c, backend=UB.TRITON, **oss_bf), bf_st, gpt_load(None))
        case(f"gptoss-bf16-eplb-ep2r{r}", "gptoss_bf16", dict(c, backend=UB.TRITON, **oss_bf), bf_ck, gpt_load(None))
    # a rank that loads more rows than it needs: no call counts for more than the parameter has
    for r in range(2):
        case(f"gptoss-bf16-stream-E1-I168-tp4r{r}", "gptoss_bf16", dict(E=1, H=140, I=168, tp=4, rank=r, backend=UB.FLASHINFER_TRTLLM, **oss_bf),
             bf_st, gpt_load(None))
    # a hidden size or an intermediate size of no whole blocks
    for H, I, tp in ((80, 96, 1), (80, 96, 2), (64, 112, 1), (224, 224, 2), (448, 224, 4)):
        for r in range(tp):
            case(f"gptoss-mx-H{H}-I{I}-tp{tp}r{r}", "gptoss_mxfp4", dict(E=2, H=H, I=I, tp=tp, rank=r, backend=MB.TRITON, **OSS), mx,
                 gpt_load("mxfp4"))
    case("gptoss-mx-stream-H80-I112-tp2r1", "gptoss_mxfp4_streamed", dict(E=2, H=80, I=112, tp=2, rank=1, backend=MB.TRITON, **OSS),
         gpt_stream_ckpt, gpt_load("mxfp4"))


def other_uneven():
    """The same of the other methods: what does not divide is dropped, taken in half, or refused."""
    g, a, mo, mx = m("auto_gptq"), m("auto_awq"), m("modelopt"), m("mxfp4")
    from compressed_tensors.quantization import QuantizationArgs
    ct = m("compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_wna16")
    qk = m("quark.quark_moe")
    model_type("qwen3_moe")
    gq = lambda c: Shim(lambda l: g.AutoGPTQMoEMethod(g.AutoGPTQConfig(4, 32, False, True, False, {}, {}), l.moe_config), "auto_gptq")
    aq = lambda c: Shim(lambda l: a.AutoAWQMoEMethod(a.AutoAWQConfig(4, 32, True, False), l.moe_config), "auto_awq")
    words = lambda k_first: (lambda c: std_ckpt(c, None, scales=[
        ("scales", bf, lambda pj, o, i: (i // 32, o)), ("qzeros", i32, lambda pj, o, i: (i // 32, o // 8)),
        ("qweight", i32, (lambda pj, o, i: (i // 8, o)) if k_first else (lambda pj, o, i: (i, o // 8)))]))
    for tp in (1, 2):
        for r in range(tp):
            for H, I in ((64, 212), (16, 64), (72, 136)):
                c = dict(E=2, H=H, I=I * tp, tp=tp, rank=r, backend=WB.MARLIN)
                case(f"gptq4-g32-H{H}-I{I * tp}-tp{tp}r{r}", "gptq", dict(c, quant=gq), words(True))
                case(f"awq4-g32-H{H}-I{I * tp}-tp{tp}r{r}", "awq", dict(c, quant=aq), words(False))

    def cq(sym=True, grp=32, strat="group"):
        return lambda c: Shim(lambda l: ct.CompressedTensorsWNA16MoEMethod(
            QuantizationArgs(num_bits=4, type="int", strategy=strat, symmetric=sym, group_size=grp), None, l.moe_config, "x"), "compressed-tensors")
    packed = lambda grp, sym: (lambda c: std_ckpt(c, None, scales=[
        ("weight_packed", i32, lambda pj, o, i: (o, i // 8)), ("weight_scale", bf, lambda pj, o, i: (o, i // grp if grp else 1)),
        ("weight_shape", i64, lambda pj, o, i: (2,))] + ([] if sym else [("weight_zero_point", i32, lambda pj, o, i: (o // 8, i // grp if grp else 1))])))
    for name, be, H, I, grp, strat, sym in (
            ("hidden", WB.MARLIN, 80, 64, 32, "group", True), ("channel-trtllm", WB.FLASHINFER_TRTLLM, 64, 64, None, "channel", True),
            ("channel-words", WB.MARLIN, 68, 60, None, "channel", True)):
        case(f"ctwna16-{name}", "ct_wna16", dict(E=2, H=H, I=I, tp=1, rank=0, backend=be, quant=cq(sym, grp, strat)), packed(grp, sym))
    q = lambda w, x, cls: (lambda c: Shim(lambda l: getattr(qk, cls)(l.moe_config, w, x), "quark"))
    mx4 = lambda c: std_ckpt(c, u8, 2, scales=[("weight_scale", u8, lambda pj, o, i: (o, i // 32))])
    for H, I, tp in ((80, 80, 1), (80, 160, 2), (48, 96, 3)):
        for r in range(tp):
            c = dict(E=2, H=H, I=I, tp=tp, rank=r)
            for be in (MB.TRITON, MB.EMULATION):
                case(f"quark-w4a4-{be.name}-H{H}-I{I}-tp{tp}r{r}", "quark_mxfp4",
                     dict(c, backend=be, quant=q(QU.kMxfp4Static, QU.kMxfp4Dynamic, "QuarkOCP_MX_MoEMethod")), mx4)
                case(f"mxfp4-gen-{be.name}-H{H}-I{I}-tp{tp}r{r}", "mxfp4_generic", dict(c, backend=be, quant=lambda c: mx.Mxfp4Config()), mx4)
    for H, I, tp in ((128, 192, 1), (128, 256, 4), (192, 256, 2)):
        case(f"quark-fp8blk-H{H}-I{I}-tp{tp}r0", "quark_fp8", dict(E=2, H=H, I=I, tp=tp, rank=0, backend=FB.TRITON,
             quant=q(QU.kFp8Static128BlockSym, QU.kFp8Dynamic128Sym, "QuarkW8A8Fp8MoEMethod")), lambda c: std_ckpt(c, f8, scales=[("weight_scale", f32, blk_sc)]))
    s0 = lambda pj, o, i: ()
    nv4 = lambda c: Shim(lambda l: mo.ModelOptNvFp4FusedMoE(mo.ModelOptNvFp4Config("NVFP4", True), l.moe_config), "modelopt_fp4")
    for H, I, tp in ((40, 88, 1), (72, 80, 2)):
        for r in range(tp):
            case(f"nvfp4-mo-H{H}-I{I}-tp{tp}r{r}", "nvfp4_modelopt", dict(E=2, H=H, I=I, tp=tp, rank=r, backend=NB.VLLM_CUTLASS, quant=nv4),
                 lambda c: std_ckpt(c, u8, 2, scales=[("weight_scale", f8, lambda pj, o, i: (o, i // 16)), ("weight_scale_2", f32, s0), ("input_scale", f32, s0)]))
    # experts in one tensor, without a gate: the up projection alone, or a name that nobody knows
    ungated = lambda t: (lambda c: Ckpt([dict(name=n, shape=s, dtype=bf, kind=n, expert=None) for n, s in (
        ("up_proj", (c["E"], c["H"], c["I"]) if t else (c["E"], c["I"], c["H"])), ("down_proj", (c["E"], c["I"], c["H"]) if t else (c["E"], c["H"], c["I"])))]))
    for t in (False, True):
        for tp, r in ((1, 0), (2, 1)):
            c = dict(E=2, H=64, I=96, tp=tp, rank=r, backend=UB.FLASHINFER_TRTLLM, act="relu2_no_mul", fused_t=t)
            case(f"bf16-fused3d-{'T' if t else 'N'}-nongated-tp{tp}r{r}", "unquantized", c, ungated(t))
            case(f"bf16-fused3d-{'T' if t else 'N'}-nongated-gate_up-tp{tp}r{r}", "unquantized", c, lambda c, t=t: fused_ckpt(c, t))


# ---------------------------------------------------------------- experts that may move to other ranks (EPLB)
def balanced():
    """One layer of each method, variant and back end, on the second of two ranks: four experts and two copies."""
    kept = {}

    def keep(kind):
        def f(cid, *args, **_):
            c = next(a for a in args if isinstance(a, dict))
            stem = re.sub(r"-(tp|ep|I)\d.*", "", cid)
            if c["H"] <= 128 and any(callable(a) for a in args):  # what only shows sizes has no checkpoint
                kept.setdefault((kind, stem, c.get("backend")), (args, dict(C.POISON_F32), model_type()))
        return f
    real = {n: globals()[n] for n in ("case", "online_case", "error")}
    globals().update(case=keep("case"), online_case=keep("online_case"), error=lambda *a: None)
    for part in (unq, fp8, nv, quark, wna, online):
        part()
    globals().update(real)
    for (kind, stem, be), (args, poison, model) in kept.items():
        args = [dict(a, E=4, tp=1, rank=0, ep=2, eprank=1, redundant=2) if isinstance(a, dict) else a for a in args]
        if model:
            model_type(model)
        C.POISON_F32.update(poison)
        name = "" if be is None or be.name in stem else f"-{be.name}"
        real[kind](f"{stem}{name}-eplb-ep2r1", *args)
        C.POISON_F32.clear()


def rounding_table():
    """real rounding functions, called directly"""
    from vllm.model_executor.layers.fused_moe.oracle.mxfp4 import mxfp4_round_up_hidden_size_and_intermediate_size as rm
    from vllm.model_executor.layers.fused_moe.oracle.unquantized import unquantized_round_up_hidden_size_and_intermediate_size as ru
    grid = [(32, 32), (96, 48), (2880, 360), (2880, 720), (2880, 1440), (2880, 2880), (2048, 96), (2048, 192), (2048, 193), (4096, 256), (200, 320)]
    out = dict(mxfp4_cuda={}, unquantized={}, grid=grid)
    for b in MB:
        out["mxfp4_cuda"][b.name] = [list(rm(b, h, i)) for h, i in grid]
    for b in UB:
        out["unquantized"][b.name] = [list(ru(b, h, i)) for h, i in grid]
    # XPU / ROCm: only the platform predicates are faked
    import vllm.model_executor.layers.fused_moe.oracle.mxfp4 as om
    cp = om.current_platform
    try:
        object.__setattr__(cp, "is_xpu", lambda: True)
        out["mxfp4_xpu"] = {b.name: [list(rm(b, h, i)) for h, i in grid] for b in MB}
        object.__delattr__(cp, "is_xpu")
        object.__setattr__(cp, "is_rocm", lambda: True)
        rocm = types.ModuleType("vllm.platforms.rocm")
        saved = sys.modules.get("vllm.platforms.rocm")
        sys.modules["vllm.platforms.rocm"] = rocm
        for ver in (3, 4):
            rocm.get_cdna_version = lambda v=ver: v
            for act in (MoEActivation.SWIGLUOAI, MoEActivation.SILU, MoEActivation.SITU):
                out[f"mxfp4_rocm_cdna{ver}_{act.value}"] = {
                    b.name: [list(rm(b, h, i, act)) for h, i in grid]
                    for b in MB}
        if saved is None:
            del sys.modules["vllm.platforms.rocm"]
        else:
            sys.modules["vllm.platforms.rocm"] = saved
        object.__delattr__(cp, "is_rocm")
    except Exception as e:
        out["platform_fake_error"] = f"{type(e).__name__}: {e}"
    return out


PARTS = dict(reload=reload, models=models, oss_tiny=oss_tiny, oss_real=oss_real, unq=unq, fp8=fp8, nv=nv, quark=quark, wna=wna, online=online, deepep=deepep, edge=edge, uneven=uneven, other_uneven=other_uneven, balanced=balanced)


def run():
    for k in (C.RUN_PARTS or PARTS):
        PARTS[k]()
