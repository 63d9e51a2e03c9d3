#!/usr/bin/env bash
# replayed_trace.sh EDGE_CLOUD: a link that follows a channel trace changes when tokens come, not which ones; the edge reports the state that
# holds; and what is wrong with a file is said with its name and the line.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $1"; exit 1; }
run() {
  "$program" demo --salt 1 --pace none --prompt "And it came to pass in those days, that" --out "$folder" "$@" >"$folder/log" || fail "the demo failed: $*"
}
tokens() { tr -d ' \n' <"$folder/$1-1/edge/report.json" | sed 's/.*"tokens":\(\[[^]]*\]\).*/\1/'; }
milliseconds() { tr -d ' \n' <"$folder/$1-1/edge/report.json" | sed 's/.*"arrival":\[\([^]]*\)\].*/\1/' | awk -F, '{ printf "%d", $NF * 1000 }'; }
number() { sed -n "s/.*\"$2\": *\([0-9.]*\).*/\1/p" "$folder/$1.json"; }
refused() {
  local wanted=$1
  shift
  if "$program" "$@" >"$folder/log" 2>&1; then fail "not refused: $*"; fi
  grep -qF "$wanted" "$folder/log" || { cat "$folder/log"; fail "it does not say: $wanted"; }
}

# A trace to begin with: the same seed, the same trace; both states of QS's link are in it.
"$program" trace --model qs-paper --steps 20 --seed 7 --rtt-ms 20 >"$folder/trace.csv"
"$program" trace --model qs-paper --steps 20 --seed 7 --rtt-ms 20 | cmp - "$folder/trace.csv"
[ "$(wc -l <"$folder/trace.csv")" -eq 21 ] || fail "20 steps are not 21 lines"
[ "$(grep -c '^350000,4e+06,0,0,0.02,0$' "$folder/trace.csv")" -gt 3 ] || fail "no low states"
[ "$(grep -c '^4e+06,4e+06,0,0,0.02,1$' "$folder/trace.csv")" -gt 3 ] || fail "no high states"
for model in qs-code rayleigh rician; do
  [ "$("$program" trace --model $model --steps 5 | wc -l)" -eq 6 ] || fail "$model is not drawn"
done
"$program" trace --model rayleigh --steps 60 --snr-db -10 >"$folder/deep.csv"
grep -q '^1000,' "$folder/deep.csv" || fail "no fade is as deep as the emulated link goes"
run --systems greedy --tokens 4 --channel-trace "$folder/deep.csv" --state-seconds 0.05

# The link never changes the text.
run --systems k-sqs --tokens 48 --rtt-ms 20
fixed=$(tokens k-sqs)
run --systems k-sqs --tokens 48 --channel-trace "$folder/trace.csv" --state-seconds 0.05
grep -q 'the same text as within one process: yes' "$folder/log" || fail "the text over the trace differs from the in-process run"
[ "$(tokens k-sqs)" = "$fixed" ] || fail "the text over the trace differs from the one without it"

# The emulated link has the rates of the trace: 7 tokens of HLM are 8 kB each, 187 ms at 350 kbit/s.
sed -n '1p; /^350000/p' "$folder/trace.csv" >"$folder/low.csv"
sed -n '1p; /^4e/p' "$folder/trace.csv" >"$folder/high.csv"
run --systems hlm --tokens 14 --channel-trace "$folder/low.csv"
low=$(milliseconds hlm)
run --systems hlm --tokens 14 --channel-trace "$folder/high.csv"
high=$(milliseconds hlm)
[ "$high" -lt $((low / 2)) ] || fail "14 tokens of HLM take $low ms in the low state and $high ms in the high one"

# The edge sees the state change: a network that plans by it takes one resolution after the other.
python3 "$(dirname "$0")/make_file.py" policy "$folder/policy.dqn" 17 6  # (3, 240) on a slow uplink, (8, 720) on a fast one
resolution=240
for states in low high; do
  run --systems qs-dqn --policy "$folder/policy.dqn" --tokens 40 --channel-trace "$folder/$states.csv"
  [ "$(number qs-dqn resolution_sum)" -eq $((resolution * $(number qs-dqn drafted))) ] || fail "the edge does not see the $states state"
  resolution=720
done
sed -n '1p; 2p' "$folder/low.csv" >"$folder/both.csv"
sed -n 2p "$folder/high.csv" >>"$folder/both.csv"
run --systems qs-dqn --policy "$folder/policy.dqn" --tokens 100 --channel-trace "$folder/both.csv" --state-seconds 0.15
mean=$(($(number qs-dqn resolution_sum) / $(number qs-dqn drafted)))
echo "both: mean resolution $mean"
[ "$mean" -gt 240 ] && [ "$mean" -lt 720 ] || fail "the edge does not see the states change: its mean resolution is $mean"
grep -q 'not checked, because it depends on the link' "$folder/log" || fail "a text that depends on the link is compared"

# What is wrong, with file and line.
refused "$folder/none.csv" demo --channel-trace "$folder/none.csv"
sed '3s/.*/350000,4e+06,0,0,0.02/' "$folder/trace.csv" >"$folder/bad.csv"
refused "$folder/bad.csv:3: a line of a channel trace has too few fields or too many" demo --channel-trace "$folder/bad.csv"
sed '4s/^[^,]*/0/' "$folder/trace.csv" >"$folder/bad.csv"
refused "$folder/bad.csv:4: a rate is NaN, infinite, zero or negative" link --channel-trace "$folder/bad.csv"
sed '5s/^[^,]*/999/' "$folder/trace.csv" >"$folder/bad.csv"
refused "$folder/bad.csv:5: the emulated link needs at least 1 kbit/s" edge --state-dir "$folder/edge" --channel-trace "$folder/bad.csv"
sed 1d "$folder/trace.csv" >"$folder/bad.csv"
refused "$folder/bad.csv:1: the first line of a channel trace does not name its columns" demo --channel-trace "$folder/bad.csv"
echo "replayed_trace: all checks passed"
