#!/usr/bin/env bash
# kill_and_resume.sh EDGE_CLOUD: kill -9 of a side in the middle of the demo. The demo starts it again with the same arguments, it resumes
# from its journal, and the text ends as the in-process run says.
set -euo pipefail
program=$1
folder=$(mktemp -d)
demo=
trap '[ -z "$demo" ] || kill "$demo" 2>/dev/null || true; rm -rf "$folder"' EXIT
fail() { echo "FAILED: $1"; cat "$folder/log"; exit 1; }

# Waits until the journal of a side has grown by so many bytes since the last call for it.
grown=0
await() {
  local file=$1 more=$2 size=0 patience=2000
  until size=$(stat -c %s "$file" 2>/dev/null || echo 0); [ "$size" -ge $((grown + more)) ]; do
    patience=$((patience - 1))
    [ "$patience" -gt 0 ] || fail "no progress in $file"
    sleep 0.01
  done
  grown=$size
}

run() {
  local system=$1 sides=$2 side
  shift 2
  "$program" demo --salt 1 --pace none --systems "$system" --prompt "And the LORD spake" --tokens 32 --rtt-ms 120 --out "$folder/out" "$@" >"$folder/log" 2>&1 &
  demo=$!
  grown=0
  for side in $sides; do
    await "$folder/out/$system-1/edge/journal" 600
    kill -9 "$(cat "$folder/out/$system-1/$side/pid")"
  done
  wait "$demo" || fail "the demo failed after the kill of: $sides"
  demo=
  [ "$(grep -c 'killed by signal 9, restarted' "$folder/log")" -eq "$(wc -w <<<"$sides")" ] || fail "not every kill hit a running process"
  grep -q 'the same text as within one process: yes' "$folder/log" || fail "the text changed"
  echo "$system: $sides killed, the text is the same"
  rm -rf "$folder/out"
}

run k-sqs edge "${@:2}"
run k-sqs cloud "${@:2}"
run k-sqs "edge cloud edge" "${@:2}"
run hlm "cloud edge" "${@:2}"
run qs "edge cloud" --loss 0.05 "${@:2}"
run qs-adaptive "edge cloud" --up-kbit 100 "${@:2}"
run target "edge cloud" --down-kbit 2 "${@:2}"
run u-hlm "edge cloud" "${@:2}"
python3 "$(dirname "$0")/make_file.py" head "$folder/head.safetensors" 96 128
run wisv:with_draft=0 "cloud edge" --head "$folder/head.safetensors" "${@:2}"
run wisv "edge cloud" --protocol lazy --head "$folder/head.safetensors" --loss 0.05 "${@:2}"
echo "kill_and_resume: all checks passed"
