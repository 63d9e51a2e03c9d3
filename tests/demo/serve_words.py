#!/usr/bin/env python3
"""serve_words.py EDGE_CLOUD [...]: what a newcomer gets wrong with `serve` and `device`, and what they say then."""
import socket
import sys

from serving import World


def ends_with(world, name, child, *words):
    """It ends with 1, and its log says all of these."""
    assert child.wait(timeout=30) == 1, f"{name} ended with {child.returncode}:\n" + world.log(name)
    for said in words:
        assert said in world.log(name), f"{name} does not say {said!r}:\n" + world.log(name)


def session_ids(world, server):
    """Two devices without --session-id have two sessions, and a restart goes on with its own."""
    kept = {}
    for device in (1, 2):
        world.text(f"own_{device}", world.device(f"own_{device}", server.port, device, None))
        kept[device] = (world.folder / f"own_{device}" / "session").read_text()
    assert kept[1] != kept[2], kept
    world.text("own_1", world.device("own_1", server.port, 1, None))
    assert (world.folder / "own_1" / "session").read_text() == kept[1]
    for option, value in (("--session-id", 1 << 64), ("--session-id", -1), ("--device-id", 1 << 64)):
        child = world.device("overflow", server.port, 1, None, option, value)
        assert child.wait(timeout=30) not in (0, 1) and "below 2^64" in world.log("overflow"), world.log("overflow")


def one_process_a_folder(world, server):
    """A second server, or a second device, is told so, and the first one goes on."""
    other = world.start("second", ["serve", "--port", 0, "--state-dir", server.state, "--devices",
                                   world.folder / "devices"])
    ends_with(world, "second", other, str(server.state), "another process uses this folder", "--state-dir")
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        waits = world.device("shared", deaf.getsockname()[1], 1, 21)
        deaf.accept()[0].close()
        other = world.device("shared", server.port, 1, 22)
        ends_with(world, "shared", other, "another process uses this folder")
        waits.kill()
        waits.wait()
    world.text("shared", world.device("shared", server.port, 1, 21))  # a killed process holds nothing


CHECKS = [session_ids, one_process_a_folder]


def main():
    with World(sys.argv[1]) as world:
        server = world.serve("server")
        for check in CHECKS:
            if check.__name__ in (sys.argv[3:] or [check.__name__]):
                check(world, server)
        server.stop()
    print("serve_words: all checks passed")


main()
