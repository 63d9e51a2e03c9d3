#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The word problems: held-out by construction, right by their own arithmetic, phrased in many ways. Standard library only."""
import os
import random
import re
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(ROOT, "models/tinylm/train"))
import problems  # noqa: E402
from tokenizer import Tokenizer, pieces  # noqa: E402

MODEL = os.path.join(ROOT, "models/tinylm/model")


def numbers(text):
    return tuple(sorted(int(x) for x in re.findall(r"\d+", text)))


def shape(question):
    """The words of a question without names, things and numbers: enough to tell its template."""
    known = set(problems.FEMALE + problems.MALE + problems.OBJECTS + problems.COLOURS + problems.BAGS)
    return " ".join(w for w in re.findall(r"[A-Za-z]+", question.split("How")[0].split("What")[0].split("With")[0])
                    if w not in known and w not in ("She", "He", "she", "he"))


def test_committed_file():
    with tempfile.TemporaryDirectory() as folder:
        problems.write_held_out(os.path.join(folder, "again.txt"))
        with open(os.path.join(folder, "again.txt")) as again, open(os.path.join(MODEL, "held_out.txt")) as committed:
            assert again.read() == committed.read(), "held_out.txt is not what the generator makes"


def test_disjoint():
    source = problems.stream(20252)
    trained = {(shape(q), numbers(q)) for q, _, _ in (next(source) for _ in range(30000))}
    with open(os.path.join(MODEL, "held_out.txt")) as f:
        held = [line.rstrip("\n").split("\t")[1] for line in f]
    assert len(held) == 500 and len(set(held)) == 500
    # The order of two factors can differ between two problems with the same set of numbers: compare in order.
    ordered = {(shape(q), tuple(re.findall(r"\d+", q))) for q, _, _ in (next(source) for _ in range(30000))}
    for q in held:
        assert (shape(q), tuple(re.findall(r"\d+", q))) not in ordered, q
    assert len(trained) > 10000


def test_arithmetic():
    join = "|".join(re.escape(x) for x in sorted(set(problems.JOIN), key=len, reverse=True))
    source = problems.stream(3)
    for _ in range(20000):
        question, solution, answer = next(source)
        equations = re.findall(r"(\d+)([-+*/])(\d+)(?:%s)(\d+)" % join, solution)
        assert len(equations) >= 2, solution
        for a, op, b, r in equations:
            a, b, r = int(a), int(b), int(r)
            assert r == {"+": a + b, "-": a - b, "*": a * b, "/": a / b}[op], solution
        assert int(equations[-1][3]) == answer
        assert solution.endswith("\n#### %d\n" % answer)
        given = set(re.findall(r"\d+", question))
        results = {r for _, _, _, r in equations}
        for a, _, b, _ in equations:
            assert {a, b} <= given | results, (question, solution)


def test_many_phrasings():
    texts = set()
    for seed in range(300):
        _, solution, _ = problems.problem(random.Random(seed), False)
        texts.add(re.sub(r"\d+", "N", solution))
    assert len(texts) > 290


def test_tokenizer():
    tokenizer = Tokenizer.load(os.path.join(MODEL, "vocab.bpe"))
    assert tokenizer.size == 4096
    for text in (b"", b"a 12 b", "é  x\n\n\n y".encode(), bytes(range(256)) * 2):
        assert b"".join(pieces(text)) == text
        assert tokenizer.decode(tokenizer.encode(text)) == text
    for token in tokenizer.bytes_of:
        assert len(token) == 1 or not any(48 <= c <= 57 for c in token)


if __name__ == "__main__":
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            test()
            print("ok", name)
