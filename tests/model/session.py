# SPDX-License-Identifier: Apache-2.0
"""What both sides of a session share: terms, outputs, states, and the text that the longer side pushes.

Within a connection, messages come in order and exactly once; a connection may be lost at any time. Each one begins with
the handshake, hello for hello. The longer side then pushes its text, and after the last piece both are in step. The
only way back from anything odd is to shake hands again. Nothing here counts messages, and nothing repeats them.

A message is a tuple (kind, ...). The model is no copy of the C++: it says what must hold, in as few lines as it can.
"""
from collections import Counter, deque, namedtuple
from hashlib import blake2b

V, STOP = 4, 3  # a toy vocabulary; token 3 ends a text
MAX_ROUND = 2 ** 31  # of a message; rounds saturate there

Terms = namedtuple("Terms", "id rule prompt budget draft_length chunk alone keeps_drafts required")
Hello = namedtuple("Hello", "kind nonce id length digest round over verdict")
Verdict = namedtuple("Verdict", "round accepted draft")  # the last one, as the cloud's hello ends with it
EdgeRecord = namedtuple("EdgeRecord", "first tokens agreed round over learner done")
DraftRecord = namedtuple("DraftRecord", "tokens")
CloudRecord = namedtuple("CloudRecord", "first tokens round over target salt id verdict handed_over")


def digest(*values):
    """64 bits that depend on all values, the same in every run."""
    return int.from_bytes(blake2b(repr(values).encode(), digest_size=8).digest(), "little")


def hash_of(tokens):
    return digest(tuple(tokens))


class Side:
    """Outputs come in order: ("journal", record), ("commit", first, tokens, authority), ("send", message), ..."""

    entered = Counter()  # (table, state, event): how often, over all sessions

    def __init__(self, terms, engine, table):
        self.terms, self.engine, self.table, self.state = terms, engine, table, table.states[0]
        self.out, self.text, self.round, self.over, self.reason = deque(), [], 1, False, None
        self.pieces = None  # (next position, end) of the text that this side pushes
        self.misfits = 0  # steady messages whose check did not fit

    def enter(self, event):
        Side.entered[id(self.table), self.state, event] += 1
        self.state = self.table.moves[self.state, event]

    def takes(self, kind):
        return kind in self.table.taken[self.state]

    def send(self, *message):
        self.out.append(("send", message))

    def check(self, kind, text, round_=None):
        """Of a steady message: the text that both have, the round and the kind."""
        return digest(hash_of(text), round_ or self.round, kind)

    def next(self):
        """The next output. Pieces are made as the host drains, so they need no memory and fit every window."""
        if not self.out and self.pieces:
            at, end = self.pieces
            to = min(end, at + self.terms.chunk)
            self.send("text", self.check("text", self.text[:at]), tuple(self.text[at:to]))
            self.pieces = (to, end) if to < end else None
            if not self.pieces:
                self.in_step()
        return self.out.popleft() if self.out else None

    def limit(self):
        return self.terms.prompt + self.terms.budget

    def note_end(self):
        n = len(self.text)
        self.over = self.over or n >= self.limit() or (n > self.terms.prompt and self.text[-1] == STOP)

    def next_round(self, by=1):
        self.round = min(self.round + by, MAX_ROUND)


def pick(weights, *key):
    u = digest(*key) % sum(weights)
    for token, weight in enumerate(weights):
        if u < weight:
            return token
        u -= weight
    raise AssertionError(weights)


class Engine:
    """Rows and keyed numbers of one incarnation of a side. With jitter, the next incarnation has other rows for a third of
    all prefixes, as an engine that was restarted in a batch of another shape."""

    def __init__(self, seed, terms, incarnation, jitter, new_salt):
        self.seed, self.terms, self.incarnation, self.jitter, self.new_salt = seed, terms, incarnation, jitter, new_salt
        self.weights_of = {}

    def weights(self, text, who):
        key = (tuple(text), who)
        if key not in self.weights_of:
            h = digest(self.seed, key)
            if self.jitter and digest(h, self.incarnation) % 3 == 0:
                h = digest(h, self.incarnation, 1)
            self.weights_of[key] = [1 + (h >> (8 * i)) % 29 for i in range(V - 1)] + [(h >> 40) % 3]
        return list(self.weights_of[key])

    # The edge's ------------------------------------------------------------------------------------------------------
    def draft(self, text, round_):
        near = [a + b for a, b in zip(self.weights(text, 0), self.weights(text, 1))]
        return pick(near, self.seed, len(text), round_, 7)

    def commits_alone(self, text):
        return digest(self.seed, len(text), 9) % 3 == 0

    def hidden(self, text, draft, i):
        return draft[i] * 5 + len(text)

    # The cloud's: keyed by salt, position, round and purpose ---------------------------------------------------------
    def draw(self, salt, text, round_):
        return pick(self.weights(text, 0), salt, len(text), round_, 8)

    def decide(self, salt, text, draft, round_, known):
        """(accepted, the next token or None), or ("needs", positions whose hidden states are missing)."""
        if self.terms.rule == "semantic":
            return self.decide_by_scores(text, draft, known)
        at = list(text)
        for i, x in enumerate(draft):
            w = self.weights(at, 0)
            if digest(salt, len(at), round_, 3) % sum(w) >= w[x]:
                w[x] = 0
                return i, pick(w, salt, len(at), round_, 4)
            at.append(x)
            if x == STOP:
                return i + 1, None
        return len(draft), pick(self.weights(at, 0), salt, len(at), round_, 5)

    def decide_by_scores(self, text, draft, known):
        best = []
        for i in range(len(draft) + 1):
            w = self.weights(list(text) + list(draft[:i]), 0)
            best.append(w.index(max(w)))
        missing = tuple(i for i, x in enumerate(draft) if x != best[i] and i not in known)
        if missing:
            return "needs", missing
        for i, x in enumerate(draft):
            if x != best[i] and known[i] % 3 == 0:
                return i, best[i]
            if x == STOP:
                return i + 1, None
        return len(draft), best[len(draft)]
