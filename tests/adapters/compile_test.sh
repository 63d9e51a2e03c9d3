#!/usr/bin/env bash
# Each header of adapters/ alone and the examples on them, by both compilers, against the stand-ins in shim/.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
flags=(-std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Wsign-conversion -Werror
  -DSPECVERIFY_WITH_XSIMD=0 -Iinclude -Iadapters -isystem tests/adapters/shim)
failed=0
for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || { echo "$compiler is not installed"; continue; }
  for header in adapters/llama_cpp/*.hpp; do
    echo "#include <${header#adapters/}>" | "$compiler" "${flags[@]}" -x c++ - || { echo "$header: $compiler"; failed=1; }
  done
  for example in examples/llama/*.cpp; do
    "$compiler" "${flags[@]}" "$example" || { echo "$example: $compiler"; failed=1; }
  done
done
exit "$failed"
