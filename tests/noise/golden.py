#!/usr/bin/env python3
"""Prints golden times of shared noise, from the text of docs/algorithms/noise.md alone: exact integers, decimal logs.

usage: tests/noise/golden.py > tests/noise/golden.txt"""
import decimal

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


if __name__ == "__main__":
    print("# key position id h time")
    for key in (0, 1, 0x0123456789ABCDEF, 2**64 - 1):
        for position in (0, 7, 2**32 - 1):
            for token in (0, 1, 2, 3, 4, 49151, 1048575):
                h = bits(key, position, token)
                print(f"{key:x} {position} {token} {h:016x} {time(h):.25e}")
    print("# edges of the logarithm: h time")
    for h in (0, 1, 2, 1023, 2**53, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2**11, 2**64 - 2, 2**64 - 1):
        print(f"- - - {h:016x} {time(h):.25e}")
