# SPDX-License-Identifier: Apache-2.0
"""The states of both sides: which events lead from which states to which, and which messages count in each state.

`enter` of session.py is the only code that changes a state, so these tables are the whole list. The decision page has
its tables from here: `python3 tests/model/states.py` prints them, `--check` compares them, `--fix` writes them.
"""
import os
import sys

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/decisions/0021-session-in-two-layers.md")


class Table:
    """Lines `event: from from -> to | when`. The first state is the beginning, and the last two are the ends."""

    groups = {"connected": "handshaking sending_text fetching_text drafting waiting streaming stopping",
              "known": "filling sending_text ready evaluating requesting streaming closing finished"}

    def __init__(self, states, messages, events):
        self.states, self.moves, self.rows = states.split(), {}, []
        self.taken = {state: () for state in self.states}
        for line in messages.strip().splitlines():
            state, _, kinds = line.partition(":")
            self.taken[state.strip()] = tuple(kinds.split())
        for line in events.strip().splitlines():
            move, _, when = line.partition("|")
            event, _, arrow = move.partition(":")
            froms, _, to = arrow.partition("->")
            event, froms, to = event.strip(), self.groups.get(froms.strip(), froms).split(), to.strip()
            self.rows.append((event, froms, to, when.strip()))
            for state in froms:
                assert state in self.states and to in self.states and (state, event) not in self.moves, (state, event)
                self.moves[state, event] = to
        self.check()

    def check(self):
        """Each state is reached; each but the ends has a way to `finished` that does not pass through `failed`."""
        first, finished, failed = self.states[0], *self.states[-2:]
        reached = {first}
        ending = {finished}
        for _ in self.states:
            reached |= {to for (state, _), to in self.moves.items() if state in reached}
            ending |= {state for (state, _), to in self.moves.items() if to in ending and to != failed}
        assert reached == set(self.states), set(self.states) - reached
        assert ending >= set(self.states) - {failed}, set(self.states) - ending


EDGE = Table(
    "idle offline handshaking sending_text fetching_text drafting waiting streaming stopping finished failed",
    """
handshaking:   hello refuse
sending_text:  refuse
fetching_text: text refuse
drafting:      refuse
waiting:       feedback request refuse
streaming:     text refuse
stopping:      stop refuse
""",
    """
start: idle -> offline | the host starts a session, restores its journal, or goes on without one
restore_finished: idle -> finished | a journal is restored whose text both sides have
connect: offline -> handshaking | a connection is there: hello is sent
disconnect: connected -> offline | the connection is lost
shake_again: connected -> handshaking | no answer until the deadline, or `no_handshake`: hello is sent again
send_text: handshaking -> sending_text | the cloud has less text
fetch_text: handshaking -> fetching_text | the cloud has more text
draft: handshaking sending_text fetching_text waiting -> drafting | in step, and the draft is not complete
send_draft: handshaking sending_text fetching_text drafting -> waiting | in step, and the draft is complete
stream: handshaking sending_text fetching_text -> streaming | in step, and the cloud writes alone
complete: handshaking sending_text fetching_text drafting waiting streaming -> stopping | the text is whole
agree: stopping -> finished | the cloud has the same text
fail: connected -> failed | an error, of this side or the cloud
""")

CLOUD = Table(
    "blank filling sending_text ready evaluating requesting streaming closing finished failed",
    """
blank:        hello
filling:      hello text refuse
sending_text: hello refuse
ready:        hello draft stop refuse
evaluating:   hello refuse
requesting:   hello supply refuse
streaming:    hello stop refuse
closing:      hello stop refuse
finished:     hello stop refuse
failed:       hello
""",
    """
meet: blank -> filling | a hello begins a session, or a journal is restored
fill: filling sending_text ready requesting streaming closing finished -> filling | the edge has more text
send_text: filling sending_text ready requesting streaming closing finished -> sending_text | the edge has less text
in_step: filling sending_text ready requesting finished -> ready | both have the same text
draft: ready -> evaluating | a draft arrives
request: evaluating -> requesting | hidden states are missing
supply: requesting -> evaluating | the hidden states arrive
decide: evaluating -> ready | a verdict is made
abandon: evaluating -> ready | the round is given up, and the edge sends its draft again
stream: filling sending_text streaming finished -> streaming | in step, and the cloud writes alone
complete: filling sending_text evaluating streaming closing finished -> closing | the text is complete
agree: ready streaming closing -> finished | the edge has the whole text, or its host ended it
fail: known -> failed | an error of this side, or a message that no edge sends
""")


def block(side, table):
    """The tables of one side, as the decision page has them."""
    code = lambda names: ", ".join(f"`{name}`" for name in names) or "none"  # noqa: E731
    lines = [f"| state of the {side} | messages that count |", "|---|---|"]
    lines += [f"| `{state}` | {code(table.taken[state])} |" for state in table.states]
    lines += ["", f"| event of the {side} | when | from | to |", "|---|---|---|---|"]
    lines += [f"| `{event}` | {when} | {code(froms)} | `{to}` |" for event, froms, to, when in table.rows]
    return "\n".join(lines)


def main():
    with open(PAGE, encoding="utf-8") as file:
        page = old = file.read()
    for side, table in (("edge", EDGE), ("cloud", CLOUD)):
        begin, end = f"<!-- states: {side} -->\n", f"\n<!-- end of states: {side} -->"
        if "--check" not in sys.argv and "--fix" not in sys.argv:
            print(block(side, table), end="\n\n")
            continue
        head, found, rest = page.partition(begin)
        assert found and end in rest, f"{PAGE}: no block `states: {side}`"
        page = head + begin + block(side, table) + end + rest.partition(end)[2]
    if "--fix" in sys.argv and page != old:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
    elif page != old:
        sys.exit(f"{os.path.normpath(PAGE)}: differs from tests/model/states.py; run it with --fix")


if __name__ == "__main__":
    main()
