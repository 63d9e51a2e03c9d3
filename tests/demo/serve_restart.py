#!/usr/bin/env python3
"""serve_restart.py [EDGE_CLOUD ...] [CHECK...]: restarts of `edge_cloud serve` on a folder that it cannot restore whole.
Every check runs, and each failure is named."""
import os
import signal
import struct
import sys
import time

from serving import Connection, World, crc32c, hello_for, is_refusal, resume_for

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


def begun(server, hello, device, session):
    """A session whose cloud waits for the text of the prompt."""
    opener = Connection(server.port, device)
    opener.send(hello_for(hello, session))
    assert not is_refusal(opener.frames(5, 1)[0]), server.world.log(server.name)
    return opener


def other_options(world, hello):
    """A session that the new options do not serve is set aside by name, and the server starts."""
    server = world.serve("options")
    begun(server, hello, 1, 70)
    killed(server)
    kept = journal_of(server, 70).read_bytes()
    again = started(server, "--draft-length", 2)
    assert again, "a session of other options keeps the server from starting:\n" + world.log("options")
    assert "session 70 cannot be restored: (beyond_limit)" in world.log("options"), world.log("options")
    assert [path.read_bytes() for path in (server.state / "damaged").iterdir()] == [kept]
    again.stop()


def strict_restore(world, hello):
    """The server ends instead, and leaves the folder as it is."""
    server = world.serve("strict")
    begun(server, hello, 1, 70)
    killed(server)
    kept = journal_of(server, 70).read_bytes()
    strict = world.start("strict", ["serve", "--port", 0, "--state-dir", server.state, "--draft-length", 2, "--devices",
                                    world.folder / "devices", "--strict-restore"])
    ends = strict.wait(timeout=60) == 1 and "--strict-restore: " in world.log("strict")
    assert ends and journal_of(server, 70).read_bytes() == kept, "a strict server starts:\n" + world.log("strict")


def zero_bytes(world, hello):
    """A power cut left zero bytes after a journal: its last whole record counts, and the rest is said."""
    server = world.serve("zeros")
    begun(server, hello, 1, 72)
    killed(server)
    with open(journal_of(server, 72), "ab") as journal:
        journal.write(bytes(4096))
    again = started(server)
    assert again and "session 72: restored; dropped 4096 bytes" in world.log("zeros"), \
        "zero bytes cost a journal:\n" + world.log("zeros")
    again.stop()


def two_messages(world, hello):
    """Hello, and then a resume of the next epoch, whose base length is 1, while the cloud waits for the prompt."""
    server = world.serve("two")
    opener = begun(server, hello, 1, 71)
    resume = bytearray(resume_for(hello, 71, epoch=struct.unpack("<I", hello[18:22])[0] + 1))
    resume[2:4], resume[24:28] = struct.pack("<H", 1), struct.pack("<I", 1)
    covered = bytes(resume[8:36]) + struct.pack("<I", len(resume)) + bytes(resume[:4]) + bytes(resume[8:])
    resume[4:8] = struct.pack("<I", crc32c(covered))
    opener.send(bytes(resume))
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


CHECKS = [other_options, strict_restore, two_messages, zero_bytes, required_guarantee]


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
