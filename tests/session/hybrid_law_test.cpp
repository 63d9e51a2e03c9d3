// SPDX-License-Identifier: Apache-2.0
// Distribution of whole sessions in which the edge commits some tokens on its own, compared with the mixture of the
// papers in long double: out(v) = x_v s_v + x_v (1 - s_v)(1 - beta_v) + sum_d x_d (1 - s_d) beta_d p_v, p = norm((y -
// x)+), s_d = P(d is kept | d). Texts have two tokens, so that a kept token is followed by an upload, by another kept
// token, or by nothing.
#include <doctest/doctest.h>

#include <specverify/host/drive.hpp>
#include <specverify/policy/skip.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/quantize/claim.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>
#include <specverify/testing/chi_square.hpp>

#include <session/hash_model.hpp>
#include <session/in_turns.hpp>
#include <support/secret_of.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

using namespace specverify;
using namespace specverify_test;

namespace {

constexpr std::uint32_t vocab_size = 4;
constexpr int samples = 4;
constexpr double maximum_temperature = 2.0, gate = 0.5;
using row = std::array<float, vocab_size>;
using probabilities = std::array<long double, vocab_size>;

row logits(bool drafter, token_id last) {
  row made{};
  for (std::uint32_t v = 0; v < vocab_size; ++v) {
    const auto unit = [](std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1.0p-24F; };
    made[v] = 3.0F * unit(mix(static_cast<std::uint64_t>(last) * 31 + v)) +
              (drafter ? 1.5F * unit(mix(977 + static_cast<std::uint64_t>(last) * 7 + v)) : 0.0F);
  }
  return made;
}

probabilities softmax_of(const row& z, long double temperature) {
  long double largest = z[0], sum = 0;
  for (const float value : z) largest = std::max(largest, static_cast<long double>(value));
  probabilities made{};
  for (std::uint32_t v = 0; v < vocab_size; ++v)
    sum += made[v] = std::exp((static_cast<long double>(z[v]) - largest) / temperature);
  for (long double& p : made) p /= sum;
  return made;
}

enum class kind { always, coin, uncertain, important };

//! After a token below 2 the drafted token matters, because four weights are near the largest. After other tokens one
//! weight has nearly all.
constexpr bool important_after(token_id last) { return last < 2; }
std::array<float, 5> attention_after(token_id last) {
  return important_after(last) ? std::array<float, 5>{0.22F, 0.21F, 0.2F, 0.2F, 0.17F}
                               : std::array<float, 5>{0.9F, 0.03F, 0.03F, 0.02F, 0.02F};
}

constexpr int disagreement_bound = static_cast<int>(gate * samples);  // kept up to here

//! Returns P(j of the draws at random temperatures give another token | the edge drew d), j = 0 .. samples.
std::array<long double, samples + 1> disagreements_of(const row& z, std::uint32_t d) {
  constexpr int steps = 20000;  // midpoints; towards 0 the distribution is the argmax
  long double same = 0;
  for (int i = 0; i < steps; ++i)
    same += softmax_of(z, static_cast<long double>(maximum_temperature) * (i + 0.5L) / steps)[d];
  const long double e = 1 - same / steps;
  std::array<long double, samples + 1> made{};
  for (int k = 0; k <= samples; ++k) {
    long double choose = 1;
    for (int i = 0; i < k; ++i) choose = choose * (samples - i) / (i + 1);
    made[static_cast<std::size_t>(k)] = choose * std::pow(e, k) * std::pow(1 - e, samples - k);
  }
  return made;
}

//! Returns P(the edge keeps d | it drew d).
long double kept(kind how, token_id last, const row& z, std::uint32_t d) {
  if (how == kind::always) return 0;
  if (how == kind::important && !important_after(last)) return 1;
  if (how == kind::coin) return 0.5L;
  const auto shares = disagreements_of(z, d);
  long double below = 0;
  for (int k = 0; k <= disagreement_bound; ++k) below += shares[static_cast<std::size_t>(k)];
  return below;
}

probabilities mixture(kind how, token_id last) {
  const row z = logits(true, last);
  const probabilities x = softmax_of(z, 1), y = softmax_of(logits(false, last), 1);
  probabilities residual{}, out{};
  long double excess = 0, sent = 0;
  for (std::uint32_t v = 0; v < vocab_size; ++v) excess += residual[v] = std::max(0.0L, y[v] - x[v]);
  for (std::uint32_t d = 0; d < vocab_size; ++d) {
    const long double s = kept(how, last, z, d), beta = std::max(0.0L, 1 - y[d] / x[d]);
    out[d] += x[d] * s + x[d] * (1 - s) * (1 - beta);
    sent += x[d] * (1 - s) * beta;
  }
  for (std::uint32_t v = 0; v < vocab_size; ++v) out[v] += sent * residual[v] / excess;
  return out;
}

//! Logits and attention depend on the last token.
struct last_token_model {
  bool is_drafter;
  std::array<float, vocab_size> z{};
  std::array<float, 5> weights{};
  status feed(std::uint32_t, std::span<const token_id> tokens, std::uint32_t rows) {
    REQUIRE(rows == 1);
    z = logits(is_drafter, tokens.back());
    weights = attention_after(tokens.back());
    return {};
  }
  row_view<float> row(std::uint32_t) const { return logits_row<float>(z); }
  std::span<const float> attention(std::uint32_t) const { return weights; }
  void truncate(std::uint32_t) {}
};

//! Encoding of distributions.
struct law_kind {
  law_format format = law_format::fp16_row;
  std::uint32_t resolution = 0;
  bool draw_from_row = false;
};

//! Returns a text of two tokens after the prompt {1}.
template <class Sparsifier = top_k, class Skip = always_send>
std::array<token_id, 2> session_of_two(std::uint64_t id, const Skip& skip = {}, const law_kind& laws = {},
                                       const Sparsifier& sparsifier = {}) {
  edge_options device;
  device.session_id = id;
  device.secret = secret_of(3);
  device.vocab_size = vocab_size;
  device.format = laws.format;
  device.draw_from_row = laws.draw_from_row;
  device.attachments.max_skipped = 2;
  device.bonus = false;
  device.token_budget = 2;
  device.max_text_length = 8;
  device.text_chunk = 4;
  cloud_options server;
  server.secret = secret_of(4);
  server.salt = 1;
  server.vocab_size = vocab_size;
  server.max_text_length = 8;
  server.text_chunk = 4;
  const std::optional<Sparsifier> kept = has_support(laws.format) ? std::optional(sparsifier) : std::nullopt;
  const fixed_window window{1, laws.resolution};
  server.limits = cloud_session::limits_for(format_of(device, kept, window));
  auto edge = std::move(make_edge(device, kept, window, skip)).value();
  auto cloud = std::move(make_cloud(server)).value();
  last_token_model drafter{true}, target{false};
  write_in_turns(edge, drafter, cloud, target, std::array<token_id, 1>{1});
  REQUIRE(edge.length() == 3);
  return {edge.text()[1], edge.text()[2]};
}

//! Counts texts of `runs` sessions, and tests how well they fit the distribution given per token.
template <class Law, class Run>
double fit(const Law& law_after, const Run& run, std::uint64_t runs) {
  std::array<double, vocab_size * vocab_size> expected{};
  const probabilities first = law_after(1);
  for (std::uint32_t a = 0; a < vocab_size; ++a) {
    const probabilities second = law_after(static_cast<token_id>(a));
    for (std::uint32_t b = 0; b < vocab_size; ++b)
      expected[a * vocab_size + b] = static_cast<double>(first[a] * second[b]);
  }
  std::array<std::uint64_t, vocab_size * vocab_size> seen{};
  for (std::uint64_t id = 1; id <= runs; ++id) {
    const std::array<token_id, 2> text = run(id);
    seen[static_cast<std::size_t>(text[0]) * vocab_size + static_cast<std::size_t>(text[1])] += 1;
  }
  auto fits = chi_square(seen, expected);
  REQUIRE(fits.ok());
  return fits->p_value;
}

probabilities target_after(token_id last) { return softmax_of(logits(false, last), 1); }

//! One round in the paper's order, in which d comes from x: it is tested against x_d, and the residual is taken against
//! x^, as in quantize/claim.hpp.
class row_round {
 public:
  explicit row_round(token_id last)
      : drafter_logits(logits(true, last)), x(softmax_of(drafter_logits, 1)), y_(target_after(last)) {
    read_request wanted = top_k{1, true}.request({}, vocab_size);
    wanted.top_entries = vocab_size;
    const auto reading = read_row(exec::seq, logits_row<float>(drafter_logits), {}, wanted, space_);
    REQUIRE(reading.ok());
    summary_ = *reading;
  }

