# SPDX-License-Identifier: Apache-2.0
"""Makes the files of this folder. Standard library only; prose.txt also needs Debian packages (apt-get download).

    python3 make_data.py problems FOLDER          test.txt, tune.txt and train.txt
    python3 make_data.py colours FOLDER           colours_test.txt, colours_tune.txt and colours_train.txt
    python3 make_data.py prose FOLDER WORK_FOLDER prose.txt

A problem is its template and its numbers; examples/tinylm/train/problems.py holds a tenth of these pairs out of the models' training.
Here the held-out pairs are dealt again, by the second byte of the same hash: a quarter belongs to tuning, the rest to the test.
So no problem of tune.txt has the numbers of one of test.txt under the same template, and neither has those of one of train.txt.
No question stands twice in all three, and none of the 500 by which the models themselves were chosen stands in any.

A line of the colours is an answer, a question and the beginning of its solution, with tabs between them. The wording is fixed, and the
answer is the colour that the solution must name next, so no digit matters. Numbers are dealt to the sets as above.
"""
import hashlib
import os
import random
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TINYLM = os.path.join(HERE, "../../../models/tinylm")
sys.path.insert(0, os.path.join(TINYLM, "train"))
import problems  # noqa: E402

SETS = [("test", 2400, 4101), ("tune", 1000, 4102), ("train", 4000, 4103)]  # name, problems, seed
COLOUR_SETS = [("colours_test", 800, 4111), ("colours_tune", 400, 4112), ("colours_train", 1000, 4113)]
PUBLIC_DOMAIN = ("bible-kjv-text", "jargon-text", "dict-devil")
PROSE_LINES = 240
PROSE_LENGTH = 240


class Recorder:
    """Tells which template and numbers problems.problem() asks about last."""

    def __init__(self):
        self.pair = None
        self.rule = problems.held_out

    def __call__(self, template, numbers):
        self.pair = (template, numbers)
        return self.rule(template, numbers)


def share_of(template, numbers):
    """train, tune or test."""
    key = "%d:%s" % (template, ",".join(str(n) for n in numbers))
    digest = hashlib.sha256(key.encode()).digest()
    if digest[0] < 230:
        return "train"
    return "tune" if digest[1] < 64 else "test"


def make_problems():
    """{set: [(answer, question, template, numbers)]}"""
    with open(os.path.join(TINYLM, "model/held_out.txt")) as f:
        seen = {line.rstrip("\n").split("\t")[1] for line in f}
    recorder = Recorder()
    problems.held_out = recorder
    made = {}
    try:
        for name, count, seed in SETS:
            source = problems.stream(seed, want_held_out=name != "train")
            rows = []
            while len(rows) < count:
                question, _, answer = next(source)
                if share_of(*recorder.pair) == name and question not in seen:
                    seen.add(question)
                    rows.append((answer, question) + recorder.pair)
            made[name] = rows
    finally:
        problems.held_out = recorder.rule
    return made


def write_problems(folder):
    for name, rows in make_problems().items():
        with open(os.path.join(folder, name + ".txt"), "w") as f:
            for answer, question, _, _ in rows:
                f.write("%d\t%s\n" % (answer, question))


def make_colours():
    """{set: [(answer, question, beginning, numbers)]}"""
    made, seen = {}, set()
    for name, count, seed in COLOUR_SETS:
        rng, rows = random.Random(seed), []
        while len(rows) < count:
            numbers, steps = problems.draw_numbers(rng, 4)
            one, two, three = rng.sample(problems.COLOURS, 3)
            thing, who = rng.choice(problems.OBJECTS), rng.choice(problems.FEMALE + problems.MALE)
            question = "%s has %d %s, %d %s and %d %s %s. How many %s are there in all?" % (
                who, numbers[0], one, numbers[1], two, numbers[2], three, thing, thing)
            beginning = "First, %s and %s make %d %s. Then with the" % (one, two, steps[0][3], thing)
            if share_of(4, numbers) == name.split("_")[1] and question not in seen:
                seen.add(question)
                rows.append((three, question, beginning, numbers))
        made[name] = rows
    return made


def write_colours(folder):
    for name, rows in make_colours().items():
        with open(os.path.join(folder, name + ".txt"), "w") as f:
            for row in rows:
                f.write("\t".join(row[:3]) + "\n")


def write_prose(folder, work):
    """Openings of held-out paragraphs whose text is in the public domain, one a line, in a seeded order."""
    import corpus
    lines = []
    for package, paragraphs in corpus.prose(work).items():
        if package in PUBLIC_DOMAIN:
            lines += [p for i, p in enumerate(paragraphs) if i % 20 == 19 and len(p) >= PROSE_LENGTH]
    random.Random(4104).shuffle(lines)
    with open(os.path.join(folder, "prose.txt"), "w") as f:
        for line in lines[:PROSE_LINES]:
            f.write(" ".join(line.split())[:PROSE_LENGTH].rsplit(" ", 1)[0].rstrip() + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "problems":
        write_problems(sys.argv[2])
    elif len(sys.argv) == 3 and sys.argv[1] == "colours":
        write_colours(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == "prose":
        write_prose(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
