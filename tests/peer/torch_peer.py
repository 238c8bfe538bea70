#!/usr/bin/env python3
"""What the work of `coldstart bench` costs in eager PyTorch, beside it: gpt-oss-20b at TP1 (hidden and intermediate 2880,
rounded to 3072; 32 experts), 24 layers, on one GPU.

usage: tests/peer/torch_peer.py [--device cuda] [--layers 24] [--small] [--json FILE]

PyTorch is optional: nothing else needs it. Post-load does what vLLM 0.33 does for FlashInfer's TRT-LLM kernels, expert by
expert: rows in turn swapped, gathered by the shuffled order, scales gathered and swizzled, biases widened, results stacked.
Layers have tensors of their own, so that no cache serves one for another. --small: 2 experts of 256, on any device.
"""

import argparse
import json
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("tests/peer/torch_peer.py: PyTorch is not installed")


class Sizes:
    def __init__(self, is_small):
        self.experts = 2 if is_small else 32
        self.used = 180 if is_small else 2880
        self.rounded = 256 if is_small else 3072
        self.used_scales, self.rounded_scales = self.used // 32, self.rounded // 32


def layer_of(sizes, device):
    """Kernel tensors before post-load; w13 has gate and up rows in turn."""
    e, n = sizes.experts, sizes.rounded
    shapes = {"w13": (e, 2 * n, n // 2), "w2": (e, n, n // 2), "w13_scale": (e, 2 * n, n // 32), "w2_scale": (e, n, n // 32)}
    layer = {name: torch.randint(0, 256, shape, dtype=torch.uint8, device=device) for name, shape in shapes.items()}
    layer["w13_bias"] = torch.randn(e, 2 * n, dtype=torch.bfloat16, device=device)
    layer["w2_bias"] = torch.randn(e, n, dtype=torch.bfloat16, device=device)
    return layer


def shuffled(rows, device):
    row = torch.arange(rows, device=device)
    return row - row % 32 + 4 * (row % 32 % 8) + row % 32 // 8


def swizzle(x):
    rows, columns = x.shape
    return x.view(rows // 128, 4, 32, columns // 4, 4).permute(0, 3, 2, 1, 4).contiguous().view(-1)


def swap_pairs(x):
    shape = x.shape
    return x.reshape(shape[0], shape[1] // 2, 2, *shape[2:]).flip(2).reshape(shape)


def post_load(layer, order):
    made = {}
    for name in ("w13", "w2"):
        rows = order[name]
        weight, scale, bias = layer[name], layer[name + "_scale"], layer[name + "_bias"].float()
        if name == "w13":
            weight, scale, bias = swap_pairs(weight), swap_pairs(scale), swap_pairs(bias)
        experts = range(weight.shape[0])
        made[name] = torch.stack([weight[e][rows].contiguous() for e in experts])
        made[name + "_scale"] = torch.stack([swizzle(scale[e][rows].contiguous()) for e in experts])
        made[name + "_bias"] = torch.stack([bias[e].clone().reshape(-1, 1)[rows].contiguous() for e in experts]).squeeze(-1)
    return made


def padding_of(layer, sizes):
    """Views of all padding of a layer: last rows, and last columns of the other rows."""
    for name, tensor in layer.items():
        rows = 2 * sizes.used if name.startswith("w13") else sizes.used
        yield tensor[:, rows:]
        if tensor.dim() == 3:
            columns = sizes.used_scales if name.endswith("scale") else sizes.used // 2
            yield tensor[:, :rows, columns:]


class Table:
    def __init__(self, device):
        self.device, self.rows = device, []

    def wait(self):
        if self.device.startswith("cuda"):
            torch.cuda.synchronize()

    def measure(self, what, work, n_bytes, repeats=5):
        """The best of `repeats`; the first one warms up."""
        work()
        best = float("inf")
        for _ in range(repeats):
            self.wait()
            start = time.perf_counter()
            work()
            self.wait()
            best = min(best, time.perf_counter() - start)
        self.rows.append({"what": what, "milliseconds": best * 1e3, "bytes": n_bytes, "bytes_per_second": n_bytes / best})
        print(f"{what:44s} {best * 1e3:10.3f} ms {n_bytes / best / 1e9:10.1f} GB/s", flush=True)


def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def measure_all(table, sizes, device, n_layers):
    buffers = [torch.empty((1 << 20) if sizes.experts < 8 else (4 << 30), dtype=torch.uint8, device=device) for _ in range(2)]
    table.measure("copy", lambda: buffers[1].copy_(buffers[0]), 2 * buffers[0].numel())
    del buffers
    layers = [layer_of(sizes, device) for _ in range(n_layers)]
    order = {"w13": shuffled(2 * sizes.rounded, device), "w2": shuffled(sizes.rounded, device)}
    read = sum(bytes_of(layer.values()) for layer in layers)

    def post_load_all():
        for layer in layers:
            post_load(layer, order)

    written = bytes_of(post_load(layers[0], order).values()) * n_layers
    table.measure("post-load, expert by expert", post_load_all, read + written)

    regions = [view for layer in layers for view in padding_of(layer, sizes)]
    padding = bytes_of(regions)
    table.measure("padding zeroed, region by region", lambda: [view.zero_() for view in regions], padding)
    by_expert = [view[e] for view in regions for e in range(sizes.experts)]
    table.measure("padding zeroed, expert by expert", lambda: [view.zero_() for view in by_expert], padding)
    del regions, by_expert

    copies = [{name: tensor.clone() for name, tensor in layer.items()} for layer in layers]
    pairs = [(layer[name], copy[name]) for layer, copy in zip(layers, copies) for name in layer]

    def compare():
        if not all(torch.equal(a, b) for a, b in pairs):
            sys.exit("copies differ")

    table.measure("torch.equal of two models", compare, 2 * read)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    if given.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("tests/peer/torch_peer.py: PyTorch sees no GPU")
    table = Table(given.device)
    print(f"PyTorch {torch.__version__} on {given.device}, {given.layers} layers, best of 5")
    with torch.no_grad():
        measure_all(table, Sizes(given.small), given.device, given.layers)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"pytorch": torch.__version__, "device": given.device, "layers": given.layers, "rows": table.rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
