// SPDX-License-Identifier: Apache-2.0
//! The lossy baselines must have the law of their formulas. If the same parts run in the other order, they must keep
//! the target's law.
#include "law/harness.hpp"

#include <specverify/quantize/draft_law.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/compressed_law.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/sparsify/vocabulary_budget.hpp>
#include <specverify/verify/mismatched.hpp>

using namespace law_test;

namespace {

double tv(const probabilities& a, const probabilities& b) {
  double sum = 0;
  for (std::size_t v = 0; v < a.size(); ++v) sum += std::fabs(a[v] - b[v]);
  return sum / 2;
}

probabilities residual_of(const probabilities& p, const probabilities& subtracted) {
  probabilities left(p.size());
  double sum = 0;
  for (std::size_t v = 0; v < p.size(); ++v) sum += left[v] = std::max(0.0, p[v] - subtracted[v]);
  for (double& mass : left) mass = sum > 0 ? mass / sum : 0;
  return left;
}

probabilities dense(const sv::law& law) {
  probabilities q;
  for (std::uint32_t v = 0; v < law.vocab_size; ++v)
    q.push_back(static_cast<double>(law.count(static_cast<sv::token_id>(v))) / law.resolution);
  return q;
}

//! Returns the committed law by the formula: q(v) a(v) + sum_z q(z) (1 - a(z)) residual_z(v), with a(v) = min(1, p(v) /
//! t(v)), or 1 if t(v) = 0 < p(v).
probabilities formula(const probabilities& q, const probabilities& p, const probabilities& tested,
                      const std::vector<probabilities>& claimed) {
  probabilities out(p.size(), 0.0);
  for (std::size_t z = 0; z < p.size(); ++z) {
    const double a = tested[z] > 0 ? std::min(1.0, p[z] / tested[z]) : (p[z] > 0 ? 1.0 : 0.0);
    out[z] += q[z] * a;
    const probabilities left = residual_of(p, claimed[z]);
    for (std::size_t v = 0; v < p.size(); ++v) out[v] += q[z] * (1 - a) * left[v];
  }
  return out;
}

template <class Scalar>
world<Scalar> one_position(const std::vector<Scalar>& target, const owned_law& drafter) {
  world<Scalar> in;
  in.vocab_size = static_cast<std::uint32_t>(target.size());
  in.draft_length = 1;
  for (std::size_t node = 0; node < node_count(in.vocab_size, 1); ++node) {
    in.rows.push_back(target);
    in.drafter.push_back(drafter);
  }
  return in;
}

template <class Scalar>
std::vector<Scalar> random_logits(generator& draw, std::uint32_t size, double spread) {
  std::vector<Scalar> row(size);
  for (Scalar& z : row) z = static_cast<Scalar>(spread * (2 * draw.uniform() - 1));
  return row;
}

//! Returns the law of the one committed token. Draft z travels as `drafts[z]`.
template <class Policy, class Scalar, class Draft, class Rule>
sv::enumerated_law<sv::token_id> committed(Policy policy, const world<Scalar>& in, const std::vector<Draft>& drafts,
                                           Rule rule) {
  sv::verify_request request;
  request.remaining_budget = 1;
  const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
    return run_round(
               policy, in, sv::uniforms{source, 0, 0}, rule, 0, 1, request,
               [&](const sv::draft& drawn, std::size_t) { return drafts[static_cast<std::size_t>(drawn.token())]; })
        .committed.front();
  });
  REQUIRE(law.complete);
  CHECK_FALSE(law.grid_may_be_too_coarse);
  return law;
}

probabilities measured(const sv::enumerated_law<sv::token_id>& law, std::uint32_t size) {
  probabilities out;
  for (std::uint32_t v = 0; v < size; ++v) out.push_back(law.probability(static_cast<sv::token_id>(v)));
  return out;
}

