// SPDX-License-Identifier: Apache-2.0
//! Draws one token from the distribution of each row of a batch, with Thrust. This is the canonical draw of
//! row/sample.hpp.
//!
//! Use it after `read_rows`, on the same batch. Keys, positions and rounds are read on the device.
//! Guarantees: tokens equal the results of exec::seq. If nvcc compiles without -fmad=false, a token can differ at a
//!             near tie. A draw reads the block sums and at most 65 logits. After `trial_cap` rejected proposals, the
//!             exact rule reads the row twice, serially. Truncated rows always use this rule, on the kept ids. No
//!             temporary memory.
//! Cost:       O(V / 1024) per row.
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

//! Draws one token per row into `tokens`. It needs the digests of `read_rows`. Errors: as for `read_rows`; null_span
//! (keys, positions, rounds or tokens); engine_failed.
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
