"""What the tests of `edge_cloud serve` share: a server, its devices, and raw connections to it. All on the loopback."""
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time


def key_of(device):
    return hashlib.sha256(b"a key of this test, %d" % device).hexdigest()


def opening(device, nonce=None):
    """The first frame of a device, as docs/serving.md has it."""
    return b"svk1" + struct.pack("<Q", device) + (nonce or os.urandom(24))


def proof(role, key, opening, server_nonce):
    message = b"specverify serve: " + role.encode() + opening[4:] + server_nonce
    return hmac.digest(bytes.fromhex(key), message, "sha256")


def challenge(key, opening, nonce=bytes(24)):
    """A server's answer to that frame."""
    return b"svk1" + nonce + proof("server", key, opening, nonce)


def old_first_frame(device, key=None):
    """Of an older version: the id and the key itself."""
    return struct.pack("<Q", device) + bytes.fromhex(key or key_of(device))


def private(path, text):
    """Written once: a process that was started earlier may be reading it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        path.chmod(0o600)
    return path


def crc_of_byte(state):
    for _ in range(8):
        state = (state >> 1) ^ (0x82F63B78 if state & 1 else 0)
    return state


CRC_TABLE = [crc_of_byte(byte) for byte in range(256)]


def crc32c(data):
    state = 0xFFFFFFFF
    for byte in data:
        state = (state >> 8) ^ CRC_TABLE[(state ^ byte) & 255]
    return state ^ 0xFFFFFFFF


def hello_for(hello, session, nonce=None, length=None):
    """A hello for another session id, under a good checksum."""
    made = bytearray(hello)
    made[10:18] = struct.pack("<Q", session)
    if nonce is not None:
        made[18:22] = struct.pack("<I", nonce)
    if length is not None:
        made[26:30], made[2:4] = struct.pack("<I", length), struct.pack("<H", length & 0xFFFF)
    covered = bytes(made[10:38]) + struct.pack("<I", len(made)) + bytes(made[:4]) + bytes(made[8:])
    made[4:8] = struct.pack("<I", crc32c(covered))
    return bytes(made)


def found_in_memory(process, wanted):
    """Those of these bytes that stand in the memory of a process."""
    found = set()
    with open(f"/proc/{process.pid}/maps") as maps, open(f"/proc/{process.pid}/mem", "rb", 0) as memory:
        for area in maps:
            bounds, rights = area.split()[:2]
            begin, end = (int(bound, 16) for bound in bounds.split("-"))
            if rights.startswith("rw"):
                memory.seek(begin)
                held = memory.read(end - begin)
                found |= {bytes(each) for each in wanted if each in held}
    return found


def framed(message):
    return len(message).to_bytes(3, "little") + message


def certificates(folder):
    """An authority, a server of 127.0.0.1, and devices 5, `none` and `05`, as docs/serving.md says; a server and device
    6 whose certificates say of no usage; and a device 7 that has a server's."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    for name, subject, usage in (("server", "server", "serverAuth"), ("device", "5", "clientAuth"),
                                 ("nobody", "none", "clientAuth"), ("padded", "05", "clientAuth"),
                                 ("usageless", "server", None), ("usageless_device", "6", None),
                                 ("device_as_server", "7", "serverAuth")):
        usages = f"extendedKeyUsage={usage}\n" if usage else ""
        (folder / (name + ".ext")).write_text(f"{usages}subjectAltName=IP:127.0.0.1\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + subject,
                "-keyout", name + ".key", "-out", name + ".csr")
        openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                "2", "-extfile", name + ".ext", "-out", name + ".pem")
        (folder / (name + ".key")).chmod(0o600)


