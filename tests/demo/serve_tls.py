#!/usr/bin/env python3
"""serve_tls.py EDGE_CLOUD EDGE_CLOUD_LIFTED: TLS 1.3 with certificates that openssl makes, and what is refused without them."""
import os
import shutil
import signal
import socket
import ssl
import sys
import time

from serving import (Connection, World, certificates, found_in_memory, is_refusal, key_of, old_first_frame, private,
                     trusting)


def handshake(port, folder, version, name):
    """True: the server takes this version and certificate, and goes on."""
    context = trusting(folder, name)
    context.minimum_version = context.maximum_version = version
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as secured:
                secured.settimeout(1)
                return len(secured.recv(1)) == 1  # a refusal is an answer, the end of the connection is none
    except TimeoutError:
        return True
    except OSError:
        return False


def at_once(world, name, child, *words):
    """It ends without waiting for --connect-seconds, and says all of these."""
    assert child.wait(timeout=20) == 1, world.log(name)
    for said in words:
        assert said in world.log(name), f"not said: {said!r}\n" + world.log(name)


def with_certificates(world):
    folder = world.folder
    certificates(folder)
    own = ["--tls-certificate", folder / "server.pem", "--tls-key", folder / "server.key"]
    server = world.serve("certified", *own, "--tls-client-ca", folder / "ca.pem", keys=False)
    device = ["--tls-ca", folder / "ca.pem"]
    known = [*device, "--tls-certificate", folder / "device.pem", "--tls-key", folder / "device.key"]
    assert len(world.text("a", world.device("a", server.port, 5, 10, *known, keys=False))) == 16
    log = world.log("certified")
    assert "device 5 opens session 10" in log and "TLS 1.3" in log, log
    assert handshake(server.port, folder, ssl.TLSVersion.TLSv1_3, "device")
    assert not handshake(server.port, folder, ssl.TLSVersion.TLSv1_2, "device"), "TLS 1.2 was taken"
    assert not handshake(server.port, folder, ssl.TLSVersion.TLSv1_3, None), "no certificate was asked for"
    nameless = [*device, "--tls-certificate", folder / "nobody.pem", "--tls-key", folder / "nobody.key"]
    child = world.device("nobody", server.port, 5, 11, *nameless, keys=False)
    assert child.wait(timeout=60) != 0 and "refuses (certificate)" in world.log("nobody"), world.log("nobody")
    assert "(certificate)" in world.log("certified"), world.log("certified")
    at_once(world, "bare", world.device("bare", server.port, 5, 14, *device), "certificate required", "--tls-certificate")
    assert "did not return a certificate" in world.log("certified"), world.log("certified")
    plain = Connection(server.port, 5)
    plain.send(b"rubbish")
    assert plain.closed_within(2), "bytes without TLS were waited for"
    server.stop()
    read_again_in_mid_handshake(world, [*own, "--tls-client-ca", folder / "ca.pem"])
    listed_alone(world, [*own, "--tls-client-ca", folder / "ca.pem"], known)

    keyed = world.serve("keyed", *own)
    assert len(world.text("b", world.device("b", keyed.port, 1, 10, *device))) == 16
    other_name = ["--tls-ca", folder / "ca.pem", "--tls-name", "elsewhere.example"]
    at_once(world, "c", world.device("c", keyed.port, 1, 12, *other_name),
            "is not for elsewhere.example; give its name with --tls-name")
    other_authority = ["--tls-ca", folder / "device.pem"]
    at_once(world, "d", world.device("d", keyed.port, 1, 13, *other_authority), "is not trusted", "--tls-ca")
    assert "(handshake)" in world.log("keyed"), world.log("keyed")
    without_tls(world, keyed, device)
    keyed.stop()
    memory_of_connections(world, [*own, "--tls-client-ca", folder / "ca.pem"])


def memory_of_connections(world, certified):
    """What docs/serving.md says of a connection inside TLS: 112 KiB, and its frame. All of them have one under way."""
    count, frame = 100, 32768
    server = world.serve("crowded", *certified, "--connections-of-device", 200, "--handshakes-of-device", 1000,
                         keys=False)
    context = trusting(world.folder, "device")
    before, crowd = server.memory("VmRSS"), []
    for _ in range(count):
        crowd.append(Connection(server.port, context=context))
        crowd[-1].raw(frame.to_bytes(3, "little") + bytes(frame - 1))
    time.sleep(0.5)
    grown = server.memory("VmRSS") - before
    print(f"{grown / count / 1024:.0f} KiB a connection")
    assert still_open(crowd) == count and count * frame / 2 < grown <= count * (frame + 112 * 1024), grown
    server.stop()


def still_open(connections):
    return sum(not c.closed_within(0.001) for c in connections)


def handshake_on(inside, line, goes):
    """As far as it goes with what came. True: it is over at this side."""
    try:
        inside.do_handshake()
        over = True
    except ssl.SSLWantReadError:
        over = False
    line.sendall(goes.read())
    return over


