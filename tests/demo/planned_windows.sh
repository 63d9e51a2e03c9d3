#!/usr/bin/env bash
# planned_windows.sh EDGE_CLOUD: windows follow what they look at: the network the state of the uplink, the model its rate; resolutions and
# lengths are those of the plan, and a budget bounds every round.
set -euo pipefail
program=$1
here=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $1"; exit 1; }
number() { sed -n "s/.*\"$2\": *\([0-9.]*\).*/\1/p" "$folder/$1.json"; }
run() {
  "$program" demo --salt 2 --pace none --tokens 40 --rtt-ms 10 --prompt "And it came to pass in those days, that" --out "$folder" "$@" >"$folder/log"
  [ "$(grep -c 'the same text as within one process: yes' "$folder/log")" -gt 0 ] || fail "a text differs from the in-process run"
}
# Over all rounds: drafts a hundred rounds, and the resolution of a draft.
drafts() { echo $((100 * $(number "$1" drafted) / $(number "$1" rounds))); }
resolution() { echo $(($(number "$1" resolution_sum) / $(number "$1" drafted))); }

python3 "$here/make_file.py" policy "$folder/policy.dqn" 17 6  # (3, 240) on a slow uplink, (8, 720) on a fast one
run --systems qs-dqn --policy "$folder/policy.dqn" --up-kbit 350
[ "$(resolution qs-dqn)" -eq 240 ] || fail "the learned window has resolution $(resolution qs-dqn) in the low state"
[ "$(drafts qs-dqn)" -gt 200 ] && [ "$(drafts qs-dqn)" -le 300 ] || fail "it drafts $(drafts qs-dqn) a hundred rounds in the low state"
run --systems qs-dqn --policy "$folder/policy.dqn" --up-kbit 4000
[ "$(resolution qs-dqn)" -eq 720 ] || fail "the learned window has resolution $(resolution qs-dqn) in the high state"
[ "$(drafts qs-dqn)" -gt 500 ] && [ "$(drafts qs-dqn)" -le 800 ] || fail "it drafts $(drafts qs-dqn) a hundred rounds in the high state"

run --systems qs-adaptive --up-kbit 20000
fast=$(drafts qs-adaptive)
run --systems qs-adaptive --up-kbit 20
[ "$(drafts qs-adaptive)" -lt "$fast" ] || fail "the modelled window drafts $(drafts qs-adaptive) a hundred rounds at 20 kbit/s and $fast at 20 Mbit/s"
[ "$(resolution qs-adaptive)" -eq 240 ] || fail "the modelled window sends fine laws over a slow link"

# A draft message within 1000 bits, 3 bytes before it; the target's row stands for hello, prompt and stop, with 12 bytes for longer fields.
run --systems target,k-sqs,k-sqs:max_draft_length=12:round_bits=1000,c-sqs:max_draft_length=12:round_bits=1000
for system in k-sqs:max_draft_length=12:round_bits=1000 c-sqs:max_draft_length=12:round_bits=1000; do
  [ "$(number $system bytes_up)" -le $(($(number target bytes_up) + 12 + 128 * $(number $system rounds))) ] || fail "$system exceeds its budget"
  [ "$(drafts $system)" -gt 100 ] && [ "$(drafts $system)" -lt 1200 ] || fail "$system drafts $(drafts $system) a hundred rounds"
done
[ "$(drafts k-sqs:max_draft_length=12:round_bits=1000)" -gt "$(drafts k-sqs)" ] || fail "1000 bits pay for no more drafts than 4"
echo "planned_windows: all checks passed"
