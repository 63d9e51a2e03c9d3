# SPDX-License-Identifier: Apache-2.0
"""Text to token rows: vocabulary, training rows of problems and prose, held-out problems and held-out prose."""
import os
import random

import numpy as np

import corpus
import problems
from tokenizer import END, Tokenizer, learn

ROW = 256
QUESTION_WEIGHT = 0.1
VOCAB_SIZE = 4096
SEED = 20250
PROBLEM_ROWS = 56000


def problem_rows(tokenizer, seed, count, rng):
    """count rows of whole problems: ids, loss weights (x 100) and segment numbers, packed to fill a row."""
    ids = np.full((count, ROW), END, np.uint16)
    weight = np.zeros((count, ROW), np.uint8)
    segment = np.zeros((count, ROW), np.uint8)
    source = problems.stream(seed)
    pool = []

    def refill():
        while len(pool) < 600:
            q, s, _ = next(source)
            head = [END] + tokenizer.encode(problems.prompt(q))
            tail = tokenizer.encode(s) + [END]
            pool.append((head, tail))

    for r in range(count):
        refill()
        at, k = 0, 1
        while True:
            room = ROW - at
            fits = [i for i in range(len(pool)) if len(pool[i][0]) + len(pool[i][1]) <= room]
            if not fits:
                break
            if room < 160:  # the last one or two: the longest that leaves little or room for one more
                size = [len(pool[i][0]) + len(pool[i][1]) for i in fits]
                fits = [fits[int(np.argmax(size))]]
            head, tail = pool.pop(rng.choice(fits) if len(fits) > 1 else fits[0])
            n, m = len(head), len(tail)
            ids[r, at:at + n + m] = head + tail
            weight[r, at:at + n] = int(100 * QUESTION_WEIGHT)  # weight of predicting the token at this place
            weight[r, at + n:at + n + m] = 100
            weight[r, at] = 0
            segment[r, at:at + n + m] = k
            at, k = at + n + m, k + 1
    return ids, weight, segment


def prose_rows(tokenizer, lines, seed):
    """The paragraphs in a seeded order, each after <|end|>, as rows of ROW tokens."""
    order = list(range(len(lines)))
    random.Random(seed).shuffle(order)
    flat = []
    for i in order:
        flat += [END] + tokenizer.encode(lines[i])
    rows = len(flat) // ROW
    return np.array(flat[:rows * ROW], np.uint16).reshape(rows, ROW)


def main(folder, out):
    os.makedirs(folder, exist_ok=True)
    train, held = corpus.split(folder)
    source = problems.stream(SEED + 1)
    sample = []
    for _ in range(4000):
        q, s, _ = next(source)
        sample.append(((problems.prompt(q) + s).encode(), 4))
    tokenizer = Tokenizer(learn([(x.encode(), 1) for x in train] + sample, VOCAB_SIZE))
    tokenizer.save(os.path.join(out, "vocab.bpe"))
    ids, weight, segment = problem_rows(tokenizer, SEED + 2, PROBLEM_ROWS, random.Random(SEED))
    np.savez(os.path.join(folder, "problems.npz"), ids=ids, weight=weight, segment=segment)
    rows = prose_rows(tokenizer, train, SEED)
    np.save(os.path.join(folder, "prose.npy"), rows)
    problems.write_held_out(os.path.join(out, "held_out.txt"))
    print("vocabulary %d, problem rows %d (%.1f %% filled), prose rows %d, held-out prose %d paragraphs" % (
        tokenizer.size, PROBLEM_ROWS, 100.0 * np.mean(segment > 0), len(rows), len(held)))


if __name__ == "__main__":
    import sys
    if len(sys.argv) != 3:
        sys.exit("usage: prepare.py WORK_FOLDER MODEL_FOLDER")
    main(sys.argv[1], sys.argv[2])
