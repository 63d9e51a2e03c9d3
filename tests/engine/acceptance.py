#!/usr/bin/env python3
"""Acceptance of K-SQS at T = 1 against the exact sum of min(p, q̂) over the tested drafts, from the models' rows alone.

usage: acceptance.py ROWS      (written by `llama_checks rows`; little endian: V, then for each text: accepted, tested,
                                and for each tested draft the target's and the drafter's logits, V floats each)
Written from the paper (2510.09942) and docs/algorithms/sparse_lattice.md; shares no code with the library.
"""
import array
import heapq
import math
import struct
import sys

SUPPORT, RESOLUTION = 16, 100


def lattice(weights):
    """Counts that sum to RESOLUTION, nearest to the weights."""
    total = sum(weights)
    exact = [RESOLUTION * w / total for w in weights]
    counts = [math.floor(x + 0.5) for x in exact]
    excess = sum(counts) - RESOLUTION
    order = sorted(range(len(counts)), key=lambda i: (counts[i] - exact[i], i))
    for i in order[len(order) - excess:] if excess > 0 else order[:-excess]:
        counts[i] -= 1 if excess > 0 else -1
    return counts


def sum_of_minima(target, drafter):
    ids = sorted(heapq.nsmallest(SUPPORT, range(len(drafter)), key=lambda v: (-drafter[v], v)))
    top = max(drafter[v] for v in ids)
    counts = lattice([math.exp(drafter[v] - top) for v in ids])
    highest = max(target)
    mass = math.fsum(math.exp(x - highest) for x in target)
    return math.fsum(min(math.exp(target[v] - highest) / mass, c / RESOLUTION) for v, c in zip(ids, counts))


def main():
    accepted = tested = 0
    mean = variance = 0.0
    with open(sys.argv[1], "rb") as rows:
        (size,) = struct.unpack("<I", rows.read(4))
        while head := rows.read(8):
            stood, count = struct.unpack("<2I", head)
            accepted, tested = accepted + stood, tested + count
            for _ in range(count):
                target, drafter = array.array("f"), array.array("f")
                target.fromfile(rows, size)
                drafter.fromfile(rows, size)
                alpha = sum_of_minima(target, drafter)
                mean += alpha
                variance += alpha * (1 - alpha)
    errors = (accepted - mean) / math.sqrt(variance)
    print(f"acceptance: {accepted} of {tested} tested drafts stood, {accepted / tested:.4f}; exact sum of min(p, q̂): "
          f"{mean:.2f}, {mean / tested:.4f}; {errors:+.2f} standard errors")
    return 0 if abs(errors) <= 3 and tested > 100 else 1


sys.exit(main())
