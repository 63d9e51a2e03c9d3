#!/usr/bin/env bash
# clang-format 14 agrees with every source file, and with every program and header in a page. Skipped if that version is not
# installed. `format.sh --fix [FILE...]` rewrites files; it leaves pages to you.
# Version 14 breaks compound requirements (`{ x } noexcept -> concept`); those lines are left to the eye.
cd "$(dirname "$0")/../.." || exit 1
tool=$(command -v clang-format-14 || command -v clang-format) || { echo "clang-format 14 is not installed"; exit 77; }
"$tool" --version | grep -q 'version 14\.' || { echo "clang-format is not version 14"; exit 77; }
if [ $# -gt 1 ]; then
  files=("${@:2}")
else
  mapfile -t files < <(find include src tests examples apps models benchmarks adapters \( -name '*.[ch]pp' -o -name '*.[ch]' \) -not -path 'tests/device/shim/*' -not -path '*/.venv/*' | sort)
fi
if [ "${1:-}" = --fix ]; then
  "$tool" -i "${files[@]}" && perl -0pi -e 's/\}\n\s*noexcept->/} noexcept -> /g' "${files[@]}"
  exit
fi
if [ $# -eq 0 ]; then
  blocks=$(mktemp -d)
  trap 'rm -rf "$blocks"' EXIT
  perl scripts/pages "$blocks" >/dev/null && cp .clang-format "$blocks" || exit 1
  mapfile -t -O "${#files[@]}" files < <(find "$blocks" -name '*.[ch]pp')
fi
output=$(printf '%s\n' "${files[@]}" | xargs "$tool" --dry-run 2>&1 |
  grep -A1 'should be clang-formatted' | perl -ne '
    if (/^(\S+): warning/) { $at = $1 } elsif ($at && !/noexcept ->/) { print "$at\n"; $at = "" } else { $at = "" }' | perl -pe '
    my ($file, $line) = /^(\S+?):(\d+):/ or next;
    open my $in, "<", $file or next;
    if (scalar(<$in>) =~ /^#line (\d+) "(.*)"/) { my $at = "$2:" . ($1 + $line - 2); s/^\S+/$at/ }')
[ -z "$output" ] && echo "${#files[@]} checked" && exit 0
echo "$output" | head -n 60
echo "scripts/lint/format.sh --fix [FILE...] rewrites them"
exit 1
