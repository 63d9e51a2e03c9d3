#!/usr/bin/env python3
"""serve_bounds.py EDGE_CLOUD EDGE_CLOUD_LIFTED: the limits that have no refusal of their own, as serve_limits.py has the
others: the server holds, and without this one limit the same check fails."""
from serving import Connection
from without_limit import Attack, run_all


def first_frame_bytes(server, hello):
    """A stranger may announce a key and not one byte more: nothing else is waited for."""
    stranger, whole = Connection(server.port), Connection(server.port)
    stranger.raw(bytes([41, 0, 0]))
    whole.raw(bytes([40, 0, 0]))
    return stranger.closed_within(1) and not whole.closed_within(0.1)


def draft_length(server, hello):
    child = server.world.device("writer", server.port, 1, 60)
    return child.wait(timeout=60) != 0 and "(beyond_limit): max_draft_length" in server.world.log("writer")


def write_texts(server, devices):
    for device in devices:
        name = f"writer_{device}"
        server.world.text(name, server.world.device(name, server.port, device, 60 + device, tokens=4))


def engines(server, hello):
    """Sessions at once, each of which wants a cache."""
    writers = {f"writer_{n}": server.world.device(f"writer_{n}", server.port, n, 60 + n, tokens=60) for n in (1, 2, 3)}
    for name, writer in writers.items():
        server.world.text(name, writer)
    return server.stop()["engines"] == 1


def damaged_bytes(server, hello):
    """Three journals that no session takes. A restart keeps as many as have room."""
    write_texts(server, (1, 2, 3))
    server.stop()
    for journal in (server.state / "sessions").glob("*/journal"):
        journal.write_bytes(b"garbage that is no record" + journal.read_bytes()[25:])
    server.again()
    return len(list((server.state / "damaged").iterdir())) == 2


run_all("serve_bounds", [Attack(first_frame_bytes), Attack(draft_length, "--draft-length", 2),
                         Attack(engines, "--engines", 1), Attack(damaged_bytes, "--damaged-bytes", 2 * 4096)])
