#!/usr/bin/env bash
# ./run COMMAND --help and each script's --help print the usage, and build nothing.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in cmake ninja; do
  printf '#!/bin/sh\ntouch "%s/built"\nexit 1\n' "$work" >"$work/$tool"
  chmod +x "$work/$tool"
done
for arguments in rows "rows -n 5" "rows --engine=llama" demo "demo --engine=llama" lab engine models bench fuzz test; do
  read -r -a given <<<"$arguments"
  said=$(PATH=$work:$PATH bash run "${given[@]}" --help 2>&1 </dev/null)
  code=$?
  [ ! -e "$work/built" ] || { echo "./run $arguments --help builds"; exit 1; }
  [ "$code" = 0 ] && grep -qi usage <<<"$said" || { echo "./run $arguments --help ends with $code: $said"; exit 1; }
done
for script in scripts/*; do
  [ -f "$script" ] || continue
  said=$(PATH=$work:$PATH "$script" --help 2>&1 </dev/null)
  code=$?
  [ ! -e "$work/built" ] || { echo "$script --help builds"; exit 1; }
  [ "$code" = 0 ] && grep -q usage <<<"$said" || { echo "$script --help ends with $code: $said"; exit 1; }
done