template <class Scalar, class Policy>
void check_sample_quantize(Policy policy) {
  generator draw(33);
  const std::vector<std::uint32_t> flat{200, 201, 199, 203, 197};
  const owned_law raw = law_of_counts(flat, false);
  const auto p_logits = random_logits<Scalar>(draw, 5, 2);
  std::vector<Scalar> q_logits;
  for (const std::uint32_t count : flat) q_logits.push_back(static_cast<Scalar>(std::log(static_cast<double>(count))));
  const world<Scalar> in = one_position(p_logits, raw);
  for (const std::uint32_t resolution : {2u, 3u, 7u, 1000u}) {
    const sv::top_k sparsifier{5};
    std::vector<std::byte> bytes(sv::digest_workspace_size(5, {}, sparsifier.request({}, 5)) +
                                 sv::draft_law_workspace_size(5, sparsifier, {}) + 64);
    sv::workspace scratch{std::span<std::byte>(bytes)};
    const auto reading = sv::read_row(policy, sv::logits_row<Scalar>(q_logits), {}, sparsifier.request({}, 5), scratch);
    REQUIRE(reading.ok());
    const auto drafted = sv::make_draft_law(*reading, sparsifier, {}, {.resolution = resolution}, scratch);
    REQUIRE(drafted.ok());
    const sv::draft_law& made = *drafted;
    std::vector<sv::mismatched_draft> drafts;
    for (sv::token_id z = 0; z < 5; ++z) drafts.push_back({z, made.drafted});
    const auto law = committed(policy, in, drafts, sv::lossy_token_rule{2});
    const probabilities p = in.target_law(0), hat = dense(made.drafted);
    INFO("resolution ", resolution);
    const double distance_to_formula =
        sv::total_variation(law, formula(raw.dense(5), p, hat, std::vector<probabilities>(5, hat)));
    CHECK(distance_to_formula <= tolerance<Scalar>);
    if (resolution < 10) CHECK(sv::total_variation(law, p) > 0.01);
  }
}

//! A drafter whose law is exact in integer weights: the largest count is a power of two, so it draws from exactly the
//! law that it states.
struct small_drafter {
  std::vector<std::uint32_t> counts{16, 9, 5, 3, 2};
  std::vector<std::byte> bytes = std::vector<std::byte>(1 << 16);
  sv::workspace space{std::span<std::byte>(bytes)};
  std::optional<sv::row_summary> summary{};
  std::vector<double> row{};

  explicit small_drafter(std::uint64_t seed) {
    generator draw(seed);
    for (std::size_t i = counts.size(); i > 1; --i)
      std::swap(counts[i - 1], counts[draw.below(static_cast<std::uint32_t>(i))]);
    for (const std::uint32_t count : counts) row.push_back(count / 35.0);
    sv::read_request wanted;
    wanted.top_entries = 5;
    wanted.integer_total = true;
    const auto reading = sv::read_row(sv::exec::seq, sv::probability_row<double>(row), {}, wanted, space);
    REQUIRE(reading.ok());
    summary = *reading;
    REQUIRE(summary->total_weight() == (std::uint64_t{1} << 27) * 35);
  }
  [[nodiscard]] sv::support largest(std::uint32_t k) {
    const auto kept = sv::top_k{k, true}.select(*summary, {}, space);
    REQUIRE(kept.ok());
    return *kept;
  }
  //! Returns the paper's draft of every token: drawn from x, while x^ is claimed.
  [[nodiscard]] std::vector<sv::mismatched_draft> drafts(std::uint32_t k, const sv::compressed_law_options& options) {
    const sv::support kept = largest(k);
    std::vector<sv::mismatched_draft> made(counts.size());
    for (sv::token_id z = 0; z < 5; ++z) {
      const auto claimed = sv::compressed_draft(*summary, kept, z, options, space);
      REQUIRE(claimed.ok());
      made[static_cast<std::size_t>(z)] = *claimed;
      CHECK(sv::check(made[static_cast<std::size_t>(z)].claimed_law).ok());
    }
    return made;
  }
};

}  // namespace

TEST_CASE("T3 sample-quantize through the lossy rule: the law of the formula, which is not p") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    INFO(policy_name);
    check_sample_quantize<double>(policy);
    check_sample_quantize<float>(policy);
  });
}

