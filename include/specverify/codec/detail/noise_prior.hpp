// SPDX-License-Identifier: Apache-2.0
//! Computes the weights of ids given shared noise. Used by codec/token_prior.hpp, which documents them.
#ifndef SPECVERIFY_CODEC_DETAIL_NOISE_PRIOR_HPP
#define SPECVERIFY_CODEC_DETAIL_NOISE_PRIOR_HPP

#include <specverify/codec/prior_table.hpp>
#include <specverify/core/noise.hpp>
#include <specverify/kernel/simd/noise.hpp>

#include <algorithm>
#include <array>
#include <bit>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns the level of a noise word (`coupling_noise::high_words`), in [0, 128): 4 z + 3 - t, where z is the
//! number of leading zeros, and t is the number formed by the two bits after the highest set bit, with zeros after the
//! last bit. The words 0 and 1 have the same level. Smaller words have larger levels.
[[nodiscard]] constexpr std::uint32_t noise_level(std::uint32_t word) noexcept {
  const auto zeros = static_cast<std::uint32_t>(std::countl_zero(word | 1u));
  return 4 * zeros + 3 - ((word << zeros) >> 29 & 3u);
}
//! Returns the factor of an id's weight for the level of its noise word: prior_weight(32 + 13 level / 8), so 16 for the
//! largest words.
[[nodiscard]] constexpr std::uint32_t noise_factor(std::uint32_t level) noexcept {
  return prior_weight(static_cast<std::uint8_t>(32 + 13 * level / 8));
}

//! The weights of the id after a text, given the noise at its position: the weight of `Prior` (token_prior) times
//! `noise_factor`. Without noise, or if the sum is above max_total, the weights are those of `Prior`, because the range
//! coder must not lose precision. The constructor computes the noise of all ids in O(V), because every factor counts in
//! the sum, and takes 16 KB of stack.
template <class Prior>
class noise_prior {
 public:
  using interval = typename Prior::interval;
  static constexpr std::uint64_t max_total = std::uint64_t{1} << 48;

  //! table, text: as for token_prior. noise: kind none for no noise. position: of the id after the text.
  noise_prior(const prior_table& table, std::span<const token_id> text, const coupling_noise& noise,
              std::uint32_t position) noexcept
      : prior_(table, text), table_(table), noise_(noise), position_(position), total_(prior_.total()) {
    if (noise.kind == noise_kind::none) return;
    for (const auto& one : prior_.entries())
      added_[size_++] = {static_cast<std::uint32_t>(one.id), factor(one.id) * one.weight};
    const std::uint32_t size = table.vocab_size();
    while (std::uint64_t{part_} * parts < size) part_ += kernel::noise_run;
    std::uint64_t sum = 0;
    for (std::uint32_t first = 0, i = 0; first < size; first += part_, ++i)
      sum += sums_[i] = sum_of(first, std::min<std::uint32_t>(part_, size - first));
    noisy_ = sum <= max_total;
    if (noisy_) total_ = sum;
  }

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  //! Returns the part of an id in [0, V).
  [[nodiscard]] interval part_of(token_id id) const noexcept {
    if (!noisy_) return prior_.part_of(id);
    const auto index = static_cast<std::uint32_t>(id);
    interval part{sum_of(index / part_ * part_, index % part_), 0};
    for (std::uint32_t i = 0; i < index / part_; ++i) part.first += sums_[i];
    part.width = weight(index, factor(id));
    return part;
  }
  //! Returns the id whose part contains `point`, which must be in [0, total()).
  [[nodiscard]] token_id at(std::uint64_t point) const noexcept {
    if (!noisy_) return prior_.at(point);
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; point >= sums_[i]; ++i, first += part_) point -= sums_[i];
    for (;; first += kernel::noise_run) {
      const std::uint64_t sum = sum_of(first, std::min<std::uint32_t>(kernel::noise_run, table_.vocab_size() - first));
      if (point < sum) break;
      point -= sum;
    }
    for (;; first += 4) {
      const random_block words = noise_.high_words(position_, first / 4);
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint64_t own = weight(first + k, noise_factor(noise_level(words.word[k])));
        if (point < own) return static_cast<token_id>(first + k);
        point -= own;
      }
    }
  }

 private:
  struct entry {
    std::uint32_t id;
    std::uint64_t weight;
  };
  static constexpr std::uint32_t parts = 256;  // maximum number of sums
  static constexpr std::array<std::uint32_t, 128> factors = [] {
    std::array<std::uint32_t, 128> made{};
    for (std::uint32_t level = 0; level < 128; ++level) made[level] = noise_factor(level);
    return made;
  }();

  [[nodiscard]] std::uint64_t factor(token_id id) const noexcept {
    const auto index = static_cast<std::uint32_t>(id);
    return noise_factor(noise_level(noise_.high_words(position_, index / 4).word[index % 4]));
  }
  [[nodiscard]] std::uint64_t added(std::uint32_t first, std::uint32_t end) const noexcept {
    const auto all = std::span(added_).first(size_);
    auto at = std::lower_bound(all.begin(), all.end(), first, [](const entry& a, std::uint32_t b) { return a.id < b; });
    std::uint64_t sum = 0;
    for (; at != all.end() && at->id < end; ++at) sum += at->weight;
    return sum;
  }
  [[nodiscard]] std::uint64_t weight(std::uint32_t id, std::uint64_t times) const noexcept {
    return times * (table_.sum_below(id + 1) - table_.sum_below(id)) + added(id, id + 1);
  }
  //! Returns the sum of the weights of `count` ids. `first` must be a multiple of 4.
  [[nodiscard]] std::uint64_t sum_of(std::uint32_t first, std::uint32_t count) const noexcept {
    kernel::noise_hit all[kernel::noise_run];
    std::uint64_t sum = added(first, first + count);
    for (std::uint32_t from = 0; from < count; from += kernel::noise_run) {
      const std::uint32_t found =
          kernel::list_small_noise(exec::simd, noise_, position_, first + from,
                                   std::min<std::uint32_t>(kernel::noise_run, count - from), 0xFFFFFFFFu, all);
      for (std::uint32_t i = 0; i < found; ++i) {
        const std::uint32_t own = table_.sum_below(all[i].id + 1) - table_.sum_below(all[i].id);
        sum += std::uint64_t{own} * factors[noise_level(all[i].high)];
      }
    }
    return sum;
  }

  Prior prior_;
  const prior_table& table_;
  coupling_noise noise_;
  std::uint32_t position_;
  std::array<entry, Prior::max_entries> added_;  // entries of `prior_`, each weight times the factor of its id
  std::size_t size_ = 0;
  std::array<std::uint64_t, parts> sums_;  // sums of the weights of part_ ids each
  std::uint32_t part_ = 0;
  std::uint64_t total_;
  bool noisy_ = false;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
