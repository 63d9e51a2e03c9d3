#!/usr/bin/env python3
"""serve_limits.py EDGE_CLOUD EDGE_CLOUD_LIFTED: one attack a limit. The server holds; without this one limit it does not,
and the same check fails."""
import time

from serving import Connection, framed, hello_for, is_refusal, parted
from without_limit import Attack, run_all


def still_open(connections, seconds=0.5):
    time.sleep(seconds)
    return sum(not c.closed_within(0.01) for c in connections)


def told_and_closed(connection, seconds):
    """Closed, with a refusal as the last word."""
    return connection.closed_within(seconds) and any(is_refusal(said) for said in parted(connection.heard)[0][-1:])


def half_open(server, hello):
    return still_open([Connection(server.port) for _ in range(12)]) <= 4


def half_open_of_four(server, hello):
    """Four addresses that say nothing fill every place. A device elsewhere that came first is still let in."""
    honest = Connection(server.port)
    time.sleep(0.1)
    silent = [Connection(server.port, source=f"127.0.0.{2 + n % 4}") for n in range(40)]
    time.sleep(0.3)
    return lets_in(honest, hello) and still_open(silent) <= 8


def lets_in(connection, hello, device=1):
    connection.introduce(device)
    connection.send(hello_for(hello, 50))
    heard = connection.frames(2, 1)
    return len(heard) == 1 and not is_refusal(heard[0])


def half_open_of_address(server, hello):
    """One address opens more connections than there are places. A device elsewhere that came first is still let in."""
    honest = Connection(server.port)
    time.sleep(0.1)
    silent = [Connection(server.port, source="127.0.0.2") for _ in range(20)]
    time.sleep(0.3)
    return lets_in(honest, hello) and still_open(silent) <= 4


def first_frame_late(server, hello):
    slow = Connection(server.port)
    for byte in first_frame_slowly():
        slow.raw(byte)
        if slow.closed_within(0.25):
            return True
    return False


def first_frame_slowly():
    return [bytes([40]), b"\0", b"\0", *[b"\1"] * 9]


def frame_too_long(server, hello):
    long = Connection(server.port, 1)
    long.raw((1 << 20).to_bytes(3, "little"))
    return told_and_closed(long, 1)


def useless_frames(server, hello):
    rubbish = Connection(server.port, 1)
    for _ in range(100):
        rubbish.send(b"\x5a" * 64)
    return rubbish.closed_within(1)


def idle_connection(server, hello):
    return told_and_closed(Connection(server.port, 1), 3)


def idle_session(server, hello):
    opener = Connection(server.port, 1)
    opener.send(hello_for(hello, 50))
    opener.frames(0.3)
    opened = server.sessions()
    time.sleep(2.5)
    return opened == 1 and server.sessions() == 0


def connections(server, hello):
    return still_open([Connection(server.port, device) for device in range(1, 9)]) <= 4


def connections_of_device(server, hello):
    return still_open([Connection(server.port, 1) for _ in range(8)]) <= 2


def open_sessions(server, hello, devices):
    for device in devices:
        opener = Connection(server.port, device)
        for n in range(6):
            opener.send(hello_for(hello, 1000 * device + n))
        opener.frames(0.3)
    return server.sessions()


def sessions(server, hello):
    return 0 < open_sessions(server, hello, range(1, 5)) <= 5


def sessions_of_device(server, hello):
    return 0 < open_sessions(server, hello, [1]) <= 2


def deaf(server, hello):
    """Asks, and reads nothing. Each hello is answered. What the system holds is not counted."""
    asks = Connection(server.port, 1, receive_buffer=1 << 16)
    asks.send(hello_for(hello, 50))
    asks.frames(5, 1)
    flood = framed(hello_for(hello, 50)) * 1024
    for _ in range(8):
        asks.raw(flood)
    time.sleep(1.5)
    return server.stop()


def unsent_bytes(server, hello):
    return deaf(server, hello)["peak_unsent"] <= 1 << 15


def unsent_in_all(server, hello):
    return deaf(server, hello)["peak_unsent_in_all"] <= 1 << 15


