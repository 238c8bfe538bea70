#!/usr/bin/env python3
"""Family reload/: the real reload of vLLM, end to end on a CPU, on small models.

usage: reload.py OUT [MODEL]          MODEL: only this one, or "tail": only the special ones

Real: RoutedExperts and GptOssRoutedExperts (create_weights, loaders), the methods' process_weights_after_loading with
the real row permutations of FlashInfer, AutoWeightsLoader and the load_weights of gpt-oss, and
model_loader.reload.{layerwise,meta,inplace}. What is replaced is in PATCHES, and in OUT/reload/scenarios.json.
"""
import contextlib, ctypes, json, os, subprocess, sys, tempfile
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("TRITON_INTERPRET", "1")
from types import SimpleNamespace as NS
import numpy as np
import torch
from torch import nn

PATCHES = [
    "select_{unquantized,mxfp4,fp8}_moe_backend: return a chosen back end (platform is Unspecified)",
    "make_{unquantized,mxfp4,fp8}_moe_kernel: a stub kernel; for gpt-oss TRT-LLM the real experts class constructor runs "
    "(torch.accelerator.current_device_index -> cpu)",
    "flashinfer nvfp4_block_scale_interleave, block_scale_interleave (CUDA ops) -> torch 128x4 swizzle (our own)",
    "gpt_oss module: tensor/data/context parallel group getters -> constants; fused_moe.config tp rank getter",
    "TORCHDYNAMO_DISABLE=1 (per_block_cast_to_fp8 runs eager)",
    "online FP8 and MXFP4: stub quantisation config object with online_quantization_config=None",
    "FP8 with one scale per tensor or row: ops.scaled_fp8_quant (CUDA op) -> vllm's own QuantFP8.forward_native where the scale is given, "
    "and online.fp8._fp8_channel_scale, _fp8_quant_per_channel where it is not; the experts class of FlashInfer's back ends is the real one",
    "MXFP4 online: mxfp4_quantize's Triton kernel (mxfp4_utils.py) run by Triton's interpreter, its tensor.floor() written tl.floor(), "
    "which the interpreter does not know",
    "AITER: aiter.ops.shuffle and aiter.utility.fp4_utils.e8m0_shuffle from sources (AITER_SRC); nothing else of aiter",
    "DeepGEMM: is_deep_gemm_e8m0_used -> True; transform_sf_into_required_layout (CUDA) -> scale rows repeated by its recipe, then the wheel's own "
    "kernel text (smxx_layout.cuh) host-compiled, as layouts.py does",
    "bf16_hidpad only: FusedMoEMethodBase.maybe_roundup_sizes also rounds H as DeepEP HT does (no DeepEP here)",
    "tests with poison: torch.empty/empty_strided/empty_like/Tensor.new_empty fill their new storage",
]

import vllm  # noqa: E402
from vllm.config import DeviceConfig, VllmConfig, set_current_vllm_config  # noqa: E402
import vllm.model_executor.layers.fused_moe.config as moe_config_mod  # noqa: E402
from vllm.model_executor.layers.fused_moe.activation import MoEActivation  # noqa: E402
from vllm.model_executor.layers.fused_moe.config import (  # noqa: E402
    FusedMoEConfig, FusedMoEParallelConfig, RoutingMethodType)
from vllm.model_executor.layers.fused_moe.expert_map_manager import ExpertMapManager  # noqa: E402
from vllm.model_executor.layers.fused_moe.routed_experts import RoutedExperts  # noqa: E402
import vllm.model_executor.layers.fused_moe.unquantized_fused_moe_method as unq_mod  # noqa: E402
from vllm.model_executor.layers.fused_moe.oracle.unquantized import UnquantizedMoeBackend  # noqa: E402
import vllm.model_executor.layers.quantization.mxfp4 as mx_mod  # noqa: E402
from vllm.model_executor.layers.fused_moe.oracle import mxfp4 as mx_oracle  # noqa: E402
import vllm.model_executor.layers.quantization.online.fp8 as ofp8_mod  # noqa: E402
import vllm.model_executor.layers.quantization.online.mxfp4 as omx4_mod  # noqa: E402
import vllm.model_executor.layers.quantization.online.mxfp8 as omx8_mod  # noqa: E402
import vllm.model_executor.layers.quantization.utils.fp8_utils as fp8_utils_mod  # noqa: E402
import vllm.model_executor.layers.quantization.utils.mxfp4_utils as mxfp4_utils_mod  # noqa: E402
from vllm.model_executor.layers.quantization.input_quant_fp8 import QuantFP8  # noqa: E402
from vllm.model_executor.layers.quantization.utils.quant_utils import GroupShape  # noqa: E402
import vllm.model_executor.layers.fused_moe.oracle.fp8 as fp8_oracle  # noqa: E402
import vllm.model_executor.layers.quantization.fp8 as fp8_mod  # noqa: E402
import vllm.model_executor.layers.fused_moe.fused_moe_method_base as fmb_mod  # noqa: E402
import vllm.model_executor.models.gpt_oss as gpt_mod  # noqa: E402
from vllm.model_executor.models.utils import AutoWeightsLoader  # noqa: E402
from vllm.model_executor.layers.attention.attention import set_default_quant_scales  # noqa: E402
from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase  # noqa: E402
from vllm.model_executor.layers.quantization.kv_cache import BaseKVCacheMethod  # noqa: E402
from vllm.model_executor.model_loader.utils import process_weights_after_loading  # noqa: E402
from vllm.model_executor.model_loader.base_loader import _has_online_quant  # noqa: E402
from vllm.model_executor.model_loader.reload import (  # noqa: E402
    finalize_layerwise_processing, record_metadata_for_reloading)
import vllm.model_executor.model_loader.reload.layerwise as lw  # noqa: E402
from vllm.model_executor.model_loader.reload.inplace import reload_weights  # noqa: E402
import flashinfer  # noqa: E402
import flashinfer.fp4_quantization as fi_fp4  # noqa: E402

VCFG = VllmConfig(device_config=DeviceConfig(device="cpu"))
MODEL_CFG = NS(dtype=torch.bfloat16, quantization=None, word_embeddings_untied_by_checkpoint=False, model="tiny")
CFG_NS = NS(model_config=MODEL_CFG, load_config=None, lora_config=None)
CUR = NS(tp=1, rank=0, kind=None, unq=None, mx=None, fp8=None, hidpad=False)

# ---------------------------------------------------------------- patches
class _Kernel:
    def __init__(self, experts):
        self.fused_experts = experts

class _StubExperts:
    consumes_expert_mask = False
    def __init__(self, moe_config=None, quant_config=None):
        self.quant_config = quant_config
    def process_weights_after_loading(self, layer):
        pass

def _mk_stub(*a, **k):
    qc = k.get("quant_config", k.get("moe_quant_config", k.get("fp8_quant_config")))
    return _Kernel(_StubExperts(quant_config=qc))

def _mk_mx(moe_quant_config=None, moe_config=None, mxfp4_backend=None, experts_cls=None, routing_tables=None, **k):
    if experts_cls is not _StubExperts:
        return _Kernel(experts_cls(moe_config=moe_config, quant_config=moe_quant_config))
    return _mk_stub(quant_config=moe_quant_config)

