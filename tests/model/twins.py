# SPDX-License-Identifier: Apache-2.0
"""Planted faults: the judge of schedule.py must see each, by the name that stands next to it. usage: twins.py [MOST]

Prints the first wrong schedule of each twin, of at most MOST (20 000 if not given).
"""
import sys

import schedule
from cloud import Cloud
from delivery import Delivery
from edge import Edge
from session import hash_of


def no_nonce(receive):
    def twin(self, message, nonce):
        if message[0] == "hello":
            message = ("hello", self.nonce, *message[2:])
        receive(self, message, nonce)
    return twin


def swapped(first, second):
    """Makes a method put its next output of kind `first` after the next one of kind `second`."""
    def make(method):
        def twin(self, *args):
            begin = len(self.out)
            method(self, *args)
            kinds = [out[0] for out in self.out]
            if first in kinds[begin:] and second in kinds[begin:]:
                a, b = kinds.index(first, begin), kinds.index(second, begin)
                if a < b:
                    self.out[a], self.out[b] = self.out[b], self.out[a]
        return twin
    return make


def answered_at_once(on_hello):
    def twin(self, hello):
        works, self.wants_rows = self.wants_rows and self.state == "evaluating", False
        if not works:
            return on_hello(self, hello)
        self.wants_rows, self.shaken = True, True
        self.send(*hello._replace(length=len(self.text), digest=hash_of(self.text), round=self.round, over=self.over,
                                  verdict=self.verdict))
    return twin


def half_told(on_text):
    """Tells the host each fetched piece, and journals it, before the text is whole."""
    def twin(self, message, nonce):
        before = len(self.incoming)
        on_text(self, message, nonce)
        if self.state == "fetching_text" and len(self.incoming) > before:
            self.out.append(("commit", len(self.text), tuple(self.incoming[len(self.text) - self.agreed:]), None))
    return twin


def sent_before_journaled(supply_row):
    def twin(self):
        begin = len(self.out)
        supply_row(self)
        new = [self.out.pop() for _ in range(len(self.out) - begin)][::-1]
        self.out.extend(sorted(new, key=lambda out: out[0] == "journal" and not hasattr(out[1], "first")))
    return twin


def repeats_nothing(take):
    def twin(self, *found):
        before = len(self.wire)
        take(self, *found)
        if not self.client:
            del self.wire[before:]
    return twin


def any_draft(fetched):
    """The text counts as a verdict on the open draft, whatever draft it was given for."""
    def twin(self, whole, said):
        if said.verdict and self.draft_complete():
            said = said._replace(verdict=said.verdict._replace(draft=hash_of(self.draft)))
        fetched(self, whole, said)
    return twin


def smaller_round(_):
    def twin(self, hello):
        return (min if hello.length == len(self.text) else max)(self.round, hello.round)
    return twin


def own_round(_):
    return lambda self, hello: self.round


def drafts_anyway(_):
    return lambda self: self.terms.rule != "stream"


def never_again(_):
    return lambda self, nonce: None


def takes_all(_):
    return lambda self, hello, verified: False


def takes_any_refusal(_):
    return lambda self, nonce: True


def no_incarnation(check):
    return lambda self, pair, *more: check(self, 0, *more)


def low_numbers(check):
    return lambda self, pair, client, number, acked, *more: check(self, pair, client, number % 8, acked % 8, *more)


TWINS = [  # name, what is changed and how, what the judge must say, the schedule to begin with
    ("hello without a nonce", Edge, "receive", no_nonce, "unexpected_message", 0),
    ("refusal without a nonce", Edge, "is_meant", takes_any_refusal, "unverified_text, and", 137700),
    ("hello answered while the engine works", Cloud, "on_hello", answered_at_once, "unexpected_message", 0),
    ("verdict sent before it is journaled", Cloud, "append", swapped("journal", "send"), "not journaled", 0),
    ("committed before it is journaled", Edge, "commit", swapped("journal", "commit"), "not journaled", 0),
    ("draft sent before it is journaled", Edge, "supply_row", sent_before_journaled, "learned something else", 300),
    ("token alone before the handshake", Edge, "drafts_offline", drafts_anyway, "committed text changed", 2800),
    ("digest of the draft not compared", Edge, "fetched", any_draft, "learned what was never decided", 0),
    ("half a fetched text told", Edge, "on_text", half_told, "not journaled", 0),
    ("equal lengths take the smaller round", Cloud, "common_round", smaller_round, "the round went back", 0),
    ("the cloud keeps its own round", Cloud, "common_round", own_round, "stale_round", 0),
    ("no deadline for an answer", Edge, "shake_again", never_again, "no end", 0),
    ("handshakes without a bound", Edge, "HANDSHAKES", lambda _: 10 ** 9, "no end", 0),
    ("text of the device taken", Cloud, "hands_over", takes_all, "unverified text is asked for", 0),
    ("check of a datagram without nonces", Delivery, "check", no_incarnation, "unexpected_message", 0),
    ("check of a datagram with low numbers alone", Delivery, "check", low_numbers, "unexpected_message", 0),
    ("server that repeats nothing", Delivery, "take", repeats_nothing, "peer_timeout", 0),
]


def find(owner, attribute, make, first, most):
    """The first schedule that the judge rejects, and why."""
    real = getattr(owner, attribute)
    setattr(owner, attribute, make(real))
    try:
        for seed in range(first, first + most):
            try:
                schedule.judge(seed)
            except (AssertionError, KeyError) as wrong:
                return seed, f"{type(wrong).__name__} {wrong}"
        return None, "not found"
    finally:
        setattr(owner, attribute, real)


def main(most=20000):
    """Whether each twin was found, by its name."""
    all_found = True
    for name, owner, attribute, make, seen_as, first in TWINS:
        seed, why = find(owner, attribute, make, first, most)
        found = seed is not None and seen_as in why
        all_found = all_found and found
        print(f"{name}: " + (f"schedule {seed}: {seen_as}" if found else f"NOT SEEN as {seen_as}: {seed}: {why}"))
    return all_found


if __name__ == "__main__":
    sys.exit(not main(*map(int, sys.argv[1:])))
