// SPDX-License-Identifier: Apache-2.0
//! Reads a table of id weights. If both sides load the same table, the edge can send likely ids in fewer
//! bits.
//!
//! The table has a weight per id and, optionally, lists of the ids that often follow one id or two ids.
//! codec/token_prior.hpp combines these into the weights of the next id, by mixing weights that the table also
//! contains.
//! Paper:      Kobus, Tung, Gunduz, Universal Sample Coding (NeurIPS 2024): both ends share and adapt a reference
//!             distribution.
//! Symbols:    V = vocab_size; W = sum of the V weights; a weight is round(2^(b/8)) for a byte b of the file
//!             (`prior_weight`).
//! Guarantees: every id has a weight of at least 1, and W <= 2^28. `read` allocates; all other functions are O(log V)
//!             or O(1), without allocation, and noexcept. Bit-exact, because all weights are integers. Tables with
//!             equal fingerprints have equal weights.
//! Deviates:   the paper updates its reference from samples, but this table is fixed.
//! See:        docs/algorithms/token_prior.md, docs/wire-format.md, tests/unit/codec/prior_table_test.cpp
#ifndef SPECVERIFY_CODEC_PRIOR_TABLE_HPP
#define SPECVERIFY_CODEC_PRIOR_TABLE_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/core/detail/fnv128.hpp>
#include <specverify/core/detail/memory.hpp>
#include <specverify/core/numeric.hpp>

#include <algorithm>
#include <array>
#include <span>

SPECVERIFY_TYPES_BEGIN

//! Sources of weights for the id after a text. A source applies if its condition is true. A set of sources is a number
//! of 4 bits: bit i for the source with the value i.
enum class prior_source : std::uint8_t {
  after_one = 0,  //!< the table has a list of followers of the last id
  after_two = 1,  //!< the table has a list of followers of the last two ids
  seen_one = 2,   //!< the last id also occurs earlier in the text
  seen_two = 3    //!< the last two ids also occur earlier in the text, next to each other
};
inline constexpr std::size_t prior_sources = 4;
inline constexpr std::size_t prior_source_sets = std::size_t{1} << prior_sources;

//! One id of a list of followers, with its share of the list in units of 2^-31.
struct prior_follower {
  token_id id;
  std::uint32_t share;
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

inline constexpr std::uint32_t prior_mark = 0x52505653;   //!< "SVPR", the first bytes of a file
inline constexpr std::uint32_t prior_version = 1;         //!< version of the file's layout
inline constexpr std::size_t max_prior_followers = 64;    //!< maximum number of ids in a list
inline constexpr std::uint32_t max_prior_mixing = 240;    //!< maximum sum of a row of mixing weights, in units of W/16
inline constexpr std::uint32_t max_prior_sum = 1u << 28;  //!< maximum W

//! Returns round(2^(byte/8)), computed in integers: (e 2^floor(byte/8) + 2^15) / 2^16, rounded down. Here e is the
//! entry with index byte mod 8 of the list below.
[[nodiscard]] constexpr std::uint32_t prior_weight(std::uint8_t byte) noexcept {
  constexpr std::uint64_t eighths[8] = {65536, 71468, 77936, 84990, 92682, 101070, 110218, 120194};
  return static_cast<std::uint32_t>(((eighths[byte % 8] << (byte / 8)) + 0x8000u) >> 16);
}
//! Returns the size of an id in a table's file.
[[nodiscard]] constexpr unsigned prior_id_bytes(std::uint32_t vocab_size) noexcept {
  return vocab_size <= 65536 ? 2 : 3;
}

namespace detail {

//! Lists of followers, sorted by the ids that they follow.
struct prior_lists {
  owned_memory<std::uint64_t> contexts{};    // last id and, if lists follow two ids, 2^32 times the id before it
  owned_memory<std::uint32_t> ends{};        // end of each list in `followers`
  owned_memory<prior_follower> followers{};  // ascending ids within a list

  [[nodiscard]] std::span<const prior_follower> find(token_id before, token_id last) const noexcept {
    const std::uint64_t context =
        std::uint64_t{static_cast<std::uint32_t>(before)} << 32 | static_cast<std::uint32_t>(last);
    const auto at = std::lower_bound(contexts.begin(), contexts.end(), context);
    if (at == contexts.end() || *at != context) return {};
    const auto index = static_cast<std::size_t>(at - contexts.begin());
    const std::size_t first = index == 0 ? 0 : ends[index - 1];
    return std::span<const prior_follower>(followers).subspan(first, ends[index] - first);
  }
};

//! Reads numbers from the front of a table's file. After the first error every number is 0.
class prior_reader {
 public:
  prior_reader(std::span<const std::byte> file, std::uint32_t vocab_size) noexcept
      : file_(file), vocab_size_(vocab_size) {}

