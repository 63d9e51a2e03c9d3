#!/usr/bin/env python3
"""Acceptance of K-SQS at T = 1 against the exact sum of min(p, q̂) over the tested drafts, from the models' rows alone.

usage: acceptance.py PROMPTS FILE COMMAND...
For each line of PROMPTS `COMMAND LINE FILE` writes one text and the rows of its tested drafts to FILE (rows-1 of f32,
docs/rows.md; the metadata say how many of them were accepted); FILE is removed when it has been read.
Written from the paper (2510.09942), docs/algorithms/sparse_lattice.md and docs/rows.md; shares no code with the library.
"""
import array
import heapq
import json
import math
import os
import subprocess
import sys

SUPPORT, RESOLUTION = 16, 100
MOST_ERRORS = 3  # standard errors


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


def rows_of(path):
    """Accepted drafts, and each row of both models."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        about = header["__metadata__"]
        assert about["format"] == "rows-1", about
        rows, width = header["p"]["shape"]
        assert header["p"]["dtype"] == header["q"]["dtype"] == "F32" and width == int(about["vocab_size"])

        def row(name, i):
            file.seek(8 + size + header[name]["data_offsets"][0] + 4 * width * i)
            values = array.array("f")
            values.fromfile(file, width)
            return values

        yield int(about["accepted"]), rows
        for i in range(rows):
            yield row("p", i), row("q", i)


def main():
    prompts, path, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    texts = accepted = tested = 0
    mean = variance = 0.0
    for prompt in open(prompts, encoding="utf-8").read().splitlines():
        subprocess.run(command + [prompt, path], check=True)
        rows = rows_of(path)
        stood, count = next(rows)
        texts, accepted, tested = texts + 1, accepted + stood, tested + count
        for target, drafter in rows:
            alpha = sum_of_minima(target, drafter)
            mean += alpha
            variance += alpha * (1 - alpha)
        os.remove(path)
    errors = (accepted - mean) / math.sqrt(variance)
    print(f"acceptance: {texts} texts, {accepted} of {tested} tested drafts stood, {accepted / tested:.4f}; exact sum of "
          f"min(p, q̂): {mean:.2f}, {mean / tested:.4f}; {errors:+.2f} standard errors")
    assert texts >= 20 and tested >= 1000, "too few texts or drafts to say anything"
    assert abs(errors) <= MOST_ERRORS, f"more than {MOST_ERRORS} standard errors"


main()
