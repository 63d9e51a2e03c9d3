# SPDX-License-Identifier: Apache-2.0
"""Arithmetic word problems with worked solutions that are phrased in many ways.

A problem is (template, numbers); names, objects and wording are drawn on top of it. A problem is held out when the
SHA-256 of its template and numbers falls into the last tenth, so no training problem has the numbers of a held-out one.
"""
import hashlib
import random

FEMALE = ["Mia", "Anna", "Lily", "Emma", "Nora", "Ruth", "Clara", "Alice"]
MALE = ["Tom", "Ben", "Sam", "Max", "Leo", "Paul", "Jack", "Peter"]
OBJECTS = ["apples", "pears", "books", "marbles", "stamps", "coins", "cards", "shells", "pens", "eggs", "stones", "plums",
           "buttons", "beads", "roses", "cakes"]
COLOURS = ["red", "blue", "green", "white", "black"]
BAGS = ["boxes", "bags", "baskets", "packs"]

START = ["First,", "To begin,", "At first,", "Let us see:", "We start with this:", "Step one:", "To start,", "In the beginning,"]
NEXT = ["Then", "After that,", "Next,", "Now", "From there,", "And so", "Step two:", "Later,"]
FINAL = ["So", "Therefore", "Hence", "Thus", "In the end,", "Finally,", "This means that", "All in all,"]
JOIN = ["=", "=", "=", "=", "=", " equals ", " is ", " makes ", ", which gives ", ", that is, "]
CLOSE = ["The answer is {r}.", "So the answer is {r}.", "That is the answer.", "The result is {r}.", "We get {r}.", "", "", "", "", ""]


def held_out(template, numbers):
    key = "%d:%s" % (template, ",".join(str(n) for n in numbers))
    return hashlib.sha256(key.encode()).digest()[0] >= 230


def draw_numbers(rng, t):
    """Numbers of template t and the steps [(a, op, b, result)]."""
    while True:
        if t == 0:    # has, buys, gives
            a, b, c = rng.randint(5, 50), rng.randint(2, 40), rng.randint(2, 40)
            n, s = (a, b, c), [(a, "+", b, a + b), (a + b, "-", c, a + b - c)]
        elif t == 1:  # has, loses, gives
            a, b, c = rng.randint(20, 99), rng.randint(2, 40), rng.randint(2, 40)
            n, s = (a, b, c), [(a, "-", b, a - b), (a - b, "-", c, a - b - c)]
        elif t == 2:  # groups and loose
            a, b, c = rng.randint(2, 9), rng.randint(2, 9), rng.randint(2, 18)
            n, s = (a, b, c), [(a, "*", b, a * b), (a * b, "+", c, a * b + c)]
        elif t == 3:  # groups, some broken
            a, b, c = rng.randint(2, 9), rng.randint(2, 9), rng.randint(2, 18)
            n, s = (a, b, c), [(a, "*", b, a * b), (a * b, "-", c, a * b - c)]
        elif t == 4:  # three colours
            a, b, c = rng.randint(2, 35), rng.randint(2, 35), rng.randint(2, 28)
            n, s = (a, b, c), [(a, "+", b, a + b), (a + b, "+", c, a + b + c)]
        elif t == 5:  # b more than
            a, b = rng.randint(3, 40), rng.randint(2, 30)
            n, s = (a, b), [(a, "+", b, a + b), (a, "+", a + b, a + a + b)]
        elif t == 6:  # b fewer than
            a, b = rng.randint(6, 50), rng.randint(2, 30)
            n, s = (a, b), [(a, "-", b, a - b), (a, "+", a - b, a + a - b)]
        elif t == 7:  # b times as many
            a, b = rng.randint(2, 9), rng.randint(2, 9)
            n, s = (a, b), [(a, "*", b, a * b), (a, "+", a * b, a + a * b)]
        elif t == 8:  # two kinds of groups
            a, b, c, d = (rng.randint(2, 9) for _ in range(4))
            n, s = (a, b, c, d), [(a, "*", b, a * b), (c, "*", d, c * d), (a * b, "+", c * d, a * b + c * d)]
        elif t == 9:  # shared equally
            q, b, c = rng.randint(2, 9), rng.randint(2, 9), rng.randint(2, 20)
            n, s = (q * b, b, c), [(q * b, "/", b, q), (q, "+", c, q + c)]
        elif t == 10:  # change
            a, b, c = rng.randint(2, 9), rng.randint(2, 9), rng.randint(10, 90)
            n, s = (a, b, c), [(a, "*", b, a * b), (c, "-", a * b, c - a * b)]
        else:          # give away, pack the rest
            q, c, b = rng.randint(2, 9), rng.randint(2, 9), rng.randint(2, 18)
            n, s = (q * c + b, b, c), [(q * c + b, "-", b, q * c), (q * c, "/", c, q)]
        if all(0 < x[3] <= 99 for x in s) and all(0 < v <= 99 for v in n):
            return n, s


