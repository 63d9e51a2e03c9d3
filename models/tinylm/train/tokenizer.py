# SPDX-License-Identifier: Apache-2.0
"""Byte-level BPE. Ids 0..255 are the bytes, 256 is <|end|>, id 257 + k is merge k.

Pieces (bytes, left to right): a digit is a piece of its own; a run of letters (A-Z, a-z, bytes >= 0x80), with one space
before it if there is one; otherwise a run of one repeated byte, where a run of spaces leaves its last one to a word.
Inside a piece the merge of the smallest number is applied first, its leftmost occurrence first.
"""
import collections
import heapq
import struct

END = 256
FIRST_MERGE = 257


def is_letter(c):
    return 65 <= c <= 90 or 97 <= c <= 122 or c >= 128


def is_digit(c):
    return 48 <= c <= 57


def pieces(data):
    i, n = 0, len(data)
    while i < n:
        c = data[i]
        j = i + 1
        if is_digit(c):
            pass
        elif is_letter(c) or (c == 32 and j < n and is_letter(data[j])):
            while j < n and is_letter(data[j]):
                j += 1
        else:
            while j < n and data[j] == c:
                j += 1
            if c == 32 and j < n and is_letter(data[j]):
                j -= 1
        yield data[i:j]
        i = j


def learn(texts, vocab_size):
    """Merges [(left id, right id)] from an iterable of (bytes, weight)."""
    counts = collections.Counter()
    for data, weight in texts:
        for p in pieces(data):
            counts[p] += weight
    words = [list(w) for w in sorted(counts)]
    weight = [counts[w] for w in sorted(counts)]
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, w in enumerate(words):
        for p in zip(w, w[1:]):
            pairs[p] += weight[i]
            where[p].add(i)
    heap = [(-c, p) for p, c in pairs.items()]
    heapq.heapify(heap)
    merges = []
    while len(merges) < vocab_size - FIRST_MERGE:
        c, pair = heapq.heappop(heap)
        if pairs[pair] != -c:
            if pairs[pair] > 0:
                heapq.heappush(heap, (-pairs[pair], pair))
            continue
        new = FIRST_MERGE + len(merges)
        merges.append(pair)
        touched = set()
        for i in sorted(where[pair]):
            w = words[i]
            for p in zip(w, w[1:]):
                pairs[p] -= weight[i]
                touched.add(p)
            out, k = [], 0
            while k < len(w):
                if k + 1 < len(w) and (w[k], w[k + 1]) == pair:
                    out.append(new)
                    k += 2
                else:
                    out.append(w[k])
                    k += 1
            words[i] = out
            for p in zip(out, out[1:]):
                pairs[p] += weight[i]
                where[p].add(i)
                touched.add(p)
        for p in touched:
            if pairs[p] > 0:
                heapq.heappush(heap, (-pairs[p], p))
        pairs[pair] = 0
    return merges


class Tokenizer:
    def __init__(self, merges):
        self.merges = list(merges)
        self.rank = {p: k for k, p in enumerate(self.merges)}
        self.bytes_of = [bytes([i]) for i in range(256)] + [b""]
        for a, b in self.merges:
            self.bytes_of.append(self.bytes_of[a] + self.bytes_of[b])
        self.cache = {}

    @property
    def size(self):
        return len(self.bytes_of)

    def piece(self, p):
        ids = self.cache.get(p)
        if ids is None:
            ids = list(p)
            while len(ids) > 1:
                best = min(((self.rank.get(q, 1 << 30), k) for k, q in enumerate(zip(ids, ids[1:]))))
                if best[0] == 1 << 30:
                    break
                ids[best[1]:best[1] + 2] = [FIRST_MERGE + best[0]]
            self.cache[p] = ids
        return ids

    def encode(self, text):
        data = text.encode() if isinstance(text, str) else text
        return [i for p in pieces(data) for i in self.piece(p)]

    def decode(self, ids):
        return b"".join(self.bytes_of[i] for i in ids)

    def save(self, path):
        """Magic, count, then two little-endian 16-bit ids per merge."""
        with open(path, "wb") as f:
            f.write(b"TLMBPE1\n" + struct.pack("<I", len(self.merges)))
            for a, b in self.merges:
                f.write(struct.pack("<HH", a, b))

    @staticmethod
    def load(path):
        with open(path, "rb") as f:
            data = f.read()
        count = struct.unpack_from("<I", data, 8)[0]
        if data[:8] != b"TLMBPE1\n" or len(data) != 12 + 4 * count:
            raise SystemExit(path + ": not a vocabulary file")
        return Tokenizer([struct.unpack_from("<HH", data, 12 + 4 * k) for k in range(count)])
