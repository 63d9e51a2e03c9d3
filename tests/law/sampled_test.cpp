// SPDX-License-Identifier: Apache-2.0
//! Statistics on top of the enumeration: the shipped generator, larger vocabularies, many rounds. A case has 10^5
//! draws, or 10^6 if SPECVERIFY_LONG=1.
#include "law/harness.hpp"

#include <specverify/testing/chi_square.hpp>

#include <support/secret_of.hpp>

using namespace law_test;

namespace {

constexpr std::uint32_t vocab_size = 48;

//! The cloud's numbers under its own key, the device's under another.
struct two_keys {
  sv::session_keys keys;
  [[nodiscard]] sv::random_block operator()(sv::random_counter counter) const noexcept {
    return sv::philox{counter.use == sv::purpose::draft_draw ? keys.draft : keys.verdict}(counter);
  }
};

std::uint32_t draws() { return long_run() ? 1000000 : 100000; }

//! Makes a peaked target and a drafter that is off in the way a quantized model is.
world<float> statistical_world(double temperature, std::uint64_t seed) {
  generator draw(seed);
  world<float> in;
  in.vocab_size = vocab_size;
  in.draft_length = 1;
  in.transform.temperature = temperature;
  std::vector<float> row(vocab_size);
  std::vector<std::uint32_t> counts(vocab_size);
  for (std::uint32_t v = 0; v < vocab_size; ++v) {
    row[v] = static_cast<float>(-3.0 * std::log(1.0 + v) + 2.0 * draw.uniform());
    counts[v] = static_cast<std::uint32_t>(100.0 * std::exp(static_cast<double>(row[v]) + 2.0 * draw.uniform()));
  }
  for (std::size_t node = 0; node <= vocab_size; ++node) {
    in.rows.push_back(row);
    in.drafter.push_back(law_of_counts(counts, true));
  }
  return in;
}

struct counts_of {
  std::vector<std::uint64_t> first = std::vector<std::uint64_t>(vocab_size, 0);
  std::vector<std::uint64_t> second = std::vector<std::uint64_t>(vocab_size, 0);
};

template <class MakeDraft>
counts_of committed_counts(const world<float>& in, std::uint64_t session, MakeDraft make_draft) {
  counts_of seen;
  const two_keys source{sv::derive_session_keys(specverify_test::secret_of(0x5EC2E7), session, 1)};
  for (std::uint32_t i = 0; i < draws(); ++i) {
    const sv::uniforms random{source, i * 2, i};
    const round_record record = run_round(sv::exec::simd, in, random, sv::token_rule{}, 0, 1, {}, make_draft);
    ++seen.first[static_cast<std::size_t>(record.committed[0])];
    if (record.committed.size() > 1) ++seen.second[static_cast<std::size_t>(record.committed[1])];
  }
  return seen;
}

double p_value(const std::vector<std::uint64_t>& seen, const probabilities& law) {
  auto result = sv::chi_square(seen, law);
  REQUIRE(result.ok());
  return result->p_value;
}

}  // namespace

TEST_CASE("T33 chi-square of committed tokens against p at five temperatures, every lossless kind of draft") {
  std::uint64_t session = 1;
  for (const double temperature : {0.3, 0.7, 1.0, 1.3, 2.0}) {
    INFO("temperature ", temperature);
    const world<float> in = statistical_world(temperature, 7);
    const probabilities p = in.target_law(0);
    const counts_of drawn = committed_counts(in, session++, [](const sv::draft& d, std::size_t) { return d; });
    CHECK(p_value(drawn.first, p) > 1e-4);
    CHECK(p_value(drawn.second, p) > 1e-4);  // the bonus token
    const counts_of claimed = committed_counts(in, session++, [](const sv::draft& d, std::size_t) {
      return sv::claimed_draft{d.token(), 0, 0};
    });
    CHECK(p_value(claimed.first, p) > 1e-4);
  }
}

TEST_CASE("T33 a planted bias is detected: the verifier is told a law that the token was not drawn from") {
  const world<float> in = statistical_world(1.0, 7);
  const probabilities p = in.target_law(0);
  owned_law other = in.drafter[0];
  std::rotate(other.counts.begin(), other.counts.begin() + 1, other.counts.begin() + 3);
  const counts_of biased =
      committed_counts(in, 99, [&](const sv::draft& d, std::size_t) { return d.rebound(other.view()); });
  CHECK(p_value(biased.first, p) < 1e-4);
  probabilities shifted = p;  // shows how sharp the test is: moves one per cent of the mass
  shifted[0] -= 0.01;
  shifted[1] += 0.01;
  auto power = sv::chi_square_power(p, shifted, draws(), 1e-4);
  REQUIRE(power.ok());
  CHECK(*power > 0.99);
}

namespace {

//! Remembers the first uniform that was read for each purpose of a round. If `share`, residual draws get the numbers of
//! the acceptance test.
struct recording_source {
  two_keys keys;
  bool share = false;
  double* seen = nullptr;  // by purpose: draft draw, acceptance, residual draw
  [[nodiscard]] sv::random_block operator()(sv::random_counter counter) const noexcept {
    sv::random_counter read = counter;
    if (share && counter.use == sv::purpose::residual_draw) read.use = sv::purpose::acceptance;
    const sv::random_block block = keys(read);
    if (counter.lane == 0 && static_cast<std::uint32_t>(counter.use) < 3)
      seen[static_cast<std::uint32_t>(counter.use)] = sv::decision_uniform(block);
    return block;
  }
};

double independence(bool share, std::uint32_t a, std::uint32_t b, bool rejected_only) {
  constexpr std::uint32_t bins = 6;
  // Point masses against a flat target: about five in six drafts are rejected, at every acceptance uniform but the
  // smallest.
  world<double> in = make_world<double>(shape::random, 6, 1, 5, 30);
  for (auto& row : in.rows) std::fill(row.begin(), row.end(), 0.0);
  std::vector<std::uint64_t> table(bins * bins, 0);
  std::array<double, 3> seen{};
  const recording_source source{{sv::derive_session_keys(specverify_test::secret_of(11), 12, 1)}, share, seen.data()};
  for (std::uint32_t i = 0; i < draws() / 2; ++i) {
    const sv::uniforms random{source, 0, i};
    const round_record record =
        run_round(sv::exec::simd, in, random, sv::token_rule{}, 0, 1, {}, [](const sv::draft& d, std::size_t) {
          return sv::claimed_draft{d.token(), 0, 0};
        });
    if (rejected_only && record.outcome.accepted != 0) continue;
    ++table[static_cast<std::size_t>(seen[a] * bins) * bins + static_cast<std::size_t>(seen[b] * bins)];
  }
  auto result = sv::chi_square_independence(table, bins, bins);
  REQUIRE(result.ok());
  return result->p_value;
}

}  // namespace

TEST_CASE("T31 COR-4 draft, acceptance and residual numbers of a round are independent; shared ones are found out") {
  CHECK(independence(false, 0, 1, false) > 1e-4);
  CHECK(independence(false, 0, 2, true) > 1e-4);
  CHECK(independence(false, 1, 2, true) > 1e-4);
  CHECK(independence(true, 1, 2, true) < 1e-12);
}
