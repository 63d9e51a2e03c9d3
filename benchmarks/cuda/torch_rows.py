#!/usr/bin/env python3
"""torch_rows.py CSV: times softmax, top-k and multinomial of torch on the rows of bench.cu; appends to the CSV.

Exit code 77: torch is missing, or it finds no GPU."""
import sys

import timing


def main():
    try:
        import torch
    except ImportError:
        print("torch is not here")
        return 77
    if not torch.cuda.is_available():
        print("this torch sees no GPU")
        return 77
    print(f"torch {torch.__version__}")
    lines = timing.Lines(torch, sys.argv[1])
    for size in timing.SIZES:
        for count in timing.ROWS:
            for scalar in (torch.float32, torch.bfloat16):
                rows = timing.inputs(torch, count, size, scalar)
                if rows is None:
                    continue

                def draw(i):
                    law = torch.softmax(rows[i % len(rows)].float() / 0.8, -1)
                    return torch.multinomial(law, 1)

                def noise(i):
                    law = torch.softmax(rows[i % len(rows)].float() / 0.8, -1)
                    return law.div_(torch.empty_like(law).exponential_()).argmax(-1)

                lines.measure("torch", "softmax+draw", rows, draw)
                lines.measure("torch", "softmax+noise", rows, noise)
                lines.measure("torch", "argmax", rows, lambda i: rows[i % len(rows)].argmax(-1))
                lines.measure("torch", "log_sum_exp", rows, lambda i: torch.logsumexp(rows[i % len(rows)], -1))
                for k in (16, 256, 2048):
                    lines.measure("torch", f"select_{k}", rows, lambda i, k=k: torch.topk(rows[i % len(rows)], k, -1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
