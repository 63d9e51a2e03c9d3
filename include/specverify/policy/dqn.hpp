// SPDX-License-Identifier: Apache-2.0
//! Plans each round with a small trained network. The network estimates the value of 22 actions (L drafts at resolution
//! l), and the window takes the action with the highest value.
//!
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605), deep Q-learning; layers and inputs as in the authors'
//!             code.
//! Guarantees: inference is pure, noexcept and allocates nothing. It takes 52 thousand multiplications. Near-tie:
//!             rounding can decide between two actions of almost equal value.
//! Cost:       O(weights).
//! See:        docs/algorithms/dqn.md, tests/unit/policy/dqn_test.cpp, policy/dqn_trainer.hpp
#ifndef SPECVERIFY_POLICY_DQN_HPP
#define SPECVERIFY_POLICY_DQN_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/status.hpp>
#include <specverify/policy/concepts.hpp>
#include <specverify/policy/resolution.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

inline constexpr std::uint32_t dqn_actions = 22;
inline constexpr std::uint32_t dqn_inputs = observed_probabilities + 3;

//! Location of a fully connected layer in the array of weights: starting at `offset`, the weights [input][output], then
//! one bias per output.
struct dqn_layer {
  std::uint32_t inputs = 0, outputs = 0, offset = 0;
  [[nodiscard]] SPECVERIFY_INLINE constexpr std::uint32_t bias() const noexcept { return offset + inputs * outputs; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr std::uint32_t end() const noexcept { return bias() + outputs; }
};

//! The layers in order: main 1, main 2, auxiliary 1, auxiliary 2, uplink 1, uplink 2, joined, output.
inline constexpr std::array<dqn_layer, 8> dqn_layers = [] {
  constexpr std::array<std::array<std::uint32_t, 2>, 8> sizes{{{observed_probabilities, 128},
                                                               {128, 128},
                                                               {2, 32},
                                                               {32, 32},
                                                               {1, 16},
                                                               {16, 16},
                                                               {176, 128},
                                                               {128, dqn_actions}}};
  std::array<dqn_layer, 8> layers{};
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    layers[i] = {sizes[i][0], sizes[i][1], at};
    at = layers[i].end();
  }
  return layers;
}();
inline constexpr std::uint32_t dqn_parameters = dqn_layers[7].end();
static_assert(dqn_parameters == 51782);

struct dqn_weights {
  std::array<float, dqn_parameters> values{};
};

//! Inputs of the network: 64 probabilities, the mean and the newest of the non-zero probabilities, and the uplink
//! state.
using dqn_features = std::array<float, dqn_inputs>;
//! The network's outputs, one value per action.
using dqn_values = std::array<float, dqn_actions>;

inline constexpr std::size_t dqn_file_bytes = 8 + 4 + 8 * dqn_layers.size() + 4 * std::size_t{dqn_parameters} + 8;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the inputs of the network. The mean and the newest probability are 0 until a draft is accepted.
[[nodiscard]] constexpr dqn_features features_of(const observation& seen) noexcept {
  dqn_features made{};
  float sum = 0, last = 0;
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < observed_probabilities; ++i) {
    const float probability = seen.accepted_probability[i];
    made[i] = probability;
    if (probability > 0) {
      sum += probability;
      last = probability;
      count += 1;
    }
  }
  made[observed_probabilities] = count > 0 ? sum / static_cast<float>(count) : 0.0f;
  made[observed_probabilities + 1] = last;
  made[observed_probabilities + 2] = seen.uplink_state != 0 ? 1.0f : 0.0f;
  return made;
}

