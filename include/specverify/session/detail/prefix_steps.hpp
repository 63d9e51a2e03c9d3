// SPDX-License-Identifier: Apache-2.0
//! Prefix hashes of a text, kept at every 1024th token: the hash of any prefix costs at most 1023 tokens, so a short
//! message cannot make a side hash its whole text.
#ifndef SPECVERIFY_SESSION_DETAIL_PREFIX_STEPS_HPP
#define SPECVERIFY_SESSION_DETAIL_PREFIX_STEPS_HPP

#include <specverify/distribution/draft_block.hpp>
#include <specverify/session/prefix_hash.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

class prefix_steps {
 public:
  //! `longest`: tokens of the longest text.
  explicit prefix_steps(std::size_t longest) : hashes_(longest / step + 1) { hashes_[0] = prefix_hash_seed; }

  //! Hash of `text`, whose first `known` tokens hash to `hash` and were extended before.
  [[nodiscard]] std::uint64_t extend(std::span<const token_id> text, std::size_t known, std::uint64_t hash) noexcept {
    while (known < text.size()) {
      hash = extend_prefix_hash(hash, text[known++]);
      if (known % step == 0) hashes_[known / step] = hash;
    }
    return hash;
  }
  //! Hash of `prefix`, a prefix of the extended text. Hashes at most step - 1 tokens.
  [[nodiscard]] std::uint64_t at(std::span<const token_id> prefix) const noexcept {
    const std::size_t whole = prefix.size() / step;
    return prefix_hash(prefix.subspan(whole * step), hashes_[whole]);
  }

 private:
  static constexpr std::size_t step = 1024;
  untouched_memory<std::uint64_t> hashes_;  // entry i: hash of the first i * step tokens
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
