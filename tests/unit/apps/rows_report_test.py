#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What row_report says of recorded rows, computed again from the same file: the laws of the papers in floating point,
by full sorts, written from the papers. Standard library only."""
import array
import csv
import json
import math
import os
import shutil
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rows_support as rows  # noqa: E402


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    about = header.pop("__metadata__")
    tensors = {}
    for name, t in header.items():
        begin, end = (8 + size + at for at in t["data_offsets"])
        if t["dtype"] == "F16":
            flat = struct.unpack("<%de" % ((end - begin) // 2), data[begin:end])
        else:
            flat = array.array({"I32": "i", "F32": "f"}[t["dtype"]], data[begin:end])
        columns = t["shape"][1] if len(t["shape"]) > 1 else 1
        tensors[name] = [list(flat[i:i + columns]) for i in range(0, len(flat), columns)]
    return about, tensors


def logits(tensors, letter, i, vocab_size):
    if letter in tensors:
        return tensors[letter][i]
    ids = tensors[letter + "_top_ids"][i]
    tail = tensors[letter + "_tail_logsumexp"][i][0] - math.log(vocab_size - len(ids))
    row = [tail] * vocab_size
    for id, z in zip(ids, tensors[letter + "_top_logits"][i]):
        row[id] = z
    return row


def softmax(z, temperature):
    top = max(z)
    e = [math.exp((x - top) / temperature) for x in z]
    total = math.fsum(e)
    return [x / total for x in e]


def lattice(q, l):
    """The nearest lattice point of arXiv 2507.00605."""
    b = [math.floor(l * x + 0.5) for x in q]
    zeta = [b[i] - l * q[i] for i in range(len(q))]
    order = sorted(range(len(q)), key=lambda i: (zeta[i], i))
    surplus = sum(b) - l
    for i in order[len(order) - surplus:] if surplus > 0 else []:
        b[i] -= 1
    for i in order[:-surplus] if surplus < 0 else []:
        b[i] += 1
    return b


def on_support(q, ids, l):
    kept = math.fsum(q[i] for i in ids)
    return dict(zip(ids, lattice([q[i] / kept for i in ids], l)))


def log2_binomial(n, k):
    return math.log2(math.comb(n, k))


class Qs:
    def __init__(self, l):
        self.l = l

    def counts(self, q):
        return {i: c for i, c in enumerate(lattice(q, self.l))}

    def bits(self, counts, vocab_size):
        law = log2_binomial(self.l + vocab_size - 1, self.l)
        return math.ceil(law) + math.ceil(math.log2(vocab_size)), law + math.log2(vocab_size)


class Sparse:
    def __init__(self, l, most):
        self.l, self.most, self.kept = l, most, 0

    def counts(self, q):
        ids = self.support(q)
        self.kept = len(ids)
        return on_support(q, sorted(ids), self.l)

    def bits(self, counts, vocab_size):
        positive = sum(c > 0 for c in counts.values())
        spread = log2_binomial(self.l + self.kept - 1, self.l)
        ideal = (math.log2(min(self.l, vocab_size, self.most)) + log2_binomial(vocab_size, positive)
                 + log2_binomial(self.l - 1, positive - 1) + math.log2(positive))
        return self.ids_bits(vocab_size) + spread, ideal


class KSqs(Sparse):
    def support(self, q):
        return sorted(range(len(q)), key=lambda i: (-q[i], i))[:self.most]

    def ids_bits(self, vocab_size):
        return log2_binomial(vocab_size, self.kept)


class CSqs(Sparse):
    """C-SQS of arXiv 2510.09942 with its constants: alpha 5e-4, eta 1e-3, beta_1 1e-3, and a cap."""
    beta, alpha, eta = 1e-3, 5e-4, 1e-3

    def support(self, q):
        order = sorted(range(len(q)), key=lambda i: (-q[i], i))
        above = [i for i in order if q[i] >= self.beta and q[i] > 2.0 ** -40] or order[:1]
        ids = above[:self.most]
        dropped = 1 - math.fsum(q[i] for i in ids)
        self.beta = min(1, self.beta - self.eta * (dropped - self.alpha))
        if len(ids) == self.most and dropped > 0:  # the cap binds
            self.beta = max(self.beta, -self.eta * (1 - self.alpha))
        return ids

    def ids_bits(self, vocab_size):
        return math.ceil(log2_binomial(vocab_size, self.kept)) + math.ceil(math.log2(vocab_size))


class Hlm:
    def counts(self, q):
        halves = (struct.unpack("<e", struct.pack("<e", x))[0] for x in q)
        return {i: int(x * 2 ** 24) for i, x in enumerate(halves)}

    def bits(self, counts, vocab_size):
        return 16 * vocab_size, 16 * vocab_size + math.log2(vocab_size)


def system_of(line):
    setting = {name: int(value) for name, value in (part.split("=") for part in line["setting"].split(":") if part)}
    return {"qs": lambda: Qs(setting["resolution"]),
            "k-sqs": lambda: KSqs(setting["resolution"], setting["support_size"]),
            "c-sqs": lambda: CSqs(setting["resolution"], setting["support_size"]), "hlm": Hlm}[line["system"]]()


def means(line, p, q, vocab_size):
    """Acceptance, the paper's bits, the ideal ones."""
    n = len(p)
    if line["system"] in ("ids only", "greedy"):
        likeliest = [row.index(max(row)) for row in q]
        stood = [p[i][t] if line["system"] == "ids only" else t == p[i].index(max(p[i])) for i, t in enumerate(likeliest)]
        return math.fsum(stood) / n, math.ceil(math.log2(vocab_size)), math.log2(vocab_size)
    system = system_of(line)
    found = []
    for row_p, row_q in zip(p, q):
        counts = system.counts(row_q)
        total = sum(counts.values())
        accepted = math.fsum(min(row_p[i], c / total) for i, c in counts.items())
        found.append((accepted, *system.bits(counts, vocab_size)))
    return [math.fsum(column) / n for column in zip(*found)]


