#!/usr/bin/env python3
"""serve_hostile.py EDGE_CLOUD [...]: honest devices, half of them latecomers, finish with the texts that they write alone,
while strangers and some known devices do what they can: garbage, floods, half-open and slow connections, frames that are
too long, replays, stolen ids. Each attack runs once at least while honest devices write. Memory, disk and unsent bytes
stay within the limits. The attacks come once more inside TLS."""
import random
import re
import shutil
import sys
import threading
import time

from serving import (Connection, World, certificates, framed, hello_for, is_refusal, key_of, opening, parted,
                     trusting)

HONEST, EARLY = 16, 8
SLOW_LINK = ["--emulate-link", "--rtt-ms", 100]
LATE_SECONDS = 0.5  # from one latecomer to the next
JOURNAL = 1 << 16
DISK = JOURNAL + 4 * 4096  # of a session: its folder, its owner, and what is left of the last blocks
LIMITS = ["--half-open", 16, "--first-frame-seconds", 2, "--idle-connection-seconds", 20, "--sessions", 64,
          "--journal-bytes", JOURNAL, "--unsent-bytes", 1 << 20, "--handshakes-of-device", 1 << 20,
          "--written-of-device", 1 << 30]  # attackers say hello as often as they like
ATTACKER = 90
MIB = 1 << 20
ATTACKS = ["half_open", "deaf", "garbage_before", "garbage_after", "announces", "slow", "hello_flood", "replays", "stolen",
           "no_tls"]


def honest(world, server, round_name, n, *arguments):
    return world.device(f"{round_name}_{n}", server.port, n, 1000 + n, *arguments, tokens=40)


