#!/usr/bin/env bash
# Each header of adapters/ alone and the examples on them, by both compilers, and apps/llama by one, against the stand-ins
# in shim/. Only `./run engine --test` has the real llama.cpp.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
flags=(-std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Wsign-conversion -Werror
  -DSPECVERIFY_WITH_XSIMD=0 -Iinclude -Iadapters)
shim=(-isystem tests/adapters/shim)
failed=0
for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || { echo "$compiler is not installed"; continue; }
  for header in adapters/llama_cpp/*.hpp; do
    echo "#include <${header#adapters/}>" | "$compiler" "${flags[@]}" "${shim[@]}" -x c++ - || { echo "$header: $compiler"; failed=1; }
  done
  for example in examples/llama/*.cpp; do
    "$compiler" "${flags[@]}" "${shim[@]}" "$example" || { echo "$example: $compiler"; failed=1; }
  done
done
compiler=g++
command -v clang++ >/dev/null && compiler=clang++ # it takes half the time
programs=(apps/llama/*.cpp)
leave_out() { # HEADER PROGRAM...: what needs a header that is not installed
  local header=$1 program
  echo "#include <$header>" | "$compiler" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null && return
  for program in "${@:2}"; do
    echo "apps/llama/$program is left out: it needs $header"
    mapfile -t programs < <(printf '%s\n' "${programs[@]}" | grep -vx "apps/llama/$program")
  done
}
leave_out CLI/CLI.hpp main.cpp record.cpp uplink.cpp
leave_out nlohmann/json.hpp record.cpp tested.cpp
# Together, which takes a third of the time; those that cannot be wrapped in a namespace have one of their own.
mapfile -t wrapped < <(perl scripts/one_unit --fits "${programs[@]}")
{
  perl scripts/one_unit "${wrapped[@]}"
  printf '%s\n' "${programs[@]}" | grep -vxFf <(printf '%s\n' "${wrapped[@]}") | sed 's/.*/#include "&"/'
} | "$compiler" "${flags[@]}" -I. -Iapps -isystem tests/adapters/shim/programs "${shim[@]}" -x c++ - || { echo "apps/llama: $compiler"; failed=1; }
exit "$failed"
