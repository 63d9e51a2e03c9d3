#!/usr/bin/env python3
"""flashinfer_rows.py WHEEL FOLDER: times FlashInfer's draws and chain verification; appends to FOLDER/bench.csv.

The wheel is unpacked into FOLDER/flashinfer and needs an installed torch. Exit code 77: torch is missing; 75: FlashInfer
does not load or run here (for example because it must download or compile something)."""
import pathlib
import subprocess
import sys

import timing

DRAFTED = 3


def measure(torch, sampling, lines):
    for size in timing.SIZES:
        for count in timing.ROWS:
            rows = timing.inputs(torch, count, size, torch.float32)
            if rows is None:
                continue

            def law(i):
                return torch.softmax(rows[i % len(rows)] / 0.8, -1)

            lines.measure("flashinfer", "softmax+draw", rows, lambda i: sampling.sampling_from_probs(law(i)))
            if count < DRAFTED + 1:
                continue
            requests = count // (DRAFTED + 1)
            draft = torch.softmax(torch.randn(requests, DRAFTED, size, device="cuda"), -1)
            tokens = torch.full((requests, DRAFTED), 11, dtype=torch.int32, device="cuda")

            def verify(i):
                target = law(i)[: requests * (DRAFTED + 1)].view(requests, DRAFTED + 1, size)
                return sampling.chain_speculative_sampling(draft, tokens, target)

            lines.measure("flashinfer", "verify_3", rows, verify)


def main():
    wheel, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    try:
        import torch
    except ImportError:
        print("torch is not here")
        return 77
    if not torch.cuda.is_available():
        print("this torch sees no GPU")
        return 77
    place = folder / "flashinfer"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", str(place), wheel],
                   check=True)
    sys.path.insert(0, str(place))
    try:
        from flashinfer import sampling
        measure(torch, sampling, timing.Lines(torch, folder / "bench.csv"))
    except (ImportError, OSError, RuntimeError) as why:
        print(f"FlashInfer: {why}".replace("\n", " "))
        return 75
    return 0


if __name__ == "__main__":
    sys.exit(main())
