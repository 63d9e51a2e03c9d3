#!/usr/bin/env bash
# Programs of the pages end, with an error, if the cloud refuses the device: here its vocabulary has one token more.
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# ends FOLDER FILE PROGRAM CHANGE CODE: the program, with this change of the file, ends with this code.
ends() {
  rm -rf "$work/copy" && cp -r "$1" "$work/copy" || exit 1
  sed -Ei "$4" "$work/copy/$2"
  ! cmp -s "$1/$2" "$work/copy/$2" || { echo "$1/$2 no longer holds what \"$4\" replaces"; exit 1; }
  ${SPECVERIFY_CCACHE:-} "${CXX:-g++}" -std=c++20 -O0 -Iinclude "$work/copy/$3" -o "$work/program" -pthread || exit 1
  timeout 30 "$work/program" >"$work/log"
  local code=$?
  [ "$code" -ne 124 ] || { echo "$1/$3 hangs where its device is refused"; exit 1; }
  [ "$code" -eq "$5" ] || { echo "$1/$3 ends with $code"; exit 1; }
}
perl scripts/pages "$work/pages" >/dev/null || exit 1
ends "$work/pages/tutorial" sides.hpp session.cpp 's/(vocab_size = tutorial_model::vocab_size)\}/\1 + 1}/' 2
ends "$work/pages" host.cpp host.cpp 's/(\.salt = .*vocab_size = )8/\19/' 2
[ "${SPECVERIFY_LONG:-0}" = 1 ] || exit 0
ends "$work/pages" stop_strings.cpp stop_strings.cpp 's/(\.salt = .*vocab_size = )10/\111/' 2
ends examples custom_parts.cpp custom_parts.cpp 's/(\.salt = .*vocab_size = V)/\1 + 1/' 2
ends examples/c session_20.cpp session_20.cpp 's/(0x5eed, \.vocab_size = toy_vocab_size)/\1 + 1/' 1
ends tests/newcomer own_session.cpp own_session.cpp 's/(salt_from.*vocab_size = )50/\151/' 2
