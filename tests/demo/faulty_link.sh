#!/usr/bin/env bash
# faulty_link.sh EDGE_CLOUD: one message in ten is lost and the rest jitter; the texts do not change.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" demo --systems target,qs,ksqs-paper,ksqs --tokens 16 --loss 0.1 --jitter-ms 15 --rtt-ms 20 --out "$folder/out" "${@:2}" | tee "$folder/log"
[ "$(grep -c 'the same text as within one process: yes' "$folder/log")" -eq 8 ] || { echo "FAILED: a text changed"; exit 1; }
echo "faulty_link: all checks passed"
