# ---- C.11 online FP8 on several ranks: post-load meets in an all-reduce; and what online MXFP4 makes of its numbers ----
# One process a rank, gloo between them: the all-reduce is torch's own. get_ep_group, which spans the ranks of a layer, -> those of the case.
RANKS = r'''
import sys
import torch, torch.distributed as dist
from types import SimpleNamespace as NS
rank, most, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", rank=rank, world_size=most, init_method="file://" + path + ".meet")
import vllm.model_executor.layers.fused_moe
import vllm.model_executor.layers.quantization.online.fp8 as on8
import vllm.model_executor.layers.quantization.utils.quant_utils as qu
from vllm.model_executor.layers.quantization.input_quant_fp8 import QuantFP8
torch.set_num_threads(1)
def quant(x, scale=None, use_per_token_if_dynamic=False, **k):
    if scale is None:
        s = on8._fp8_channel_scale(qu.weight_amax(x, dim=-1, keepdim=True))
        return on8._fp8_quant_per_channel(x, s), s
    me = NS(static=True, is_group_quant=False, group_shape=qu.GroupShape.PER_TENSOR, num_token_padding=None)
    return QuantFP8.forward_native(me, x, scale)[0], scale
on8.ops.scaled_fp8_quant = quant
outs = {}
for name, (method, weights) in torch.load(path + ".in").items():
    n = len(weights)
    group = dist.new_group(list(range(n)))
    if rank >= n:
        continue
    qu.get_ep_group = lambda: NS(device_group=group)
    w13, w2 = weights[rank]
    def setup(layer, w13, w2, w13_scale, w2_scale, **k):
        outs[name] = dict(w13=w13, w2=w2, w13_scale=w13_scale, w2_scale=w2_scale)
    me = NS(moe=NS(tp_size=n), get_weights_for_quantization=lambda layer: (w13, w2), _setup_kernel=setup, release_requantization_source_weights=lambda layer: None)
    getattr(on8, method).process_weights_after_loading(me, NS(local_num_experts=w13.shape[0]))
torch.save(outs, f"{path}.{rank}.out")
dist.barrier()
dist.destroy_process_group()
'''


def on_ranks(cases):
    """cases: name -> (method, weights of each rank); for each what every rank's kernel gets."""
    path, most = os.path.join(tempfile.mkdtemp(), "ranks"), max(len(weights) for _, weights in cases.values())
    open(path + ".py", "w").write(RANKS)
    torch.save(cases, path + ".in")
    ps = [subprocess.Popen([sys.executable, path + ".py", str(r), str(most), path], stderr=subprocess.DEVNULL) for r in range(most)]
    assert all(p.wait() == 0 for p in ps)
    outs = [torch.load(f"{path}.{r}.out") for r in range(most)]
    return {name: [o[name] for o in outs[: len(weights)]] for name, (_, weights) in cases.items()}


@group
def online_ranks():
    ON = "vllm.model_executor.layers.quantization.online.fp8."
    ST = "process_weights_after_loading called unbound with a stub self, whose _setup_kernel keeps what it gets; get_ep_group -> the ranks (gloo, one process each); " \
         "ops.scaled_fp8_quant (CUDA) -> QuantFP8.forward_native where the scale is given, _fp8_channel_scale and _fp8_quant_per_channel where it is not"
    cases = {}
    for method, short in (("Fp8PerTensorOnlineMoEMethod", "tensor"), ("Fp8PtpcOnlineMoEMethod", "channel")):
        for n, E, I, H, kind in ((1, 2, 8, 32, ""), (2, 3, 8, 48, ""), (4, 2, 16, 32, ""), (2, 2, 8, 64, "padding"), (3, 1, 5, 33, "odd")):
            weights = [(rf(10 * r + I, E, 2 * I, H, dtype=BF16), rf(10 * r + I + 1, E, H, I, dtype=BF16)) for r in range(n)]
            if kind == "padding":       # H 64, of which 40 are real: rank 1 finds 195 there, rank 0 zeros
                for r, (w13, w2) in enumerate(weights):
                    w13[:, :, 40:] = 195.0 * r
                    w2[:, 40:, :] = 195.0 * r
            if n > 1:                   # the largest number of expert 0 is the last rank's
                weights[-1][0][0, 1, 2] = 100.0
                weights[-1][1][0, 3, 1] = -77.0
            cases[f"online_{short}_ranks{n}{'_' + kind if kind else ''}"] = method, weights
    if ONLY and not any(("vllm." + method).startswith(ONLY) for method, _ in cases.values()):
        return
    got = on_ranks(cases)
    for name, (method, weights) in cases.items():
        E, rows, H = weights[0][0].shape
        case(name, f"vllm.{method}", "C.11", ON + method + ".process_weights_after_loading", VLLM,
             {f"{k}.{r}": w for r, pair in enumerate(weights) for k, w in zip(("w13", "w2"), pair)},
             {f"{k}.{r}": v for r, o in enumerate(got[name]) for k, v in o.items()}, dict(ranks=len(weights), E=E, I=rows // 2, H=H), ST)


@group
def online_mxfp4():
    """The Triton kernel of mxfp4_quantize, by Triton's interpreter: vllm has a placeholder of Triton where there is no GPU."""
    import importlib.util
    text = open(vmx4.__file__, encoding="utf-8").read()
    text = text[text.index("def permute_shape("):text.index("def mxfp4_quantize(")]
    path = os.path.join(tempfile.mkdtemp(), "mxfp4_kernel.py")
    open(path, "w", encoding="utf-8").write("import torch, triton\nimport triton.language as tl\n" + text.replace("tl.log2(max_val + eps).floor()", "tl.floor(tl.log2(max_val + eps))"))
    sp = importlib.util.spec_from_file_location("mxfp4_kernel", path)
    k = importlib.util.module_from_spec(sp)
    sp.loader.exec_module(k)
    every = torch.arange(1 << 15, dtype=I32).to(torch.int16).view(BF16)
    every = every[torch.isfinite(every)][128:]  # no subnormals: the interpreter's own conversion to f32 loses them
    edge = torch.stack([torch.full((32,), v) for v in (0.0, 6.0, 7.0, 7.5, 2.0**-125, 2.0**-126, 1.75 * 2.0**-124, 3e38, 3.3e38, 5.0, 2.5, 1.75)]).to(BF16)
    ties = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 4.0] * 4).view(1, 32).to(BF16)
    for n, x in (("a", rf(1, 4, 64, dtype=BF16)), ("b", rf(2, 3, 96, dtype=BF16) * 30), ("c", rf(5, 130, 32, dtype=BF16)), ("f16", rf(3, 5, 64).to(torch.float16)),
                 ("edge", torch.cat([edge, -edge, ties, -ties, ties * 2.0**-20])), ("all", every[: every.numel() // 32 * 32].view(-1, 32)[:400])):
        q, s, _ = k.downcast_to_mxfp(x, axis=-1)
        case("mxfp4_quantize_" + n, "vllm.mxfp4_quantize", "C.11", U + "mxfp4_utils.downcast_to_mxfp", VLLM, {"x": x}, {"y": q, "s": s}, {},
             "the kernel's text run by Triton's interpreter (TRITON_INTERPRET=1), its tensor.floor() written tl.floor()", note="no subnormal inputs: the interpreter's conversion of bf16 to f32 loses them" if n in ("edge", "all") else "")
