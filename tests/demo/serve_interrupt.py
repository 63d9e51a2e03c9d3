#!/usr/bin/env python3
"""serve_interrupt.py [EDGE_CLOUD ...] [CHECK...]: devices whose user presses Ctrl-C. Each check has a server of its own."""
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


if __name__ == "__main__":
    run_checks("serve_interrupt", [interrupted_texts_keep_no_place])
