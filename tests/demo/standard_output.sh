#!/usr/bin/env bash
# What a program printed and could not write makes it fail with a line, and nothing that it opens takes the place of a closed output.
# usage: tests/demo/standard_output.sh EDGE_CLOUD
set -uo pipefail
program=${1:-${SPECVERIFY_BUILD_DIR:-build/gcc}/apps/edge_cloud/edge_cloud}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
code=0
# fails WHAT: the last command ended with 1, and said why.
fails() {
  local ended=$?
  [ "$ended" -eq 1 ] && grep -q 'edge_cloud: the standard output took not all' "$work/said" && return
  echo "$1: exit code $ended, and it said: $(cat "$work/said")"
  code=1
}
"$program" trace >/dev/full 2>"$work/said"
fails "a full disk"
"$program" trace >&- 2>"$work/said"
fails "a closed output"
"$program" --help >/dev/full 2>"$work/said"
fails "help on a full disk"
# The trace file that it reads is the first one to be opened: it must not become the output.
"$program" trace >"$work/trace" && cp "$work/trace" "$work/before"
"$program" demo --systems nothing --channel-trace "$work/trace" >&- 2>"$work/said" && echo "an unknown system ends with 0" && code=1
cmp "$work/trace" "$work/before" || code=1
exit $code
