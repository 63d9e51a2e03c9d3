// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes token ids with weights that both sides compute from a shared table and the text before each id.
//!
//! A likely id takes fewer bits. Two kinds of ids gain weight: ids that the table lists after the last one or two ids
//! of the text, and ids that followed these one or two ids earlier in the text.
//! Paper:      Kobus, Tung, Gunduz, Universal Sample Coding (NeurIPS 2024), for a reference distribution that both ends
//!             adapt.
//! Noise:      with shared noise, the weight of each id is multiplied by a factor of about 16 (2^32 / h)^(13/16). Here
//!             h is the high 32 bits of the id's hash, from which its exponential noise is computed (core/noise.hpp). A
//!             drafted id usually has small noise, and therefore a small h.
//! Symbols:    V = vocabulary size; W = sum of the table's weights; n = ids with added weight, at most 160.
//! Guarantees: the weights are a pure function of the table, the noise and the ids before an id, including earlier
//!             drafts of the message. Therefore journals store no state, and a rejected draft needs no rollback. Every
//!             id has a weight of at least 1. Without noise, every id has at least 1/16 of the probability that the
//!             table's weights give it, the weights sum to at most 16 W <= 2^32, and an id takes O(log V + n), plus a
//!             search of the last max_prior_window ids; with noise, O(V). No allocation, noexcept, bit-exact.
//! Deviates:   the paper adapts its reference distribution to samples. Here the table is fixed, and only the text adds
//!             weight.
//! See:        docs/algorithms/token_prior.md, docs/wire-format.md, tests/unit/codec/token_prior_test.cpp
#ifndef SPECVERIFY_CODEC_TOKEN_PRIOR_HPP
#define SPECVERIFY_CODEC_TOKEN_PRIOR_HPP

#include <specverify/codec/detail/noise_prior.hpp>
#include <specverify/codec/prior_table.hpp>
#include <specverify/codec/range_coder.hpp>
#include <specverify/core/noise.hpp>

#include <algorithm>
#include <array>
#include <limits>

SPECVERIFY_NAMESPACE_BEGIN

//! Number of ids before the last id that are searched for the last id. A longer search costs more time, but saves few
//! bits.
inline constexpr std::size_t max_prior_window = 1024;
inline constexpr std::size_t max_prior_places = 32;  //!< maximum number of earlier occurrences that count: the latest

//! The weights of the id after a text.
class token_prior {
 public:
  //! The part [first, first + width) of [0, total()) that belongs to an id.
  struct interval {
    std::uint64_t first;
    std::uint64_t width;
  };
  //! An id with added weight.
  struct entry {
    token_id id;
    std::uint32_t weight;
  };
  static constexpr std::size_t max_entries = 2 * max_prior_followers + max_prior_places;

