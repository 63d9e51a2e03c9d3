#!/usr/bin/env bash
# Follows docs/integrate.md in an empty folder, on a machine without make: it ends with two texts. A page that needs make, and in
# the long run a model that forgets to cut its cache, must fail.
set -uo pipefail
build=${SPECVERIFY_BUILD_DIR:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
IFS=: read -r -a folders <<<"$PATH"
for folder in "${folders[@]}"; do ln -s "$folder"/* "$work/bin/" 2>/dev/null; done  # the first of each name counts
rm -f "$work/bin/make" "$work/bin/gmake"
export PATH=$work/bin
bash scripts/integrate "$build/integrate" || exit 1
# A text that could not be printed is no success, on either side.
(
  cd "$build/integrate" || exit 1
  ./build/cloud socket 1 >/dev/full &
  ! ./build/device socket 3 >/dev/full && ! wait $!
) || { echo "a text that a full disk did not take ends with 0"; exit 1; }

# fails WHY BLOCK SED_COMMAND: the page with this change of a block of commands does not end well.
fails() {
  local why=$1 block=$work/pages/integrate/$2
  perl scripts/pages "$work/pages" >/dev/null && cp "$block" "$work/before" && sed -i "$3" "$block" || exit 1
  ! cmp -s "$block" "$work/before" || { echo "$why: $2 of docs/integrate.md no longer holds what \"$3\" replaces"; exit 1; }
  ! SPECVERIFY_PAGES=$work/pages bash scripts/integrate "$build/integrate_broken" >"$work/log" 2>&1 || { echo "$why went unseen"; exit 1; }
}
fails "a page that needs make" install.sh 's/ -G Ninja//'
grep -q 'CMAKE_MAKE_PROGRAM' "$work/log" || { cat "$work/log"; echo "the page that needs make failed for another reason"; exit 1; }
[ "${SPECVERIFY_LONG:-0}" = 1 ] || exit 0
cat >"$work/not_cut" <<'TEXT'
sed -i 's/{ mine.cut(static_cast<int>(position)); }/{ if (position == 0) mine.cut(0); }/' engine_model.hpp
sed -i 's/if (position > static_cast<int>(cache_.size())) return 2;/if (position != static_cast<int>(cache_.size())) return 2;/' engine.hpp
TEXT
fails "a cache that is not cut" install.sh "\$r $work/not_cut"
