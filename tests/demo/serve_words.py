#!/usr/bin/env python3
"""serve_words.py EDGE_CLOUD [...]: what a newcomer gets wrong with `serve` and `device`, and what they say then."""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time

from serving import Connection, World, key_of, private, relay


def ends_with(world, name, child, *words, seconds=30):
    """It ends with 1, and its log says all of these."""
    assert child.wait(timeout=seconds) == 1, f"{name} ended with {child.returncode}:\n" + world.log(name)
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


def frames_too_long(world, server):
    """A device whose laws the server does not take ends at once."""
    small = world.serve("small", "--frame-bytes", 1024)
    ends_with(world, "long", world.device("long", small.port, 1, 30, "--system", "hlm"), "(frame_too_long)",
              "--frame-bytes")
    small.stop()


def cut_after_greeting(listener, port, until):
    """Each connection ends when the server has answered the greeting. How many there were."""
    count = 0
    listener.settimeout(0.1)
    while until.poll() is None and count < 200:
        try:
            near = listener.accept()[0]
        except TimeoutError:
            continue
        count += 1
        with near, socket.create_connection(("127.0.0.1", port)) as far:
            threading.Thread(target=relay, args=(near, far), daemon=True).start()
            far.settimeout(10)
            near.sendall(far.recv(65536))
    return count


def connections_without_use(world, server):
    """A server that answers greetings alone does not hold a device for longer than --connect-seconds."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = world.device("greeted", listener.getsockname()[1], 1, 31, "--connect-seconds", 1)
        count = cut_after_greeting(listener, server.port, child)
    assert count < 20, f"{count} connections in a second"
    ends_with(world, "greeted", child, "no useful answer for 1 seconds", "--connect 127.0.0.1:")


def silent_peers(world, server):
    """Nor does a peer that takes the connection and says nothing, or one that leaves it waiting."""
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = []
        for _ in range(4):  # the queue is full: whoever dials now gets no answer at all
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(full.getsockname())
        children = {name: world.device(name, listener.getsockname()[1], 1, 36, "--connect-seconds", 1)
                    for name, listener in (("silent", silent), ("full", full))}
        for name, words in (("silent", "the server does not answer"), ("full", "no connection")):
            ends_with(world, name, children[name], "no useful answer for 1 seconds", words, seconds=10)
        for queued in waiting:
            queued.close()


def back_at_a_full_server(world, server):
    """Where no connection more is taken, the old one of a device, which may be dead, makes room for its new one."""
    small = world.serve("full", "--connections", 2)
    old, other = Connection(small.port, 1), Connection(small.port, 2)
    time.sleep(0.1)
    again, third = Connection(small.port, 1), Connection(small.port, 3)
    assert old.closed_within(2) and third.closed_within(2), "a place more than --connections"
    assert not again.closed_within(0.2) and not other.closed_within(0.1), "a device was shut out by its own connection"
    refused = small.stop()["refused"]
    assert (refused["connections_of_device"], refused["connections"]) == (1, 1), refused


def clock_of_another_boot(world, server):
    """The folder's clock began later than this one: the machine was started again. Seconds are counted from now."""
    world.text("boot", world.device("boot", server.port, 1, 37))
    for origin in (1 << 62, "rubbish"):
        (world.folder / "boot" / "origin").write_text(f"{origin}\n")
        world.text("boot", world.device("boot", server.port, 1, 37))
        arrival = json.loads((world.folder / "boot" / "report.json").read_text())["arrival"]
        assert len(arrival) == 16 and 0 <= arrival[0] <= arrival[-1] < 60, arrival


def another_temperature(world, server):
    """The number is a good one: it is the server's that differs."""
    child = world.device("hot", server.port, 1, 32, "--temperature", 0.5)
    ends_with(world, "hot", child, "(invalid_temperature)", "give the server's --temperature")
    assert "2^120" not in world.log("server") and "another --temperature" in world.log("server"), world.log("server")


def limits_of_the_library(world, server):
    """Which one it is, and what to do."""
    short = world.serve("short", "--draft-length", 2)
    ends_with(world, "longer", world.device("longer", short.port, 1, 33), "(beyond_limit): max_draft_length", "--system")
    assert "more than max_draft_length" in world.log("short"), world.log("short")
    short.stop()


def another_text(world, server):
    """A folder whose text began with other options is left alone, and goes on with those of before."""
    def begun(*arguments, session=34, tokens=16, **more):
        return world.device("text", server.port, 1, session, *arguments, tokens=tokens, **more)
    text = world.text("text", begun())
    kept = (world.folder / "text" / "journal").read_bytes()
    for option, child in (("--tokens", lambda: begun(tokens=10)), ("--session-id", lambda: begun(session=35)),
                          ("--prompt", lambda: begun(prompt="The other")), ("--system", lambda: begun("--system", "qs")),
                          ("--temperature", lambda: begun("--temperature", 0.5))):
        ends_with(world, "text", child(), f"with another {option}", "another --state-dir")
        assert (world.folder / "text" / "journal").read_bytes() == kept, option
    assert not (world.folder / "text" / "journal.corrupt").exists()
    assert world.text("text", begun()) == text


def refused_hellos(world, server):
    """What a refusal says to do works with the same folder: no text was begun in it."""
    strict = world.serve("strict", "--required", "unconditional")
    def begun(*arguments):
        return world.device("refused", strict.port, 1, None, *arguments)
    ends_with(world, "refused", begun(), "refuses (guarantee_too_weak)", "--system greedy")
    ends_with(world, "refused", begun("--system", "greedy", "--temperature", 0.5), "refuses (invalid_temperature)")
    assert len(world.text("refused", begun("--system", "greedy"))) == 16
    strict.stop()


