// SPDX-License-Identifier: Apache-2.0
//! Small worlds for the law tests: a target and a drafter whose laws depend on the prefix, and one round over them. The
//! code here must not know how a rule accepts or resamples: expected laws come from the plain sampler below, in long
//! double.
#ifndef SPECVERIFY_TESTS_LAW_HARNESS_HPP
#define SPECVERIFY_TESTS_LAW_HARNESS_HPP

#include <specverify/distribution/draft.hpp>
#include <specverify/testing/enumerate_law.hpp>
#include <specverify/verify/token.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "support/stated_verdict.hpp"

namespace law_test {

namespace sv = specverify;
using sequence = std::vector<sv::token_id>;
using probabilities = std::vector<double>;

inline constexpr double infinity = std::numeric_limits<double>::infinity();

//! Draws numbers for the worlds, and uses no code of the library.
class generator {
 public:
  explicit generator(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567u) {}
  std::uint64_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1Du;
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(bits() >> 33) % bound; }

 private:
  std::uint64_t state_;
};

inline bool is_infinite(double value) {
  return (std::bit_cast<std::uint64_t>(value) << 1) == std::uint64_t{0x7FF0000000000000u} << 1;
}

//! Returns the law of a row under temperature, bias, mask and truncation, by the definitions, in long double. `order`
//! says how ties and cuts go: by probability descending, then by id ascending.
template <class Scalar>
probabilities plain_law(const std::vector<Scalar>& row, sv::row_kind kind, const sv::row_transform& transform,
                        std::uint32_t valid_size) {
  const std::size_t size = std::min<std::size_t>(row.size(), valid_size);
  std::vector<long double> score(size, 0);
  // infinities stay out of the arithmetic, because these tests also run under -ffast-math
  std::vector<char> allowed(size, 1);
  for (std::size_t v = 0; v < size; ++v) {
    const double z = static_cast<double>(row[v]);
    if (kind == sv::row_kind::logits ? is_infinite(z) : std::bit_cast<std::uint64_t>(z) == 0) {
      allowed[v] = 0;
    } else {
      score[v] = kind == sv::row_kind::logits ? static_cast<long double>(z) : std::log(static_cast<long double>(z));
    }
    if (!transform.mask_words.empty() && ((transform.mask_words[v / 64] >> (v % 64)) & 1) == 0) allowed[v] = 0;
  }
  for (std::size_t i = 0; i < transform.bias_ids.size(); ++i) {
    const auto v = static_cast<std::size_t>(transform.bias_ids[i]);
    if (is_infinite(static_cast<double>(transform.bias_values[i]))) {
      allowed[v] = 0;
    } else {
      score[v] += static_cast<long double>(transform.bias_values[i]);
    }
  }
  std::size_t best = size;
  for (std::size_t v = 0; v < size; ++v) {
    if (allowed[v] != 0 && (best == size || score[v] > score[best])) best = v;
  }
  std::vector<long double> weight(size, 0);
  for (std::size_t v = 0; v < size; ++v) {
    if (allowed[v] == 0) continue;
    if (transform.greedy()) {
      weight[v] = v == best ? 1 : 0;
    } else {
      weight[v] = std::exp((score[v] - score[best]) / static_cast<long double>(transform.temperature));
    }
  }
  const auto normalise = [&] {
    const long double sum = std::accumulate(weight.begin(), weight.end(), 0.0L);
    for (long double& w : weight) w /= sum;
  };
  normalise();
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
  const auto top_k_count = [&] {
    return transform.truncation.top_k == 0 ? size : std::min<std::size_t>(size, transform.truncation.top_k);
  };
  const auto top_p_count = [&] {
    long double mass = 0;
    std::size_t count = 0;
    while (count < size && mass < static_cast<long double>(transform.truncation.top_p)) mass += weight[order[count++]];
    return transform.truncation.top_p >= 1 ? size : count;
  };
  const auto keep = [&](std::size_t count) {
    for (std::size_t i = count; i < size; ++i) weight[order[i]] = 0;
  };
  if (transform.truncation.active()) {
    const long double largest = weight[order[0]];
    std::vector<char> keep_min_p(size, 1);
    for (std::size_t v = 0; v < size; ++v)
      keep_min_p[v] = weight[v] >= static_cast<long double>(transform.truncation.min_p) * largest ? 1 : 0;
    switch (transform.truncation.order) {
      case sv::truncation_order::joint:
        keep(std::min(top_k_count(), top_p_count()));
        break;
      case sv::truncation_order::top_k_then_top_p:
        keep(top_k_count());
        normalise();
        keep(top_p_count());
        break;
      case sv::truncation_order::top_p_then_top_k:
        keep(top_p_count());
        normalise();
        keep(top_k_count());
        break;
    }
    for (std::size_t v = 0; v < size; ++v) {
      if (keep_min_p[v] == 0) weight[v] = 0;
    }
    normalise();
  }
  return {weight.begin(), weight.end()};
}

