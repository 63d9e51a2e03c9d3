#!/usr/bin/env bash
# The C library as other projects use it. usage: tests/c/run.sh library|planted|levels
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
kind=$1
root=$PWD
work=${SPECVERIFY_BUILD_DIR:-build/c}/c/$kind
rm -rf "$work" && mkdir -p "$work" || exit 1
case $work in /*) ;; *) work=$root/$work ;; esac
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; return 1; }; }
fail() { echo "$*"; exit 1; }
cxx=${CXX:-g++}
case $cxx in *clang*) cc=clang ;; *) cc=gcc ;; esac
command -v "$cc" >/dev/null || { echo "$cc is not installed"; exit 77; }
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror)
build() { # flags of cmake...
  quietly cmake -G "${SPECVERIFY_GENERATOR:-Ninja}" -S . -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_COMPILER_LAUNCHER="${SPECVERIFY_CCACHE:-}" \
    -DSPECVERIFY_BUILD_C=ON -DSPECVERIFY_BUILD_TESTS=OFF -DSPECVERIFY_BUILD_EXAMPLES=OFF -DCMAKE_INSTALL_PREFIX="$work/prefix" "$@" &&
    quietly cmake --build "$work/build"
}
perl scripts/pages "$work/pages" >/dev/null || exit 1
c11() { quietly "$cc" -std=c11 "${warnings[@]}" -I"$work/pages" "$@"; }
cpp() { quietly "$cxx" "${warnings[@]}" "$@"; }

case $kind in
  library)
    # The baseline and its consumers under both sanitizers; but units that hold sessions under one: they would take twice
    # as long to compile, and tests/session has them under both.
    checked=(-g "-fsanitize=address,undefined" -fno-sanitize-recover=all)
    cat >"$work/compiler" <<TEXT
#!/bin/sh
case \$* in */src/c/edge.cpp* | */src/c/cloud.cpp*) undefined= ;; *) undefined="-fsanitize=undefined -fno-sanitize-recover=all" ;; esac
exec ${SPECVERIFY_CCACHE:-} "\$@" \$undefined
TEXT
    chmod +x "$work/compiler"
    build -DSPECVERIFY_C_EVERY_LEVEL=OFF -DCMAKE_CXX_FLAGS="-O0 -fsanitize=address" -DCMAKE_SHARED_LINKER_FLAGS=-fsanitize=undefined -DCMAKE_CXX_COMPILER_LAUNCHER="$work/compiler" && quietly cmake --install "$work/build" || exit 1
    so=$(echo "$work"/prefix/lib*/libspecverify_c.so) archive=$(echo "$work"/prefix/lib*/libspecverify_c.a)
    # What the shared library shows is what functions.def lists, all of one version, and what the headers declare.
    sed -nE 's/^SPECVERIFY_C_.*[( ](\w+)\)$/specverify_\1/p' src/c/functions.def | sort >"$work/listed"
    nm -D --defined-only "$so" | awk '$2 != "A" { print $3 }' | sort >"$work/shown"
    diff <(sed 's/$/@@SPECVERIFY_0.1/' "$work/listed") "$work/shown" || fail "the symbols are not those of src/c/functions.def"
    cat include/specverify_c*.h | tr '\n' ' ' | grep -oE 'SPECVERIFY_API [^;(]*\(' | grep -oE 'specverify_\w+ *\($' | tr -d ' (' | sort -u |
      diff "$work/listed" - || fail "the headers declare other functions than src/c/functions.def lists"
    readelf -d "$so" | grep -q 'SONAME.*\[libspecverify_c\.so\.0\.1\]' || fail "another SONAME"
    # The flags of cmake/hardening.cmake; without optimisation there is no _FORTIFY_SOURCE.
    readelf -dW "$so" | grep 'FLAGS_1.*NOW' >/dev/null || fail "the library binds symbols late (no -z now)"
    readelf -lW "$so" | grep GNU_RELRO >/dev/null || fail "relocations stay writable (no -z relro)"
    readelf --dyn-syms -W "$so" | grep __stack_chk_fail >/dev/null || fail "no stack protector"
    [ "$(uname -m)" != x86_64 ] || readelf -nW "$archive" | grep 'IBT, SHSTK' >/dev/null || fail "no checked jumps (-fcf-protection)"
    # C11 and C++17 by pkg-config and by CMake.
    PKG_CONFIG_PATH=$(dirname "$so")/pkgconfig
    export PKG_CONFIG_PATH
    read -r -a linked <<<"$(pkg-config --cflags --libs specverify_c) -Wl,-rpath,$(dirname "$so")"
    for name in sessions core; do
      c11 "${checked[@]}" "tests/c/$name.c" -o "$work/$name" "${linked[@]}" && "$work/$name" || exit 1
    done
    cpp -std=c++17 -fno-exceptions -fno-rtti "${checked[@]}" tests/c/host_17.cpp -o "$work/host_17" "${linked[@]}" -pthread && "$work/host_17" || exit 1
    quietly cmake -G "${SPECVERIFY_GENERATOR:-Ninja}" -S tests/c/package -B "$work/package" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
      -DCMAKE_C_FLAGS="${checked[*]}" -DCMAKE_CXX_FLAGS="${checked[*]}" -DCMAKE_PREFIX_PATH="$work/prefix" -DEXAMPLES="$PWD/examples/c" &&
      quietly cmake --build "$work/package" || exit 1
    # One program has both, and no byte of a session comes from elsewhere than its hooks.
    cpp -std=c++20 -O0 -fsanitize=address -Iinclude -c tests/c/same.cpp -o "$work/same.o" && cpp "${checked[@]}" "$work/same.o" -o "$work/same" "$archive" && "$work/same" || exit 1
    cpp -std=c++17 "${checked[@]}" -Iinclude tests/c/heap.cpp -o "$work/heap" "$archive" && "$work/heap" || exit 1
    # A session in Python and one in C++, each way; the library asks for the run-time library of its sanitizers.
    [ "$cc" = gcc ] && preload=$(gcc -print-file-name=libasan.so) || preload=$("$cc" -print-file-name="libclang_rt.asan-$(uname -m).so")
    python=$(LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 SPECVERIFY_C_LIBRARY=$so SPECVERIFY_C_PEER=$work/same SPECVERIFY_PAGES=$work/pages python3 tests/c/bindings_test.py) ||
      fail "from Python: $python"
    # It is found where the folders of an install are others, and not all below the prefix.
    quietly cmake -S . -B "$work/build" -DCMAKE_INSTALL_PREFIX="$work/moved" -DCMAKE_INSTALL_LIBDIR="$work/apart/lib" -DCMAKE_INSTALL_INCLUDEDIR=headers/c &&
      quietly cmake --build "$work/build" && quietly cmake --install "$work/build" || exit 1
    read -r -a found <<<"$(PKG_CONFIG_PATH=$work/apart/lib/pkgconfig pkg-config --cflags --libs specverify_c)"
    [ "${found[*]}" = "-I$work/moved/headers/c -L$work/apart/lib -lspecverify_c" ] || fail "pkg-config says ${found[*]}"
    quietly cmake -G "${SPECVERIFY_GENERATOR:-Ninja}" -S tests/c/package -B "$work/package_moved" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
      -DCMAKE_C_FLAGS="${checked[*]}" -DCMAKE_PREFIX_PATH="$work/moved" -DEXAMPLES="$PWD/examples/c" &&
      quietly cmake --build "$work/package_moved" --target session_c && "$work/package_moved/session_c" >"$work/log" || exit 1
    # The same text in four languages.
    cpp -std=c++20 -O0 -Iinclude examples/c/session_20.cpp -o "$work/session_20" -pthread || exit 1
    text=$("$work/session_20") || fail "session_20: exit code $?"
    for name in session_c session_c_static session_17; do
      [ "$("$work/package/$name")" = "$text" ] || fail "$name writes another text"
    done
    [ "$(tail -n 1 <<<"$python")" = "$text" ] || fail "Python writes another text"
    for file in examples/c/session*.c*; do
      [ "$(grep -cvE '^\s*$|^\s*//|^#include' "$file")" -le 40 ] || fail "$file has more than 40 lines"
    done
    echo "$(wc -l <"$work/listed") functions; $(wc -w <<<"$text") tokens in four languages"
    ;;
  planted)
    # Seven bugs at once, each seen by a check of its own. They take a build of their own: in the long run only.
    cp -r CMakeLists.txt LICENSE cmake include src adapters "$work" || exit 1
    plant() { # file, old, new: the old text stands in the file once
      [ "$(grep -cF -- "$2" "$work/$1")" -eq 1 ] || fail "$1 does not hold once: $2"
      perl -pi -e 'BEGIN { $old = shift; $new = shift } s/\Q$old\E/$new/' "$2" "$3" "$work/$1"
    }
    plant include/specverify/session/detail/cloud_views.hpp 'owned_memory<double> scores_' 'std::vector<double> scores_'
    plant src/c/convert.hpp 'if (bytes[i] != 0) return' 'if (bytes[i] > 1) return'
    plant src/c/convert.hpp 'size % alignof(Struct) == 0' 'true'
    plant src/c/convert.hpp 'made.abi = 0;' ';'
    plant src/c/hosts.hpp 'if (given_for_ == index) return;' 'if (given_for_ == index + 1) return;'
    plant src/c/hosts.hpp 'if (failed_.ok()) failed_ = why;' ''
    plant src/c/sessions.hpp 'given.deallocate(given.self, space,' '(void)(space,'
    quietly cmake -G "${SPECVERIFY_GENERATOR:-Ninja}" -S "$work" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS=-O0 -DSPECVERIFY_BUILD_C=ON \
      -DSPECVERIFY_C_EVERY_LEVEL=OFF -DSPECVERIFY_BUILD_TESTS=OFF -DSPECVERIFY_BUILD_EXAMPLES=OFF && quietly cmake --build "$work/build" --target specverify_c_static || exit 1
    c11 -Iinclude tests/c/sessions.c -o "$work/sessions" "$work/build/libspecverify_c.a" -lstdc++ -lm || exit 1
    cpp -std=c++17 -Iinclude tests/c/heap.cpp -o "$work/heap" "$work/build/libspecverify_c.a" || exit 1
    { "$work/sessions" && fail "sessions sees nothing"; "$work/heap" && fail "heap sees nothing"; } >"$work/seen"
    for check in 'heap_calls == made && (made == 0) == hooked' 'memory.live == 0' '(why).code == specverify_errc_unknown_option' '(cut).code == specverify_errc_struct_size_wrong' 'small.extras_asked == small.rows_asked' '(specverify_edge_create(&device, &system, ((void *)0), &edge)).code == specverify_errc_abi_mismatch' 'why.part == 13 && why.code == (is_code ? said : specverify_errc_engine_failed)'; do
      grep -qF "not $check" "$work/seen" || fail "nothing but this was seen: $(head -n 20 "$work/seen")"
    done
    echo "seven bugs, seven checks"
    ;;
  levels)
    # One binary for every x86-64. Four levels take minutes: in the long run only.
    [ "$(uname -m)" = x86_64 ] || { echo "x86-64 only"; exit 77; }
    command -v qemu-x86_64 >/dev/null || { echo "qemu-user is not installed"; exit 77; }
    build -DCMAKE_CXX_FLAGS=-O1 || exit 1
    for level in avx2 avx512 avx512_ifma; do
      [ "$(nm --defined-only "$work/build/specverify_c_levels_$level.o" | awk '$2 ~ /[A-Zuvw]/ && $2 != "N" { print $3 }')" = "specverify_c_levels_$level" ] ||
        fail "the level $level defines more than its table"
    done
    c11 -Iinclude tests/c/sessions.c -o "$work/sessions" "$work/build/libspecverify_c.a" -lstdc++ -lm && "$work/sessions" || exit 1
    c11 -Iinclude examples/c/session.c -o "$work/session" "$work/build/libspecverify_c.a" -lstdc++ -lm || exit 1
    text=$("$work/session") || fail "natively: exit code $?"
    for processor in qemu64 Nehalem max; do
      [ "$(qemu-x86_64 -cpu "$processor" "$work/session")" = "$text" ] || fail "another text on $processor"
      qemu-x86_64 -cpu "$processor" "$work/sessions" || exit 1
    done
    ;;
  *) exit 2 ;;
esac
