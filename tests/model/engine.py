# SPDX-License-Identifier: Apache-2.0
"""Rows and keyed numbers of one incarnation of a side. With jitter, the next incarnation has other rows for a third of
all prefixes, as an engine that was restarted in a batch of another shape."""
from session import STOP, V, digest


def pick(weights, *key):
    u = digest(*key) % sum(weights)
    for token, weight in enumerate(weights):
        if u < weight:
            return token
        u -= weight
    raise AssertionError(weights)


class Engine:
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
