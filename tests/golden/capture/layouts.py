#!/usr/bin/env python3
"""Family layouts/: what the real libraries make of weights and scales, on CPU tensors.

usage: layouts.py OUT [OPERATION]     OPERATION: only those that begin with it; index.json is then left as it is

Nothing here computes an expected value: inputs are patterns, outputs come from functions of the libraries. Where one of
them is a CUDA kernel, its own text is cut out of the installed wheel and compiled for the host, in a loop over its
threads: that is what "host-compiled" in `patched` means. AITER's shuffles are pure torch: AITER_SRC names the unpacked
amd-aiter wheel; without it they are left out.

OUT/layouts/<case>.safetensors has in.* and out.* tensors, and index.json lists them. An output whose bytes equal the
input of the same name is not stored: same_bytes_as. Stored dtypes: float8, e8m0, fp4, bool → U8; int64 → I32; float16 →
U8 with the last dimension doubled; U8, I32, F32 and BF16 as they are. index.json has the logical ones.
"""
import os, sys, re, json, hashlib, subprocess, ctypes, tempfile, types, traceback, contextlib
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
os.environ.setdefault("TORCH_COMPILE_DISABLE", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("TRITON_INTERPRET", "1")
os.environ.setdefault("FLASHINFER_DISABLE_VERSION_CHECK", "1")
import numpy as np
import torch
from types import SimpleNamespace as NS
from unittest import mock
from safetensors.torch import save_file

torch.set_num_threads(1)
HERE = os.path.dirname(os.path.abspath(__file__))
if not 2 <= len(sys.argv) <= 3 or sys.argv[1].startswith("-"):
    sys.exit(__doc__)
OUT = os.path.join(sys.argv[1], "layouts")
os.makedirs(OUT, exist_ok=True)
ONLY = sys.argv[2] if len(sys.argv) > 2 else ""

import vllm, flashinfer, triton
VLLM = "vllm " + vllm.__version__
FI = "flashinfer-python " + flashinfer.__version__
TORCH = "torch " + torch.__version__
SITE = os.path.dirname(os.path.dirname(vllm.__file__))

INDEX, FAIL, NRUN = [], [], []
U8, I32, F32, BF16 = torch.uint8, torch.int32, torch.float32, torch.bfloat16
F8, E8 = torch.float8_e4m3fn, torch.float8_e8m0fnu


# ----------------------------------------------------------------- patterns
def pat(*shape, o=0):
    """Pattern P with index origin o."""
    n = int(np.prod(shape))
    i = np.arange(o, o + n, dtype=np.uint64)
    b = ((i * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)) >> np.uint64(24)
    return torch.from_numpy(b.astype(np.uint8).reshape(shape).copy())


def gen(seed):
    return torch.Generator().manual_seed(seed)


def rbytes(seed, *shape, lo=0, hi=256):
    return torch.randint(lo, hi, shape, generator=gen(seed), dtype=torch.int32).to(U8)


def rf(seed, *shape, dtype=F32, scale=1.0):
    return (torch.randn(*shape, generator=gen(seed)) * scale).to(dtype)


def rscale(seed, *shape, lo=-8, hi=0):
    """positive f32 scales, full mantissa"""
    g = gen(seed)
    e = torch.randint(lo, hi, shape, generator=g).float()
    return (1 + torch.rand(*shape, generator=g)) * torch.exp2(e)


def rfp8(seed, *shape):
    """random finite e4m3 bytes"""
    b = rbytes(seed, *shape)
    b[(b & 0x7F) == 0x7F] -= 1
    return b.view(F8)


# ----------------------------------------------------------------- storage
def raw(t):
    t = t.detach().contiguous().clone()
    lg = str(t.dtype).replace("torch.", "")
    if t.dtype in (U8, I32, F32, BF16):
        return t, lg
    if t.dtype == torch.int64:
        assert t.abs().max() < 2**31 if t.numel() else True
        return t.to(I32), lg
    if t.dtype == torch.int16:
        return t.to(I32), lg
    if t.dtype == torch.bool:
        return t.to(U8), lg
    if t.dtype == torch.float16:
        return (t.reshape(1) if t.ndim == 0 else t).view(U8), lg
    if t.dtype == torch.float64:
        raise TypeError("f64")
    return t.view(U8), lg


def case(name, op, spec, fn, lib, inputs, outputs, params=None, patched="", note=""):
    if ONLY and not op.startswith(ONLY):
        return
    ten, desc_in, desc_out = {}, [], []
    for pre, dic, desc in (("in", inputs, desc_in), ("out", outputs, desc_out)):
        for k, v in dic.items():
            if v is None:
                continue
            st = None
            if v.layout == torch.strided and not v.is_contiguous():
                st = list(v.stride())
            r, lg = raw(v)
            key = f"{pre}.{k}"
            d = {"name": key, "logical_dtype": lg, "shape": list(v.shape)}
            i = ten.get("in." + k)
            if pre == "out" and i is not None and i.dtype == r.dtype and i.shape == r.shape and r.numel() > 64 and torch.equal(i.view(U8), r.view(U8)):
                d["same_bytes_as"] = "in." + k      # not stored twice
            else:
                ten[key] = r
            if st:
                d["library_strides"] = st
            desc.append(d)
    size = sum(t.numel() * t.element_size() for t in ten.values())
    assert size <= 126 * 1024, (name, size)
    assert all(c["case"] != name for c in INDEX), name
    path = os.path.join(OUT, name + ".safetensors")
    save_file(ten, path, metadata={"case": name})
    os.chmod(path, 0o644)
    h = hashlib.sha256(open(path, "rb").read()).hexdigest()
    e = dict(case=name, op=op, spec_section=spec, params=params or {}, library=lib, function=fn,
             patched=patched, inputs=desc_in, outputs=desc_out, bytes=os.path.getsize(path), sha256=h)
    if note:
        e["note"] = note
    INDEX.append(e)


def group(f):
    """run one family; a failure is reported and does not stop the rest"""
    try:
        f()
    except Exception:
        FAIL.append((f.__name__, traceback.format_exc()))
        print("FAILED", f.__name__, traceback.format_exc().splitlines()[-1], flush=True)
    return f


# ----------------------------------------------------------------- host-compiled CUDA sources
def build_host():
    root = os.path.join(SITE, "flashinfer/data/csrc/nv_internal")
    mixed = open(root + "/tensorrt_llm/kernels/cutlass_kernels/moe_gemm/moe_gemm_mixed_utils.cu").read()
    a = mixed.index("__global__ void interleave_fp4_weights_for_sm90_mixed_gemm_kernel")
    b = mixed.index("void interleave_fp4_weights_for_sm90_mixed_gemm(uint8_t* fp4_weight")
    qu = open(root + "/tensorrt_llm/kernels/quantization_utils.cuh").read()
    s = qu.index("inline __device__ __host__ int64_t get_sf_out_offset_128x4(int batchIdx")
    e = qu.index("inline __device__ __host__ int64_t get_sf_out_offset_8x4")
    q = open(root + "/cpp/kernels/quantization.cu").read()
    s2 = q.index("__global__ void block_scale_interleave_kernel(")
    e2 = q.index("__global__ void block_scale_interleave_reverse_kernel")
    src = """
#include <cstdint>
#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
struct D3{int x,y,z;};
static D3 blockIdx{0,0,0}, gridDim{1,1,1}, threadIdx{0,0,0}, blockDim{1,1,1};
""" + mixed[a:b] + qu[s:e] + "\ntemplate <typename T>\n" + q[s2:e2] + """
extern "C" void bsi8(int b,int m,int mp,int n,int np,const uint8_t*i,uint8_t*o){block_scale_interleave_kernel<uint8_t>(b,m,mp,n,np,i,o);}
extern "C" void bsi16(int b,int m,int mp,int n,int np,const uint16_t*i,uint16_t*o){block_scale_interleave_kernel<uint16_t>(b,m,mp,n,np,i,o);}
extern "C" void sm90(int kind,uint8_t*i,uint8_t*o,int rows,int cols){
  for(int x=0;x<16;x++){threadIdx.x=x;
    if(kind==1)interleave_fp4_weights_for_sm90_mixed_gemm_kernel(i,o,rows,cols);
    else if(kind==2)interleave_fp4_fp8_weights_for_sm90_mixed_gemm_kernel(i,o,rows,cols);
    else interleave_int4_weights_for_sm90_mixed_gemm_kernel(i,o,rows,cols);}
  threadIdx.x=0;}
"""
    d = tempfile.mkdtemp(prefix="hostk")
    open(d + "/k.cpp", "w").write(src)
    subprocess.check_call(["g++", "-O1", "-fpermissive", "-w", "-shared", "-fPIC", "-o", d + "/k.so", d + "/k.cpp"])
    return ctypes.CDLL(d + "/k.so")


HK = build_host()
P = lambda t: ctypes.c_void_p(t.data_ptr())


def host_block_scale_interleave(unswizzled_sf, *, out=None):
    """the wheel's block_scale_interleave_kernel, host-compiled; output shape as the wrapper's"""
    x = unswizzled_sf.contiguous()
    b = x.shape[0] if x.ndim == 3 else 1
    m, n = x.shape[-2:]
    mp, np_ = (m + 127) // 128 * 128, (n + 3) // 4 * 4
    assert x.dtype in (U8, BF16)
    o = torch.empty(b * mp * np_, dtype=x.dtype)
    (HK.bsi8 if x.dtype == U8 else HK.bsi16)(b, m, mp, n, np_, P(x), P(o))
    return o


def host_interleave_weights(weight, quant_type="fp4"):
    w = weight.contiguous()
    assert w.dim() == 3 and w.dtype == U8 and w.shape[1] % 16 == 0 and (w.shape[2] * 2) % 64 == 0
    o = torch.empty_like(w)
    for e in range(w.shape[0]):
        a, b = w[e].contiguous(), torch.zeros_like(w[e])
        HK.sm90({"int4": 0, "fp4": 1, "fp4_fp8": 2}[quant_type], P(a), P(b), w.shape[1], w.shape[2] * 2)
        o[e] = b
    return o


BSI = "block_scale_interleave -> the wheel's own CUDA kernel text (csrc/nv_internal/cpp/kernels/quantization.cu) host-compiled"
SM9 = "interleave_moe_weights_for_sm90_mixed_gemm -> the wheel's own CUDA kernel text (moe_gemm_mixed_utils.cu) host-compiled"
NOCUDA = "torch.Tensor.cuda -> identity"


@contextlib.contextmanager
def fi_patched():
    import flashinfer.fp4_quantization as fq, flashinfer.quantization.fp4_quantization as fqq
    import flashinfer.quantization as fqz, flashinfer.fused_moe as fm, flashinfer.fused_moe.prepare as fmp
    with contextlib.ExitStack() as st:
        for mod in (flashinfer, fq, fqq, fqz):
            for n in ("block_scale_interleave", "nvfp4_block_scale_interleave"):
                if hasattr(mod, n):
                    st.enter_context(mock.patch.object(mod, n, host_block_scale_interleave))
        for mod in (fm, fmp):
            st.enter_context(mock.patch.object(mod, "interleave_moe_weights_for_sm90_mixed_gemm", host_interleave_weights))
        st.enter_context(mock.patch.object(torch.Tensor, "cuda", lambda self, *a, **k: self))
        yield


import flashinfer.fused_moe.core as fcore
import flashinfer.utils as futils
from flashinfer.quantization.fp4_quantization import shuffle_matrix_a, shuffle_matrix_sf_a
import vllm.model_executor.layers.fused_moe  # first: the utils below import it circularly
import vllm.model_executor.layers.quantization.utils.flashinfer_utils as vfu
import vllm.model_executor.layers.quantization.utils.flashinfer_fp4_moe as vf4
import vllm.model_executor.layers.quantization.utils.nvfp4_utils as vnv
import vllm.model_executor.layers.quantization.utils.mxfp8_utils as vmx8
import vllm.model_executor.layers.quantization.utils.mxfp4_utils as vmx4
import vllm.model_executor.layers.fused_moe.oracle.mxfp4 as omx4
import vllm.model_executor.layers.fused_moe.oracle.nvfp4 as onv4
import vllm.model_executor.layers.fused_moe.oracle.fp8 as ofp8
import vllm.model_executor.layers.fused_moe.oracle.unquantized as ounq
from vllm.model_executor.layers.fused_moe.activation import MoEActivation

U = "vllm.model_executor.layers.quantization.utils."
O = "vllm.model_executor.layers.fused_moe.oracle."
MB = omx4.Mxfp4MoeBackend


SECTIONS = ("primitives", "pipelines", "marlin", "triton_aiter", "numerics", "loading", "deepgemm", "ranks")


def run_sections():
    """Each file of layouts/ sees the names of this one."""
    for section in SECTIONS:
        path = os.path.join(HERE, "layouts", section + ".py")
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), globals())


def write_index():
    with open(os.path.join(OUT, "index.json"), "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in INDEX) + "\n]\n")


def summary():
    by_op = {}
    for c in INDEX:
        by_op.setdefault(c["op"], []).append(c)
    for op, cases in by_op.items():
        print(f"  {op:44} {len(cases):3} {sum(c['bytes'] for c in cases):8}")
    print("cases", len(INDEX), "operations", len(by_op), "bytes", sum(c["bytes"] for c in INDEX))
    for name, text in FAIL:
        print("FAILED", name, "\n", text)
    for name in NRUN:
        print("NOT RUNNABLE", name)


if __name__ == "__main__":
    run_sections()
    if not ONLY:
        write_index()
    summary()
    sys.exit(1 if FAIL else 0)
