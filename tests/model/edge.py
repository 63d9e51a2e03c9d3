# SPDX-License-Identifier: Apache-2.0
"""The device's side of a session: it drafts, shakes hands, and ends the text."""
from session import MAX_ROUND, STOP, DraftRecord, EdgeRecord, Hello, Side, Verdict, hash_of
from states import EDGE


class Edge(Side):
    HANDSHAKES = 64  # without progress; then peer_timeout

    def __init__(self, terms, engine):
        super().__init__(terms, engine, EDGE)
        self.agreed = 0  # the length that the cloud has too; the rest was committed here alone
        self.in_vain, self.nonce = 0, None
        self.draft, self.planned, self.wants_row = None, 0, False
        self.incoming, self.said = [], None  # text that is being fetched, and the hello that announced it
        self.learner, self.learned, self.verdicts_in_hello = 0, [], 0

    # How it begins ---------------------------------------------------------------------------------------------------
    def start(self, prompt):
        self.text, self.agreed = list(prompt), len(prompt)
        self.journal_text(0)
        self.enter("start")
        self.draft_offline()

    def restore(self, records):
        """Without records the session goes on without a journal: all text comes from the cloud."""
        done = False
        for record in records:
            if isinstance(record, DraftRecord):
                self.draft = list(record.tokens)
                continue
            first, tokens, self.agreed, self.round, self.over, self.learner, done = record
            assert first <= len(self.text), "a journal that its own side refuses: a gap"
            self.text[first:] = tokens
            self.draft = None
            alone = len(self.text) - self.agreed
            assert len(self.text) <= self.limit() and 1 <= self.round <= MAX_ROUND and 0 <= alone <= self.terms.alone, \
                "a journal that its own side refuses: lengths or round"
        self.planned = len(self.draft) if self.draft is not None else 0
        self.enter("restore_finished" if done else "start")
        if not done:
            self.draft_offline()

    def journal_text(self, first, done=False):
        self.out.append(("journal", EdgeRecord(first, tuple(self.text[first:]), self.agreed, self.round, self.over,
                                               self.learner, done)))

    # The connection --------------------------------------------------------------------------------------------------
    def connect(self, nonce):
        self.enter("connect")
        self.shake_hands(nonce)

    def disconnect(self):
        self.pieces, self.incoming = None, []
        self.enter("disconnect")

    def shake_again(self, nonce):
        """No answer until the deadline, or the cloud has no handshake: on this connection again."""
        self.pieces, self.incoming = None, []
        self.enter("shake_again")
        self.shake_hands(nonce)

    def shake_hands(self, nonce):
        self.in_vain, self.nonce = self.in_vain + 1, nonce
        if self.in_vain > self.HANDSHAKES:
            return self.fail("peer_timeout")
        self.send(*self.hello(nonce))

    def hello(self, nonce):
        return Hello("hello", nonce, self.terms.id, self.agreed, hash_of(self.text[:self.agreed]), self.round,
                     self.over, None)

    def fail(self, why, tell=True):
        self.enter("fail")
        self.reason, self.wants_row, self.pieces = why, False, None
        if tell:
            self.send("refuse", why, 0)
        self.out.append(("failed", why))

    def in_step(self):
        if self.over:
            self.enter("complete")
            self.send("stop", self.agreed, hash_of(self.text[:self.agreed]))
        elif self.terms.rule == "stream":
            self.enter("stream")
        elif self.draft_complete():
            self.send_draft()
        else:
            self.enter("draft")
            if self.draft is None:
                self.open_round()

    # Messages --------------------------------------------------------------------------------------------------------
    def receive(self, message, nonce):
        """`nonce`: for a hello that may have to be sent."""
        kind = message[0]
        if self.state in ("idle", "offline", "finished", "failed"):
            return
        if kind == "refuse":
            return self.on_refuse(*message[1:], nonce)
        if self.state == "handshaking" and not (kind == "hello" and message[1] == self.nonce):
            return  # an answer to an earlier handshake, or the rest of one
        if self.takes(kind):
            return getattr(self, "on_" + kind)(message, nonce)
        if self.over and self.terms.rule == "stream" and kind == "text":
            return  # the stream went on after the end of our text
        self.fail("unexpected_message")

    def on_refuse(self, why, meant_for, nonce):
        """A refusal names the hello of its connection: it may come from a connection that a broker has outlived."""
        if why == "no_handshake":
            return self.shake_again(nonce) if self.state != "handshaking" else None
        if self.is_meant(meant_for):
            self.fail("refused: " + why, tell=False)

    def is_meant(self, nonce):
        return nonce == self.nonce

    def fits(self, message, nonce):
        """Whether the check of a steady message fits; else hands are shaken again."""
        round_ = self.said.round if self.state == "fetching_text" else self.round
        if message[1] == self.check(message[0], self.text[:self.agreed] + self.incoming, round_):
            return True
        self.misfits += 1
        self.shake_again(nonce)
        return False

    def on_hello(self, hello, _):
        hello = Hello(*hello)
        length = hello.length
        if length > self.limit():
            return self.fail("base_length_mismatch")
        if not self.round <= hello.round <= MAX_ROUND:  # the cloud answers with the larger round
            return self.fail("stale_round" if hello.round < self.round else "field_out_of_range")
        if length <= self.agreed and hello.digest != hash_of(self.text[:length]):
            return self.fail("prefix_mismatch")
        if length > self.agreed and not (self.over and self.terms.rule == "stream"):
            if self.over and length > len(self.text):
                return self.fail("base_length_mismatch")
            self.said = hello  # the round stays that of the open draft until the text is whole
            return self.enter("fetch_text")
        self.round = hello.round
        if length < self.agreed:
            self.enter("send_text")
            self.pieces = (length, self.agreed)
            return None
        self.over = self.over or (hello.over and length == self.agreed)
        self.in_step()

    def on_text(self, message, nonce):
        if self.state == "streaming":
            return self.on_stream(message, nonce)
        if not self.fits(message, nonce):
            return
        tokens, said = message[2], self.said
        whole = self.text[:self.agreed] + self.incoming + list(tokens)
        if len(whole) > said.length or not tokens:
            return self.fail("base_length_mismatch")
        self.incoming += tokens
        if len(whole) == said.length:
            self.fetched(whole, said)

    def fetched(self, whole, said):
        """Told and journaled now that it is whole and its hash fits."""
        self.incoming = []
        if hash_of(whole) != said.digest or whole[self.agreed:len(self.text)] != self.text[self.agreed:said.length]:
            return self.fail("prefix_mismatch")
        drafted_in, self.round = self.round, said.round
        if said.length < len(self.text):  # the cloud has a part of what was committed here alone
            self.agreed = said.length
            self.journal_text(len(self.text))
            return self.in_step()
        verdict = said.verdict
        if verdict and self.draft_complete() and verdict.round == drafted_in and verdict.draft == hash_of(self.draft):
            self.learn(verdict.accepted, verdict.round)  # the text is the verdict on our draft
            self.verdicts_in_hello += 1
        self.over = said.over
        self.commit(whole)
        self.in_step()

    def learn(self, accepted, round_):
        """The state of sparsifiers and windows: each verdict counts once."""
        self.learned.append(Verdict(round_, accepted, hash_of(self.draft)))
        self.learner = hash_of((self.learner, round_, len(self.draft), accepted))

    def commit(self, whole):
        first, shown = self.agreed, len(self.text)
        self.text, self.agreed, self.draft, self.wants_row, self.in_vain = whole, len(whole), None, False, 0
        self.note_end()
        self.journal_text(first)
        self.out.append(("commit", min(shown, len(whole)), tuple(whole[shown:]), None))

    def on_feedback(self, message, nonce):
        if not self.fits(message, nonce):
            return
        accepted, token = message[2:]
        new = self.draft[:accepted] + ([token] if token is not None else [])
        if accepted > len(self.draft) or not new or len(self.text) + len(new) > self.limit():
            return self.fail("field_out_of_range")
        self.learn(accepted, self.round)
        self.next_round()
        self.commit(self.text + new)
        self.in_step()

    def on_request(self, message, nonce):
        if not self.fits(message, nonce):
            return
        positions = message[2]
        if any(p >= len(self.draft) for p in positions):
            return self.fail("field_out_of_range")
        states = tuple(self.engine.hidden(self.text, self.draft, p) for p in positions)
        self.send("supply", self.check("supply", self.text[:self.agreed]), states)

    def on_stream(self, message, nonce):
        if not self.fits(message, nonce):
            return
        tokens = message[2]
        if len(self.text) + len(tokens) > self.limit() or not tokens:
            return self.fail("base_length_mismatch")
        self.next_round(len(tokens))
        self.commit(self.text + list(tokens))
        if self.over:
            self.in_step()

    def on_stop(self, message, _):
        if message[1:] != (self.agreed, hash_of(self.text[:self.agreed])):
            return self.fail("prefix_mismatch")
        self.enter("agree")
        self.journal_text(len(self.text), True)
        self.out.append(("finished",))

    # The round goes on without a connection too, and is sent when both are in step -----------------------------------
    def draft_complete(self):
        return self.draft is not None and not self.wants_row

    def draft_offline(self):
        """Before the handshake the cloud may have decided this round, so no token may be committed alone."""
        if self.text and not self.over and self.draft is None and self.drafts_offline():
            self.open_round()

    def drafts_offline(self):
        return self.terms.rule != "stream" and self.terms.alone == 0

    def open_round(self):
        self.draft, self.planned = [], min(self.terms.draft_length, self.limit() - len(self.text) - 1)
        self.wants_row = self.planned > 0
        if not self.wants_row:
            self.close_round()

    def supply_row(self):
        token = self.engine.draft(self.text + self.draft, self.round)
        room = len(self.text) - self.agreed < self.terms.alone
        if not self.draft and room and self.engine.commits_alone(self.text):
            return self.commit_alone(token)
        self.draft.append(token)
        if len(self.draft) == self.planned or token == STOP:
            self.close_round()

    def commit_alone(self, token):
        """The token travels with the next draft."""
        self.text.append(token)
        self.note_end()
        self.journal_text(len(self.text) - 1)
        self.out.append(("commit", len(self.text) - 1, (token,), None))
        if not self.over:
            return self.open_round()
        self.draft, self.wants_row = None, False
        if self.state == "drafting":
            self.in_step()

    def close_round(self):
        self.wants_row = False
        self.keep_draft()
        if self.state == "drafting":
            self.send_draft()

    def keep_draft(self):
        if self.terms.keeps_drafts:
            self.out.append(("journal", DraftRecord(tuple(self.draft))))

    def send_draft(self):
        self.enter("send_draft")
        check = self.check("draft", self.text[:self.agreed])
        self.send("draft", check, tuple(self.text[self.agreed:]), tuple(self.draft))
