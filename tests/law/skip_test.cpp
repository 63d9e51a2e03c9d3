// SPDX-License-Identifier: Apache-2.0
//! One round of a hybrid language model from shipped functions: draw d, measure it, send or keep it, verify with L = 1
//! and no bonus token. Expected laws come from the skip-mixture formula, with softmaxes and binomials in long double.
#include "law/harness.hpp"

#include <specverify/policy/skip.hpp>
#include <specverify/sparsify/compressed_law.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/testing/chi_square.hpp>
#include <specverify/verify/mismatched.hpp>

#include <support/secret_of.hpp>

#include <functional>
#include <optional>
#include <tuple>

using namespace law_test;

namespace {

//! A drafter with a law x, a target y, and separate logits z for the drafter's uncertainty.
template <class Scalar>
struct pair_of_models {
  world<Scalar> in{};
  std::vector<Scalar> drafter_row{};
  std::vector<float> attention{};

  [[nodiscard]] probabilities x() const { return in.drafter[0].dense(in.vocab_size); }
  [[nodiscard]] probabilities y() const { return in.target_law(0); }
};

template <class Scalar>
pair_of_models<Scalar> make_pair(shape which, std::uint32_t vocab_size, std::uint64_t seed) {
  pair_of_models<Scalar> made;
  made.in = make_world<Scalar>(which, vocab_size, 1, seed);
  generator draw(seed + 1000);
  for (std::uint32_t v = 0; v < vocab_size; ++v) made.drafter_row.push_back(static_cast<Scalar>(3.0 * draw.uniform()));
  if (which == shape::zeros) made.drafter_row[draw.below(vocab_size)] = static_cast<Scalar>(-infinity);
  return made;
}

//! Temperatures on a grid: only the cell of a number of purpose 4 counts, and all samples have the same law. Every cell
//! stands for the left end, so the first one is the temperature 0.
template <class Source>
struct gridded {
  const Source& from;
  std::uint32_t cells;
  std::uint32_t* read = nullptr;  //!< the cells that were read, in base 16
  [[nodiscard]] sv::random_block operator()(sv::random_counter counter) const noexcept {
    const sv::random_block block = from(counter);
    if (counter.use != sv::purpose::perturbation_temperature || cells == 0) return block;
    const double cell = std::floor(sv::decision_uniform(block) * cells);
    if (read != nullptr) *read = *read * 16 + static_cast<std::uint32_t>(cell) + 1;
    const auto bits = static_cast<std::uint64_t>(cell / cells * 0x1.0p53) << 11;
    return {{static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits), 0, 0}};
  }
};

//! The token that a round committed (-2: an error), and the number of draws that disagreed.
struct round_result {
  sv::token_id token = -2;
  std::uint32_t disagreements = 0;
};

//! Returns the draft that travels for a token instead of the draft itself.
using upload_of = std::function<sv::mismatched_draft(sv::token_id, const sv::skip_observation&)>;

//! Runs one round at `position`.
template <class Policy, class Scalar, class Skip, class Source>
round_result one_round(Policy policy, const pair_of_models<Scalar>& models, const Skip& skip, const Source& source,
                       sv::token_rule rule, std::uint32_t position = 0, std::uint32_t round = 0,
                       const upload_of& upload = {}) {
  const sv::draft drafted =
      sv::draw(models.in.drafter[0].view(), sv::uniforms{source, position, round}.at(sv::purpose::draft_draw));
  static thread_local std::vector<std::byte> bytes;
  const auto size = static_cast<std::uint32_t>(models.drafter_row.size());
  bytes.resize(std::max(bytes.size(), sv::digest_workspace_size(size, {}, {}) + sv::skip_workspace_size<Skip>(size) +
                                          scratch_size(size, models.in.transform, 1)));
  sv::workspace scratch{std::span<std::byte>(bytes)};
  const sv::uniforms random{source, position, round};
  const auto reading =
      sv::read_row(policy, sv::logits_row(std::span<const Scalar>(models.drafter_row)), {}, {}, scratch);
  if (!reading) return {};
  const auto seen = sv::observe_skip(*reading, skip, drafted.token(), models.attention, random, scratch);
  if (!seen) return {};
  if (!skip.send(*seen)) return {drafted.token(), seen->disagreements};
  sv::verify_request request;
  request.remaining_budget = 1;  // no bonus token
  const std::size_t nodes[2] = {0, 0};
  const path_rows<Scalar> rows{models.in, nodes};
  sv::result<sv::verdict> verdict = sv::status{};
  if (upload) {
    const sv::mismatched_draft sent = upload(drafted.token(), *seen);
    verdict = sv::lossy_token_rule{rule.trial_cap}.verify(policy, std::span(&sent, 1), rows, random, request, scratch);
  } else {
    verdict = rule.verify(policy, std::span<const sv::draft>(&drafted, 1), rows, random, request, scratch);
  }
  if (!verdict || verdict->commit_length != 1) return {};
  return {verdict->accepted == 1 ? drafted.token() : verdict->next_token, seen->disagreements};
}

