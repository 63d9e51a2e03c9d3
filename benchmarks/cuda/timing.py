"""Times torch programs by CUDA events over replays of a graph, like timing.cuh, and writes lines of CSV."""
import csv
import statistics

SAMPLES, SAMPLE_US, READ_BYTES = 7, 3000, 1 << 28
ROWS, SIZES = (1, 8, 64, 512), (32000, 128256, 262144)


class Timed:
    """`call(i)` for i in range(calls), captured once. If a call cannot be captured, it is timed without a graph."""

    def __init__(self, torch, call, calls):
        self.torch, self.call, self.calls, self.graph = torch, call, calls, None
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())  # that stream makes the rows
        with torch.cuda.stream(side):
            for _ in range(3):
                call(0)
        side.synchronize()
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for i in range(calls):
                    call(i)
            self.graph = graph
        except RuntimeError:
            torch.cuda.synchronize()
        first = self.time(1)
        self.replays = int(min(1000, max(1, SAMPLE_US / (first * calls))))

    def time(self, replays=None):
        """Microseconds of one call."""
        replays = replays or self.replays
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(replays):
            if self.graph:
                self.graph.replay()
            else:
                for i in range(self.calls):
                    self.call(i)
        end.record()
        end.synchronize()
        return 1000 * begin.elapsed_time(end) / (replays * self.calls)


class Lines:
    """Appends lines to the CSV of bench.cu and prints them. A row's floor is a plain sum of float32 in the same sample."""

    def __init__(self, torch, path):
        self.torch = torch
        self.file = open(path, "a", newline="")
        self.csv = csv.writer(self.file)
        memory = torch.ones(READ_BYTES // 4, device="cuda")
        self.plain = Timed(torch, lambda _: memory.sum(), 2)

    def measure(self, who, task, rows, call):
        count, size = rows[0].shape
        timed = Timed(self.torch, call, max(8, len(rows)))
        row_bytes = count * size * rows[0].element_size()
        times, floors = [], []
        for _ in range(SAMPLES):
            floors.append(row_bytes * self.plain.time() / READ_BYTES)
            times.append(timed.time())
        ratio = statistics.median(t / f for t, f in zip(times, floors))
        cache = getattr(self.torch.cuda.get_device_properties(0), "L2_cache_size", 0)
        line = (who + ("" if timed.graph else " (no graph)"), task, "float32" if rows[0].element_size() == 4 else "bf16",
                count, size, f"{min(times):.3f}", f"{statistics.median(times):.3f}", f"{statistics.median(floors):.3f}",
                f"{ratio:.3f}", "L2" if row_bytes * len(rows) < 2 * cache else "memory", "", "")
        self.csv.writerow(line)
        self.file.flush()
        print(("{:16s} {:18s} {:8s} {:5d} {:7d} {:>10s} {:>10s} {:>10s} {:>8s}  {}").format(*line), flush=True)


def inputs(torch, count, size, scalar):
    """Copies of a batch that calls take in turn, as in bench.cu; None if they do not fit."""
    cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
    row_bytes = count * size * torch.finfo(scalar).bits // 8
    copies = max(1, min(256, -(-3 * cache // row_bytes)))
    if (copies * row_bytes + 24 * count * size) > 0.8 * torch.cuda.mem_get_info()[0]:
        print(f"{count} rows of {size}: not measured, they do not fit")
        return None
    made = 3 * torch.randn(count, size, device="cuda")
    return [made.to(scalar).clone() for _ in range(copies)]