def swizzle128x4(s):
    """128x4 scale swizzle; rows % 128 == 0 and cols padded to 4 here."""
    u = s.contiguous().view(torch.uint8)
    m, k = u.shape
    mp, kp = -(-m // 128) * 128, -(-k // 4) * 4
    p = torch.zeros(mp, kp, dtype=torch.uint8)
    p[:m, :k] = u
    out = p.view(mp // 128, 4, 32, kp // 4, 4).permute(0, 3, 2, 1, 4).contiguous().view(-1)
    return out

unq_mod.select_unquantized_moe_backend = lambda moe_config: (CUR.unq, _StubExperts)
unq_mod.make_unquantized_moe_kernel = _mk_stub
def _sel_mx(*a, **k):
    if CUR.mx in mx_oracle.TRTLLM_BACKENDS or CUR.kind == "onmx4" and CUR.mx.name.startswith("FLASHINFER_CUTLASS"):
        return CUR.mx, mx_oracle.backend_to_kernel_cls(CUR.mx)[0]
    return CUR.mx, _StubExperts
mx_mod.select_mxfp4_moe_backend = _sel_mx
mx_mod.make_mxfp4_moe_kernel = _mk_mx
mx_mod.select_deepseek_v4_mxfp4_moe_backend = _sel_mx
def _sel_fp8(**k):
    real = CUR.kind == "fp8pt" and CUR.fp8.name.startswith("FLASHINFER")
    return CUR.fp8, fp8_oracle.backend_to_kernel_cls(CUR.fp8)[0] if real else _StubExperts
def _mk_fp8(moe_quant_config=None, moe_config=None, experts_cls=None, **k):
    if experts_cls is not _StubExperts:
        return _Kernel(experts_cls(moe_config=moe_config, quant_config=moe_quant_config))
    return _mk_stub(quant_config=moe_quant_config)
ofp8_mod.select_fp8_moe_backend = _sel_fp8
fp8_mod.select_fp8_moe_backend = _sel_fp8
fp8_mod.make_fp8_moe_kernel = _mk_fp8
omx4_mod.select_mxfp4_moe_backend = _sel_mx
omx4_mod.make_mxfp4_moe_kernel = _mk_mx
omx8_mod.select_mxfp8_moe_backend = lambda config=None: (CUR.fp8, _StubExperts)
fp8_oracle.make_fp8_moe_kernel = _mk_fp8

def _scaled_fp8_quant(x, scale=None, use_per_token_if_dynamic=False, **k):
    if scale is None:
        assert use_per_token_if_dynamic
        s = ofp8_mod._fp8_channel_scale(ofp8_mod.weight_amax(x, dim=-1, keepdim=True))
        return ofp8_mod._fp8_quant_per_channel(x, s), s
    me = NS(static=True, is_group_quant=False, group_shape=GroupShape.PER_TENSOR, num_token_padding=None)
    return QuantFP8.forward_native(me, x, scale)[0], scale
fp8_utils_mod.ops.scaled_fp8_quant = _scaled_fp8_quant

_TRITON = []
def _mxfp4_quantize(x):
    """The kernel's text out of the wheel: vllm imports a placeholder of Triton where there is no GPU."""
    if not _TRITON:
        import importlib.util
        text = open(mxfp4_utils_mod.__file__, encoding="utf-8").read()
        text = text[text.index("def permute_shape("):text.index("def mxfp4_quantize(")]
        path = os.path.join(tempfile.mkdtemp(), "mxfp4_kernel.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write("import torch, triton\nimport triton.language as tl\n"
                    + text.replace("tl.log2(max_val + eps).floor()", "tl.floor(tl.log2(max_val + eps))"))
        spec = importlib.util.spec_from_file_location("mxfp4_kernel", path)
        _TRITON.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(_TRITON[0])
    with poison("00"):
        q, s, _ = _TRITON[0].downcast_to_mxfp(x, axis=-1)
    return q, s
omx4_mod.mxfp4_quantize = _mxfp4_quantize

AITER = os.environ.get("AITER_SRC", "")
if AITER:
    import types
    for n in ("aiter", "aiter.ops", "aiter.utility", "aiter.ops.shuffle", "aiter.utility.fp4_utils"):
        sys.modules[n] = types.ModuleType(n)
    exec(open(os.path.join(AITER, "aiter/ops/shuffle.py"), encoding="utf-8").read(), vars(sys.modules["aiter.ops.shuffle"]))
    text = open(os.path.join(AITER, "aiter/utility/fp4_utils.py"), encoding="utf-8").read()
    at = text.index("def e8m0_shuffle(")
    sys.modules["aiter.utility.fp4_utils"].torch = torch
    exec(text[at:text.index("\ndef ", at + 5)], vars(sys.modules["aiter.utility.fp4_utils"]))

def _deep_gemm_pack(sf, mn, k, recipe, num_groups, is_sfa=False):
    """Rows of a block repeated, then the kernel; [E, mn, ceil(k / (4 * gran_k))], MN-major."""
    if not hasattr(_deep_gemm_pack, "pack"):
        g = dict(os=os, SITE=os.path.dirname(os.path.dirname(vllm.__file__)), tempfile=tempfile, subprocess=subprocess, ctypes=ctypes,
                 torch=torch, I32=torch.int32, P=lambda t: ctypes.c_void_p(t.data_ptr()), group=lambda f: f)
        text = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "layouts/deepgemm.py"), encoding="utf-8").read()
        exec(text[:text.index("@group")], g)
        _deep_gemm_pack.pack = g["host_dg_pack"]
    _, gran_mn, gran_k = recipe
    full = sf.repeat_interleave(gran_mn, 1)[:, :mn].contiguous() if gran_mn > 1 else sf.contiguous()
    words = _deep_gemm_pack.pack(full.view(num_groups * mn, -1).contiguous(), num_groups)
    return words[:, :, :mn].transpose(1, 2)
