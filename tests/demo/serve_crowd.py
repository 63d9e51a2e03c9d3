#!/usr/bin/env python3
"""serve_crowd.py EDGE_CLOUD [...]: many devices at once, each over a lossy link of its own, while both sides are killed
and started again. Every text is the one that its device writes on a calm link. 8 devices; 64 where SPECVERIFY_LONG is 1."""
import os
import signal
import sys
import time

from serving import World

LONG = os.environ.get("SPECVERIFY_LONG") == "1"
DEVICES, KILLS = (64, {"server": 4, "device": 16}) if LONG else (8, {"server": 1, "device": 1})
BEGIN = time.monotonic()
END = BEGIN + (3000 if LONG else 240)
LOSSY = ["--emulate-link", "--loss", 0.05, "--rtt-ms", 60, "--jitter-ms", 10, "--up-kbit", 2000]
TOKENS = 160 if LONG else 40  # enough that devices still write at the last kill


def start(world, port, round_name, n, *arguments):
    return world.device(f"{round_name}_{n}", port, n, 1000 + n, *arguments, tokens=TOKENS)


def restored(world):
    """At least so many sessions: the log tells of a few at once."""
    return world.log("crowd").count(": restored")


def plan():
    """Both sides in turn, while there are kills of both."""
    return [side for step in range(max(KILLS.values())) for side in KILLS if step < KILLS[side]]


def left():
    return max(1.0, END - time.monotonic())


class Crowd:
    """Devices on lossy links, and a server, with kills of both."""

    def __init__(self, world):
        self.world, self.server = world, world.serve("crowd")
        self.children = [self.start(n) for n in range(DEVICES)]
        self.kills, self.turn = dict.fromkeys(KILLS, 0), 0

    def start(self, n):
        return start(self.world, self.server.port, "lossy", n + 1, *LOSSY, "--link-seed", n + 1)

    def written(self, n):
        journal = self.world.folder / f"lossy_{n + 1}" / "journal"
        return journal.stat().st_size if journal.exists() else 0

    def writer(self):
        """The next one that is still writing, when it has written some more."""
        for n in [(self.turn + i) % DEVICES for i in range(DEVICES)]:
            before = self.written(n)
            while self.children[n].poll() is None:
                assert time.monotonic() < END, "no progress"
                if self.written(n) >= before + 200:
                    self.turn = n + 1
                    return n
                time.sleep(0.01)
        raise AssertionError(f"all texts were complete after {self.kills} of {KILLS} kills")

    def kill_device(self):
        """One that ends before it is hit was no kill."""
        while True:
            victim = self.writer()
            self.children[victim].kill()
            if self.children[victim].wait() == -signal.SIGKILL:
                break
        self.kills["device"] += 1
        self.children[victim] = self.start(victim)
        print(f"device {victim + 1} killed", flush=True)

    def journals(self):
        """Bytes of them at the server. None is forgotten here."""
        return sum(path.stat().st_size for path in (self.server.state / "sessions").glob("*/journal"))

    def kill_server(self):
        while self.journals() < 512 * DEVICES:  # something to restore
            assert time.monotonic() < END, "the server wrote no journals"
            time.sleep(0.01)
        self.writer()
        self.server.process.kill()
        assert self.server.process.wait() == -signal.SIGKILL, "the server had ended by itself"
        self.kills["server"] += 1
        self.server = self.world.serve("crowd", port=self.server.port)

    def suffer(self):
        for side in plan():
            self.kill_server() if side == "server" else self.kill_device()

    def texts(self):
        return [self.world.text(f"lossy_{n}", child, left()) for n, child in enumerate(self.children, 1)]


def main():
    with World(sys.argv[1]) as world:
        calm = world.serve("calm")
        children = [start(world, calm.port, "calm", n) for n in range(1, DEVICES + 1)]
        expected = [world.text(f"calm_{n}", child, left()) for n, child in enumerate(children, 1)]
        calm.stop()

        crowd = Crowd(world)
        crowd.suffer()
        assert crowd.texts() == expected, "a text changed"
        assert crowd.kills == KILLS, crowd.kills
        assert restored(world) > 0, "no session was restored by a new server"
        report = crowd.server.stop()
        print(f"{DEVICES} devices, kills {crowd.kills}, at least {restored(world)} sessions restored, "
              f"{report['peak_sessions']} at once, {time.monotonic() - BEGIN:.0f} s")
    print("serve_crowd: all checks passed")


main()
