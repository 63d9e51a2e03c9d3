# SPDX-License-Identifier: Apache-2.0
"""Runs schedules, and judges each. usage: schedule.py FIRST COUNT

Prints what came of them, and stops at the first wrong one. One schedule is one text of 3 to 14 tokens.
"""
import sys
import time
from collections import Counter

from session import Side
from states import CLOUD, EDGE
from world import World


def judge(seed):
    """(the world after its run, what came of it, whether it was compared); raises at what must not happen."""
    world = World(seed)
    what = world.run()
    e, terms = world.e, world.terms
    if world.liar:
        judge_liar(world, what)
        return world, what, False
    misfits = e.misfits + (world.c.misfits if world.c else 0)
    assert misfits == 0, ("a check did not fit between honest sides", what)
    if what == "refused: unknown_session":
        assert "e" in world.was_cut and not e.text, ("unknown_session, and the edge has text", e.text)
        assert world.c is None or not world.c.whole(), ("unknown_session, and the cloud has the text", world.c.text)
    elif what == "refused: unverified_text":
        assert terms.required == "unconditional" and "c" in world.was_cut, ("unverified_text without a cut", terms)
        assert e.agreed > len(world.held("c")), ("unverified_text, and the cloud has the text", e.text)
    else:
        assert what == "finished", ("an end by name between honest sides", what)
    if what != "finished" or world.was_cut or world.jitter:
        return world, what, False
    calm = world.calm()
    assert calm.run() == "finished" and calm.e.text == e.text, ("another text than without faults", calm.e.text, e.text)
    assert calm.e.learner == e.learner or not terms.keeps_drafts, "learned something else than without faults"
    return world, what, True


def judge_liar(world, what):
    """The run has checked committed text, authority and journals. Only a consistent cloud is believed."""
    if world.liar == "cloud":
        assert what != "finished" or world.lie == "consistent", ("a lie was believed", world.lie)
    elif world.terms.required == "unconditional":
        assert world.handed_over == 0, "unverified text was taken"


def group(world):
    return f"lying {world.liar}, {world.terms.required}" if world.liar else f"honest, {world.terms.required}"


def run(first, count):
    """Counters: (group, outcome), (transport, group), totals."""
    outcomes, transports, totals = Counter(), Counter(), Counter()
    for seed in range(first, first + count):
        try:
            world, what, compared = judge(seed)
        except Exception:
            print(f"schedule {seed} is wrong")
            raise
        outcomes[group(world), what] += 1
        transports[world.transport, group(world)] += 1
        totals.update(world.counts)
        totals["compared with the run without faults"] += compared
        totals["verdicts that came in hello"] += world.e.verdicts_in_hello
        totals["tokens handed over and taken"] += world.handed_over
    return outcomes, transports, totals


def unused():
    """Pairs of the tables that no session has entered."""
    found = []
    for side, table in (("edge", EDGE), ("cloud", CLOUD)):
        found += [f"{side}: {event} {state}" for state, event in table.moves
                  if (id(table), state, event) not in Side.entered]
    return found


def main(first, count):
    begin = time.process_time()
    for counter in run(first, count):
        for key, n in sorted(counter.items()):
            print(f"{n:>9}  {key if isinstance(key, str) else ': '.join(key)}")
        print()
    print("transitions that did not happen:", ", ".join(unused()) or "none")
    print(f"{count} schedules, {time.process_time() - begin:.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