//! A law in integers that owns the arrays.
struct owned_law {
  std::vector<sv::token_id> ids{};
  std::vector<std::uint32_t> counts{};
  std::uint32_t tail_count = 0;
  std::uint32_t vocab_size = 0;

  [[nodiscard]] sv::law view() const {
    const std::uint64_t listed = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    const auto resolution = static_cast<std::uint32_t>(listed + std::uint64_t{tail_count} * (vocab_size - ids.size()));
    return {ids.data(), counts.data(), static_cast<std::uint32_t>(ids.size()), tail_count, resolution, vocab_size};
  }
  [[nodiscard]] probabilities dense(std::uint32_t size) const {
    probabilities q(size, 0.0);
    const sv::law law = view();
    for (std::uint32_t v = 0; v < size; ++v)
      q[v] = static_cast<double>(law.count(static_cast<sv::token_id>(v))) / static_cast<double>(law.resolution);
    return q;
  }
};

inline owned_law law_of_counts(const std::vector<std::uint32_t>& dense_counts, bool drop_zero) {
  owned_law law;
  law.vocab_size = static_cast<std::uint32_t>(dense_counts.size());
  for (std::size_t v = 0; v < dense_counts.size(); ++v) {
    if (drop_zero && dense_counts[v] == 0) continue;
    law.ids.push_back(static_cast<sv::token_id>(v));
    law.counts.push_back(dense_counts[v]);
  }
  return law;
}

//! A target and a drafter over prefixes of up to L tokens. Node 0 is the empty prefix; token v leads from node n to n V
//! + v + 1.
template <class Scalar>
struct world {
  std::string name{};
  std::uint32_t vocab_size = 0;
  std::uint32_t draft_length = 0;
  sv::row_kind kind = sv::row_kind::logits;
  std::vector<std::vector<Scalar>> rows{};
  std::vector<owned_law> drafter{};
  sv::row_transform transform{};
  //! if not empty, replaces `transform`: one for every length of the prefix
  std::vector<sv::row_transform> by_position{};
  std::uint32_t valid_size = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] std::size_t child(std::size_t node, sv::token_id token) const {
    const std::size_t next = node * vocab_size + static_cast<std::size_t>(token) + 1;
    return token >= 0 && static_cast<std::uint32_t>(token) < vocab_size && next < rows.size() ? next : 0;
  }
  [[nodiscard]] sv::row_view<Scalar> row(std::size_t node) const {
    return {kind, rows[node].data(), static_cast<std::uint32_t>(rows[node].size()), valid_size};
  }
  [[nodiscard]] const sv::row_transform& transform_at(std::size_t node) const {
    if (by_position.empty()) return transform;
    std::size_t depth = 0;
    for (; node > 0; node = (node - 1) / vocab_size) ++depth;
    return by_position[depth];
  }
  [[nodiscard]] probabilities target_law(std::size_t node) const {
    return plain_law(rows[node], kind, transform_at(node), valid_size);
  }
};

inline std::size_t node_count(std::uint32_t vocab_size, std::uint32_t depth) {
  std::size_t count = 0, level = 1;
  for (std::uint32_t i = 0; i <= depth; ++i, level *= vocab_size) count += level;
  return count;
}

enum class shape { random, zeros, one_hot_target, one_hot_drafter, equal, heavy_tail, opposite, probability_rows };
inline constexpr std::array<shape, 8> all_shapes{shape::random,          shape::zeros,           shape::one_hot_target,
                                                 shape::one_hot_drafter, shape::equal,           shape::heavy_tail,
                                                 shape::opposite,        shape::probability_rows};
