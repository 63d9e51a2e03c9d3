#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reader that docs/rows.md shows: run as it stands, with NumPy alone, it says what row_report says."""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rows_support as rows  # noqa: E402


def python_with_numpy():
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0:
            return python
    print("NumPy is not installed (Debian: python3-numpy)")
    sys.exit(77)


def main():
    rows.need_programs()
    python = python_with_numpy()
    with open(os.path.join(rows.ROOT, "docs/rows.md")) as f:
        blocks = re.findall(r"^```python rows/read.py\n(.*?)^```", f.read(), re.M | re.S)
    assert len(blocks) == 1 and blocks[0].count("\n") <= 15, blocks
    with tempfile.TemporaryDirectory() as folder:
        for options in (["-n", "20"], ["-n", "7", "--logits", "f16", "--states"]):
            file = rows.record(folder, "recorded", *options)
            done = subprocess.run([python, "-c", blocks[0], file], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            count, overlap = done.stdout.split()
            line = rows.run("row_report", file).splitlines()[2].split()
            assert line[0] == "hlm" and count == options[1], (done.stdout, line)
            assert abs(float(overlap) - float(line[2])) <= 6e-5, (done.stdout, line)
    print("the page's reader agrees with row_report")


main()