namespace detail {

template <bool Rectified>
constexpr void dqn_apply(const dqn_weights& weights, const dqn_layer& layer, std::span<const float> in,
                         std::span<float> out) noexcept {
  const float* bias = weights.values.data() + layer.bias();
  for (std::uint32_t o = 0; o < layer.outputs; ++o) out[o] = bias[o];
  for (std::uint32_t i = 0; i < layer.inputs; ++i) {
    const float* row = weights.values.data() + layer.offset + i * layer.outputs;
    const float x = in[i];
    std::uint32_t o = 0;
    for (float products[16]; o + 16 <= layer.outputs; o += 16) {
      for (std::uint32_t k = 0; k < 16; ++k) products[k] = x * row[o + k];
      if (!std::is_constant_evaluated()) numeric::round_here(products);  // not fused with the sum, so all builds agree
      for (std::uint32_t k = 0; k < 16; ++k) out[o + k] += products[k];
    }
    for (; o < layer.outputs; ++o) out[o] += numeric::product(x, row[o]);
  }
  if constexpr (Rectified) {
    for (std::uint32_t o = 0; o < layer.outputs; ++o) out[o] = out[o] > 0 ? out[o] : 0;
  }
}

inline constexpr std::uint64_t dqn_magic = 0x31304E5144565300u;  // "\0SVDQN01" in little-endian order
inline constexpr std::uint64_t dqn_magic_mask = 0x0000FFFFFFFFFFFFu;

}  // namespace detail

//! Returns the network's value for each action.
[[nodiscard]] constexpr dqn_values dqn_evaluate(const dqn_weights& weights, const dqn_features& in) noexcept {
  std::array<float, 128> first{};
  std::array<float, 176> joined{};
  std::array<float, 128> hidden{};
  dqn_values out{};
  const std::span<const float> inputs(in);
  detail::dqn_apply<true>(weights, dqn_layers[0], in, first);
  detail::dqn_apply<true>(weights, dqn_layers[1], first, joined);
  detail::dqn_apply<true>(weights, dqn_layers[2], inputs.subspan(64), first);
  detail::dqn_apply<true>(weights, dqn_layers[3], first, std::span(joined).subspan(128));
  detail::dqn_apply<true>(weights, dqn_layers[4], inputs.subspan(66), first);
  detail::dqn_apply<true>(weights, dqn_layers[5], first, std::span(joined).subspan(160));
  detail::dqn_apply<true>(weights, dqn_layers[6], joined, hidden);
  detail::dqn_apply<false>(weights, dqn_layers[7], hidden, out);
  return out;
}

//! Returns the action with the highest value; the first action wins ties.
[[nodiscard]] constexpr std::uint32_t dqn_best(const dqn_values& values) noexcept {
  std::uint32_t best = 0;
  for (std::uint32_t i = 1; i < dqn_actions; ++i) best = values[i] > values[best] ? i : best;
  return best;
}

//! Checks that all weights are finite. Errors: value_not_finite (`where` = index of the weight).
[[nodiscard]] constexpr status check(const dqn_weights& weights) noexcept {
  for (std::uint32_t i = 0; i < dqn_parameters; ++i) {
    if (!numeric::is_finite(weights.values[i])) return {errc::value_not_finite, part::policy, i};
  }
  return {};
}

//! Writes `dqn_file_bytes` bytes to the front of `out` and returns them: magic number and version, the sizes of the
//! layers, the weights in little-endian float32, and a checksum. Errors: output_too_small (`where` = bytes needed),
//! value_not_finite (`where` = weight).
[[nodiscard]] constexpr result<std::span<std::byte>> write_dqn(const dqn_weights& weights,
                                                               std::span<std::byte> out) noexcept {
  if (out.size() < dqn_file_bytes)
    return status{errc::output_too_small, part::policy, static_cast<std::uint32_t>(dqn_file_bytes)};
  if (const status why = check(weights); !why.ok()) return why;
  std::byte* at = out.data();
  const auto put = [&at](std::uint64_t value, unsigned bytes) {
    numeric::store_le(at, value, bytes);
    at += bytes;
  };
  put(detail::dqn_magic, 8);
  put(dqn_layers.size(), 4);
  for (const dqn_layer& layer : dqn_layers) {
    put(layer.inputs, 4);
    put(layer.outputs, 4);
  }
  for (const float value : weights.values) put(std::bit_cast<std::uint32_t>(value), 4);
  put(numeric::fnv1a(out.first(dqn_file_bytes - 8)), 8);
  return out.first(dqn_file_bytes);
}