//! Returns the law of the committed token. The enumeration includes cells and disagreements, so that no breakpoint can
//! hide behind a later number.
template <class Policy, class Scalar, class Skip>
sv::enumerated_law<sv::token_id> round_law(Policy policy, const pair_of_models<Scalar>& models, const Skip& skip,
                                           std::uint32_t cells, const upload_of& upload = {}) {
  std::vector<double> edges;
  for (std::uint32_t i = 1; i < cells; ++i) edges.push_back(static_cast<double>(i) / cells);
  sv::enumerate_law_options options;
  options.hints = edges;
  options.checks = long_run() ? 2000 : 200;  // the larger worlds have intervals that 200 points miss
  const auto law = sv::enumerate_law(
      [&](const sv::scripted_source& source) {
        std::uint32_t read = 0;
        const round_result done =
            one_round(policy, models, skip, gridded<sv::scripted_source>{source, cells, &read}, {2}, 0, 0, upload);
        return std::tuple<sv::token_id, std::uint32_t, std::uint32_t>(done.token, read, done.disagreements);
      },
      options);
  REQUIRE(law.complete);
  CHECK_FALSE(law.grid_may_be_too_coarse);
  return law.marginal([](const auto& outcome) { return std::get<0>(outcome); });
}

//! out(v) = x_v s_v + x_v (1 - s_v)(1 - beta_v) + sum_d x_d (1 - s_d) beta_d p_v, p = norm((y - x)+).
probabilities skip_mixture(const probabilities& x, const probabilities& y, const probabilities& s) {
  const std::size_t size = x.size();
  std::vector<long double> beta(size, 0), p(size, 0);
  long double mass = 0, rejected = 0;
  for (std::size_t v = 0; v < size; ++v) {
    const auto xv = static_cast<long double>(x[v]), yv = static_cast<long double>(y[v]);
    if (xv > 0) beta[v] = std::max(0.0L, 1 - yv / xv);
    p[v] = std::max(0.0L, yv - xv);
    mass += p[v];
    rejected += xv * (1 - static_cast<long double>(s[v])) * beta[v];
  }
  probabilities out(size);
  for (std::size_t v = 0; v < size; ++v) {
    const auto xv = static_cast<long double>(x[v]), sv = static_cast<long double>(s[v]);
    out[v] = static_cast<double>(xv * sv + xv * (1 - sv) * (1 - beta[v]) + (mass > 0 ? rejected * p[v] / mass : 0));
  }
  return out;
}

//! A drafter whose integer weights are the counts times a power of two. For every token it uploads the token's own
//! probability, the k largest as they are, an entry for the token if it is none of them, and the rest even.
struct compressing_drafter {
  std::vector<std::uint32_t> counts{9, 16, 3, 5};
  std::vector<std::byte> bytes = std::vector<std::byte>(1 << 14);
  sv::workspace space{std::span<std::byte>(bytes)};
  std::vector<sv::mismatched_draft> uploads{};
  std::optional<sv::row_summary> summary{};

