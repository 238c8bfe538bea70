#!/usr/bin/env python3
"""Orderings a second of vLLM 0.33's own reload code on the CPU, beside `coldstart bench fuzz`: build, load A, post-load,
reload B layerwise, compare with a kept state of B.

usage: tests/peer/reload_peer.py [--reps 7] [--threads 1] [--json FILE]

vLLM 0.33 and FlashInfer are optional: nothing else needs them. Their weight loaders, post-load processing and reload code
run as they are. Replaced is what asks for a GPU or a process group: the choice of a back end, the kernel object (a stub),
groups of one rank, and FlashInfer's interleaving of block scales, a CUDA kernel, which is written out here.
"""

import argparse
import json
import os
import statistics
import sys
import time
from types import SimpleNamespace

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")

try:
    import flashinfer.fp4_quantization as flashinfer_fp4
    import torch
    import vllm.model_executor.layers.fused_moe.config as moe_config
    import vllm.model_executor.layers.fused_moe.unquantized_fused_moe_method as unquantized
    import vllm.model_executor.layers.quantization.mxfp4 as mxfp4
    import vllm.model_executor.model_loader.reload.layerwise as layerwise
    import vllm.model_executor.models.gpt_oss as gpt_oss
    from torch import nn
    from vllm.config import DeviceConfig, VllmConfig, set_current_vllm_config
    from vllm.model_executor.layers.fused_moe.activation import MoEActivation
    from vllm.model_executor.layers.fused_moe.expert_map_manager import ExpertMapManager
    from vllm.model_executor.layers.fused_moe.oracle import mxfp4 as mxfp4_oracle
    from vllm.model_executor.layers.fused_moe.oracle.unquantized import UnquantizedMoeBackend
    from vllm.model_executor.layers.fused_moe.routed_experts import RoutedExperts
    from vllm.model_executor.model_loader.reload import record_metadata_for_reloading
    from vllm.model_executor.model_loader.utils import process_weights_after_loading
    from vllm.model_executor.models.utils import AutoWeightsLoader
except ImportError as error:
    sys.exit(f"tests/peer/reload_peer.py: vLLM 0.33 is not installed: {error}")

MODEL_CONFIG = SimpleNamespace(dtype=torch.bfloat16, quantization=None, word_embeddings_untied_by_checkpoint=False, model="tiny")
LAYERS = 2

#         name                                     kind       back end                         experts hidden intermediate
MODELS = [("bf16, 8 experts, 512 x 256",           "bf16",    "TRITON",                        8, 512, 256),
          ("bf16 trtllm, 8 experts, 512 x 256",    "bf16",    "FLASHINFER_TRTLLM",             8, 512, 256),
          ("gpt-oss, 4 experts, padded 256 x 128", "gpt_oss", "FLASHINFER_TRTLLM_MXFP4_BF16",  4, 224, 96)]


# ---- what asks for a GPU or a process group ----

class StubExperts:
    consumes_expert_mask = False

    def __init__(self, moe_config=None, quant_config=None):
        self.quant_config = quant_config

    def process_weights_after_loading(self, layer):
        pass


def stub_kernel(*_, **settings):
    config = settings.get("quant_config", settings.get("moe_quant_config"))
    return SimpleNamespace(fused_experts=StubExperts(quant_config=config))


def mxfp4_kernel(moe_quant_config=None, moe_config=None, experts_cls=None, **_):
    return SimpleNamespace(fused_experts=experts_cls(moe_config=moe_config, quant_config=moe_quant_config))