  //! Adds `share` of the distribution of the committed token if the k largest entries are sent with d.
  void add(probabilities& out, long double share, std::uint32_t d, std::uint32_t support_size,
           std::uint32_t resolution) {
    workspace scratch{std::span<std::byte>(more_)}, law_space{std::span<std::byte>(law_memory_)};
    const auto kept = top_k{support_size, true}.select(*summary_, {}, scratch);
    REQUIRE(kept.ok());
    const auto made =
        make_claim(*summary_, *kept, static_cast<token_id>(d), {law_format::top_k_tail, resolution}, law_space);
    REQUIRE(made.ok());
    const law& claimed = made->claimed;
    probabilities residual{};
    long double excess = 0;
    for (std::uint32_t v = 0; v < vocab_size; ++v) {
      const long double given = static_cast<long double>(claimed.count(static_cast<token_id>(v))) / claimed.resolution;
      excess += residual[v] = std::max(0.0L, y_[v] - given);
    }
    const long double accepted = std::min(1.0L, y_[d] / x[d]);
    out[d] += share * accepted;
    for (std::uint32_t v = 0; v < vocab_size; ++v) out[v] += share * (1 - accepted) * residual[v] / excess;
  }

  const row drafter_logits;
  const probabilities x;

 private:
  probabilities y_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(4096), more_ = std::vector<std::byte>(4096),
                         law_memory_ = std::vector<std::byte>(4096);
  workspace space_{std::span<std::byte>(memory_)};
  std::optional<row_summary> summary_{};
};

probabilities from_row_after(token_id last, std::uint32_t support_size, std::uint32_t resolution) {
  row_round round(last);
  probabilities out{};
  for (std::uint32_t d = 0; d < vocab_size; ++d) round.add(out, round.x[d], d, support_size, resolution);
  return out;
}

//! Returns k(t)* by definition: N(k) / ((1 - x_d) s(-1) + x_d s(-beta^)) <= theta, beta^ = clip(.815 u - .066, 0, 1),
//! s(z) = ln(1 + e^2z) / 2.
std::uint32_t online_size(const probabilities& x, std::uint32_t d, long double uncertainty, long double theta) {
  probabilities sorted = x;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const auto soft = [](long double z) { return std::log1p(std::exp(2 * z)) / 2; };
  const long double rejected = std::clamp(0.815L * uncertainty - 0.066L, 0.0L, 1.0L);
  const long double denominator = (1 - x[d]) * soft(-1) + x[d] * soft(-rejected);
  for (std::uint32_t k = 1; k < vocab_size; ++k) {
    long double rest = 0, apart = 0;
    for (std::uint32_t i = k; i < vocab_size; ++i) rest += sorted[i];
    for (std::uint32_t i = k; i < vocab_size; ++i) apart += std::fabs(sorted[i] - rest / (vocab_size - k));
    if (apart <= theta * denominator) return k;
  }
  return vocab_size;
}

//! CU-HLM online: tokens without a disagreeing draw are kept. The others are sent together with k(t)* tokens, or with
//! the maximum over all tokens.
probabilities online_after(token_id last, double theta, std::uint32_t resolution, bool follows_token) {
  row_round round(last);
  probabilities out{};
  for (std::uint32_t d = 0; d < vocab_size; ++d) {
    const auto shares = disagreements_of(round.drafter_logits, d);
    for (int j = 0; j <= samples; ++j) {
      const long double share = round.x[d] * shares[static_cast<std::size_t>(j)];
      if (j == 0) {
        out[d] += share;
        continue;
      }
      const long double uncertainty = follows_token ? static_cast<long double>(j) / samples : 2.0L;
      round.add(out, share, d, online_size(round.x, d, uncertainty, static_cast<long double>(theta)), resolution);
    }
  }
  return out;
}

template <class Skip>
void compare(kind how, const Skip& skip, std::uint64_t runs) {
  const auto run = [&](std::uint64_t id) { return session_of_two(id, skip); };
  CHECK(fit([how](token_id last) { return mixture(how, last); }, run, runs) > 1e-4);
  if (how == kind::always) {
    CHECK(fit(target_after, run, runs) > 1e-4);
  } else {
    CHECK(fit(target_after, run, runs) < 1e-9);  // the test can distinguish the distributions
  }
}

}  // namespace

