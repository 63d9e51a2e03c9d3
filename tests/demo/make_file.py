#!/usr/bin/env python3
"""Writes files of weights that nobody trained, with the standard library only.

make_file.py head FILE DRAFTER_SIZE TARGET_SIZE [MODE]: a decision head. MODE: predicting (default), consuming.
make_file.py policy FILE LOW HIGH: a window network. It takes action LOW of the grid (0..21, length-major, L = 12, 10, 9, ... 1,
resolution 720 before 240) while the uplink is in its low state, and HIGH while it is in its high state."""
import json
import random
import struct
import sys


def head(file, drafter, target, mode="predicting"):
    drafter, target, width = int(drafter), int(target), 2
    inputs = drafter + target + 5
    shapes = {"first": [width, inputs], "first_bias": [width], "second": [width], "second_bias": [1]}
    five = lambda number: " ".join([number] * 5)
    header = {"__metadata__": {"format": "specverify.decision_head.1", "mode": mode, "drafter_size": str(drafter), "target_size": str(target),
                               "width": str(width), "channel_mean": five("0"), "channel_scale": five("1"), "threshold": "0.5"}}
    offset = 0
    for name, shape in shapes.items():
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    chance = random.Random(1)
    values = [chance.uniform(-0.3, 0.3) for _ in range(width * inputs)] + [0.0] * width + [1.0, -1.0, -0.5]
    with open(file, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + struct.pack(f"<{len(values)}f", *values))


def policy(file, low, high):
    low, high = int(low), int(high)
    layers = [(64, 128), (128, 128), (2, 32), (32, 32), (1, 16), (16, 16), (176, 128), (128, 22)]
    weights = [[0.0] * (inputs * outputs) for inputs, outputs in layers]
    biases = [[0.0] * outputs for _, outputs in layers]
    for layer, unit in ((4, 0), (5, 0), (6, 160)):  # the uplink state, through the first unit of each layer on its way
        weights[layer][unit * layers[layer][1]] = 1.0
    weights[7][high] = 2.0
    biases[7][low] += 1.0
    out = struct.pack("<QI", 0x31304E5144565300, len(layers)) + b"".join(struct.pack("<II", *layer) for layer in layers)
    out += b"".join(struct.pack(f"<{len(w) + len(b)}f", *w, *b) for w, b in zip(weights, biases))
    total = 0xCBF29CE484222325
    for byte in out:
        total = ((total ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    with open(file, "wb") as made:
        made.write(out + struct.pack("<Q", total))


{"head": head, "policy": policy}[sys.argv[1]](*sys.argv[2:])
