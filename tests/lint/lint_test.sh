#!/usr/bin/env bash
# Each lint sees what it is there for: a small house that follows the rules, and one planted breach at a time.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/house/scripts" "$work/house"/{docs/algorithms,tests/unit/row,examples,benchmarks}
cp -r scripts/lint "$work/house/scripts/"
mkdir -p "$work/house/include/specverify"/{core,kernel,row,session,policy,testing}
cp include/specverify/version.hpp "$work/house/include/specverify/"
cp include/specverify/core/foreign_macros_{off,on}.def "$work/house/include/specverify/core/"
mkdir "$work/house/tests/support" && cp tests/support/foreign_macros.hpp "$work/house/tests/support/"
cd "$work/house" || exit 1
header() { # path, lines of the body
  local guard
  guard=$(tr 'a-z/.' 'A-Z__' <<<"specverify/$1")
  {
    printf '// SPDX-License-Identifier: Apache-2.0\n//! A header.\n#ifndef %s\n#define %s\n\n' "$guard" "$guard"
    printf '%s\n' "${@:2}"
    printf '\n#endif\n'
  } >"include/specverify/$1"
}
reset() {
  rm -f docs/*.md README.md
  header row/digest.hpp '#include <specverify/core/views.hpp>' 'template <execution_policy Policy>' 'int digest(Policy);'
  header core/views.hpp 'struct row_access;'
  find include/specverify/{kernel,session,policy} -type f -delete
  for name in row/digest core/views; do
    mkdir -p "tests/unit/${name%/*}"
    printf '// SPDX-License-Identifier: Apache-2.0\n' >"tests/unit/${name}_test.cpp"
    printf '# Page\n\nDoes it. Use it when you test.\n\n```cpp\nint main() {}\n```\n' >"docs/algorithms/${name#*/}.md"
  done
  printf '// SPDX-License-Identifier: Apache-2.0\n' >benchmarks/bench_digest.cpp
  version=$(sed -n 's/.*VERSION_[A-Z]* //p' include/specverify/version.hpp | paste -sd.)
  printf '# Changelog\n\n## %s\n' "$version" >CHANGELOG.md
}
code=0
lint() { perl "scripts/lint/$1.pl" >"$work/out" 2>&1; }
green() { lint "$1" || { echo "$1 complains about a clean house:"; cat "$work/out"; code=1; }; }
red() { # lint, text that it must say
  if lint "$1" || ! grep -qF -- "$2" "$work/out"; then
    echo "$1 does not say \"$2\":"
    cat "$work/out"
    code=1
  fi
  reset
}
reset
for name in convention host_loops arrows wrappers mirror sizes functions forbidden guards row_access pages repository version ids prose phrases stale twins newcomer errors missed session_tables states foreign_macros bodies reference english; do green "$name"; done

header core/views.hpp '#include <specverify/row/digest.hpp>'; red arrows 'core may not include row/digest.hpp'
header kernel/a.hpp '#include <specverify/row/digest.hpp>'; red arrows 'kernel may not include row/digest.hpp'
header session/a.hpp '#include <specverify/policy/window.hpp>'; red arrows 'session includes what takes any policy only'
header row/digest.hpp '#include <specverify/specverify.hpp>'; red arrows 'includes the umbrella'

