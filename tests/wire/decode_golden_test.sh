#!/usr/bin/env bash
# The golden bytes, read by a decoder that shares nothing with the library. Skipped where there is no Python.
cd "$(dirname "$0")/../.." || exit 1
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
exec python3 tests/wire/decode_golden.py tests/wire/golden.txt
