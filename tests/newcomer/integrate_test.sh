#!/usr/bin/env bash
# docs/integrate.md, followed in an empty folder, ends with two texts; a page whose model forgets to cut its cache does not.
set -uo pipefail
bash scripts/integrate "${SPECVERIFY_BUILD_DIR:-build}/integrate" || exit 1
[ "${SPECVERIFY_LONG:-0}" = 1 ] || exit 0
broken=$(mktemp)
trap 'rm -f "$broken"' EXIT
sed 's/{ mine.cut(static_cast<int>(position)); }/{ if (position == 0) mine.cut(0); }/' docs/integrate.md >"$broken"
cmp -s "$broken" docs/integrate.md && { echo "the page has no cut to forget"; exit 1; }
sed -i 's/if (position > static_cast<int>(cache_.size())) return 2;/if (position != static_cast<int>(cache_.size())) return 2;/' "$broken"
SPECVERIFY_PAGE=$broken bash scripts/integrate "${SPECVERIFY_BUILD_DIR:-build}/integrate_broken" >/dev/null 2>&1 && { echo "a cache that is not cut went unseen"; exit 1; }
exit 0
