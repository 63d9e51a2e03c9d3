// SPDX-License-Identifier: Apache-2.0
//! The law of the tokens that token verification commits, measured on the shipped rule by enumeration of every uniform
//! that it reads.
#include "law/harness.hpp"

#include <specverify/policy/concepts.hpp>
#include <specverify/verify/expected_length.hpp>

#include <set>

using namespace law_test;

namespace {

struct size {
  std::uint32_t vocab_size, draft_length, trial_cap;
  bool always;  // the others only in the long run
};
constexpr std::array<size, 6> sizes{
    {{6, 1, 1, true}, {4, 2, 1, true}, {3, 3, 1, true}, {2, 3, 2, true}, {6, 1, 2, false}, {4, 2, 2, false}}};

template <class Policy, class Scalar>
sv::enumerated_law<sequence> committed_law(Policy policy, const world<Scalar>& in, std::uint32_t trial_cap,
                                           std::uint32_t end_probes = 0) {
  return sv::enumerate_law(
      [&](const sv::scripted_source& source) {
        return run_round(policy, in, sv::uniforms{source, 0, 0}, {trial_cap}).committed;
      },
      {.end_probes = end_probes});
}

template <class Scalar>
void check_all_shapes() {
  for_each_policy([](auto policy, const std::string& policy_name) {
    for (const shape which : all_shapes) {
      for (const size& s : sizes) {
        const bool deep = s.vocab_size == 4 || s.vocab_size == 3;
        const bool left_out = std::is_same_v<Scalar, float> || which == shape::heavy_tail ||
                              (emulated() && which != shape::random && which != shape::zeros);
        if (!long_run() && (!s.always || (deep && left_out))) continue;
        for (std::uint64_t seed = 1; seed <= (long_run() ? 4u : 1u); ++seed) {
          const world<Scalar> in = make_world<Scalar>(which, s.vocab_size, s.draft_length, seed);
          INFO(in.name, ", ", policy_name);
          const auto law = committed_law(policy, in, s.trial_cap, which == shape::heavy_tail ? 24 : 0);
          REQUIRE(law.complete);
          CHECK(law.total == sv::exact_mass::one());
          CHECK_FALSE(law.grid_may_be_too_coarse);
          const double committed_text_distance = text_distance(law, in);
          CHECK(committed_text_distance <= tolerance<Scalar>);
          const auto first = law.marginal([](const sequence& text) { return text.front(); });
          const double first_token_distance = sv::total_variation(first, in.target_law(0));
          CHECK(first_token_distance <= tolerance<Scalar>);
        }
      }
    }
  });
}

template <class Scalar>
void check_zero_counts_listed() {
  for_each_policy([](auto policy, const std::string& policy_name) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      world<Scalar> sparse = make_world<Scalar>(shape::random, 4, 1, seed, 5);
      world<Scalar> dense = sparse;
      for (std::size_t node = 0; node < sparse.drafter.size(); ++node) {
        std::vector<std::uint32_t> counts(4, 0);
        for (std::uint32_t v = 0; v < 4; ++v)
          counts[v] = sparse.drafter[node].view().count(static_cast<sv::token_id>(v));
        sparse.drafter[node] = law_of_counts(counts, true);
        dense.drafter[node] = law_of_counts(counts, false);
      }
      INFO(policy_name, ", seed ", seed);
      const auto a = committed_law(policy, sparse, 2), b = committed_law(policy, dense, 2);
      REQUIRE(a.outcomes.size() == b.outcomes.size());
      for (std::size_t i = 0; i < a.outcomes.size(); ++i) {
        CHECK(a.outcomes[i].outcome == b.outcomes[i].outcome);
        CHECK(std::fabs(a.outcomes[i].probability - b.outcomes[i].probability) <= 1e-14);
      }
    }
  });
}

