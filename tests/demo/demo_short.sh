#!/usr/bin/env bash
# demo_short.sh EDGE_CLOUD: a short run of every system: each text equals the in-process one, the table has a row a system, every
# V value of HLM really travelled, and our code of the same laws is the shorter one.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" demo --tokens 12 --out "$folder/out" "${@:2}" | tee "$folder/log"

fail() { echo "FAILED: $1"; exit 1; }
number() { sed -n "s/.*\"$2\": *\([0-9.]*\).*/\1/p" "$folder/out/$1.json"; }
[ "$(grep -c 'the same text as within one process: yes' "$folder/log")" -eq 10 ] || fail "a text differs from the in-process run"
for label in 'target alone' 'HLM' 'QS' 'K-SQS.*paper' 'K-SQS.*our'; do
  grep -Eq "^$label.* +[0-9]+ +[0-9]+$" "$folder/log" || fail "no row for $label"
done
[ "$(number hlm bytes_up)" -ge $((2 * 4096 * $(number hlm drafted))) ] || fail "HLM sent less than its V values"
[ "$(number ksqs bytes_up)" -lt "$(number ksqs-paper bytes_up)" ] || fail "our code is not shorter than the papers' code"
[ "$(number ksqs-paper bytes_up)" -lt "$(number qs bytes_up)" ] || fail "K-SQS is not shorter than QS"
if command -v gnuplot >/dev/null; then grep -q '</svg>' "$folder/out/demo.svg" || fail "no plot"; fi
echo "demo_short: all checks passed"
