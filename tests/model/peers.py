# SPDX-License-Identifier: Apache-2.0
"""Peers that are not honest: clouds that say anything or nothing, or forget, and both sides lying consistently."""
from collections import deque

from edge import Edge
from session import MAX_ROUND, STOP, V, Hello, digest, hash_of


class LyingCloud:
    """Answers under the right nonces. The consistent one has text of its own, and all its hashes are right."""

    def __init__(self, rng, kind, edge_text):
        self.rng, self.kind, self.edge_text, self.out, self.state, self.text = rng, kind, edge_text, deque(), "lies", []
        self.wants_rows, self.pieces, self.round, self.nonce = False, None, 1, 0

    def send(self, *message):
        self.out.append(("send", message))

    def next(self):
        return self.out.popleft() if self.out else None

    def disconnect(self):
        pass

    def receive(self, m):
        if m[0] == "hello":
            self.nonce = m[1]
        if self.kind == "forgets":  # in step, and knows nothing of it afterwards
            return self.send(*m) if m[0] == "hello" else self.send("refuse", "no_handshake", 0)
        return getattr(self, self.kind)(m)

    def silent(self, m):
        pass

    def random(self, m):
        r = self.rng
        hello = Hello(*m) if m[0] == "hello" else Hello("hello", 0, 1, r.randrange(12), 0, 1, False, None)
        n, text = r.randrange(12), tuple(r.randrange(V) for _ in range(r.randrange(3)))
        for _ in range(r.choice((0, 1, 1, 1, 2))):
            self.send(*r.choice((
                hello._replace(round=hello.round + r.randrange(-1, 9)),
                hello._replace(round=r.choice((0, MAX_ROUND, 2 * MAX_ROUND))),
                hello._replace(length=n, digest=r.randrange(5), over=r.random() < .3),
                ("text", 0, text), ("feedback", 0, r.randrange(3), r.randrange(V)), ("request", 0, (0,)),
                ("stop", n, 0),
                ("refuse", r.choice(("no_handshake", "engine_failed")), self.nonce))))

    def check(self, kind):
        return digest(hash_of(self.text), self.round, kind)

    def consistent(self, m):
        r = self.rng
        if m[0] == "hello":
            hello = Hello(*m)
            known = self.edge_text()[:hello.length]
            self.text = known + [r.randrange(V - 1) for _ in range(r.randrange(3))]
            self.round = r.choice((hello.round, hello.round + 1, MAX_ROUND))
            self.send(*hello._replace(length=len(self.text), digest=hash_of(self.text), round=self.round))
            if len(self.text) > len(known):
                self.send("text", digest(hash_of(known), self.round, "text"), tuple(self.text[len(known):]))
        elif m[0] == "draft":
            _, _, alone, draft = m
            accepted, check = r.randrange(len(draft) + 1), self.check("feedback")
            new = list(draft[:accepted]) + [r.randrange(STOP)]
            self.text, self.round = self.text + list(alone) + new, min(self.round + 1, MAX_ROUND)
            self.send("feedback", check, accepted, new[-1])
        elif m[0] == "stop":
            self.send(*m)


class LyingDevice(Edge):
    """Claims a longer text of its own in every hello but the first few. Hashes and pieces are right; rounds are not."""

    def __init__(self, terms, engine, rng, honest_hellos):
        super().__init__(terms, engine)
        self.rng, self.honest_hellos, self.claims = rng, honest_hellos, []

    def hello(self, nonce):
        if self.honest_hellos > 0:
            self.honest_hellos -= 1
            return super().hello(nonce)
        r, first = self.rng, self.agreed
        own = [r.randrange(V - 1) for _ in range(r.randrange(1, 4))]
        del self.text[self.agreed:]  # what it committed alone gives way to what it claims
        self.draft, self.wants_row = None, False
        self.text = (self.text + own)[:max(self.limit(), first)]
        self.agreed = len(self.text)
        self.note_end()
        self.journal_text(first)
        self.claims.append(self.agreed)
        said = super().hello(nonce)
        return said._replace(round=r.choice((self.round, self.round, 1, MAX_ROUND, 2 * MAX_ROUND)))
