// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes a k-subset of [0, n) in about log2 C(n, k) bits, for example the ids of a support.
//!
//! Members are coded in ascending order, each by the gap before it. A gap begins with an escape symbol if at most one
//! random subset in 256 would have such a long gap. If n < 8k, the code has one yes or no per slot instead of gaps.
//! Paper:      Conformal Sparsification (arXiv 2510.09942), the subset term of eq. (5); the code is ours.
//! Symbols:    n = remaining slots, k = remaining members, S(g) / 2^40 = approximate probability that the next gap has
//!             at least g slots.
//! Guarantees: the cost is within 0.2 bits + 0.02 % of log2 C(n, k) for every subset, as tests measure. For any input
//!             there are at most 9 k steps of O(1), and escapes of 8 bits each. Integers only, no allocation, noexcept;
//!             bit-exact. Limits: n <= 2^25 - 1, k <= n.
//! See:        docs/algorithms/support_code.md, docs/wire-format.md, tests/unit/codec/support_code_test.cpp
#ifndef SPECVERIFY_CODEC_SUPPORT_CODE_HPP
#define SPECVERIFY_CODEC_SUPPORT_CODE_HPP

#include <specverify/codec/detail/gap_model.hpp>
#include <specverify/codec/range_coder.hpp>
#include <specverify/core/views.hpp>

#include <optional>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Encodes the members of a subset in ascending order.
class subset_encoder {
 public:
  subset_encoder(range_encoder& coder, std::uint32_t slot_count, std::uint32_t members) noexcept
      : coder_(coder), slots_(slot_count), members_(members) {
    SPECVERIFY_ASSERT(members <= slot_count && slot_count < detail::max_slots, "a subset larger than its set");
  }

  //! Encodes the next member, counted from the first slot. There must be enough slots after it for the remaining
  //! members.
  void put(std::uint32_t position) noexcept {
    std::uint32_t gap = position - next_;
    SPECVERIFY_ASSERT(members_ > 0 && position >= next_ && gap <= slots_ - members_, "members not ascending");
    next_ = position + 1;
    while (detail::gap_regime(slots_, members_)) {
      const detail::gap_model model(slots_, members_);
      const std::uint64_t survival = model.survival(gap);
      if (survival > detail::escape_survival) [[likely]] {
        coder_.part(detail::certain - survival, survival - model.survival(gap + 1));
        slots_ -= gap + 1;
        --members_;
        return;
      }
      const auto last = model.before_escape();
      coder_.part(detail::certain - last.after, last.after);
      gap -= last.gap + 1;
      slots_ -= last.gap + 1;
    }
    if (members_ == 1) {
      coder_.uniform(gap, slots_);
    } else {
      coder_.noes(gap, members_, slots_);
      if (slots_ - gap > members_) coder_.bit(true, members_, slots_ - gap);
    }
    slots_ -= gap + 1;
    --members_;
  }

 private:
  range_encoder& coder_;
  std::uint32_t slots_;
  std::uint32_t members_;
  std::uint32_t next_ = 0;
};

//! Decodes the members of a subset in ascending order. Positions are below the number of slots for any input.
class subset_decoder {
 public:
  subset_decoder(range_decoder& coder, std::uint32_t slot_count, std::uint32_t members) noexcept
      : coder_(coder), slots_(slot_count), members_(members) {
    SPECVERIFY_ASSERT(members <= slot_count && slot_count < detail::max_slots, "a subset larger than its set");
  }

  //! Returns whether the remaining members follow one another without a gap.
  [[nodiscard]] bool packed() const noexcept { return slots_ == members_ || coder_.rests(); }
  [[nodiscard, gnu::noinline]] std::uint32_t next() noexcept {
    SPECVERIFY_ASSERT(members_ > 0, "no member left");
    std::optional<std::uint32_t> gap;
    do gap = packed() ? 0 : step();
    while (!gap);
    const std::uint32_t position = next_ + *gap;
    next_ = position + 1;
    slots_ -= *gap + 1;
    --members_;
    return position;
  }

 private:
  // Returns the gap, or nothing after an escape. An escape has moved slots_ and next_ on by a part of the gap.
  [[nodiscard]] std::optional<std::uint32_t> step() noexcept {
    if (detail::gap_regime(slots_, members_)) {
      const detail::gap_model model(slots_, members_);
      const std::uint64_t level = detail::certain - coder_.peek();
      const auto found = model.quantile(level);
      if (found.here <= detail::escape_survival) [[unlikely]] {
        const auto last = model.before_escape();
        const std::uint32_t part_of_gap = last.gap + 1;
        if (part_of_gap > slots_ - members_) return give_up();
        coder_.take(detail::certain - last.after, last.after);
        next_ += part_of_gap;
        slots_ -= part_of_gap;
        return std::nullopt;
      }
      if (found.gap > slots_ - members_) return give_up();
      coder_.take(detail::certain - found.here, found.here - found.after);
      return found.gap;
    }
    if (members_ == 1) return static_cast<std::uint32_t>(coder_.uniform(slots_));
    return coder_.noes(members_, slots_);
  }
  [[nodiscard]] std::uint32_t give_up() noexcept {
    coder_.fail();
    return 0;
  }

  range_decoder& coder_;
  std::uint32_t slots_;
  std::uint32_t members_;
  std::uint32_t next_ = 0;
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
