# SPDX-License-Identifier: Apache-2.0
"""The forward pass in NumPy, written from the description alone: one sequence, float64 throughout.

    reference.py write MODEL_FOLDER      writes golden.bin, the logits that the C++ test compares with
    reference.py logits FILE ID...       prints the last position's logits as text
"""
import json
import os
import struct
import sys

import numpy as np


def load(path):
    """(metadata, tensors as float64) of a safetensors file."""
    with open(path, "rb") as f:
        raw = f.read()
    n = struct.unpack_from("<Q", raw)[0]
    header = json.loads(raw[8:8 + n])
    meta = {k: int(v) for k, v in header.pop("__metadata__").items() if v.isdigit()}
    kinds = {"F16": "<f2", "F32": "<f4"}
    tensors = {}
    for name, t in header.items():
        a, b = t["data_offsets"]
        tensors[name] = np.frombuffer(raw[8 + n + a:8 + n + b], kinds[t["dtype"]]).reshape(t["shape"]).astype(np.float64)
    return meta, tensors


def norm(x, gain):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * gain


def forward(meta, w, ids):
    """ids -> logits [T, vocab], hidden [T, dim], attention of the last layer [T, T], mean over heads."""
    d, heads, t = meta["dim"], meta["heads"], len(ids)
    size = d // heads
    frequency = 10000.0 ** (-np.arange(size // 2) / (size // 2))
    angle = np.arange(t)[:, None] * frequency
    turn = np.exp(1j * angle)  # a rotation is a product with e^(i angle)
    x = w["embed"][ids] * np.sqrt(d)
    attention = None
    for i in range(meta["layers"]):
        p = "layers.%d." % i
        qkv = norm(x, w[p + "attention_norm"]) @ w[p + "qkv"]
        mixed = np.zeros((t, d))
        attention = np.zeros((t, t))
        for h in range(heads):
            q, k, v = (qkv[:, part * d + h * size:part * d + (h + 1) * size] for part in range(3))
            q, k = ((y[:, :size // 2] + 1j * y[:, size // 2:]) * turn for y in (q, k))
            score = (q @ k.conj().T).real / np.sqrt(size)
            score[np.triu_indices(t, 1)] = -np.inf
            power = np.exp(score - score.max(axis=1, keepdims=True))
            power /= power.sum(axis=1, keepdims=True)
            mixed[:, h * size:(h + 1) * size] = power @ v
            attention += power / heads
        x = x + mixed @ w[p + "out"]
        wide = norm(x, w[p + "mlp_norm"]) @ w[p + "gate_up"]
        gate, up = wide[:, :meta["hidden"]], wide[:, meta["hidden"]:]
        x = x + (gate / (1.0 + np.exp(-gate)) * up) @ w[p + "down"]
    hidden = norm(x, w["norm"])
    return hidden @ w["embed"].T, hidden, attention


PROMPTS = [
    b"Q: Mia has 12 pears. She buys 7 more and gives 4 to Tom. How many pears are left?\nA:",
    b"And it came to pass in those days, that there went out a decree",
    b"0123 ... \xc3\xa9 {hacker}  n.\n\n  An    odd  #### 42\n",
]


def golden(folder):
    """Per model and prompt: ids, the logits of the first and of the last position, the last attention row and hidden state."""
    from tokenizer import Tokenizer
    tokenizer = Tokenizer.load(os.path.join(folder, "vocab.bpe"))
    out = [b"TLMGOLD1"]
    for name in ("target", "drafter"):
        meta, w = load(os.path.join(folder, name + ".safetensors"))
        for text in PROMPTS:
            ids = [256] + tokenizer.encode(text)
            logits, hidden, attention = forward(meta, w, ids)
            out.append(struct.pack("<II", len(text), len(ids)) + text + np.asarray(ids, "<i4").tobytes())
            for row in (logits[0], logits[-1], hidden[-1], attention[-1]):
                out.append(np.asarray(row, "<f4").tobytes())
    with open(os.path.join(folder, "golden.bin"), "wb") as f:
        f.write(b"".join(out))


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "write":
        golden(sys.argv[2])
    elif len(sys.argv) > 3 and sys.argv[1] == "logits":
        meta, w = load(sys.argv[2])
        print("\n".join("%.9g" % x for x in forward(meta, w, [int(x) for x in sys.argv[3:]])[0][-1]))
    else:
        sys.exit(__doc__)
