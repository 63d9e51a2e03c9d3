#!/usr/bin/env bash
# The hash of one_hash.cpp from builds that no leg has. SPECVERIFY_LONG=1: both compilers at more levels. With the planted bug
# it must be another one.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
work=${SPECVERIFY_BUILD_DIR:-build}/one_hash
rm -rf "$work" && mkdir -p "$work" || exit 1
builds=("g++ -O0 -fsanitize=thread" "g++ -O0 -DSPECVERIFY_WITH_XSIMD=0 -DSPECVERIFY_WITH_VECTORS=0" "clang++ -O3 -ffast-math -march=native")
if [ "${SPECVERIFY_LONG:-0}" = 1 ]; then
  for compiler in g++ clang++; do
    for flags in -O0 -O2 "-O2 -march=native -ffp-contract=fast" "-O3 -DSPECVERIFY_WITH_XSIMD=0" "-O3 -ffast-math -march=native"; do
      builds+=("$compiler $flags")
    done
  done
fi
hash_of() { # headers, program, compiler and flags: leaves what it said and its exit code
  local command
  read -r -a command <<<"$3"
  "${command[@]}" -std=c++20 -I"$1" -pthread tests/outputs/one_hash.cpp -o "$work/$2" >"$work/$2.said" 2>&1 && "$work/$2" >"$work/$2.said" 2>&1
  echo $? >"$work/$2.code"
}
for i in "${!builds[@]}"; do
  command -v "${builds[i]%% *}" >/dev/null || { echo "${builds[i]}: not here"; continue; }
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do sleep 0.1; done
  hash_of include "$i" "${builds[i]}" &
  names+=("$i")
done
wait
failed=0
for i in "${names[@]}"; do
  echo "${builds[i]}: $(tail -n 1 "$work/$i.said")"
  [ "$(cat "$work/$i.code")" = 0 ] || { failed=1; head -n 20 "$work/$i.said"; }
done
if [ "${SPECVERIFY_LONG:-0}" = 1 ]; then  # the command of docs/terms.md
  perl scripts/pages "$work/pages" >/dev/null && mkdir "$work/clone" && ln -s "$PWD"/{include,tests} "$work/clone/" || exit 1
  (cd "$work/clone" && sh ../pages/one_hash.sh) || failed=1
fi
command -v clang++ >/dev/null || exit "$failed"
cp -r include "$work/planted_include" && bash scripts/twins plant - "$work/planted_include/specverify/kernel/simd/log_sum_exp.hpp" <<'END' || exit 1
--- old
in_register(double_bits(bits + integer(std::int64_t{4096})) - wide(round_to_integer + 4096.0));
--- new
double_bits(bits + integer(std::int64_t{4096})) - wide(round_to_integer + 4096.0);
END
hash_of "$work/planted_include" planted "clang++ -O1 -ffast-math"
said=$(tail -n 1 "$work/planted.said")
[[ $(cat "$work/planted.code") == 1 && $said == "one hash: "*", expected "* ]] || { cat "$work/planted.said"; echo "the planted bug was not seen"; exit 1; }
echo "planted: $said"
exit "$failed"