TEST_CASE("T7 the identity of the bias without an entry for the draft: 2 TV(x, y) TV(p, q)") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      small_drafter drafter(seed);
      generator draw(seed + 70);
      const owned_law whole = law_of_counts(drafter.counts, false);
      const world<double> in = one_position(random_logits<double>(draw, 5, 2), whole);
      const world<float> narrow = one_position(random_logits<float>(draw, 5, 2), whole);
      const probabilities x = whole.dense(5), y = in.target_law(0), narrow_y = narrow.target_law(0);
      for (std::uint32_t k = 1; k <= 5; ++k) {
        INFO(policy_name, ", seed ", seed, ", k ", k);
        const auto drafts = drafter.drafts(k, {.draft_entry = false});
        const probabilities out = measured(committed(policy, in, drafts, sv::lossy_token_rule{1}), 5);
        const probabilities reconstructed = dense(drafts[0].claimed_law), p = residual_of(y, x),
                            q = residual_of(y, reconstructed);
        const double bias = 2 * tv(out, y), identity = 2 * tv(x, y) * tv(p, q);
        CHECK(std::fabs(bias - identity) <= 1e-12);
        const probabilities by_formula = formula(x, y, x, std::vector<probabilities>(5, reconstructed));
        CHECK(std::fabs(2 * tv(by_formula, y) - identity) <= 2e-15);
        CHECK(tv(out, y) <= 2 * tv(x, reconstructed) + 1e-12);
        if (k >= 4) CHECK(bias <= 1e-8);  // one token left over is the whole tail
        if (k > 2) continue;
        const probabilities from_floats = measured(committed(policy, narrow, drafts, sv::lossy_token_rule{1}), 5);
        const double narrow_identity =
            2 * tv(x, narrow_y) * tv(residual_of(narrow_y, x), residual_of(narrow_y, reconstructed));
        CHECK(std::fabs(2 * tv(from_floats, narrow_y) - narrow_identity) <= 2e-6);
      }
    }
  });
}

TEST_CASE("T7 with an entry for the draft: below the sum over drafts, and below N(k)") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    small_drafter drafter(seed);
    generator draw(seed + 70);
    const owned_law whole = law_of_counts(drafter.counts, false);
    const world<double> in = one_position(random_logits<double>(draw, 5, 2), whole);
    const probabilities x = whole.dense(5), y = in.target_law(0), p = residual_of(y, x);
    std::vector<std::byte> bytes(1 << 12);
    sv::workspace space{std::span<std::byte>(bytes)};
    const auto profiled = sv::make_tail_profile(*drafter.summary, space);
    REQUIRE(profiled.ok());
    const sv::tail_profile& profile = *profiled;
    for (std::uint32_t k = 1; k <= 5; ++k) {
      INFO("seed ", seed, ", k ", k);
      const auto drafts = drafter.drafts(k, {});
      const probabilities out = measured(committed(sv::exec::simd, in, drafts, sv::lossy_token_rule{1}), 5);
      double allowed = 0;
      for (std::size_t d = 0; d < 5; ++d)
        allowed += x[d] * std::max(0.0, 1 - y[d] / x[d]) * tv(p, residual_of(y, dense(drafts[d].claimed_law)));
      CHECK(tv(out, y) <= allowed + 1e-12);
      CHECK(allowed <= profile.distortion(k) + 1e-8);
    }
  }
}

TEST_CASE("CU-HLM in the paper's order with nothing skipped: the law of one round") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    for (std::uint64_t seed = 11; seed <= 14; ++seed) {
      small_drafter drafter(seed);
      generator draw(seed);
      const owned_law whole = law_of_counts(drafter.counts, false);
      const world<double> in = one_position(random_logits<double>(draw, 5, 2), whole);
      const world<float> narrow = one_position(random_logits<float>(draw, 5, 2), whole);
      for (const sv::value_format format : {sv::value_format::exact, sv::value_format::lattice}) {
        for (const bool entry : {true, false}) {
          for (const std::uint32_t k : {1u, 2u, 4u}) {
            INFO(policy_name, ", seed ", seed, ", k ", k, ", lattice ", format == sv::value_format::lattice, ", entry ",
                 entry);
            const auto drafts = drafter.drafts(k, {format, 15, entry});
            std::vector<probabilities> claimed;
            for (const sv::mismatched_draft& drafted : drafts) claimed.push_back(dense(drafted.claimed_law));
            const probabilities tested = whole.dense(5);
            const auto law = committed(policy, in, drafts, sv::lossy_token_rule{1});
            const double distance_to_formula =
                sv::total_variation(law, formula(whole.dense(5), in.target_law(0), tested, claimed));
            CHECK(distance_to_formula <= 1e-12);
            if (k == 1 && entry && format == sv::value_format::exact) {
              const auto with_floats = committed(policy, narrow, drafts, sv::lossy_token_rule{2});
              CHECK(sv::total_variation(with_floats, formula(whole.dense(5), narrow.target_law(0), tested, claimed)) <=
                    1e-6);
              CHECK(sv::total_variation(law, in.target_law(0)) > 1e-4);  // lossy indeed
            }
          }
        }
      }
    }
  });
}

