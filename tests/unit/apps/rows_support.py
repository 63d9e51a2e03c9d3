# SPDX-License-Identifier: Apache-2.0
"""What the tests of recorded rows share: the programs of a build, and rows of the bundled pair. Standard library only."""
import os
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
PROGRAMS = os.path.join(os.environ.get("SPECVERIFY_BUILD_DIR", os.path.join(ROOT, "build/gcc")), "apps/rows")
PROMPTS = ["Q: Emma buys 4 boxes of 5 stones and 7 boxes of 2 cards. How many stones and cards are there?\nA:",
           "Let thy mercy, O LORD, be upon us"]


def need_programs():
    if not os.path.exists(os.path.join(PROGRAMS, "row_report")):
        print("record_rows and row_report were not built here")
        sys.exit(77)


def run(program, *arguments, code=0, stdout=subprocess.PIPE):
    done = subprocess.run([os.path.join(PROGRAMS, program), *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=300)
    assert done.returncode == code, (program, arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def record(folder, name, *options):
    file = os.path.join(folder, name + ".safetensors")
    run("record_rows", "tinylm", *PROMPTS, "-o", file, *options)
    return file
