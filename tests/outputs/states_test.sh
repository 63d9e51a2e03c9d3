#!/usr/bin/env bash
# The same states, windows and calibrations from builds that fuse products with sums and from builds that do not.
# Equal keys would else give other texts from build to build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
[ "$(uname -m)" = x86_64 ] || { echo "x86-64 only"; exit 77; }
grep -qw fma /proc/cpuinfo || { echo "this processor has no FMA"; exit 77; }
work=${SPECVERIFY_BUILD_DIR:-build}/outputs
mkdir -p "$work" || exit 1
said_by() { # name, compiler, flags...
  "$2" -std=gnu++20 -Iinclude "${@:3}" tests/outputs/state_outputs.cpp -o "$work/$1" && "$work/$1" >"$work/$1.said"
}
said_by states-plain g++ -O1 -march=x86-64 -ffp-contract=off || exit 1
failed=0
while read -r name compiler flags; do
  command -v "$compiler" >/dev/null || { echo "$name: no $compiler here"; continue; }
  read -r -a flags <<<"$flags"
  said_by "states-$name" "$compiler" "${flags[@]}" || { failed=1; continue; }
  while IFS=: read -r what hash; do
    if [ "$what" = fused ]; then
      grep -qx "$what:$hash" "$work/states-plain.said" && { echo "$name: fuses nothing, and shows nothing"; failed=1; }
    elif ! grep -qx "$what:$hash" "$work/states-plain.said"; then
      echo "$name: other numbers than without FMA: $what"
      failed=1
    fi
  done <"$work/states-$name.said"
  echo "$name: $(wc -l <"$work/states-$name.said") lines compared"
done <<'END'
fma g++ -O2 -march=x86-64-v3
fma-vectors g++ -O3 -march=x86-64-v3
fma-clang clang++ -O2 -march=x86-64-v3 -ffp-contract=fast
END
exit "$failed"