mkdir -p include/specverify/session/detail
wrapped() { header session/detail/b.hpp 'struct wrapped { int one = 0; int two = 0; };' "${1:-}"; header session/a.hpp "class a { public: int f() const; private: wrapped all_{}; }; ${2:-}"; }
wrapped; red wrappers 'b.hpp:6: wrapped only wraps fields of a: declare it there'; mkdir -p include/specverify/session/detail
wrapped 'wrapped made_by_others();'; green wrappers
wrapped '' 'class other { wrapped too_; };'; green wrappers
header session/a.hpp 'class a : public detail::endpoint {' '  // b.hpp' '  void f();' '};'
header session/detail/c.hpp 'void a::f() {}'; red bodies 'f is said to be in b.hpp, and is in c.hpp'
rm -r include/specverify/session/detail
header row/digest.hpp '#include "specverify/core/views.hpp"'; red arrows 'angle brackets'
mkdir include/specverify/core/detail
header core/views.hpp '#include <specverify/core/detail/views.hpp>'
header core/detail/views.hpp '#include <specverify/core/views.hpp>'
red arrows 'circle of includes: core/detail/views.hpp core/views.hpp'
rm -r include/specverify/core/detail
header core/views.hpp '#include <specverify/core/views.hpp>'; red arrows 'circle of includes: core/views.hpp'
rm tests/unit/row/digest_test.cpp; red mirror 'no tests/unit/row/digest_test.cpp'
rm docs/algorithms/digest.md; red mirror 'no page docs/algorithms/digest.md'
rm benchmarks/bench_digest.cpp; red mirror 'no benchmarks/bench_digest.cpp'
echo 'Page.' >docs/algorithms/digest.md; red mirror 'docs/algorithms/digest.md: has no example'
header row/digest.hpp '// See: docs/algorithms/nowhere.md'; red mirror 'names docs/algorithms/nowhere.md'
seq 61 >CONTRIBUTING.md; red sizes 'CONTRIBUTING.md: 61 lines, at most 60'; rm CONTRIBUTING.md
header row/digest.hpp 'inline void f() { throw 1; }'; red forbidden 'throw'
header row/digest.hpp 'inline int* f() { return new int; }'; red forbidden 'new'
header row/digest.hpp '#include <iostream>'; red forbidden 'includes <iostream>'
header row/digest.hpp '#include <mutex>'; red forbidden 'includes <mutex>'
header testing/a.hpp '#include <mutex>'; lint forbidden || { echo "forbidden refuses the test kit its mutex"; code=1; }; rm include/specverify/testing/a.hpp; reset
header testing/a.hpp '#include <thread>'; lint forbidden && { echo "forbidden lets a thread into the test kit"; code=1; }; rm include/specverify/testing/a.hpp; reset
header row/digest.hpp 'inline std::vector<int> f();'; red forbidden 'std::vector outside an owner'
header row/digest.hpp 'inline bool f(float x) { return std::isnan(x); }'; red forbidden 'NaN tests'
header row/digest.hpp 'namespace specverify { inline int f(); }'; red forbidden 'opens the namespace by hand'
header row/digest.hpp 'inline void f() { ::thrust::sort(1); }'; red forbidden 'names Thrust by hand'
off='#include <specverify/core/foreign_macros_off.def>' on='#include <specverify/core/foreign_macros_on.def>'
header row/digest.hpp 'inline void f() { int near = 0; }'; red foreign_macros 'digest.hpp:6: near is a macro elsewhere; use another name'
header row/digest.hpp 'inline bool f() { return check(1); }'; red foreign_macros 'digest.hpp:6: check is a macro elsewhere: include'
header row/digest.hpp "$off" 'inline bool f() { return check(1); }'; red foreign_macros 'once each, in this order'
header row/digest.hpp "$on" 'inline bool f() { return check(1); }' "$off"; red foreign_macros 'once each, in this order'
header row/digest.hpp "$off" 'inline bool f();' "$on"; red foreign_macros 'needs none of those words'
header row/digest.hpp "$off" 'inline bool f(int check) { return check(check); }' "$on"; green foreign_macros; reset
header row/digest.hpp 'inline bool f(int check, int round) { return check == round; }  // min(1, 2)'; green foreign_macros; reset
header row/digest.hpp '// throw new iostream: a comment may say so'; lint forbidden || { echo "forbidden reads comments"; code=1; }; reset
sed -i 's/SPECVERIFY_ROW_DIGEST_HPP/DIGEST_HPP/' include/specverify/row/digest.hpp; red guards 'the guard is not SPECVERIFY_ROW_DIGEST_HPP'
sed -i 1d include/specverify/row/digest.hpp; red guards 'does not start with // SPDX'
header row/digest.hpp '#define MAXIMUM 3'; red guards 'MAXIMUM'
header session/a.hpp 'inline int f(int row) { return row_access::data(row); }'; red row_access 'opens a row'
table() { perl scripts/lint/errors.pl --fix >/dev/null; }
printf 'SPECVERIFY_ERRC(ok, 0, "no error")\n// rows\nSPECVERIFY_ERRC(row_has_nan, 20,\n  "a NaN")\n' >include/specverify/core/errc.def
red errors 'docs/errors.md: missing: | 20 | `row_has_nan` | a NaN |'
table; green errors
echo '| 21 | `planted` | a row | |' >>docs/errors.md; red errors 'not in core/errc.def: | 21 | `planted`'
table; sed -i 's/"a NaN"/"an id"/' include/specverify/core/errc.def; red errors 'missing: | 20 | `row_has_nan` | an id |'
table; sed -i 's/an id | |/an id | the id |/' docs/errors.md; table; green errors
grep -q 'an id | the id |' docs/errors.md || { echo "errors forgets what where counts"; code=1; }
rm include/specverify/core/errc.def; reset
listed() { header row/digest.hpp '//! Reads a row. O(V). No allocation.' 'int digest(int);' "$@"; perl scripts/lint/reference.pl --fix >/dev/null; }
listed; green reference; grep -qxF '| [digest](algorithms/digest.md) | `digest` | O(V) | none |' docs/reference.md || { echo "reference lists no cost"; code=1; }
listed; sed -i 's/O(V)/O(1)/' include/specverify/row/digest.hpp; red reference 'missing: | [digest](algorithms/digest.md) | `digest` | O(1) | none |'
listed; sed -i 's/ | none |/ | allocates |/' docs/reference.md; red reference 'not in a header: | [digest](algorithms/digest.md) | `digest` | O(V) | allocates |'
listed; header row/digest.hpp '//! Reads a row.' 'int digest(int);'; red reference 'neither in the head nor above digest'
listed 'namespace detail {' 'int hidden(int);' '}' 'class c {' 'int own(int);' '};'; green reference; reset
tabled() { # a file of the real house to change, how
  mkdir -p include/specverify/session/detail
  for file in include/specverify/{session/{options,presets,detail/system_list}.hpp,core/errc.def} docs/{errors,algorithms/{options,presets,systems}}.md; do
    cp "$root/$file" "$file"
  done
  sed -i "$2" "$1"
}
options=include/specverify/session/options.hpp
tabled $options ''; green session_tables
tabled $options 's/retry_limit = 64;/retry_limit = 65;/'; red session_tables 'edge_options::retry_limit: default is 65, the table says 64'
tabled $options 's/  bool lazy = false;/&\n  bool eager = false;/'; red session_tables 'eager: missing in the table of cloud_options'
tabled $options 's/max_law_entries = 4096;/max_law_entries = 4097;/'; red session_tables 'cloud_limits::max_law_entries: default is 4097'
tabled $options 's/at_salt = 13;/at_salt = 15;/'; red session_tables '15 at_salt: missing in the table of the numbers of cloud_options'
tabled docs/algorithms/options.md '/^| `max_ahead` | edge /d'; red session_tables 'max_ahead: missing in the table of session/options.hpp'
tabled docs/algorithms/presets.md '/^| `wisv` /d'; red session_tables 'wisv: missing in the table of session/presets.hpp'
tabled docs/algorithms/systems.md '/^| `k-sqs` /d'; red session_tables 'k-sqs: missing in the table of session/systems.hpp'
tabled docs/algorithms/systems.md 's/^| `u-hlm` | `threshold`, /| `u-hlm` | /'; red session_tables 'u-hlm: the settings are `threshold`, `samples`, `maximum_temperature`'
tabled docs/errors.md '0,/^| `busy` /s//| `bussy` /'; red session_tables 'bussy: not in core/errc.def'
tabled include/specverify/core/errc.def '/^SPECVERIFY_ERRC(salt_missing/d'; red session_tables 'salt_missing: not in core/errc.def'
rm include/specverify/core/errc.def docs/algorithms/{options,presets,systems}.md; reset
stated() { # a file of the real house to change, how
  mkdir -p include/specverify/session/detail docs/session
  cp "$root/include/specverify/session/states.hpp" include/specverify/session/
  cp "$root/docs/session/states.md" docs/session/
  header session/detail/a.hpp 'class a {' 'session_state<edge_table> state_;' 'edge_state ahead_state = edge_state::idle;' '};'
  sed -i "$2" "$1"
}
states=include/specverify/session/states.hpp
stated $states ''; green states
for written in 'state_ = b;' 'this->state_ = b;' 'std::exchange(state_, b);' 'swap(b, this->state_);' 'a.state_ = {};'; do
  stated include/specverify/session/detail/a.hpp "s/^};/void f() { $written }\n&/"; red states 'a.hpp:9: writes the state'
