// SPDX-License-Identifier: Apache-2.0
//! Quantize, sample, verify: the whole chain from two rows of logits to a committed token must keep the target's law.
//! The reversed order must not.
#include "law/harness.hpp"

#include <specverify/distribution/fp16_law.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/min_p.hpp>
#include <specverify/sparsify/threshold.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/sparsify/top_p.hpp>

using namespace law_test;

namespace {

template <class Scalar>
std::vector<Scalar> random_logits(generator& draw, std::uint32_t size, double spread) {
  std::vector<Scalar> row(size);
  for (Scalar& z : row) z = static_cast<Scalar>(spread * (2 * draw.uniform() - 1));
  return row;
}

owned_law copy_of(const sv::law& from) {
  REQUIRE(sv::check(from).ok());
  return {{from.ids, from.ids + from.size}, {from.counts, from.counts + from.size}, from.tail_count, from.vocab_size};
}

//! Returns the law of a drafter row after a sparsifier and a quantizer, by the shipped function.
template <class Policy, class Scalar, class Sparsifier, class Quantizer>
owned_law quantized(Policy policy, const std::vector<Scalar>& logits, Sparsifier sparsifier, Quantizer quantizer,
                    std::uint32_t resolution) {
  const sv::row_transform transform;
  const auto state = sparsifier.initial_state();
  const auto size = static_cast<std::uint32_t>(logits.size());
  const sv::read_request wanted = sparsifier.request(state, size);
  std::vector<std::byte> bytes(sv::digest_workspace_size(size, transform, wanted) +
                               sv::draft_law_workspace_size(size, sparsifier, state, quantizer) + 64);
  sv::workspace scratch{std::span<std::byte>(bytes)};
  const auto reading = sv::read_row(policy, sv::logits_row<Scalar>(logits), transform, wanted, scratch);
  REQUIRE(reading.ok());
  const auto made = sv::make_draft_law(*reading, sparsifier, quantizer, state, {.resolution = resolution}, scratch);
  REQUIRE(made.ok());
  CHECK(made->drafted.resolution == resolution);
  return copy_of(made->drafted);
}

template <class Policy, class Scalar>
owned_law fp16_law_of(Policy policy, const std::vector<Scalar>& logits) {
  const auto size = static_cast<std::uint32_t>(logits.size());
  const sv::row_transform transform;
  std::vector<std::byte> bytes(sv::digest_workspace_size(size, transform, {}) + sv::fp16_law_workspace_size(size) + 64);
  sv::workspace space{std::span<std::byte>(bytes)};
  const auto reading = sv::read_row(policy, sv::logits_row<Scalar>(logits), transform, {}, space);
  REQUIRE(reading.ok());
  const auto made = sv::fp16_law(*reading, space);
  REQUIRE(made.ok());
  return copy_of(*made);
}

//! Makes one position: a target row and one law for the drafter. The bonus row repeats the target's.
template <class Scalar>
world<Scalar> one_position(const std::vector<Scalar>& target, owned_law law) {
  world<Scalar> in;
  in.vocab_size = static_cast<std::uint32_t>(target.size());
  in.draft_length = 1;
  for (std::size_t node = 0; node < node_count(in.vocab_size, 1); ++node) {
    in.rows.push_back(target);
    in.drafter.push_back(law);
  }
  return in;
}

template <class Policy, class Scalar>
double first_token_distance(Policy policy, const world<Scalar>& in, std::uint32_t trial_cap) {
  sv::verify_request request;
  request.remaining_budget = 1;
  const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
    return run_round(policy, in, sv::uniforms{source, 0, 0}, {trial_cap}, 0, 1, request,
                     [](const sv::draft& drawn, std::size_t) { return drawn; })
        .committed.front();
  });
  REQUIRE(law.complete);
  CHECK_FALSE(law.grid_may_be_too_coarse);
  return sv::total_variation(law, in.target_law(0));
}

template <class Scalar>
void check_dense_lattice() {
  for_each_policy([](auto policy, const std::string& policy_name) {
    generator draw(2);
    for (const std::uint32_t resolution : {1u, 2u, 3u, 4u, 5u, 7u, 10u, 100u, 240u}) {
      INFO(policy_name, ", resolution ", resolution);
      const auto q = random_logits<Scalar>(draw, 6, 2), p = random_logits<Scalar>(draw, 6, 2);
      const sv::top_k largest{sv::lattice_support_size(6, resolution), true};
      const double dense_lattice_distance =
          first_token_distance(policy, one_position(p, quantized(policy, q, largest, sv::lattice{}, resolution)), 1);
      CHECK(dense_lattice_distance <= tolerance<Scalar>);
    }
  });
}

