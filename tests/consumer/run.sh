#!/usr/bin/env bash
# Uses the library as other projects do. usage: tests/consumer/run.sh add_subdirectory|find_package|wrong_version|pkg_config|verify_only|levels|cuda|device
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
kind=$1
root=$PWD
work=${SPECVERIFY_BUILD_DIR:-build/consumer}/consumer/$kind
rm -rf "$work" && mkdir -p "$work" || exit 1
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; return 1; }; }
configure() { quietly cmake -G "${SPECVERIFY_GENERATOR:-Ninja}" -S "$1" -B "$work/build" -DCMAKE_CXX_COMPILER="${CXX:-g++}" "${@:2}"; }
case $work in /*) root= ;; *) root=$root/ ;; esac
prefix=$root$work/prefix pages=$root$work/pages
perl scripts/pages "$pages" >/dev/null || exit 1
install() {
  quietly cmake -G "${SPECVERIFY_GENERATOR:-Ninja}" -S . -B "$work/library" -DCMAKE_CXX_COMPILER="${CXX:-g++}" -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DSPECVERIFY_BUILD_TESTS=OFF -DSPECVERIFY_BUILD_EXAMPLES=OFF && quietly cmake --install "$work/library" || return 1
  # Every header of the tree is in the prefix, and the other way round.
  diff <({ (cd include && find . -type f); (cd adapters && find . -name '*.hpp'); } | sort) <(cd "$prefix/include" && find . -type f | sort)
}
case $kind in
  add_subdirectory)
    configure tests/consumer/subdirectory && quietly cmake --build "$work/build" && "$work/build/host"
    ;;
  find_package)
    install && configure tests/consumer/package -DCMAKE_PREFIX_PATH="$prefix" -DWANTED=0.1 -DPAGES="$pages" && quietly cmake --build "$work/build" &&
      "$work/build/host" && "$work/build/engine" && "$work/build/plain_host"
    ;;
  wrong_version)
    install || exit 1
    if cmake -G Ninja -S tests/consumer/package -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED=99.0 >"$work/log" 2>&1; then
      echo "version 99.0 was found"
      exit 1
    fi
    grep -q 'compatible with requested version' "$work/log" || { tail -n 20 "$work/log"; exit 1; }
    ;;
  pkg_config)
    command -v pkg-config >/dev/null || { echo "pkg-config is not installed"; exit 77; }
    install || exit 1
    export PKG_CONFIG_PATH=$prefix/share/pkgconfig
    read -r -a flags <<<"$(pkg-config --cflags specverify)"
    [ "$(pkg-config --modversion specverify)" = "$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)" ] || { echo "version differs"; exit 1; }
    quietly "${CXX:-g++}" -std=c++20 "${flags[@]}" tests/consumer/host/host.cpp -o "$work/host" && "$work/host"
    ;;
  verify_only)
    # A plain engine: it includes verify/ alone, has no exceptions, and no header beyond the library's and the compiler's may come in.
    flags=(-std=c++20 -O1 -fno-exceptions -fno-rtti -DSPECVERIFY_WITH_XSIMD=0 -Iinclude -Wall -Wextra -Wconversion -Wshadow -Wsign-conversion -Werror)
    quietly "${CXX:-g++}" "${flags[@]}" tests/consumer/host/verify_host.cpp -o "$work/host" && "$work/host" || exit 1
    "${CXX:-g++}" "${flags[@]}" -M tests/consumer/host/verify_host.cpp | tr ' \\' '\n\n' | grep -E 'xsimd|eigen|Eigen|/session/|/codec/|/policy/|iostream|<new>' &&
      { echo "verify/ brings more than it may"; exit 1; }
    echo "verify/ stands alone"
    ;;
  levels)
    # One binary for every x86-64: the level is the processor's, its objects share no function with the baseline ones.
    [ "$(uname -m)" = x86_64 ] || { echo "x86-64 only"; exit 77; }
    command -v qemu-x86_64 >/dev/null || { echo "qemu-user is not installed"; exit 77; }
    install && cp tests/consumer/levels/* "$pages/level" && configure "$pages/level" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release && quietly cmake --build "$work/build" || exit 1
    globals() { nm --defined-only "$1" | awk '$2 ~ /[A-Zuvw]/ && $2 != "N" { print $3 }'; }
    for level in avx2 avx512 avx512_ifma; do
      [ "$(globals "$work/build/rows_$level.o")" = "rows_$level" ] || { echo "rows_$level.o defines more than its table"; exit 1; }
    done
    [ "$(globals "$work/build/CMakeFiles/rows_avx2_objects.dir/rows.cpp.o" | wc -l)" -gt 1 ] || { echo "the check cannot see a shared function"; exit 1; }
    native=$("$work/build/engine") || { echo "natively: exit code $?"; exit 1; }
    echo "natively: $native"
    for pair in "qemu64 baseline" "Nehalem baseline" "max AVX2"; do
      said=$(qemu-x86_64 -cpu "${pair% *}" "$work/build/engine") || { echo "${pair% *}: exit code $?"; exit 1; }
      echo "${pair% *}: $said"
      [ "$said" = "${pair#* }: ${native#*: }" ] || { echo "another level or other facts"; exit 1; }
    done
    ;;
  cuda)
    # A unit that includes kernels, by CMake's own language CUDA. None is launched: there may be no GPU.
    nvcc=$(bash scripts/nvcc) || exit $?
    install && configure tests/consumer/cuda -DCMAKE_PREFIX_PATH="$prefix" -DWANTED=0.1 -DEXAMPLES="$PWD/examples/cuda" \
      -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_HOST_COMPILER="${CXX:-g++}" -DCMAKE_CUDA_ARCHITECTURES=80 &&
      quietly cmake --build "$work/build" && "$work/build/step_17" && "$work/build/step_20" || exit 1
    # The page's own file configures.
    cp tests/consumer/cuda/step.cu "$pages/gpu/cuda/engine.cu" && quietly cmake -G Ninja -S "$pages/gpu/cuda" -B "$work/page" -DCMAKE_PREFIX_PATH="$prefix" \
      -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_HOST_COMPILER="${CXX:-g++}" -DCMAKE_CXX_COMPILER="${CXX:-g++}"
    ;;
  device)
    bash scripts/headers --thrust >"$work/thrust" || { echo "Thrust is not installed"; exit 77; }
    install && configure tests/consumer/device -DCMAKE_PREFIX_PATH="$prefix" -DWANTED=0.1 -DEXAMPLES="$PWD/examples/device" &&
      quietly cmake --build "$work/build" && "$work/build/step" || exit 1
    cp tests/consumer/device/step.cpp "$pages/gpu/device/engine.cpp" && quietly cmake -G Ninja -S "$pages/gpu/device" -B "$work/page" -DCMAKE_PREFIX_PATH="$prefix" \
      -DCMAKE_CXX_COMPILER="${CXX:-g++}"
    ;;
  *) exit 2 ;;
esac
