#!/usr/bin/env bash
# The skeletons of scripts/new: each kind, written into a copy of the tree, passes the lints, builds and passes with its
# page's example, and its test sees the planted bug.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for path in * .clang-format; do [ "$path" = build ] || cp -r "$path" "$work/"; done
cd "$work" || exit 1
code=0
fail() { echo "$1"; code=1; }
kinds=(sparsifier rule window gate)
for kind in "${kinds[@]}"; do
  scripts/new "$kind" "copied_$kind" >"files.$kind" || fail "scripts/new $kind ends with $?"
  grep -q "scripts/twins run copied_${kind}_" "files.$kind" || fail "scripts/new $kind does not print how to run the mutant"
done
scripts/new gate copied_gate 2>/dev/null && fail "scripts/new overwrites files"
scripts/new guess a_name 2>/dev/null && fail "scripts/new takes a kind that there is not"
scripts/new gate Name 2>/dev/null && fail "scripts/new takes a name in capitals"
for lint in guards mirror pages prose twins arguments arrows functions reference; do
  said=$(perl "scripts/lint/$lint.pl" 2>&1) || fail "$lint: $said"
done
if command -v clang-format-14 >/dev/null; then
  clang-format-14 --dry-run --Werror $(grep -hE '\.[ch]pp$' files.*) || fail "clang-format disagrees"
fi
# One program of all tests and examples, compiled as written and once more with all the planted bugs.
perl scripts/pages pages >/dev/null || fail "scripts/pages ends with $?"
sources=($(grep -h '_test\.cpp$' files.*))
{
  echo '#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN'
  grep -hE '^#include' "${sources[@]}" pages/copied_*.cpp
  cat "${sources[@]}" | grep -v '^#include'
  for kind in "${kinds[@]}"; do
    sed "/^#include/d; s/^int main()/int example_$kind()/" "pages/copied_$kind.cpp"
    echo "TEST_CASE(\"example of a $kind\") { CHECK(example_$kind() == 0); }"
  done
} >all.cpp
build() {
  "${CXX:-g++}" -std=c++20 -O0 -Wall -Wextra -Werror -Iinclude -Itests -iquote tests/unit/sparsify all.cpp -o all 2>compile.log ||
    { cat compile.log; fail "the skeletons do not compile"; exit 1; }
}
build && ./all --no-version || fail "the skeletons' tests fail"
for kind in "${kinds[@]}"; do bash scripts/twins plant - "$(grep '\.hpp$' "files.$kind")" <"$(grep '\.bug$' "files.$kind")" || code=1; done
build
for bug in $(grep -h '\.bug$' files.*); do
  ./all --no-version --test-case="$(sed -n 's/^test: //p' "$bug")" >output && fail "$bug: the test does not see the bug"
  grep -qF -- "$(sed -n 's/^assert: //p' "$bug")" output || { cat output; fail "$bug: another assertion fails"; }
done
[ "$code" -eq 0 ] && echo "${#kinds[@]} skeletons build, pass and see their bugs"
exit "$code"