TEST_CASE("T5 sessions of HLM have the target's law") { compare(kind::always, always_send{}, 20000); }

TEST_CASE("T6 sessions of Rand-HLM have half of either law") { compare(kind::coin, random_skip{0.5}, 20000); }

TEST_CASE("T6 sessions of U-HLM have the law of the mixture over kept and verified tokens") {
  compare(kind::uncertain, uncertainty_gate{gate, {static_cast<std::uint32_t>(samples), maximum_temperature}}, 20000);
}

TEST_CASE(
    "T6 sessions of UI have the law of the mixture over tokens that are certain or do not matter, and verified ones") {
  const uncertainty_and_importance_gate skip{gate, {}, {static_cast<std::uint32_t>(samples), maximum_temperature}};
  compare(kind::important, skip, 60000);
  const auto run = [&](std::uint64_t id) { return session_of_two(id, skip); };
  // uncertainty without attention gives another distribution
  CHECK(fit([](token_id last) { return mixture(kind::uncertain, last); }, run, 60000) < 1e-9);
}

TEST_CASE("T10 sessions of CU-HLM that draw from the compressed law have the target's law, for every size") {
  for (const std::uint32_t size : {1u, 2u, 4u}) {
    const auto run = [&](std::uint64_t id) {
      return session_of_two(id, always_send{}, {law_format::top_k_tail, 255, false}, top_k{size});
    };
    CHECK(fit(target_after, run, 10000) > 1e-4);
  }
  const auto run = [&](std::uint64_t id) {
    return session_of_two(id, always_send{}, {law_format::top_k_tail, 15, false}, vocabulary_budget{0.4});
  };
  CHECK(fit(target_after, run, 10000) > 1e-4);
}

