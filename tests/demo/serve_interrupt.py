#!/usr/bin/env python3
"""serve_interrupt.py [EDGE_CLOUD ...] [CHECK...]: devices whose user presses Ctrl-C. Each check has a server of its own."""
import json
import signal
import time

from serving import World, run_checks


def wait_for_text(world, name, child):
    end = time.monotonic() + 60
    while len(world.log(name)) < 8:
        assert child.poll() is None and time.monotonic() < end, "no text:\n" + world.log(name)
        time.sleep(0.02)


def interrupted(world, name, server, session):
    """A device that is interrupted in mid-text. Its exit status."""
    child = world.device(name, server.port, 5, session, "--pace", "paper", tokens=200)
    wait_for_text(world, name, child)
    child.send_signal(signal.SIGINT)
    return child.wait(timeout=60)


def interrupted_texts_keep_no_place(world: World):
    """More texts are broken off than a device may have sessions, and the next one is written."""
    server = world.serve("server", "--sessions-of-device", 2)
    for session in range(4):
        code = interrupted(world, f"broken_{session}", server, 100 + session)
        assert code == 130, f"exit status {code}:\n" + world.log(f"broken_{session}")
        assert "Ctrl-C again ends" in world.log(f"broken_{session}"), world.log(f"broken_{session}")
    world.text("last", world.device("last", server.port, 5, 200))
    log = world.log("server")
    assert "refuse" not in log, log
    for session in range(4):
        assert f"session {100 + session}: ended by its device\n" in log and f"session {100 + session}: complete" not in log, log
    assert "session 200: complete\n" in log, log
    server.stop()


def interrupted_at_a_silent_server(world: World):
    """The status is that of Ctrl-C, whether the device gives up asking or Ctrl-C comes again. The text is reported.
    The same command frees the place."""
    server = world.serve("server", "--sessions-of-device", 2)
    for session, again in ((100, False), (101, True)):
        name = f"broken_{session}"
        def begin():
            return world.device(name, server.port, 5, session, "--pace", "paper", tokens=200, retry=20)
        child = begin()
        wait_for_text(world, name, child)
        server.process.send_signal(signal.SIGSTOP)
        child.send_signal(signal.SIGINT)
        if again:
            end = time.monotonic() + 10
            while "Ctrl-C again ends" not in world.log(name):
                assert time.monotonic() < end, world.log(name)
                time.sleep(0.02)
            child.send_signal(signal.SIGINT)
        code = child.wait(timeout=60)
        assert code == (-signal.SIGINT if again else 130), f"silent server: exit status {code}:\n" + world.log(name)
        if not again:
            assert json.loads((world.folder / name / "report.json").read_text())["tokens"], "silent server: no text reported"
        server.process.send_signal(signal.SIGCONT)
        assert begin().wait(timeout=60) == 0, world.log(name)
        assert f"session {session}: ended by its device\n" in world.log("server"), world.log("server")
    server.stop()


def paused_by_sigterm(world: World):
    """A device that SIGTERM ended goes on with its text. One that Ctrl-C ended does not."""
    server = world.serve("server")
    lengths = {}
    for session, number in ((100, signal.SIGTERM), (101, signal.SIGINT)):
        name = f"paused_{session}"
        child = world.device(name, server.port, 5, session, "--pace", "paper", tokens=200)
        wait_for_text(world, name, child)
        child.send_signal(number)
        child.wait(timeout=60)
        lengths[number] = len(world.text(name, world.device(name, server.port, 5, session, tokens=200)))
    assert lengths[signal.SIGTERM] == 200 > lengths[signal.SIGINT], lengths
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
    run_checks("serve_interrupt", [interrupted_texts_keep_no_place, interrupted_at_a_silent_server, paused_by_sigterm,
                                  stop_string_ends_a_text])
