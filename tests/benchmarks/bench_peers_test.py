#!/usr/bin/env python3
"""scripts/bench_peers: holds recorded times to benchmarks/peers/goals.json; without torch nothing is passed."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOALS = json.loads((ROOT / "benchmarks/peers/goals.json").read_text())
# Microseconds of five repeats on one machine, and those of the plain sum.
FLOORS = [4.60, 4.59, 4.59, 4.58, 4.61]
OURS = {"log-sum-exp": [13.27, 13.29, 13.26, 13.31, 13.28], "softmax": [28.6, 28.9, 28.7, 28.6, 28.8],
        "argmax": [4.62, 4.63, 4.62, 4.62, 4.66], "top-64": [15.12, 15.20, 15.15, 15.13, 15.14],
        "softmax, draw": [12.16, 12.20, 12.18, 12.17, 12.21]}


def recorded(share=1.1):
    """torch takes `share` of what the goals ask for."""
    rows = []
    for goal in GOALS["goals"]:
        ours = OURS[goal["task"]]
        for who, us in (("ours", ours), ("std", [9 * one for one in ours]),
                        (GOALS["against"], [share * goal["ratio"] * one for one in ours])):
            rows.append({"task": goal["task"], "who": who, "V": GOALS["V"], "us": us, "floor_us": FLOORS})
    return {"processor": "recorded", "isa": "AVX-512", "seconds_of_other_threads": 0.0, "torch": "2.15.0",
            "fixed_us": {"softmax": 1.04}, "rows": rows}


def changed(change, share=1.1):
    report = copy.deepcopy(recorded(share))
    change(report)
    return report


def slow_ours(report, repeats, factor=1.2):
    row = report["rows"][0]
    row["us"] = [factor * one if i in repeats else one for i, one in enumerate(row["us"])]


def slow_floors(report, repeats):
    for row in report["rows"]:
        row["floor_us"] = [1.3 * one if i in repeats else one for i, one in enumerate(row["floor_us"])]


def without_torch(report):
    report["torch"] = None
    report["rows"] = [row for row in report["rows"] if row["who"] != "torch"]


def without_one(report):
    report["rows"] = [row for row in report["rows"] if (row["task"], row["who"]) != ("argmax", "torch")]


def cases():
    yield "all goals met", recorded(), 0, "torch / ours"
    yield "none met", recorded(0.9), 1, "MISSED"
    yield "ours slowed by 20 %", changed(lambda report: slow_ours(report, range(5))), 1, "MISSED"
    yield "ours slowed in two repeats of five", changed(lambda report: slow_ours(report, range(2))), 0, "ok"
    yield "three floors slowed by 30 %", changed(lambda report: slow_floors(report, range(3))), 3, "not judged"
    yield "two floors slowed by 30 %", changed(lambda report: slow_floors(report, range(2))), 0, "ok"
    # The repeats with slow floors do not count: ours is slow in three of five, but in one only of those that do.
    yield "slow where the floor is slow", changed(
        lambda report: (slow_ours(report, (0, 1, 2)), slow_floors(report, (0, 1)))), 0, "ok"
    yield "torch is absent", changed(without_torch), 3, "not judged: this Python has no torch"
    yield "torch is absent, and a goal missed", changed(without_torch, 0.9), 3, "not judged"
    yield "a task that torch did not do", changed(without_one), 3, "not judged"
    yield "other threads worked", changed(lambda report: report.update(seconds_of_other_threads=0.5)), 3, "other threads"


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "report.json"
        for name, report, expected, text in cases():
            file.write_text(json.dumps(report))
            done = subprocess.run([ROOT / "scripts/bench_peers", "--recorded", file], stdout=subprocess.PIPE, text=True)
            if done.returncode != expected or text not in done.stdout:
                print(f"{name}: exit code {done.returncode}, expected {expected}; must say \"{text}\"\n{done.stdout}")
                failed = 1
    print("bench_peers: %s" % ("failed" if failed else "ok"))
    return failed


sys.exit(main())
