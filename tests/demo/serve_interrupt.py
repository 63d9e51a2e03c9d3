#!/usr/bin/env python3
"""serve_interrupt.py [EDGE_CLOUD ...] [CHECK...]: devices whose user presses Ctrl-C. Each check has a server of its own."""
import json
import signal
import time

from serving import World, run_checks


def interrupted(world, name, server, session):
    """A device that is interrupted in mid-text. Its exit status."""
    child = world.device(name, server.port, 5, session, "--pace", "paper", tokens=200)
    end = time.monotonic() + 60
    while len(world.log(name)) < 8:
        assert child.poll() is None and time.monotonic() < end, "no text:\n" + world.log(name)
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    return child.wait(timeout=60)


def interrupted_texts_keep_no_place(world: World):
    """More texts are broken off than a device may have sessions, and the next one is written."""
    server = world.serve("server", "--sessions-of-device", 2)
    for session in range(4):
        code = interrupted(world, f"broken_{session}", server, 100 + session)
        assert code == 130, f"exit status {code}:\n" + world.log(f"broken_{session}")
    world.text("last", world.device("last", server.port, 5, 200))
    log = world.log("server")
    assert "refuse" not in log, log
    server.stop()


def stop_string_ends_a_text(world: World):
    """The text is cut at a token before the string, and the place is free for the next one."""
    whole = world.serve("whole")
    tokens = world.text("first", world.device("first", whole.port, 5, 100, tokens=40))
    said = json.loads((world.folder / "first" / "report.json").read_text())["text"]
    string = said[len(said) // 2:len(said) // 2 + 6]
    whole.stop()
    server = world.serve("cut", "--sessions-of-device", 1)
    cut = world.text("second", world.device("second", server.port, 5, 100, "--stop-string", string, tokens=40))
    assert 0 < len(cut) < len(tokens) and cut == tokens[:len(cut)], f"{string!r}: {cut} of {tokens}"
    left = json.loads((world.folder / "second" / "report.json").read_text())["text"]
    assert said.startswith(left) and string not in left, f"{string!r} in {left!r}"
    world.text("next", world.device("next", server.port, 5, 101))
    server.stop()


if __name__ == "__main__":
    run_checks("serve_interrupt", [interrupted_texts_keep_no_place, stop_string_ends_a_text])