  explicit compressing_drafter(std::uint32_t k) {
    std::vector<double> row;
    for (const std::uint32_t count : counts) row.push_back(count / 33.0);
    sv::read_request wanted;
    wanted.top_entries = 4;
    wanted.integer_total = true;
    const auto reading = sv::read_row(sv::exec::seq, sv::probability_row<double>(row), {}, wanted, space);
    REQUIRE(reading.ok());
    summary = *reading;
    REQUIRE(summary->total_weight() == (std::uint64_t{1} << 27) * 33);
    const auto kept = sv::top_k{k, true}.select(*summary, {}, space);
    REQUIRE(kept.ok());
    uploads.resize(counts.size());
    for (sv::token_id d = 0; d < 4; ++d) {
      const auto made = sv::compressed_draft(*summary, *kept, d, {}, space);
      REQUIRE(made.ok());
      uploads[static_cast<std::size_t>(d)] = *made;
    }
  }
  //! Returns x^ as it travels for a draft of `d`.
  [[nodiscard]] probabilities claimed(std::size_t d) const {
    probabilities sent;
    const sv::law& law = uploads[d].claimed_law;
    for (sv::token_id v = 0; v < 4; ++v) sent.push_back(static_cast<double>(law.count(v)) / law.resolution);
    return sent;
  }
  //! Returns x^ for a draft of `d`, by the definition.
  [[nodiscard]] probabilities reconstruction(std::uint32_t k, std::size_t d) const {
    std::vector<std::size_t> order{1, 0, 3, 2};  // the largest first
    probabilities made(4, 0.0);
    double rest = 1;
    std::size_t others = 4;
    for (std::size_t i = 0; i < 4; ++i) {
      if (i >= k && order[i] != d) continue;
      rest -= made[order[i]] = counts[order[i]] / 33.0;
      --others;
    }
    for (double& mass : made) mass = mass > 0 ? mass : rest / static_cast<double>(others);
    return made;
  }
};

//! out(v) = x_v s_v + x_v (1 - s_v)(1 - beta_v) + sum_d x_d (1 - s_d) beta_d q^(d)_v, q^(d) = norm((y - x^(d))+).
probabilities compressed_mixture(const probabilities& x, const probabilities& y, const probabilities& s,
                                 const std::vector<probabilities>& reconstructions) {
  probabilities out(x.size(), 0.0);
  for (std::size_t d = 0; d < x.size(); ++d) {
    const double beta = std::max(0.0, 1 - y[d] / x[d]);
    out[d] += x[d] * s[d] + x[d] * (1 - s[d]) * (1 - beta);
    probabilities left(x.size());
    double mass = 0;
    for (std::size_t v = 0; v < x.size(); ++v) mass += left[v] = std::max(0.0, y[v] - reconstructions[d][v]);
    for (std::size_t v = 0; v < x.size() && beta > 0; ++v) out[v] += x[d] * (1 - s[d]) * beta * left[v] / mass;
  }
  return out;
}

//! Returns P(skip | d) for M draws at temperatures that are uniform on the given ones. The round is skipped if
//! disagreements / M <= numerator / denominator.
template <class Scalar>
probabilities skipped_share(const pair_of_models<Scalar>& models, std::uint32_t samples,
                            const std::vector<double>& temperatures, std::uint32_t numerator,
                            std::uint32_t denominator) {
  probabilities shares(models.in.vocab_size);
  for (std::size_t d = 0; d < shares.size(); ++d) {
    long double e = 0;
    for (const double theta : temperatures) {
      sv::row_transform at;
      at.temperature = theta;
      e += 1 -
           static_cast<long double>(plain_law(models.drafter_row, sv::row_kind::logits, at, models.in.vocab_size)[d]);
    }
    e /= static_cast<long double>(temperatures.size());
    long double share = 0;
    for (std::uint32_t j = 0; j <= samples && j * denominator <= numerator * samples; ++j) {
      long double binomial = 1;
      for (std::uint32_t i = 0; i < j; ++i) binomial = binomial * (samples - i) / (i + 1);
      share +=
          binomial * std::pow(e, static_cast<long double>(j)) * std::pow(1 - e, static_cast<long double>(samples - j));
    }
    shares[d] = static_cast<double>(share);
  }
  return shares;
}

std::vector<double> grid_of(std::uint32_t cells, double hottest) {
  std::vector<double> temperatures;
  for (std::uint32_t i = 0; i < cells; ++i) temperatures.push_back(hottest * i / cells);
  return temperatures;
}

