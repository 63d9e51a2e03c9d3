#!/usr/bin/env python3
"""scripts/bench_check: passes runs that meet the goals, fails a kernel slowed by 20 %, refuses floors slowed by 30 %."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOALS = json.loads((ROOT / "benchmarks/goals.json").read_text())


def runs_at(isa, share):
    """Five runs whose rows all take `share` of what the goals allow."""
    rows = [{"path": goal["path"], "rows": goal["rows"], "V": goal["V"], "offset": goal.get("offset", 0),
             "us": share * goal.get("missed", goal["ratio"]) * 4.0, "floor_us": 4.0} for goal in GOALS[isa]]
    return [{"isa": isa, "rows": copy.deepcopy(rows)} for _ in range(5)]


def code_of(runs):
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for i, run in enumerate(runs):
            names.append(pathlib.Path(folder) / f"{i}.json")
            names[-1].write_text(json.dumps(run))
        return subprocess.run([ROOT / "scripts/bench_check", "--recorded", *names], stdout=subprocess.DEVNULL).returncode


def slower(runs, key, factor, count):
    """The first row of the first `count` runs, its time or its floor slowed."""
    for run in runs[:count]:
        run["rows"][0][key] *= factor
    return runs


def main():
    failed = 0
    for isa in GOALS:
        for name, runs, expected in (
                ("all within the goals", runs_at(isa, 0.9), 0),
                ("one kernel slowed by 20 %", slower(runs_at(isa, 0.9), "us", 1.2, 5), 1),
                ("one kernel slowed in two runs of five", slower(runs_at(isa, 0.9), "us", 1.2, 2), 0),
                ("three floors slowed by 30 %", slower(runs_at(isa, 0.9), "floor_us", 1.3, 3), 3),
                ("two floors slowed by 30 %", slower(runs_at(isa, 0.9), "floor_us", 1.3, 2), 0),
                ("a path that was not measured", [{**run, "rows": run["rows"][1:]} for run in runs_at(isa, 0.9)], 3)):
            found = code_of(runs)
            if found != expected:
                print(f"{isa}, {name}: exit code {found}, expected {expected}")
                failed = 1
    print("bench_check: %s" % ("failed" if failed else "ok"))
    return failed


sys.exit(main())
