#!/usr/bin/env bash
# Installs as distributions do: Nix splits a package into absolute folders, others nest theirs. pkg-config and CMake name the folder
# where the headers are, and an installation without absolute folders can be moved.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
command -v pkg-config >/dev/null || { echo "pkg-config is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; return 1; }; }
configure() { quietly cmake -G "${SPECVERIFY_GENERATOR:-Ninja}" -DCMAKE_CXX_COMPILER="${CXX:-g++}" "$@"; }
prefix=$work/prefix apart=$work/apart
install() { # flag...
  rm -rf "$prefix" "$apart" "$work/library"
  configure -S . -B "$work/library" -DCMAKE_INSTALL_PREFIX="$prefix" -DSPECVERIFY_BUILD_TESTS=OFF -DSPECVERIFY_BUILD_EXAMPLES=OFF "$@" &&
    quietly cmake --install "$work/library"
}
# found HEADERS DATA WHAT: by both tools
found() {
  local named
  named=$(PKG_CONFIG_PATH=$2/pkgconfig pkg-config --variable=includedir specverify)
  [ "$(realpath -m "$named")" = "$1" ] && [ -e "$1/specverify/all.hpp" ] || { echo "$3: the .pc names $named"; return 1; }
  rm -rf "$work/build"
  configure -S tests/consumer/package -B "$work/build" -DWANTED=0.1 -Dspecverify_DIR="$2/cmake/specverify" &&
    quietly cmake --build "$work/build" --target host ||
    { echo "$3: CMake does not find the headers"; return 1; }
}
install -DCMAKE_INSTALL_INCLUDEDIR="$apart/include" && found "$apart/include" "$prefix/share" "absolute headers" || exit 1
install -DCMAKE_INSTALL_DATADIR="$apart/share" && found "$prefix/include" "$apart/share" "absolute data" || exit 1
install -DCMAKE_INSTALL_INCLUDEDIR="$apart/include" -DCMAKE_INSTALL_DATADIR="$prefix/share" &&
  found "$apart/include" "$prefix/share" "both absolute" || exit 1
install -DCMAKE_INSTALL_DATADIR=lib/of/all/share && found "$prefix/include" "$prefix/lib/of/all/share" "nested data" || exit 1
mv "$prefix" "$apart" && found "$apart/include" "$apart/lib/of/all/share" "nested data, moved"
