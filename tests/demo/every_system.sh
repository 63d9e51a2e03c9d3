#!/usr/bin/env bash
# every_system.sh EDGE_CLOUD: the systems that the demo does not run by itself, over a lossy link: each text equals the in-process one; skipped
# tokens cost no round, the protocols of WISV write the same text in the same rounds; what is missing is said.
set -euo pipefail
program=$1
here=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $1"; exit 1; }
number() { sed -n "s/.*\"$2\": *\([0-9.]*\).*/\1/p" "$folder/out/$1.json"; }
string() { sed -n "s/.*\"$2\": *\(\".*\"\).*/\1/p" "$folder/out/$1.json"; }

if "$program" demo --salt 1 --pace none --systems wisv --out "$folder/out" >"$folder/refused" 2>&1; then fail "a scored system ran without a head"; fi
grep -q 'needs a decision head' "$folder/refused" || fail "the missing head is not named"
if "$program" demo --salt 1 --pace none --systems nonsense --out "$folder/out" >"$folder/refused" 2>&1; then fail "an unknown system ran"; fi
grep -q 'choose one of: target, qs, ' "$folder/refused" || fail "the systems are not listed"
refused_head() {  # what the line must say, then drafter size, target size, mode
  python3 "$here/make_file.py" head "$folder/other.safetensors" "${@:2}"
  if "$program" demo --salt 1 --pace none --systems wisv:with_draft=1 --tokens 4 --head "$folder/other.safetensors" --out "$folder/out" >"$folder/refused" 2>&1; then
    fail "a head of other states ran: ${*:2}"
  fi
  grep -q "$1" "$folder/refused" || fail "the head of other states is not named: ${*:2}"
}
refused_head 'needs target states of 64 numbers, but this model has' 96 64
refused_head 'needs drafter states of 64 numbers, but this model has' 64 128
refused_head 'trained on consuming states' 96 128 consuming

if "$program" demo --salt 1 --pace none --systems qs-dqn --out "$folder/out" >"$folder/refused" 2>&1; then fail "a learned window ran without a network"; fi
grep -q 'needs a trained network' "$folder/refused" || fail "the missing network is not named"
python3 "$here/make_file.py" policy "$folder/policy.dqn" 15 15
head -c 1000 "$folder/policy.dqn" >"$folder/cut.dqn"
if "$program" demo --salt 1 --pace none --systems qs-dqn --policy "$folder/cut.dqn" --out "$folder/out" >"$folder/refused" 2>&1; then fail "half a network ran"; fi

python3 "$here/make_file.py" head "$folder/head.safetensors" 96 128
fh=wisv:with_draft=1 sh=wisv:with_draft=0
systems=hlm,qs-adaptive,qs-dqn,c-sqs,c-sqs:support_size=256,k-sqs:max_draft_length=12:round_bits=1000,c-sqs:max_draft_length=12:round_bits=1000,rand-hlm,u-hlm,cu-hlm,cu-hlm-online:support_size=1024,compressed-hlm,ui,sd-reject,greedy,shared-noise,$fh,$sh,wisv
"$program" demo --salt 1 --pace none --tokens 24 --loss 0.05 --up-kbit 2000 --rtt-ms 20 --systems $systems --head "$folder/head.safetensors" --policy "$folder/policy.dqn" \
  --prompt "And it came to pass in those days, that" --out "$folder/out" | tee "$folder/log"
[ "$(grep -c 'the same text as within one process: yes' "$folder/log")" -eq 19 ] || fail "a text differs from the in-process run"
for label in qs-adaptive qs-dqn k-sqs:max_draft_length=12:round_bits=1000 c-sqs:max_draft_length=12:round_bits=1000; do
  grep -Eq "^$label .* +[0-9.]+ +([0-9]+|-) " "$folder/log" || fail "no row for $label"
done
for label in rand-hlm u-hlm cu-hlm ui "$fh"; do
  grep -q "^$label  *lossy " "$folder/log" || fail "$label is not called lossy"
done
grep -q '^c-sqs  *exact ' "$folder/log" || fail "C-SQS is not called exact"
grep -q '^greedy  *argmax ' "$folder/log" || fail "greedy is not called argmax"
grep -q '^shared-noise  *exact ' "$folder/log" || fail "shared noise is not called exact"
for system in rand-hlm u-hlm cu-hlm cu-hlm-online:support_size=1024 ui; do
  [ "$(number $system skipped)" -gt 0 ] || fail "$system skipped nothing"
  [ $(($(number $system rounds) + $(number $system skipped))) -eq 24 ] || fail "$system: a token is neither of a round nor skipped"
done
for system in cu-hlm cu-hlm-online:support_size=1024 compressed-hlm; do
  [ $((10 * $(number $system bytes_up))) -lt "$(number hlm bytes_up)" ] || fail "$system does not compress tenfold"
done
"$program" demo --salt 1 --pace none --tokens 24 --systems wisv --protocol lazy --head "$folder/head.safetensors" --prompt "And it came to pass in those days, that" \
  --out "$folder/lazy" >"$folder/lazy.log"
grep -q 'hidden states: lazy; the same text as within one process: yes' "$folder/lazy.log" || fail "the lazy protocol was not used"
mv "$folder/lazy/wisv.json" "$folder/out/lazy.json"
for system in "$sh" wisv lazy; do
  [ "$(string $system text)" = "$(string $fh text)" ] || fail "$system writes another text than $fh"
  [ "$(number $system rounds)" -eq "$(number $fh rounds)" ] || fail "$system takes other rounds than $fh"
