#!/usr/bin/env bash
# scripts/progress is never silent for longer than it was told, and shows what it is given.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
said=$({ echo '[1/9] a' && sleep 2.5 && echo '[2/9] b' && echo 'error' && exit 3; } | perl scripts/progress 1)
code=$?
wanted='    built 1 of 9
    still at work at 1 of 9, 1 s after the last line
    still at work at 1 of 9, 2 s after the last line
    built 2 of 9
error'
[ "$code" = 3 ] && [ "$said" = "$wanted" ] || { echo "exit code $code: $said"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
said=$(printf '7: measured: 43 files\n7: other\n1/1 Test #7: traced_round ...... Passed 0.10 sec\n' | perl scripts/progress "$work/log" "$work/result")
[ "$(grep -c 'measured: 43 files' <<<"$said")" = 1 ] && ! grep -q other <<<"$said" || { echo "measured: $said"; exit 1; }
