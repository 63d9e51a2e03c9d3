# SPDX-License-Identifier: Apache-2.0
"""One schedule: two hosts with their disks, and one transport between them, under random faults.

Transports: `pipe` has no timer at all, what was sent before a break may still arrive, and the cloud may or may not be
told of the break. `broker` outlives both processes. `datagrams` loses, copies, delays and damages. `copies` delivers
each message at least once and has no timer. The last two run through delivery.py.
"""
import random
from collections import Counter, deque

from cloud import Cloud
from delivery import Delivery
from edge import Edge
from peers import LyingCloud, LyingDevice
from session import V, Engine, Terms, digest

ENDS = ("finished", "failed")


class World:
    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.seed, self.counts = seed, Counter()
        required = "unconditional" if r.random() < .1 else "lossy"
        lossy = () if required == "unconditional" else ("semantic",)
        rule = r.choice(("token", "token", *lossy, "stream"))
        self.terms = Terms(seed, rule, prompt=r.choice((1, 3)), budget=r.choice((3, 8, 14)),
                           draft_length=r.choice((1, 2, 4)), chunk=r.choice((1, 2, 5)), keeps_drafts=r.random() < .7,
                           required=required,
                           alone=r.choice((0, 0, 2)) if rule == "token" and required == "lossy" else 0)
        self.prompt = tuple(r.randrange(V - 1) for _ in range(self.terms.prompt))
        self.transport = r.choice(("pipe", "pipe", "broker", "datagrams", "datagrams", "copies"))
        self.jitter, self.cuts = r.random() < .5, r.random() < .6
        self.liar = {0: "cloud", 1: "device"}.get(int(r.random() / .08))
        self.lie = r.choice(("random", "random", "silent", "forgets", "consistent"))  # of a cloud
        self.faults = r.randrange(9)
        self.noise = r.choice((0, .1, .3)) if self.transport == "datagrams" else 0
        self.copies = r.choice((0, .2, .5)) if self.delivers() else 0
        self.disk, self.told, self.was_cut, self.incarnations = {"e": [], "c": []}, {"e": [], "c": []}, set(), Counter()
        self.verified, self.verdicts = {}, set()  # tokens and verdicts that the cloud's engine decided
        self.handed_over = 0  # tokens that the device handed over
        self.ended, self.sent, self.died, self.ticks, self.steps = set(), False, False, 0, 0
        self.up, self.down, self.connected = deque(), deque(), False
        self.before_break, self.late = deque(), []  # messages of a connection that is gone; a late hello among them
        self.old = []  # datagrams to copy
        self.emptied = 0  # a cloud that lost its whole journal draws a new salt
        self.e = self.c = None
        self.begin_edge()
        self.begin_cloud()

    def calm(self):
        """The same session without a fault."""
        calm = World(self.seed)
        calm.transport, calm.faults, calm.noise, calm.copies = "pipe", 0, 0, 0
        return calm

    def delivers(self):
        return self.transport in ("datagrams", "copies")

    def nonce(self):
        return self.r.getrandbits(32)

    # Incarnations ----------------------------------------------------------------------------------------------------
    def engine(self, who):
        self.incarnations[who] += 1
        salt = lambda: digest(self.seed, self.emptied)  # noqa: E731
        return Engine(self.seed, self.terms, self.incarnations[who], self.jitter, salt)

    def begin_edge(self):
        engine = self.engine("e")
        if self.liar == "device":
            self.e = LyingDevice(self.terms, engine, self.r, self.r.choice((0, 0, 1, 2)))
        else:
            self.e = Edge(self.terms, engine)
        if self.disk["e"] or self.incarnations["e"] > 1 and self.sent:
            self.e.restore(self.disk["e"])
            self.tell("e", 0, self.e.text)  # a restored side tells its text again
        else:
            self.sent = False
            self.e.start(self.prompt)
            self.told["e"] = list(self.prompt)  # nothing was sent, so nothing was committed
        if self.delivers():
            self.edge_delivery = Delivery(True, self.nonce, self.transport == "datagrams")

    def begin_cloud(self):
        if self.liar == "cloud":
            self.c = LyingCloud(self.r, self.lie, lambda: self.e.text if self.e else [])
        else:
            self.c = Cloud(self.terms, self.engine("c"))
            self.c.restore(self.disk["c"])
            self.tell("c", 0, self.c.text)
        if self.delivers():
            self.cloud_delivery = Delivery(False, self.nonce, self.transport == "datagrams")

    def kill(self, who, cut):
        disk = self.disk[who]
        if who not in self.was_cut and not self.liar and (who == "c" or self.sent):
            assert self.held(who)[:len(self.told[who])] == self.told[who], (who, "told what is not journaled")
        if who == "e":
            self.check_learned()
        if cut and disk:
            del disk[self.r.choice((self.r.randrange(len(disk) + 1), max(len(disk) - 1, 0))):]
            self.was_cut.add(who)
            self.emptied += who == "c" and not disk
            self.forget()
        self.counts["kills"] += 1
        if who == "e":
            self.e = None
        else:
            self.c = None
        if self.transport == "pipe":
            self.break_connection()
        if self.delivers() and self.r.random() < .5:
            (self.up if who == "c" else self.down).clear()

    def held(self, who):
        text = []
        for record in self.disk[who]:
            if hasattr(record, "first"):
                text[record.first:] = record.tokens
        return text

    def forget(self):
        """What a side whose journal was cut has told counts only as far as some honest journal still has it."""
        held = [self.held(who) for who in ("c" if self.liar == "device" else "ec")]
        for who in self.was_cut:
            told, keep = self.told[who], 0
            for text in held:
                same = 0
                while same < min(len(text), len(told)) and text[same] == told[same]:
                    same += 1
                keep = max(keep, same)
            del told[keep:]

    def break_connection(self):
        """A part of what was under way still goes up, nothing comes down."""
        if self.connected:
            self.before_break.extend(list(self.up)[:self.r.randrange(len(self.up) + 1)])
        self.up.clear()
        self.down.clear()
        self.connected = False
        if self.c is None:
            self.before_break.clear()
        if self.waits():
            self.e.disconnect()
        if self.c is not None and self.r.random() < .5:
            self.c.disconnect()

    def waits(self):
        return self.e is not None and self.e.state not in ("idle", "offline", *ENDS)

    # Outputs ---------------------------------------------------------------------------------------------------------
    def drain_edge(self):
        self.output("e", self.e, self.up)

    def drain_cloud(self):
        self.output("c", self.c, self.down)

    def output(self, who, side, queue):
        out = side.next()
        if out is None:
            return
        if out[0] == "journal":
            self.disk[who].append(out[1])
        elif out[0] == "commit":
            self.tell(who, out[1], out[2])
            if who == "c":
                self.check_authority(*out[1:])
        elif out[0] == "send":
            self.counts["messages"] += 1
            self.sent = self.sent or who == "e"
            if self.delivers():
                (self.edge_delivery if who == "e" else self.cloud_delivery).send(out[1])
                self.flush()
            elif self.connected or self.transport == "broker":
                queue.append(out[1])
        else:
            self.ended.add(who)

    def tell(self, who, first, tokens):
        """The host is told tokens. Committed text never changes; only a lying device changes its own."""
        told = self.told[who]
        if who == "e" and self.liar == "device":
            return
        assert first <= len(told), (who, "a gap in committed text", first, len(told))
        for at, token in enumerate(tokens, first):
            if at == len(told):
                told.append(token)
            assert told[at] == token, (who, "committed text changed", at)

    def check_authority(self, first, tokens, authority):
        """What the engine did not decide is announced as the edge's, and under `unconditional` it is refused."""
        for at, token in enumerate(tokens, first):
            if at >= self.terms.prompt and self.verified.get(at) != token:
                self.handed_over += 1
                assert authority == "edge", ("text of an edge announced as verified", at)
                assert self.terms.required == "lossy", ("unverified text was taken", at)

    def supply_cloud_rows(self):
        """Notes what the engine decides: the text that grows here is verified."""
        first = len(self.c.text)
        self.c.supply_rows()
        self.note_verified(first)

    def note_verified(self, first):
        self.verified.update(enumerate(self.c.text[first:], first))
        self.verdicts.add(getattr(self.c, "verdict", None))

    def to_cloud(self, message):
        """Supplied states may decide a round. A hello that is refused leaves the session as it was."""
        c, first, outputs = self.c, len(self.c.text), len(self.c.out)
        before = (list(c.text), c.round, c.state)
        c.receive(message)
        if message[0] == "supply":
            self.note_verified(first)
        if self.liar == "cloud":
            return
        assert c.round >= before[1], ("the round went back", before[1], c.round)
        if message[0] != "hello":
            return
        for answer in [out[1] for out in list(c.out)[outputs:] if out[0] == "send"]:
            if answer[0] == "refuse" and c.state != "failed":
                assert before == (c.text, c.round, c.state), ("a refused hello changed the session", answer)
                self.counts["hellos refused"] += 1
            elif answer[0] == "hello" and self.terms.required == "unconditional":
                assert message[3] <= max(first, self.terms.prompt), ("unverified text is asked for", message[3])

    def check_learned(self):
        """The edge learns from verdicts, each on the draft that it was given for."""
        assert self.liar or self.verdicts.issuperset(self.e.learned), ("learned what was never decided", self.e.learned)

    # What can happen next --------------------------------------------------------------------------------------------
    def actions(self):
        e, c, can = self.e, self.c, []
        if e is None:
            can.append(self.begin_edge)
        elif self.may_drain(e, "edge_delivery"):
            can += [self.drain_edge] * 2
        if e is not None and e.wants_row and not e.out:
            can.append(e.supply_row)
        if c is None:
            can.append(self.begin_cloud)
        elif self.may_drain(c, "cloud_delivery"):
            can += [self.drain_cloud] * 2
        if c is not None and c.wants_rows and not c.out:
            can.append(self.supply_cloud_rows)
        if self.delivers():
            can += [self.datagram_up] * (bool(self.up) and c is not None)
            can += [self.datagram_down] * (bool(self.down) and e is not None)
            if self.is_offline() and not self.edge_delivery.opening:
                can.append(self.connect)
            return can
        if self.is_drained(c):
            can += [self.message_up] * bool(self.up)
            can += [self.message_before_break] * bool(self.before_break)
            can += [self.late_hello] * (bool(self.late) and self.connected and self.is_drained(e))
        if self.is_drained(e):
            can += [self.message_down] * bool(self.down)
        if self.is_offline() and (c is not None or self.transport == "broker"):
            can.append(self.connect)
        return can

    def may_drain(self, side, delivery):
        return side.out or side.pieces and (not self.delivers() or getattr(self, delivery).room())

    @staticmethod
    def is_drained(side):
        return side is not None and not side.out and not side.pieces

    def is_offline(self):
        return self.e is not None and self.e.state == "offline" and not self.e.out

    def connect(self):
        if self.delivers():
            self.edge_delivery.open()
            return self.flush()
        self.connected = True
        self.e.connect(self.nonce())

    def message_up(self):
        message = self.up.popleft()
        if message[0] == "hello":
            if self.r.random() < .3:  # of a connection that is accepted after the one that replaces it
                self.late = [old for old in self.before_break if old[0] == "hello"][:1]
            self.before_break.clear()  # the host reads the new connection only
        self.to_cloud(message)

    def late_hello(self):
        self.counts["connections replaced by an older one"] += 1
        message = self.late.pop()
        self.break_connection()  # the host closes the one that is replaced
        self.to_cloud(message)

    def message_before_break(self):
        message = self.before_break.popleft()
        if message[0] == "hello" and self.r.random() < .5:
            return  # accepted too late, or before: both happen
        self.to_cloud(message)

    def message_down(self):
        self.e.receive(self.down.popleft(), self.nonce())

    # Datagrams -------------------------------------------------------------------------------------------------------
    def flush(self):
        for delivery, queue in ((self.edge_delivery, self.up), (self.cloud_delivery, self.down)):
            self.counts["datagrams"] += len(delivery.wire)
            queue.extend(delivery.wire)
            delivery.wire.clear()

    def take_datagram(self, queue):
        """The next one as it arrives; None if it does not."""
        r, d = self.r, queue.popleft()
        if len(self.old) < 60:
            self.old.append((queue, d))
        if self.noise and r.random() < self.noise:
            self.counts["datagrams lost, late or damaged"] += 1
            kind = r.randrange(3)
            if kind == 1 and queue:
                queue.insert(r.randrange(len(queue) + 1), d)
            return self.damaged(d) if kind == 2 or kind == 1 and not queue else None
        if self.copies and r.random() < self.copies and self.old:
            other, copy = r.choice(self.old)
            if len(other) < 20:
                other.insert(r.randrange(len(other) + 1), copy)
                self.counts["copies"] += 1
                self.copies = max(0, self.copies - .004)
        return d

    def damaged(self, d):
        if d[0] != "data":
            return None  # the CRC of connect, accept and reset covers all of them
        r, new = self.r, list(d)
        field = r.randrange(1, 6)
        new[field] = (d[1] ^ 1 << r.randrange(32), (d[2] + r.randrange(1, 8)) % 8, (d[3] + r.randrange(1, 8)) % 8,
                      not d[4], ("text", 0, (1,)))[field - 1]
        return tuple(new) if tuple(new) != d else None

    def datagram_up(self):
        d = self.take_datagram(self.up)
        if d is not None:
            self.cloud_delivery.receive(d)
            self.events()

    def datagram_down(self):
        d = self.take_datagram(self.down)
        if d is not None:
            self.edge_delivery.receive(d)
            self.events()

    def events(self):
        """Hands both sessions what delivery has for them. Outputs are drained between two inputs, as hosts do."""
        self.flush()
        while self.cloud_delivery.up or self.edge_delivery.up:
            for who, delivery in (("c", self.cloud_delivery), ("e", self.edge_delivery)):
                while delivery.up:
                    event, side = delivery.up.pop(0), self.c if who == "c" else self.e
                    while side is not None and (side.out or side.pieces) and delivery.room():
                        self.output(who, side, None)
                    self.hand_over(who, event)
            self.flush()

    def hand_over(self, who, event):
        if event[0] == "message" and who == "c":
            self.to_cloud(event[1])
        elif event[0] == "message":
            self.e.receive(event[1], self.nonce())
        elif event[0] == "open" and self.e.state == "offline":
            self.e.connect(self.nonce())
        elif event[0] == "lost" and self.waits():
            self.e.disconnect()

    # Time and faults -------------------------------------------------------------------------------------------------
    def timer(self):
        """Time passes: the client's timer, the deadline for an answer, or the end of a silent transport."""
        self.counts["timers"] += 1
        if self.transport == "datagrams":
            self.ticks += 1
            d = self.edge_delivery
            if self.ticks % 24 == 0 and self.waits() and d.room() and self.is_drained(self.e):
                self.e.shake_again(self.nonce())  # the link is alive, and nobody answers: the session's own deadline
            elif d.opening or d.live:
                d.tick()
            else:
                d.open()
            return self.events()
        if self.transport == "copies":  # a process died with a message: the host breaks, and opens again
            self.edge_delivery.lose()
            return self.events()
        if self.transport == "broker":
            return self.e.shake_again(self.nonce()) if self.waits() else None
        return self.break_connection()

    def fault(self):
        self.faults -= 1
        self.died = True
        r, both = self.r, self.e is not None and self.c is not None
        kind = r.randrange(6)
        if kind < 3:
            for who in ("e", "c", "ec")[kind]:
                if both or kind < 2 and (self.e if who == "e" else self.c) is not None:
                    self.kill(who, self.cuts and r.random() < .6)
        elif kind < 5 and both and self.waits():
            self.counts["connections lost"] += 1
            if self.transport == "pipe":
                self.break_connection()
            elif not self.e.out:
                self.timer()  # too early

    # The whole schedule ----------------------------------------------------------------------------------------------
    def over(self, step):
        if self.e is None or self.e.state not in ENDS or self.e.out:
            return False
        if self.e.state == "finished" or "c" in self.ended or step > 25000:
            return True
        return not (self.up or self.down or self.before_break) and not (self.c and self.c.out)

    def run(self):
        for step in range(30000):
            if self.over(step):
                return self.outcome()
            if self.faults and self.r.random() < .04:
                self.fault()
                continue
            can = self.actions()
            if can:
                self.r.choice(can)()
                continue
            allowed = self.died or self.liar or self.transport == "datagrams"
            assert allowed and (self.transport != "pipe" or self.liar), self.where("waits forever")
            self.timer()
        raise AssertionError(self.where("no end"))

    def where(self, why):
        return why, self.e and self.e.state, self.c and self.c.state

    def outcome(self):
        """`finished`, or the name of the end. Both sides then have the same text."""
        e, c = self.e, self.c
        self.check_learned()
        if e.state != "finished":
            return str(e.reason)
        if self.liar == "cloud":
            return "finished"
        ours, theirs = e.text[:e.agreed], self.held("c") if c is None else c.text
        same = min(len(ours), len(theirs)) if "c" in self.was_cut else len(ours)  # it may be cut after the end
        assert ours[:same] == theirs[:same], ("texts differ", ours, theirs)
        assert len(ours) >= len(theirs) or self.terms.rule == "stream", ("the cloud has more", ours, theirs)
        assert len(e.text) - e.agreed <= self.terms.alone, ("more tokens alone than agreed", e.text)
        assert self.liar or self.told["e"] == e.text, ("told another text", self.told["e"], e.text)
        return "finished"
