// SPDX-License-Identifier: Apache-2.0
//! Scalar reference of the coarse pass: one read of a row computes the lane sums, block sums and extremes of a digest.
//!
//! Lane j of block b adds the coarse weight (`envelope`) of each id v of the block with v mod 16 = j, in float, in
//! ascending order. A block sum adds the lanes in double, in the order of kernel::lane_tree. The bits are the same on
//! every backend, unless -ffast-math reorders sums.
#ifndef SPECVERIFY_KERNEL_SCALAR_DIGEST_HPP
#define SPECVERIFY_KERNEL_SCALAR_DIGEST_HPP

#include <specverify/kernel/scalar/argmax.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Returns the reference of the coarse pass: the largest value among the first 16 ids of every block, or forbidden() if
//! none of these values is larger.
template <class Scalar>
[[nodiscard]] inline working<Scalar> sampled_reference(exec::seq_policy, const row_source<Scalar>& source) noexcept {
  using work = working<Scalar>;
  work best = source.forbidden();
  work buffer[sampled_ids];
  for (std::uint32_t first = 0; first < source.size; first += block_size) {
    const work* values = load(source, first, sampled_ids, buffer);
    for (std::uint32_t i = 0; i < sampled_ids; ++i) {
      if (values[i] > best) best = values[i];
    }
  }
  return best;
}

//! Computes the approximate weight w of a value for a given reference and scale.
template <class Work>
struct envelope {
  Work reference{};
  float scale = 1.0f;
  bool probabilities = false;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE float operator()(Work value) const noexcept {
    return probabilities ? coarse_probability(value) : coarse_exponential(coarse_difference(value, reference), scale);
  }
};

//! Outputs of the coarse pass.
struct coarse_output {
  float* lane_sums = nullptr;    //!< 16 per block
  double* block_sums = nullptr;  //!< sums of the blocks, indexed by block
  float* tops = nullptr;         //!< or null: 16 per top_size ids, the largest value of each lane; only vector kernels
  //! or null: sum of e^((z - reference) / T) with a relative error of quick_error; 0 if the pass cannot compute it
  //! quickly. The scalar version always writes 0
  double* quick_total = nullptr;
  double inverse_temperature = 1;  //!< 1 / temperature, for quick_total
};

template <class Scalar>
[[nodiscard]] inline row_extremes<working<Scalar>> coarse_pass(exec::seq_policy, const row_source<Scalar>& source,
                                                               const envelope<working<Scalar>>& weight,
                                                               const coarse_output& out) noexcept {
  using work = working<Scalar>;
  row_extremes<work> found;
  found.maximum = found.second = source.forbidden();
  if (out.quick_total != nullptr) *out.quick_total = 0;
  work buffer[block_size];
  for (std::uint32_t first = 0; first < source.size; first += block_size) {
    const std::uint32_t width = block_width(source.size - first);
    const work* values = load(source, first, width, buffer);
    float lanes[lane_count] = {};
    for (std::uint32_t i = 0; i < width; ++i) {
      const work value = values[i];
      if (is_nan(value)) {
        found.has_nan = true;
        continue;
      }
      if (source.probabilities && value < work{0}) found.has_negative = true;
      if (value > found.maximum) {
        found.maximum = value;
        found.argmax = first + i;
      }
      lanes[i % lane_count] += weight(value);
    }
    for (std::uint32_t j = 0; j < lane_count; ++j) out.lane_sums[first / block_size * lane_count + j] = lanes[j];
    out.block_sums[first / block_size] = lane_tree(lanes);
  }
  return found;
}

//! Reads a row of logits without computing sums. The unnamed array is coarse_output::tops, which only the vector
//! version writes.
template <class Scalar>
[[nodiscard]] inline row_extremes<working<Scalar>> find_tops(exec::seq_policy policy, const row_source<Scalar>& source,
                                                             float*) noexcept {
  return find_maximum(policy, source);
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