template <class Scalar>
void check_sparse_lattice() {
  for_each_policy([](auto policy, const std::string& policy_name) {
    generator draw(4);
    for (const std::uint32_t resolution : {1u, 5u, 100u}) {
      const auto q = random_logits<Scalar>(draw, 6, 2), p = random_logits<Scalar>(draw, 6, 2);
      INFO(policy_name, ", resolution ", resolution);
      const auto distance = [&](auto sparsifier) {
        return first_token_distance(
            policy, one_position(p, quantized(policy, q, sparsifier, sv::sparse_lattice{}, resolution)), 1);
      };
      for (const std::uint32_t kept : {1u, 2u, 3u, 6u}) {
        const double top_k_distance = distance(sv::top_k{kept});
        CHECK(top_k_distance <= tolerance<Scalar>);
      }
      CHECK(distance(sv::threshold{0.1, 6}) <= tolerance<Scalar>);
      CHECK(distance(sv::threshold{0.9, 6}) <= tolerance<Scalar>);  // no id reaches it: the largest alone
      CHECK(distance(sv::top_p{0.7}) <= tolerance<Scalar>);
      CHECK(distance(sv::min_p{0.3}) <= tolerance<Scalar>);
    }
  });
}

template <class Scalar>
void check_fp16_rows() {
  for_each_policy([](auto policy, const std::string& policy_name) {
    generator draw(5);
    for (const double spread : {1.0, 4.0, 12.0}) {
      INFO(policy_name, ", spread ", spread);
      const auto q = random_logits<Scalar>(draw, 6, spread), p = random_logits<Scalar>(draw, 6, spread);
      const double fp16_row_distance = first_token_distance(policy, one_position(p, fp16_law_of(policy, q)), 2);
      CHECK(fp16_row_distance <= tolerance<Scalar>);
    }
  });
}

template <class Scalar, class Policy>
void check_sample_quantize(Policy policy) {
  generator draw(3);
  const std::vector<Scalar> p_logits = random_logits<Scalar>(draw, 5, 2);
  const std::vector<std::uint32_t> flat{200, 201, 199, 203, 197};  // q, resolution 1000
  const owned_law raw = law_of_counts(flat, false);
  for (const std::uint32_t resolution : {2u, 3u, 7u, 1000u}) {
    std::vector<Scalar> q_logits;
    for (const std::uint32_t count : flat)
      q_logits.push_back(static_cast<Scalar>(std::log(static_cast<double>(count))));
    const owned_law coarse = quantized(policy, q_logits, sv::top_k{5}, sv::sparse_lattice{}, resolution);
    const world<Scalar> in = one_position(p_logits, raw);
    sv::verify_request request;
    request.remaining_budget = 1;
    const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
      // The lossy order: the token comes from the raw law, but the verifier receives the quantized one.
      return run_round(policy, in, sv::uniforms{source, 0, 0}, {2}, 0, 1, request,
                       [&](const sv::draft& drawn, std::size_t) { return drawn.rebound(coarse.view()); })
          .committed.front();
    });
    REQUIRE(law.complete);
    const probabilities p = in.target_law(0), q = raw.dense(5), hat = coarse.dense(5);
    probabilities expected(5, 0.0);
    double rejected = 0, residual_mass = 0;
    for (std::size_t v = 0; v < 5; ++v) {
      const double a = hat[v] > 0 ? std::min(1.0, p[v] / hat[v]) : (p[v] > 0 ? 1.0 : 0.0);
      expected[v] = q[v] * a;
      rejected += q[v] * (1 - a);
      residual_mass += std::max(0.0, p[v] - hat[v]);
    }
    for (std::size_t v = 0; v < 5; ++v) expected[v] += rejected * std::max(0.0, p[v] - hat[v]) / residual_mass;
    INFO("resolution ", resolution);
    CHECK(sv::total_variation(law, expected) <= tolerance<Scalar>);
    if (resolution < 10) CHECK(sv::total_variation(law, p) > 0.01);
    // the other order, same laws
    CHECK(first_token_distance(policy, one_position(p_logits, coarse), 2) <= tolerance<Scalar>);
  }
}

