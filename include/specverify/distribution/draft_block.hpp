// SPDX-License-Identifier: Apache-2.0
//! Stores the drafts of one round with copies of their distributions.
//!
//! Guarantees: only `make` allocates, so a round does not. `push` copies a `law` in O(size). On an error the block is
//!             unchanged.
//! See:        docs/algorithms/draft_block.md, tests/unit/distribution/draft_block_test.cpp
#ifndef SPECVERIFY_DISTRIBUTION_DRAFT_BLOCK_HPP
#define SPECVERIFY_DISTRIBUTION_DRAFT_BLOCK_HPP

#include <specverify/core/detail/memory.hpp>
#include <specverify/distribution/draft.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

SPECVERIFY_NAMESPACE_BEGIN

struct draft_block_options {
  std::uint32_t max_draft_length = 8;  //!< maximum drafts in a block, >= 1
  std::uint64_t max_entries = 1024;    //!< maximum listed ids, over all drafts
};

//! `Draft` is `draft` (on the device) or `received_draft` (after the decoder).
template <class Draft>
class basic_draft_block {
 public:
  //! Errors: invalid_argument (max_draft_length or max_entries is 0).
  [[nodiscard]] static result<basic_draft_block> make(draft_block_options options) {
    if (options.max_draft_length == 0 || options.max_entries == 0)
      return status{errc::invalid_argument, part::distribution, 0};
    return basic_draft_block(options);
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(drafts_.size()); }
  [[nodiscard]] bool empty() const noexcept { return drafts_.empty(); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return max_draft_length_; }
  //! Returns how many ids the distributions of further drafts can list in total.
  [[nodiscard]] std::uint64_t room() const noexcept { return ids_.size() - used_; }
  [[nodiscard]] const Draft& operator[](std::uint32_t index) const noexcept { return drafts_[index]; }
  [[nodiscard]] std::span<const Draft> drafts() const noexcept { return drafts_; }

  void clear() noexcept {
    drafts_.clear();
    used_ = 0;
  }

  //! Appends a draft and a copy of the `law`.
  //! Errors: draft_too_long (the block is full), support_too_large (the `law` lists more than `room()` ids).
  [[nodiscard]] status push(const Draft& added) noexcept {
    const law& from = added.source_law();
    if (drafts_.size() == max_draft_length_) return {errc::draft_too_long, part::distribution, max_draft_length_};
    if (from.size > room()) return {errc::support_too_large, part::distribution, from.size};
    law copy = from;
    copy.ids = ids_.data() + used_;
    copy.counts = counts_.data() + used_;
    for (std::uint32_t i = 0; i < from.size; ++i) {
      ids_[used_ + i] = from.ids[i];
      counts_[used_ + i] = from.counts[i];
    }
    used_ += from.size;
    drafts_.push_back(added.rebound(copy));
    return {};
  }

  //! Keeps the first `length` drafts.
  void truncate(std::uint32_t length) noexcept {
    if (length >= drafts_.size()) return;
    used_ = static_cast<std::size_t>(drafts_[length].source_law().ids - ids_.data());
    drafts_.erase(drafts_.begin() + static_cast<std::ptrdiff_t>(length), drafts_.end());
  }

  basic_draft_block(basic_draft_block&&) noexcept = default;
  basic_draft_block& operator=(basic_draft_block&&) noexcept = default;
  basic_draft_block(const basic_draft_block&) = delete;
  basic_draft_block& operator=(const basic_draft_block&) = delete;

 private:
  explicit basic_draft_block(draft_block_options options)
      : ids_(static_cast<std::size_t>(options.max_entries)),
        counts_(static_cast<std::size_t>(options.max_entries)),
        max_draft_length_(options.max_draft_length) {
    drafts_.reserve(options.max_draft_length);
  }
  untouched_memory<token_id> ids_;
  untouched_memory<std::uint32_t> counts_;
  owned_memory<Draft> drafts_;
  std::size_t used_ = 0;
  std::uint32_t max_draft_length_ = 0;
};

using draft_block = basic_draft_block<draft>;
using received_draft_block = basic_draft_block<received_draft>;

SPECVERIFY_NAMESPACE_END

#endif