  //! text: all ids before the one to code, or at least the last max_prior_window + 2 of them, because earlier ids have
  //! no effect. Ids outside the vocabulary are not predicted.
  token_prior(const prior_table& table, std::span<const token_id> text) noexcept : table_(table) {
    const std::size_t size = text.size();
    if (size == 0) return;
    const token_id last = text[size - 1];
    const std::span<const prior_follower> one = table.after(last);
    const std::span<const prior_follower> two =
        size > 1 ? table.after(text[size - 2], last) : std::span<const prior_follower>{};
    const places seen(text);
    const auto only = [](prior_source source, bool applies) {
      return applies ? 1u << static_cast<unsigned>(source) : 0u;
    };
    const unsigned sources = only(prior_source::after_one, !one.empty()) | only(prior_source::after_two, !two.empty()) |
                             only(prior_source::seen_one, seen.after_one > 0) |
                             only(prior_source::seen_two, seen.after_two > 0);
    const std::uint32_t each_one = seen.share(table.added(sources, prior_source::seen_one), seen.after_one),
                        each_two = seen.share(table.added(sources, prior_source::seen_two), seen.after_two);
    std::array<entry, max_prior_places> found;
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < seen.after_one; ++i) {
      const token_id id = seen.followers[i];
      if (id >= 0 && static_cast<std::uint32_t>(id) < table.vocab_size())
        found[count++] = {id, each_one + (seen.matches_two[i] ? each_two : 0)};
    }
    std::sort(found.begin(), found.begin() + count, [](const entry& a, const entry& b) { return a.id < b.id; });
    merge(one, table.added(sources, prior_source::after_one), two, table.added(sources, prior_source::after_two),
          std::span<const entry>(found).first(count));
  }

  [[nodiscard]] std::uint64_t total() const noexcept { return table_.sum_below(table_.vocab_size()) + added_; }
  //! Returns the ids with added weight, ascending.
  [[nodiscard]] std::span<const entry> entries() const noexcept { return std::span(entries_).first(size_); }

  //! Returns the part of an id in [0, V).
  [[nodiscard]] interval part_of(token_id id) const noexcept {
    const auto index = static_cast<std::uint32_t>(id);
    std::uint64_t below = 0, own = 0;
    for (std::size_t i = 0; i < size_ && entries_[i].id <= id; ++i)
      (entries_[i].id == id ? own : below) += entries_[i].weight;
    const std::uint64_t first = table_.sum_below(index);
    return {first + below, table_.sum_below(index + 1) - first + own};
  }

  //! Returns the id whose part contains `point`, which must be in [0, total()).
  [[nodiscard]] token_id at(std::uint64_t point) const noexcept {
    std::uint64_t below = 0;
    std::uint32_t from = 0, end = table_.vocab_size();
    for (std::size_t i = 0; i < size_; ++i) {
      const auto id = static_cast<std::uint32_t>(entries_[i].id);
      if (point < table_.sum_below(id) + below) {
        end = id;
        break;
      }
      if (point < table_.sum_below(id + 1) + below + entries_[i].weight) return entries_[i].id;
      below += entries_[i].weight;
      from = id + 1;
    }
    return static_cast<token_id>(table_.find(from, end, point - below));
  }

 private:
  //! The ids that followed earlier occurrences of the last id, the latest first.
  struct places {
    explicit places(std::span<const token_id> text) noexcept {
      const std::size_t size = text.size(), stop = size > max_prior_window + 1 ? size - max_prior_window - 1 : 0;
      const token_id last = text[size - 1], before = size > 1 ? text[size - 2] : no_token;
      for (std::size_t i = size - 1; i > stop && after_one < max_prior_places;) {
        if (text[--i] != last) continue;
        followers[after_one] = text[i + 1];
        matches_two[after_one] = i > 0 && text[i - 1] == before;
        after_two += matches_two[after_one] ? 1u : 0u;
        ++after_one;
      }
    }
    [[nodiscard]] static std::uint32_t share(std::uint32_t weight, std::uint32_t count) noexcept {
      return count == 0 ? 0 : weight / count;
    }
    std::array<token_id, max_prior_places> followers;
    std::array<bool, max_prior_places> matches_two;
    std::uint32_t after_one = 0, after_two = 0;
  };

  //! Adds the entries of three lists in ascending order of the ids: the table's followers of the last id and of the
  //! last two ids, which share `weight_one` and `weight_two`, and the ids found in the text.
  void merge(std::span<const prior_follower> one, std::uint32_t weight_one, std::span<const prior_follower> two,
             std::uint32_t weight_two, std::span<const entry> found) noexcept {
    constexpr token_id end = (std::numeric_limits<token_id>::max)();
    const auto head = [](const auto& list) { return list.empty() ? end : list.front().id; };
    const auto part = [](std::uint32_t weight, std::uint32_t share) {
      return static_cast<std::uint32_t>(std::uint64_t{weight} * share >> 31);
    };
    for (;;) {
      const token_id id = std::min<token_id>({head(one), head(two), head(found)});
      if (id == end) return;
      if (head(one) == id) {
        add(id, part(weight_one, one.front().share));
        one = one.subspan(1);
      } else if (head(two) == id) {
        add(id, part(weight_two, two.front().share));
        two = two.subspan(1);
      } else {
        add(id, found.front().weight);
        found = found.subspan(1);
      }
    }
  }
  // Adds weight to an id, which must not be below the id of an earlier call.
  void add(token_id id, std::uint32_t weight) noexcept {
    added_ += weight;
    if (size_ > 0 && entries_[size_ - 1].id == id)
      entries_[size_ - 1].weight += weight;
    else
      entries_[size_++] = {id, weight};
  }

  const prior_table& table_;
  std::array<entry, max_entries> entries_;
  std::size_t size_ = 0;
  std::uint64_t added_ = 0;
};

