#!/usr/bin/env bash
# demo_short.sh EDGE_CLOUD: a short run of every system: each text equals the in-process one, the table has a row a system, what
# travelled is what the papers count, and our code of the same laws is the shorter one.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" demo --salt 1 --pace none --tokens 12 --out "$folder/out" "${@:2}" | tee "$folder/log"

fail() { echo "FAILED: $1"; exit 1; }
number() { sed -n "s/.*\"$2\": *\([0-9.]*\).*/\1/p" "$folder/out/$1.json"; }
[ "$(grep -c 'the same text as within one process: yes' "$folder/log")" -eq 10 ] || fail "a text differs from the in-process run"
for label in target hlm qs k-sqs:paper_code=1 k-sqs; do
  grep -Eq "^$label .* +[0-9]+ +[0-9]+$" "$folder/log" || fail "no row for $label"
done
# Bits of one drafted token, without the 2 bytes of kind and check of each draft message.
bits_per_draft() {
  echo $((8 * ($(number "$1" draft_bytes) - 2 * $(number "$1" rounds)) / $(number "$1" drafted)))
}
# Between the paper's formula for V = 4096, rounded down, and 8 bits more (HLM: 16 V + 12; a message of one law fills up its last byte).
within() {
  local bits
  bits=$(bits_per_draft "$1")
  echo "$1: $bits bits a drafted token"
  [ "$bits" -ge "$2" ] && [ "$bits" -le "$3" ] || fail "$1 takes $bits bits a drafted token, not $2 to $3"
}
within hlm 65548 65600
within qs 1345 1354
within k-sqs:paper_code=1 212 221
[ "$(number k-sqs bytes_up)" -lt "$(number k-sqs:paper_code=1 bytes_up)" ] || fail "our code is not shorter than the papers' code"
[ "$(number k-sqs:paper_code=1 bytes_up)" -lt "$(number qs bytes_up)" ] || fail "K-SQS is not shorter than QS"
# By default a pass takes what the modelled column counts, so that the two columns of speed agree.
"$program" demo --salt 1 --tokens 12 --systems target,k-sqs --out "$folder/paced" "${@:2}" >"$folder/log"
for label in target k-sqs; do
  awk -v label="$label" 'index($0, label " ") == 1 { sub(label, ""); found = 1; ratio = $2 / $3 } END { exit !(found && ratio > 0.8 && ratio < 1.25) }' \
    "$folder/log" || fail "$label: measured and modelled speed differ under the default pace"
done
grep -Eq '(2[5-9]|3[0-9])\.[0-9] ms per draft pass, 1[0-3][0-9]\.[0-9] ms per target pass' "$folder/log" || fail "the passes are not paced"
if command -v gnuplot >/dev/null; then grep -q '</svg>' "$folder/out/demo.svg" || fail "no plot"; fi
echo "demo_short: all checks passed"
