#!/usr/bin/env bash
# The golden times of shared noise are those that golden.py computes from the formulas of docs/algorithms/noise.md.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
diff <(python3 tests/noise/golden.py) tests/noise/golden.txt || exit 1
echo "$(grep -vc '^#' tests/noise/golden.txt) times"
