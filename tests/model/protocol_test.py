#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model of the session in two layers (docs/decisions/0021-session-in-two-layers.md): schedules, twins, distribution
of the text, round trips, and the tables of the page. 1 000 schedules; 150 000 and all laws with SPECVERIFY_LONG=1."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True

import count  # noqa: E402
import law  # noqa: E402
import schedule  # noqa: E402
import twins  # noqa: E402

LONG = os.environ.get("SPECVERIFY_LONG") == "1"
TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "states.py")


def main():
    schedule.main(0, 150000 if LONG else 1000)
    assert twins.main(), "a twin was not seen"
    if LONG:
        law.main(200000)
    else:
        assert law.measure("a device at will, a cloud killed anywhere", 2000) > 1e-4
        assert law.measure("twin: a shown verdict is forgotten", 500, "forgets") < 1e-6
        assert law.measure("twin: text of the device is taken", 500, "trusts") < 1e-6
    trips = [case() for case in count.FAULTS]
    assert trips == [1, 2, 1, 1, 1], trips
    assert subprocess.run([sys.executable, TABLES, "--check"]).returncode == 0, "the page has other tables"


main()
