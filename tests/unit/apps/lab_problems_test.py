#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The problem sets of the lab: what the generator makes, right, held out and apart from each other. Standard library only."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
DATA = os.path.join(ROOT, "apps/lab/data")
sys.path.insert(0, DATA)
import make_data  # noqa: E402
import problems  # noqa: E402

MADE = make_data.make_problems()


def questions(path):
    with open(path) as f:
        return [line.rstrip("\n").split("\t")[1] for line in f]


def check_committed(write, sets):
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        for name, _, _ in sets:
            with open(os.path.join(folder, name + ".txt")) as again, open(os.path.join(DATA, name + ".txt")) as committed:
                assert again.read() == committed.read(), name + ".txt is not what make_data.py makes"


def test_committed_files():
    check_committed(make_data.write_problems, make_data.SETS)


def test_committed_colours():
    check_committed(make_data.write_colours, make_data.COLOUR_SETS)


def test_colours_are_apart_and_never_digits():
    made = make_data.make_colours()
    numbers = {name: {row[3] for row in rows} for name, rows in made.items()}
    test, tune, train = (numbers["colours_" + name] for name in ("test", "tune", "train"))
    assert not test & tune and not test & train and not tune & train
    assert all(problems.held_out(4, n) for n in test | tune) and not any(problems.held_out(4, n) for n in train)
    for answer, question, beginning, _ in (row for rows in made.values() for row in rows):
        assert answer in problems.COLOURS and question.count(answer) == 1 and answer not in beginning


def test_sizes():
    sizes = {name: len(rows) for name, rows in MADE.items()}
    assert sizes["test"] >= 2000 and sizes["tune"] >= 1000 and sizes["train"] >= 2000, sizes


def test_held_out_by_the_rule_of_the_models():
    assert all(problems.held_out(t, n) for name in ("test", "tune") for _, _, t, n in MADE[name])
    assert not any(problems.held_out(t, n) for _, _, t, n in MADE["train"])


def test_no_two_sets_share_numbers_under_a_template():
    pairs = {name: {(t, n) for _, _, t, n in rows} for name, rows in MADE.items()}
    assert not pairs["test"] & pairs["tune"] and not pairs["test"] & pairs["train"] and not pairs["tune"] & pairs["train"]
    assert all(len(pairs[name]) > 0.3 * len(MADE[name]) for name in MADE), {k: len(v) for k, v in pairs.items()}


def test_every_template_is_asked_in_every_set():
    for rows in MADE.values():
        assert {t for _, _, t, _ in rows} == set(range(problems.TEMPLATES))


def test_no_question_twice():
    asked = [q for rows in MADE.values() for _, q, _, _ in rows]
    asked += questions(os.path.join(ROOT, "models/tinylm/model/held_out.txt"))
    assert len(asked) == len(set(asked))


def test_prose():
    with open(os.path.join(DATA, "prose.txt")) as f:
        lines = f.read().splitlines()
    assert len(lines) == len(set(lines)) == make_data.PROSE_LINES
    assert all(120 < len(line) <= make_data.PROSE_LENGTH and line.isascii() for line in lines)


if __name__ == "__main__":
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            test()
            print("ok", name)
