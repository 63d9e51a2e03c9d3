// SPDX-License-Identifier: Apache-2.0
//! Scalar reference: writes the probabilities of a row, with one exact sum and then one quotient per id.
#ifndef SPECVERIFY_KERNEL_SCALAR_SOFTMAX_HPP
#define SPECVERIFY_KERNEL_SCALAR_SOFTMAX_HPP

#include <specverify/kernel/scalar/log_sum_exp.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Writes source.size probabilities. The unnamed number is the sum from one_read_sum, or 0; only the vector version
//! uses it.
template <class Scalar, class Out>
inline void write_softmax(exec::seq_policy policy, const row_source<Scalar>& source, const exact_weight& weight, double,
                          Out* out) noexcept {
  const double inverse = 1.0 / exact_sum(policy, source, weight);
  working<Scalar> buffer[exact_size];
  for (std::uint32_t first = 0; first < source.size; first += exact_size) {
    const working<Scalar>* values = load(source, first, exact_size, buffer);
    const std::uint32_t filled = source.size - first < exact_size ? source.size - first : exact_size;
    for (std::uint32_t i = 0; i < filled; ++i)
      out[first + i] = static_cast<Out>(weight(static_cast<double>(values[i])) * inverse);
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
