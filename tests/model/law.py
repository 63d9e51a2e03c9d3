# SPDX-License-Identifier: Apache-2.0
"""The distribution of the committed text under a device that does as it likes. usage: law.py SESSIONS

V = 3, texts of 4 tokens, `required = unconditional`. The device wants texts that begin with token 0, and remembers all
that it was ever sent. It drafts as it likes, also again for a round that it has seen. It breaks connections, comes back
with less text, claims other rounds, and claims text of its own. The cloud keeps its journal, and is killed at any
output. All 81 texts are compared with the target's by chi-square. Three twins must be found.
"""
import math
import random
import sys
from collections import deque

from cloud import Cloud
from session import Terms, digest, hash_of

V, N = 3, 4
TERMS = Terms(id=1, rule="token", prompt=1, budget=N, draft_length=3, chunk=9, alone=0, keeps_drafts=True,
              required="unconditional")
PROMPT = [0]


def target(text):
    """Weights of the token after `text`, the prompt left out."""
    h = (len(text) * 7 + sum(t * (i + 2) for i, t in enumerate(text))) % 5
    return ((5, 3, 2), (2, 5, 3), (4, 4, 2), (6, 1, 3), (1, 2, 7))[h]


class Numbers:
    """The engine, and uniform numbers as the keyed function gives them: by salt, position, round and purpose."""

    def __init__(self, rng, with_round=True):
        self.rng, self.drawn, self.with_round = rng, {}, with_round

    def uniform(self, salt, position, round_, purpose):
        key = (salt, position, round_ if self.with_round else 0, purpose)
        if key not in self.drawn:
            self.drawn[key] = self.rng.random()
        return self.drawn[key]

    def pick(self, weights, u):
        u *= sum(weights)
        for token, weight in enumerate(weights):
            if u < weight:
                return token
            u -= weight
        return max(i for i, weight in enumerate(weights) if weight)

    def new_salt(self):
        return self.rng.getrandbits(60)

    def decide(self, salt, text, draft, round_, _known):
        at = list(text)
        for i, x in enumerate(draft):
            w = list(target(at[1:]))
            if self.uniform(salt, len(at), round_, 3) * sum(w) >= w[x]:
                w[x] = 0
                return i, self.pick(w, self.uniform(salt, len(at), round_, 4))
            at.append(x)
            if len(at) == N + 1:
                return i + 1, None
        return len(draft), self.pick(target(at[1:]), self.uniform(salt, len(at), round_, 5))


