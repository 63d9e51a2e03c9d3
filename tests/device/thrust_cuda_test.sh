#!/usr/bin/env bash
# Everything of device/ compiles with nvcc, as C++17 and without a warning. In the long run: it takes two minutes.
[ "${SPECVERIFY_LONG:-0}" = 1 ] || { echo "compiled with nvcc in the long run"; exit 77; }
exec bash scripts/nvcc --thrust