def read_again_in_mid_handshake(world, certified):
    """A device whose handshake is under way while the certificates are read again is let in."""
    server = world.serve("reloaded", *certified, keys=False)
    came, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
    inside = trusting(world.folder, "device").wrap_bio(came, goes, server_hostname="127.0.0.1")
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        handshake_on(inside, line, goes)
        came.write(line.recv(65536))
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 20
        while "are read again" not in world.log("reloaded"):
            assert time.monotonic() < end, world.log("reloaded")
            time.sleep(0.02)
        while not handshake_on(inside, line, goes):
            came.write(line.recv(65536))
        line.settimeout(1)
        try:
            came.write(line.recv(65536))
            heard = inside.read(1)
        except (TimeoutError, ssl.SSLError) as error:
            heard = error
    assert isinstance(heard, TimeoutError), f"a reload ends a handshake: {heard!r}\n" + world.log("reloaded")
    assert server.stop()["refused"]["handshake"] == 0, world.log("reloaded")


def listed_alone(world, certified, known):
    """The authority signs for more devices than may speak here. Without the list, or this limit, all may."""
    others = private(world.folder / "others", "# not 5\n6\n")
    server = world.serve("listed", *certified, "--devices", others, keys=False)
    child = world.device("unlisted", server.port, 5, 18, *known, keys=False)
    at_once(world, "unlisted", child, "refuses (not_listed)")
    assert "device 5: refused (not_listed)" in world.log("listed"), world.log("listed")
    refused = server.stop()["refused"]  # once, whatever else it had sent by then
    assert (refused["not_listed"], refused["frame_too_long"]) == (1, 0), refused
    lifted = world.serve("lifted", *certified, "--devices", others, keys=False, lifted="not_listed",
                         program=sys.argv[2])
    world.text("let_in", world.device("let_in", lifted.port, 5, 18, *known, keys=False, tokens=4))
    lifted.stop()
    keyed = private(world.folder / "keyed_list", f"5 {key_of(5)}\n")
    at_once(world, "mixed", world.start("mixed", ["serve", "--port", 0, "--state-dir", world.folder / "mixed", *certified,
                                                  "--devices", keyed]), "must have only a device id")


def without_tls(world, keyed, device):
    """One side speaks TLS, and the other one does not, or says nothing at all."""
    plain = world.serve("bare_server")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        brief = ["--connect-seconds", 1]
        late = "no useful answer for 1 seconds"
        started = [("e", world.device("e", keyed.port, 1, 15), ["(plain_client)", "give --tls-ca"]),
                   ("f", world.device("f", plain.port, 1, 16, *device), ["(tls_client)", "leave out --tls-ca"]),
                   ("g", world.device("g", silent.getsockname()[1], 1, 17, *device, *brief),
                    [late, "does the server speak TLS?"])]
        for name, child, words in started:
            at_once(world, name, child, *words)
    assert "refused (plain_client)" in world.log("keyed"), world.log("keyed")
    refused = plain.stop()["refused"]
    assert refused["tls_client"] == 1 and refused["frame_too_long"] == 0, refused


def forgets_keys(server):
    """A key that a device of an older version sends is nowhere in the server's memory once it was looked at."""
    key = os.urandom(32)
    stranger = Connection(server.port)
    stranger.send(old_first_frame(1, key.hex()))
    assert len(stranger.frames(2, 1)) == 1
    assert not found_in_memory(server.process, [key[16:]]), "a key is left in memory"


def turned_away_once(world):
    """Strangers with wrong keys are refused as that, and make room for each other without another refusal."""
    server = world.serve("brief", "--half-open", 4, "--half-open-of-address", 4)
    crowd = [Connection(server.port, 1, key_of(2)) for _ in range(12)]
    assert all(c.closed_within(1) for c in crowd)
    refused = server.stop()["refused"]
    assert (refused["key_unknown"], refused["half_open"], refused["half_open_of_address"]) == (12, 0, 0), refused


def with_keys(world):
    server = world.serve("plain")
    wrong = Connection(server.port, 1, key_of(2))
    heard = wrong.frames(2)
    assert len(heard) == 1 and is_refusal(heard[0]), heard
    unknown = Connection(server.port, 12345)
    assert unknown.frames(2) == heard, "an unknown id and a wrong key look different"
    forgets_keys(server)
    (world.folder / "keys").mkdir(exist_ok=True)
    child = world.device("thief", server.port, 200, 10)  # its id stands in no list
    assert child.wait(timeout=60) != 0 and "does not prove that it has" in world.log("thief"), world.log("thief")
    assert "(key_unknown)" in world.log("plain")
    assert key_of(1) not in world.log("plain")
    assert server.stop()["refused"]["frame_too_long"] == 0, "a refused device was refused again"


def refused_to_start(world):
    def says(words, *arguments):
        child = world.start("refused", ["serve", "--state-dir", world.folder / "refused", "--port", 0, *arguments])
        assert child.wait(timeout=20) != 0 and words in world.log("refused"), world.log("refused")
    says("--insecure-listen", "--listen", "0.0.0.0", "--devices", world.folder / "devices")
    says("no device is known")
    says("not an address", "--listen", "somewhere", "--devices", world.folder / "devices")


def main():
    with World(sys.argv[1]) as world:
        with_keys(world)
        turned_away_once(world)
        refused_to_start(world)
        if shutil.which("openssl") is None:
            print("SKIPPED: no openssl to make certificates with")
            sys.exit(77)
        with_certificates(world)
    print("serve_tls: all checks passed")


main()
