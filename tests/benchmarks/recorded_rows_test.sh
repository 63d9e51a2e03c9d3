#!/usr/bin/env bash
# benchmarks/goals/npy.hpp reads float32 rows of NumPy's format, versions 1 and 2, and refuses what is no such file.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/read.cpp" <<'CPP'
#include "benchmarks/goals/npy.hpp"

#include <cstdio>

int main(int, char** arguments) {
  try {
    for (const auto& file : bench_goals::npy_files(arguments[1])) {
      const bench_goals::recorded_rows rows = bench_goals::read_npy(file);
      std::printf("%s %u", rows.name.c_str(), rows.vocab_size);
      for (const float value : rows.values) std::printf(" %g", static_cast<double>(value));
      std::printf("\n");
    }
  } catch (const std::exception& error) {
    std::printf("refused%s\n", std::strrchr(error.what(), ':'));
  }
}
CPP
${CXX:-g++} -std=c++20 -O0 -I. "$work/read.cpp" -o "$work/read" || exit 1
mkdir "$work/rows"
python3 - "$work" <<'PYTHON' || exit 1
import pathlib, struct, sys
work = pathlib.Path(sys.argv[1])
def npy(version, text, values, magic=b"\x93NUMPY"):
    text = text.ljust(300 if version == 2 else 54).encode() + b"\n"
    size = struct.pack("<I" if version == 2 else "<H", len(text))
    return magic + bytes([version, 0]) + size + text + struct.pack(f"<{len(values)}f", *values)
shape = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }"
six = [0, 1.5, -2, 3, 4, float("-inf")]
(work / "rows/a.npy").write_bytes(npy(1, shape % "(1, 2, 3)", six))
(work / "rows/b.npy").write_bytes(npy(2, shape % "(6,)", six))
(work / "rows/c.txt").write_text("no rows")
(work / "short.npy").write_bytes(npy(1, shape % "(3, 3)", six))
(work / "double.npy").write_bytes(npy(1, shape.replace("<f4", "<f8") % "(1, 3)", six))
(work / "columns.npy").write_bytes(npy(1, shape.replace("False", "True") % "(2, 3)", six))
(work / "other.npy").write_bytes(npy(1, shape % "(6,)", six, b"\x93NUMPI"))
(work / "none.npy").write_bytes(npy(1, shape % "(0, 3)", []))
PYTHON
code=0
expect() { # path, text
  local found
  found=$("$work/read" "$work/$1")
  [ "$found" = "$2" ] || { echo "$1: \"$found\", expected \"$2\""; code=1; }
}
expect rows $'a 3 0 1.5 -2 3 4 -inf\nb 6 0 1.5 -2 3 4 -inf'
expect rows/b.npy 'b 6 0 1.5 -2 3 4 -inf'
expect short.npy 'refused: shorter than its header says'
expect none.npy 'refused: shorter than its header says'
expect double.npy 'refused: not float32 in rows'
expect columns.npy 'refused: not float32 in rows'
expect other.npy 'refused: no .npy file'
expect absent.npy 'refused: no .npy file'
[ "$code" -eq 0 ] && echo "recorded rows: ok"
exit "$code"