  [[nodiscard]] std::uint32_t take(unsigned bytes) noexcept {
    if (!expect(bytes)) return 0;
    at_ += bytes;
    return static_cast<std::uint32_t>(numeric::load_le(file_.data() + at_ - bytes, bytes));
  }
  void skip(std::uint64_t bytes) noexcept {
    if (expect(bytes)) at_ += static_cast<std::size_t>(bytes);
  }
  [[nodiscard]] token_id take_id() noexcept {
    const std::uint32_t id = take(prior_id_bytes(vocab_size_));
    if (id >= vocab_size_) fail(errc::token_out_of_range, at_ - prior_id_bytes(vocab_size_));
    return static_cast<token_id>(id);
  }
  //! Returns whether there is no error and the file has at least `bytes` more bytes. Missing bytes are an error
  //! (truncated).
  [[nodiscard]] bool expect(std::uint64_t bytes) noexcept {
    if (bytes > file_.size() - at_) fail(errc::truncated, file_.size());
    return why_.ok();
  }
  void fail(errc code, std::size_t where) noexcept {
    if (why_.ok()) why_ = codec_error(code, where);
  }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] std::size_t left() const noexcept { return file_.size() - at_; }
  [[nodiscard]] std::uint32_t vocab_size() const noexcept { return vocab_size_; }
  [[nodiscard]] status why() const noexcept { return why_; }

 private:
  std::span<const std::byte> file_;
  std::uint32_t vocab_size_;
  std::size_t at_ = 0;
  status why_{};
};

}  // namespace detail

//! A table of id weights in memory that it owns. Any number of sessions and threads can use a table at the same time.
class prior_table {
 public:
  //! Reads a table's file (docs/wire-format.md). O(bytes); allocates the memory of the table.
  //! vocab_size: size of the model's vocabulary, in [1, 2^24].
  //! Errors: empty_vocabulary, vocabulary_too_large; prior_header, prior_vocabulary (`where` = V of the file);
  //!         truncated, trailing_bytes; field_out_of_range (a mixing weight for a source outside its set, a row above
  //!         max_prior_mixing, weights above max_prior_sum, a list without followers or with more than
  //!         max_prior_followers), token_out_of_range, ids_not_ascending (`where` = byte of the file); out_of_memory.
  [[nodiscard]] static result<prior_table> read(std::span<const std::byte> file, std::uint32_t vocab_size) noexcept {
    if (vocab_size == 0) return detail::codec_error(errc::empty_vocabulary);
    if (vocab_size > max_vocab_size) return detail::codec_error(errc::vocabulary_too_large, vocab_size);
    auto made = detail::within_memory([&]() -> result<prior_table> {
      detail::prior_reader in(file, vocab_size);
      prior_table table;
      table.read_file(in);
      if (!in.why().ok()) return in.why();
      return result<prior_table>(std::in_place, std::move(table));
    });
    if (!made && made.error().code == errc::out_of_memory) return detail::codec_error(errc::out_of_memory);
    return made;
  }
  prior_table(prior_table&&) noexcept = default;
  prior_table& operator=(prior_table&&) noexcept = default;

  [[nodiscard]] std::uint32_t vocab_size() const noexcept { return static_cast<std::uint32_t>(sums_.size() - 1); }
  //! Returns the hash of all numbers from which the weights of ids are computed. O(1).
  [[nodiscard]] prior_fingerprint fingerprint() const noexcept { return fingerprint_; }

  //! Returns the sum of the weights of all ids below `id`, which must be in [0, V]. sum_below(V) = W.
  [[nodiscard]] std::uint32_t sum_below(std::uint32_t id) const noexcept { return sums_[id]; }
  //! Returns the last id in [first, end) with sum_below(id) <= point. sum_below(first) must be at most `point`.
  [[nodiscard]] std::uint32_t find(std::uint32_t first, std::uint32_t end, std::uint64_t point) const noexcept {
    const std::uint32_t* const begin = sums_.data();
    return static_cast<std::uint32_t>(std::upper_bound(begin + first, begin + end, point) - begin) - 1;
  }
  //! Returns the list of ids that follow `last`, or `before` and `last`; an empty list if the table has no such list.
  [[nodiscard]] std::span<const prior_follower> after(token_id last) const noexcept { return one_.find(0, last); }
  [[nodiscard]] std::span<const prior_follower> after(token_id before, token_id last) const noexcept {
    return two_.find(before, last);
  }
  //! Returns the total weight that a source adds to ids. `sources` is the set of all sources that apply to the text.
  //! All sources of a set together add at most 15 W.
  [[nodiscard]] std::uint32_t added(unsigned sources, prior_source of) const noexcept {
    return added_[sources][static_cast<std::size_t>(of)];
  }

 private:
  prior_table() noexcept = default;