//! Shared noise with which ids are coded.
struct id_noise {
  coupling_noise noise{noise_kind::none, 0};  //!< kind none: the weights do not depend on noise
  std::uint32_t position = 0;                 //!< position of the first coded id

  //! Returns the position of the id that follows `ids` coded ids.
  [[nodiscard]] std::uint32_t at(std::size_t ids) const noexcept { return position + static_cast<std::uint32_t>(ids); }
};

namespace detail {
[[nodiscard]] inline status check_ids(std::size_t size, std::size_t first, const id_noise& noise) noexcept {
  if (first > size) return codec_error(errc::size_mismatch, first);
  const noise_kind kind = noise.noise.kind;
  return kind == noise_kind::none || is_noise(kind) ? status{} : codec_error(errc::invalid_argument);
}
}  // namespace detail

//! Encodes text[first..], each id with the weights of `token_prior` for the ids before it. With noise, the weight of
//! each id is multiplied by the factor of its noise word, except if the sum of these weights is above 2^48.
//! Cost: O(V) per id with noise, otherwise O(log V + n) per id.
//! text: the ids before the ids to encode (see token_prior), then the ids to encode.
//! Errors: size_mismatch (`first` is above the size), invalid_argument (unknown kind of noise), token_out_of_range
//!         (`where` = index in `text`). On an error nothing is encoded.
[[nodiscard]] inline status encode_ids(range_encoder& coder, const prior_table& table, std::span<const token_id> text,
                                       std::size_t first, const id_noise& noise = {}) noexcept {
  if (const status why = detail::check_ids(text.size(), first, noise); !why.ok()) return why;
  for (std::size_t i = first; i < text.size(); ++i) {
    if (text[i] < 0 || static_cast<std::uint32_t>(text[i]) >= table.vocab_size())
      return detail::codec_error(errc::token_out_of_range, i);
  }
  for (std::size_t i = first; i < text.size(); ++i) {
    const detail::noise_prior<token_prior> prior(table, text.first(i), noise.noise, noise.at(i - first));
    const token_prior::interval part = prior.part_of(text[i]);
    coder.interval(part.first, part.width, prior.total());
  }
  return {};
}

//! Decodes ids and writes them to text[first..]; text[..first) must contain the ids before them. All written ids are
//! below V for any bytes. If the decoder fails, the remaining ids are 0; the caller must check coder.finish().
//! Cost: as for `encode_ids`, at most O(V) per id.
//! Errors: size_mismatch (`first` is above the size), invalid_argument (unknown kind of noise); then nothing is
//!         written.
[[nodiscard]] inline status decode_ids(range_decoder& coder, const prior_table& table, std::span<token_id> text,
                                       std::size_t first, const id_noise& noise = {}) noexcept {
  if (const status why = detail::check_ids(text.size(), first, noise); !why.ok()) return why;
  for (std::size_t i = first; i < text.size(); ++i) {
    text[i] = 0;
    if (coder.failed()) continue;
    const detail::noise_prior<token_prior> prior(table, text.first(i), noise.noise, noise.at(i - first));
    const std::uint64_t point = coder.peek(prior.total());
    text[i] = prior.at(point);
    const token_prior::interval part = prior.part_of(text[i]);
    coder.take(part.first, part.width, prior.total());
  }
  return {};
}

SPECVERIFY_NAMESPACE_END

#endif
