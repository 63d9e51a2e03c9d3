#!/usr/bin/env python3
"""Compares the golden times of shared noise with those of docs/algorithms/noise.md: exact integers, decimal logarithms.

usage: tests/noise/golden_test.py [--print]     --print: only prints the times, for tests/noise/golden.txt"""
import decimal
import pathlib
import sys

decimal.getcontext().prec = 60
MASK = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        low, high = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(high >> 32) ^ c[1] ^ k[0], high & MASK, (low >> 32) ^ c[3] ^ k[1], low & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def bits(key, position, token):
    words = (key & MASK, key >> 32)
    high = philox((position, 0, token // 4, 6), words)[token % 4]
    low = philox((position, 0, token // 4 + 2**31, 6), words)[token % 4]
    return high << 32 | low


def time(h):
    return -(1 - (decimal.Decimal(h) + decimal.Decimal("0.5")) / 2**64).ln()


def lines():
    yield "# key position id h time"
    for key in (0, 1, 0x0123456789ABCDEF, 2**64 - 1):
        for position in (0, 7, 2**32 - 1):
            for token in (0, 1, 2, 3, 4, 49151, 1048575):
                h = bits(key, position, token)
                yield f"{key:x} {position} {token} {h:016x} {time(h):.25e}"
    yield "# edges of the logarithm: h time"
    for h in (0, 1, 2, 1023, 2**53, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2**11, 2**64 - 2, 2**64 - 1):
        yield f"- - - {h:016x} {time(h):.25e}"


if __name__ == "__main__":
    text = "".join(line + "\n" for line in lines())
    if "--print" in sys.argv:
        print(text, end="")
    elif text != pathlib.Path(__file__).with_name("golden.txt").read_text():
        sys.exit("tests/noise/golden.txt has other times")
