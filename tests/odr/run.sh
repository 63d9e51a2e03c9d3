#!/usr/bin/env bash
# Two objects of one program, one for x86-64-v3 and one for the baseline, in both link orders, on a processor without AVX.
# usage: tests/odr/run.sh objects|names|planted
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
kind=$1
[ "$(uname -m)" = x86_64 ] || { echo "x86-64 only"; exit 77; }
command -v qemu-x86_64 >/dev/null || { echo "qemu-user is not installed"; exit 77; }
work=${SPECVERIFY_BUILD_DIR:-build/odr}/odr/$kind
rm -rf "$work" && mkdir -p "$work" || exit 1
object() { # name, flags and source...
  "${CXX:-g++}" -std=c++20 -Iinclude "${@:2}" -c -o "$work/$1.o" || exit 1
}
build() { # optimisation, source of the two objects
  object baseline "$@" -march=x86-64 -DOBJECT_NAME=baseline_object
  object v3 "$@" -march=x86-64-v3 -DOBJECT_NAME=v3_object
  object main -O1 tests/odr/main.cpp
}
old_processor() { qemu-x86_64 -cpu Nehalem "$@"; }

case $kind in
  objects)
    # No function of the library may be one body for both objects, and both link orders run on the old processor; at -O0
    # they are not run: unoptimised, what the objects share is the standard library's. SPECVERIFY_LONG=1: -O1 and -O3, too.
    levels=(-O0 -O2)
    [ "${SPECVERIFY_LONG:-0}" = 1 ] && levels=(-O0 -O1 -O2 -O3)
    for level in "${levels[@]}"; do
      build "$level" tests/odr/object.cpp
      for name in baseline v3; do
        nm --defined-only "$work/$name.o" | awk '$2 ~ /[TWi]/ { print $3 }' | grep -E '^_ZN[KVROr]*10specverify' | sort -u >"$work/$name.symbols"
      done
      shared=$(comm -12 "$work/baseline.symbols" "$work/v3.symbols" | c++filt)
      echo "$level: $(wc -l <"$work/baseline.symbols") functions of the library in the object"
      [ -z "$shared" ] || { echo "shared by both objects:"; echo "$shared"; exit 1; }
      [ "$level" = -O0 ] && continue
      for order in "baseline v3" "v3 baseline"; do
        "${CXX:-g++}" "$work/main.o" "$work/${order% *}.o" "$work/${order#* }.o" -o "$work/program" || exit 1
        old_processor "$work/program" || { echo "$level, $order: exit code $? on a processor without AVX"; exit 1; }
      done
    done
    ;;
  names)
    # Every set of flags that changes the generated instructions or the arithmetic has a namespace of its own.
    sets=("-march=x86-64 -DSPECVERIFY_WITH_XSIMD=1" -msse3 -mssse3 -msse4.1 -msse4.2 -mavx "-mavx -mfma" -mavx2 "-mavx2 -mfma" -mavx512f "-mavx512f -mavx512dq" "-mavx512f -mavx512bw"
      -march=skylake-avx512 -march=icelake-server -ffinite-math-only -ffast-math "-DSPECVERIFY_ALLOCATOR=own -DSPECVERIFY_ALLOCATOR_NAME=host"
      "-include src/c/memory.hpp" -DSPECVERIFY_WITH_XSIMD=0 "-DSPECVERIFY_WITH_XSIMD=0 -DSPECVERIFY_WITH_VECTORS=0")
    for flags in "${sets[@]}"; do
      # shellcheck disable=SC2086
      printf '#include <specverify/config.hpp>\nSPECVERIFY_NAMESPACE_BEGIN\n' | "${CXX:-g++}" -std=c++20 -Iinclude $flags -E -x c++ - | grep -o 'isa_[a-z0-9_]*' || exit 1
    done | sort >"$work/names"
    twice=$(uniq -d "$work/names")
    [ "$(wc -l <"$work/names")" -eq "${#sets[@]}" ] || { echo "some flags gave no name"; exit 1; }
    [ -z "$twice" ] || { echo "shared by different flags: $twice"; exit 1; }
    # Allocators that have no name would share one.
    "${CXX:-g++}" -std=c++20 -Iinclude -DSPECVERIFY_ALLOCATOR=own -E -x c++ include/specverify/config.hpp >"$work/log" 2>&1 && { echo "an allocator without a name is taken"; exit 1; }
    grep -q 'SPECVERIFY_ALLOCATOR_NAME' "$work/log" || { cat "$work/log"; exit 1; }
    echo "${#sets[@]} sets of flags, as many names"
    ;;
  planted)
    # An inline function outside the library's namespace must kill the program when the v3 object comes first: the test can see.
    build -O2 tests/odr/planted.cpp
    "${CXX:-g++}" "$work/main.o" "$work/baseline.o" "$work/v3.o" -o "$work/harmless" || exit 1
    old_processor "$work/harmless" || { echo "the program does not even run with the baseline object first"; exit 1; }
    "${CXX:-g++}" "$work/main.o" "$work/v3.o" "$work/baseline.o" -o "$work/program" || exit 1
    (ulimit -c 0; old_processor "$work/program") >"$work/log" 2>&1
    code=$?
    [ "$code" -eq 132 ] || { cat "$work/log"; echo "exit code $code, expected an illegal instruction (132)"; exit 1; }
    echo "the planted function died of an illegal instruction, as it must"
    ;;
  *) exit 2 ;;
esac
