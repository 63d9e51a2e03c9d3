# SPDX-License-Identifier: Apache-2.0
"""What the tests of `edge_cloud serve` share: a server, honest devices, and clients that speak frames by hand."""

import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

HELLO, RESUME, REFUSE = 1, 6, 8
CONTEXT = struct.Struct("<QIIIQ")  # session id, epoch, round, length, prefix hash
HOST = 13  # the reporter of a server's own refusals

REFUSALS = [
    "none", "not_the_owner", "sessions", "sessions_of_device", "journal_full", "disk_full", "host_failed",
    "connections", "connections_of_device", "half_open", "first_frame_late", "key_unknown", "idle_connection",
    "idle_session", "frame_too_long", "unsent_bytes", "unsent_in_all", "useless_frames", "certificate",
]


def _table():
    made = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        made.append(value)
    return made


_TABLE = _table()


def checksum(context, message):
    """CRC-32C over the context, the length and all of the message but the checksum itself."""
    state = 0xFFFFFFFF
    for byte in context + struct.pack("<I", len(message)) + message[:4] + message[8:]:
        state = (state >> 8) ^ _TABLE[(state ^ byte) & 255]
    return state ^ 0xFFFFFFFF


def sealed(message, context):
    return message[:4] + struct.pack("<I", checksum(context, message)) + message[8:]


def resume(session, epoch, number=0, round_=0, length=0, prefix=0):
    context = CONTEXT.pack(session, epoch, round_, length, prefix)
    head = bytes([RESUME | number << 4, round_ & 255]) + struct.pack("<HI", length & 0xFFFF, 0)
    return sealed(head + context, context)


def hello_like(template, session, epoch=None, number=0):
    """A recorded hello for another session."""
    _, old_epoch, round_, length, prefix = CONTEXT.unpack_from(template, 10)
    context = CONTEXT.pack(session, old_epoch if epoch is None else epoch, round_, length, prefix)
    return sealed(bytes([HELLO | number << 4]) + template[1:10] + context + template[38:], context)


def refusal_of(message):
    """The name of a server's refusal, or None where the message is none."""
    if len(message) < 16 or message[0] & 15 != REFUSE:
        return None
    code, reporter, where = struct.unpack_from("<HHI", message, 8)
    return REFUSALS[where] if reporter == HOST and where < len(REFUSALS) else None


def framed(message):
    return struct.pack("<I", len(message))[:3] + message