def compare(file, temperature):
    with tempfile.TemporaryDirectory() as folder:
        rows.run("row_report", file, "--out", folder, "--temperature", str(temperature))
        with open(os.path.join(folder, "rows.csv")) as f:
            report = list(csv.DictReader(f))
    about, tensors = read(file)
    vocab_size, n = int(about["vocab_size"]), len(tensors["tokens"])
    p, q = ([softmax(logits(tensors, letter, i, vocab_size), temperature) for i in range(n)] for letter in "pq")
    overlap = math.fsum(math.fsum(map(min, a, b)) for a, b in zip(p, q)) / n
    assert len(report) == 18 and {line["system"] for line in report} == {"hlm", "qs", "k-sqs", "c-sqs", "ids only", "greedy"}
    for line in report:
        accepted, paper, ideal = means(line, p, q, vocab_size)
        expected = accepted if line["system"] == "greedy" else overlap
        assert abs(float(line["overlap"]) - expected) <= 1e-6, (file, line, expected)
        assert abs(float(line["acceptance"]) - accepted) <= 1e-6, (file, line, accepted)
        assert abs(float(line["paper_bits"]) / paper - 1) <= 1e-6, (file, line, paper)
        assert abs(float(line["ideal_bits"]) / ideal - 1) <= 1e-6, (file, line, ideal)
        assert float(line["coded_bits"]) >= ideal, (file, line)


def test_refusals(folder, file):
    with open(file, "rb") as f:
        data = f.read()
    bad = os.path.join(folder, "bad.safetensors")
    for name, bytes in {"truncated": data[:-1], "unknown_format": data.replace(b"rows-1", b"rows-9", 1),
                        "trailing_bytes": data + b"    ", "bad_header": data[:8] + b"x" + data[9:]}.items():
        with open(bad, "wb") as f:
            f.write(bytes)
        said = rows.run("row_report", bad, code=2)
        assert bad in said and name in said, said
    assert "cannot_open" in rows.run("row_report", "no such file", code=2)
    assert "PROMPT" in rows.run("record_rows", "tinylm", "-o", bad, code=2)
    assert "the context has 256" in rows.run("record_rows", "tinylm", "a b " * 300, "-o", bad, code=2)
    assert "cannot_write" in rows.run("record_rows", "tinylm", "a", "-o", "no such folder/file", code=2)


def test_full_disk(folder, file):
    """/dev/full takes no byte."""
    for name in ("rows.csv", "rows.tsv", "rows.gnuplot"):
        out = tempfile.mkdtemp(dir=folder)
        os.symlink("/dev/full", os.path.join(out, name))
        said = rows.run("row_report", file, "--out", out, code=2)
        assert "cannot_write" in said and name in said, said
    with open("/dev/full", "w") as full:
        assert "row_report: the standard output" in rows.run("row_report", file, code=1, stdout=full)


def test_quotes(folder, file):
    out = os.path.join(folder, "it's; a 'folder'")
    said = rows.run("row_report", file, "--out", out)
    assert ("rows.svg" in said) == bool(shutil.which("gnuplot")) == os.path.exists(os.path.join(out, "rows.svg")), said


def test_metadata(file):
    about, tensors = read(file)
    assert about["format"] == "rows-1" and about["draw"] == "p" and len(about["fingerprint"]) == 32, about
    with open(os.path.join(rows.ROOT, "models/tinylm/model/SHA256SUMS")) as f:
        sums = {line.split()[1]: line.split()[0] for line in f}
    assert about["sha256_p"] == sums["target.safetensors"] and about["sha256_q"] == sums["drafter.safetensors"], about
    assert tensors["positions"][1][0] == tensors["positions"][0][0] + 1


def main():
    rows.need_programs()
    with tempfile.TemporaryDirectory() as folder:
        whole = rows.record(folder, "whole", "-n", "24")
        compare(whole, 1)
        compare(rows.record(folder, "halves", "-n", "9", "--logits", "f16", "--draw", "q", "--seed", "3"), 0.7)
        compare(rows.record(folder, "top", "-n", "9", "--top", "64", "--states"), 1)
        test_metadata(whole)
        test_refusals(folder, whole)
        test_quotes(folder, whole)
        if os.path.exists("/dev/full"):
            test_full_disk(folder, whole)
    print("row_report agrees with the rows")


main()