def trusting(folder, name=None):
    """A client of these certificates, with one of its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(folder / "ca.pem")
    if name:
        context.load_cert_chain(folder / (name + ".pem"), folder / (name + ".key"))
    return context


class Connection:
    key_first = False  # scripts/red has programs of earlier commits, whose devices send their key first

    def __init__(self, port, device=None, key=None, receive_buffer=None, source="127.0.0.1", context=None,
                 patience=10):
        """`source`: any address of the loopback, as one of another machine. `context`: inside TLS. `patience`: seconds
        for the server's challenge."""
        self.socket = socket.socket()
        self.socket.bind((source, 0))
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(10)
        self.socket.connect(("127.0.0.1", port))
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")
        self.early = b""
        if device is not None:
            self.introduce(device, key, patience)

    def introduce(self, device, key=None, patience=10):
        """Answers the server's challenge, if there is one. What came in its place is heard later."""
        if Connection.key_first:
            return self.send(old_first_frame(device, key))
        said = opening(device)
        self.send(said)
        self.socket.settimeout(patience)
        try:
            while not parted(self.early)[0] and (data := self.socket.recv(65536)):
                self.early += data
        except OSError:
            return
        heard, rest = parted(self.early)
        if heard and len(heard[0]) == 60:
            self.early = rest
            self.send(proof("device", key or key_of(device), said, heard[0][4:28]))

    def send(self, message):
        self.raw(framed(message))

    def raw(self, data):
        self.socket.settimeout(10)
        try:
            self.socket.sendall(data)
        except OSError:  # it is gone, or takes nothing
            pass

    def was_dropped(self):
        """Reads nothing."""
        state = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        return state != 1  # established

    def closed_within(self, seconds):
        """Reads whatever comes. What came is in `heard`."""
        end = time.monotonic() + seconds
        self.heard, self.early = self.early, b""
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(65536)
            except TimeoutError:
                return False
            except OSError:  # of the connection, or of TLS
                return True
            if not data:
                return True
            self.heard += data
        return False

    def frames(self, seconds, most=None):
        """What comes within this time; with `most` no longer than until so many frames are there."""
        end, data, found = time.monotonic() + seconds, b"", []
        while (left := end - time.monotonic()) > 0 and (most is None or len(found) < most):
            over = self.closed_within(left if most is None else min(left, 0.05))
            more, data = parted(data + self.heard)
            found += more
            if over:
                break
        return found


def read_frame(stream):
    return stream.read(int.from_bytes(stream.read(3), "little"))


def parted(data):
    """The whole frames of a stream, and the rest."""
    found = []
    while len(data) >= 3 and len(data) >= 3 + (size := int.from_bytes(data[:3], "little")):
        found.append(data[3:3 + size])
        data = data[3 + size:]
    return found, data


def is_refusal(message):
    return message[0] & 15 == 8


def relay(source, target, heard=None):
    """Until the source has ended."""
    try:
        while data := source.recv(65536):
            if heard is not None:
                heard += data
            target.sendall(data)
    except OSError:
        pass


def built_program():
    """The first argument, or the program of the build folder that the environment names."""
    if len(sys.argv) > 1:
        return sys.argv[1]
    return str(pathlib.Path(os.environ["SPECVERIFY_BUILD_DIR"]).resolve() / "apps" / "edge_cloud" / "edge_cloud")


def run_checks(title, checks):
    """Runs each check in a world of its own, and names all that fail."""
    failed = []
    for check in checks:
        if check.__name__ not in (sys.argv[3:] or [check.__name__]):
            continue
        with World(built_program()) as world:
            try:
                check(world)
            except Exception as error:  # each check is run, whatever became of those before
                failed.append(f"{check.__name__}: {error!r}" if str(error) == "" else f"{check.__name__}: {error}")
    print("\n".join(failed) or f"{title}: all checks passed")
    sys.exit(1 if failed else 0)