def ends_by(server, name):
    child = server.world.device("writer", server.port, 1, 60, tokens=60)
    return child.wait(timeout=60) != 0 and f"refuses ({name})" in server.world.log("writer")


def journal_full(server, hello):
    return ends_by(server, "journal_full")


def disk_full(server, hello):
    """One session leaves no blocks for another."""
    first = Connection(server.port, 2)
    first.send(hello_for(hello, 50))
    return len(first.frames(5, 1)) == 1 and ends_by(server, "disk_full") and server.disk() <= 1 << 14


def descriptors(server, hello):
    """More devices than the system has open files for. The first one still gets a session."""
    first = Connection(server.port, 1)
    time.sleep(0.1)
    crowd = [Connection(server.port, device, patience=0.2) for device in range(2, 100)]
    time.sleep(0.3)
    first.send(hello_for(hello, 50))
    heard = first.frames(2, 1)
    return len(heard) == 1 and not is_refusal(heard[0]) and 0 < still_open(crowd) <= 15


def descriptors_of_strangers(server, hello):
    """Connections that say nothing hold all open files. A device that comes then is still let in."""
    silent = [Connection(server.port, source=f"127.0.0.{2 + n % 8}") for n in range(100)]
    time.sleep(0.3)
    return lets_in(Connection(server.port, source="127.0.0.20"), hello) and 0 < still_open(silent) <= 15


def handshakes_of_device(server, hello):
    """Hellos of a session that is there, and connections without one."""
    asks = Connection(server.port, 1)
    asks.send(hello_for(hello, 50))
    asks.frames(5, 1)
    for n in range(40):
        asks.send(hello_for(hello, 50, nonce=n))
    greeted = told_and_closed(asks, 1)
    time.sleep(1)
    lines = [Connection(server.port, 2) for _ in range(40)]
    return greeted and any(told_and_closed(line, 0.05) for line in lines[20:])


def written_of_device(server, hello):
    """Each round of a text is journaled: three at once."""
    for child in [server.world.device(f"writer_{n}", server.port, 1, 60 + n, tokens=60) for n in range(3)]:
        child.wait(timeout=60)
    return "refused (written_of_device)" in server.world.log(server.name)


def not_the_owner(server, hello):
    Connection(server.port, 1).send(hello_for(hello, 50))
    time.sleep(0.3)
    thief = Connection(server.port, 2)
    thief.send(hello_for(hello, 50))
    heard = thief.frames(0.5)
    return len(heard) == 1 and heard[0][0] & 15 == 8


MANY = ["--connections", 200, "--half-open", 200, "--half-open-of-address", 200]
GREETS = ["--handshakes-of-device", 1 << 20]
run_all("serve_limits", [
    Attack(half_open, "--half-open", 4),
    Attack(half_open_of_four, "--half-open", 8, "--half-open-of-address", 4, limit="half_open"),
    Attack(half_open_of_address, "--half-open", 8, "--half-open-of-address", 4),
    Attack(first_frame_late, "--first-frame-seconds", 1),
    Attack(frame_too_long),
    Attack(useless_frames),
    Attack(idle_connection, "--idle-connection-seconds", 1),
    Attack(idle_session, "--idle-session-seconds", 1),
    Attack(connections, "--connections", 4),
    Attack(connections_of_device, "--connections-of-device", 2),
    Attack(sessions, "--sessions", 5, "--sessions-of-device", 3),
    Attack(sessions_of_device, "--sessions-of-device", 2),
    Attack(unsent_bytes, *GREETS, "--unsent-bytes", 1 << 15),
    Attack(unsent_in_all, *GREETS, "--unsent-in-all", 1 << 15),
    Attack(handshakes_of_device, "--handshakes-of-device", 10, "--connections-of-device", 64),
    Attack(written_of_device, *GREETS, "--written-of-device", 4096),
    Attack(journal_full, "--journal-bytes", 1024),
    Attack(disk_full, "--disk-bytes", 1 << 14),
    Attack(not_the_owner),
    Attack(descriptors, *MANY, ulimit="-n 80"),
    Attack(descriptors_of_strangers, *MANY, limit="descriptors", ulimit="-n 80")])
