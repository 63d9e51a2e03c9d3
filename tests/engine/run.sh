#!/usr/bin/env bash
# The tests that need a real engine (./run engine --test): greedy texts, acceptance, kills, the library's share, and the
# failures with their exit codes. usage: tests/engine/run.sh CACHE [PART...]
# PARTs: greedy rows kills samplers share failures; all of them unless some are named. Takes about 6 minutes of one core.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
cache=$1
shift
parts=("$@")
[ $# -gt 0 ] || parts=(greedy rows kills samplers share failures)
bash scripts/packages cmake ninja-build g++ libcli11-dev libxsimd-dev python3 || exit $?
bash scripts/build_llama "$cache" llama_checks llama_pair || exit 1
small=$cache/models/SmolLM2-135M-Instruct.Q2_K.gguf large=$cache/models/SmolLM2-135M-Instruct.Q4_1.gguf
checks=build/llama/app/llama_checks prompts=tests/engine/prompts.txt
work=$(mktemp -d) passed=0 failed=0
trap 'rm -rf "$work"' EXIT
count() {
  if "${@:2}"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $1"; fi
}
rows() {
  head -n 6 "$prompts" >"$work/prompts" && "$checks" rows "$small" "$large" "$work/prompts" 64 "$work/rows" &&
    python3 tests/engine/acceptance.py "$work/rows"
}
# A failure says what happened in its first words, and ends with its own code: fails CODE WORDS ARGUMENTS...
fails() {
  local code=$1 words=$2 said got
  said=$(build/llama/app/llama_pair --out "$work/out" --edge-model "$small" --systems ksqs --tokens 24 --pace none --salt 7 \
    --cloud-model "$large" "${@:3}" 2>&1 >/dev/null)
  got=$?
  [ "$got" = "$code" ] && grep -q "^$words" <<<"$said" && echo "exit code $code: $(grep "^$words" <<<"$said")" && return 0
  echo "expected $code and \"$words\", got $got: $said"
  return 1
}
missing_model() {
  build/llama/app/llama_pair --out "$work/out" --edge-model "$work/none.gguf" --cloud-model "$large" 2>"$work/said"
  [ $? = 10 ] && grep "^missing model" "$work/said"
}
failures() {
  count missing-model missing_model
  count pair fails 11 'wrong pair' --fault pair
  count context fails 12 'context full' --context 256 --prompt "$(printf 'word %.0s' {1..230})"
  count prompt fails 13 'prompt too long' --context 256 --prompt "$(printf 'word %.0s' {1..400})"
  count cloud fails 14 'cloud gone' --fault cloud-gone
  count version fails 15 'version mismatch' --fault version
  count nan fails 16 'NaN row' --fault nan
  count decode fails 17 'engine failure' --fault decode
}
for part in "${parts[@]}"; do
  echo "== $part"
  case $part in
    greedy) count greedy "$checks" greedy "$small" "$large" "$prompts" 128 ;;
    rows) count rows rows ;;
    kills) count kills "$checks" kills "$small" "$large" "$prompts" 48 ;;
    samplers) count samplers "$checks" samplers "$small" "$large" "$prompts" 48 ;;
    share) count share "$checks" share "$small" "$large" "$prompts" 64 ;;
    failures) failures ;;
    *) echo "unknown part: $part" >&2; exit 2 ;;
  esac
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
