#!/usr/bin/env python3
"""Writes a window network that nobody trained: make_policy.py FILE LOW HIGH. It takes action LOW of the grid (0..21, length-major, L = 12, 10, 9,
... 1, resolution 720 before 240) while the uplink is in its low state, and HIGH while it is in its high one. Standard library only."""
import struct
import sys

file, low, high = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
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