inline const char* name_of(shape which) {
  constexpr std::array<const char*, 8> names{"random", "zeros",      "one-hot target", "one-hot drafter",
                                             "equal",  "heavy tail", "opposite",       "probability rows"};
  return names[static_cast<std::size_t>(which)];
}

//! Makes a world of one shape. Laws have resolution up to `resolution`. If `drop_zero`, zero counts are not listed.
template <class Scalar>
world<Scalar> make_world(shape which, std::uint32_t vocab_size, std::uint32_t draft_length, std::uint64_t seed,
                         std::uint32_t resolution = 12) {
  generator draw(seed);
  world<Scalar> made;
  made.name = std::string(name_of(which)) + ", V " + std::to_string(vocab_size) + ", L " +
              std::to_string(draft_length) + ", seed " + std::to_string(seed);
  made.vocab_size = vocab_size;
  made.draft_length = draft_length;
  if (which == shape::probability_rows) made.kind = sv::row_kind::probabilities;
  const std::size_t nodes = node_count(vocab_size, draft_length);
  for (std::size_t node = 0; node < nodes; ++node) {
    std::vector<Scalar> row(vocab_size);
    std::vector<std::uint32_t> counts(vocab_size, 0);
    const std::uint32_t chosen = draw.below(vocab_size);
    for (std::uint32_t i = 0; i < resolution; ++i) ++counts[draw.below(vocab_size)];
    if (which == shape::one_hot_drafter || (which == shape::one_hot_target && draw.below(2) == 0)) {
      std::fill(counts.begin(), counts.end(), 0u);
      counts[draw.below(vocab_size)] = 1 + draw.below(3);
    }
    if (which == shape::opposite) {  // no mass in common
      for (std::uint32_t v = 0; v < vocab_size; ++v) counts[v] = v % 2 == 0 ? counts[v] + 1 : 0;
    }
    double sum = 0;
    for (std::uint32_t v = 0; v < vocab_size; ++v) {
      double z = 4.0 * draw.uniform() - 2.0;
      if (which == shape::zeros && v != chosen && draw.below(2) == 0) z = -infinity;
      if (which == shape::one_hot_target && v != chosen) z = draw.below(2) == 0 ? -infinity : -80.0;
      if (which == shape::heavy_tail) z = v == chosen ? 0.0 : -6.0 * static_cast<double>(1 + draw.below(5));
      if (which == shape::opposite && v % 2 == 0) z = -infinity;
      if (which == shape::equal) z = counts[v] == 0 ? -infinity : std::log(static_cast<double>(counts[v]));
      if (which == shape::probability_rows) z = draw.below(3) == 0 && v != chosen ? 0.0 : std::exp(z);
      row[v] = static_cast<Scalar>(z);
      sum += z;
    }
    if (which == shape::probability_rows) {
      for (Scalar& p : row) p = static_cast<Scalar>(static_cast<double>(p) / sum);
    }
    made.rows.push_back(row);
    made.drafter.push_back(law_of_counts(counts, draw.below(2) == 0));
  }
  return made;
}

//! The results of a round, except the committed tokens.
struct round_record {
  sequence committed{};
  sequence drafted{};
  specverify_test::stated_verdict outcome{};
};

//! Reads the rows of a world along the drafted path.
template <class Scalar>
struct path_rows {
  const world<Scalar>& in;
  std::span<const std::size_t> nodes;
  [[nodiscard]] sv::row_view<Scalar> operator()(std::uint32_t index) const { return in.row(nodes[index]); }
  [[nodiscard]] const sv::row_transform& transform(std::uint32_t index) const { return in.transform_at(nodes[index]); }
};

inline std::size_t scratch_size(std::uint32_t vocab_size, const sv::row_transform& transform, std::uint32_t length) {
  return sv::verify_workspace_size(vocab_size, transform, length);
}