template <class Scalar, class Policy>
void check_rejection_count(Policy policy) {
  // Outcome: rejections, then for each tested draft the node and the drafted token.
  world<Scalar> in = make_world<Scalar>(shape::random, 3, 4, 11, 6);
  in.draft_length = 1;
  const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
    std::vector<std::size_t> outcome{0};
    std::size_t node = 0;
    sv::uniforms random{source, 0, 0};
    for (; random.round < 2; ++random.round) {
      const round_record record =
          run_round(policy, in, random, {1}, node, 1, {}, [](const sv::draft& drawn, std::size_t) { return drawn; });
      outcome[0] += record.outcome.counters.evaluated - record.outcome.counters.accepted;
      for (std::uint32_t i = 0; i < record.outcome.counters.evaluated; ++i) {
        outcome.push_back(node);
        outcome.push_back(static_cast<std::size_t>(record.drafted[i]));
      }
      for (const sv::token_id token : record.committed) node = in.child(node, token);
      random.position += record.outcome.commit_length;
    }
    return outcome;
  });
  REQUIRE(law.complete);
  const double rejections = law.expectation([](const auto& outcome) { return outcome[0]; });
  const double identity = law.expectation([&](const auto& outcome) {
    double sum = 0;
    for (std::size_t i = 1; i < outcome.size(); i += 2) {
      const probabilities p = in.target_law(outcome[i]), q = in.drafter[outcome[i]].dense(3);
      for (std::size_t v = 0; v < 3; ++v) sum += std::fabs(p[v] - q[v]) / 2;
    }
    return sum;
  });
  CHECK(rejections > 0.1);
  CHECK(std::fabs(rejections - identity) <= tolerance<Scalar>);
}

template <class Scalar, class Policy>
void check_expected_tokens(Policy policy) {
  world<Scalar> in = make_world<Scalar>(shape::random, 3, 3, 21, 7);
  // Laws by position only, so that acceptances are independent.
  std::vector<double> acceptance;
  for (std::size_t node = 0, depth = 0, end = 1, width = 1; node < in.rows.size(); ++node) {
    if (node == end) {
      ++depth;
      width *= 3;
      end += width;
    }
    const std::size_t representative = node_count(3, static_cast<std::uint32_t>(depth)) - 1;
    in.rows[node] = in.rows[representative];
    in.drafter[node] = in.drafter[representative];
  }
  for (std::uint32_t depth = 0; depth < 3; ++depth) {
    const std::size_t node = node_count(3, depth) - 1;
    const probabilities p = in.target_law(node), q = in.drafter[node].dense(3);
    acceptance.push_back(std::min(p[0], q[0]) + std::min(p[1], q[1]) + std::min(p[2], q[2]));
  }
  const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
                     const round_record record = run_round(policy, in, sv::uniforms{source, 0, 0}, {1});
                     return std::pair{record.drafted, record.outcome.commit_length};
                   }).marginal([](const auto& outcome) { return outcome.second; });
  REQUIRE(law.complete);
  CHECK(std::fabs(law.expectation([](std::uint32_t length) { return length; }) - sv::expected_tokens(acceptance)) <=
        tolerance<Scalar>);
  for (std::uint32_t k = 1; k <= 3; ++k) {
    double reached = 1;
    for (std::uint32_t j = 0; j < k; ++j) reached *= acceptance[j];
    double longer = 0;
    for (const auto& entry : law.outcomes) longer += entry.outcome > k ? entry.probability : 0;
    CHECK(std::fabs(longer - reached) <= tolerance<Scalar>);
  }
}

template <class Scalar>
void check_edge_sizes() {
  for_each_policy([](auto policy, const std::string& policy_name) {
    const world<Scalar> none = make_world<Scalar>(shape::random, 6, 0, 31);
    INFO(policy_name);
    const auto plain = committed_law(policy, none, 2);
    CHECK(text_distance(plain, none) <= tolerance<Scalar>);
    for (const std::uint32_t resolution : {1u, 2u, 3u}) {  // l < K
      const world<Scalar> in = make_world<Scalar>(shape::random, 5, 1, 32 + resolution, resolution);
      CHECK(text_distance(committed_law(policy, in, 2), in) <= tolerance<Scalar>);
    }
    world<Scalar> full = make_world<Scalar>(shape::random, 5, 1, 36, 60);
    for (owned_law& law : full.drafter) law = law_of_counts({1, 2, 3, 4, 5}, false);  // K = V
    CHECK(text_distance(committed_law(policy, full, 2), full) <= tolerance<Scalar>);
  });
}

