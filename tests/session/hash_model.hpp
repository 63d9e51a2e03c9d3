// SPDX-License-Identifier: Apache-2.0
// A model whose rows are a pure function of the prefix, and an engine whose cache checks the session's calls.
#ifndef SPECVERIFY_TESTS_SESSION_HASH_MODEL_HPP
#define SPECVERIFY_TESTS_SESSION_HASH_MODEL_HPP

#include <specverify/codec/prior_table.hpp>
#include <specverify/core/views.hpp>
#include <specverify/row/transform.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "unit/codec/prior_kit.hpp"

namespace specverify_test {

using specverify::token_id;

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

//! Deterministic numbers for schedules, independent of the library's generator.
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(mix(seed)) {}
  std::uint64_t next() { return mix(state_ += 0x632BE59BD9B4E019u); }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool chance(double probability) { return static_cast<double>(next() >> 11) * 0x1.0p-53 < probability; }

 private:
  std::uint64_t state_;
};

//! Returns a hidden state of a few numbers in [-1, 1).
template <std::size_t Size>
std::array<float, Size> hidden_of(std::uint64_t prefix) {
  std::array<float, Size> made{};
  for (std::size_t i = 0; i < Size; ++i) made[i] = static_cast<float>(mix(prefix + i) >> 40) * 0x1.0p-23F - 1.0F;
  return made;
}

//! Returns an attention row over a few positions: flat for half of the prefixes, with few large weights for the others.
inline std::array<float, 12> attention_of(std::uint64_t prefix) {
  std::array<float, 12> made{};
  const int sharpness = mix(prefix ^ 0xA77E) % 2 == 0 ? 0 : 4;
  float sum = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = static_cast<float>(mix(prefix + 0xA77 + i) >> 40) * 0x1.0p-24F + 0.01F;
    for (int j = 0; j < sharpness; ++j) made[i] *= made[i];
    sum += made[i];
  }
  for (float& weight : made) weight /= sum;
  return made;
}

//! Returns a score that depends only on the sent vector and the target's prefix.
inline double score_of(std::span<const std::byte> vector, std::uint64_t target) {
  std::uint64_t hash = mix(target);
  for (const std::byte byte : vector) hash = mix(hash ^ std::to_integer<std::uint64_t>(byte));
  return static_cast<double>(hash >> 11) * 0x1.0p-53;
}

//! Target and drafter share most of their logits, so some drafts are accepted and others are not.
struct hash_model {
  std::uint32_t vocab_size = 40;
  std::uint64_t seed = 1;
  float agreement = 1.0F;  // weight of the shared part; the target has only that
  std::uint64_t own = 0;

  void row(std::uint64_t prefix, std::span<float> out) const {
    for (std::uint32_t v = 0; v < vocab_size; ++v) {
      const auto unit = [](std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1.0p-24F; };
      const float shared = unit(mix(prefix ^ mix(seed + v)));
      const float private_part = own == 0 ? 0.0F : unit(mix(prefix ^ mix(own + v)));
      out[v] = 6.0F * (agreement * shared * shared + (1.0F - agreement) * private_part);
    }
  }
};

//! A cache of tokens. `feed` and `cut` fail if the session and the cache disagree. With a jitter, rows do not repeat:
//! after each `clear` the engine adds other noise to the logits, like an engine that is fed in batches of another
//! shape.
class hash_engine {
 public:
  explicit hash_engine(const hash_model& model, float jitter = 0) : model_(model), jitter_(jitter) {}

  [[nodiscard]] bool feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    if (position != prefixes_.size() || tokens.empty() || rows > tokens.size()) return false;
    for (const token_id token : tokens) {
      const std::uint64_t before = prefixes_.empty() ? 17 : prefixes_.back();
      prefixes_.push_back(mix(before ^ (static_cast<std::uint64_t>(token) + 0x51ED)));
    }
    const std::size_t needed = std::size_t{rows} * model_.vocab_size;
    if (values_.size() < needed) values_.resize(needed);
    views_.clear();
    for (std::uint32_t i = 0; i < rows; ++i) {
      const std::span<float> out =
          std::span<float>(values_).subspan(std::size_t{i} * model_.vocab_size, model_.vocab_size);
      const std::uint64_t prefix = prefixes_[prefixes_.size() - rows + i];
      model_.row(prefix, out);
      if (jitter_ > 0) shake(prefix, out);
      views_.push_back(specverify::logits_row(std::span<const float>(out)));
    }
    return true;
  }
  [[nodiscard]] bool cut(std::uint32_t length) {
    if (length > prefixes_.size()) return false;
    prefixes_.resize(length);
    return true;
  }
  void clear() {
    prefixes_.clear();
    ++life_;
  }
  //! Returns the hash of the text up to the token at `position`, which is all that a model can depend on.
  [[nodiscard]] std::uint64_t knows(std::size_t position) const {
    return position < prefixes_.size() ? prefixes_[position] : 0;
  }
  [[nodiscard]] std::uint64_t knows() const { return prefixes_.empty() ? 0 : prefixes_.back(); }
  void reserve(std::size_t length, std::size_t rows) {
    prefixes_.reserve(length);
    values_.resize(rows * model_.vocab_size);
    views_.reserve(rows);
  }
  [[nodiscard]] std::span<const specverify::row_view<float>> rows() const { return views_; }
  //! Returns the rows of the last feed, one after another.
  [[nodiscard]] std::span<const float> logits() const { return values_; }

 private:
  //! Adds numbers in [-jitter, jitter).
  void shake(std::uint64_t prefix, std::span<float> out) const {
    for (std::size_t v = 0; v < out.size(); ++v)
      out[v] += jitter_ * (static_cast<float>(mix(prefix ^ mix(life_ + mix(v))) >> 40) * 0x1.0p-23F - 1.0F);
  }

  hash_model model_;
  float jitter_;
  std::uint64_t life_ = 0;
  std::vector<std::uint64_t> prefixes_;
  std::vector<float> values_;
  std::vector<specverify::row_view<float>> views_;
};

//! Returns a table for `id_code::prior`, the same for the same seed. It lives until the program ends.
inline const specverify::prior_table& table_of(std::uint32_t vocab_size, std::uint64_t seed) {
  static std::map<std::pair<std::uint32_t, std::uint64_t>, specverify::prior_table> all;
  const auto found = all.find({vocab_size, seed});
  if (found != all.end()) return found->second;
  std::mt19937_64 random(seed);
  return all.emplace(std::pair(vocab_size, seed), read_prior(random_prior(random, vocab_size))).first->second;
}

}  // namespace specverify_test

#endif
