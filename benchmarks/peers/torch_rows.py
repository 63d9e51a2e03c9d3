#!/usr/bin/env python3
"""benchmarks/peers/torch_rows.py LIBRARY [V...]: times tasks on one row with this library, others and torch.

LIBRARY is built from benchmarks/peers/peers.cpp. All run in this thread, on the same hot row, by the same clock, in
turn. There are five repeats of nine rounds; a round times every implementation of every task once. C++ is called in a
C++ loop, but torch in a Python loop; the time of torch for a row of 64 entries is also printed, because it shows the
fixed cost. Prints JSON for scripts/bench_peers. If torch is missing, only the others are timed."""
import ctypes
import json
import os
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
REPEATS, ROUNDS, TIMED_US = 5, 9, 250.0
SIZES = (4096, 32000, 50257, 128256, 151936, 262144)
try:
    import torch
except ImportError:
    torch = None


def native(library, row, vocab_size):
    """(task, who, run) of every function in the shared library; `run` calls it that many times and returns the result."""
    for index in range(library.peers_prepare(vocab_size)):
        yield (library.peers_task(index).decode(), library.peers_who(index).decode(),
               lambda calls, index=index: library.peers_run(index, row, vocab_size, calls))


def in_turn(call):
    def run(calls):
        given = None
        for _ in range(calls):
            given = call()
        return given
    return run


def of_torch(row, vocab_size):
    """The same with torch's own functions; results go to memory that is kept, where a function can do so."""
    memory = (ctypes.c_float * vocab_size).from_address(ctypes.addressof(row.contents))
    logits = torch.frombuffer(memory, dtype=torch.float32)
    law, total, at = torch.empty(vocab_size), torch.empty(()), torch.empty((), dtype=torch.int64)
    values, ids = torch.empty(64), torch.empty(64, dtype=torch.int64)

    def largest():
        return torch.topk(logits, 64, out=(values, ids))[1]

    def cut_draw():
        torch.topk(logits, 64, out=(values, ids))
        kept = torch.softmax(values, 0)
        kept[torch.cumsum(kept, 0) - kept >= 0.95] = 0
        return ids[torch.multinomial(kept, 1)]

    calls = {"log-sum-exp": lambda: torch.logsumexp(logits, 0, out=total),
             "softmax": lambda: torch.softmax(logits, 0, out=law),
             "argmax": lambda: torch.argmax(logits, 0, out=at),
             "top-64": largest,
             "softmax, draw": lambda: torch.multinomial(torch.softmax(logits, 0, out=law), 1),
             "top-64, top-p, draw": cut_draw}
    return [(task, "torch", in_turn(call)) for task, call in calls.items()]


def answer(task, given):
    """One number, by which the ways are compared."""
    if isinstance(given, float):
        return given
    return float(given.sum() if task == "top-64" else given.reshape(-1)[-1])


def compare(ways, vocab_size):
    """Every way must give what ours gives; those that draw must draw the likeliest token (p about 1/2) about as often."""
    expected = {task: answer(task, run(1)) for task, who, run in ways if who == "ours"}
    likeliest = expected["argmax"]
    for task, who, run in ways:
        if task.endswith("draw"):
            often = sum(answer(task, run(1)) == likeliest for _ in range(100)) / 100
            good, found = 0.25 < often < 0.8, f"the likeliest token in {often:.2f} of 100 draws"
        else:
            found = answer(task, run(1))
            allowed = 1e-3 * abs(expected[task])  # plain loops add in float
            good = abs(found - expected[task]) <= (max(allowed, vocab_size) if task == "plain sum" else allowed)
        if not good:
            sys.exit(f"V {vocab_size}, {task}, {who}: {found}, ours gives {expected.get(task)}")


def timed(run, calls):
    """Microseconds a call of this thread, the row being in the cache."""
    run(1)
    start = time.thread_time_ns()
    run(calls)
    return 1e-3 * (time.thread_time_ns() - start) / calls


def lower_third(times):
    return sorted(times)[len(times) // 3]


def repeat(ways, counts):
    """One repeat: a time of every way, the floor being the fastest plain sum."""
    times = [[] for _ in ways]
    for _ in range(ROUNDS):
        for own, (_, _, run), calls in zip(times, ways, counts):
            own.append(timed(run, calls))
    us = [lower_third(own) for own in times]
    floor = min(one for one, (task, _, _) in zip(us, ways) if task == "plain sum")
    return us, floor


def fixed_costs(library):
    """What torch takes for a row of 64 entries, by task."""
    if torch is None:
        return {}
    return {task: lower_third([timed(run, 50) for _ in range(ROUNDS)])
            for task, _, run in of_torch(library.peers_row(64), 64)}


def measure(library, vocab_size):
    row = library.peers_row(vocab_size)
    ways = list(native(library, row, vocab_size)) + (of_torch(row, vocab_size) if torch is not None else [])
    compare(ways, vocab_size)
    counts = [max(1, min(512, int(TIMED_US / timed(run, 3)))) for _, _, run in ways]
    repeats = [repeat(ways, counts) for _ in range(REPEATS)]
    floors = [floor for _, floor in repeats]
    print(f"  V {vocab_size} at {ctypes.addressof(row.contents):#x}: plain sum {min(floors):.2f} us, "
          f"{4e-3 * vocab_size / min(floors):.1f} GB/s", file=sys.stderr, flush=True)
    return [{"task": task, "who": who, "V": vocab_size, "us": [us[i] for us, _ in repeats], "floor_us": floors}
            for i, (task, who, _) in enumerate(ways) if task != "plain sum"]


def processor():
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    except OSError:
        return "unknown"


def load(name):
    library = ctypes.CDLL(os.path.abspath(name))
    library.peers_row.restype = ctypes.POINTER(ctypes.c_float)
    library.peers_run.argtypes = [ctypes.c_uint32, ctypes.POINTER(ctypes.c_float), ctypes.c_uint32, ctypes.c_uint32]
    library.peers_run.restype = ctypes.c_double
    for function in ("peers_isa", "peers_task", "peers_who"):
        getattr(library, function).restype = ctypes.c_char_p
    return library


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    if torch is not None:
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
    library = load(sys.argv[1])
    start, start_all = time.thread_time(), time.process_time()
    rows = [row for size in map(int, sys.argv[2:] or SIZES) for row in measure(library, size)]
    others = time.process_time() - start_all - (time.thread_time() - start)
    json.dump({"processor": processor(), "isa": library.peers_isa().decode(), "seconds_of_other_threads": others,
               "torch": None if torch is None else torch.__version__, "fixed_us": fixed_costs(library), "rows": rows},
              sys.stdout)


main()