template <class Scalar>
void check_stop_and_budget() {
  for_each_policy([](auto policy, const std::string& policy_name) {
    const std::array<sv::token_id, 1> stops{1};
    for (const std::uint32_t budget : {1u, 2u, 9u}) {
      const world<Scalar> in = make_world<Scalar>(shape::random, 3, 2, 41);
      INFO(policy_name, ", budget ", budget);
      sv::verify_request request;
      request.stop_tokens = stops;
      request.remaining_budget = budget;
      const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
        return run_round(policy, in, sv::uniforms{source, 0, 0}, {1}, 0, 2, request,
                         [](const sv::draft& drawn, std::size_t) { return drawn; })
            .committed;
      });
      REQUIRE(law.complete);
      for (const auto& entry : law.outcomes) {
        CHECK(entry.outcome.size() <= budget);
        CHECK(std::count(entry.outcome.begin(), entry.outcome.end(), 1) <= 1);
        if (std::count(entry.outcome.begin(), entry.outcome.end(), 1) == 1) CHECK(entry.outcome.back() == 1);
      }
      CHECK(text_distance(law, in, stops) <= tolerance<Scalar>);
    }
  });
}

//! Drafts a position only while the law there has a clear favourite. The law belongs to the drafted prefix, and so does
//! the length.
struct confident_window {
  [[nodiscard]] sv::draft_plan begin(const sv::observation&) const noexcept { return {4}; }
  [[nodiscard]] bool proceed(std::uint32_t, const sv::law& next, std::uint64_t) const noexcept {
    return 2 * *std::max_element(next.counts, next.counts + next.size) > next.resolution;
  }
};
static_assert(sv::window_policy<confident_window>);

//! Returns how many drafts the round has: the window sees every law. If `peek`, the token drawn at a position can also
//! drop it.
template <class Scalar>
std::uint32_t window_length(const world<Scalar>& in, const sv::scripted_source& source, bool peek) {
  std::size_t node = 0;
  for (std::uint32_t i = 0; i < in.draft_length; ++i) {
    const sv::law next = in.drafter[node].view();
    if (!confident_window{}.proceed(i, next, 0)) return i;
    const sv::token_id token = sv::draw(next, sv::uniforms{source, i, 0}.at(sv::purpose::draft_draw)).token();
    if (peek && token == 1) return i;
    node = in.child(node, token);
  }
  return in.draft_length;
}

template <class Scalar, class Policy>
void check_windows(Policy policy) {
  world<Scalar> in = make_world<Scalar>(shape::random, 3, 2, 61);
  std::set<std::uint32_t> lengths;
  const auto distance = [&](bool peek) {
    const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
      const std::uint32_t length = window_length(in, source, peek);
      lengths.insert(length);
      return run_round(policy, in, sv::uniforms{source, 0, 0}, {1}, 0, length, {},
                       [](const sv::draft& drawn, std::size_t) { return drawn; })
          .committed;
    });
    REQUIRE(law.complete);
    return text_distance(law, in);
  };
  in.drafter[0] = law_of_counts({3, 8, 1}, true);
  in.drafter[1] = law_of_counts({2, 2, 2}, true);
  in.drafter[2] = law_of_counts({1, 1, 7}, true);
  in.drafter[3] = law_of_counts({1, 3, 2}, true);
  CHECK(distance(false) <= tolerance<Scalar>);
  CHECK(lengths == std::set<std::uint32_t>{1, 2});
  CHECK(distance(true) > 0.01);
}

}  // namespace

TEST_CASE("T1 token verification returns p: double rows") { check_all_shapes<double>(); }
TEST_CASE("T1 token verification returns p: float rows") { check_all_shapes<float>(); }

TEST_CASE("T1 NET-8 a claimed token without a law: p, whatever the drafter does") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    for (const shape which : {shape::random, shape::zeros, shape::one_hot_drafter, shape::heavy_tail}) {
      const world<double> in = make_world<double>(which, 3, 2, 3);
      INFO(in.name, ", ", policy_name);
      const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
        return run_round(policy, in, sv::uniforms{source, 0, 0}, {1}, 0, 2, {},
                         [](const sv::draft& drawn, std::size_t) {
                           return sv::claimed_draft{drawn.token(), 0, 0};
                         })
            .committed;
      });
      REQUIRE(law.complete);
      const double claimed_text_distance = text_distance(law, in);
      CHECK(claimed_text_distance <= 1e-12);
    }
  });
}

