# SPDX-License-Identifier: Apache-2.0
"""Trains a small configuration for 100 steps on problems alone and checks that the loss falls.

usage: retrain_check.py WORK_FOLDER MODEL_FOLDER
"""
import json
import os
import random
import subprocess
import sys

import numpy as np

import prepare
from tokenizer import Tokenizer

STEPS, ROWS, LENGTH = 100, 16, 64


def main(work, model):
    os.makedirs(work, exist_ok=True)
    tokenizer = Tokenizer.load(os.path.join(model, "vocab.bpe"))
    ids, weight, segment = prepare.problem_rows(tokenizer, 11, STEPS * ROWS // 4, random.Random(11))
    np.savez(os.path.join(work, "problems.npz"), ids=ids, weight=weight, segment=segment)
    np.save(os.path.join(work, "prose.npy"), ids[:1])
    log = os.path.join(work, "loss.json")
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([sys.executable, os.path.join(here, "train.py"), "--size", "small", "--folder", work, "--out",
                    os.path.join(work, "small.safetensors"), "--tokens", str(STEPS * ROWS * LENGTH), "--rows", str(ROWS),
                    "--prose-share", "0", "--log", log], check=True)
    with open(log) as f:
        loss = json.load(f)
    first, last = np.mean(loss[:10]), np.mean(loss[-10:])
    print("loss: first 10 steps %.3f, last 10 of %d steps %.3f" % (first, len(loss), last))
    if len(loss) != STEPS or not last < 0.6 * first:
        sys.exit("the loss did not fall to 60 %")


if __name__ == "__main__":
    main(*sys.argv[1:])
