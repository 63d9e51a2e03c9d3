# SPDX-License-Identifier: Apache-2.0
"""The cloud's side of a session: it verifies, and never decides again what it has shown."""
from session import MAX_ROUND, CloudRecord, Hello, Side, Verdict, hash_of
from states import CLOUD


class Cloud(Side):
    def __init__(self, terms, engine):
        super().__init__(terms, engine, CLOUD)
        self.shaken, self.owed = False, None  # the handshake of this connection; a hello that waits for the engine
        self.nonce = 0  # of the last hello
        self.wants_rows = False
        self.target = (0, 0)  # length and hash of a text that is being filled
        self.salt, self.id, self.verdict, self.handed_over = None, None, None, False
        self.draft, self.alone, self.known, self.asked = (), (), {}, ()

    def restore(self, records):
        for r in records:
            assert r.first <= len(self.text), "a journal that its own side refuses: a gap"
            self.text[r.first:] = r.tokens
            _, _, self.round, self.over, self.target, self.salt, self.id, self.verdict, self.handed_over = r
            assert max(len(self.text), self.target[0]) <= self.limit() and 1 <= self.round <= MAX_ROUND, \
                "a journal that its own side refuses: lengths or round"
            assert not (self.handed_over and self.terms.required == "unconditional"), \
                "a journal that its own side refuses: unverified_text"
        if records:
            self.enter("meet")
            if self.whole():
                self.settle("in_step")

    def journal(self, first):
        self.out.append(("journal", CloudRecord(first, tuple(self.text[first:]), self.round, self.over, self.target,
                                                self.salt, self.id, self.verdict, self.handed_over)))

    def whole(self):
        return len(self.text) >= max(self.target[0], self.terms.prompt)

    def disconnect(self):
        """The host may say so; the next hello says it anyway."""
        self.shaken, self.pieces = False, None

    def refuse(self, why):
        """Names the last hello. A hello that is refused leaves the session as it was."""
        self.send("refuse", why, self.nonce)

    def fail(self, why):
        self.enter("fail")
        self.reason, self.wants_rows, self.pieces = why, False, None
        self.refuse(why)
        self.out.append(("failed", why))

    # Messages --------------------------------------------------------------------------------------------------------
    def receive(self, message):
        kind = message[0]
        if kind == "hello":
            return self.on_hello(Hello(*message))
        if kind == "refuse":
            return self.disconnect()  # the edge has failed; another life of it shakes hands
        if self.state == "failed":
            return self.refuse(self.reason)
        if not self.shaken:
            return self.refuse("no_handshake")
        if not self.takes(kind):
            return self.fail("unexpected_message")
        if kind != "stop" and message[1] != self.check(kind, self.text):
            self.misfits += 1
            self.disconnect()
            return self.refuse("no_handshake")
        getattr(self, "on_" + kind)(*message[1 if kind == "stop" else 2:])

    def on_hello(self, hello):
        """In any state the beginning of a new connection, which replaces the one before."""
        self.disconnect()
        self.nonce = hello.nonce
        if self.wants_rows:  # the verdict comes first, then where we stand with it
            self.owed = hello
        else:
            self.answer(hello)

    def why_refused(self, hello):
        mine, prompt = len(self.text), self.terms.prompt
        if self.state == "failed":
            return self.reason
        if self.state != "blank" and hello.id != self.id:
            return "unexpected_message"
        if hello.length > self.limit():
            return "base_length_mismatch"
        if not 1 <= hello.round <= MAX_ROUND:
            return "field_out_of_range"
        if hello.length < prompt and not self.whole():
            return "unknown_session"  # nobody has the rest
        if self.hands_over(hello, max(mine, prompt)):
            return "unverified_text"
        return None

    def hands_over(self, hello, verified):
        return self.terms.required == "unconditional" and hello.length > verified

    def answer(self, hello):
        why = self.why_refused(hello)
        if why:
            return self.refuse(why)
        if self.state == "blank":
            self.enter("meet")
            self.id, self.salt = hello.id, self.engine.new_salt()
        length, mine = hello.length, len(self.text)
        if not self.whole() and length <= mine:
            self.target = (mine, hash_of(self.text))  # the edge went back: there is no more than this
        if length <= mine and hello.digest != hash_of(self.text[:length]):
            return self.fail("prefix_mismatch")
        self.round = self.common_round(hello)
        self.shaken = True
        self.send(*Hello("hello", hello.nonce, self.id, mine, hash_of(self.text), self.round, self.over, self.verdict))
        if length > mine:
            self.target = (length, hello.digest)
            self.enter("fill")
        elif length < mine and not (hello.over and self.terms.rule == "stream"):
            self.enter("send_text")
            self.pieces = (length, mine)
        else:
            self.in_step()

    def common_round(self, hello):
        return max(self.round, hello.round)

    def on_text(self, tokens):
        first = len(self.text)
        whole = self.text + list(tokens)
        if not tokens or len(whole) > self.target[0]:
            return self.fail("base_length_mismatch")
        if len(whole) == self.target[0] and hash_of(whole) != self.target[1]:
            return self.fail("prefix_mismatch")
        self.text = whole
        self.handed_over = self.handed_over or len(whole) > self.terms.prompt
        if self.whole():
            self.note_end()
        self.journal(first)
        self.out.append(("commit", first, tuple(tokens), "edge"))
        if self.whole():
            self.in_step()

    def in_step(self):
        self.settle("in_step")
        self.go_on_streaming()

    def settle(self, event):
        self.enter("complete" if self.over else "stream" if self.terms.rule == "stream" else event)

    def go_on_streaming(self):
        if self.state == "streaming" and self.shaken:
            self.wants_rows = True

    # The round -------------------------------------------------------------------------------------------------------
    def on_draft(self, alone, tokens):
        room = self.limit() - len(self.text) - len(alone)
        if max(len(tokens), 1) > room or len(tokens) > self.terms.draft_length or len(alone) > self.terms.alone:
            return self.fail("field_out_of_range")
        self.draft, self.alone, self.known, self.wants_rows = tokens, alone, {}, True
        self.enter("draft")

    def on_supply(self, values):
        if len(values) != len(self.asked):
            return self.fail("field_out_of_range")
        self.known.update(zip(self.asked, values))
        self.enter("supply")
        self.decide()

    def supply_rows(self):
        self.wants_rows = False
        if self.state == "streaming":
            token = self.engine.draw(self.salt, self.text, self.round)
            return self.append([], [token], "text", (token,))
        self.decide()

    def decide(self):
        verdict = self.engine.decide(self.salt, self.text + list(self.alone), self.draft, self.round, self.known)
        if verdict[0] == "needs":
            if self.shaken:
                self.enter("request")
                self.asked = verdict[1]
                return self.send("request", self.check("request", self.text), self.asked)
            self.enter("abandon")  # nobody to ask, and nothing was told
            return self.pay()
        accepted, token = verdict
        new = list(self.draft[:accepted]) + ([token] if token is not None else [])
        self.verdict = Verdict(self.round, accepted, hash_of(self.draft))
        self.append(list(self.alone), new, "feedback", accepted, token)

    def append(self, alone, new, kind, *body):
        first, check = len(self.text), self.check(kind, self.text)
        self.text = self.text + alone + new
        self.next_round()
        self.note_end()
        self.journal(first)  # before the host is told, and before it is sent
        self.out.append(("commit", first, tuple(alone + new), "cloud"))
        self.settle("decide")
        if self.shaken:
            self.send(kind, check, *body)
            self.go_on_streaming()
        self.pay()

    def pay(self):
        """Answers the hello that came while the engine worked."""
        owed, self.owed = self.owed, None
        if owed:
            self.answer(owed)

    def on_stop(self, length, text_hash):
        ours = length if self.terms.rule == "stream" else len(self.text)  # a stream may be ahead of the edge's end
        if length > len(self.text) or length != ours or text_hash != hash_of(self.text[:length]):
            return self.fail("prefix_mismatch")
        if self.state != "finished":
            self.enter("agree")
            self.out.append(("finished",))
        self.wants_rows = False
        self.send("stop", length, text_hash)