done
for system in "$sh" lazy; do
  [ "$(number $system bytes_up)" -lt "$(number $fh bytes_up)" ] || fail "$system uploads no less than $fh"
done
[ "$(number ui skipped_uncertain)" -gt 0 ] && [ "$(number ui skipped_uncertain)" -lt "$(number ui skipped)" ] || fail "UI counts no unimportant tokens"
[ "$(number cu-hlm support_sum)" -eq $((30 * $(number cu-hlm drafted))) ] || fail "CU-HLM keeps other than 30 tokens apart"
[ "$(number c-sqs support_sum)" -gt "$(number c-sqs drafted)" ] || fail "C-SQS kept one token a law"
[ "$(number c-sqs:support_size=256 support_sum)" -le "$((256 * $(number c-sqs:support_size=256 drafted)))" ] || fail "C-SQS went beyond its cap"
[ $(($(number c-sqs:support_size=256 support_sum) * $(number c-sqs drafted))) -lt $(($(number c-sqs support_sum) * $(number c-sqs:support_size=256 drafted))) ] ||
  fail "a cap of 256 keeps no fewer tokens a law than none"
[ "$(number $fh rounds)" -le "$(number greedy rounds)" ] || fail "mismatches that stand cost rounds"
"$program" demo --salt 1 --pace none --tokens 24 --systems greedy,$fh --threshold 0 --head "$folder/head.safetensors" --prompt "And it came to pass" --out "$folder/out" >/dev/null
[ "$(string $fh text)" = "$(string greedy text)" ] || fail "threshold 0 is not greedy"

# A table of id weights makes drafts of ids shorter, and changes no text. A table that nothing can use is refused by name.
table=$here/../../models/tinylm/model/prior.table
of_ids() {  # folder, options
  "$program" demo --salt 1 --pace none --tokens 64 --up-kbit 2000 --rtt-ms 20 --systems greedy,shared-noise,k-sqs --prompt "And it came to pass" --out "$folder/$1" "${@:2}" >"$folder/log"
  [ "$(grep -c 'the same text as within one process: yes' "$folder/log")" -eq 3 ] || fail "a text differs from the in-process run: $*"
}
of_ids plain
of_ids coded --prior "$table"
for system in greedy shared-noise k-sqs; do
  bytes=$(number "../plain/$system" draft_bytes) coded=$(number "../coded/$system" draft_bytes)
  echo "$system: $coded bytes of drafts with a table, $bytes without"
  [ "$(string "../plain/$system" text)" = "$(string "../coded/$system" text)" ] || fail "$system: a table changes the text"
  case $system in
    k-sqs) [ "$coded" -eq "$bytes" ] || fail "$system: a table changes drafts that have distributions" ;;
    *) [ $((10 * coded)) -lt $((9 * bytes)) ] || fail "$system: a table does not make drafts shorter" ;;
  esac
done
refused_table() {  # what the line must say, then arguments
  if "$program" demo --salt 1 --pace none --tokens 4 --out "$folder/out" "${@:2}" >"$folder/refused" 2>&1; then fail "a table ran: ${*:2}"; fi
  grep -q "$1" "$folder/refused" || fail "the table is not named: ${*:2}: $(cat "$folder/refused")"
}
head -c 1000 "$table" >"$folder/cut.table"
{ head -c 8 "$table" && printf '\377\017' && tail -c +11 "$table"; } >"$folder/other.table"
refused_table 'none of the systems sends only ids' --systems k-sqs,target --prior "$table"
refused_table 'cut.table: .*truncated' --systems greedy --prior "$folder/cut.table"
refused_table 'other.table: .*prior_vocabulary' --systems greedy --prior "$folder/other.table"
refused_table 'missing.table' --systems greedy --prior "$folder/missing.table"

# The protocol follows the link: a state costs 4 us at 500 Mbit/s and a request 200 ms there, 341 ms at 6 kbit/s and a request 1 ms.
printf 'And it came to pass in those days, that there was a man\n\nThe second line of a file\nnot read\n' >"$folder/prompts"
adaptive() {
  "$program" demo --salt 1 --pace none --tokens 12 --systems wisv --head "$folder/head.safetensors" --prompt-file "$folder/prompts" --prompt-lines 2 --out "$folder/out" "$@"
}
adaptive --up-kbit 500000 --down-kbit 500000 --rtt-ms 200 >"$folder/log"
[ "$(grep -c 'hidden states: fh' "$folder/log")" -eq 2 ] || fail "a fast link with a long round trip asks for states"
adaptive --up-kbit 6 --rtt-ms 1 >"$folder/log"
[ "$(grep -c 'hidden states: \(sh\|lazy\)' "$folder/log")" -eq 2 ] || fail "a narrow link with a short round trip sends every state"
grep -q 'second line' "$folder/log" || fail "the second prompt of the file was not written on"
"$program" demo --salt 1 --pace none --tokens 24 --systems greedy,wisv --head "$folder/head.safetensors" --prompt "And it came to pass" --out "$folder/out" >"$folder/log"
grep -q 'hidden states: fh' "$folder/log" || fail "rounds that nobody scored count as rounds without mismatches"
echo "every_system: all checks passed"
