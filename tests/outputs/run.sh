#!/usr/bin/env bash
# The same outputs from every build: each program below reads the same rows, and none may decide otherwise than the
# scalar kernels of g++. Prints the rows compared and how many differ. SPECVERIFY_LONG=1: every build, every row.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
[ "$(uname -m)" = x86_64 ] || { echo "x86-64 only"; exit 77; }
work=${SPECVERIFY_BUILD_DIR:-build}/outputs
mkdir -p "$work" || exit 1
small=100000 wide=200 long=${SPECVERIFY_LONG:-0}
each=100
[ "$long" = 1 ] && each=1
has() { grep -qw "$1" /proc/cpuinfo; }
level_runs() { # whether this processor runs a level
  case $1 in x86-64) true ;; x86-64-v3) has avx2 && has fma ;; x86-64-v4) has avx512vl && has avx512dq ;; icelake-server) has avx512_vbmi2 && has avx512ifma ;; esac
}
read -r -a flags <<<"-O2 -Iinclude"
build() { # name, compiler, flags...
  "$2" "${flags[@]}" "${@:3}" tests/outputs/row_outputs.cpp -o "$work/$1" >"$work/$1.log" 2>&1 || { head -n 20 "$work/$1.log"; return 1; }
}
compared() { # what is said, rows apart, threads, outputs
  local said code
  said=$("$work/reference" compare "$work/reference.$2.outputs" "$4")
  code=$?
  printf '%-42s %s thread%s  %s\n' "$1" "$3" "$([ "$3" = 1 ] && echo ' ' || echo s)" "$said"
  return "$code"
}
outputs_of() { # name, rows apart, command...: compares with the scalar kernels
  local name=$1 apart=$2 threads code=0
  for threads in 1 2; do
    "${@:3}" write "$small" "$wide" "$apart" "$threads" "$work/$name.outputs" || { echo "$name: exit code $?"; return 1; }
    compared "$name" "$apart" "$threads" "$work/$name.outputs" || code=1
  done
  return "$code"
}
one() { # name, compiler, flags...
  build "$@" && outputs_of "$1" "$each" "$work/$1"
}
scalar=-DSPECVERIFY_OUTPUTS_POLICY=specverify::exec::seq
build reference g++ -std=c++20 -O1 -DSPECVERIFY_WITH_XSIMD=0 "$scalar" || exit 1
for apart in "$each" "$((each * 10))"; do
  "$work/reference" write "$small" "$wide" "$apart" 1 "$work/reference.$apart.outputs" || exit 1
done
"$work/reference" planted "$small" "$wide" "$each" 1 "$work/planted.outputs" || exit 1
said=$("$work/reference" compare "$work/reference.$each.outputs" "$work/planted.outputs" | tail -n 1)
[[ $said == *" 1 differing" ]] || { echo "one row differs, and the comparison says: $said"; exit 1; }
# compiler, xsimd or vectors, level, language: g++ contracts products and sums under gnu++20 alone
builds=("g++ vectors x86-64-v3 gnu++20" "g++ xsimd icelake-server gnu++20" "clang++ vectors icelake-server c++20")
if [ "$long" = 1 ]; then
  builds=()
  for compiler in g++ clang++; do
    for packs in vectors xsimd; do
      for level in x86-64 x86-64-v3 x86-64-v4 icelake-server; do builds+=("$compiler $packs $level gnu++20"); done
    done
    builds+=("$compiler scalar x86-64-v3 gnu++20")
  done
  builds+=("g++ vectors x86-64-v4 c++20" "g++ xsimd x86-64-v3 c++20")
  echo "every build reads $small rows of 1 to 4099 ids, $wide of 128 256 and 200 hard ones; aarch64 a tenth of them"
fi
for build in "${builds[@]}"; do
  read -r compiler packs level language <<<"$build"
  name=$compiler-$packs-$level-$language
  level_runs "$level" || { echo "$name: not on this processor"; continue; }
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do sleep 0.1; done
  more=(-std="$language" -march="$level" -DSPECVERIFY_WITH_XSIMD=0)
  [ "$packs" = xsimd ] && more+=(-USPECVERIFY_WITH_XSIMD -DSPECVERIFY_WITH_XSIMD=1)
  [ "$packs" = scalar ] && more+=("$scalar")
  { one "$name" "$compiler" "${more[@]}"; echo $? >"$work/$name.code"; } &
  names+=("$name")
done
wait
if [ "$long" = 1 ]; then
  for xsimd in 0 1; do
    name=aarch64-xsimd-$xsimd
    host=$work/host_headers
    mkdir -p "$host" && ln -sfn /usr/include/xsimd "$host/xsimd"
    more=(-std=gnu++20 -static -isystem "$host" -DSPECVERIFY_WITH_XSIMD="$xsimd")
    { build "$name" aarch64-linux-gnu-g++-12 "${more[@]}" && outputs_of "$name" $((each * 10)) qemu-aarch64 "$work/$name"; echo $? >"$work/$name.code"; } &
    names+=("$name")
  done
  wait
fi
failed=0
for name in "${names[@]}"; do [ "$(cat "$work/$name.code")" = 0 ] || failed=1; done
exit "$failed"
