#!/usr/bin/env bash
# Kernels keep to their limits, in the long run on every architecture and for half precision, too, and a planted array that does not stay in registers is refused.
set -uo pipefail
levels='90 headers' types=(-DSPECVERIFY_WITHOUT_FLOAT16)  # a level takes two minutes of a processor
[ "${SPECVERIFY_LONG:-0}" = 1 ] && levels='80 86 89 90 100 120 host' types=()
SPECVERIFY_CUDA_LEVELS=$levels bash scripts/nvcc --limits "${types[@]}" || exit $?
if output=$(SPECVERIFY_CUDA_LEVELS=90 bash scripts/nvcc --limits -DSPECVERIFY_PLANTED_ARRAY); then
  echo "a planted local array and a fused sum were not refused"
  exit 1
fi
for why in 'planted_kernel on sm_90 has a stack of' 'planted_kernel fuses a product and a sum'; do
  grep -q "$why" <<<"$output" || { echo "not refused because it $why: $output"; exit 1; }
done