class Attack:
    """Each method is one attacker on a thread of its own. It goes on until the honest devices are done; `once` methods
    do what they do one time. `met` has those of which one whole run had an honest device beside it."""

    def __init__(self, server, hello, recorded, besieged, context=None):
        self.server, self.hello, self.recorded, self.besieged = server, hello, recorded, besieged
        self.context = context
        self.over, self.wrong, self.met = threading.Event(), [], set()
        self.random = random.Random(5)
        self.threads = []

    def start(self, names=ATTACKS[:-1], once=ATTACKS[:2]):
        self.threads = [threading.Thread(target=self.run, args=(getattr(self, name), name in once), name=name, daemon=True)
                        for name in names]
        for thread in self.threads:
            thread.start()

    def run(self, method, once):
        times = 0
        try:
            while times == 0 or not (once or self.over.is_set()):
                before = self.besieged()
                method(times)
                if before and self.besieged():
                    self.met.add(method.__name__)
                times += 1
                time.sleep(0.2)
        except Exception as failure:  # one that the main thread has to hear of
            self.wrong.append(f"{method.__name__}: {failure!r}")

    def connect(self, *arguments, **more):
        """Each attacker is at an address of its own."""
        own = 20 + ATTACKS.index(threading.current_thread().name)
        return Connection(*arguments, source=f"127.0.0.{own}", context=self.context, **more)

    def encrypted(self):
        """Each one once, to its end."""
        names = [name for name in ATTACKS if name != "slow"]
        self.start(names, names)
        self.join()

    def stop(self):
        self.over.set()
        self.join()
        missed = {thread.name for thread in self.threads} - self.met
        assert not missed, f"no honest device was there from begin to end of {missed}"

    def join(self):
        for thread in self.threads:
            thread.join(timeout=30)
            assert not thread.is_alive(), f"{thread.name} hangs"
        assert not self.wrong, self.wrong

    def garbage_before(self, _):
        rubbish = self.connect(self.server.port)
        rubbish.raw(self.random.randbytes(4096))
        assert rubbish.closed_within(4), "garbage before the key keeps its connection"

    def garbage_after(self, _):
        rubbish = self.connect(self.server.port, ATTACKER)
        for _ in range(200):
            rubbish.send(self.random.randbytes(300))
        assert rubbish.closed_within(4), "garbage after the key keeps its connection"

    def announces(self, _):
        long = self.connect(self.server.port, ATTACKER + 6)
        long.raw((1 << 20).to_bytes(3, "little"))
        assert long.closed_within(4), "a frame that is too long is waited for"
        assert any(is_refusal(m) for m in parted(long.heard)[0]), "a frame that is too long is closed without a word"

    def half_open(self, _):
        silent = [Connection(self.server.port, source=f"127.0.0.{2 + n // 15}") for n in range(60)]
        end = time.monotonic() + 4
        late = [c for c in silent if not c.closed_within(max(0.01, end - time.monotonic()))]
        assert not late, "a half-open connection outlives its deadline"

    def slow(self, _):
        slow = self.connect(self.server.port)
        for byte in framed(opening(ATTACKER)):
            slow.raw(bytes([byte]))
            if slow.closed_within(0.5):
                return
        raise AssertionError("a slow first frame was waited for")

    def hello_flood(self, times):
        flood = self.connect(self.server.port, ATTACKER + 1)
        for n in range(60):
            flood.send(hello_for(self.hello, 5000 + 100 * times + n))
        refused = sum(is_refusal(m) for m in flood.frames(20, 60))
        assert refused >= 56, f"of 60 new ids {refused} were refused"

    def replays(self, _):
        """All that a device said once: by itself, by another one, in any order."""
        for device in (ATTACKER + 2, ATTACKER + 5):
            again = self.connect(self.server.port, device)
            for said in [*self.recorded, *self.random.sample(self.recorded, len(self.recorded))]:
                again.send(said)
            heard = again.frames(0.5)
            assert device == ATTACKER + 2 or all(is_refusal(m) for m in heard), "a replay opened a session of another"

    def stolen(self, _):
        thief = self.connect(self.server.port, ATTACKER + 3)
        thief.send(hello_for(self.hello, 1001))
        heard = thief.frames(20, 1)
        assert len(heard) == 1 and is_refusal(heard[0]), f"a stolen id was answered with {heard}"

    def deaf(self, _):
        """Reads no answer, and each hello is answered. With a smaller buffer the system sometimes throws away the
        server's windows along with its answers, and nothing more is sent."""
        asks = self.connect(self.server.port, ATTACKER + 4, receive_buffer=1 << 16)
        asks.send(hello_for(self.hello, 7500))
        asks.frames(20, 1)
        flood = framed(hello_for(self.hello, 7500)) * 1024
        for _ in range(60):
            asks.raw(flood)
        end = time.monotonic() + 20
        name = f"device {ATTACKER + 4}: refused (unsent_bytes)"
        while not asks.was_dropped() or name not in self.server.world.log(self.server.name):
            assert time.monotonic() < end, "a client that reads nothing keeps its connection, or ends by another name"
            time.sleep(0.05)

    def no_tls(self, _):
        # The second one begins as a handshake does and goes on for longer, the third one is none.
        for begin in (b"", bytes([22, 3, 1, 64, 0]), bytes([22, 3, 1, 0, 16])):
            rubbish = Connection(self.server.port)
            rubbish.raw(begin + self.random.randbytes(4096))
            assert rubbish.closed_within(4), "garbage in place of a handshake keeps its connection"


class Besieged:
    """The honest devices. Half of them are there before the attack, the others come one by one while it goes on."""

    def __init__(self, world, server):
        self.world, self.server = world, server
        self.children = []
        for _ in range(EARLY):
            self.start_one()

    def start_one(self):
        self.children.append(honest(self.world, self.server, "besieged", len(self.children) + 1, *SLOW_LINK))

    def any_runs(self):
        return any(child.poll() is None for child in list(self.children))

    def texts(self):
        return [self.world.text(f"besieged_{n}", child) for n, child in enumerate(self.children, 1)]


def alone(world):
    server = world.serve("alone", *LIMITS)
    children = [honest(world, server, "calm", n) for n in range(1, HONEST + 1)]
    texts = [world.text(f"calm_{n}", child) for n, child in enumerate(children, 1)]
    server.stop()
    return texts


def log_adds_up(log, refused):
    """What is listed and what is summed up are all refusals, and a kind has a few lines a second."""
    for name, count in refused.items():
        summed = [int(n) for n in re.findall(rf"refused \({name}\): (\d+) more in a second", log)]
        lines = re.findall(rf"^\[(\S+ \S+?)\.\d+\] .*refused \({name}\)", log, re.M)
        assert len(lines) - len(summed) + sum(summed) == count, f"{name}: {count}, and the log has {len(lines)}, {summed}"
        seconds = [lines.count(second) for second in set(lines)]
        assert max(seconds, default=0) <= 18, f"{name}: {max(seconds)} lines in a second"