done
stated include/specverify/session/detail/a.hpp 's/state_;/now_;/; s/^};/void f() { now_ = b; }\n&/'; red states 'a.hpp:9: writes the state'
stated include/specverify/session/detail/a.hpp 's/^};/bool f() { return state_ == b; }\n&/'; green states
stated include/specverify/session/detail/a.hpp 's/^};/cloud_state own_ = b;\n&/'; red states 'a.hpp:9: keeps a state of its own'
stated $states 's/{connect, {offline}, handshaking}/{connect, {offline, drafting}, handshaking}/'; red states 'missing: | `connect` | a connection is open; the edge sends hello | `offline`, `drafting` |'
stated $states 's/{blank, {kind::hello}}/{blank, {kind::hello, kind::stop}}/'; red states 'missing: | `blank` | `hello`, `stop` |'
stated docs/session/states.md 's/^| `scoring` |.*//'; red states 'says nothing about the state `scoring` of the cloud'
stated docs/session/states.md 's/^  drafting --> waiting.*/  drafting --> finished: send_draft/'; red states 'not in session/states.hpp:   drafting --> finished: send_draft'
stated $states 's/{drafting, waiting, streaming}, stopping/{waiting, streaming}, stopping/'; perl scripts/lint/states.pl --fix >/dev/null; green states
grep -q 'waits for the scores of the mismatches' docs/session/states.md || { echo "states forgets what a page says of a state"; code=1; }
rm -r include/specverify/session/detail docs/session; reset
block() { printf '\n```%s\n%s\n```\n' "$1" "$2" >>docs/algorithms/digest.md; } # fence, text
block '' 'out: 3'; red pages 'docs/algorithms/digest.md:9: a fence without a mark'
block text 'out: 3'; green pages; reset
block rust 'fn f() {}'; red pages 'rust is neither text nor compiled nor run'
block sh 'true'; red pages 'a block in sh needs a name'
block 'cpp other.cpp' 'int f();'; red pages 'nothing uses other.cpp'
block 'cpp other.cpp' 'int main() {}'; green pages; reset
block 'sh own/run.sh' 'true'; printf 'sh "$pages/own/run.sh"\n' >tests/run_test.sh; green pages; rm tests/run_test.sh; red pages 'nothing uses own/run.sh'
block 'cpp own/a.hpp' 'int f();'; block 'cpp own/b.cpp' $'#include "a.hpp"\nint main() {}'; green pages; reset
block cpp 'int main() {}'; red pages 'digest.cpp is the name of another block'
block 'cpp a.cpp 2' 'int main() {}'; red pages 'more than a language and a name'
printf '\n    find_package(specverify REQUIRED)\n' >>docs/algorithms/digest.md; red pages 'digest.md:9: code in an indented block'
printf '\n```text\n' >>docs/algorithms/digest.md; red pages 'the last fence does not end'
mapfile -t many < <(seq -f '// %.0f' 34); block 'cpp long.cpp' "$(printf '%s\n' 'int main() {}' "${many[@]}")"; red sizes 'long.cpp has 35 lines, at most 34'
block 'cpp a.cpp' $'int main() {\n  switch (out.action) { case sv::session_action::send: break; }\n}'; red host_loops 'docs/algorithms/digest.md#a.cpp:11: chooses by session_action'
block 'cpp a.cpp' $'int main() { row_access::data(row); }'; red row_access 'digest.md#a.cpp:10: opens a row'
echo '[gone](nowhere.md)' >>docs/algorithms/digest.md; red pages 'a link leads nowhere'
echo '[page](views.md#page) [gone](views.md#other)' >>docs/algorithms/digest.md; red pages 'a link leads to no heading: views.md#other'
sed -i 3d docs/algorithms/digest.md; red pages 'the first two sentences have no "Use it when"'
sed -i '3s/.*/Does it. Is fast. Use it when you test./' docs/algorithms/digest.md; red pages 'the first two sentences have no'
sed -i '3s/.*/Use it when you test./' docs/algorithms/digest.md; green pages; reset
printf '# Pages\n\n[digest](algorithms/digest.md)\n' >docs/README.md; red pages 'does not name docs/algorithms/views.md'
printf '%06001d\n' 0 >README.md; red pages 'at most 6000'
header row/digest.hpp "// see /$(printf 'ho')me/somebody/notes"; red repository 'a path of one machine'
header row/digest.hpp "// $(printf 'TO')DO later"; red repository 'left unfinished'
header row/digest.hpp '// (E99)'; red ids 'E99 has no entry in docs/errata.md'
header row/digest.hpp '// SMP-99'; red ids 'SMP-99 has no entry in docs/requirements.md'
header row/digest.hpp '// T99'; red ids 'T99 has no entry in docs/guarantees.md'
printf '# Errata\n\n## E1 a\n\n[test](../tests/unit/row/digest_test.cpp)\n' >docs/errata.md; red ids 'does not hold E1'
{ printf 'Word'; printf ' word%.0s' {1..35}; echo '.'; } >docs/a.md; red prose 'a sentence of 36 words'
{ printf '%0119d' 0; echo 'ab'; } >docs/a.md; red prose '121 columns'
{ printf '| '; printf '%0119d' 0; echo ' |'; } >docs/a.md; lint prose || { echo "prose measures tables"; code=1; }; reset
header row/digest.hpp "// $(printf '%0118d' 0)"; red prose '121 columns'
echo 'All of it is agreed.' >docs/a.md; red phrases '"of it"'
printf 'It is the law\nbeside it.\n' >docs/a.md; red phrases '"beside"'
header row/digest.hpp 'int seven(int a, int b, int c, int d, int e, int f = 1, int g = 2);'; red arguments 'seven has 7 parameters'
header row/digest.hpp 'struct s { int seven(int, int, int, int, int, int, std::pair<int, int> = {}) const noexcept { return 0; } };'; red arguments 'seven has 7 parameters'
header row/digest.hpp 'int six(int a, int b, int c, std::pair<int, int> d, int (*e)(int, int), int f = g(1, 2, 3));'; green arguments; reset
header row/digest.hpp 'bool take(std::size_t count, slice& out);'; red convention 'take writes through out (slice&)'
header row/digest.hpp 'status restore(std::span<const std::byte> journal, journal_reading* found = nullptr);'; red convention 'restore writes through found (journal_reading*)'
header row/digest.hpp 'template <class Element> struct space { bool take(int count, std::vector<Element>& into) noexcept { return true; } };'; red convention 'take writes through into (vector&)'
header row/digest.hpp 'int f(workspace& scratch, int count);'; red convention 'f: the workspace is not the last parameter'
header row/digest.hpp 'int f(int count, workspace& space);'; red convention 'f: the workspace is called space, not scratch'
header row/digest.hpp 'int f(const row_digest& from);'; red convention 'f: the digest is called from'
header row/digest.hpp 'inline int f() { if (const status bad = g(); !bad.ok()) return 1; return 0; }'; red convention 'a failing status is called bad, not why'
header row/digest.hpp 'inline int f() { const errc bad = g(1); return 0; }'; red convention 'a failing errc is called bad, not why'
header row/digest.hpp 'inline int f(const row_digest& digest, range_encoder& coder, std::span<int> out, workspace& scratch) { const status why = g(); return 0; }'; green convention; reset
header kernel/a.hpp 'inline void f(float* out) {}'; green convention; reset
header session/a.hpp 'reading_access x;'; red row_access 'joins a digest to a row'
header row/digest.hpp 'int half_row_counts();'; red phrases '"half_row"'
header row/digest.hpp 'int judged_round();'; red phrases '"judged_round"'
header row/digest.hpp '// A judge decides.'; red phrases '"judge"'
header row/digest.hpp 'const top_k rule;'; red phrases '"top_k rule"'
header row/digest.hpp "//! Class (a)."; red phrases 'bit-exact'
twin() { # old text, name of the test
  printf '=== a\nheader: include/specverify/row/digest.hpp\ntest: %s\n--- old\n%s\n--- new\nint;\n' "$2" "$1" >tests/unit/row/digest_test.bug
  echo 'TEST_CASE("digest: one") {}' >>tests/unit/row/digest_test.cpp
}
twin 'int digest(Policy);' 'digest: *'; lint twins || { echo "twins complains about a twin that fits"; cat "$work/out"; code=1; }; reset
twin 'int gone();' 'digest: *'; red twins 'found 0 times'
twin 'int digest(Policy);' 'law: *'; red twins 'is named law: *'
twin 'int digest(Policy);' 'digest: *'; cp tests/unit/row/digest_test.bug tests/unit/row/a_test.bug; red twins 'there is no tests/unit/row/a_test.cpp'
cat tests/unit/row/digest_test.bug >>tests/unit/row/a_test.bug; mv tests/unit/row/a_test.bug tests/unit/row/digest_test.bug; red twins 'has a twin of this name'
rm tests/unit/row/*.bug
echo 'Call `no_such_name`.' >docs/a.md; red stale 'no_such_name is nowhere'
printf '# Changelog\n\n## 9.9.9\n' >CHANGELOG.md; red version 'its first entry is 9.9.9'
mkdir -p apps/lab tests/unit/apps tests/session
plant() { printf '// SPDX-License-Identifier: Apache-2.0\n%s\n' "$2" >"$1"; } # file, line
plant apps/lab/a.cpp 'void f(Out out) { switch (out.action) { case specverify::session_action::send: break; } }'; red host_loops 'apps/lab/a.cpp:2: chooses by session_action'
plant apps/lab/a.cpp 'bool more(Out out) { return out.action != session_action::none; }'; red host_loops 'chooses by session_action'
plant apps/lab/a.cpp '#include <specverify/session/detail/endpoint.hpp>'; red host_loops 'which is no public header'
plant apps/lab/a.cpp 'int f() { return specverify::detail::g(); }'; red host_loops 'uses a detail of the library'
plant apps/lab/a.cpp 'void f(Out out) { if (out.action == session_action::send) g(out); } // case session_action::send:'; green host_loops; rm apps/lab/a.cpp
plant benchmarks/bench_digest.cpp 'int f() { return detail::g(); }'; red host_loops 'uses a detail of the library'
plant tests/session/a.cpp 'bool rows(Out out) { return out.action == sv::session_action::evaluate; }'; red host_loops 'chooses by session_action'; rm tests/session/a.cpp
plant tests/unit/row/a.cpp '#include "../../../apps/lab/models.hpp"'; red host_loops "which is an app's own"; rm tests/unit/row/a.cpp
plant tests/unit/apps/a.cpp '#include "../../../apps/lab/models.hpp"'; green host_loops; rm tests/unit/apps/a.cpp
printf 'switch (out.action) { case session_action::send: send(out.bytes); }\n' >>docs/algorithms/digest.md; red host_loops 'quote an example'
mkdir -p tests/newcomer
# The C interface and the adapters.
mkdir -p src/c adapters/llama_cpp
plant adapters/llama_cpp/model.hpp 'namespace specverify::llama_cpp { std::vector<int> kept(); }'; red forbidden 'model.hpp:2: opens the namespace by hand'
plant adapters/llama_cpp/model.hpp 'std::vector<int> kept();'; green forbidden
plant adapters/llama_cpp/model.hpp 'inline void f() { throw 1; }'; red forbidden 'adapters/llama_cpp/model.hpp:2: throw'
plant adapters/llama_cpp/model.hpp 'int seven(int a, int b, int c, int d, int e, int f, int g);'; red arguments 'seven has 7 parameters'; rm adapters/llama_cpp/model.hpp
plant src/c/memory.hpp 'inline void f() { throw 1; }'; green forbidden
plant src/c/memory.hpp 'inline void f() { try { g(); } catch (...) {} }'; red forbidden 'src/c/memory.hpp:2: try and catch'; rm src/c/memory.hpp
plant src/c/core.cpp 'inline void f() { throw 1; }'; red forbidden 'src/c/core.cpp:2: throw'
body() { printf 'specverify_status f(int* a) {\n'; seq -f '  a[%.0f] = 1;' "$1"; printf '  return {};\n}\n'; }
body 37 >src/c/core.cpp; green functions
body 38 >src/c/core.cpp; red functions 'src/c/core.cpp:1: f has 41 lines, at most 40'
mapfile -t many < <(seq -f '  f(%.0f);' 39); header row/digest.hpp 'inline void long_one() {' "${many[@]}" '}'; red functions 'row/digest.hpp:6: long_one has 41 lines, at most 40'
mkdir -p apps; { echo 'void run() {'; seq -f '  f(%.0f);' 59; echo '}'; } >apps/a.cpp; red functions 'apps/a.cpp:1: run has 61 lines, at most 60'; rm apps/a.cpp
{ printf 'struct c {\n  c(int a);\n  int a_;\n};\nc::c(int a) noexcept\n    : a_{a} {\n'; seq -f '  f(%.0f);' 38; printf '}\n\nint g();\n'; } >src/c/core.cpp; red functions 'c has 41 lines'; rm src/c/core.cpp
newcomer() { # what the page shows, line of the program
  printf 'Call `sv::%s` of `specverify/core/views.hpp`.\n' "$1" >docs/a.md
  header core/views.hpp 'struct views { int hidden_member; int shown_name(int); };'
  printf 'namespace sv = specverify;\n%s\n' "$2" >tests/newcomer/a.cpp
}
newcomer shown_name 'int f(sv::shown_name own) { return own.size(); }'; lint newcomer || { echo "newcomer complains about shown names"; cat "$work/out"; code=1; }; reset
newcomer shown_name 'sv::guessed_name f();'; red newcomer 'tests/newcomer/a.cpp:2: no page shows guessed_name'
newcomer shown_name 'int f(auto row) { return row.hidden_member; }'; red newcomer 'no page shows hidden_member'
newcomer other_name 'int f(auto row) { return shown_name(row); }'; red newcomer 'no page shows shown_name'
newcomer shown_name '#include <specverify/core/views.hpp>'; lint newcomer || { echo "newcomer complains about a shown header"; cat "$work/out"; code=1; }; reset
newcomer shown_name '#include <specverify/row/digest.hpp>'; red newcomer 'no page shows the header specverify/row/digest.hpp'
newcomer shown_name 'using namespace specverify;'; red newcomer 'stand behind specverify::'
newcomer shown_name ''; seq -f '// %.0f' 60 >>tests/newcomer/a.cpp; red newcomer 'lines, at most 60'
rm -r tests/newcomer
# Rates of words: the same text with an accent, and in the rewritten form. The lint ignores folders with fewer than 500 words.
paragraph() { for ((i = 0; i < 20; ++i)); do echo "$1"; echo; done; }
accent='Where a row has no entries, what the edge sends is its own token, and where one stands behind it the cloud says what
it knows of it. What was drafted is kept, and its law with it.'
plain='If a row is empty, the edge must send a token, because the cloud cannot verify an empty draft. For example, the edge
can send the most probable token. The session returns an error if the drafter fails.'
paragraph "$accent" >docs/a.md; red english 'docs: "where"'
for rule in what if 'its, their' 'because, since' 'can, may'; do paragraph "$accent" >docs/a.md; red english "docs: \"$rule"; done
paragraph "$accent" | sed 's,^.,// &,' >"$work/accent"; header row/digest.hpp "$(cat "$work/accent")"; red english 'include/specverify/row: "what"'
paragraph "$plain" >docs/a.md; lint english || { echo "english complains about plain English:"; cat "$work/out"; code=1; }; reset
sed -i 's,^//! A header.,//! How a header is made.,' include/specverify/row/digest.hpp; red english 'the first line begins with "How"'
mkdir -p apps; echo 'app.add_option("--port", port, "of the cloud, " "or its link")->required();' >apps/a.cpp; red english 'the help "of the cloud, or its link" begins with "of"'; rm apps/a.cpp
{ echo '| a | b |'; echo '|---|---|'; printf '| [`x`](y.md) | '; printf 'x%.0s' {1..101}; echo ' |'; } >docs/a.md; red english 'a cell of 101 characters'
printed() { echo "<!-- printed: rows -->"; printf '| '; printf 'x%.0s' {1..101}; printf ' %.0sword' {1..36}; echo ' |'; echo "${1:-}"; } >docs/a.md
for name in english prose; do printed '<!-- end -->'; green "$name"; printed; red "$name" 'of '; done
{ echo '| a | b |'; echo '|---|---|'; printf '| [`x`](y.md) | '; printf 'x%.0s' {1..100}; echo ' |'; } >docs/a.md; lint english || { echo "english measures 100 characters"; code=1; }; reset
# Goals of the benchmarks that are listed as missed, and the page that says so.
goals() { printf '{\n  "AVX2": [\n    {"path": "argmax", "rows": "hot", "V": 9, "ratio": 1.3%s}\n  ]\n}\n' "$1" >benchmarks/goals.json; }
missed_page() { printf '# Page\n\n## Goals that are missed\n\n| set | path | rows | V | bytes | goal | measured | why |\n|---|---|---|---|---|---|---|---|\n%s\n' "$1" >docs/performance.md; }
goals ''; missed_page ''; green missed
goals ', "missed": 1.5'; missed_page '| AVX2 | argmax | hot | 9 | +0 | 1.3 | 1.5 | ports |'; green missed
goals ', "missed": 1.6'; missed_page '| AVX2 | argmax | hot | 9 | +0 | 1.3 | 1.5 | ports |'; red missed 'does not list "AVX2 | argmax | hot | 9 | +0 | 1.3 | 1.6"'
goals ''; missed_page '| AVX2 | argmax | hot | 9 | +0 | 1.3 | 1.5 | ports |'; red missed 'which benchmarks/goals.json does not'
goals ', "missed": 1.2'; red missed 'no number above the goal'
rm -f benchmarks/goals.json
[ "$code" -eq 0 ] && echo "every lint sees its breach"
exit "$code"