fp8_utils_mod.transform_sf_into_required_layout = _deep_gemm_pack
fp8_utils_mod.is_deep_gemm_e8m0_used = lambda: True
fp8_mod.get_tensor_model_parallel_world_size = lambda: CUR.tp
import vllm.distributed.parallel_state as _ps
_ps.get_tp_group = lambda: NS(world_size=CUR.tp, rank_in_group=CUR.rank)
_orig_roundup = fmb_mod.FusedMoEMethodBase.maybe_roundup_sizes
def _roundup(self, hidden_size, intermediate_size_per_partition, act_dtype, moe_parallel_config):
    h, i = _orig_roundup(self, hidden_size, intermediate_size_per_partition, act_dtype, moe_parallel_config)
    if CUR.hidpad:      # what DeepEP HT/V2 does: row bytes to a multiple of 512
        h = -(-h * act_dtype.itemsize // 512) * 512 // act_dtype.itemsize
    return h, i
fmb_mod.FusedMoEMethodBase.maybe_roundup_sizes = _roundup
fp8_oracle.make_fp8_moe_kernel = _mk_fp8
fi_fp4.nvfp4_block_scale_interleave = swizzle128x4
flashinfer.block_scale_interleave = lambda s: torch.cat([swizzle128x4(x) for x in s])
flashinfer.quantization.fp4_quantization.block_scale_interleave = flashinfer.block_scale_interleave
torch.accelerator.current_device_index = lambda: torch.device("cpu")
gpt_mod.get_tensor_model_parallel_world_size = lambda: CUR.tp
gpt_mod.get_dp_group = lambda: NS(world_size=1, rank_in_group=0)
gpt_mod.get_pcp_group = lambda: NS(world_size=1, rank_in_group=0)
gpt_mod.get_ep_group = lambda: NS(world_size=1, rank_in_group=0)
moe_config_mod.get_tensor_model_parallel_rank = lambda: CUR.rank

# ---------------------------------------------------------------- poison
_orig = dict(empty=torch.empty, empty_strided=torch.empty_strided, empty_like=torch.empty_like,
             new_empty=torch.Tensor.new_empty)
class Poison:
    mode = None      # None | "00" | "aa" | "ff" | "rand"
    ctr = 0
def _fill(t):
    if Poison.mode is None or t.is_meta or t.device.type != "cpu" or t.numel() == 0:
        return t
    try:
        raw = torch.tensor([], dtype=torch.uint8).set_(t.untyped_storage())
    except Exception:
        return t
    if Poison.mode == "rand":
        Poison.ctr += 1
        g = torch.Generator().manual_seed(1000 + Poison.ctr)
        raw.copy_(torch.randint(0, 256, raw.shape, dtype=torch.uint8, generator=g))
    else:
        raw.fill_(int(Poison.mode, 16))
    return t
def install_poison():
    torch.utils._device._device_constructors()     # cache the originals before replacing them
    torch.empty = lambda *a, **k: _fill(_orig["empty"](*a, **k))
    torch.empty_strided = lambda *a, **k: _fill(_orig["empty_strided"](*a, **k))
    torch.empty_like = lambda *a, **k: _fill(_orig["empty_like"](*a, **k))
    torch.Tensor.new_empty = lambda *a, **k: _fill(_orig["new_empty"](*a, **k))
@contextlib.contextmanager
def poison(mode):
    old, Poison.mode = Poison.mode, mode
    try:
        yield
    finally:
        Poison.mode = old

# ---------------------------------------------------------------- deterministic content
def fnv32(s):
    h = 0x811C9DC5
    for b in s.encode():
        h = ((h ^ b) * 0x01000193) & 0xFFFFFFFF
    return h
def pat(name, ver, n):
    """byte i = ((i + fnv1a32(name) + 1000003*ver) * 2654435761 mod 2^32) >> 24"""
    i = np.arange(n, dtype=np.uint64) + np.uint64(fnv32(name)) + np.uint64(1000003 * ver)
    return (((i * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)) >> np.uint64(24)).astype(np.uint8)
def t_bf16(name, ver, *shape):
    """value (P-128)/64, exact in bf16"""
    v = (pat(name, ver, int(np.prod(shape))).astype(np.float32) - 128.0) / 64.0
    return torch.from_numpy(v).to(torch.bfloat16).view(*shape)
def t_u8(name, ver, *shape):
    return torch.from_numpy(pat(name, ver, int(np.prod(shape)))).view(*shape)
def t_e8(name, ver, *shape):
    """120 + P%8"""
    return torch.from_numpy((120 + pat(name, ver, int(np.prod(shape))) % 8).astype(np.uint8)).view(*shape)

_C = None
def fnv64(b):
    global _C
    if _C is None:
        src = ("unsigned long long f(const unsigned char*p,long n){unsigned long long h=0xcbf29ce484222325ULL;"
               "for(long i=0;i<n;i++){h^=p[i];h*=0x100000001b3ULL;}return h;}")
        d = tempfile.mkdtemp()
        try:
            open(d + "/f.c", "w").write(src)
            subprocess.check_call(["cc", "-O2", "-shared", "-fPIC", "-o", d + "/f.so", d + "/f.c"])
            _C = ctypes.CDLL(d + "/f.so").f
            _C.restype, _C.argtypes = ctypes.c_ulonglong, [ctypes.c_char_p, ctypes.c_long]
        except Exception:
            _C = False
    if _C:
        return "%016x" % _C(b, len(b))
    h = 0xcbf29ce484222325
    for x in b:
        h = ((h ^ x) * 0x100000001b3) & 0xFFFFFFFFFFFFFFFF
    return "%016x" % h

# ---------------------------------------------------------------- tiny models
def par_cfg(tp, rank):
    return FusedMoEParallelConfig(tp_size=tp, pcp_size=1, dp_size=1, ep_size=1, tp_rank=rank, pcp_rank=0, dp_rank=0,
                                  ep_rank=0, sp_size=1, use_ep=False, all2all_backend="allgather_reducescatter",
                                  enable_eplb=False)

class StubOnlineCfg:
    online_quantization_config = None
    packed_modules_mapping = {}
    def get_name(self):
        return "fp8"
    method = ofp8_mod.Fp8PerBlockOnlineMoEMethod
    def get_quant_method(self, layer, prefix):
        return self.method(moe=layer.moe_config)
class StubTensorCfg(StubOnlineCfg):
    method = ofp8_mod.Fp8PerTensorOnlineMoEMethod
class StubChannelCfg(StubOnlineCfg):
    method = ofp8_mod.Fp8PtpcOnlineMoEMethod
class StubMxfp4Cfg(StubOnlineCfg):
    method = omx4_mod.Mxfp4OnlineMoEMethod
class StubMxfp8Cfg(StubOnlineCfg):
    method = omx8_mod.Mxfp8OnlineMoEMethod

class Router(nn.Module):
    def __init__(s, E, H):
        super().__init__()
        s.weight = nn.Parameter(torch.empty(E, H, dtype=torch.bfloat16), requires_grad=False)
        s.bias = nn.Parameter(torch.empty(E, dtype=torch.bfloat16), requires_grad=False)
class Norm(nn.Module):
    def __init__(s, H):
        super().__init__()
        s.weight = nn.Parameter(torch.ones(H, dtype=torch.bfloat16), requires_grad=False)
        s.register_buffer("inv_freq", torch.arange(8, dtype=torch.float32), persistent=False)
class Experts(nn.Module):
    def __init__(s, re):
        super().__init__()
        s.routed_experts = re
    def load_weights(s, weights):
        for n in s.routed_experts.load_weights(weights):
            yield "routed_experts." + n
class Mlp(nn.Module):
    def __init__(s, c, prefix, qcfg, cls):
        super().__init__()
        s.router = Router(c.E, c.H)
        pc = par_cfg(c.tp, c.rank)
        mc = FusedMoEConfig(num_experts=c.E, experts_per_token=2, hidden_dim=c.H, intermediate_size=c.I,
                            num_local_experts=c.E, num_logical_experts=c.E, activation=c.act, device="cpu",
                            routing_method=RoutingMethodType.Renormalize, moe_parallel_config=pc,
                            in_dtype=torch.bfloat16, has_bias=c.bias, moe_backend=c.get("moe_backend", "auto"))
        em = ExpertMapManager(max_num_batched_tokens=64, top_k=2, global_num_experts=c.E, num_redundant_experts=0,
                              num_expert_group=None, moe_parallel_config=pc, placement_strategy="linear",
                              enable_eplb=False)
        kw = dict(swiglu_alpha=1.702, swiglu_beta=1.0, swiglu_limit=7.0) if c.kind == "gptoss" else {}
        s.experts = Experts(cls(prefix + ".experts", torch.bfloat16, mc, qcfg, expert_map_manager=em, **kw))
class Attn(nn.Module, AttentionLayerBase):
    """deferred attention layer with the real KV-scale quant method"""
    def __init__(s):
        super().__init__()
        set_default_quant_scales(s, register_buffer=True)
        s.kv_cache_dtype = "fp8_e4m3"
        s.quant_method = BaseKVCacheMethod(None)
        s.quant_method.create_weights(s)
    def process_weights_after_loading(s, act_dtype):
        pass
    def get_attn_backend(s):
        return None
    def get_kv_cache_spec(s, vllm_config):
        return None
class Block(nn.Module):
    def __init__(s, *a):
        super().__init__()
        c = a[0]
        s.norm = Norm(c.H)
        if c.get("attn"):
            s.attn = Attn()
        s.mlp = Mlp(c, a[1] + ".mlp", a[2], a[3])
class Embed(nn.Module):
    def __init__(s, V, H):
        super().__init__()
        s.weight = nn.Parameter(torch.empty(V, H, dtype=torch.bfloat16), requires_grad=False)

class Tiny(nn.Module):
    def __init__(s, c):
        super().__init__()
        qcfg = {"bf16": lambda: None, "fp8blk": StubOnlineCfg, "gptoss": mx_mod.GptOssMxfp4Config, "mxgen": mx_mod.Mxfp4Config,
                "fp8pt": lambda: fp8_mod.Fp8Config(is_checkpoint_fp8_serialized=True, activation_scheme="static"),
                "onpt": StubTensorCfg, "onch": StubChannelCfg, "onmx4": StubMxfp4Cfg,
                "onmx8": StubMxfp8Cfg,
                "fp8ser": lambda: fp8_mod.Fp8Config(is_checkpoint_fp8_serialized=True, activation_scheme="dynamic",
                                                    weight_block_size=[128, 128])}[c.kind]()
        cls = gpt_mod.GptOssRoutedExperts if c.kind == "gptoss" else RoutedExperts
        s.embed = Embed(16, c.H)
        s.layers = nn.ModuleList([Block(c, f"layers.{i}", qcfg, cls) for i in range(c.L)])
        if c.get("tied"):
            s.lm_head = Embed(16, c.H)
            s.lm_head.weight = s.embed.weight
        s.config = NS(num_local_experts=c.E, intermediate_size=c.I)
        s.parallel_config = NS(enable_expert_parallel=False)
        s.kind = c.kind
    _load_weights_mxfp4 = gpt_mod.GptOssModel._load_weights_mxfp4
    _try_load_streamed_expert = gpt_mod.GptOssModel.__dict__["_try_load_streamed_expert"]
    _get_streamed_expert_info = gpt_mod.GptOssModel.__dict__["_get_streamed_expert_info"]
    def load_weights(s, weights):
        if s.kind == "gptoss":
            m = gpt_mod.GptOssForCausalLM.hf_to_vllm_mapper
            return s._load_weights_mxfp4(0, 0, m.apply(weights), [])
        return AutoWeightsLoader(s).load_weights(weights)

class Cfg(dict):
    __getattr__ = dict.__getitem__
def mkcfg(kind, **k):
    d = dict(kind=kind, L=2, E=4, H=256, I=96, tp=1, rank=0, bias=(kind == "gptoss"), backend=None,
             act=MoEActivation.SWIGLUOAI if kind == "gptoss" else MoEActivation.SILU)
    d.update(k)
    return Cfg(d)

def build(c):
    CUR.tp, CUR.rank, CUR.kind, CUR.hidpad = c.tp, c.rank, c.kind, c.get("hidpad", False)
    if c.kind == "bf16":
        CUR.unq = UnquantizedMoeBackend[c.backend]
    elif c.kind in ("gptoss", "mxgen", "onmx4"):
        CUR.mx = mx_oracle.Mxfp4MoeBackend[c.backend]
    else:
        CUR.fp8 = fp8_oracle.Fp8MoeBackend[c.backend]
    m = Tiny(c)
    record_metadata_for_reloading(m)           # as initialize_model does
    return m

def checkpoint(c, ver, form="default"):
    """list of (name, tensor). form: bf16: 'perexp'|'fused'; gpt-oss: 'combined'|'streamed'"""
    out = [("embed.weight", t_bf16("embed.weight", ver, 16, c.H))]
    for l in range(c.L):
        p = f"layers.{l}."
        out.append((p + "norm.weight", t_bf16(p + "norm.weight", ver, c.H)))
        out.append((p + "mlp.router.weight", t_bf16(p + "mlp.router.weight", ver, c.E, c.H)))
        out.append((p + "mlp.router.bias", t_bf16(p + "mlp.router.bias", ver, c.E)))
        x = p + "mlp.experts."
        if c.kind == "gptoss":
            E, H, I = c.E, c.H, c.I
            ts = [("gate_up_proj_blocks", t_u8(x + "gate_up_proj_blocks", ver, E, 2 * I, H // 32, 16)),
                  ("gate_up_proj_scales", t_e8(x + "gate_up_proj_scales", ver, E, 2 * I, H // 32)),
                  ("gate_up_proj_bias", t_bf16(x + "gate_up_proj_bias", ver, E, 2 * I)),
                  ("down_proj_blocks", t_u8(x + "down_proj_blocks", ver, E, H, I // 32, 16)),
                  ("down_proj_scales", t_e8(x + "down_proj_scales", ver, E, H, I // 32)),
                  ("down_proj_bias", t_bf16(x + "down_proj_bias", ver, E, H))]
            if form == "streamed":
                ren = {"gate_up_proj_blocks": "w13_weight", "gate_up_proj_scales": "w13_weight_scale",
                       "gate_up_proj_bias": "w13_bias", "down_proj_blocks": "w2_weight",
                       "down_proj_scales": "w2_weight_scale", "down_proj_bias": "w2_bias"}
                for e in range(E):
                    out += [(x + f"{e}.{ren[n]}", t[e].clone()) for n, t in ts]
            else:
                out += [(x + n, t) for n, t in ts]
            continue
        if c.kind in ("mxgen", "fp8ser", "fp8pt"):
            for e in range(c.E):
                for pn, r, k in (("gate_proj", c.I, c.H), ("up_proj", c.I, c.H), ("down_proj", c.H, c.I)):
                    n = x + f"{e}.{pn}."
                    if c.kind == "mxgen":
                        out.append((n + "weight", t_u8(n + "weight", ver, r, k // 2)))
                        out.append((n + "weight_scale", t_e8(n + "weight_scale", ver, r, k // 32)))
                    elif c.kind == "fp8pt":
                        out.append((n + "weight", t_bf16(n + "weight", ver, r, k).to(torch.float8_e4m3fn)))
                        out += [(n + t, t_bf16(n + t, ver, 1)[0].float().abs() + 0.5) for t in ("weight_scale", "input_scale")]
                    else:
                        out.append((n + "weight", t_bf16(n + "weight", ver, r, k).to(torch.float8_e4m3fn)))
                        sc = t_bf16(n + "weight_scale_inv", ver, -(-r // 128), -(-k // 128)).float().abs() + 0.5
                        out.append((n + "weight_scale_inv", sc))
            continue
        if c.bias:
            for e in range(c.E):
                for pn, r in (("gate_proj", c.I), ("up_proj", c.I), ("down_proj", c.H)):
                    out.append((x + f"{e}.{pn}.bias", t_bf16(x + f"{e}.{pn}.bias", ver, r)))
        g = [t_bf16(x + f"{e}.gate_proj.weight", ver, c.I, c.H) for e in range(c.E)]
        u = [t_bf16(x + f"{e}.up_proj.weight", ver, c.I, c.H) for e in range(c.E)]
        d = [t_bf16(x + f"{e}.down_proj.weight", ver, c.H, c.I) for e in range(c.E)]
        if form == "fused":
            out.append((x + "gate_up_proj", torch.stack([torch.cat([a, b]) for a, b in zip(g, u)])))
            out.append((x + "down_proj", torch.stack(d)))
        else:
            for e in range(c.E):
                out += [(x + f"{e}.gate_proj.weight", g[e]), (x + f"{e}.up_proj.weight", u[e]),
                        (x + f"{e}.down_proj.weight", d[e])]
    return out

def load_copy(ck):
    """gpt-oss rank != 0 zeroes the incoming w2 bias in place: hand out clones"""
    for n, t in ck:
        yield n, (t.clone() if n.endswith("down_proj_bias") else t)

@torch.no_grad()
def cold(c, ck, prefill=None):
    m = build(c)
    if prefill is not None:
        for n, p in list(m.named_parameters()):
            if "experts" in n and not p.is_meta:
                torch.tensor([], dtype=torch.uint8).set_(p.data.untyped_storage()).fill_(prefill)
    m.load_weights(load_copy(ck))
    if _has_online_quant(m):
        finalize_layerwise_processing(m, MODEL_CFG)
    process_weights_after_loading(m, MODEL_CFG, torch.device("cpu"))
    return m

@torch.no_grad()
def reload(m, ck, kernel_format=False):
    reload_weights(CFG_NS, m, load_copy(ck), None, not kernel_format)

# ---------------------------------------------------------------- snapshots and comparison
def tensors(m):
    d = dict(m.named_parameters(remove_duplicate=False))
    d.update(m.named_buffers(remove_duplicate=False))
    return {k: v for k, v in d.items() if v is not None}
def raw(t):
    return t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
def snap(m):
    return {k: dict(b=raw(t), ptr=t.data_ptr(), shape=list(t.shape), stride=list(t.stride()), dtype=str(t.dtype)[6:],
                    obj=id(t)) for k, t in tensors(m).items()}

def held(m):
    """tensors reachable from quant_method / kernel objects, not registered on the module"""
    out = {}
    params = {id(t): n for n, t in tensors(m).items()}
    ptrs = {}
    for n, t in tensors(m).items():
        ptrs.setdefault(t.data_ptr(), n)
    def walk(o, path, depth, seen):
        if id(o) in seen or depth > 4:
            return
        seen.add(id(o))
        if isinstance(o, torch.Tensor):
            out[path] = dict(ptr=o.data_ptr(), alias=ptrs.get(o.data_ptr()), obj=params.get(id(o)) is not None, b=raw(o))
        elif isinstance(o, dict):
            for k, v in o.items():
                walk(v, f"{path}[{k}]", depth + 1, seen)
        elif isinstance(o, (list, tuple)):
            for i, v in enumerate(o):
                walk(v, f"{path}[{i}]", depth + 1, seen)
        elif hasattr(o, "__dict__") and type(o).__module__.startswith(("vllm.model_executor.layers.fused_moe", "__main__")) \
                and not isinstance(o, (nn.Module, type)) and type(o).__name__ not in ("FusedMoEConfig", "FusedMoEParallelConfig"):
            for k, v in vars(o).items():
                walk(v, f"{path}.{k}", depth + 1, seen)
    for n, mod in m.named_modules():
        qm = getattr(mod, "quant_method", None)
        if qm is None:
            continue
        for a in ("moe_quant_config", "moe_kernel", "_cache_permute_indices"):
            v = getattr(qm, a, None)
            if v is not None and a != "_cache_permute_indices":
                walk(v, f"{n}.quant_method.{a}", 0, set())
    return out

def box(idx, shape):
    if len(idx) == 0:
        return None
    if len(idx) == 0 or not shape:
        return None
    co = np.unravel_index(idx, shape)
    return [[int(c.min()), int(c.max())] for c in co]

def esize(dtype):
    return {"bfloat16": 2, "uint8": 1, "float8_e4m3fn": 1, "float32": 4, "int32": 4, "int64": 8, "float4_e2m1fn_x2": 1}[dtype]

def diff(a, b, padimg=None):
    """a = reference snapshot, b = snapshot under test"""
    res = []
    for k in sorted(set(a) | set(b)):
        if k not in a or k not in b:
            res.append(dict(name=k, only_in="ref" if k in a else "test"))
            continue
        x, y = a[k], b[k]
        if x["shape"] != y["shape"] or x["stride"] != y["stride"] or x["dtype"] != y["dtype"]:
            res.append(dict(name=k, meta=[x["shape"], x["stride"], x["dtype"], y["shape"], y["stride"], y["dtype"]]))
            continue
        if x["b"] == y["b"]:
            continue
        es = esize(x["dtype"])
        ne = (np.frombuffer(x["b"], np.uint8) != np.frombuffer(y["b"], np.uint8)).reshape(-1, es).any(1)
        idx = np.nonzero(ne)[0]
        r = dict(name=k, shape=x["shape"], dtype=x["dtype"], n_elem=int(ne.size), n_diff=int(idx.size),
                 bbox=box(idx, x["shape"]), ref_fnv64=fnv64(x["b"]), got_fnv64=fnv64(y["b"]))
        if padimg is not None and k in padimg:
            pm = padimg[k]
            r["pad_elems"] = int(pm.sum())
            r["diff_in_pad"] = int((ne & pm).sum())
            r["diff_outside_pad"] = int((ne & ~pm).sum())
        if len(x["shape"]) == 3:
            co = np.unravel_index(idx, x["shape"])
            e0 = co[0] == co[0].min()
            rows, cols = np.unique(co[1][e0]), np.unique(co[2][e0])
            r["first_expert_rows"] = runs(rows); r["first_expert_cols"] = runs(cols)
        elif len(x["shape"]) == 2:
            co = np.unravel_index(idx, x["shape"])
            r["first_row_cols"] = runs(np.unique(co[1][co[0] == co[0].min()]))
        res.append(r)
    return res
def runs(v, cap=12):
    out, s = [], None
    for x in v.tolist():
        if s is not None and x == e + 1:
            e = x
            continue
        if s is not None:
            out.append([s, e])
        s = e = x
    if s is not None:
        out.append([s, e])
    return out if len(out) <= cap else out[:cap] + ["... %d runs" % len(out)]
def moved(a, b):
    return [k for k in a if k in b and a[k]["ptr"] != b[k]["ptr"]]
def rebound(a, b):
    return [k for k in a if k in b and a[k]["obj"] != b[k]["obj"]]
def held_diff(h0, h1):
    ch = [k for k in h0 if k in h1 and h0[k]["ptr"] != h1[k]["ptr"]]
    orphan = [k for k in h1 if h1[k]["alias"] is None and k in h0 and h0[k]["alias"] is not None]
    return dict(n_held=len(h1), moved=sorted(ch), lost_alias=sorted(orphan),
                value_differs=sorted(k for k in h0 if k in h1 and h0[k]["b"] != h1[k]["b"]),
                gone=sorted(set(h0) - set(h1)), new=sorted(set(h1) - set(h0)))

def pad_image(c):
    """kernel-format positions that depend on bytes no loader writes: cold start over 00 memory vs over ff memory"""
    ck = checkpoint(c, 0)
    with poison("00"):
        a = snap(cold(c, ck, prefill=0x00))
    with poison("ff"):
        b = snap(cold(c, ck, prefill=0xFF))
    img = {}
    for k in a:
        es = esize(a[k]["dtype"])
        img[k] = (np.frombuffer(a[k]["b"], np.uint8) != np.frombuffer(b[k]["b"], np.uint8)).reshape(-1, es).any(1)
    return img

# ---------------------------------------------------------------- scenarios
def run_scenarios(path):
    install_poison()
    S = []
    def emit(name, c, mode, cold_p, rel_p, steps, note=""):
        S.append(dict(id=name, kind=c.kind, dims=dict(L=c.L, E=c.E, H=c.H, I=c.I), tp=c.tp, rank=c.rank,
                      backend=c.backend, mode=mode, poison=dict(cold=cold_p, reload=rel_p), steps=steps, note=note))
        print(f"[{len(S):3d}] {name:58s} " + " | ".join(
            f"{s['step']}:{s['vs']} diff={len(s['differing'])} moved={len(s['moved'])} held_moved={len(s['held']['moved'])}/{s['held']['n_held']}"
            for s in steps), flush=True)

    @contextlib.contextmanager
    def may_raise(name):
        """a reload that vLLM does not survive is a case too"""
        try:
            yield
        except Exception as e:
            S.append(dict(id=name, mode="layerwise", error=repr(e)[:300]))
            print("ERR", name, repr(e)[:160], flush=True)

    def step(m, s0, h0, ref, img, label, vs):
        s1, h1 = snap(m), held(m)
        return dict(step=label, vs=vs, differing=diff(ref, s1, img), moved=moved(s0, s1), rebound=rebound(s0, s1),
                    attr_changes=[k for k in set(s0) ^ set(s1)], held=held_diff(h0, h1))

    configs = [
        ("gptoss_trt_tp1", mkcfg("gptoss", backend="FLASHINFER_TRTLLM_MXFP4_BF16", H=224, I=96, E=4), "combined", "streamed"),
        ("gptoss_trt_tp2r0", mkcfg("gptoss", backend="FLASHINFER_TRTLLM_MXFP4_BF16", H=224, I=192, E=4, tp=2, rank=0), "combined", "streamed"),
        ("gptoss_trt_tp2r1", mkcfg("gptoss", backend="FLASHINFER_TRTLLM_MXFP4_BF16", H=224, I=192, E=4, tp=2, rank=1), "combined", "streamed"),
        ("gptoss_trt_tp4r0", mkcfg("gptoss", backend="FLASHINFER_TRTLLM_MXFP4_BF16", H=224, I=320, E=4, tp=4, rank=0), "combined", "streamed"),
        ("gptoss_trt_tp4r3", mkcfg("gptoss", backend="FLASHINFER_TRTLLM_MXFP4_BF16", H=224, I=320, E=4, tp=4, rank=3), "combined", "streamed"),
        ("gptoss_emul_tp4r3", mkcfg("gptoss", backend="EMULATION", H=224, I=320, E=4, tp=4, rank=3), "combined", "streamed"),
        ("mxgen_trt_tp2r1", mkcfg("mxgen", backend="FLASHINFER_TRTLLM_MXFP4_MXFP8", H=224, I=192, E=4, tp=2, rank=1), "perexp", None),
        ("mxgen_emul_tp2r1_unpadded", mkcfg("mxgen", backend="EMULATION", H=224, I=192, E=4, tp=2, rank=1), "perexp", None),
        ("fp8ser_trt_tp2r1_blockpad", mkcfg("fp8ser", backend="FLASHINFER_TRTLLM", moe_backend="flashinfer_trtllm", H=256, I=384, E=4, tp=2, rank=1), "perexp", None),
        ("fp8ser_triton_tp2r1_refined", mkcfg("fp8ser", backend="TRITON", H=256, I=384, E=4, tp=2, rank=1), "perexp", None),
        ("bf16_trt_bias_i96", mkcfg("bf16", backend="FLASHINFER_TRTLLM", H=256, I=96, E=4, bias=True), "perexp", "fused"),
        ("bf16_triton_hidpad", mkcfg("bf16", backend="TRITON", H=224, I=96, E=4, hidpad=True), "perexp", "fused"),
        ("bf16_trt_hidpad_i96", mkcfg("bf16", backend="FLASHINFER_TRTLLM", H=224, I=96, E=4, hidpad=True), "perexp", "fused"),
        ("gptoss_trt_unpadded", mkcfg("gptoss", backend="FLASHINFER_TRTLLM_MXFP4_BF16", H=256, I=128, E=4), "combined", "streamed"),
        ("bf16_trt_i96", mkcfg("bf16", backend="FLASHINFER_TRTLLM", H=256, I=96, E=4), "perexp", "fused"),
        ("bf16_trt_tp4r1", mkcfg("bf16", backend="FLASHINFER_TRTLLM", H=256, I=384, E=4, tp=4, rank=1), "perexp", "fused"),
        ("bf16_trt_unpadded", mkcfg("bf16", backend="FLASHINFER_TRTLLM", H=256, I=128, E=4), "perexp", "fused"),
        ("bf16_triton_i96", mkcfg("bf16", backend="TRITON", H=224, I=96, E=4), "perexp", "fused"),
        ("bf16_ficutlass_i96", mkcfg("bf16", backend="FLASHINFER_CUTLASS", H=224, I=96, E=4), "perexp", "fused"),
        ("fp8blk_triton_h224_i96", mkcfg("fp8blk", backend="TRITON", H=224, I=96, E=4), "perexp", "fused"),
        ("fp8blk_trt_h224_i96", mkcfg("fp8blk", backend="FLASHINFER_TRTLLM", H=224, I=96, E=4), "perexp", "fused"),
        ("fp8blk_triton_unpadded", mkcfg("fp8blk", backend="TRITON", H=256, I=128, E=4), "perexp", "fused"),
        ("fp8blk_deepgemm_h224_i96", mkcfg("fp8blk", backend="DEEPGEMM", H=224, I=96, E=4), "perexp", "fused"),
        ("fp8ser_deepgemm_unpadded", mkcfg("fp8ser", backend="DEEPGEMM", H=256, I=128, E=4), "perexp", None),
        ("mxgen_deepgemm_i96", mkcfg("mxgen", backend="DEEPGEMM_MXFP4", H=224, I=96, E=4), "perexp", None),
        ("fp8pt_triton", mkcfg("fp8pt", backend="TRITON", H=256, I=96, E=4), "perexp", None),
        ("fp8pt_trt_i96", mkcfg("fp8pt", backend="FLASHINFER_TRTLLM", H=256, I=96, E=4), "perexp", None),
        ("fp8pt_ficutlass_i96", mkcfg("fp8pt", backend="FLASHINFER_CUTLASS", H=256, I=96, E=4), "perexp", None),
        ("onpt_triton_hidpad", mkcfg("onpt", backend="TRITON", H=224, I=96, E=4, hidpad=True), "perexp", "fused"),
        ("onch_triton_hidpad", mkcfg("onch", backend="TRITON", H=224, I=96, E=4, hidpad=True), "perexp", "fused"),
        ("onmx4_emul_i80", mkcfg("onmx4", backend="EMULATION", H=224, I=80, E=4), "perexp", "fused"),
        ("onmx4_emul_tp2r1", mkcfg("onmx4", backend="EMULATION", H=224, I=160, E=4, tp=2, rank=1), "perexp", "fused"),
        ("onmx8_triton_i96", mkcfg("onmx8", backend="TRITON", H=224, I=96, E=4), "perexp", "fused"),
        ("onmx8_trt_i96", mkcfg("onmx8", backend="FLASHINFER_TRTLLM", H=224, I=96, E=4), "perexp", "fused"),
        ("onmx4_ficutlass_i96", mkcfg("onmx4", backend="FLASHINFER_CUTLASS_MXFP4_MXFP8", H=224, I=96, E=4), "perexp", "fused"),
    ] + (AITER != "") * [
        ("bf16_aiter_i200", mkcfg("bf16", backend="AITER", H=256, I=200, E=4), "perexp", "fused"),
        ("fp8blk_aiter_h224_i96", mkcfg("fp8blk", backend="AITER", H=224, I=96, E=4), "perexp", "fused"),
        ("fp8pt_aiter", mkcfg("fp8pt", backend="AITER", H=256, I=96, E=4), "perexp", None),
        ("gptoss_aiter_tp2r1", mkcfg("gptoss", backend="AITER_MXFP4_MXFP4", H=256, I=960, E=2, tp=2, rank=1), "combined", "streamed"),
        ("gptoss_aiter_bf16_tp2r1", mkcfg("gptoss", backend="AITER_MXFP4_BF16", H=256, I=448, E=2, tp=2, rank=1), "combined", "streamed"),
        ("mxgen_aiter_bf16", mkcfg("mxgen", backend="AITER_MXFP4_BF16", H=256, I=256, E=2), "perexp", None),
    ]
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    for cname, c, f1, f2 in configs:
        if only and only not in cname:
            continue
        try:
            img = pad_image(c)
        except Exception as e:
            import traceback; traceback.print_exc()
            S.append(dict(id=cname, error=repr(e)[:300])); continue
        A, B = checkpoint(c, 0, f1), checkpoint(c, 1, f1)
        with poison("00"):
            refA, refB = snap(cold(c, A)), snap(cold(c, B))
        # bytes that say something: 43 is 195 as bf16; ff is NaN, of which a CPU keeps signs that a GPU does not
        loud = "43" if c.kind in ("onpt", "onch") else "ff"
        cpois = {}
        for P in ("aa", loud):
            with poison(P):
                cpois[P] = diff(refA, snap(cold(c, A)), img)
        S.append(dict(id=cname + "/cold_determinism", kind=c.kind, dims=dict(L=c.L, E=c.E, H=c.H, I=c.I), tp=c.tp,
                      rank=c.rank, backend=c.backend, mode="cold", pad_elems={k: int(v.sum()) for k, v in img.items() if v.any()},
                      cold_hash_A={k: fnv64(v["b"]) for k, v in refA.items()},
                      cold_hash_B={k: fnv64(v["b"]) for k, v in refB.items()},
                      cold_meta={k: [v["shape"], v["stride"], v["dtype"]] for k, v in refA.items()},
                      differs_under_poison={k: v for k, v in cpois.items()}))
        print(f"[{len(S):3d}] {cname}/cold_determinism  aa:{len(cpois['aa'])} {loud}:{len(cpois[loud])} pad_tensors={sum(1 for v in img.values() if v.any())}", flush=True)

        def cold_state():
            with poison("00"):
                m = cold(c, A)
            return m, snap(m), held(m)
        # same twice, under poisons
        for P in (None, "00", "aa", loud, "rand"):
            m, s0, h0 = cold_state()
            with may_raise(f"{cname}/same_twice/{P}"), poison(P):
                reload(m, A); st1 = step(m, s0, h0, refA, img, "reloadA", "coldA"); sA1 = snap(m)
                reload(m, A); st2 = step(m, s0, h0, refA, img, "reloadA2", "coldA")
                st3 = dict(st2); st3["vs"] = "reload1"; st3["differing"] = diff(sA1, snap(m), img)
                emit(f"{cname}/same_twice/{P}", c, "layerwise", "00", P, [st1, st2, st3])
        for P in ("00", "aa"):
            m, s0, h0 = cold_state()
            with may_raise(f"{cname}/A_B_A/{P}"), poison(P):
                reload(m, B); st1 = step(m, s0, h0, refB, img, "reloadB", "coldB")
                reload(m, A); st2 = step(m, s0, h0, refA, img, "reloadA", "coldA")
                emit(f"{cname}/A_B_A/{P}", c, "layerwise", "00", P, [st1, st2])
        for P in ("00", "aa"):
            m, s0, h0 = cold_state()
            rng = np.random.RandomState(7)
            order = rng.permutation(len(B))
            with may_raise(f"{cname}/shuffled/{P}"), poison(P):
                reload(m, [B[i] for i in order])
                st = step(m, s0, h0, refB, img, "reloadB_shuffled", "coldB")
                emit(f"{cname}/shuffled/{P}", c, "layerwise", "00", P, [st], note="order=RandomState(7).permutation")
        for P in ("00", "aa"):
            m, s0, h0 = cold_state()
            if f2 is None:
                break
            B2 = checkpoint(c, 1, f2)
            try:
                with poison(P):
                    reload(m, B2)
                    st = step(m, s0, h0, refB, img, f"reloadB_{f2}", "coldB")
                emit(f"{cname}/split_differently_{f2}/{P}", c, "layerwise", "00", P, [st])
            except Exception as e:
                S.append(dict(id=f"{cname}/split_differently_{f2}/{P}", error=repr(e)[:300])); print("ERR", cname, f2, repr(e)[:200])
        # partial: drop the last expert tensor of layer 1 and the router weight of layer 0; nothing for layer-1 norm
        for P in ("00", "aa"):
            m, s0, h0 = cold_state()
            drop = {"layers.0.mlp.router.weight", "layers.1.norm.weight", B[-1][0]}
            with may_raise(f"{cname}/partial/{P}"), poison(P):
                reload(m, [x for x in B if x[0] not in drop])
                st = step(m, s0, h0, refB, img, "reloadB_partial", "coldB")
                st["vs_coldA"] = [d["name"] for d in diff(refA, snap(m))]
                emit(f"{cname}/partial/{P}", c, "layerwise", "00", P, [st], note="dropped " + ", ".join(sorted(drop)))
        # only one tensor of one MoE layer is sent
        for P in ("aa",):
            m, s0, h0 = cold_state()
            one = [x for x in B if "layers.0.mlp.experts" in x[0]][:1]
            with may_raise(f"{cname}/one_tensor/{P}"), poison(P):
                reload(m, one)
                st = step(m, s0, h0, refA, img, "reload_one_tensor", "coldA")
                emit(f"{cname}/one_tensor/{P}", c, "layerwise", "00", P, [st], note="sent only " + one[0][0])
        # duplicate: first expert tensor of layer 0 sent twice
        for P in ("aa",):
            m, s0, h0 = cold_state()
            i = next(i for i, x in enumerate(B) if "layers.0.mlp.experts" in x[0])
            with may_raise(f"{cname}/duplicate/{P}"), poison(P):
                reload(m, B[:i + 1] + [B[i]] + B[i + 1:])
                st = step(m, s0, h0, refB, img, "reloadB_duplicate", "coldB")
                emit(f"{cname}/duplicate/{P}", c, "layerwise", "00", P, [st], note="sent twice " + B[i][0])
        # a reload that fails half way, then a complete reload of A
        for P in ("00", "aa"):
            m, s0, h0 = cold_state()
            h, nmeta = len(B) // 2, []
            def bad():
                yield from load_copy(B[:h])
                raise RuntimeError("stop")
            err, st = None, []
            with poison(P):
                try:
                    with torch.no_grad():
                        reload_weights(CFG_NS, m, bad(), None, True)
                except Exception:
                    nmeta = [k for k, t in tensors(m).items() if t.is_meta]
                    npend = {n: len(lw.get_layerwise_info(mod).loaded_weights) for n, mod in m.named_modules()
                             if lw.get_layerwise_info(mod).can_load() and lw.get_layerwise_info(mod).loaded_weights}
                try:
                    reload(m, A)
                    st = [step(m, s0, h0, refA, img, "abortB_then_reloadA", "coldA")]
                    st[0]["meta_after_abort"], st[0]["pending_after_abort"] = nmeta, npend
                    emit(f"{cname}/abort_then_reload/{P}", c, "layerwise", "00", P, st, note=f"B stopped after {h} of {len(B)} tensors")
                except Exception as e:
                    S.append(dict(id=f"{cname}/abort_then_reload/{P}", mode="layerwise", error=repr(e)[:300], meta_after_abort=nmeta))
                    print("ERR abort", cname, repr(e)[:200])
        # a name that does not exist in the model, in the middle
        m, s0, h0 = cold_state()
        try:
            with poison("aa"):
                reload(m, B[:3] + [("layers.0.nothing.weight", torch.zeros(4))] + B[3:])
            emit(f"{cname}/unknown_name/aa", c, "layerwise", "00", "aa", [step(m, s0, h0, refB, img, "reloadB_unknown", "coldB")])
        except Exception as e:
            S.append(dict(id=f"{cname}/unknown_name/aa", mode="layerwise", error=repr(e)[:300],
                          meta_after_abort=[k for k, t in tensors(m).items() if t.is_meta]))
            print("ERR unknown", cname, type(e).__name__, str(e)[:80].replace("\n", " "))
        # kernel format direct copy
        m, s0, h0 = cold_state()
        with poison("00"):
            mb = cold(c, B)
        kf = [(n, p.detach().clone()) for n, p in mb.named_parameters()]
        try:
            with torch.no_grad(), poison("aa"):
                reload_weights(CFG_NS, m, iter(kf), None, False)
            emit(f"{cname}/kernel_format", c, "kernel_format", "00", "aa", [step(m, s0, h0, refB, img, "copyB", "coldB")])
        except Exception as e:
            S.append(dict(id=f"{cname}/kernel_format", error=repr(e)[:300])); print("ERR kernel", cname, repr(e)[:200])
        # raw load_weights on live kernel-format tensors, then PWAL again (what "direct" without hosting would do)
        m, s0, h0 = cold_state()
        try:
            with torch.no_grad(), poison("aa"):
                m.load_weights(load_copy(B))
                for _, mod in m.named_modules():
                    if hasattr(mod, "_already_called_process_weights_after_loading"):
                        del mod._already_called_process_weights_after_loading
                process_weights_after_loading(m, MODEL_CFG, torch.device("cpu"))
            emit(f"{cname}/raw_load_then_pwal", c, "raw", "00", "aa", [step(m, s0, h0, refB, img, "rawB", "coldB")])
        except Exception as e:
            S.append(dict(id=f"{cname}/raw_load_then_pwal", kind=c.kind, mode="raw", error=repr(e)[:300])); print("ERR raw", cname, repr(e)[:200])
    # tied weights
    if not only or only == "tail":
        c = mkcfg("bf16", backend="TRITON", H=64, I=32, E=2, L=1, tied=True)
        A, B = checkpoint(c, 0, "perexp"), checkpoint(c, 1, "perexp")
        with poison("00"):
            m = cold(c, A); refB = snap(cold(c, B))
        s0, h0 = snap(m), held(m)
        with poison("aa"):
            reload(m, B)
        st = step(m, s0, h0, refB, None, "reloadB", "coldB")
        st["still_tied_object"] = m.lm_head.weight is m.embed.weight
        st["still_tied_storage"] = m.lm_head.weight.data_ptr() == m.embed.weight.data_ptr()
        emit("tied/aa", c, "layerwise", "00", "aa", [st])
        # model built (and recorded) on the meta device, tensors swapped in afterwards (weight-cache IPC start), then a reload
        c = mkcfg("bf16", backend="TRITON", H=64, I=32, E=2, L=1)
        A, B = checkpoint(c, 0, "perexp"), checkpoint(c, 1, "perexp")
        mc = cold(c, A)
        with torch.device("meta"):
            m = build(c)
        mods = dict(m.named_modules())
        for n, t in list(tensors(mc).items()):
            mn, _, leaf = n.rpartition(".")
            if leaf in mods[mn]._parameters:
                mods[mn].register_parameter(leaf, t)
            else:
                mods[mn].register_buffer(leaf, t, persistent=leaf not in mods[mn]._non_persistent_buffers_set)
        try:
            s0, h0 = snap(m), held(m)
            reload(m, B)
            emit("meta_built", c, "layerwise", None, None, [step(m, s0, h0, snap(cold(c, B)), None, "reloadB", "coldB")])
        except Exception as e:
            S.append(dict(id="meta_built", mode="layerwise", error=repr(e)[:300],
                          restore_device=str(lw.get_layerwise_info(m.embed).restore_device),
                          meta_after=[k for k, t in tensors(m).items() if t.is_meta]))
            print("ERR meta_built", repr(e)[:160])
        # a layer with a buffer nobody loads: persistent vs non-persistent
        for persistent in (True, False):
            c = mkcfg("bf16", backend="TRITON", H=64, I=32, E=2, L=1)
            A = checkpoint(c, 0, "perexp")
            def with_buf():
                m = Tiny(c)
                m.layers[0].norm.register_buffer("table", torch.arange(16, dtype=torch.float32), persistent=persistent)
                record_metadata_for_reloading(m)
                return m
            CUR.unq = UnquantizedMoeBackend.TRITON
            m = with_buf()
            with torch.no_grad():
                m.load_weights(load_copy(A)); process_weights_after_loading(m, MODEL_CFG, torch.device("cpu"))
            s0, h0 = snap(m), held(m)
            with poison("aa"):
                reload(m, A)
            emit(f"unloaded_buffer/{'persistent' if persistent else 'nonpersistent'}/aa", c, "layerwise", "00", "aa",
                 [step(m, s0, h0, s0, None, "reloadA", "before")])
        # KV scales: A (k=.5,v=.25) -> B (k=2,v=4) -> C (no scales in the checkpoint)
        c = mkcfg("bf16", backend="TRITON", H=64, I=32, E=2, L=1, attn=True)
        def ckv(ver, k, v):
            x = [("layers.0.attn.k_scale", torch.tensor(k)), ("layers.0.attn.v_scale", torch.tensor(v))] if k else []
            return checkpoint(c, ver, "perexp") + x
        A, B, C = ckv(0, .5, .25), ckv(1, 2., 4.), ckv(0, None, None)
        with poison("00"):
            m, refB, mC = cold(c, A), snap(cold(c, B)), cold(c, C)
        refC = snap(mC)
        s0, h0 = snap(m), held(m)
        with poison("aa"):
            reload(m, B); st1 = step(m, s0, h0, refB, None, "reloadB", "coldB"); st1["k_scale_float"] = m.layers[0].attn._k_scale_float
            reload(m, C); st2 = step(m, s0, h0, refC, None, "reloadC_without_scales", "coldC")
        st2["k_scale_float"], st2["cold_k_scale_float"] = m.layers[0].attn._k_scale_float, mC.layers[0].attn._k_scale_float
        st2["k_scale"], st2["cold_k_scale"] = float(m.layers[0].attn._k_scale), float(mC.layers[0].attn._k_scale)
        print("kv", st1["k_scale_float"], st2["k_scale_float"], st2["cold_k_scale_float"])
        emit("kv_scales/aa", c, "layerwise", "00", "aa", [st1, st2])
        # gpt-oss rank != 0 destroys its source
        c = mkcfg("gptoss", backend="FLASHINFER_TRTLLM_MXFP4_BF16", H=256, I=256, E=2, L=1, tp=2, rank=1)
        A = checkpoint(c, 0)
        before = {n: raw(t) for n, t in A}
        m = build(c)
        with torch.no_grad():
            m.load_weights(iter(A))
        S.append(dict(id="gptoss_source_mutated", mode="cold", mutated=[n for n, t in A if raw(t) != before[n]]))
        print("mutated sources:", S[-1]["mutated"])
    for s in S:
        s["replayable"] = not (isinstance(s.get("poison"), dict) and s["poison"]["reload"] in (None, "rand"))
    json.dump(dict(vllm=vllm.__version__, torch=torch.__version__, patches=PATCHES,
                   content=dict(P="byte i = ((i + fnv1a32(name) + 1000003*ver) * 2654435761 mod 2^32) >> 24; name = checkpoint name",
                                bf16="(P-128)/64", u8="P", e8m0="120 + P%8", versions=dict(A=0, B=1)),
                   hash="FNV-1a 64 over the contiguous bytes", scenarios=S), open(path, "w", encoding="utf-8"), indent=0)
    print("scenarios", len(S))


def main():
    if not 2 <= len(sys.argv) <= 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = os.path.join(sys.argv[1], "reload")
    os.makedirs(folder, exist_ok=True)
    with set_current_vllm_config(VCFG):
        run_scenarios(os.path.join(folder, "scenarios.json"))


if __name__ == "__main__":
    main()
