#!/usr/bin/env python3
"""serve_turns.py [EDGE_CLOUD [EDGE_CLOUD_LIFTED]]: what it costs that a server has fewer caches than sessions. 24 devices
each have a text of 30 tokens streamed at once, after prompts of 180 tokens and, with SPECVERIFY_LONG=1, of 2000. Prints
CPU seconds of the server and the longest wait of a device for a token, with 16 caches and with 24. Fails if 16 caches cost
more than 2.2 times as much CPU as 24, or if a server whose sessions have no turns does not."""
import hashlib
import json
import os
import pathlib
import shutil
import struct
import sys

from serving import World

BUILT = pathlib.Path(os.environ.get("SPECVERIFY_BUILD_DIR", "build/gcc"), "apps", "edge_cloud")
PROGRAM, LIFTED = (sys.argv[1:3] + [str(BUILT / "edge_cloud"), str(BUILT / "edge_cloud_lifted")][len(sys.argv) - 1:])[:2]
STREAMS, TOKENS, MOST = 24, 30, 2.2


def models_with_context(world, context):
    """The bundled models with room for longer texts. Their positions are rotations, so no weight depends on it."""
    own = pathlib.Path(__file__).parents[2] / "models" / "tinylm" / "model"
    made = world.folder / "models"
    made.mkdir()
    shutil.copy(own / "vocab.bpe", made)
    for name in ("target.safetensors", "drafter.safetensors"):
        data = (own / name).read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + size])
        header["__metadata__"]["context"] = str(context)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        (made / name).write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:])
    lines = [f"{hashlib.sha256((made / name).read_bytes()).hexdigest()}  {name}\n"
             for name in ("drafter.safetensors", "target.safetensors", "vocab.bpe")]
    (made / "SHA256SUMS").write_text("".join(lines))
    return made


def prompt_of(world, models, tokens):
    """A text of about so many tokens. A hello says how many it has."""
    def length(words):
        shutil.rmtree(world.folder / "recorded", ignore_errors=True)
        hello = world.recorded_hello("--models", models, prompt=" ".join(["behold"] * words))
        return struct.unpack("<I", hello[26:30])[0]
    few, many = length(20), length(40)
    words = 20 + (tokens - few) * 20 // (many - few)
    assert tokens - 4 <= length(words) <= tokens, f"{length(words)} tokens"
    return " ".join(["behold"] * words)


def cpu_seconds(server):
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def longest_wait(world, name):
    """Seconds between two tokens of a device, or before its first one."""
    arrival = [0, *json.loads((world.folder / name / "report.json").read_text())["arrival"]]
    return max(after - before for before, after in zip(arrival, arrival[1:]))


def measured(world, models, prompt, caches, name, lifted=False):
    server = world.serve(name, "--models", models, "--engines", caches, program=LIFTED if lifted else None,
                         lifted="cache_turn" if lifted else None)
    before = cpu_seconds(server)
    names = [f"{name}_{n}" for n in range(STREAMS)]
    devices = [world.device(each, server.port, 1 + n, 100 + n, "--models", models, "--system", "target",
                            "--connect-seconds", 3600, prompt=prompt, tokens=TOKENS, retry=10000)
               for n, each in enumerate(names)]
    for each, process in zip(names, devices):
        world.text(each, process, seconds=600)
    found = cpu_seconds(server) - before, max(longest_wait(world, each) for each in names)
    server.stop()
    print(f"  {'no turns, ' if lifted else ''}{caches} caches: {found[0]:6.2f} CPU seconds of the server, "
          f"longest wait {found[1]:6.2f} seconds", flush=True)
    return found


def main():
    failed = []
    with World(PROGRAM) as world:
        models = models_with_context(world, 2304)
        for tokens in [180, 2000] if os.environ.get("SPECVERIFY_LONG") else [180]:
            print(f"{STREAMS} streams of {TOKENS} tokens after prompts of {tokens}:")
            prompt = prompt_of(world, models, tokens)
            enough = measured(world, models, prompt, STREAMS, f"enough_{tokens}")
            fewer = measured(world, models, prompt, 16, f"fewer_{tokens}")
            print(f"  16 caches cost {fewer[0] / enough[0]:.2f} times the CPU of {STREAMS}")
            if fewer[0] > MOST * enough[0]:
                failed.append(f"FAILED: 16 caches cost more than {MOST} times the CPU of {STREAMS}, {tokens} tokens")
            if tokens == 180 and pathlib.Path(LIFTED).exists():
                without = measured(world, models, prompt, 16, "without", lifted=True)
                if without[0] <= MOST * enough[0]:
                    failed.append("FAILED: without turns it is no more")
    print("\n".join(failed) or "serve_turns: 16 caches are enough")
    sys.exit(1 if failed else 0)


main()