def options_of_serve(world, server):
    """Whatever is wrong with an option, the message names it."""
    def says(code, *words, arguments):
        child = world.start("asked", ["serve", "--state-dir", world.folder / "asked", *arguments])
        assert child.wait(timeout=30) == code, world.log("asked")
        for said in words:
            assert said in world.log("asked"), f"not said: {said!r}\n" + world.log("asked")
    known = ["--devices", world.folder / "devices"]
    says(1, "another process listens there", f"--port {server.port}", arguments=["--port", server.port, *known])
    says(1, "--insecure-listen 192.0.2.1", "this machine does not have the address",
         arguments=["--insecure-listen", "192.0.2.1", *known])
    says(105, "--port: Value 70000", arguments=["--port", 70000, *known])
    says(1, "--devices nowhere: there is no such file", arguments=["--devices", "nowhere"])
    key = private(world.folder / "keys" / "1", key_of(1))
    says(1, "--tls-certificate nowhere: there is no such file", arguments=[*known, "--tls-certificate", "nowhere", "--tls-key", key])
    says(1, "--tls-key nowhere: there is no such file",
         arguments=[*known, "--tls-certificate", "nowhere", "--tls-key", "nowhere"])


def options_of_device(world, server):
    key = private(world.folder / "keys" / "1", key_of(1))
    def says(*words, arguments):
        ends_with(world, "asks", world.start("asks", ["device", "--state-dir", world.folder / "asks", *arguments]), *words)
    says("--device-key-file needs --device-id", arguments=["--device-key-file", key])
    says("--device-id is only for --device-key-file", arguments=["--device-id", 1, "--tls-certificate", "c", "--tls-key", "k"])
    keyed = ["--device-id", 1, "--device-key-file", key]
    says("both identify the device", arguments=[*keyed, "--tls-certificate", "c"])
    says("--tls-name needs --tls-ca", arguments=[*keyed, "--tls-name", "elsewhere"])
    says("--device-key-file nowhere: there is no such file",
         arguments=["--device-id", 1, "--device-key-file", "nowhere"])
    says("--connect localhost:99999: a port is a number from 1 to 65535",
         arguments=[*keyed, "--connect", "localhost:99999"])
    for option, value in (("--retry-ms", 0), ("--connect-seconds", 0)):
        child = world.start("asks", ["device", "--state-dir", world.folder / "asks", *keyed, option, value])
        assert child.wait(timeout=30) == 105 and f"{option}: Value 0 not in range" in world.log("asks"), world.log("asks")
    says("--connect 127.0.0.1:1: Connection refused; trying again", "Connection refused\n",
         arguments=[*keyed, "--connect", "127.0.0.1:1", "--connect-seconds", 1])


def full_disk(world, server):
    """The system takes no longer file: a session ends by that name, again and again, another goes on, and the server
    with it."""
    small = world.serve("full_disk", ulimit="-f 3")
    too_long = world.device("too_long", small.port, 1, 38, tokens=200, prompt="And it came to pass " * 40)
    ends_with(world, "too_long", too_long, "refuses (disk_failed)")
    assert len(world.text("brief", world.device("brief", small.port, 2, 39, tokens=4))) == 4
    assert small.stop()["refused"]["disk_failed"] == 9
    assert world.log("too_long").count("refuses (disk_failed)") == 9, world.log("too_long")


def private_state(world, server):
    """Both folders and all in them are for their user alone. One that others may read is not used."""
    os.umask(0o022)
    open_to_all = world.serve("rights")
    world.text("my_rights", world.device("my_rights", open_to_all.port, 1, 40, tokens=4))
    port = open_to_all.port
    open_to_all.stop()
    for name in ("rights", "my_rights"):
        folder = world.folder / name
        others = [str(path) for path in [folder, *folder.rglob("*")] if path.stat().st_mode & 0o077]
        assert not others, f"others may read {others}"
        folder.chmod(0o750)
    words = "others may read it; run: chmod 700 "
    again = world.start("rights", ["serve", "--port", port, "--state-dir", world.folder / "rights", "--devices",
                                   world.folder / "devices"])
    ends_with(world, "rights", again, words + str(world.folder / "rights"))
    ends_with(world, "my_rights", world.device("my_rights", port, 1, 40), words + str(world.folder / "my_rights"))


def limits_of_the_page(world, server):
    """docs/serving.md has each limit of --help, with its default."""
    shown = subprocess.run([world.program, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    limits = re.findall(r"^ +(--[a-z-]+) .*\]=(\d+)", shown.split("Limits:")[1], re.M)
    page = (pathlib.Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    rows = re.findall(r"^\| `(--[a-z-]+)` \| (\d+)( KiB| MiB)? \|", page, re.M)
    units = {"": 1, " KiB": 1 << 10, " MiB": 1 << 20}
    assert len(rows) >= 17 and dict(limits) == {name: str(int(value) * units[unit]) for name, value, unit in rows}, shown


CHECKS = [options_of_serve, limits_of_the_page, options_of_device, session_ids, one_process_a_folder, frames_too_long,
          connections_without_use, silent_peers, back_at_a_full_server, clock_of_another_boot, another_temperature,
          limits_of_the_library, another_text, refused_hellos, full_disk, private_state]


def main():
    with World(sys.argv[1]) as world:
        server = world.serve("server")
        for check in CHECKS:
            if check.__name__ in (sys.argv[3:] or [check.__name__]):
                check(world, server)
        server.stop()
    print("serve_words: all checks passed")


main()
