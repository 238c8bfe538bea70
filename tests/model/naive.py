"""A naive model of padding records and of the ways in which a toy's weights arrive, written from the rules alone and sharing
nothing with the program: `compare.py` asks both.

A toy is a dict as in scenarios/README.md, with lists for boxes: {"params": [...], "loads": {"A": [...]}, "post_load": [...]};
a post-load step is a tuple: ("relayout", p), ("cast", p, dtype), ("replace", p), ("config", path, p), ("constant", path, value).
Every byte carries a mark, `loose`: it is whatever memory held. A cold start that shows a loose byte is undetermined; a tensor that is
equal and shows one is equal by luck.

Where the rules say nothing, the natural choice:
  - the zeroing loader zeroes after it wrote, and counts each region, of unregistered parameters and plain copies too (those on the dry run as well);
  - a region recorded twice in one load is one region, but one of a row and the same of a view of that row are two;
  - an unregistered parameter is loaded at once, by every driver, is post-processed where it stands, and is compared as a side tensor;
  - a direct reload that loads nothing leaves the module alone;
  - a parameter that only a view of was given, and that is not registered, does not warn; others warn once in a server's life;
  - memory for a parameter created on meta counts as rematerialised; without a loader call it has memory before post-load;
  - calls that come after a layerwise reload has counted enough elements are ignored.
"""
import math
import struct
from math import prod as count

ITEM = {"u8": 1, "bf16": 2, "f32": 4}


def encode(dtype, number):
    if dtype == "u8":
        return bytes([int(number)])
    if dtype == "f32":
        return struct.pack("<f", number)
    bits = struct.unpack("<I", struct.pack("<f", number))[0]
    if math.isnan(number):
        return b"\xc0\x7f"
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)  # to nearest, ties to even


def decode(dtype, data):
    if dtype == "u8":
        return float(data[0])
    return struct.unpack("<f", data if dtype == "f32" else b"\0\0" + data)[0]


