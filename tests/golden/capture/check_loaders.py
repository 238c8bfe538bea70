#!/usr/bin/env python3
"""That bytes and rectangles of captured loads say the same: OUT/loaders/*.safetensors against OUT/loaders/*.json.

usage: check_loaders.py OUT

Needs numpy alone, no vLLM. It shows how the JSON is meant to be read, and prints a line for each file of bytes.
"""
import glob, json, os, struct, sys
import numpy as np

if len(sys.argv) != 2:
    sys.exit(__doc__)
D = os.path.join(sys.argv[1], "loaders")
SZ = {"U8": 1, "F8_E4M3": 1, "F8_E8M0": 1, "BF16": 2, "F16": 2, "F32": 4, "I32": 4, "I64": 8}


def load(fn):
    b = open(fn, "rb").read()
    n = struct.unpack("<Q", b[:8])[0]
    h = json.loads(b[8:8 + n])
    out = {}
    for k, v in h.items():
        if k == "__metadata__":
            continue
        o0, o1 = v["data_offsets"]
        out[k] = (v["dtype"], v["shape"], np.frombuffer(b[8 + n + o0:8 + n + o1], np.uint8).reshape(-1, SZ[v["dtype"]]))
    return out


def conv(src, sdt, pdt):
    """element bytes [n, s] -> [n, p]; only the conversions that occur"""
    if sdt == pdt:
        return src
    v = src.copy().view({"BF16": np.uint16, "F32": np.float32, "I64": np.int64}[sdt]).reshape(-1)
    if sdt == "BF16":
        v = (v.astype(np.uint32) << 16).view(np.float32)
    v = v.astype(np.float32)
    if pdt == "F32":
        return v.view(np.uint8).reshape(-1, 4)
    raise SystemExit(f"conversion {sdt}->{pdt}")


cases = {}
for f in glob.glob(D + "/*.json"):
    if not f.endswith("rounding.json"):
        cases |= {case["id"]: case for case in json.load(open(f, encoding="utf-8"))}
bad = 0
for f in sorted(glob.glob(D + "/*.safetensors")):
    cid = os.path.basename(f)[:-12]
    c = cases[cid]
    T = load(f)
    ck = {k[5:]: v for k, v in T.items() if k.startswith("ckpt.")}
    nel = wrong = 0
    for name, p in c["params"].items():
        pdt, pshape, pb = T["param." + name]
        E = pshape[0]
        R = pshape[1] if len(pshape) > 1 else 1
        Cc = int(np.prod(pshape[2:])) if len(pshape) > 2 else 1
        exp = np.full((E, R, Cc, SZ[pdt]), 0xAA, np.uint8)
        for e in range(E):
            d = p if p["experts"] == "all" else p["experts"][e]
            for (r0, c0), (nr, nc), v in d.get("filled", []):
                one = {"F32": np.float32(v).tobytes(), "BF16": np.float32(v).tobytes()[2:], "U8": bytes([int(v)])}.get(
                    pdt, bytes([0x38 if v == 56 or v == 1 else 0]))
                exp[e, r0:r0 + nr, c0:c0 + nc] = np.frombuffer(one, np.uint8)
            for w in d["written"]:
                kind = w["src"]
                hits = [k for k in ck if k.endswith("." + kind) or k == kind]
                # per-expert checkpoint tensors carry the expert number in the name
                se = p["src_expert"][e][0]
                pe = [k for k in hits if f".{se}." in "." + k]
                per = [k for k in hits if any(s.isdigit() for s in k.replace("layers.0.", "").split("."))]
                k = (pe if per else hits)[0]
                sdt, sshape, sb = ck[k]
                if not per:
                    sb = sb.reshape(sshape[0], -1, SZ[sdt])[se]
                    sshape = sshape[1:]
                cols = int(np.prod(sshape[1:])) if len(sshape) > 1 else 1
                s2 = conv(sb.reshape(-1, SZ[sdt]), sdt, pdt).reshape(-1, cols, SZ[pdt])
                (r0, c0), (nr, nc), (a, b) = w["off"], w["ext"], w["src_first"]
                if w.get("transposed"):
                    blk = s2[a:a + nc, b:b + nr].transpose(1, 0, 2)
                elif "repeat" in w:
                    (fr, fc), (pr, pc) = w["repeat"], w["phase"]
                    blk = s2[a + (pr + np.arange(nr)) // fr][:, b + (pc + np.arange(nc)) // fc]
                else:
                    blk = s2[a:a + nr, b:b + nc]
                exp[e, r0:r0 + nr, c0:c0 + nc] = blk
        got = pb.reshape(exp.shape)
        nel += exp.size
        wrong += int((got != exp).sum())
    bad += wrong
    print(f"{cid}: {nel} bytes, {wrong} differ")
sys.exit(bad != 0)
