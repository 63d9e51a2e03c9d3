#!/usr/bin/env python3
"""serve_keys.py [EDGE_CLOUD [_ CHECK...]]: without TLS a device and a server prove to each other that they have the
device's key. The key is never sent, a proof is good once, and no copy of a key file is left in memory. Devices with a
table of id weights."""
import json
import os
import pathlib
import signal
import socket
import time

from serving import (Connection, challenge, found_in_memory, framed, is_refusal, key_of, old_first_frame, opening, parted,
                     private, proof, read_frame, relay, run_checks)


def says(world, name, child, *words):
    """It ends with 1 and these words."""
    assert child.wait(timeout=30) == 1, f"{name} ended with {child.returncode}:\n" + world.log(name)
    for said in words:
        assert said in world.log(name), f"{name} does not say {said!r}:\n" + world.log(name)


def listener():
    made = socket.create_server(("127.0.0.1", 0))
    made.settimeout(30)
    return made


def heard_from(world, *answers):
    """What a device says to somebody who listens on the port, and answers its frames with these."""
    with listener() as somebody:
        child = world.device("device", somebody.getsockname()[1], 1, 1, "--connect-seconds", 3)
        connection = somebody.accept()[0]
        connection.settimeout(1)
        heard = b""
        with connection:
            for answer in [*answers, None]:
                try:
                    heard += connection.recv(65536)
                    if answer is not None:
                        connection.sendall(framed(answer(heard)))
                    while data := connection.recv(65536):
                        heard += data
                except OSError:
                    pass
    return child, heard


def listener_gets_no_key(world):
    """Whoever listens on the port gets a number and random bytes, and nothing more if he does not know the key."""
    child, heard = heard_from(world)
    assert bytes.fromhex(key_of(1)) not in heard, "the device gave its key to whoever listens"
    child.kill()
    child.wait()
    frames = parted(heard)[0]
    assert len(frames) == 1 and len(frames[0]) == 36 and frames[0][:12] == opening(1)[:12], heard


def server_without_the_key(world):
    """A server that proves nothing, or with another key, or sends back the device's own bytes, gets no proof."""
    for name, answer in (("nothing", lambda _: b"svk1" + bytes(56)),
                         ("another key", lambda heard: challenge(key_of(2), parted(heard)[0][0])),
                         ("wrong role", lambda heard: b"svk1" + bytes(24) + proof("device", key_of(1), heard[3:], bytes(24))),
                         ("too short", lambda heard: challenge(key_of(1), parted(heard)[0][0])[:-1]),
                         ("too long", lambda heard: challenge(key_of(1), parted(heard)[0][0]) + b"\0"),
                         ("another version", lambda heard: b"svk2" + challenge(key_of(1), parted(heard)[0][0])[4:]),
                         ("the opening", lambda heard: heard[3:])):
        child, heard = heard_from(world, answer)
        says(world, "device", child, "the server does not prove that it has this device's key")
        assert len(parted(heard)[0]) == 1, f"{name}: the device went on"


def nonces_are_new(world):
    """Of both sides, with each connection."""
    devices = []
    for _ in range(2):
        child, heard = heard_from(world)
        child.kill()
        child.wait()
        devices.append(parted(heard)[0][0])
    assert devices[0][12:] != devices[1][12:], "a device used a nonce twice"
    server = world.serve("server")
    said, challenges = opening(1), []
    for _ in range(2):
        raw = Connection(server.port)
        raw.send(said)
        challenges.append(raw.frames(2, 1)[0])
    assert challenges[0][4:28] != challenges[1][4:28] and challenges[0][28:] != challenges[1][28:], challenges
    server.stop()


def refused(server, *frames):
    """Whether the server answers with its challenge, where one is due, and then a refusal by this name."""
    raw = Connection(server.port)
    for message in frames:
        raw.send(message)
    heard = raw.frames(2, len(frames))
    return bool(heard) and is_refusal(heard[-1])


def strangers(world):
    """Nobody is let in without the key. An unknown device is answered as a known one with another key is."""
    server = world.serve("server")
    recorded = []
    with listener() as between:  # an honest connection, written down by somebody on the way
        child = world.device("device", between.getsockname()[1], 1, 1, tokens=2)
        near, heard = between.accept()[0], bytearray()
        with near, socket.create_connection(("127.0.0.1", server.port)) as far, far.makefile("rb") as from_server:
            near.settimeout(10)
            first = read_frame(near.makefile("rb"))
            far.sendall(framed(first))
            near.sendall(framed(read_frame(from_server)))
            recorded = [first, read_frame(near.makefile("rb"))]
        child.kill()
        child.wait()
    assert refused(server, *recorded), "a recorded proof was taken again"
    said = opening(1)
    for name, answer in (("zeros", bytes(32)), ("another key", lambda nonce: proof("device", key_of(2), said, nonce)),
                         ("the server's role", lambda nonce: proof("server", key_of(1), said, nonce)),
                         ("another device", lambda nonce: proof("device", key_of(1), opening(2, said[12:]), nonce)),
                         ("cut", lambda nonce: proof("device", key_of(1), said, nonce)[:-1])):
        raw = Connection(server.port)
        raw.send(said)
        asked = raw.frames(2, 1)[0]
        raw.send(answer if isinstance(answer, bytes) else answer(asked[4:28]))
        heard = raw.frames(2, 1)
        assert len(heard) == 1 and is_refusal(heard[0]), f"{name}: {heard}"
    unknown = Connection(server.port)
    unknown.send(opening(12345))
    asked = unknown.frames(2, 1)
    assert len(asked) == 1 and len(asked[0]) == 60, "an unknown device is told at once"
    unknown.send(bytes(32))
    assert unknown.frames(2, 1) == heard, "an unknown device and a wrong proof look different"
    assert server.stop()["refused"]["key_unknown"] >= 7