TEST_CASE("T1 VOC-1 laws with a tail count, and drafters with a larger or a smaller vocabulary") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    for (const std::uint32_t draft_vocab : {3u, 4u, 5u}) {
      for (const std::uint32_t target_vocab : {3u, 4u, 5u}) {
        for (const std::uint32_t tail : {0u, 2u}) {
          world<double> in = make_world<double>(shape::random, std::max(draft_vocab, target_vocab), 1, 5);
          for (auto& row : in.rows) row.resize(target_vocab);
          for (owned_law& law : in.drafter) law = {{1, 2}, {3, 1}, tail, draft_vocab};
          INFO(policy_name, ", draft ", draft_vocab, ", target ", target_vocab, ", tail ", tail);
          const auto law = committed_law(policy, in, 2);
          REQUIRE(law.complete);
          const double padded_text_distance = text_distance(law, in);
          CHECK(padded_text_distance <= 1e-12);
        }
      }
    }
  });
}

TEST_CASE(
    "T27 E32 rows of probabilities off by 1e-3, p = q bit for bit, one-hot against one-hot, denormals: the law is the "
    "row's own, normalised") {
  struct pair_of {
    const char* name;
    std::vector<double> target;
    std::vector<std::uint32_t> counts;
  };
  const std::vector<pair_of> pairs{{"sum 1.001", {0.5005, 0.25025, 0.25025}, {1, 1, 2}},
                                   {"sum 0.999, p = q", {0.4995, 0.24975, 0.24975}, {2, 1, 1}},
                                   {"p = q", {0.5, 0.25, 0.25}, {2, 1, 1}},
                                   {"same point", {0.0, 1.0, 0.0}, {0, 3, 0}},
                                   {"other point", {0.0, 1.0, 0.0}, {3, 0, 0}},
                                   {"denormal", {1.0, 4.9e-324, 2.3e-310}, {1, 1, 1}},
                                   {"disjoint", {0.0, 0.25, 0.75}, {5, 0, 0}}};
  for_each_policy([&](auto policy, const std::string& policy_name) {
    for (const pair_of& tried : pairs) {
      INFO(policy_name, ", ", std::string(tried.name));
      world<double> in;
      in.vocab_size = 3;
      in.draft_length = 1;
      in.kind = sv::row_kind::probabilities;
      for (std::size_t node = 0; node < 4; ++node) {
        in.rows.push_back(tried.target);
        in.drafter.push_back(law_of_counts(tried.counts, false));
      }
      const auto law = committed_law(policy, in, 1);
      REQUIRE(law.complete);
      for (const auto& entry : law.outcomes) {
        for (const sv::token_id token : entry.outcome) CHECK(tried.target[static_cast<std::size_t>(token)] > 0);
      }
      CHECK(text_distance(law, in) <= 1e-12);
    }
  });
}

TEST_CASE("T9 a law with zero counts listed and the same law without them give the same verdicts") {
  check_zero_counts_listed<double>();
  check_zero_counts_listed<float>();
}

TEST_CASE("T8 rejection count: E[N_rej] = sum of E[D_n TV(q_n, p_n)], over two rounds") {
  if (emulated()) return;
  for_each_policy([](auto policy, const std::string& policy_name) {
    INFO(policy_name);
    check_rejection_count<double>(policy);
    check_rejection_count<float>(policy);
  });
}