class Client:
    """A connection that sends what it is told."""

    def __init__(self, port, device=None, key=None, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(10)
        self.socket.connect(("127.0.0.1", port))
        self.heard = b""
        if device is not None:
            self.send(struct.pack("<Q", device) + key)

    def send(self, message):
        self.socket.sendall(framed(message))

    def raw(self, data):
        self.socket.sendall(data)

    def receive(self, seconds=10):
        """The next message; None where the server closed, or said nothing for so long."""
        end = time.monotonic() + seconds
        while len(self.heard) < 3 or len(self.heard) < 3 + int.from_bytes(self.heard[:3], "little"):
            self.socket.settimeout(max(0.01, end - time.monotonic()))
            try:
                more = self.socket.recv(65536)
            except (socket.timeout, ConnectionError):
                return None
            if not more:
                return None
            self.heard += more
        size = int.from_bytes(self.heard[:3], "little")
        message, self.heard = self.heard[3:3 + size], self.heard[3 + size:]
        return message

    def ask(self, message):
        self.send(message)
        return self.receive()

    def is_open(self):
        """Whether the server has not closed it. Reads what came, and throws it away."""
        self.socket.settimeout(0.05)
        try:
            while self.socket.recv(65536):
                pass
            return False
        except socket.timeout:
            return True
        except ConnectionError:
            return False

    def close(self):
        self.socket.close()


def key_of(device):
    return bytes([device & 255, 0xA5]) * 16


class Server:
    """A running `edge_cloud serve`. `folder` is kept over restarts."""

    def __init__(self, program, folder, devices=range(1, 400), lifted=None, more=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        keys = self.folder / "devices"
        keys.write_text("".join(f"{device} {key_of(device).hex()}\n" for device in devices))
        secret = self.folder / "cloud_secret"
        secret.write_text("636c6f756420616c6f6e65206b6e6f77\n")
        keys.chmod(0o600)
        secret.chmod(0o600)
        self.state = self.folder / "state"
        self.line = [program, "serve", "--port", "0", "--pace", "none", "--salt", "4242", "--state-dir",
                     str(self.state), "--secret-file", str(secret), "--end-with-parent", *more]
        if "--tls-client-ca" not in more:
            self.line += ["--devices", str(keys)]
        self.environment = dict(os.environ)
        if lifted:
            self.environment["EDGE_CLOUD_LIFTED_LIMIT"] = lifted
        self.start()

    def start(self, port=None):
        (self.state / "port").unlink(missing_ok=True)
        line = list(self.line)
        if port:
            line[line.index("--port") + 1] = str(port)
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(line, stderr=log, stdout=log, env=self.environment)
        end = time.monotonic() + 20
        while not (self.state / "port").exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit("the server did not start:\n" + self.log())
            time.sleep(0.01)
        self.port = int((self.state / "port").read_text())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends it and returns its report."""
        if self.process.poll() is not None:
            raise SystemExit(f"the server ended by itself, with {self.process.returncode}:\n" + self.log())
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(20) != 0:
            raise SystemExit("the server did not end well:\n" + self.log())
        return json.loads((self.state / "report.json").read_text())

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def memory(self, name="VmHWM"):
        """Bytes, as /proc says."""
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
        raise SystemExit(f"/proc has no {name}")

    def session_folders(self):
        """Bytes on disk of each session."""
        sizes = {}
        for folder in (self.state / "sessions").iterdir():
            sizes[folder.name] = 0
            for file in folder.glob("*"):
                try:
                    sizes[folder.name] += file.stat().st_size
                except FileNotFoundError:  # replaced just now
                    pass
        return sizes


class Device:
    """A running `edge_cloud device` that writes one text."""

    def __init__(self, program, server, folder, device, session, tokens=16, more=(), with_key=True):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        files = {"key": key_of(device).hex(), "edge_secret": "6564676520616c6f6e65206b6e6f7773"}
        for name, text in files.items():
            (self.folder / name).write_text(text + "\n")
            (self.folder / name).chmod(0o600)
        self.line = [program, "device", "--connect", f"127.0.0.1:{server.port}", "--pace", "none", "--tokens",
                     str(tokens), "--session-id", str(session), "--state-dir", str(self.folder / "state"),
                     "--secret-file", str(self.folder / "edge_secret"), "--prompt", prompt_of(device),
                     "--end-with-parent", *more]
        if with_key:
            self.line += ["--device-id", str(device), "--device-key-file", str(self.folder / "key")]
        self.start()

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.line, stdout=log, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def text(self, seconds=120):
        """Waits for the end, and returns the text."""
        if self.process.wait(seconds) != 0:
            raise SystemExit("a device failed:\n" + self.log())
        return json.loads((self.folder / "state" / "report.json").read_text())["text"]

    def log(self):
        return (self.folder / "log").read_text(errors="replace")


def prompt_of(device):
    return f"And the LORD spake unto Moses {device} times"


def recorded_hello(program, folder):
    """The first message of a device, as a listener that lets nobody in hears it."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(20)

    class Place:
        port = listener.getsockname()[1]

    device = Device(program, Place, folder, 1, 1)
    line, _ = listener.accept()
    line.settimeout(20)
    heard = b""
    while len(heard) < 43 + 3 or len(heard) < 46 + int.from_bytes(heard[43:46], "little"):
        heard += line.recv(65536)
    device.kill()
    line.close()
    listener.close()
    return heard[46:46 + int.from_bytes(heard[43:46], "little")]


class Scratch:
    """A folder that is gone in the end."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="serve_"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def demand(holds, what):
    if not holds:
        raise SystemExit("FAILED: " + what)


def need_server(program):
    """Exit code 77, skipped, where the program was built without the server."""
    said = subprocess.run([program, "serve", "--help"], capture_output=True, text=True).stdout
    if "left out of this build" in said:
        print("the server was left out of this build")
        raise SystemExit(77)