constexpr std::array<shape, 4> worlds{shape::random, shape::zeros, shape::one_hot_target, shape::opposite};

template <class Scalar, class Body>
void for_each_pair(Body body) {
  for (const shape which : worlds) {
    for (std::uint64_t seed = 1; seed <= (long_run() ? 4u : 1u); ++seed) {
      const auto models = make_pair<Scalar>(which, 2 + static_cast<std::uint32_t>(seed), seed);
      INFO(models.in.name);
      for_each_policy([&](auto policy, const std::string& name) {
        INFO(name);
        body(policy, models);
      });
    }
  }
}

template <class Scalar>
void check_uncertainty_gate() {
  for_each_pair<Scalar>([](auto policy, const pair_of_models<Scalar>& models) {
    constexpr std::uint32_t samples = 2;
    const std::uint32_t cells = long_run() ? 4 : 2;
    for (const std::uint32_t half : {0u, 1u}) {  // thresholds 0 and 1/2
      const sv::uncertainty_gate gate{half / 2.0, {samples, 2.0}};
      const probabilities s = skipped_share(models, samples, grid_of(cells, 2.0), half, 2);
      const double gap_to_mixture =
          sv::total_variation(round_law(policy, models, gate, cells), skip_mixture(models.x(), models.y(), s));
      CHECK(gap_to_mixture <= tolerance<Scalar>);
    }
  });
}

}  // namespace

TEST_CASE("T5 HLM: with the gates off the committed token has the target's law") {
  const auto check = [](auto scalar) {
    using number = decltype(scalar);
    for_each_pair<number>([](auto policy, const pair_of_models<number>& models) {
      const probabilities y = models.y();
      CHECK(sv::total_variation(round_law(policy, models, sv::always_send{}, 0), y) <= tolerance<number>);
      CHECK(sv::total_variation(round_law(policy, models, sv::random_skip{1.0}, 0), y) <= tolerance<number>);
      CHECK(sv::total_variation(round_law(policy, models, sv::uncertainty_gate{-1.0, {1, 2.0}}, 2), y) <=
            tolerance<number>);
    });
  };
  check(double{});
  check(float{});
}

TEST_CASE("T6 U-HLM: double rows follow the skip mixture with binomial skips") { check_uncertainty_gate<double>(); }
TEST_CASE("T6 U-HLM: float rows follow the skip mixture with binomial skips") { check_uncertainty_gate<float>(); }

TEST_CASE("T6 U-HLM smallest world: two tokens, three samples, every threshold") {
  const auto models = make_pair<double>(shape::random, 2, 11);
  for (const std::uint32_t third : {0u, 1u, 2u, 3u}) {
    CAPTURE(third);
    const sv::uncertainty_gate gate{third / 3.0, {3, 2.0}};
    const probabilities s = skipped_share(models, 3, grid_of(2, 2.0), third, 3);
    const double gap_to_mixture =
        sv::total_variation(round_law(sv::exec::seq, models, gate, 2), skip_mixture(models.x(), models.y(), s));
    CHECK(gap_to_mixture <= 1e-12);
  }
}

TEST_CASE("T6 Rand-HLM: half the drafter's law and half the target's") {
  const auto check = [](auto scalar) {
    using number = decltype(scalar);
    for_each_pair<number>([](auto policy, const pair_of_models<number>& models) {
      const probabilities x = models.x(), y = models.y();
      probabilities half(x.size());
      for (std::size_t v = 0; v < x.size(); ++v) half[v] = (x[v] + y[v]) / 2;
      const double gap_to_half = sv::total_variation(round_law(policy, models, sv::random_skip{}, 0), half);
      CHECK(gap_to_half <= tolerance<number>);
      CHECK(sv::total_variation(round_law(policy, models, sv::random_skip{0.25}, 0),
                                skip_mixture(x, y, probabilities(x.size(), 0.75))) <= tolerance<number>);
    });
  };
  check(double{});
  check(float{});
}