class Tensor:
    """The first bytes of a storage, read as `dtype`."""

    def __init__(self, dtype, shape, store, loose):
        self.dtype, self.shape, self.store, self.loose = dtype, tuple(shape), store, loose

    @classmethod
    def filled(cls, dtype, shape, byte, loose):
        n = count(shape) * ITEM[dtype]
        return cls(dtype, shape, bytearray([byte]) * n, [loose] * n)

    @property
    def n_bytes(self):
        return count(self.shape) * ITEM[self.dtype]

    def seen(self):
        return bytes(self.store[:self.n_bytes]), self.loose[:self.n_bytes]

    def put(self, other):
        """The bytes of `other` over this storage."""
        data, loose = other.seen()
        self.store[:len(data)], self.loose[:len(loose)] = data, loose

    def write(self, box, numbers):
        """Numbers row by row into a box (at, shape); one number goes everywhere."""
        at, shape = box
        rows = [1] * (2 - len(shape)) + list(shape)
        first = [0] * (2 - len(at)) + list(at)
        width = self.shape[-1]
        for k in range(count(shape)):
            element = (first[0] + k // rows[1]) * width + first[1] + k % rows[1]
            start, end = element * ITEM[self.dtype], (element + 1) * ITEM[self.dtype]
            self.store[start:end] = encode(self.dtype, numbers[k % len(numbers)])
            self.loose[start:end] = [False] * (end - start)

    def swap_halves(self):
        """Of each row: of two dimensions the first counts experts, which are laid out one by one."""
        row, (data, loose) = self.shape[-1] * ITEM[self.dtype], self.seen()
        order = [i + (k + row // 2) % row for i in range(0, self.n_bytes, row) for k in range(row)]
        return Tensor(self.dtype, self.shape, bytearray(data[i] for i in order), [loose[i] for i in order])

    def cast(self, dtype):
        if dtype == self.dtype:
            return self.clone()
        loose, item, marks = self.seen()[1], ITEM[self.dtype], []
        for i in range(0, len(loose), item):  # the low half of a number that was bf16 is 0 whatever memory held
            marks += [False, False, *loose[i:i + 2]] if dtype == "f32" else [any(loose[i:i + item])] * ITEM[dtype]
        return Tensor(dtype, self.shape, bytearray(b"".join(encode(dtype, x) for x in self.numbers())), marks)

    def clone(self):
        data, loose = self.seen()
        return Tensor(self.dtype, self.shape, bytearray(data), loose)

    def numbers(self):
        data, item = self.seen()[0], ITEM[self.dtype]
        return [decode(self.dtype, data[i:i + item]) for i in range(0, len(data), item)]


class Server:
    def __init__(self, toy, policy, allocator):
        self.toy, self.policy, self.allocator = toy, policy, allocator
        self.specs = {p["name"]: p for p in toy["params"]}
        self.registered = [name for name, p in self.specs.items() if p.get("registered", True)]
        self.records, self.warned, self.moved_constants, self.orphans = {}, set(), 0, set()
        self.begin()

    def begin(self):
        self.costs, self.warnings = [0, 0, 0], 0

    def cost(self, calls, regions, n_bytes):
        self.costs = [total + more for total, more in zip(self.costs, (calls, regions, n_bytes))]

    def create(self, spec):
        shape, how = spec["shape"], spec.get("created", "empty")
        if how == "meta":
            return None
        tensor = Tensor.filled(spec["dtype"], shape, self.allocator["cold"], True)
        if how != "empty":
            numbers = {"zeros": [0], "ones": [1], "value": [spec.get("value")], "arange": range(count(shape))}[how]
            tensor.write(([0] * len(shape), shape), numbers)
        return tensor

    def value_of(self, spec, on_meta):
        if spec.get("padding_value") is not None:
            return spec["padding_value"]
        if on_meta or spec["dtype"] == "u8" or spec.get("created", "empty") in ("empty", "meta"):
            return 0
        return int(all(number == 1 for number in self.create(spec).numbers()))

    def materialise(self, spec, byte):
        tensor = Tensor.filled(spec["dtype"], spec["shape"], byte, True)
        if self.policy == "zero_materialized":
            tensor = Tensor.filled(spec["dtype"], spec["shape"], 0, False)
            self.cost(1, 1, tensor.n_bytes)
        return tensor

    def run_loader(self, call, tensor):
        """A loader call on real memory."""
        name = call["param"]
        numbers = call["values"] if "values" in call else [call["value"]] if "value" in call else None
        if numbers is not None:
            tensor.write((call["at"], call["shape"]), numbers)
        for box in ((tuple(mark["at"]), tuple(mark["shape"])) for mark in call.get("marks", [])):
            if self.policy == "zero_in_loader":
                self.cost(1, 1, count(box[1]) * ITEM[tensor.dtype])
                if not call.get("on_plain"):
                    tensor.write(box, [0])
            elif self.policy == "record_and_fill" and not call.get("on_plain"):
                self.mark(name, box, call.get("through_view"))

    def mark(self, name, box, through_view):
        if name in self.registered:
            is_row = bool(through_view) and len(box[0]) == 2
            regions = self.records.setdefault(name, [])
            if (box, is_row) not in regions:
                regions.append((box, is_row))
        elif not through_view and name not in self.warned:
            self.warned.add(name)
            self.warnings += 1

    def fill(self, tensors):
        """Everything recorded since the last fill, once; then records start over."""
        self.cost(bool(self.records), 0, 0)
        for name, regions in self.records.items():
            for box, _ in regions:
                tensors[name].write(box, [self.padding_value[name]])
                self.cost(0, 1, count(box[1]) * ITEM[tensors[name].dtype])
        self.records = {}

    def post_load(self, tensors):
        """Runs the steps on `tensors`; the value that each replaced parameter becomes."""
        values, results = {name: tensor.clone() for name, tensor in tensors.items()}, {}
        for what, name, *more in self.toy.get("post_load", []):
            if what == "relayout":
                values[name] = values[name].swap_halves()
            elif what == "cast":
                values[name] = values[name].cast(more[0])
            elif what == "replace":
                results[name] = values[name]
        return results

    def replace_live(self, results):
        """Each parameter becomes its value: in its own storage if that is large enough, else in new storage."""
        for name, value in results.items():
            live = self.live[name]
            if value.n_bytes > live.n_bytes:
                live = value.clone()
            live.put(value)
            self.live[name] = Tensor(value.dtype, value.shape, live.store, live.loose)

    def cold_start(self, checkpoint):
        self.live = {name: self.create(spec) for name, spec in self.specs.items()}
        self.padding_value = {name: self.value_of(spec, False) for name, spec in self.specs.items()}
        for call in self.toy["loads"][checkpoint]:
            name = call["param"]
            if self.live[name] is None:
                self.live[name] = self.materialise(self.specs[name], self.allocator["cold"])
            self.run_loader(call, self.live[name])
        for name, spec in self.specs.items():
            if self.live[name] is None:
                self.live[name] = self.materialise(spec, self.allocator["cold"])
        self.fill(self.live)
        self.replace_live(self.post_load(self.live))

    def meta_build(self, checkpoint):
        """A finished server's tensors; padding is 0 unless said otherwise."""
        self.cold_start(checkpoint)
        self.padding_value = {name: self.value_of(spec, True) for name, spec in self.specs.items()}

    def layerwise(self, checkpoint):
        """Count on meta; with enough elements, or at the end with any: rematerialise, replay, fill, post-load, copy back."""
        self.begin()
        total = sum(count(self.specs[name]["shape"]) for name in self.registered)
        counted, buffered, done = 0, [], False
        for call in self.toy["loads"][checkpoint]:
            name = call["param"]
            if name not in self.registered:
                self.run_loader(call, self.live[name])
            elif not done:
                buffered.append(call)
                if name == "bias":  # stays live: the dry run writes, and its mark is on real memory
                    self.run_loader(call, self.live[name])
                elif call.get("on_plain"):
                    self.run_loader(call, Tensor.filled(self.specs[name]["dtype"], self.specs[name]["shape"], 0, True))
                if "value" in call or "values" in call:
                    counted += count(call["shape"])
                if counted >= total:
                    self.process(buffered)
                    done = True
        if counted and not done:
            self.process(buffered)

    def process(self, buffered):
        tensors = dict(self.live)
        for name in self.registered:
            if name != "bias":
                tensors[name] = self.materialise(self.specs[name], self.allocator["reload"])
        for call in buffered:
            self.run_loader(call, tensors[call["param"]])
        self.fill(tensors)
        results = self.post_load(tensors)
        for name in self.registered:
            if name != "bias":
                self.live[name].put(results.pop(name, tensors[name]))
        self.replace_live(results)
        self.ran_post_load({step[2] for step in self.toy.get("post_load", []) if step[0] == "config"} - {"bias"})

    def direct(self, checkpoint):
        """Load over the live bytes, seen in checkpoint layout; fill, post-load, and put the results back where they were."""
        self.begin()
        if not self.toy["loads"][checkpoint]:
            return
        tensors = dict(self.live)
        for name in self.registered:
            spec, live = self.specs[name], self.live[name]
            hosted = Tensor(spec["dtype"], spec["shape"], live.store, live.loose)
            if live.n_bytes < hosted.n_bytes:
                hosted = Tensor.filled(spec["dtype"], spec["shape"], self.allocator["reload"], True)
            tensors[name] = hosted
        for call in self.toy["loads"][checkpoint]:
            self.run_loader(call, tensors[call["param"]])
        self.fill(tensors)
        self.replace_live(self.post_load(tensors))
        self.ran_post_load(set())

    def ran_post_load(self, orphans):
        self.orphans = orphans
        self.moved_constants = sum(step[0] == "constant" for step in self.toy.get("post_load", []))

    def expectation(self, checkpoint):
        """Counts and values against a fresh cold start; None: that cold start is undetermined."""
        fresh = Server(self.toy, self.policy, self.allocator)
        fresh.cold_start(checkpoint)
        if any(any(fresh.live[name].seen()[1]) for name in self.registered):
            return None
        changed = {name for name in self.specs if self.live[name].seen()[0] != fresh.live[name].seen()[0]}
        differ = changed & set(self.registered)
        lucky = [name for name in self.registered if name not in differ and any(self.live[name].seen()[1])]
        values = ((name, tensor.numbers()) for name, tensor in self.live.items())
        return {
            "params_differ": len(differ), "params_lucky": len(lucky), "params_moved": 0,
            "side_moved": self.moved_constants, "side_extra": len(self.orphans), "side_missing": 0,
            "side_differ": len(self.orphans & differ) + len(changed - differ), "missing": 0, "duplicate": 0,
            **dict(zip(("fill_calls", "fill_regions", "fill_bytes"), self.costs)),
            "fill_skipped": 0, "warnings": self.warnings,
            "values": {name: v for name, v in values if all(map(math.isfinite, v))},
        }


def predict(plan, policy):
    """What to expect after each step of a plan, as far as a cold start is determined."""
    server = Server(plan["toy"], policy, plan["allocator"])
    expected = []
    for driver, checkpoint in plan["steps"]:
        getattr(server, driver)(checkpoint)
        expected.append(server.expectation(checkpoint))
        if expected[-1] is None:
            break
    return expected
