#!/usr/bin/env bash
# Journals and messages hold no byte that nobody wrote, of any system, through kills and restarts: valgrind watches them go to
# the system. A planted byte is found.
set -uo pipefail
command -v valgrind >/dev/null || { echo "valgrind is not here"; exit 77; }
program=$SPECVERIFY_BUILD_DIR/tests/test_session
[ -x "$program" ] || { echo "test_session was not built here"; exit 77; }
watch() { # HOW SCHEDULES
  SPECVERIFY_WRITE_OUT=$1 SPECVERIFY_SCHEDULES=$2 valgrind -q --error-exitcode=9 --leak-check=no "$program" --no-version \
    '--test-case=*fault schedules:*' 2>&1
}
[ "${SPECVERIFY_LONG:-0}" = 1 ] && schedules=400
output=$(watch 1 "${schedules:-40}") || { echo "$output"; exit 1; }
if output=$(watch planted 2); then
  echo "a planted byte was not found"
  exit 1
fi
grep -q 'points to uninitialised byte' <<<"$output" || { echo "not found as such a byte: $output"; exit 1; }