class Session:
    """One session to its end, as the cloud commits it."""

    def __init__(self, rng, numbers, twin):
        self.rng, self.numbers, self.twin = rng, numbers, twin
        self.disk, self.seen = [], list(PROMPT)  # the cloud's; the longest text that the device was ever shown
        self.text, self.round, self.shaken = list(PROMPT), 1, False  # where the device is
        self.unwanted = None  # a first token that it was shown instead of 0
        self.begin_cloud()

    def begin_cloud(self):
        self.cloud = (TrustingCloud if self.twin == "trusts" else Cloud)(TERMS, self.numbers)
        self.cloud.restore(self.disk)
        self.shaken = False

    def drain(self, until):
        """(messages, whether the cloud was killed): what comes at output `until` or later is lost."""
        messages = []
        for count in range(99):
            if count == until:
                return messages, True
            out = self.cloud.next()
            if out is None:
                return messages, False
            if out[0] == "journal":
                self.disk.append(out[1])
            elif out[0] == "send":
                messages.append(out[1])
        raise AssertionError("the cloud goes on forever")

    def run(self):
        for _ in range(600):
            if self.cloud.state == "closing":
                return tuple(self.cloud.text[1:])
            if self.cloud.state == "failed":  # the device said what no edge says
                self.begin_cloud()
            kill = self.rng.randrange(5) if self.rng.random() < .25 else None
            if self.twin == "sends_first" and self.rng.random() < .6:
                kill = 1  # between the message and the journal
            unhappy = self.seen[1:2] not in ([], [0]) and self.rng.random() < .5
            if not self.shaken or unhappy or self.rng.random() < .15:
                died = self.shake_hands(kill, unhappy)
            else:
                died = self.send_draft(kill)
            if len(self.text) > len(self.seen):
                self.seen = list(self.text)
            if self.seen[1:2] not in ([], [0]):
                self.unwanted = self.seen[1]
            disappointed = self.seen[1:2] not in ([], [0]) and len(self.disk) > 1
            if self.twin == "forgets" and disappointed and self.rng.random() < .3:
                del self.disk[1:]  # no fsync: what it had shown is gone, and the device tries again
                self.seen, died = list(PROMPT), True
            if died:
                self.begin_cloud()
        raise AssertionError(("no end", self.cloud.state, self.cloud.text))

    def shake_hands(self, kill, unhappy):
        """With all that it has seen, or less, or with text of its own after that; with a round that it likes."""
        r = self.rng
        shown = self.seen
        if unhappy:
            shown = shown[:1]
        elif r.random() < .5:
            shown = shown[:r.randrange(1, len(shown) + 1)]
        own = []
        if r.random() < .2 and len(shown) <= N:
            own = [0 if len(shown) == 1 else r.randrange(V)] * r.randrange(1, N + 2 - len(shown))
        claimed = list(shown) + own
        rounds = (1, 1, self.round, 9)
        hello = ("hello", r.getrandbits(32), 1, len(claimed), hash_of(claimed), r.choice(rounds), False, None)
        self.cloud.receive(hello)
        messages, died = self.drain(kill)
        self.shaken = False
        for m in messages:
            if m[0] == "hello":
                self.shaken, length, self.round, self.text = True, m[3], m[5], claimed
                if length < len(claimed):
                    check = digest(hash_of(claimed[:length]), self.round, "text")
                    self.cloud.receive(("text", check, tuple(claimed[length:])))
                    died = self.drain(None)[1] or died
                elif length > len(claimed):
                    self.shaken = len(messages) > 1
            elif m[0] == "text":
                self.text = self.text + list(m[2])
        if not self.shaken:
            self.text = list(shown)
        if any(m[0] == "refuse" for m in messages) and not own:
            assert self.twin, "the cloud has forgotten what it has shown"
            self.seen, self.text = list(PROMPT), list(PROMPT)
        return died

    def wish(self):
        """Drafts of what it wants: 0 first, then the likeliest token or any. If a first token is open that was another
        one before, it drafts that one: if the numbers are the same ones, that one is rejected, and 0 is likely."""
        r, draft = self.rng, []
        if self.unwanted and len(self.text) == 1 and r.random() < .7:
            return (self.unwanted,)
        for i in range(min(r.choice((0, 1, 2, 3)), N - len(self.text))):
            w = target((self.text + draft)[1:])
            wanted = r.random() < .7 and len(self.text) + i < 3
            draft.append(0 if wanted else r.choice((w.index(max(w)), r.randrange(V))))
        return tuple(draft)

    def send_draft(self, kill):
        r, cloud = self.rng, self.cloud
        cloud.receive(("draft", digest(hash_of(self.text), self.round, "draft"), (), self.wish()))
        if r.random() < .1:
            return True  # killed while the engine works
        if cloud.wants_rows:
            if r.random() < .2:  # a second connection meanwhile: the verdict comes as text, or never
                cloud.receive(("hello", 5, 1, len(self.text), hash_of(self.text), 1, False, None))
            cloud.supply_rows()
            if self.twin == "sends_first":
                cloud.out = deque(sorted(cloud.out, key=lambda out: out[0] != "send"))
        messages, died = self.drain(kill)
        for m in messages:
            if m[0] == "feedback":
                self.text = self.text + list(cloud.draft[:m[2]]) + ([m[3]] if m[3] is not None else [])
                self.round += 1
            elif m[0] == "text":
                self.text = self.text + list(m[2])
            elif m[0] == "hello":
                self.round = m[5]
            elif m[0] == "refuse":
                self.shaken = False
        return died


class TrustingCloud(Cloud):
    def hands_over(self, hello, verified):
        return False

    def restore(self, records):
        super().restore([record._replace(handed_over=False) for record in records])


def chi_square(counts, n):
    """(statistic, degrees, p by Wilson and Hilferty) of all texts against the target's distribution."""
    expected = {(): float(n)}
    for _ in range(N):
        expected = {text + (t,): e * w / sum(target(text)) for text, e in expected.items()
                    for t, w in enumerate(target(text))}
    x, k = sum((counts.get(text, 0) - e) ** 2 / e for text, e in expected.items()), len(expected) - 1
    z = ((x / k) ** (1 / 3) - (1 - 2 / (9 * k))) / math.sqrt(2 / (9 * k))
    return x, k, .5 * math.erfc(z / math.sqrt(2))


def measure(name, n, twin=None, seed=20261126, with_round=True):
    rng, counts = random.Random(seed), {}
    for _ in range(n):
        text = Session(rng, Numbers(rng, with_round), twin).run()
        counts[text] = counts.get(text, 0) + 1
    x, k, p = chi_square(counts, n)
    wished = sum(c for text, c in counts.items() if text[0] == 0) / n
    print(f"{name}: {n} sessions, chi-square {x:.1f} of {k} degrees, p = {p:.2g}, "
          f"P(first = 0) = {wished:.4f} (target .5)")
    return p


def main(n):
    exact = [measure("a device at will, a cloud killed anywhere", n), measure("the same, another seed", n, seed=2),
             measure("the same, no round in the key", n, with_round=False)]
    twins = [measure("twin: verdict sent before it is on disk", n // 10, "sends_first"),
             measure("twin: a shown verdict is forgotten", n // 10, "forgets"),
             measure("twin: text of the device is taken", n // 10, "trusts")]
    assert min(exact) > 1e-4, "another distribution than the target's"
    assert max(twins) < 1e-6, "a twin was not found"


if __name__ == "__main__":
    main(int(sys.argv[1]))