  void read_file(detail::prior_reader& in) {
    if (in.take(4) != prior_mark || in.take(4) != prior_version) in.fail(errc::prior_header, 0);
    const std::uint32_t size = in.take(4), ones = in.take(4), twos = in.take(4);
    if (size != in.vocab_size()) in.fail(errc::prior_vocabulary, size);
    read_mixing(in);
    read_weights(in);
    read_lists(in, ones, false, one_);
    read_lists(in, twos, true, two_);
    if (in.left() > 0) in.fail(errc::trailing_bytes, in.at());
    if (in.why().ok()) hash();
  }
  // Reads the followers of one list and computes their shares.
  static void read_followers(detail::prior_reader& in, detail::prior_lists& lists) {
    const std::uint32_t count = in.take(1);
    if (in.why().ok() && (count == 0 || count > max_prior_followers)) in.fail(errc::field_out_of_range, in.at() - 1);
    std::uint64_t sum = 0;
    const std::size_t first = lists.followers.size();
    for (std::uint32_t i = 0; i < count && in.why().ok(); ++i) {
      const std::size_t at = in.at();
      const token_id id = in.take_id();
      if (i > 0 && id <= lists.followers.back().id) in.fail(errc::ids_not_ascending, at);
      lists.followers.push_back({id, prior_weight(static_cast<std::uint8_t>(in.take(1)))});
      sum += lists.followers.back().share;
    }
    for (prior_follower& one : std::span(lists.followers).subspan(first))
      one.share = static_cast<std::uint32_t>((std::uint64_t{one.share} << 31) / sum);
  }

  // Returns the number of followers in the next `count` lists. The ids before each list take `context` bytes, and a
  // follower takes `entry` bytes.
  [[nodiscard]] static std::size_t count_followers(detail::prior_reader in, std::uint32_t count, std::size_t context,
                                                   std::size_t entry) noexcept {
    std::size_t followers = 0;
    for (; count > 0; --count) {
      in.skip(context);
      const std::size_t listed = in.take(1);
      in.skip(listed * entry);
      if (!in.why().ok()) break;
      followers += listed;
    }
    return followers;
  }
  // Reads `count` lists, each after one id or after two ids.
  static void read_lists(detail::prior_reader& in, std::uint32_t count, bool two, detail::prior_lists& lists) {
    const std::size_t entry = prior_id_bytes(in.vocab_size()) + 1, least = (two ? 2 * entry - 1 : entry) + entry;
    if (!in.expect(std::uint64_t{count} * least)) return;
    lists.contexts.reserve(count);
    lists.ends.reserve(count);
    lists.followers.reserve(count_followers(in, count, two ? 2 * (entry - 1) : entry - 1, entry));
    for (; count > 0 && in.why().ok(); --count) {
      const std::size_t at = in.at();
      std::uint64_t context = two ? static_cast<std::uint64_t>(in.take_id()) << 32 : 0;
      context |= static_cast<std::uint64_t>(in.take_id());
      if (!lists.contexts.empty() && context <= lists.contexts.back()) in.fail(errc::ids_not_ascending, at);
      lists.contexts.push_back(context);
      read_followers(in, lists);
      lists.ends.push_back(static_cast<std::uint32_t>(lists.followers.size()));
    }
  }
  void read_mixing(detail::prior_reader& in) noexcept {
    for (unsigned set = 1; set < prior_source_sets; ++set) {
      std::uint32_t sum = 0;
      for (unsigned source = 0; source < prior_sources; ++source) {
        const std::uint32_t mixing = in.take(1);
        sum += mixing;
        if (sum > max_prior_mixing || (mixing != 0 && (set >> source & 1u) == 0))
          in.fail(errc::field_out_of_range, in.at() - 1);
        added_[set][source] = mixing;
      }
    }
  }
  void read_weights(detail::prior_reader& in) {
    if (!in.expect(in.vocab_size())) return;
    sums_.resize(std::size_t{in.vocab_size()} + 1);
    for (std::size_t id = 0; id < in.vocab_size(); ++id) {
      const std::uint32_t weight = prior_weight(static_cast<std::uint8_t>(in.take(1)));
      if (weight > max_prior_sum - sums_[id]) return in.fail(errc::field_out_of_range, in.at() - 1);
      sums_[id + 1] = sums_[id] + weight;
    }
    for (auto& row : added_) {
      for (std::uint32_t& mixing : row) mixing = static_cast<std::uint32_t>(std::uint64_t{sums_.back()} * mixing >> 4);
    }
  }
  void hash() noexcept {
    detail::fnv128 hash;
    hash.fold_number(vocab_size());
    for (std::size_t id = 1; id < sums_.size(); ++id) hash.fold_number(sums_[id]);
    for (const auto& row : added_) {
      for (const std::uint32_t weight : row) hash.fold_number(weight);
    }
    for (const detail::prior_lists* lists : {&one_, &two_}) {
      hash.fold_number(static_cast<std::uint32_t>(lists->contexts.size()));
      for (const std::uint64_t context : lists->contexts) {
        hash.fold_number(static_cast<std::uint32_t>(context >> 32));
        hash.fold_number(static_cast<std::uint32_t>(context));
      }
      for (const std::uint32_t end : lists->ends) hash.fold_number(end);
      for (const prior_follower& one : lists->followers) {
        hash.fold_number(static_cast<std::uint32_t>(one.id));
        hash.fold_number(one.share);
      }
    }
    fingerprint_ = {hash.high(), hash.low()};
  }

  owned_memory<std::uint32_t> sums_{};  // V + 1 sums of weights
  detail::prior_lists one_{}, two_{};
  std::array<std::array<std::uint32_t, prior_sources>, prior_source_sets> added_{};
  prior_fingerprint fingerprint_{};
};

SPECVERIFY_NAMESPACE_END

#endif