TEMPLATES = 12


def problem(rng, want_held_out):
    """Returns (question, solution, answer). The prompt is 'Q: ' + question + '\\nA:'."""
    while True:
        t = rng.randrange(TEMPLATES)
        n, steps = draw_numbers(rng, t)
        if held_out(t, n) == want_held_out:
            break
    girl = rng.random() < 0.5
    name = rng.choice(FEMALE if girl else MALE)
    he = "she" if girl else "he"
    other = rng.choice([x for x in FEMALE + MALE if x != name])
    o = rng.choice(OBJECTS)
    pick = rng.choice
    bag = pick(BAGS)
    if t == 0:
        q = pick([f"{name} has {n[0]} {o}. {he.title()} buys {n[1]} more and gives {n[2]} to {other}.",
                  f"{name} had {n[0]} {o}, found {n[1]} more and then gave {n[2]} to {other}."])
        q += pick([f" How many {o} does {name} have now?", f" How many {o} are left?"])
        d = [[f"{name} has @ {o}", f"{he} has @ {o}", f"there are @ {o}", f"the {o} add up to @"],
             [f"{he} keeps @ {o}", f"@ {o} are left", f"{name} has @ {o} left", f"{other} takes some and @ remain"]]
    elif t == 1:
        q = pick([f"{name} has {n[0]} {o}. {he.title()} loses {n[1]} and gives {n[2]} to {other}.",
                  f"There were {n[0]} {o} on the table. {name} took {n[1]} and {other} took {n[2]}."])
        q += pick([" How many are left?", f" How many {o} remain?"])
        d = [[f"@ {o} are left", f"@ {o} remain", f"there are @ {o}", f"we have @ {o}"],
             [f"@ {o} are left", f"@ remain", f"there are @ {o}", f"only @ {o} stay"]]
    elif t == 2:
        q = pick([f"{name} has {n[0]} {bag} with {n[1]} {o} in each and {n[2]} loose {o}.",
                  f"{name} fills {n[0]} {bag} with {n[1]} {o} each and has {n[2]} {o} left over."])
        q += pick([f" How many {o} are there?", f" How many {o} does {name} have in all?"])
        d = [[f"the {bag} hold @ {o}", f"in the {bag} there are @ {o}", f"{name} puts @ {o} in the {bag}"],
             [f"with the loose ones there are @ {o}", f"{name} has @ {o}", f"in all we count @", f"the total is @ {o}"]]
    elif t == 3:
        q = pick([f"{name} buys {n[0]} {bag} of {n[1]} {o}. Of these, {n[2]} are bad.",
                  f"{name} has {n[0]} {bag} with {n[1]} {o} in each. {he.title()} sells {n[2]} of the {o}."])
        q += pick([f" How many {o} are left?", f" How many good {o} remain?" if "bad" in q else f" How many {o} remain?"])
        d = [[f"the {bag} hold @ {o}", f"{name} has @ {o}", f"there are @ {o} in the {bag}"],
             [f"@ {o} are left", f"@ remain", f"{he} keeps @ {o}", f"what is left is @ {o}"]]
    elif t == 4:
        c1, c2, c3 = rng.sample(COLOURS, 3)
        q = pick([f"{name} has {n[0]} {c1}, {n[1]} {c2} and {n[2]} {c3} {o}.",
                  f"In a box there are {n[0]} {c1} {o}, {n[1]} {c2} ones and {n[2]} {c3} ones."])
        q += pick([f" How many {o} are there in all?", f" What is the number of {o}?"])
        d = [[f"{c1} and {c2} make @ {o}", f"the {c1} and {c2} ones are @", f"we add {c1} and {c2}: @"],
             [f"with the {c3} ones there are @ {o}", f"the total is @", f"we add the {c3} ones: @", f"in all there are @ {o}"]]
    elif t == 5:
        q = pick([f"{name} has {n[0]} {o}. {other} has {n[1]} more than {name}.",
                  f"{name} found {n[0]} {o} and {other} found {n[1]} more than that."])
        q += pick([f" How many {o} do they have together?", f" How many {o} is that in all?"])
        d = [[f"{other} has @ {o}", f"the {o} of {other} are @", f"for {other} we get @"],
             [f"together they have @ {o}", f"both have @", f"the total is @ {o}", f"in all there are @ {o}"]]
    elif t == 6:
        q = pick([f"{name} has {n[0]} {o}. {other} has {n[1]} fewer than {name}.",
                  f"{name} found {n[0]} {o} and {other} found {n[1]} fewer than that."])
        q += pick([f" How many {o} do they have together?", f" How many {o} is that in all?"])
        d = [[f"{other} has @ {o}", f"the {o} of {other} are @", f"for {other} we get @"],
             [f"together they have @ {o}", f"both have @", f"the total is @ {o}", f"in all there are @ {o}"]]
    elif t == 7:
        q = pick([f"{name} has {n[0]} {o}. {other} has {n[1]} times as many.",
                  f"{name} found {n[0]} {o} and {other} found {n[1]} times that number."])
        q += pick([f" How many {o} do they have together?", f" How many {o} is that in all?"])
        d = [[f"{other} has @ {o}", f"the {o} of {other} are @", f"for {other} we get @"],
             [f"together they have @ {o}", f"both have @", f"the total is @ {o}", f"in all there are @ {o}"]]
    elif t == 8:
        o2 = pick([x for x in OBJECTS if x != o])
        q = pick([f"{name} buys {n[0]} {bag} of {n[1]} {o} and {n[2]} {bag} of {n[3]} {o2}.",
                  f"A shop has {n[0]} {bag} with {n[1]} {o} and {n[2]} {bag} with {n[3]} {o2}."])
        q += pick([" How many things is that in all?", f" How many {o} and {o2} are there?"])
        d = [[f"there are @ {o}", f"the {o} are @", f"we count @ {o}"],
             [f"there are @ {o2}", f"the {o2} are @", f"we count @ {o2}"],
             [f"together there are @", f"the total is @", f"in all we have @", f"{o} and {o2} make @"]]
    elif t == 9:
        q = pick([f"{n[0]} {o} are shared equally by {n[1]} friends. One of them, {name}, had {n[2]} {o} before.",
                  f"{name} and others, {n[1]} in all, share {n[0]} {o} equally. {name} then finds {n[2]} more."])
        q += pick([f" How many {o} does {name} have now?", f" With how many {o} does {name} end up?"])
        d = [[f"each one gets @ {o}", f"the share of {name} is @", f"everyone has @ {o}"],
             [f"{name} has @ {o}", f"{he} ends up with @", f"{name} now owns @ {o}", f"with the others that is @ {o}"]]
    elif t == 10:
        q = pick([f"{name} buys {n[0]} {o} for {n[1]} dollars each and has {n[2]} dollars.",
                  f"{name} has {n[2]} dollars and buys {n[0]} {o} at {n[1]} dollars each."])
        q += pick([" How many dollars are left?", f" How much money does {he} have then?"])
        d = [[f"the {o} cost @ dollars", f"{name} pays @ dollars", f"the price is @ dollars"],
             [f"{he} has @ dollars left", f"@ dollars are left", f"{name} keeps @ dollars", f"what remains is @"]]
    else:
        q = pick([f"{name} has {n[0]} {o}, gives {n[1]} to {other} and puts the rest into {bag} of {n[2]}.",
                  f"Of {n[0]} {o}, {n[1]} are sold. {name} packs the others in {bag} of {n[2]} each."])
        q += pick([f" How many {bag} are there?", f" How many {bag} does {name} fill?"])
        d = [[f"@ {o} are left", f"@ remain", f"{name} keeps @ {o}", f"the rest is @ {o}"],
             [f"{he} fills @ {bag}", f"that makes @ {bag}", f"@ {bag} are full", f"there are @ {bag}"]]

    def equation(a, op, b, r):
        if op == "+" and rng.random() < 0.12:
            a, b = b, a
        return f"{a}{op}{b}{pick(JOIN)}{r}"

    order = list(range(len(steps)))
    if t == 8 and rng.random() < 0.35:
        order = [1, 0, 2]
        a, op, b, r = steps[2]
        steps[2] = (b, op, a, r)
    out = []
    for k, i in enumerate(order):
        text = pick(d[i]).replace("@", equation(*steps[i]))
        last = k == len(order) - 1
        lead = pick(START) if k == 0 else pick(FINAL) if last else pick(NEXT)
        if k > 0 and last and rng.random() < 0.4:
            lead = pick(NEXT)
        if rng.random() < 0.3:
            out.append(text[0].upper() + text[1:] + ".")
        else:
            out.append(lead + " " + text + ".")
    answer = steps[-1][3]
    close = pick(CLOSE).format(r=answer)
    if close:
        out.append(close)
    return q, " " + " ".join(out) + f"\n#### {answer}\n", answer


def prompt(question):
    return f"Q: {question}\nA:"


def stream(seed, want_held_out=False):
    rng = random.Random(seed)
    while True:
        yield problem(rng, want_held_out)


def write_held_out(path, seed=99, count=500):
    """Held-out problems, no question twice. One a line: answer, tab, question."""
    source = stream(seed, want_held_out=True)
    seen = set()
    with open(path, "w") as f:
        while len(seen) < count:
            q, _, a = next(source)
            if q not in seen:
                seen.add(q)
                f.write("%d\t%s\n" % (a, q))


if __name__ == "__main__":
    g = stream(1)
    for _ in range(24):
        q, s, a = next(g)
        print(prompt(q) + s)
