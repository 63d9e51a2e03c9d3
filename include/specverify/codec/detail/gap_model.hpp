// SPDX-License-Identifier: Apache-2.0
//! Computes the probability distribution of the gap before the first member of a random subset, in integers. Used by
//! codec/support_code.hpp.
#ifndef SPECVERIFY_CODEC_DETAIL_GAP_MODEL_HPP
#define SPECVERIFY_CODEC_DETAIL_GAP_MODEL_HPP

#include <specverify/codec/detail/fixed_log.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint32_t max_slots = std::uint32_t{1} << 25;
inline constexpr std::uint64_t certain = std::uint64_t{1} << 40;          // S(0)
inline constexpr std::uint64_t escape_survival = std::uint64_t{1} << 32;  // 2^-8

//! Returns whether the survival function codes the gap, that is, if there are two members or more and they are sparse.
[[nodiscard]] constexpr bool gap_regime(std::uint32_t slot_count, std::uint32_t members) noexcept {
  return members >= 2 && slot_count >> 3 >= members;
}

struct member_reciprocals {
  static constexpr std::uint32_t size = 128;
  std::uint64_t of[size] = {};
  constexpr member_reciprocals() noexcept {
    for (std::uint32_t members = 1; members < size; ++members) of[members] = ~std::uint64_t{0} / members;
  }
};
inline constexpr member_reciprocals reciprocals_of_members{};

//! Returns floor((2^64 - 1) / members) for members > 0. Small subsets need no division.
[[nodiscard]] constexpr std::uint64_t reciprocal(std::uint32_t members) noexcept {
  return members < member_reciprocals::size ? reciprocals_of_members.of[members] : ~std::uint64_t{0} / members;
}
static_assert(reciprocal(2) == ~std::uint64_t{0} / 2 && reciprocal(127) == ~std::uint64_t{0} / 127);

//! S(g) = ((N - g) / N)^k with 2N = 2n - k + 1, strictly decreasing while it is above 2^-8 / 2.
class gap_model {
 public:
  constexpr gap_model(std::uint32_t slot_count, std::uint32_t members) noexcept
      : doubled_(2 * slot_count - members + 1), members_(members), whole_(log2_fixed(doubled_)) {}

  //! Returns S(gap) * 2^40.
  [[nodiscard]] constexpr std::uint64_t survival(std::uint32_t gap) const noexcept {
    if (2 * std::uint64_t{gap} >= doubled_) return 0;
    const std::uint64_t step = whole_ - log2_fixed(doubled_ - 2 * gap);
    if (multiply_high(step, members_) != 0) return 0;
    return exp2_fixed(step * members_) >> 23;
  }

  struct found_gap {
    std::uint32_t gap;
    std::uint64_t here;   // survival(gap)
    std::uint64_t after;  // survival(gap + 1)
  };

  //! Returns the gap g with S(g + 1) < level <= S(g); level must be in [1, 2^40].
  [[nodiscard]] constexpr found_gap quantile(std::uint64_t level) const noexcept {
    // The guess is rarely wrong, but the survival function then corrects it.
    const std::uint64_t lost = exp2_loss_guess(multiply_high(level_exponent_guess(level), reciprocal(members_)));
    const auto gap = static_cast<std::uint32_t>(multiply_high(lost, doubled_) / 2);
    found_gap found{gap, survival(gap), survival(gap + 1)};
    while (found.here < level || found.after >= level) found = next_gap(found, level);
    return found;
  }

  //! Returns the last gap with S(gap) > 2^-8. An escape moves to the gap after it.
  [[nodiscard, gnu::noinline]] constexpr found_gap before_escape() const noexcept {
    return quantile(escape_survival + 1);
  }
  [[nodiscard]] constexpr std::uint32_t escape() const noexcept { return before_escape().gap + 1; }

 private:
  //! Returns the next gap in the direction of the level.
  [[nodiscard, gnu::noinline]] constexpr found_gap next_gap(const found_gap& found,
                                                            std::uint64_t level) const noexcept {
    const bool shorter = found.here < level;
    const std::uint32_t gap = shorter ? found.gap - 1 : found.gap + 1;
    const std::uint64_t other = survival(shorter ? gap : gap + 1);
    return shorter ? found_gap{gap, other, found.here} : found_gap{gap, found.after, other};
  }

  std::uint32_t doubled_;
  std::uint32_t members_;
  std::uint64_t whole_;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