def interleave_block_scales(scales):
    """The 128x4 layout; rows are a multiple of 128 here."""
    scales = scales.contiguous().view(torch.uint8)
    rows, columns = scales.shape
    padded = torch.zeros(rows, -(-columns // 4) * 4, dtype=torch.uint8)
    padded[:, :columns] = scales
    return padded.view(rows // 128, 4, 32, -1, 4).permute(0, 3, 2, 1, 4).contiguous().view(-1)


def replace_what_needs_a_gpu():
    one = SimpleNamespace(world_size=1, rank_in_group=0)
    unquantized.make_unquantized_moe_kernel = stub_kernel
    mxfp4.make_mxfp4_moe_kernel = mxfp4_kernel
    flashinfer_fp4.nvfp4_block_scale_interleave = interleave_block_scales
    torch.accelerator.current_device_index = lambda: torch.device("cpu")
    gpt_oss.get_tensor_model_parallel_world_size = lambda: 1
    gpt_oss.get_dp_group = gpt_oss.get_pcp_group = gpt_oss.get_ep_group = lambda: one
    moe_config.get_tensor_model_parallel_rank = lambda: 0


def choose_backend(kind, backend):
    if kind == "bf16":
        unquantized.select_unquantized_moe_backend = lambda moe_config: (UnquantizedMoeBackend[backend], StubExperts)
        return
    chosen = mxfp4_oracle.Mxfp4MoeBackend[backend]
    classes = mxfp4_oracle.backend_to_kernel_cls(chosen)
    mxfp4.select_mxfp4_moe_backend = lambda moe, *_, **__: (chosen, classes[0])


# ---- the model ----

def parameter(*shape, make=torch.empty):
    return nn.Parameter(make(*shape, dtype=torch.bfloat16), requires_grad=False)


class Weights(nn.Module):
    def __init__(self, weight, bias=None, buffer=None):
        super().__init__()
        self.weight = weight
        if bias is not None:
            self.bias = bias
        if buffer is not None:
            self.register_buffer("inv_freq", buffer, persistent=False)


class Experts(nn.Module):
    def __init__(self, routed_experts):
        super().__init__()
        self.routed_experts = routed_experts

    def load_weights(self, weights):
        for name in self.routed_experts.load_weights(weights):
            yield "routed_experts." + name


class Mlp(nn.Module):
    def __init__(self, kind, experts, hidden, intermediate, prefix):
        super().__init__()
        self.router = Weights(parameter(experts, hidden), bias=parameter(experts))
        is_gpt_oss = kind == "gpt_oss"
        parallel = moe_config.FusedMoEParallelConfig(
            tp_size=1, pcp_size=1, dp_size=1, ep_size=1, tp_rank=0, pcp_rank=0, dp_rank=0, ep_rank=0, sp_size=1, use_ep=False,
            all2all_backend="allgather_reducescatter", enable_eplb=False)
        config = moe_config.FusedMoEConfig(
            num_experts=experts, experts_per_token=2, hidden_dim=hidden, intermediate_size=intermediate,
            num_local_experts=experts, num_logical_experts=experts, device="cpu", moe_parallel_config=parallel,
            activation=MoEActivation.SWIGLUOAI if is_gpt_oss else MoEActivation.SILU,
            routing_method=moe_config.RoutingMethodType.Renormalize, in_dtype=torch.bfloat16, has_bias=is_gpt_oss,
            moe_backend="auto")
        maps = ExpertMapManager(max_num_batched_tokens=64, top_k=2, global_num_experts=experts, num_redundant_experts=0,
                                num_expert_group=None, moe_parallel_config=parallel, placement_strategy="linear",
                                enable_eplb=False)
        kind_of_experts = gpt_oss.GptOssRoutedExperts if is_gpt_oss else RoutedExperts
        more = {"swiglu_alpha": 1.702, "swiglu_beta": 1.0, "swiglu_limit": 7.0} if is_gpt_oss else {}
        quantization = mxfp4.GptOssMxfp4Config() if is_gpt_oss else None
        self.experts = Experts(kind_of_experts(prefix + ".experts", torch.bfloat16, config, quantization,
                                               expert_map_manager=maps, **more))


class Block(nn.Module):
    def __init__(self, kind, experts, hidden, intermediate, prefix):
        super().__init__()
        self.norm = Weights(parameter(hidden, make=torch.ones), buffer=torch.arange(8, dtype=torch.float32))
        self.mlp = Mlp(kind, experts, hidden, intermediate, prefix + ".mlp")


class Model(nn.Module):
    _load_weights_mxfp4 = gpt_oss.GptOssModel._load_weights_mxfp4
    _try_load_streamed_expert = gpt_oss.GptOssModel.__dict__["_try_load_streamed_expert"]
    _get_streamed_expert_info = gpt_oss.GptOssModel.__dict__["_get_streamed_expert_info"]

    def __init__(self, kind, experts, hidden, intermediate):
        super().__init__()
        self.kind = kind
        self.embed = Weights(parameter(16, hidden))
        self.layers = nn.ModuleList(Block(kind, experts, hidden, intermediate, f"layers.{i}") for i in range(LAYERS))
        self.config = SimpleNamespace(num_local_experts=experts, intermediate_size=intermediate)
        self.parallel_config = SimpleNamespace(enable_expert_parallel=False)

    def load_weights(self, weights):
        if self.kind == "bf16":
            return AutoWeightsLoader(self).load_weights(weights)
        return self._load_weights_mxfp4(0, 0, gpt_oss.GptOssForCausalLM.hf_to_vllm_mapper.apply(weights), [])


def build(model):
    _, kind, backend, *sizes = model
    choose_backend(kind, backend)
    made = Model(kind, *sizes)
    record_metadata_for_reloading(made)  # as initialize_model does
    return made


# ---- checkpoints ----

def checkpoint(model, seed):
    """All tensors, as a list of name and tensor."""
    _, kind, _, experts, hidden, intermediate = model
    random = torch.Generator().manual_seed(seed)

    def numbers(*shape):
        return torch.randn(*shape, generator=random).to(torch.bfloat16)

    def blocks(*shape):
        return torch.randint(0, 256, shape, dtype=torch.uint8, generator=random)

    def scales(*shape):
        return torch.randint(120, 128, shape, dtype=torch.uint8, generator=random)

    tensors = [("embed.weight", numbers(16, hidden))]
    for layer in range(LAYERS):
        at = f"layers.{layer}."
        tensors += [(at + "norm.weight", numbers(hidden)), (at + "mlp.router.weight", numbers(experts, hidden)),
                    (at + "mlp.router.bias", numbers(experts))]
        at += "mlp.experts."
        if kind == "gpt_oss":
            tensors += [(at + "gate_up_proj_blocks", blocks(experts, 2 * intermediate, hidden // 32, 16)),
                        (at + "gate_up_proj_scales", scales(experts, 2 * intermediate, hidden // 32)),
                        (at + "gate_up_proj_bias", numbers(experts, 2 * intermediate)),
                        (at + "down_proj_blocks", blocks(experts, hidden, intermediate // 32, 16)),
                        (at + "down_proj_scales", scales(experts, hidden, intermediate // 32)),
                        (at + "down_proj_bias", numbers(experts, hidden))]
            continue
        for expert in range(experts):
            tensors += [(at + f"{expert}.gate_proj.weight", numbers(intermediate, hidden)),
                        (at + f"{expert}.up_proj.weight", numbers(intermediate, hidden)),
                        (at + f"{expert}.down_proj.weight", numbers(hidden, intermediate))]
    return tensors


# ---- orderings ----

def tensors_of(made):
    return dict(made.named_parameters()) | dict(made.named_buffers())


def start(model, weights):
    made = build(model)
    made.load_weights(iter(weights))
    process_weights_after_loading(made, MODEL_CONFIG, torch.device("cpu"))
    return made


def differing(kept, made):
    def bytes_of(tensor):
        return tensor.detach().contiguous().view(torch.uint8)
    return sum(not torch.equal(bytes_of(kept[name]), bytes_of(tensor)) for name, tensor in tensors_of(made).items())


@torch.no_grad()
def measure(model, reps):
    """Seconds of each ordering, and how many tensors differed in the last one; a first one warms up."""
    first, second = checkpoint(model, 1), checkpoint(model, 2)
    kept = {name: tensor.detach().clone() for name, tensor in tensors_of(start(model, second)).items()}
    seconds = []
    for _ in range(reps + 1):
        begin = time.perf_counter()
        made = start(model, first)
        layerwise.initialize_layerwise_reload(made)
        made.load_weights(iter(second))
        layerwise.finalize_layerwise_reload(made, MODEL_CONFIG)
        n_differing = differing(kept, made)
        seconds.append(time.perf_counter() - begin)
    return seconds[1:], n_differing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=7, help="orderings of each model (default: 7)")
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch (default: 1)")
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON too")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    replace_what_needs_a_gpu()
    rows = []
    with set_current_vllm_config(VllmConfig(device_config=DeviceConfig(device="cpu"))):
        for model in MODELS:
            seconds, n_differing = measure(model, given.reps)
            rows.append({"model": model[0], "per_second": 1 / statistics.median(seconds), "best": 1 / min(seconds),
                         "differing": n_differing})
            print("{model:38} {per_second:8.1f} a second, best {best:.1f}; {differing} tensors differ".format(**rows[-1]), flush=True)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"threads": given.threads, "rows": rows}, file, indent=2)


if __name__ == "__main__":
    main()