TEST_CASE("T6 UI: the drafter's law where the token is not important, else the skip mixture") {
  const auto check = [](auto scalar) {
    using number = decltype(scalar);
    for (std::uint64_t seed = 1; seed <= (long_run() ? 4u : 1u); ++seed) {
      auto models = make_pair<number>(shape::random, 3, seed);
      const probabilities s = skipped_share(models, 2, grid_of(2, 2.0), 1, 2);
      for (const bool important : {false, true}) {
        models.attention =
            important ? std::vector<float>{0.26f, 0.25f, 0.25f, 0.24f} : std::vector<float>{0.97f, 0.01f, 0.01f, 0.01f};
        for_each_policy([&](auto policy, const std::string& policy_name) {
          INFO(policy_name, ", important ", important);
          const sv::uncertainty_and_importance_gate gate{0.5, {2, 1.5}, {2, 2.0}};
          const probabilities expected = important ? skip_mixture(models.x(), models.y(), s) : models.x();
          CHECK(sv::total_variation(round_law(policy, models, gate, 2), expected) <= tolerance<number>);
          auto inverted = gate;
          inverted.importance.inverted = true;
          const probabilities other = important ? models.x() : skip_mixture(models.x(), models.y(), s);
          CHECK(sv::total_variation(round_law(policy, models, inverted, 2), other) <= tolerance<number>);
        });
      }
    }
  };
  check(double{});
  check(float{});
}

TEST_CASE("T6 CU-HLM in the paper's order: the skip mixture, its residual that of the compressed law") {
  const auto check = [](auto scalar) {
    using number = decltype(scalar);
    for (const std::uint32_t k : {1u, 2u}) {
      const compressing_drafter drafter(k);
      std::vector<probabilities> claimed;
      for (std::size_t d = 0; d < 4; ++d) {
        const probabilities sent = drafter.claimed(d);
        const probabilities defined = drafter.reconstruction(k, d);
        for (std::size_t v = 0; v < 4; ++v) CHECK(std::fabs(sent[v] - defined[v]) <= 1e-8);
        claimed.push_back(sent);
      }
      auto models = make_pair<number>(shape::random, 4, 5);
      models.in.drafter[0] = law_of_counts(drafter.counts, false);
      const probabilities s = skipped_share(models, 2, grid_of(2, 2.0), 1, 2);
      const probabilities expected = compressed_mixture(models.x(), models.y(), s, claimed);
      double from_full_law = 0;
      const probabilities full = skip_mixture(models.x(), models.y(), s);
      for (std::size_t v = 0; v < 4; ++v) from_full_law += std::fabs(full[v] - expected[v]) / 2;
      CHECK(from_full_law > 1e-4);  // the compression shows
      for_each_policy([&](auto policy, const std::string& policy_name) {
        INFO(policy_name, ", k ", k);
        const double gap_to_compressed_mixture =
            sv::total_variation(round_law(policy, models, sv::uncertainty_gate{0.5, {2, 2.0}}, 2,
                                          [&](sv::token_id d, const sv::skip_observation&) {
                                            return drafter.uploads[static_cast<std::size_t>(d)];
                                          }),
                                expected);
        CHECK(gap_to_compressed_mixture <= tolerance<number>);
      });
    }
  };
  check(double{});
  check(float{});
}

