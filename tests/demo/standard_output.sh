#!/usr/bin/env bash
# What a program printed and could not write makes it fail with a line, and nothing that it opens takes the place of a closed output.
# usage: tests/demo/standard_output.sh EDGE_CLOUD [PROGRAM...]      (of each PROGRAM, --help)
set -uo pipefail
program=${1:-${SPECVERIFY_BUILD_DIR:-build/gcc}/apps/edge_cloud/edge_cloud}
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
code=0
# fails WHAT: the last command ended with 1, and said why.
fails() {
  local ended=$?
  [ "$ended" -eq 1 ] && grep -q 'the standard output could not be written' "$work/said" && return
  echo "$1: exit code $ended, and it said: $(cat "$work/said")"
  code=1
}
# both WHAT COMMAND...: it fails on a full disk, and with a closed output.
both() {
  local what=$1
  shift
  "$@" >/dev/full 2>"$work/said" </dev/null
  fails "$what, a full disk"
  "$@" >&- 2>"$work/said" </dev/null
  fails "$what, a closed output"
}
both trace "$program" trace
both help "$program" --help
for part in demo edge cloud link trace; do both "help of $part" "$program" "$part" --help; done
for other in "${@:2}"; do both "${other##*/}" "$other" --help; done

# The text of a device; not every build has the server.
if "$program" serve --help >/dev/null 2>&1; then
  key=$(printf '05%.0s' {1..32})
  (umask 077 && echo "5 $key" >"$work/devices" && echo "$key" >"$work/key")
  "$program" serve --end-with-parent --port 0 --state-dir "$work/server" --devices "$work/devices" >"$work/log" 2>&1 &
  server=$!
  for ((i = 0; i < 600; ++i)); do
    [ ! -s "$work/server/port" ] || break
    sleep 0.1
  done
  device=("$program" device --connect "127.0.0.1:$(cat "$work/server/port")" --device-id 5 --device-key-file "$work/key" --tokens 4)
  "${device[@]}" --state-dir "$work/whole" >"$work/text" 2>"$work/said" || { cat "$work/said" "$work/log"; code=1; }
  [ -s "$work/text" ] || { echo "a device prints no text"; code=1; }
  "${device[@]}" --state-dir "$work/full" >/dev/full 2>"$work/said"
  fails "device, a full disk"
  "${device[@]}" --state-dir "$work/closed" >&- 2>"$work/said"
  fails "device, a closed output"
fi

# The trace file that it reads is the first one to be opened: it must not become the output.
"$program" trace >"$work/trace" && cp "$work/trace" "$work/before"
"$program" demo --systems nothing --channel-trace "$work/trace" >&- 2>"$work/said" && echo "an unknown system ends with 0" && code=1
cmp "$work/trace" "$work/before" || code=1
exit $code
