// SPDX-License-Identifier: Apache-2.0
//! Estimates the computing time of a transformer from its shape: the number of operations and bytes, divided by the
//! speed of the CPU or GPU (roofline model).
//!
//! Paper:      WISV (arXiv 2604.17701), equations (11)-(17).
//! Symbols:    f(n) = token_flops after n tokens; F = operations; d_in, w = inputs and width of the decision head; |C|
//!             = mismatches. The comments of the fields define the other symbols.
//! Guarantees: O(1), no allocation, noexcept. Call `check` first, because the formulas need valid values.
//! Deviates:   adds a limit by memory bandwidth and a launch time. Neither costs time by default.
//! See:        docs/algorithms/latency.md, tests/unit/link/compute_test.cpp
#ifndef SPECVERIFY_LINK_COMPUTE_HPP
#define SPECVERIFY_LINK_COMPUTE_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/link/channel_state.hpp>

#include <cstdint>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! The sizes of a decoder that determine the cost.
struct transformer_shape {
  std::uint32_t layers = 16;
  std::uint32_t hidden_size = 2048;        //!< d
  std::uint32_t feed_forward_size = 8192;  //!< d_ff
  std::uint32_t kv_heads = 8;
  std::uint32_t heads = 32;
  std::uint32_t vocab_size = 128256;  //!< V
};
inline constexpr transformer_shape llama_3_2_1b{16, 2048, 8192, 8, 32, 128256};
inline constexpr transformer_shape llama_3_1_8b{32, 4096, 14336, 8, 32, 128256};

//! Coefficients of the operation count. A multiplication and an addition count as two operations.
struct flop_coefficients {
  double attention = 4;     //!< c_1, multiplies n d
  double projection = 4;    //!< multiplies d^2: c_2 = projection (1 + kv_heads / heads), 8 without sharing
  double feed_forward = 6;  //!< c_3, multiplies d d_ff: a gated layer
  double output = 2;        //!< c_4, multiplies d V
};

//! A CPU or GPU. Roofline: a pass takes max(operations / (efficiency peak), bytes / bandwidth) + launch.
struct compute_engine {
  double peak = 1e12;                 //!< P, operations/s, > 0
  double efficiency = 1;              //!< eta, in (0, 1]
  double bandwidth = unlimited_rate;  //!< bytes/s, > 0; unlimited: no memory term, as in the paper
  double launch = 0;                  //!< s per pass, >= 0
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Checks an engine. Errors (`where` = index of the field, from 0): invalid_rate, invalid_probability (efficiency),
//! invalid_duration.
[[nodiscard]] constexpr status check(const compute_engine& engine) noexcept {
  if (!numeric::is_positive_within(engine.peak, unlimited_rate)) return detail::link_error(errc::invalid_rate, 0);
  if (!numeric::is_positive_within(engine.efficiency, 1)) return detail::link_error(errc::invalid_probability, 1);
  if (!numeric::is_positive_within(engine.bandwidth, unlimited_rate)) return detail::link_error(errc::invalid_rate, 2);
  return numeric::is_within(engine.launch, detail::longest_time) ? status{}
                                                                 : detail::link_error(errc::invalid_duration, 3);
}
//! Checks a shape. Errors (`where` = index of the field, from 0): invalid_argument (0, or kv_heads above heads).
[[nodiscard]] constexpr status check(const transformer_shape& shape) noexcept {
  const std::uint32_t sizes[] = {shape.layers,   shape.hidden_size, shape.feed_forward_size,
                                 shape.kv_heads, shape.heads,       shape.vocab_size};
  for (std::uint32_t i = 0; i < 6; ++i) {
    if (sizes[i] == 0) return detail::link_error(errc::invalid_argument, i);
  }
  return shape.kv_heads <= shape.heads ? status{} : detail::link_error(errc::invalid_argument, 3);
}

//! WISV (13): returns f(n), the operations for one token that attends to n earlier tokens.
[[nodiscard]] constexpr double token_flops(const transformer_shape& shape, double seen,
                                           const flop_coefficients& per = {}) noexcept {
  const double d = shape.hidden_size, sharing = 1 + static_cast<double>(shape.kv_heads) / shape.heads;
  const double layer =
      per.attention * seen * d + per.projection * sharing * d * d + per.feed_forward * d * shape.feed_forward_size;
  return shape.layers * layer + per.output * d * shape.vocab_size;
}
//! WISV (12), (15): returns the sum of f(n + j), j = 0 .. count - 1, for a window drafted or verified after n tokens.
//! If the cloud feeds the last committed token again, count is L + 1.
[[nodiscard]] constexpr double window_flops(const transformer_shape& shape, double seen, std::uint32_t count,
                                            const flop_coefficients& per = {}) noexcept {
  const double tokens = count;
  return tokens * token_flops(shape, seen, per) +
         per.attention * shape.layers * shape.hidden_size * (tokens * (tokens - 1) / 2);
}
//! WISV (17): returns 2 d_in w + 2 w, the operations of the head for one mismatch.
[[nodiscard]] constexpr double head_flops(std::uint32_t input_size, std::uint32_t width) noexcept {
  return 2.0 * input_size * width + 2.0 * width;
}
//! Returns the bytes of the parameters, each of which a pass reads once.
[[nodiscard]] constexpr double weight_bytes(const transformer_shape& shape, double bytes_per_parameter = 2) noexcept {
  const double d = shape.hidden_size, sharing = 1 + static_cast<double>(shape.kv_heads) / shape.heads;
  return bytes_per_parameter *
         (shape.layers * (2 * sharing * d * d + 3.0 * d * shape.feed_forward_size) + d * shape.vocab_size);
}

//! WISV (11), (14), (16): returns F / (eta P) or the memory time, whichever is larger, plus the launch time.
[[nodiscard]] constexpr double compute_time(double flops, const compute_engine& engine, double bytes = 0) noexcept {
  const double computing = flops / (engine.efficiency * engine.peak);
  const double reading = engine.bandwidth >= unlimited_rate ? 0 : bytes / engine.bandwidth;
  return (reading > computing ? reading : computing) + engine.launch;
}
//! Returns T_head = |C| f_head / (eta P), where f_head = head_flops. The launch time is not included.
[[nodiscard]] constexpr double head_time(std::uint32_t mismatches, std::uint32_t input_size, std::uint32_t width,
                                         const compute_engine& engine) noexcept {
  return mismatches * head_flops(input_size, width) / (engine.efficiency * engine.peak);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
