// SPDX-License-Identifier: Apache-2.0
//! One token from the law of each row of a batch with Thrust: the canonical draw of row/sample.hpp, from digests.
//!
//! Use it after `read_rows`, on the same batch. Keys, positions and rounds are read on the device.
//! Symbols:    as in row/sample.hpp. A thread a row.
//! Guarantees: the host's algorithm, its counters and its serial sums in double; tokens are those of exec::seq (under
//!             nvcc: with -fmad=false, else near-tie). A draw reads the block sums, one lane of the row (at most 64
//!             logits) and one logit; after `trial_cap` refused proposals the exact rule reads the row twice, serially.
//!             Truncated rows are drawn by it alone, from what they keep. No temporary memory.
//! See:        docs/algorithms/device.md, tests/device/thrust_rows_test.cpp
#ifndef SPECVERIFY_DEVICE_SAMPLE_HPP
#define SPECVERIFY_DEVICE_SAMPLE_HPP

#include <specverify/device/detail/draw.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

template <class Scalar, class Key>
struct draw_token {
  device_batch<Scalar> batch;
  device_stream<Key> random;
  std::uint32_t trial_cap;
  device_token* out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    out[r] = draw_from(drawn_row<Scalar>(batch, r), row_stream<Key>{random, static_cast<std::uint32_t>(r)}, trial_cap);
  }
};

}  // namespace thrust_detail

//! One draw a row into `tokens`, from the digests that `read_rows` made before. Errors, of the arguments alone: those
//! of `read_rows`; null_span (keys, positions, rounds or tokens); engine_failed.
template <class Policy, class Scalar, class Key>
[[nodiscard]] status sample(const exec::thrust_on<Policy>& how, const device_batch<Scalar>& batch,
                            const device_stream<Key>& random, device_token* tokens,
                            const device_draw& options = {}) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (tokens == nullptr || !random.has_all()) return device_detail::refusal(errc::null_span);
  return thrust_detail::guarded([&] {
    thrust_detail::for_each_index(how.policy, batch.rows.count,
                                  thrust_detail::draw_token<Scalar, Key>{batch, random, options.trial_cap, tokens});
    return status{};
  });
}

SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
