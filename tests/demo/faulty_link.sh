#!/usr/bin/env bash
# faulty_link.sh EDGE_CLOUD: one message in ten is lost and the rest jitter; the texts do not change. On a link that loses four in ten, an edge that
# writes ahead does so and ends with the same greedy text, and one that stops says why.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" demo --salt 1 --pace none --systems target,qs,k-sqs:paper_code=1,k-sqs --tokens 16 --loss 0.1 --jitter-ms 15 --rtt-ms 20 --out "$folder/out" "${@:2}" | tee "$folder/log"
[ "$(grep -c 'the same text as within one process: yes' "$folder/log")" -eq 8 ] || { echo "FAILED: a text changed"; exit 1; }
"$program" demo --salt 1 --pace none --systems greedy,k-sqs --tokens 16 --loss 0.4 --rtt-ms 20 --on-link-loss local --out "$folder/out" "${@:2}" | tee "$folder/log"
grep -q 'the same text as within one process: yes' "$folder/log" || { echo "FAILED: a greedy text changed"; exit 1; }
for system in greedy k-sqs; do
  grep -q '"written_ahead": [1-9]' "$folder/out/$system.json" || { echo "FAILED: $system wrote nothing ahead"; exit 1; }
done
if "$program" demo --salt 1 --pace none --systems k-sqs --tokens 16 --loss 0.9 --rtt-ms 20 --on-link-loss stop --out "$folder/out" "${@:2}" >"$folder/log" 2>&1; then
  echo "FAILED: the edge went on without a link"
  exit 1
fi
grep -q 'the session failed: .*the link was lost' "$folder/log" || { echo "FAILED: the lost link is not named"; tail -3 "$folder/log"; exit 1; }
echo "faulty_link: all checks passed"