//! Runs one round from `node`, at the place of the uniforms: draws L drafts, verifies them, commits.
//! `make_draft(token's draft, node)` may exchange the draft.
template <class Policy, class Scalar, class Source, class MakeDraft, class Rule = sv::token_rule>
round_record run_round(Policy policy, const world<Scalar>& in, const sv::uniforms<Source>& random, Rule rule,
                       std::size_t node, std::uint32_t length, sv::verify_request request, MakeDraft make_draft) {
  using draft_type = std::decay_t<std::invoke_result_t<MakeDraft, const sv::draft&, std::size_t>>;
  round_record record;
  std::vector<draft_type> drafts;
  std::vector<std::size_t> nodes{node};
  for (std::uint32_t i = 0; i < length; ++i) {
    const sv::draft drawn = sv::draw(in.drafter[nodes.back()].view(), random.after(i).at(sv::purpose::draft_draw));
    drafts.push_back(make_draft(drawn, nodes.back()));
    record.drafted.push_back(drawn.token());
    nodes.push_back(in.child(nodes.back(), drawn.token()));
  }
  static thread_local std::vector<std::byte> bytes;
  bytes.resize(
      std::max(bytes.size(), scratch_size(static_cast<std::uint32_t>(in.rows[0].size()), in.transform, length)));
  sv::workspace scratch{std::span<std::byte>(bytes)};
  record.outcome =
      rule.verify(policy, std::span<const draft_type>(drafts), path_rows<Scalar>{in, nodes}, random, request, scratch);
  for (std::uint32_t i = 0; i < record.outcome.accepted; ++i) record.committed.push_back(record.drafted[i]);
  if (record.outcome.next_token != sv::no_token) record.committed.push_back(record.outcome.next_token);
  return record;
}

template <class Policy, class Scalar, class Source>
round_record run_round(Policy policy, const world<Scalar>& in, const sv::uniforms<Source>& random,
                       sv::token_rule rule) {
  return run_round(policy, in, random, rule, 0, in.draft_length, {},
                   [](const sv::draft& drawn, std::size_t) { return drawn; });
}

//! Returns the distance between two laws of texts of L + 1 tokens: committed texts, continued by the target's own law,
//! and the target's texts. It is zero iff every committed token has the target's conditional law. A text ends with a
//! stop token.
template <class Scalar>
double text_distance(const sv::enumerated_law<sequence>& committed, const world<Scalar>& in,
                     std::span<const sv::token_id> stop_tokens = {}) {
  double distance = 0;
  sequence prefix;
  const auto walk = [&](const auto& self, std::size_t node, double expected, double measured) -> void {
    measured += committed.probability(prefix);
    const bool ended =
        !prefix.empty() && std::find(stop_tokens.begin(), stop_tokens.end(), prefix.back()) != stop_tokens.end();
    if (ended || prefix.size() == in.draft_length + 1) {
      distance += std::fabs(measured - expected) / 2;
      return;
    }
    const probabilities p = in.target_law(node);
    for (std::uint32_t v = 0; v < in.vocab_size; ++v) {
      const double step = v < p.size() ? p[v] : 0.0;
      prefix.push_back(static_cast<sv::token_id>(v));
      self(self, in.child(node, prefix.back()), expected * step, measured * step);
      prefix.pop_back();
    }
  };
  walk(walk, 0, 1.0, 0.0);
  return distance;
}

template <class Scalar>
inline constexpr double tolerance = std::is_same_v<Scalar, double> ? 1e-12 : 1e-6;

//! SPECVERIFY_LONG=1 asks for more worlds and more draws.
inline bool long_run() {
  const char* value = std::getenv("SPECVERIFY_LONG");
  return value != nullptr && value[0] == '1';
}

//! Returns true under qemu. These legs are ten times slower, so they keep the smaller worlds; the machine's own legs
//! have them all.
inline bool emulated() { return std::getenv("SPECVERIFY_EMULATED") != nullptr; }

//! Runs `body(policy, name)` for each execution policy. A twin runs seq alone, since one failure is enough. Under qemu
//! only simd runs, because tests/backend compares both policies there, and the other legs measure the laws of seq.
template <class Body>
void for_each_policy(Body body) {
#ifdef SPECVERIFY_ONE_POLICY
  body(sv::exec::seq, std::string("seq"));
#else
  body(sv::exec::simd, std::string("simd"));
  if (!emulated()) body(sv::exec::seq, std::string("seq"));
#endif
}

}  // namespace law_test

#endif