//! Reads the output of `write_dqn` into `values`, for example into `dqn_weights::values`. `values` must have at least
//! `dqn_parameters` elements. On an error `values` are unchanged.
//! Errors: output_too_small (`where` = values needed), truncated, trailing_bytes, weights_header (not such a file),
//! unknown_version, weights_shape (`where` = layer), checksum_mismatch, value_not_finite (`where` = weight).
[[nodiscard]] inline result<std::span<float>> read_dqn(std::span<const std::byte> in,
                                                       std::span<float> values) noexcept {
  constexpr std::size_t header = 8 + 4 + 8 * dqn_layers.size();
  const auto number = [in](std::size_t at) { return static_cast<std::uint32_t>(numeric::load_le(in.data() + at, 4)); };
  const auto fail = [](errc code, std::size_t where) {
    return status{code, part::policy, static_cast<std::uint32_t>(where)};
  };
  if (values.size() < dqn_parameters) return fail(errc::output_too_small, dqn_parameters);
  if (in.size() < 8) return fail(errc::truncated, in.size());
  const std::uint64_t magic = numeric::load_le(in.data(), 8);
  if ((magic & detail::dqn_magic_mask) != (detail::dqn_magic & detail::dqn_magic_mask))
    return fail(errc::weights_header, 0);
  if (magic != detail::dqn_magic) return fail(errc::unknown_version, 6);
  if (in.size() < header) return fail(errc::truncated, in.size());
  if (number(8) != dqn_layers.size()) return fail(errc::weights_shape, dqn_layers.size());
  for (std::size_t i = 0; i < dqn_layers.size(); ++i) {
    if (number(12 + 8 * i) != dqn_layers[i].inputs || number(16 + 8 * i) != dqn_layers[i].outputs)
      return fail(errc::weights_shape, i);
  }
  if (in.size() < dqn_file_bytes) return fail(errc::truncated, in.size());
  if (in.size() > dqn_file_bytes) return fail(errc::trailing_bytes, dqn_file_bytes);
  if (numeric::load_le(in.data() + dqn_file_bytes - 8, 8) != numeric::fnv1a(in.first(dqn_file_bytes - 8)))
    return fail(errc::checksum_mismatch, dqn_file_bytes - 8);
  const auto value = [&number](std::size_t i) { return std::bit_cast<float>(number(header + 4 * i)); };
  for (std::size_t i = 0; i < dqn_parameters; ++i)
    if (!numeric::is_finite(value(i))) return fail(errc::value_not_finite, i);
  for (std::size_t i = 0; i < dqn_parameters; ++i) values[i] = value(i);
  return values.first(dqn_parameters);
}

//! A window that chooses its plans with a trained network. The caller owns the weights, which must outlive the window.
class dqn_window {
 public:
  static constexpr bool unconditional = true;
  //! tells a session to record `observation::accepted_probability`
  static constexpr bool needs_probabilities = true;

  //! Returns a window. Errors: size_mismatch (the grid does not have 22 actions), the errors of check(action_grid),
  //! value_not_finite (a weight).
  [[nodiscard]] static result<dqn_window> make(const dqn_weights& weights,
                                               const action_grid& grid = paper_action_grid()) noexcept {
    if (grid.size != dqn_actions) return status{errc::size_mismatch, part::policy, grid.size};
    if (const status why = check(grid); !why.ok()) return why;
    if (const status why = check(weights); !why.ok()) return why;
    return dqn_window(weights, grid);
  }
  //! Returns the index of the action for the next round.
  [[nodiscard]] std::uint32_t choose(const observation& seen) const noexcept {
    return dqn_best(dqn_evaluate(*weights_, features_of(seen)));
  }
  [[nodiscard]] draft_plan begin(const observation& seen) const noexcept {
    const window_action& chosen = grid_[choose(seen)];
    return {chosen.draft_length, chosen.resolution};
  }
  [[nodiscard]] constexpr plan_range range() const noexcept {
    const action_range all = range_of(grid_);
    return {all.most.draft_length, all.least.resolution, all.most.resolution};
  }
  [[nodiscard]] constexpr bool proceed(std::uint32_t, const law&, std::uint64_t) const noexcept { return true; }

 private:
  dqn_window(const dqn_weights& weights, const action_grid& grid) noexcept : weights_(&weights), grid_(grid) {}
  const dqn_weights* weights_;
  action_grid grid_;
};

static_assert(ranged_window<dqn_window>);

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