template <class Scalar, class Policy>
void check_rejection_bound(Policy policy) {
  generator draw(8);
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t size = 3 + draw.below(20), kept = 1 + draw.below(size), resolution = 1 + draw.below(100);
    const auto q_logits = random_logits<Scalar>(draw, size, 4), p_logits = random_logits<Scalar>(draw, size, 4);
    const auto hat = quantized(policy, q_logits, sv::top_k{kept}, sv::sparse_lattice{}, resolution).dense(size);
    const auto q = plain_law(q_logits, sv::row_kind::logits, {}, size),
               p = plain_law(p_logits, sv::row_kind::logits, {}, size);
    double rejected = 0, apart = 0, dropped = 0;
    probabilities sorted = q;
    std::sort(sorted.begin(), sorted.end());
    for (std::uint32_t v = 0; v + kept < size; ++v) dropped += sorted[v];
    for (std::uint32_t v = 0; v < size; ++v) {
      rejected += std::fabs(hat[v] - p[v]) / 2;
      apart += std::fabs(q[v] - p[v]) / 2;
    }
    CHECK(rejected <= apart + dropped + kept / (4.0 * resolution) + 1e-9);
  }
}

template <class Scalar>
void check_filters() {
  std::vector<sv::row_transform> grid;
  for (const double temperature : {0.0, 0.5, 1.0, 1.7}) {
    for (const std::uint32_t top_k : {0u, 1u, 3u}) {
      for (const double top_p : {1.0, 0.8}) {
        for (const double min_p : {0.0, 0.2}) {
          const bool both = top_k != 0 && top_p < 1;
          for (const auto order : {sv::truncation_order::top_k_then_top_p, sv::truncation_order::top_p_then_top_k,
                                   sv::truncation_order::joint}) {
            if (!both && order != sv::truncation_order::top_k_then_top_p) continue;
            sv::row_transform transform;
            transform.temperature = temperature;
            transform.truncation = {top_k, top_p, min_p, order};
            grid.push_back(transform);
          }
        }
      }
    }
  }
  const std::array<sv::token_id, 2> biased{1, 4};
  const std::array<float, 2> bias{1.5f, -std::numeric_limits<float>::infinity()};
  const std::array<std::uint64_t, 1> mask{0b101110};
  sv::row_transform constrained;
  constrained.bias_ids = biased;
  constrained.bias_values = bias;
  grid.push_back(constrained);
  constrained.mask_words = mask;
  constrained.temperature = 0.7;
  grid.push_back(constrained);
  for_each_policy([&](auto policy, const std::string& policy_name) {
    for (std::size_t i = 0; i < grid.size(); i += emulated() ? 3u : 1u) {
      generator draw(60 + i);
      world<Scalar> in = one_position(random_logits<Scalar>(draw, 6, 2), law_of_counts({1, 2, 0, 3, 1, 2}, i % 2 == 0));
      in.transform = grid[i];
      INFO(policy_name, ", T ", grid[i].temperature, ", top-k ", grid[i].truncation.top_k, ", top-p ",
           grid[i].truncation.top_p, ", min-p ", grid[i].truncation.min_p);
      const double filtered_distance = first_token_distance(policy, in, 1);
      CHECK(filtered_distance <= tolerance<Scalar>);
    }
  });
}

}  // namespace

TEST_CASE("T2 quantize-sample returns p for every resolution: dense lattice") {
  check_dense_lattice<double>();
  check_dense_lattice<float>();
}

TEST_CASE("T4 sparse quantized sampling returns p for any support") {
  check_sparse_lattice<double>();
  check_sparse_lattice<float>();
}

TEST_CASE("T5 HLM: the whole law in fp16, one token a round, unbiased") {
  check_fp16_rows<double>();
  check_fp16_rows<float>();
}

TEST_CASE("T3 sample-quantize gives the law of its formula, which is not p") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    INFO(policy_name);
    check_sample_quantize<double>(policy);
    check_sample_quantize<float>(policy);
  });
}

TEST_CASE("T8 rejection bound: TV(q^, p) <= TV(q, p) + dropped mass + K / (4 l)") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    INFO(policy_name);
    check_rejection_bound<double>(policy);
    check_rejection_bound<float>(policy);
  });
}

TEST_CASE("SMP-3 filters on p: the committed law is the plain sampler's law") {
  check_filters<double>();
  check_filters<float>();
}
