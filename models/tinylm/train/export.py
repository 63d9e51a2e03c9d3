# SPDX-License-Identifier: Apache-2.0
"""safetensors with fp16 tensors: 8 bytes header length, JSON header, data."""
import json
import struct

import numpy as np


def save(path, params, size, args, steps):
    header = {"__metadata__": {
        "format": "tinylm 1", "dim": str(size["dim"]), "layers": str(size["layers"]), "heads": str(size["heads"]),
        "hidden": str(size["hidden"]), "context": str(size["context"]), "vocab": str(params["embed"].shape[0]),
        "seed": str(args.seed), "steps": str(steps)}}
    data, at = [], 0
    for name in sorted(params):
        x = np.ascontiguousarray(np.asarray(params[name]), dtype="<f2").tobytes()
        header[name] = {"dtype": "F16", "shape": list(params[name].shape), "data_offsets": [at, at + len(x)]}
        data.append(x)
        at += len(x)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def load(path):
    with open(path, "rb") as f:
        raw = f.read()
    n = struct.unpack_from("<Q", raw)[0]
    header = json.loads(raw[8:8 + n])
    header.pop("__metadata__", None)
    out = {}
    for name, t in header.items():
        a, b = t["data_offsets"]
        out[name] = np.frombuffer(raw[8 + n + a:8 + n + b], "<f2").reshape(t["shape"]).astype(np.float32)
    return out


def metadata(path):
    with open(path, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        return json.loads(f.read(n))["__metadata__"]
