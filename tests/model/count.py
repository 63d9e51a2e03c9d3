# SPDX-License-Identifier: Apache-2.0
"""Sizes of the protocol: states, transitions, bytes of its messages, round trips after a fault. usage: count.py"""
from math import ceil, log2

from cloud import Cloud
from edge import Edge
from session import Engine, Terms
from states import CLOUD, EDGE

ID_BITS, MOST_DRAFTS, LENGTHS = 17, 8, (1, 4, 8)  # V = 128 256
HELLO, FIELD, VERDICT = 139, 3, 12  # bytes of hello today, of a field's type and length, and of the last verdict
HEADERS = [  # bits before the body, bytes of delivery
    ("wire version 2, any transport", 64, 0),
    ("in order and whole (TLS, QUIC, WebSocket), no check", 4, 0),
    ("the same, check of 8 bits (default)", 12, 0),
    ("the same, check of 16 bits", 20, 0),
    ("delivery over DTLS or QUIC datagrams, no check", 4, 1),
    ("delivery over bare datagrams, 16 bits", 4, 3),
    ("delivery over bare datagrams, 32 bits", 4, 5),
]


def draft_bits(length):
    return ceil(log2(MOST_DRAFTS + 1)) + ID_BITS * length  # the number of drafts, and ids alone


def feedback_bits(length):
    return ceil(log2(length + 1)) + 3 + 2 + ID_BITS  # accepted, source, stop, the next token


def print_bytes():
    print("| over | draft L = 1 / 4 / 8 | feedback L = 4 | bits of header a drafted token |\n|---|---|---|---|")
    for name, header, more in HEADERS:
        drafts = [more + ceil((header + draft_bits(n)) / 8) for n in LENGTHS]
        a_token = [(8 * size - draft_bits(n)) / n for size, n in zip(drafts, LENGTHS)]
        print(f"| {name} | {' / '.join(map(str, drafts))} | {more + ceil((header + feedback_bits(4)) / 8)} | "
              f"{' / '.join(f'{bits:.1f}' for bits in a_token)} |")
    print(f"\nhello of the edge: {HELLO} bytes; of the cloud: {HELLO + FIELD + VERDICT}")


class EndlessEngine(Engine):
    def weights(self, text, who):
        return super().weights(text, who)[:-1] + [0]  # never the stop token


class Pair:
    """Two sides that take turns. A trip: all messages of the edge go up, and all answers come down."""

    def __init__(self):
        self.terms = Terms(1, "token", prompt=1, budget=60, draft_length=4, chunk=2, alone=0, keeps_drafts=True,
                           required="lossy")
        self.engine, self.disks = EndlessEngine(11, self.terms, 1, False, lambda: 5), ([], [])
        self.trips, self.drafts = 0, 0
        self.edge, self.cloud = Edge(self.terms, self.engine), Cloud(self.terms, self.engine)
        self.edge.start([0])
        self.edge.connect(1)

    def drain(self, side, disk):
        messages = []
        while True:
            out = side.next()
            if out and out[0] == "journal":
                disk.append(out[1])
            elif out and out[0] == "send":
                messages.append(out[1])
            elif not out and side is self.edge and side.wants_row:
                side.supply_row()
            elif not out:
                return messages

    def up(self):
        for message in self.drain(self.edge, self.disks[0]):
            self.drafts += message[0] == "draft"
            self.cloud.receive(message)
            while self.cloud.wants_rows:
                self.cloud.supply_rows()

    def trip(self):
        self.up()
        self.trips += 1
        for message in self.drain(self.cloud, self.disks[1]):
            self.edge.receive(message, 2)

    def until(self, ready):
        self.trips = self.drafts = 0
        while not ready():
            self.trip()
            assert self.trips < 1000
        return self.trips

    def write(self, length):
        self.until(lambda: len(self.edge.text) >= length)

    def reconnect(self):
        self.cloud.disconnect()
        self.edge.connect(3)

    def in_step(self):
        return self.edge.state == "drafting"


def lost_verdict():
    pair = Pair()
    pair.write(20)
    pair.up()
    pair.drain(pair.cloud, pair.disks[1])  # decided and sent, and the connection is lost
    pair.edge.disconnect()
    pair.reconnect()
    trips = pair.until(pair.in_step)
    assert pair.drafts == 0 and pair.edge.verdicts_in_hello == 1
    return trips


def lost_draft():
    pair = Pair()
    pair.write(20)
    pair.drain(pair.edge, pair.disks[0])
    pair.edge.disconnect()
    pair.reconnect()
    return pair.until(lambda: len(pair.edge.text) > 20 and pair.in_step())


def cloud_without_journal():
    pair = Pair()
    pair.write(20)
    pair.drain(pair.edge, pair.disks[0])
    pair.edge.disconnect()
    pair.cloud = Cloud(pair.terms, pair.engine)
    pair.reconnect()
    trips = pair.until(lambda: pair.edge.pieces)
    pair.up()  # ten pieces and the draft, without an answer in between
    assert pair.drafts == 1 and len(pair.cloud.text) > 20
    return trips


def edge_without_journal():
    pair = Pair()
    pair.write(20)
    pair.edge = Edge(pair.terms, pair.engine)
    pair.edge.restore([])
    pair.reconnect()
    return pair.until(pair.in_step)


def end():
    pair = Pair()
    pair.until(lambda: pair.edge.state == "stopping")
    return pair.until(lambda: pair.edge.state == "finished")


FAULTS = (lost_verdict, lost_draft, cloud_without_journal, edge_without_journal, end)


def main():
    for side, table in (("edge", EDGE), ("cloud", CLOUD)):
        fails = sum(event == "fail" for _, event in table.moves)
        print(f"{side}: {len(table.states)} states, {len(table.rows)} events, {len(table.moves)} transitions "
              f"({fails} of them fail)")
    print()
    print_bytes()
    print("\nround trips until both are in step, or the text is agreed on:")
    for case in FAULTS:
        print(f"{case()}  {case.__name__.replace('_', ' ')}")


if __name__ == "__main__":
    main()
