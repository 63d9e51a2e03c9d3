#!/usr/bin/env python3
"""serve_bounds.py EDGE_CLOUD EDGE_CLOUD_LIFTED: the limits that have no refusal of their own, as serve_limits.py has the
others: the server holds, and without this one limit the same check fails."""
import sys

from serving import Connection, World


def first_frame_bytes(world, server):
    """A stranger may announce a key and not one byte more: nothing else is waited for."""
    stranger, whole = Connection(server.port), Connection(server.port)
    stranger.raw(bytes([41, 0, 0]))
    whole.raw(bytes([40, 0, 0]))
    return stranger.closed_within(1) and not whole.closed_within(0.1)


def draft_length(world, server):
    child = world.device("writer", server.port, 1, 60)
    return child.wait(timeout=60) != 0 and "(beyond_limit): max_draft_length" in world.log("writer")


def engines(world, server):
    """Each session wants a cache, and keeps it."""
    for device in (1, 2):
        world.text(f"writer_{device}", world.device(f"writer_{device}", server.port, device, 60 + device, tokens=4))
    return server.stop()["engines"] == 1


def damaged_bytes(world, server):
    """Three journals that no session takes. A restart keeps as many as have room."""
    for device in (1, 2, 3):
        world.text(f"writer_{device}", world.device(f"writer_{device}", server.port, device, 60 + device, tokens=4))
    server.stop()
    for journal in (server.state / "sessions").glob("*/journal"):
        journal.write_bytes(b"garbage that is no record" + journal.read_bytes()[25:])
    server.again()
    return len(list((server.state / "damaged").iterdir())) == 2


ATTACKS = {first_frame_bytes: [], draft_length: ["--draft-length", 2], engines: ["--engines", 1],
           damaged_bytes: ["--damaged-bytes", 2 * 4096]}


def check(program, lifted, attack, arguments, without):
    name = attack.__name__
    with World(program) as world:
        server = world.serve("server", *arguments, lifted=name if without else None,
                             program=lifted if without else program)
        held = attack(world, server)
        wrong = f"{name}: {'holds without the limit' if without else 'does not hold'}\n"
        assert held != without, wrong + world.log("server")


def main():
    program, lifted = sys.argv[1:3]
    for attack, arguments in ATTACKS.items():
        if attack.__name__ not in (sys.argv[3:] or [attack.__name__]):
            continue
        for without in (False, True):
            check(program, lifted, attack, arguments, without)
    print("serve_bounds: all checks passed")


main()