TEST_CASE(
    "T10 sessions of CU-HLM in the paper's order have the law of a token from the row and a residual of the compressed "
    "law") {
  const auto run = [&](std::uint64_t id) {
    return session_of_two(id, always_send{}, {law_format::top_k_tail, 20, true}, top_k{1});
  };
  CHECK(fit([](token_id last) { return from_row_after(last, 1, 20); }, run, 30000) > 1e-4);
  CHECK(fit(target_after, run, 30000) < 1e-9);
}

TEST_CASE(
    "T6 sessions of CU-HLM online have the law of kept tokens and of uploads whose size follows the token and its "
    "uncertainty") {
  constexpr double theta = 1.8;  // sizes 1 to 3 occur
  const online_vocabulary_budget sparsifier{{theta, 2}};
  const auto run = [&](std::uint64_t id) {
    const uncertainty_gate skip{0, {static_cast<std::uint32_t>(samples), maximum_temperature}};
    return session_of_two(id, skip, {law_format::top_k_tail, 255, true}, sparsifier);
  };
  CHECK(fit([&](token_id last) { return online_after(last, theta, 255, true); }, run, 30000) > 1e-4);
  CHECK(fit([&](token_id last) { return online_after(last, theta, 255, false); }, run, 30000) < 1e-9);
  CHECK(fit(target_after, run, 30000) < 1e-9);
}

TEST_CASE("sessions in the paper's order: a token that the lattice left nothing travels all the same") {
  for (std::uint64_t id = 1; id <= 300; ++id) {
    const std::array<token_id, 2> text = session_of_two(id, always_send{}, {law_format::top_k_tail, 2, true}, top_k{1});
    CHECK(text[0] < static_cast<token_id>(vocab_size));
  }
}
