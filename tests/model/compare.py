"""Random toys, judged by the program and by the naive model beside this file: every count and every element must agree.

    compare.py PROGRAM [--plans N] [--seed S] [--keep DIR]

Each plan becomes a scenario that expects what the model predicts. A disagreement is made small by dropping parts for as long as
the two still disagree, and printed. Exit status 1: they disagree.
"""
import argparse
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import naive  # noqa: E402

POLICIES = ["none", "zero_materialized", "zero_in_loader", "record_and_fill"]
BYTES = [0x00, 0x00, 0x01, 0x3F, 0x55, 0x80, 0xAA, 0xFF]


# Plans

def random_box(rng, shape):
    at = [rng.randrange(n) for n in shape]
    return {"at": at, "shape": [rng.randint(1, n - a) for n, a in zip(shape, at)]}


def random_number(rng, dtype):
    return rng.randint(0, 255) if dtype == "u8" else rng.choice([0, 1, 2, 3, 7, 100, -1, -5, 0.5, 1.25])


def random_param(rng, name, registered=True):
    dtype = rng.choice(["f32", "u8", "bf16"])
    shape = [rng.randint(1, 8)] if rng.random() < 0.5 else [rng.randint(1, 4), rng.randint(1, 4)]
    created = rng.choice(["zeros", "zeros", "ones", "ones", "value", "arange", "empty", "meta"] if registered else ["zeros", "ones"])
    param = {"name": name, "dtype": dtype, "shape": shape, "created": created}
    if created == "value":
        param["value"] = rng.choice([0, 1, 1, 3] if dtype == "u8" else [0, 1, 1, 3, 1.001, -2])
    if rng.random() < 0.25:
        param["padding_value"] = rng.choice([0, 1, 1, 7])
    if not registered:
        param["registered"] = False
    return param


def random_call(rng, param, box, marks, writes=True):
    call = {"param": param["name"], **box}
    if writes or not marks:
        if rng.random() < 0.5:
            call["value"] = random_number(rng, param["dtype"])
        else:
            call["values"] = [random_number(rng, param["dtype"]) for _ in range(naive.count(box["shape"]))]
    if marks:
        call["marks"] = marks
    if rng.random() < 0.08:
        call["on_plain"] = True
    # A view is of one expert, the first of two dimensions; what a mark of several means then is not said.
    if all(len(mark["at"]) == 1 or mark["shape"][0] == 1 for mark in marks) and rng.random() < 0.15:
        call["through_view"] = True
    return call


def random_calls(rng, param):
    shape, style = param["shape"], rng.random()
    whole = {"at": [0] * len(shape), "shape": list(shape)}
    if style < 0.1:
        return []
    if style < 0.3:
        return [random_call(rng, param, whole, [])]
    if style < 0.65:  # the first part is real, the rest is padding, along one axis or two
        real = [rng.randint(1, n) for n in shape]
        marks = []
        for axis, (n, r) in enumerate(zip(shape, real)):
            if r < n:
                marks.append({"at": [r if a == axis else 0 for a in range(len(shape))],
                              "shape": [n - r if a == axis else (real[a] if a < axis else shape[a]) for a in range(len(shape))]})
        return [random_call(rng, param, {"at": [0] * len(shape), "shape": real}, marks)]
    return [random_call(rng, param, random_box(rng, shape), [random_box(rng, shape) for _ in range(rng.choice([0, 0, 1, 1, 2]))],
                        writes=rng.random() < 0.85) for _ in range(rng.randint(1, 4))]


