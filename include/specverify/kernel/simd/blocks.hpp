// SPDX-License-Identifier: Apache-2.0
//! Computes exact weights and masks of large values with vector instructions, for rows whose engine supplies the
//! maximum and the sum of each block (row/blocks.hpp).
#ifndef SPECVERIFY_KERNEL_SIMD_BLOCKS_HPP
#define SPECVERIFY_KERNEL_SIMD_BLOCKS_HPP

#include <specverify/kernel/scalar/blocks.hpp>
#include <specverify/kernel/simd/log_sum_exp.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

template <class Level>
inline void write_exact(exec::simd_on<Level>, const float* values, std::uint32_t count, const exact_weight& weight,
                        double* out) noexcept {
  constexpr std::uint32_t width = pack_size<double>;
  const std::uint32_t whole = count / width * width;
  const pack<double> reference(weight.reference), inverse(weight.inverse_temperature);
  for (std::uint32_t i = 0; i < whole; i += width)
    store_pack(out + i, exponentials((widened(values + i) - reference) * inverse));
  write_exact(exec::seq, values + whole, count - whole, weight, out + whole);
}

template <class Level>
inline void write_reaching(exec::simd_on<Level>, const float* values, std::uint32_t size, float bar,
                           std::uint64_t* words) noexcept {
  write_masks(values, size, pack<float>(bar), words);
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
