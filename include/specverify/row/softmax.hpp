// SPDX-License-Identifier: Apache-2.0
//! Writes the probabilities of a row as floats or doubles. Use it only if your own code needs them; the library does
//! not.
//!
//! Symbols:    p(v) = e^((z_v - max) / T) / sum for logits, p_v / sum for probabilities; x = (z_v - max) / T.
//! Guarantees: relative error at most 2^-53 (3 (|x| + ln V) + V / 256 + 30), plus the rounding to the output type.
//!             Float output of float or 16-bit rows under exec::simd: 3 * 2^-24 (|x| + ln V + 10), plus an absolute
//!             error of at most 2^-126, and entries below 2^-126 of the largest get 0. Near-tie: within these errors,
//!             results can differ between backends. Entries with x < -700 and forbidden ids get exactly 0. If T < 1e-6,
//!             the argmax gets 1. O(V); no allocation; noexcept.
//! See:        docs/algorithms/softmax.md, kernel/scalar/softmax.hpp, tests/unit/row/softmax_test.cpp,
//!             benchmarks/bench_softmax.cpp
#ifndef SPECVERIFY_ROW_SOFTMAX_HPP
#define SPECVERIFY_ROW_SOFTMAX_HPP

#include <specverify/row/detail/open.hpp>

#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! Writes valid_size probabilities to the front of `out`, which holds float or double and must not overlap the row.
//! Errors: as for `read_row`, except errors of the request or the workspace; unsupported (a truncation),
//!         output_too_small. On an error nothing is written.
template <execution_policy Policy, class Scalar, class Out>
[[nodiscard]] status softmax(Policy policy, row_view<Scalar> row, const row_transform& transform,
                             std::span<Out> out) noexcept {
  static_assert(std::is_same_v<Out, float> || std::is_same_v<Out, double>, "softmax writes float or double");
  if (const status why = detail::check_arguments(row, transform); !why.ok()) return why;
  if (transform.truncation.active()) return detail::row_error(errc::unsupported);
  if (out.size() < row.valid_size()) return detail::row_error(errc::output_too_small);
  const kernel::row_source<Scalar> source = detail::open(row, transform);
  kernel::exact_weight weight{0, transform.greedy() ? 1.0 : 1.0 / transform.temperature, source.probabilities};
  double sum = 0;
  if (std::is_same_v<Out, float> && !transform.greedy())
    sum = kernel::one_read_sum(policy, source, weight.inverse_temperature, weight.reference);
  if (!(sum > 0.0)) {
    const auto found = kernel::find_maximum(policy, source);
    if (const status why = detail::check_values(
            source, found, source.probabilities ? kernel::exact_sum(policy, source, {0, 1, true}) : 1.0);
        !why.ok())
      return why;
    if (transform.greedy()) {
      for (std::uint32_t id = 0; id < source.size; ++id) out[id] = id == found.argmax ? Out{1} : Out{0};
      return {};
    }
    weight.reference = static_cast<double>(found.maximum);
  }
  kernel::write_softmax(policy, source, weight, sum, out.data());
  return {};
}

SPECVERIFY_NAMESPACE_END

#endif