TEST_CASE("T10 CU-HLM drawn from the compressed law returns y, with exact values and on the lattice") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    for (std::uint64_t seed = 21; seed <= (emulated() ? 21u : 24u); ++seed) {
      small_drafter drafter(seed);
      generator draw(seed);
      const auto target = random_logits<double>(draw, 5, 2);
      const auto narrow = random_logits<float>(draw, 5, 2);
      for (const std::uint32_t resolution : {0u, 3u, 15u, 255u}) {  // 0: exact values, which have no lattice
        const sv::value_format format = resolution == 0 ? sv::value_format::exact : sv::value_format::lattice;
        for (std::uint32_t k = 1; k <= 5; ++k) {
          INFO(policy_name, ", seed ", seed, ", k ", k, ", resolution ", resolution);
          const sv::support kept = drafter.largest(k);
          const auto made = sv::compressed_law(kept, {format, resolution}, drafter.space);
          REQUIRE(made.ok());
          const sv::law compressed = *made;
          CHECK((compressed.resolution > 0xFFFFFF00u) == (resolution == 0));  // exact values fill 32 bits
          owned_law from{{compressed.ids, compressed.ids + compressed.size},
                         {compressed.counts, compressed.counts + compressed.size},
                         compressed.tail_count,
                         5};
          probabilities inside;  // a number inside the interval of every token, because the tail's can be narrow
          double below = 0;
          for (const double mass : dense(compressed)) {
            if (mass > 0) inside.push_back(below + mass / 2);
            below += mass;
          }
          const auto drawn = [&](auto in) {
            sv::verify_request request;
            request.remaining_budget = 1;
            const auto law = sv::enumerate_law(
                [&](const sv::scripted_source& source) {
                  return run_round(policy, in, sv::uniforms{source, 0, 0}, sv::token_rule{1}, 0, 1, request,
                                   [](const sv::draft& d, std::size_t) { return d; })
                      .committed.front();
                },
                {.hints = inside});
            REQUIRE(law.complete);
            CHECK_FALSE(law.grid_may_be_too_coarse);
            return sv::total_variation(law, in.target_law(0));
          };
          const double compressed_distance = drawn(one_position(target, from));
          CHECK(compressed_distance <= 1e-12);
          CHECK(drawn(one_position(narrow, from)) <= 1e-6);
        }
      }
    }
  });
}

TEST_CASE("T10 acceptance is lowered by at most N(k) / 2 when the token is drawn from the compressed law") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    small_drafter drafter(seed);
    generator draw(seed + 500);
    const probabilities x = law_of_counts(drafter.counts, false).dense(5),
                        y = plain_law(random_logits<double>(draw, 5, 2), sv::row_kind::logits, {}, 5);
    std::vector<std::byte> bytes(1 << 12);
    sv::workspace space{std::span<std::byte>(bytes)};
    const auto profiled = sv::make_tail_profile(*drafter.summary, space);
    REQUIRE(profiled.ok());
    const sv::tail_profile& profile = *profiled;
    for (std::uint32_t k = 1; k <= 5; ++k) {
      const auto made = sv::compressed_law(drafter.largest(k), {}, drafter.space);
      REQUIRE(made.ok());
      const sv::law compressed = *made;
      CHECK(tv(dense(compressed), y) <= tv(x, y) + profile.distortion(k) / 2 + 1e-8);
      CHECK(std::fabs(tv(dense(compressed), x) - profile.distortion(k) / 2) <= 1e-8);
    }
  }
}
