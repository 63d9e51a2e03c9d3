#!/usr/bin/env python3
"""Writes a decision head that nobody trained: make_head.py FILE DRAFTER_SIZE TARGET_SIZE [MODE]. MODE: predicting (default), consuming.
Standard library only."""
import json
import random
import struct
import sys

file, drafter, target, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 2
mode = sys.argv[4] if len(sys.argv) > 4 else "predicting"
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
