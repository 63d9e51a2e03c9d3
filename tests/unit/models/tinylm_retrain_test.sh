#!/usr/bin/env bash
# Training works: 100 steps of a small configuration, and the loss falls. Skipped (77) where no package index can be reached.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
output=$(timeout 300 bash scripts/models --retrain-check 2>&1)
code=$?
echo "$output"
[ "$code" -eq 0 ] && exit 0
# 77, 69: python3-venv is missing and could not be installed.
[ "$code" -eq 77 ] || [ "$code" -eq 69 ] && exit 77
grep -q -i -E "no matching distribution|connection|network|temporary failure|no module named (pip|venv)" <<<"$output" && exit 77
exit 1