def opened(server):
    """Waits for the session that is to be stolen."""
    end = time.monotonic() + 60
    while not (server.state / "sessions" / f"{1001:016x}").exists():  # the log leaves out what is too much in a second
        assert time.monotonic() < end, server.world.log(server.name)
        time.sleep(0.02)
    return end


def attacked(world, expected):
    server = world.serve("attacked", *LIMITS)
    idle = server.memory("VmRSS")
    hello = world.recorded_hello()
    recorded = world.recorded_session(server, ATTACKER + 2, 7000)
    devices = Besieged(world, server)
    end = opened(server)
    attack = Attack(server, hello, recorded, devices.any_runs)
    attack.start()
    disk, next_one = 0, time.monotonic() + LATE_SECONDS
    while devices.any_runs() or len(devices.children) < HONEST:
        assert time.monotonic() < end + 120, "the honest devices do not finish\n" + world.log("attacked")
        if len(devices.children) < HONEST and time.monotonic() >= next_one:
            devices.start_one()
            next_one += LATE_SECONDS
        disk = max(disk, server.disk())
        time.sleep(0.1)
    attack.stop()
    disk = max(disk, server.disk())
    texts = devices.texts()
    peak = server.memory("VmHWM")
    report = server.stop()
    log = world.log("attacked")
    sessions = report["peak_sessions"]
    print(f"sessions {sessions}, memory {idle} idle, {peak} at most, disk {disk}, unsent {report['peak_unsent']}")
    print({name: count for name, count in report["refused"].items() if count})
    assert texts == expected, "a text changed"
    assert peak <= 64 * MIB + sessions * 256 * 1024, "memory grew"
    assert disk <= sessions * DISK and report["peak_disk"] <= sessions * DISK, "the disk filled"
    assert report["peak_unsent"] <= MIB, "too much waits for a connection"
    for name in ("frame_too_long", "useless_frames", "half_open", "half_open_of_address", "first_frame_late",
                 "sessions_of_device", "not_the_owner", "unsent_bytes"):
        assert report["refused"][name] > 0, f"nothing was refused by the name {name}"
    log_adds_up(log, report["refused"])
    for secret in ("And the number", "ffeeddcc", "00112233", "salt", *map(key_of, range(1, HONEST + 1))):
        assert secret not in log, "the log tells " + secret
    return hello, recorded


def attacked_inside(world, expected, hello, recorded):
    """The same inside TLS, where a frame is not what the system reads. Three honest devices write meanwhile."""
    if shutil.which("openssl") is None:
        return print("no openssl to make certificates with")
    certificates(world.folder)
    limits = ["--half-open", 64, "--first-frame-seconds", 1, *LIMITS[4:]]  # a handshake takes a while
    server = world.serve("inside", *limits, "--tls-certificate", world.folder / "server.pem", "--tls-key",
                         world.folder / "server.key")
    begin = time.monotonic()
    trust = ["--tls-ca", world.folder / "ca.pem"]
    children = [honest(world, server, "inside", n, *SLOW_LINK, *trust) for n in range(1, 4)]
    opened(server)
    Attack(server, hello, recorded, lambda: True, trusting(world.folder)).encrypted()
    assert [world.text(f"inside_{n}", child) for n, child in enumerate(children, 1)] == expected[:3], "a text changed"
    assert server.memory("VmHWM") <= 64 * MIB + 144 * 1024 * (256 + 16), "memory grew"
    report = server.stop()
    log_adds_up(world.log("inside"), report["refused"])
    assert report["peak_unsent"] <= MIB, "too much waits for a connection"
    for name in ("frame_too_long", "useless_frames", "half_open_of_address", "first_frame_late", "sessions_of_device",
                 "not_the_owner", "unsent_bytes", "handshake", "plain_client"):
        assert report["refused"][name] > 0, f"nothing was refused by the name {name}"
    print(f"inside TLS: {time.monotonic() - begin:.1f} s")


def main():
    with World(sys.argv[1]) as world:
        expected = alone(world)
        attacked_inside(world, expected, *attacked(world, expected))
    print("serve_hostile: all checks passed")


main()