TEST_CASE("T6 CU-HLM online: the size follows the token and its disagreements, the law is the mixture over them") {
  const compressing_drafter sizes[] = {compressing_drafter(1), compressing_drafter(2), compressing_drafter(3),
                                       compressing_drafter(4)};
  constexpr double distances[] = {20.0 / 3 / 33, 2.0 / 33, 0, 0};  // N(1), N(2), ... of 16, 9, 5, 3 out of 33
  const auto check = [&](auto scalar) {
    using number = decltype(scalar);
    auto models = make_pair<number>(shape::random, 4, 5);
    models.in.drafter[0] = law_of_counts(sizes[0].counts, false);
    const probabilities x = models.x(), y = models.y(), agreeing = skipped_share(models, 1, grid_of(2, 2.0), 0, 1);
    probabilities expected(4, 0.0);
    std::uint32_t least = 4, most = 1;
    for (std::size_t d = 0; d < 4; ++d) {
      const double e = 1 - agreeing[d], beta = std::max(0.0, 1 - y[d] / x[d]);
      expected[d] += x[d] * agreeing[d] * agreeing[d];  // kept: neither of two draws disagrees
      for (int j = 1; j <= 2; ++j) {
        const double rejected = std::clamp(0.815 * j / 2 - 0.066, 0.0, 1.0);
        const double denominator =
            (1 - x[d]) * std::log1p(std::exp(-2.0)) / 2 + x[d] * std::log1p(std::exp(-2 * rejected)) / 2;
        std::uint32_t k = 1;
        while (distances[k - 1] / denominator > 2) ++k;
        least = std::min(least, k);
        most = std::max(most, k);
        const double share = x[d] * (j == 1 ? 2 * e * (1 - e) : e * e);
        const probabilities claimed = sizes[k - 1].claimed(d);
        probabilities left(4);
        double mass = 0;
        for (std::size_t v = 0; v < 4; ++v) mass += left[v] = std::max(0.0, y[v] - claimed[v]);
        expected[d] += share * (1 - beta);
        for (std::size_t v = 0; v < 4 && beta > 0; ++v) expected[v] += share * beta * left[v] / mass;
      }
    }
    CHECK(least < most);
    for_each_policy([&](auto policy, const std::string& policy_name) {
      INFO(policy_name);
      const sv::online_vocabulary_budget sparsifier{{2.0, 2.0}};
      const compressing_drafter& drafter = sizes[0];
      std::vector<std::byte> more(1 << 14);
      const auto sent = [&](sv::token_id d, const sv::skip_observation& seen) {
        sv::workspace scratch{std::span<std::byte>(more)};
        const auto kept =
            sparsifier.select_with_token(*drafter.summary, {d, seen.disagreements, seen.samples}, scratch);
        REQUIRE(kept.ok());
        const auto made = sv::compressed_draft(*drafter.summary, *kept, d, {}, scratch);
        REQUIRE(made.ok());
        return *made;
      };
      const double gap_to_online_mixture =
          sv::total_variation(round_law(policy, models, sv::uncertainty_gate{0.0, {2, 2.0}}, 2, sent), expected);
      CHECK(gap_to_online_mixture <= tolerance<number>);
    });
  };
  check(double{});
  check(float{});
}

TEST_CASE(
    "T6 T33 U-HLM with the shipped generator, 20 samples at temperatures from the whole range: chi-square against the "
    "integral") {
  auto models = make_pair<float>(shape::random, 8, 5);
  std::vector<std::uint32_t> counts;
  for (float& z : models.drafter_row) {
    z *= 2.0f;
    counts.push_back(1 + static_cast<std::uint32_t>(20 * std::exp(static_cast<double>(z))));
  }
  models.in.drafter[0] = law_of_counts(counts, false);
  std::vector<double> fine;
  for (int i = 0; i < 4000; ++i) fine.push_back(2.0 * (i + 0.5) / 4000);
  const probabilities s = skipped_share(models, 20, fine, 3, 5);
  const probabilities expected = skip_mixture(models.x(), models.y(), s);
  CHECK(*std::max_element(s.begin(), s.end()) > 0.1);  // the gate decides something
  const sv::session_keys keys = sv::derive_session_keys(specverify_test::secret_of(5), 6, 1);
  const auto source = [&keys](sv::random_counter counter) noexcept {
    const bool cloud = counter.use == sv::purpose::acceptance || counter.use == sv::purpose::residual_draw;
    return sv::philox{cloud ? keys.verdict : keys.draft}(counter);
  };
  std::vector<std::uint64_t> seen(8, 0);
  const std::uint32_t rounds = long_run() ? 1000000 : (emulated() ? 20000 : 100000);
  for (std::uint32_t i = 0; i < rounds; ++i) {
    ++seen[static_cast<std::size_t>(
        one_round(sv::exec::simd, models, sv::uncertainty_gate{0.6}, source, {}, i, i).token)];
  }
  auto result = sv::chi_square(seen, expected);
  REQUIRE(result.ok());
  CHECK(result->p_value > 1e-4);
  probabilities of_target = models.y();
  result = sv::chi_square(seen, of_target);
  REQUIRE(result.ok());
  CHECK(result->p_value < 1e-4);  // it is not the target's law
}
