# SPDX-License-Identifier: Apache-2.0
"""Delivery: whole messages in order, exactly once, within one incarnation. It runs over datagrams that are lost,
copied, late or damaged, and over transports that deliver each message at least once.

connect {client nonce} -> accept {both nonces} -> data. A data datagram has 3 bits of its number, 3 bits of what it
acknowledges, a bit `ask`, a control bit, and a check over both nonces, direction, the whole numbers and the payload.
Only the client has a timer. The server repeats what is not acknowledged if it is asked to.
"""
from session import digest


class Delivery:
    WINDOW, MOD = 4, 8

    def __init__(self, client, nonces, timers=True, limit=8):
        self.client, self.nonces, self.timers, self.limit = client, nonces, timers, limit
        self.live = self.candidate = self.opening = None  # pairs (client nonce, server nonce); a nonce
        self.wire, self.up = [], []  # datagrams to send; events for the session
        self.begin()

    def begin(self):
        self.sent, self.next_number, self.acked, self.checks = {}, 0, 0, set()
        self.expected, self.early, self.attempts, self.unsaid = 0, {}, 0, 0

    # The session's side ----------------------------------------------------------------------------------------------
    def open(self):
        self.live, self.opening = None, self.nonces()
        self.begin()
        self.wire.append(("connect", self.opening))

    def room(self):
        return self.live is None or len(self.sent) < self.WINDOW

    def send(self, payload):
        if self.live is None:
            return
        self.sent[self.next_number] = payload
        self.next_number += 1
        self.data(self.next_number - 1)

    # Datagrams -------------------------------------------------------------------------------------------------------
    def check(self, pair, from_client, number, acked, ask, payload):
        return digest(pair, from_client, number, acked, ask, payload) & 0xFFFFFFFF

    def data(self, number, ask=False):
        payload = self.sent.get(number)
        check = self.check(self.live, self.client, number, self.expected, ask, payload)
        self.checks.add(check)
        self.unsaid = 0
        self.wire.append(("data", check, number % self.MOD, self.expected % self.MOD, ask, payload))

    def tick(self):
        """The client's timer: something is unanswered for too long."""
        self.attempts += 1
        if self.attempts > self.limit:
            return self.lose()
        if self.live is None:
            self.wire.append(("connect", self.opening))
        for number in (sorted(self.sent) or [self.next_number]) if self.live else []:
            self.data(number, ask=True)

    def lose(self):
        self.live = self.opening = None
        self.begin()
        self.up.append(("lost",))

    def receive(self, datagram):
        kind = datagram[0]
        if kind == "connect" and not self.client:
            self.on_connect(datagram[1])
        elif kind == "accept" and self.client:
            if self.opening == datagram[1] and self.live is None:
                self.live, self.attempts = (datagram[1], datagram[2]), 0
                self.up.append(("open",))
        elif kind == "reset" and self.client:
            if self.live and datagram[1] in self.checks:  # believed only if it names one of ours
                self.lose()
        elif kind == "data":
            self.on_data(datagram)

    def on_connect(self, nonce):
        """One live pair and one candidate: a late or copied connect changes nothing."""
        if self.live and self.live[0] == nonce:
            return self.wire.append(("accept", *self.live))
        if not (self.candidate and self.candidate[0] == nonce):
            self.candidate = (nonce, self.nonces())
        self.wire.append(("accept", *self.candidate))

    def whole_number(self, low, base):
        return base + (low - base) % self.MOD

    def fits(self, pair, datagram, expected, acked):
        _, check, low, low_acked, ask, payload = datagram
        number = self.whole_number(low, max(expected - self.WINDOW, 0))
        acked = self.whole_number(low_acked, max(acked - self.WINDOW + 1, 0))
        right = check == self.check(pair, not self.client, number, acked, ask, payload)
        return (number, acked, ask, payload) if right else None

    def on_data(self, datagram):
        found = self.live and self.fits(self.live, datagram, self.expected, self.acked)
        if not found and self.candidate:
            found = self.fits(self.candidate, datagram, 0, 0)
            if found:  # the client has our nonce, so it is alive, and the newest
                self.live, self.candidate = self.candidate, None
                self.begin()
                self.up.append(("new",))
        if found:
            self.take(*found)
        elif not self.client and (self.live is None or not self.timers):
            self.wire.append(("reset", datagram[1]))

    def take(self, number, acked, ask, payload):
        self.attempts = 0
        self.acked = max(self.acked, acked)
        for done in [n for n in self.sent if n < acked]:
            del self.sent[done]
        known = payload is not None and number < self.expected
        if payload is not None and self.expected <= number < self.expected + self.WINDOW:
            self.early[number] = payload
            while self.expected in self.early:
                self.up.append(("message", self.early.pop(self.expected)))
                self.expected += 1
                self.unsaid += 1
        if not self.client and (ask or known):
            self.repeat()
        elif self.unsaid >= 2:  # a stream: acknowledge now and then
            self.data(self.next_number)

    def repeat(self):
        """The client asked: all that is not acknowledged, or that nothing is missing."""
        for number in sorted(self.sent) or [self.next_number]:
            self.data(number)