def random_plan(rng, number):
    names = ["p", "q", "bias"] if rng.random() < 0.15 else ["p", "q", "r"]
    params = [random_param(rng, name) for name in rng.sample(names, rng.randint(1, 3))]
    if rng.random() < 0.2:
        params.append(random_param(rng, "loose", registered=False))
    checkpoints = "ABC"[:rng.randint(1, 3)]
    loads = {}
    for checkpoint in checkpoints:
        calls = [call for param in params for call in random_calls(rng, param)]
        if rng.random() < 0.5:
            rng.shuffle(calls)
        loads[checkpoint] = calls
    post_load, n_paths = [], 0
    for param in params:
        name, steps = param["name"], []
        if param["shape"][-1] % 2 == 0 and rng.random() < 0.5:
            steps.append(("relayout", name))
        if param.get("registered", True) and param["dtype"] != "u8" and rng.random() < 0.4:
            steps.append(("cast", name, "f32" if param["dtype"] == "bf16" else "bf16"))
        rng.shuffle(steps)
        if rng.random() < 0.8:
            steps.append(("replace", name))
        if param.get("registered", True) and rng.random() < 0.2:
            n_paths += 1
            steps.insert(rng.randint(0, len(steps)), ("config", f"held_{n_paths}", name))
        post_load += steps
    if rng.random() < 0.2:
        post_load.insert(rng.randint(0, len(post_load)), ("constant", "made", 2))
    toy = {"params": params, "loads": loads, "post_load": post_load, "post_load_while_loading": rng.random() < 0.15}
    steps = [["cold_start", rng.choice(checkpoints)]]
    only_layerwise = rng.random() < 0.1 and len(params) == sum(p.get("registered", True) for p in params)
    if only_layerwise:
        steps[0][0] = "meta_build"
    # Left out: names that a layerwise reload never restores, such as expert_mask.
    drivers = ["layerwise"] if only_layerwise else ["layerwise", "direct"]
    steps += [[rng.choice(drivers), rng.choice(checkpoints)] for _ in range(rng.randint(0, 5))]
    return {"name": f"model.n{number}", "toy": toy, "steps": steps, "policies": rng.sample(POLICIES, rng.randint(1, 4)),
            "allocator": {"cold": rng.choice(BYTES), "reload": rng.choice(BYTES)}}


# Lua

