#!/usr/bin/env python3
"""serve_restart.py [EDGE_CLOUD ...] [CHECK...]: `edge_cloud serve` on a folder that it cannot restore whole, under
--required, when it is full, and after SIGHUP. Every check runs, and each failure is named."""
import hashlib
import os
import shutil
import signal
import struct
import sys
import time

from serving import (Connection, World, certificates, hello_for, is_refusal, key_of, parted, private, trusting)

PROGRAM = os.path.join(os.environ.get("SPECVERIFY_BUILD_DIR", "build/gcc"), "apps", "edge_cloud", "edge_cloud")


def started(server, *more):
    """The server started again on its folder. None if it ends instead."""
    try:
        return server.world.serve(server.name, *more)
    except AssertionError:
        return None


def killed(server):
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()


def journal_of(server, session):
    return server.state / "sessions" / f"{session:016x}" / "journal"


def greeted(server, hello, device, session):
    """A session whose cloud waits for the text of the prompt."""
    opener = Connection(server.port, device)
    opener.send(hello_for(hello, session))
    assert not is_refusal(opener.frames(5, 1)[0]), server.world.log(server.name)
    return opener


def left(server, device, session):
    """A session with a journal, whose device is gone."""
    writer = server.world.device(f"left_{session}", server.port, device, session, "--pace", "paper", tokens=60)
    while not journal_of(server, session).exists() or journal_of(server, session).stat().st_size == 0:
        assert writer.poll() is None, server.world.log(f"left_{session}")
        time.sleep(0.02)
    writer.kill()
    writer.wait()
    time.sleep(0.2)
    killed(server)


def other_options(world, hello):
    """A session that the new options do not serve is set aside by name, and the server starts."""
    server = world.serve("options")
    left(server, 1, 70)
    kept = journal_of(server, 70).read_bytes()
    again = started(server, "--draft-length", 2)
    assert again, "a session of other options keeps the server from starting:\n" + world.log("options")
    assert "session 70 cannot be restored: (beyond_limit)" in world.log("options"), world.log("options")
    assert [path.read_bytes() for path in (server.state / "damaged").iterdir()] == [kept]
    again.stop()


def strict_restore(world, hello):
    """The server ends instead, and leaves the folder as it is."""
    server = world.serve("strict")
    left(server, 1, 70)
    kept = journal_of(server, 70).read_bytes()
    strict = world.start("strict", ["serve", "--port", 0, "--state-dir", server.state, "--draft-length", 2, "--devices",
                                    world.folder / "devices", "--strict-restore"])
    ends = strict.wait(timeout=60) == 1 and "--strict-restore: " in world.log("strict")
    assert ends and journal_of(server, 70).read_bytes() == kept, "a strict server starts:\n" + world.log("strict")


def zero_bytes(world, hello):
    """A power cut left zero bytes after a journal: its last whole record counts, and the rest is said."""
    server = world.serve("zeros")
    left(server, 1, 72)
    with open(journal_of(server, 72), "ab") as journal:
        journal.write(bytes(4096))
    again = started(server)
    assert again and "session 72: restored; dropped 4096 bytes" in world.log("zeros"), \
        "zero bytes cost a journal:\n" + world.log("zeros")
    again.stop()


def two_messages(world, hello):
    """Hello, and then another one with one token, while the cloud waits for the prompt."""
    server = world.serve("two")
    opener = greeted(server, hello, 1, 71)
    opener.send(hello_for(hello, 71, nonce=1, length=1))
    opener.frames(1, 1)
    killed(server)
    again = started(server)
    assert again, "two messages of a device keep the server from starting:\n" + world.log("two")
    again.stop()


def required_guarantee(world, hello):
    """A session with a weaker guarantee than --required is refused by name, and one that has it is served."""
    known = world.serve("known")  # writes the file of devices
    known.stop()
    process = world.start("required", ["serve", "--port", 0, "--state-dir", world.folder / "required", "--devices",
                                       world.folder / "devices", "--required", "unconditional"])
    port = world.folder / "required" / "port"
    while process.poll() is None and not port.exists():
        time.sleep(0.02)
    assert port.exists(), "serve takes no --required:\n" + world.log("required")
    number = int(port.read_text())
    weaker = world.device("weaker", number, 1, 80, tokens=4)
    assert weaker.wait(timeout=60) == 1 and "refuses (guarantee_too_weak)" in world.log("weaker"), world.log("weaker")
    for n, system in enumerate(("target", "greedy")):
        assert len(world.text(system, world.device(system, number, 2 + n, 81 + n, "--system", system, tokens=4))) == 4
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0, world.log("required")


def lost_verdicts(world, hello):
    """The server's disk lost what it verified. Under --required unconditional the device's text is not taken."""
    arguments = ["--required", "unconditional", "--pace", "paper"]
    server = world.serve("lost", *arguments)
    writer = world.device("writer", server.port, 1, 75, "--system", "target", tokens=60)
    while not journal_of(server, 75).exists() or journal_of(server, 75).stat().st_size < 2000:
        assert writer.poll() is None, world.log("writer")
        time.sleep(0.02)
    killed(server)
    shutil.rmtree(server.state / "sessions")
    again = world.serve("lost", *arguments, port=server.port)
    assert writer.wait(timeout=60) == 1, "text that the server did not verify is taken"
    assert "refuses (unverified_text)" in world.log("writer") and "--prompt" in world.log("writer"), world.log("writer")
    again.stop()