class World:
    """A folder of its own, and processes that end with it."""

    def __init__(self, program):
        self.program, self.children = program, []
        Connection.key_first = b"specverify serve: " not in pathlib.Path(program).read_bytes()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="edge_cloud_"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name, arguments, lifted=None, program=None, ulimit=None):
        """`ulimit`: what the shell of that name gives the process."""
        environment = dict(os.environ)
        if lifted:
            environment["EDGE_CLOUD_LIFTED_LIMIT"] = lifted
        with open(self.folder / (name + ".log"), "ab") as log:
            limited = ["sh", "-c", f'ulimit {ulimit} && exec "$0" "$@"'] if ulimit else []
            child = subprocess.Popen([*limited, program or self.program, *map(str, arguments)], stdout=log, stderr=log,
                                     env=environment)
        self.children.append(child)
        return child

    def log(self, name):
        return (self.folder / (name + ".log")).read_text(errors="replace")

    def serve(self, name, *arguments, devices=range(1, 100), port=0, lifted=None, program=None, keys=True,
              ulimit=None):
        state = self.folder / name
        secret = private(self.folder / "cloud.secret", "00112233445566778899aabbccddeeff")
        known = []
        if keys:
            lines = "".join(f"{device} {key_of(device)}\n" for device in devices)
            known = ["--devices", private(self.folder / "devices", lines)]
        (state / "port").unlink(missing_ok=True)
        made = Server()
        made.name, made.state, made.world = name, state, self
        made.again = lambda: self.serve(name, *arguments, devices=devices, port=port, lifted=lifted, program=program,
                                        keys=keys, ulimit=ulimit)
        made.process = self.start(name, ["serve", "--end-with-parent", "--port", port, "--salt", 7, "--state-dir", state,
                                         "--secret-file", secret, *known, *arguments], lifted, program,
                                  ulimit)
        end = time.monotonic() + 60
        while not (state / "port").exists():
            assert made.process.poll() is None and time.monotonic() < end, "no server:\n" + self.log(name)
            time.sleep(0.02)
        made.port = int((state / "port").read_text())
        return made

    def device(self, name, port, device, session, *arguments, keys=True, prompt=None, tokens=16, retry=300):
        """Without a session id it draws one."""
        named = [] if session is None else ["--session-id", session]
        secret = private(self.folder / "edge.secret", "ffeeddccbbaa99887766554433221100")
        key_file = self.folder / "keys" / str(device)
        key = ["--device-id", device, "--device-key-file", private(key_file, key_of(device))] if keys else []
        return self.start(name, ["device", "--end-with-parent", "--connect", f"127.0.0.1:{port}", *key,
                                 "--state-dir", self.folder / name, "--secret-file", secret, *named, "--tokens",
                                 tokens, "--prompt", prompt or f"And the number {device} said", "--retry-ms", retry,
                                 *arguments])

    def text(self, name, process, seconds=120):
        code = process.wait(timeout=seconds)
        assert code == 0, f"{name} ended with {code}:\n" + self.log(name)
        return json.loads((self.folder / name / "report.json").read_text())["tokens"]

    def recorded_session(self, server, device, session):
        """All that a device says while it writes a text, but for its key."""
        heard = bytearray()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(60)
            child = self.device(f"recorded_{device}", listener.getsockname()[1], device, session)
            near = listener.accept()[0]
            far = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            with near, far:
                down = threading.Thread(target=relay, args=(far, near), daemon=True)
                down.start()
                relay(near, far, heard)
                far.shutdown(socket.SHUT_WR)
                down.join(timeout=60)
        self.text(f"recorded_{device}", child)
        return parted(bytes(heard))[0][2:]

    def recorded_hello(self, *arguments, prompt=None):
        """What a device says first, after its key."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(60)
            child = self.device("recorded", listener.getsockname()[1], 1, 1, *arguments, prompt=prompt)
            connection = listener.accept()[0]
            connection.settimeout(60)
            with connection, connection.makefile("rb") as stream:
                first = read_frame(stream)
                connection.sendall(framed(challenge(key_of(1), first)))
                answer = first if Connection.key_first else read_frame(stream)
                hello = read_frame(stream)
            child.kill()
            child.wait()
        proven = Connection.key_first or answer == proof("device", key_of(1), first, bytes(24))
        assert proven, "the device did not prove that it has the key"
        assert hello[0] & 15 == 1, "the device did not say hello"
        return hello


class Server:
    def memory(self, field):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
        raise AssertionError(field)

    def disk(self):
        """Bytes of the blocks of all sessions, folders included."""
        total = 0
        for path in (self.state / "sessions").rglob("*"):
            try:
                total += path.stat().st_blocks * 512
            except FileNotFoundError:
                pass
        return total

    def sessions(self):
        return len(list((self.state / "sessions").iterdir()))

    def stop(self):
        """Its report."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=30) == 0, self.world.log(self.name)
        return json.loads((self.state / "report.json").read_text())