TEST_CASE(
    "E15 rejections at two output positions = sum of TV(q_n, p_n) over prefixes that follow p; over prefixes that "
    "follow q it is no bound") {
  // The likely first token of the target is unlikely for the drafter, but the two agree behind every other one.
  world<double> in;
  in.vocab_size = 3;
  in.draft_length = 2;
  in.kind = sv::row_kind::probabilities;
  in.rows.assign(node_count(3, 2), {0.5, 0.25, 0.25});
  in.drafter.assign(in.rows.size(), law_of_counts({2, 1, 1}, true));
  in.rows[0] = {0.1, 0.2, 0.7};
  in.drafter[0] = law_of_counts({6, 2, 2}, true);
  in.rows[in.child(0, 2)] = {0.9, 0.05, 0.05};
  in.drafter[in.child(0, 2)] = law_of_counts({0, 1, 1}, true);
  for_each_policy([&](auto policy, const std::string& policy_name) {
    const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
      const auto drawn_as_it_is = [](const sv::draft& drawn, std::size_t) { return drawn; };
      const round_record first = run_round(policy, in, sv::uniforms{source, 0, 0}, {1}, 0, 2, {}, drawn_as_it_is);
      std::uint32_t rejected = first.outcome.accepted < 2 ? 1u : 0u;
      if (first.outcome.accepted == 0) {  // the second position is drafted again
        rejected += run_round(policy, in, sv::uniforms{source, 1, 1}, {1}, in.child(0, first.committed[0]), 1, {},
                              drawn_as_it_is)
                                .outcome.accepted == 0
                        ? 1u
                        : 0u;
      }
      return rejected;
    });
    REQUIRE(law.complete);
    INFO(policy_name);
    const double rejections = law.expectation([](std::uint32_t count) { return count; });
    // TV is 0.5 at the root and 0.9 behind token 2, to which p gives 0.7 and q 0.2
    CHECK(std::fabs(rejections - (0.5 + 0.7 * 0.9)) <= 1e-12);
    CHECK(rejections > 0.5 + 0.2 * 0.9 + 0.4);
  });
}

TEST_CASE("T18 expected tokens of a round = 1 + sum of products of acceptance probabilities") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    INFO(policy_name);
    check_expected_tokens<double>(policy);
    check_expected_tokens<float>(policy);
  });
}

TEST_CASE("T30 L=0, L=1, l=1, K=1, K=V, l<K: p in every case") {
  check_edge_sizes<double>();
  check_edge_sizes<float>();
}

TEST_CASE("T30 COR-13 a stop token inside the window, and the length budget: the law of the text up to its end") {
  check_stop_and_budget<double>();
  check_stop_and_budget<float>();
}

TEST_CASE(
    "T34 a window whose length depends on the drafted prefix keeps p; one that looks at the drawn token does not") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    INFO(policy_name);
    check_windows<double>(policy);
    check_windows<float>(policy);
  });
}

TEST_CASE("SMP-7 a position rejected by force draws from p, and the drafts before it keep their law") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    for (const std::array<std::uint8_t, 2> forced :
         {std::array<std::uint8_t, 2>{1, 0}, std::array<std::uint8_t, 2>{0, 1}}) {
      const world<double> in = make_world<double>(shape::random, 3, 2, 51);
      INFO(policy_name, ", ", int{forced[0]}, int{forced[1]});
      sv::verify_request request;
      request.forced_rejects = forced;
      const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
        return run_round(policy, in, sv::uniforms{source, 0, 0}, {1}, 0, 2, request,
                         [](const sv::draft& drawn, std::size_t) { return drawn; })
            .committed;
      });
      REQUIRE(law.complete);
      CHECK(text_distance(law, in) <= 1e-12);
    }
  });
}

TEST_CASE("SMP-5 a mask, a bias and a temperature for each position: every token has the law of its own row") {
  for_each_policy([](auto policy, const std::string& policy_name) {
    INFO(policy_name);
    world<double> in = make_world<double>(shape::random, 4, 2, 71, 6);
    const std::array<std::uint64_t, 2> masks{0b1011, 0b0110};
    const std::array<sv::token_id, 1> biased{2};
    const std::array<float, 1> bias{1.0f};
    in.by_position.resize(3);
    in.by_position[0].mask_words = std::span(masks).first(1);
    in.by_position[1].mask_words = std::span(masks).last(1);
    in.by_position[1].temperature = 0.6;
    in.by_position[2].bias_ids = biased;
    in.by_position[2].bias_values = bias;
    const auto law = committed_law(policy, in, 1);
    REQUIRE(law.complete);
    for (const auto& entry : law.outcomes) {
      CHECK(entry.outcome[0] != 2);
      if (entry.outcome.size() > 1) CHECK((entry.outcome[1] == 1 || entry.outcome[1] == 2));
    }
    CHECK(text_distance(law, in) <= 1e-12);
  });
}