def told(connection, seconds=5):
    """The number of the refusal with which a connection is closed."""
    assert connection.closed_within(seconds), f"a connection is not closed: {connection.socket}"
    last = parted(connection.heard)[0][-1:]
    return struct.unpack("<I", last[0][12:16])[0] if last and is_refusal(last[0]) else None


def full_server(world, hello):
    """Each connection that has no place hears why before it is closed."""
    said = {}
    small = world.serve("full", "--first-frame-seconds", 1, "--half-open", 3, "--half-open-of-address", 2,
                        "--connections-of-device", 1)
    strangers = [Connection(small.port, source=f"127.0.0.{2 + n // 2}") for n in range(5)]
    said["half_open"] = told(strangers[0], 1)
    said["first_frame_late"] = told(Connection(small.port, source="127.0.0.10"))
    crowd = [Connection(small.port, source="127.0.0.9") for _ in range(3)]
    said["half_open_of_address"] = told(crowd[0], 1)
    old, _ = Connection(small.port, 1), time.sleep(0.2)
    new = Connection(small.port, 1)
    said["connections_of_device"] = told(old)
    assert not new.closed_within(0.2)
    small.stop()
    few = world.serve("few", ulimit="-n 64")  # 8 connections
    known = [Connection(few.port, device) for device in range(1, 9)]
    time.sleep(0.3)
    said["descriptors"] = told(Connection(few.port, 9))
    assert not any(each.closed_within(0.01) for each in known)
    few.stop()
    wrong = {name: number for name, number in said.items() if number != NUMBERS[name]}
    assert not wrong, f"a full server closes without a reason: {wrong}"


def handshakes(world, hello):
    """A device that says hello again and again is refused by name, and its session goes on in the next second."""
    server = world.serve("often")
    asks = greeted(server, hello, 1, 74)
    for n in range(200):
        asks.send(hello_for(hello, 74, nonce=n))
    assert asks.closed_within(2) and is_refusal(parted(asks.heard)[0][-1]), \
        "a device greets as often as it likes:\n" + world.log("often")
    time.sleep(1)
    again = Connection(server.port, 1)
    again.send(hello_for(hello, 74, nonce=300))
    assert not is_refusal(again.frames(5, 1)[0])
    assert server.stop()["refused"]["handshakes_of_device"] == 1


def reload(world, hello):
    """SIGHUP: a new device is let in, one that is gone is turned away with its connections, and the others go on."""
    devices = world.folder / "own_devices"
    line = "{0} " + "{1}\n"
    private(devices, line.format(1, key_of(1)) + line.format(2, key_of(2)))
    certificates(world.folder)
    server = world.serve("reload", "--devices", devices, "--tls-certificate", world.folder / "server.pem", "--tls-key",
                         world.folder / "server.key", keys=False)
    first, second = (Connection(server.port, device, context=trusting(world.folder)) for device in (1, 2))
    serial = serial_of(first)
    time.sleep(0.2)
    devices.write_text(line.format(2, key_of(2)) + line.format(3, key_of(3)))
    certificates(world.folder)
    server.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 10
    while "SIGHUP" not in world.log("reload") and server.process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert server.process.poll() is None and told(first) == NUMBERS["key_unknown"], \
        "a device that is gone from the list goes on after SIGHUP:\n" + world.log("reload")
    third = Connection(server.port, 3, context=trusting(world.folder))
    third.send(hello_for(hello, 73))
    assert not is_refusal(third.frames(5, 1)[0]) and serial_of(third) != serial
    assert told(Connection(server.port, 1, context=trusting(world.folder))) == NUMBERS["key_unknown"]
    devices.write_text("rubbish\n")
    server.process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert "rubbish" not in world.log("reload") and "line 1: a line must have a device id" in world.log("reload")
    assert not second.closed_within(0.2) and not third.closed_within(0.1), world.log("reload")
    server.stop()


def serial_of(connection):
    """Which certificate the server shows."""
    return hashlib.sha256(connection.socket.getpeercert(binary_form=True)).digest()


NUMBERS = {"connections_of_device": 8, "half_open": 9, "first_frame_late": 10, "key_unknown": 11,
           "half_open_of_address": 20, "descriptors": 21}
CHECKS = [other_options, strict_restore, two_messages, zero_bytes, required_guarantee, lost_verdicts, full_server, handshakes, reload]


def main():
    failed = []
    with World(sys.argv[1] if len(sys.argv) > 1 else PROGRAM) as world:
        hello = world.recorded_hello()
        for check in CHECKS:
            if check.__name__ in (sys.argv[3:] or [check.__name__]):
                try:
                    check(world, hello)
                except AssertionError as error:
                    failed.append(f"FAILED: {check.__name__}: {error}")
    print("\n".join(failed) or "serve_restart: all checks passed")
    sys.exit(1 if failed else 0)


main()
