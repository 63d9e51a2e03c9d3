#!/usr/bin/env bash
# stop_strings.sh EDGE_CLOUD: the demo's --stop-string. What is shown and reported ends before the string, in two processes as in one; each
# string is taken as it is written; one that is empty is refused.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $1"; cat "$folder/log"; exit 1; }
run() { # OUT OPTION...: as two texts, of which the first is drafted
  "$program" demo --salt 1 --pace none --systems k-sqs,target --prompt "And the LORD spake" --tokens 32 --out "$folder/$1" "${@:2}" >"$folder/log" 2>&1
}
compare() { # WHOLE CUT STRING SYSTEM: CUT is WHOLE before STRING
  python3 - "$folder/$1/$4.json" "$folder/$2/$4.json" "$3" <<'PYTHON' || fail "$4 before '$3'"
import json, sys
whole, cut = (json.load(open(name)) for name in sys.argv[1:3])
at = whole["text"].find(sys.argv[3])
expected = whole["text"] if at < 0 else whole["text"][:at]
assert cut["text"] == expected, (cut["text"], expected)
assert cut["tokens"] == whole["tokens"][:len(cut["tokens"])]
assert (len(cut["tokens"]) < len(whole["tokens"])) == (at >= 0)
PYTHON
}

run whole || fail "the demo failed"
read -r string < <(python3 -c 'import json, sys; text = json.load(open(sys.argv[1]))["text"]; print(text[len(text) // 2:].split()[0][:3])' "$folder/whole/k-sqs.json")
run cut --stop-string "$string" --stop-string "no text has this" || fail "the demo failed with a stop string"
[ "$(grep -c 'the same text as within one process: yes' "$folder/log")" -eq 2 ] || fail "a text differs from the in-process run"
compare whole cut "$string" k-sqs
compare whole cut "$string" target
for string in '[e]' '{}' -e; do
  run "as-written$string" --stop-string="$string" || fail "the demo failed with '$string'"
  compare whole "as-written$string" "$string" k-sqs
done
run empty --stop-string '' && fail "an empty stop string was taken"
grep -q 'a stop string must have at least one byte' "$folder/log" || fail "an empty stop string is not named"
echo "stop_strings: all checks passed"
