#!/usr/bin/env bash
# Each header of cuda/, and what it shares with device/, compiles alone and twice, as C++17, with the CUDA header of the simulator: no nvcc is needed.
# Without that header a compiler for C++ says once that nvcc is needed, and stops.
set -uo pipefail
command -v g++ >/dev/null || { echo "g++ is not installed"; exit 77; }
flags=(-std=c++17 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Wsign-conversion -Werror -Iinclude -Itests
  -Itests/device/shim)
failed=0
while IFS= read -r header; do
  printf '#include <%s>\n#include <%s>\nint main() {}\n' "$header" "$header" | g++ "${flags[@]}" -x c++ - ||
    { echo "$header does not stand alone as C++17"; failed=1; }
done < <(cd include && { find specverify/cuda -name '*.cuh'; ls specverify/device/{batch,results,rounds}.hpp; } | sort)
while IFS= read -r header; do
  said=$(printf '#include <%s>\n' "$header" | LC_ALL=C g++ -std=c++17 -fsyntax-only -Iinclude -x c++ - 2>&1)
  [ "$(grep -c 'error:' <<<"$said")" = 2 ] && grep -q 'compile this file with nvcc' <<<"$said" ||
    { head -n 10 <<<"$said"; echo "$header without nvcc: not one plain answer"; failed=1; }
done < <(cd include && find specverify/cuda -name '*.cuh' ! -name tuning.cuh | sort)
exit "$failed"
