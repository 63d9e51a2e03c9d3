#!/usr/bin/env bash
# The program that talks to strangers is built with the flags of cmake/hardening.cmake.
# usage: tests/demo/hardening.sh [EDGE_CLOUD]
set -uo pipefail
program=${1:-${SPECVERIFY_BUILD_DIR:?}/apps/edge_cloud/edge_cloud}
command -v readelf >/dev/null || { echo "SKIPPED: no readelf"; exit 77; }
failed=0
# shows WHAT PATTERN READELF_FLAGS FILE: the output of readelf has a line like this.
shows() {
  readelf $3 "$4" 2>/dev/null | grep -E -- "$2" >/dev/null && return
  echo "$(basename "$4"): $1 is missing"
  failed=1
}
shows "PIE (random addresses)" 'Type: +DYN' -hW "$program"
shows "relro (relocations are read-only)" 'GNU_RELRO' -lW "$program"
shows "now (all symbols are bound at the start)" 'FLAGS_1.*NOW' -dW "$program"
shows "a stack without code" 'GNU_STACK +.* RW +0x' -lW "$program"
shows "the stack protector" '__stack_chk_fail' "--dyn-syms -W" "$program"
shows "a checked function (_FORTIFY_SOURCE)" '__[a-z]+_chk@' "--dyn-syms -W" "$program"
case $(uname -m) in
  x86_64)
    for archive in edge_cloud_serve edge_cloud_hosts; do
      shows "checked jumps (-fcf-protection)" 'IBT, SHSTK' -nW "$(dirname "$program")/lib$archive.a"
    done
    ;;
esac
[ "$failed" -eq 0 ] && echo "hardening: all flags are there"
exit "$failed"
