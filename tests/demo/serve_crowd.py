#!/usr/bin/env python3
"""serve_crowd.py EDGE_CLOUD [...]: many devices at once, each over a lossy link of its own, while both sides are killed
and started again. Every text is the one that its device writes on a calm link. 8 devices; 64 where SPECVERIFY_LONG is 1."""
import os
import sys
import time

from serving import World

LONG = os.environ.get("SPECVERIFY_LONG") == "1"
DEVICES, SERVER_KILLS, DEVICE_KILLS = (64, 4, 16) if LONG else (8, 1, 1)
LOSSY = ["--emulate-link", "--loss", 0.05, "--rtt-ms", 60, "--jitter-ms", 10, "--up-kbit", 2000]
TOKENS = 40


def start(world, port, round_name, n, *arguments):
    return world.device(f"{round_name}_{n}", port, n, 1000 + n, *arguments, tokens=TOKENS)


def restored(world):
    return world.log("crowd").count(": restored")


def killed(world, children, server):
    """Kills a device or the server, in turn, whenever some more was written. The server it ends with."""
    journals = [world.folder / f"lossy_{n}" / "journal" for n in range(1, DEVICES + 1)]
    plan = ["device" if i % 2 else "server" for i in range(2 * min(SERVER_KILLS, DEVICE_KILLS))]
    plan += ["device"] * (DEVICE_KILLS - plan.count("device"))
    for step, side in enumerate(plan):
        victim = step % DEVICES
        end = time.monotonic() + 60
        before = journals[victim].stat().st_size if journals[victim].exists() else 0
        while not journals[victim].exists() or journals[victim].stat().st_size < before + 200:
            if children[victim].poll() is not None:
                break
            assert time.monotonic() < end, "no progress"
            time.sleep(0.01)
        if side == "server":
            while server.disk() < 4096:  # something to restore
                assert time.monotonic() < end, "the server wrote no journals"
                time.sleep(0.01)
            server.process.kill()
            server.process.wait()
            server = world.serve("crowd", port=server.port)
        elif children[victim].poll() is None:
            children[victim].kill()
            children[victim].wait()
            children[victim] = start(world, server.port, "lossy", victim + 1, *LOSSY, "--link-seed", victim + 1)
            print(f"device {victim + 1} killed", flush=True)
    return server


def main():
    with World(sys.argv[1]) as world:
        calm = world.serve("calm")
        children = [start(world, calm.port, "calm", n) for n in range(1, DEVICES + 1)]
        expected = [world.text(f"calm_{n}", child) for n, child in enumerate(children, 1)]
        calm.stop()

        server = world.serve("crowd")
        children = [start(world, server.port, "lossy", n, *LOSSY, "--link-seed", n) for n in range(1, DEVICES + 1)]
        server = killed(world, children, server)
        texts = [world.text(f"lossy_{n}", child, 300) for n, child in enumerate(children, 1)]
        assert texts == expected, "a text changed"
        assert restored(world) > 0, "no session was restored by a new server"
        report = server.stop()
        print(f"{DEVICES} devices, {restored(world)} sessions restored, {report['peak_sessions']} at once")
    print("serve_crowd: all checks passed")


main()