def old_first_frames(world):
    """They carry the key, and are refused by name."""
    server = world.serve("server")
    for message in (old_first_frame(1), b"", b"svk2" + opening(1)[4:], opening(1)[:-1], opening(1) + b"\0"):
        raw = Connection(server.port)
        raw.send(message)
        heard = raw.frames(2, 1)
        assert len(heard) == 1 and is_refusal(heard[0]), f"no refusal of the first frame {message}: {heard}"
    assert "refused (other_first_frame)" in world.log("server"), world.log("server")
    assert server.stop()["refused"]["other_first_frame"] == 5


def wrong_key_is_logged(world):
    """A device with another key ends before it has proven anything. The server's log says so, too."""
    server = world.serve("server")
    key = private(world.folder / "other", key_of(2))
    child = world.start("device", ["device", "--connect", f"127.0.0.1:{server.port}", "--device-id", 1, "--device-key-file",
                                   key, "--state-dir", world.folder / "me"])
    says(world, "device", child, "does not prove that it has this device's key", "--device-key-file")
    time.sleep(0.3)
    assert "refused (key_unknown)" in world.log("server"), world.log("server")
    server.stop()


def challenged_before_a_reload(world):
    """A device whose key is taken back while it is challenged is not let in by the old one."""
    server = world.serve("server", devices=[1, 2])
    raw, said = {}, {}
    for device in (1, 2):
        raw[device], said[device] = Connection(server.port), opening(device)
        raw[device].send(said[device])
    nonce = {device: raw[device].frames(2, 1)[0][4:28] for device in (1, 2)}
    (world.folder / "devices").write_text(f"2 {key_of(2)}\n")
    server.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 10
    while "read again" not in world.log("server"):
        assert time.monotonic() < end, world.log("server")
        time.sleep(0.02)
    for device in (1, 2):
        raw[device].send(proof("device", key_of(device), said[device], nonce[device]))
    heard = raw[1].frames(2, 1)
    assert len(heard) == 1 and is_refusal(heard[0]), "a key that was taken back lets a device in"
    assert raw[2].frames(0.3) == [] and not raw[2].was_dropped(), "a device whose key stays is turned away"
    assert server.stop()["refused"]["key_unknown"] == 1


def relayed(world):
    """What it does not do: somebody between two live ends hands the frames on, and reads all that follows."""
    server = world.serve("server")
    assert world.recorded_session(server, 1, 1)[0][0] & 15 == 1, "the device's hello is not to be read"
    server.stop()


def key_files_leave_no_copy(world):
    """A key, or a secret, stands in a file as hex digits. Once it was read no digits are left in memory."""
    server = world.serve("server", devices=range(1, 40))
    secret = b"00112233445566778899aabbccddeeff"
    wanted = [secret[16:], *(key_of(device).encode()[32:] for device in range(1, 40))]
    found = found_in_memory(server.process, wanted)
    found.discard(secret[16:])  # in use
    assert not found, f"{len(found)} keys of --devices are left in the server's memory as text"
    server.stop()
    with listener() as silent:
        child = world.device("device", silent.getsockname()[1], 1, 1)
        silent.accept()[0].recv(1)
        assert not found_in_memory(child, [key_of(1).encode()[32:]]), "the key file is left in the device's memory"
        child.kill()
        child.wait()


def table_of_ids(world):
    """A table of id weights that both sides have makes drafts shorter. A device says if the server has none; and the
    text is always the same."""
    option = ["--prior", pathlib.Path(__file__).parents[2] / "models" / "tinylm" / "model" / "prior.table"]
    tokens, drafts = {}, {}
    for name, server_has, device_has in (("plain", [], []), ("both", option, option), ("alone", [], option)):
        server = world.serve("server_" + name, *server_has)
        child = world.device(name, server.port, 3, 9, "--system", "shared-noise", *device_has, tokens=48)
        tokens[name] = world.text(name, child)
        drafts[name] = json.loads((world.folder / name / "report.json").read_text())["draft_bytes"]
        server.stop()
    assert tokens["both"] == tokens["alone"] == tokens["plain"], tokens
    assert drafts["both"] < drafts["plain"] and drafts["alone"] == drafts["plain"], drafts
    for name in tokens:
        assert ("does not have the table" in world.log(name)) == (name == "alone"), world.log(name)


if __name__ == "__main__":
    run_checks("serve_keys", [table_of_ids, listener_gets_no_key, server_without_the_key, nonces_are_new, strangers, old_first_frames,
                              wrong_key_is_logged, challenged_before_a_reload, relayed, key_files_leave_no_copy])
