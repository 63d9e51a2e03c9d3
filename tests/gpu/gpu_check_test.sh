#!/usr/bin/env bash
# scripts/gpu_check without a GPU: nvcc compiles all of it, no GPU is said, and each way in which a step ends is reported right.
set -uo pipefail
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { echo "$1"; exit 1; }

# What a step says, by programs that only say it.
mkdir "$work/bin"
program() { printf '#!/usr/bin/env bash\n%s\n' "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
program card 'echo "90 a card"'
program check '[ "$1" = 60 ] && echo "small" ; [ -e "${0%/*}/slow_check" ] && sleep 20; echo "checked $1 rows"; [ ! -e "${0%/*}/broken" ]'
program compute-sanitizer 'case "$2" in memcheck) echo "Error: Device not supported"; exit 1 ;; racecheck) echo "RACECHECK SUMMARY: 0 hazards displayed" ;; *) echo "ERROR SUMMARY: 0 errors" ;; esac'
program bench 'ratio=1.10; [ -e "${0%/*}/slow" ] && ratio=1.60
  printf "%s\n" who,task "specverify,digest,float32,512,128256,9,10,9,1,memory,9,$ratio" "specverify,digest,float32,1,128256,8,9,1,9,L2,4,2" \
    "specverify,verify_3,float32,64,128256,9,10,9,9,memory,9,9" >"$1"'
program verify_batch 'echo "round 2: request 63 goes on at 170"; [ ! -e "${0%/*}/broken_example" ]'
program thrust 'echo "thrust,digest,float32,64,128256,90,100,9,11,memory,9.5,10.5" >>"$1"'
program gnuplot 'exit 0'
run() {
  SPECVERIFY_GPU_PROGRAMS=$work/bin SPECVERIFY_GPU_REPORT=$work/report.txt SPECVERIFY_PYTHON=no_such_python PATH=$work/bin:$PATH \
    bash "$root/scripts/gpu_check" "$@" >"$work/out" 2>&1
}
ends() { grep -qE "^$1 +$2 " "$work/report.txt" || say "$1 is not $2: $(cat "$work/out")"; }
run --rows 500
[ $? -eq 3 ] || say "a tool that refuses is no 3"
ends tests ok && ends example ok && ends benchmarks ok && ends goals ok && ends thrust ok && ends torch 'left out' && ends sanitizer_racecheck ok
ends sanitizer_memcheck refused
grep -q 'checked 500 rows' "$work/report.txt" && grep -q '2 of 2 goals are met, 0 figures' "$work/report.txt" || say "the report lacks what programs said"
program compute-sanitizer 'echo "ERROR SUMMARY: 0 errors"; echo "RACECHECK SUMMARY: 0 hazards displayed"'
run || say "all is green, and the exit code is not 0: $(cat "$work/out")"
touch "$work/bin/slow"
run
[ $? -eq 1 ] || say "a figure that is not held is no failure"
ends goals FAILED
grep -q 'slower than an H200 was: digest float32, 512 rows of 128256: 1.60 reads, at most 1.5' "$work/report.txt" || say "it is not said which"
grep -q '1 of 2 goals are met, 1 figures' "$work/report.txt" || say "a missed goal is not counted"
rm "$work/bin/slow" && touch "$work/bin/broken"
run
[ $? -eq 1 ] || say "a failing test is no failure"
ends tests FAILED
rm "$work/bin/broken"
touch "$work/bin/broken_example"
run
[ $? -eq 1 ] || say "an example that fails is no failure"
ends example FAILED
rm "$work/bin/broken_example"
touch "$work/bin/slow_check"
SPECVERIFY_GPU_SECONDS=2 run
[ $? -eq 1 ] || say "a test that takes too long is no failure"
grep -qE '^tests +FAILED .*not done in its time' "$work/report.txt" && ends benchmarks FAILED || say "a step without time is not said: $(cat "$work/out")"
rm "$work/bin/slow_check"
program compute-sanitizer 'echo "ERROR SUMMARY: 3 errors"; exit 99'
run
[ $? -eq 1 ] || say "what a sanitizer finds is no failure"
ends sanitizer_memcheck FAILED
program compute-sanitizer 'echo "ERROR SUMMARY: 0 errors"; exit 1'
run
[ $? -eq 1 ] || say "checks that fail under a sanitizer are no failure"
program compute-sanitizer 'echo "Target application terminated"; exit 1'
run
[ $? -eq 3 ] || say "a sanitizer without a summary did not refuse"
rm "$work/bin/bench"
run
ends benchmarks 'left out' && ends goals 'left out' && ends thrust ok
( cd / && run --wheel nowhere.whl )  # any working directory
ends flashinfer 'left out'
program card 'echo "no GPU found: nothing"; exit 77'
run
[ $? -eq 77 ] && grep -q 'no GPU found' "$work/out" || say "no GPU is no 77"
echo "steps end as they should"

# The programs themselves: in the long run all of them, else the one that no test on the simulator compiles.
nvcc=$(bash scripts/nvcc) || exit $?
if [ "${SPECVERIFY_LONG:-0}" != 1 ]; then
  "$nvcc" -ptx -Xcicc -O0 -std=c++20 -arch=compute_80 -Werror all-warnings -Iinclude -Itests -Ibenchmarks benchmarks/cuda/bench.cu \
    -o "$work/bench.ptx" || exit 1
  exit 0
fi
SPECVERIFY_GPU_REPORT=$work/built.txt bash scripts/gpu_check --build-only || exit 1
"$work/built/check" 2000 >"$work/out"
code=$?
[ "$code" -eq 77 ] && ! grep -q 'no GPU found' "$work/out" && say "77 without a word"
[ "$code" -eq 77 ] || [ "$code" -eq 0 ] || say "$(cat "$work/out")"