def lua(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {lua(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "{ " + ", ".join(map(lua, value)) + " }"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def lua_step(step):
    what, name, *more = step
    if what == "relayout":
        return f'cs.relayout("{name}", "swap_halves")'
    return f"cs.{what}({', '.join(map(lua, [name, *more]))})"


def expected_at(plan, expected, index):
    """Counts that the rules define after this step; those of the donor of a meta build are not a load's."""
    if expected[index] is None:
        return {"params_differ": 0}
    left_out = ("fill_calls", "fill_regions", "fill_bytes", "warnings") if plan["steps"][index][0] == "meta_build" else ()
    return {k: v for k, v in expected[index].items() if k not in left_out}


def scenario_of(plan, predictions):
    toy = plan["toy"]
    lines = ["return cs.scenario {", f'  name = "{plan["name"]}",', "  model = cs.toy {", "    params = {"]
    lines += [f"      {lua(param)}," for param in toy["params"]] + ["    },", "    loads = {"]
    for checkpoint, calls in toy["loads"].items():
        lines += [f"      {checkpoint} = {{"] + [f"        {lua(call)}," for call in calls] + ["      },"]
    lines += ["    },", f"    post_load = {{ {', '.join(map(lua_step, toy['post_load']))} }},"]
    lines += [f"    post_load_while_loading = {lua(toy['post_load_while_loading'])},", "  },"]
    cold, reload = (f'"0x{plan["allocator"][k]:02X}"' for k in ("cold", "reload"))
    lines += [f"  policies = {lua(plan['policies'])},",
              f"  allocator = {{ fresh = {{ cold = {cold}, reload = {reload} }}, recycle_up_to = 0 }},", "  run = function(s)"]
    for index, (driver, checkpoint) in enumerate(plan["steps"]):
        verb = "cold_start" if index == 0 else "reload"
        lines += [f'    s:{verb} {{ driver = "{driver}", checkpoint = "{checkpoint}" }}', "    s:expect {"]
        for policy in plan["policies"]:
            expected = predictions[policy]
            last = min(index, len(expected) - 1)  # past the end: that policy's run is over
            lines.append(f"      {policy} = {lua(expected_at(plan, expected, last))},")
        lines.append("    }")
    return "\n".join(lines + ["  end,", "}", ""])


# Comparing

def judge(program, plans, folder, seed=1):
    """The plans on which program and model disagree: (plan, policy, what the program says)."""
    predictions = {}
    for plan in plans:
        predictions[plan["name"]] = {policy: naive.predict(plan, policy) for policy in plan["policies"]}
        (folder / f"{plan['name']}.lua").write_text(scenario_of(plan, predictions[plan["name"]]))
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    run = subprocess.run([program, "run", str(folder), "-q", "--seed", str(seed), "--json", str(report)], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        if len(plans) == 1:
            return [(plans[0], plans[0]["policies"][0], f"exit status {run.returncode}: {run.stderr.strip()[-500:]}")]
        found = []
        for plan in plans:  # one of them is to blame
            with tempfile.TemporaryDirectory() as alone:
                found += judge(program, [plan], pathlib.Path(alone), seed)
        return found or [(plans[0], plans[0]["policies"][0], f"{len(plans)} plans together: exit status {run.returncode}")]
    found, by_name = [], {plan["name"]: plan for plan in plans}
    verdicts = json.loads(report.read_text())["verdicts"]
    if len(verdicts) != sum(len(plan["policies"]) for plan in plans):
        sys.exit(f"{len(verdicts)} verdicts of {len(plans)} plans")
    for verdict in verdicts:
        undetermined = predictions[verdict["name"]][verdict["policy"]][-1] is None
        said = "undetermined" if (verdict["reason"] or "").startswith("cold_undetermined") else verdict["status"]
        if said != ("undetermined" if undetermined else "passed"):
            found.append((by_name[verdict["name"]], verdict["policy"], verdict["reason"] or "passed, expected cold_undetermined"))
    return found


def disagree(program, plan):
    """What the program says, if both disagree under two seeds: a garbage byte can be right by chance."""
    said = None
    for seed in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            found = judge(program, [plan], pathlib.Path(folder), seed)
        if not found:
            return None
        said = found[0][2]
    return said


def writes(call):
    return "value" in call or "values" in call


def smaller(plan):
    """Copies of the plan with one part less."""
    def without(path, index):
        less = copy.deepcopy(plan)
        part = less
        for key in path:
            part = part[key]
        del part[index]
        return less

    toy = plan["toy"]
    for index in range(len(plan["steps"]) - 1, 0, -1):
        yield without(["steps"], index)
    for param in toy["params"] if len(toy["params"]) > 1 else []:
        less = copy.deepcopy(plan)
        name = param["name"]
        less["toy"]["params"] = [p for p in toy["params"] if p["name"] != name]
        less["toy"]["loads"] = {c: [call for call in calls if call["param"] != name] for c, calls in toy["loads"].items()}
        less["toy"]["post_load"] = [s for s in toy["post_load"] if name not in s[1:]]
        yield less
    for checkpoint in set(toy["loads"]) - {step[1] for step in plan["steps"]}:
        yield without(["toy", "loads"], checkpoint)
    for checkpoint, calls in toy["loads"].items():
        for index, call in enumerate(calls):
            yield without(["toy", "loads", checkpoint], index)
            if writes(call) and "marks" in call:
                yield without(["toy", "loads", checkpoint, index], "value" if "value" in call else "values")
            for key in ("marks", "through_view", "on_plain"):
                if key in call and (key != "marks" or writes(call)):
                    yield without(["toy", "loads", checkpoint, index], key)
            for mark in range(len(call.get("marks", []))):
                if len(call["marks"]) > 1:
                    yield without(["toy", "loads", checkpoint, index, "marks"], mark)
    for index in range(len(toy["post_load"])):
        yield without(["toy", "post_load"], index)
    for index, param in enumerate(toy["params"]):
        if "padding_value" in param:
            yield without(["toy", "params", index], "padding_value")
    if toy["post_load_while_loading"]:
        less = copy.deepcopy(plan)
        less["toy"]["post_load_while_loading"] = False
        yield less


def smallest(program, plan, policy, said):
    plan = {**plan, "policies": [policy]}
    said = disagree(program, plan) or said
    shrinking = True
    while shrinking:
        shrinking = False
        for less in smaller(plan):
            now = disagree(program, less)
            if now:
                plan, said, shrinking = less, now, True
                break
    return plan, said


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--plans", type=int, default=400)
    arguments.add_argument("--seed", type=int, default=None)
    arguments.add_argument("--keep", type=pathlib.Path, help="folder for scenarios of disagreements")
    arguments.add_argument("--show", type=int, default=5, help="disagreements to make small and print")
    given = arguments.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"seed {seed}, {given.plans} plans")
    rng = random.Random(seed)
    plans = [random_plan(rng, number) for number in range(given.plans)]
    found = []
    for first in range(0, len(plans), 500):
        with tempfile.TemporaryDirectory() as folder:
            found += judge(given.program, plans[first:first + 500], pathlib.Path(folder))
    found = [(plan, policy, said) for plan, policy, said in found if disagree(given.program, {**plan, "policies": [policy]})]
    for plan, policy, said in found[:given.show]:
        plan, said = smallest(given.program, plan, policy, said)
        text = scenario_of(plan, {policy: naive.predict(plan, policy)})
        print(f"\n{plan['name']} {policy}: {said}\n{text}")
        if given.keep:
            given.keep.mkdir(parents=True, exist_ok=True)
            (given.keep / f"{plan['name']}.{policy}.lua").write_text(text)
    n_verdicts = sum(len(plan["policies"]) for plan in plans)
    print(f"{n_verdicts} verdicts, {len(found)} disagreements")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
