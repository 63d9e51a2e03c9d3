#!/usr/bin/env bash
# Kernels keep to their limits, in the long run on every architecture, and a planted array that does not stay in registers is refused.
set -uo pipefail
levels='80 90 120'
[ "${SPECVERIFY_LONG:-0}" = 1 ] && levels='80 86 89 90 100 120'
SPECVERIFY_CUDA_LEVELS=$levels bash scripts/kernel_limits || exit $?
if output=$(SPECVERIFY_CUDA_LEVELS=90 bash scripts/kernel_limits -DSPECVERIFY_PLANTED_ARRAY); then
  echo "a planted local array was not refused"
  exit 1
fi
grep -q 'planted_kernel on sm_90 has a stack of' <<<"$output" || { echo "refused for another reason: $output"; exit 1; }
