// SPDX-License-Identifier: Apache-2.0
//! Rounds in a row with a threshold that learns. The text must keep the target's law, and after each round only
//! accepted and resampled positions may have moved the threshold.
#include "law/harness.hpp"

#include <specverify/policy/window.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/conformal.hpp>

#include <support/secret_of.hpp>

#include <optional>

using namespace law_test;

namespace {

//! A target and a drafter over every prefix of up to `depth` tokens.
template <class Scalar>
struct two_models {
  world<Scalar> target{};
  std::vector<std::vector<Scalar>> drafter{};
};

template <class Scalar>
two_models<Scalar> make_models(std::uint32_t vocab_size, std::uint32_t depth, std::uint64_t seed) {
  generator draw(seed);
  two_models<Scalar> made;
  made.target.vocab_size = vocab_size;
  made.target.draft_length = depth - 1;  // `text_distance` compares texts of one token more
  for (std::size_t node = 0; node < node_count(vocab_size, depth - 1); ++node) {
    std::vector<Scalar> p(vocab_size), q(vocab_size);
    const double sharpness = draw.below(2) == 0 ? 0.3 : 3.0;
    for (std::uint32_t v = 0; v < vocab_size; ++v) {
      p[v] = static_cast<Scalar>(3 * draw.uniform());
      q[v] = static_cast<Scalar>(sharpness * draw.uniform());
    }
    made.target.rows.push_back(p);
    made.drafter.push_back(q);
  }
  return made;
}

struct plan {
  sv::conformal sparsifier{.max_support_size = sv::max_vocab_size};
  std::uint32_t rounds = 2;
  std::uint32_t draft_length = 1;
  std::uint32_t resolution = 7;
  std::uint32_t trial_cap = 1;
  std::uint64_t budget = 0;  //!< bits of a round; if 0, every window has `draft_length` drafts
};

//! Drafts while the budget lasts. Each draft costs the bits of the code that travels.
sv::bit_budget_window window_of(const plan& how, std::uint32_t vocab_size) {
  const std::uint64_t bits = how.budget > 0 ? how.budget : std::uint64_t{1} << 40;
  return {how.draft_length, how.resolution, vocab_size, vocab_size, bits, 0, sv::position_accounting::drop_zero};
}

struct text_run {
  sequence text{};
  sv::conformal_state state{};
  // positions of `text` whose law moved the threshold: all except bonus tokens of unknown laws
  std::vector<std::uint32_t> learnt{};
  std::uint32_t rejected = 0;
  std::uint32_t closed = 0;   // windows that the budget ended
  std::uint32_t counted = 0;  // of them, those in which the law of the bonus token moved the threshold
  double apart = 0;           // sum over tested positions of TV(q^, p)
  double allowed = 0;         // and of TV(q, p) + dropped mass + K / (4 l)
};

double tv(const probabilities& a, const probabilities& b) {
  double sum = 0;
  for (std::size_t v = 0; v < a.size(); ++v) sum += std::fabs(a[v] - b[v]);
  return sum / 2;
}

//! Runs `plan.rounds` rounds from the empty text. The law of a draft depends on the threshold, because earlier rounds
//! moved it.
template <class Policy, class Scalar, class Source>
text_run run_text(Policy policy, const two_models<Scalar>& models, const plan& how, const Source& source) {
  const auto vocab_size = models.target.vocab_size;
  const sv::row_transform as_it_is{};
  const sv::bit_budget_window window = window_of(how, vocab_size);
  static thread_local std::vector<std::byte> memory, more;
  const auto widest = sv::widest_state(how.sparsifier);
  memory.resize(sv::digest_workspace_size(vocab_size, as_it_is, how.sparsifier.request(widest, vocab_size)) +
                sv::draft_law_workspace_size(vocab_size, how.sparsifier, widest) + 64);
  more.resize(scratch_size(vocab_size, as_it_is, how.draft_length));
  text_run run;
  run.state = how.sparsifier.initial_state();
  std::size_t node = 0;
  for (std::uint32_t round = 1; round <= how.rounds; ++round) {
    const auto base = static_cast<std::uint32_t>(run.text.size());
    std::vector<sv::conformal_state> states{run.state};
    std::vector<owned_law> laws(how.draft_length);
    sv::window_progress so_far;
    bool beyond_known = false;
    std::vector<double> dropped;
    std::vector<sv::draft> drafts;
    std::vector<std::size_t> nodes{node};
    for (std::uint32_t i = 0; i < how.draft_length; ++i) {
      sv::workspace space{std::span<std::byte>(memory)};
      const auto row = sv::logits_row<Scalar>(models.drafter[nodes.back()]);
      const auto reading =
          sv::read_row(policy, row, as_it_is, how.sparsifier.request(states.back(), vocab_size), space);
      if (!reading) return {};
      const auto drafted =
          sv::make_draft_law(*reading, how.sparsifier, states.back(), {.resolution = how.resolution}, space);
      if (!drafted) return {};
      const sv::draft_law& made = *drafted;
      states.push_back(how.sparsifier.advance(states.back(), made.kept));
      laws[i] = {{made.drafted.ids, made.drafted.ids + made.drafted.size},
                 {made.drafted.counts, made.drafted.counts + made.drafted.size},
                 0,
                 vocab_size};
      const std::optional<sv::draft> drawn = sv::draw_within(
          window, so_far, laws[i].view(), sv::uniforms{source, base + i, round}.at(sv::purpose::draft_draw));
      if (!drawn) {
        beyond_known = true;
        break;
      }
      dropped.push_back(sv::dropped_mass(made.kept) + made.kept.size() / (4.0 * how.resolution));
      drafts.push_back(*drawn);
      nodes.push_back(models.target.child(nodes.back(), drafts.back().token()));
    }
    sv::workspace scratch{std::span<std::byte>(more)};
    const auto verdict = sv::token_rule{how.trial_cap}.verify(policy, std::span<const sv::draft>(drafts),
                                                              path_rows<Scalar>{models.target, nodes},
                                                              sv::uniforms{source, base, round}, {}, scratch);
    if (!verdict) return {};
    const auto drafted = static_cast<std::uint32_t>(drafts.size());
    const bool rejected = verdict->accepted < drafted, counts_bonus = beyond_known && how.sparsifier.update_on_bonus;
    for (std::uint32_t i = 0; i < verdict->accepted + (rejected ? 1u : 0u); ++i) {
      const probabilities p = models.target.target_law(nodes[i]),
                          q = plain_law(models.drafter[nodes[i]], sv::row_kind::logits, {}, vocab_size);
      run.apart += tv(laws[i].dense(vocab_size), p);
      run.allowed += tv(q, p) + dropped[i];
    }
    for (std::uint32_t i = 0; i < verdict->accepted; ++i) run.text.push_back(drafts[i].token());
    run.text.push_back(verdict->next_token);
    run.rejected += rejected ? 1u : 0u;
    run.closed += beyond_known ? 1u : 0u;
    run.counted += counts_bonus && !rejected ? 1u : 0u;
    for (std::uint32_t i = 0; i < verdict->accepted + (rejected || counts_bonus ? 1u : 0u); ++i)
      run.learnt.push_back(base + i);
    run.state = states[sv::resumed_state(verdict->accepted, drafted, counts_bonus)];
    node = models.target.child(nodes[verdict->accepted], verdict->next_token);
  }
  return run;
}

template <class Scalar>
void check_texts(std::uint32_t vocab_size, const plan& how, std::uint64_t seed) {
  const two_models<Scalar> models = make_models<Scalar>(vocab_size, how.rounds * (how.draft_length + 1), seed);
  for_each_policy([&](auto policy, const std::string& policy_name) {
    INFO(policy_name, ", V ", vocab_size, ", L ", how.draft_length, ", seed ", seed);
    const auto law = sv::enumerate_law(
        [&](const sv::scripted_source& source) { return run_text(policy, models, how, source).text; });
    REQUIRE(law.complete);
    CHECK_FALSE(law.grid_may_be_too_coarse);
    const double conformal_text_distance = text_distance(law, models.target);
    CHECK(conformal_text_distance <= tolerance<Scalar>);
  });
}

//! Returns the threshold after a text by the definitions, in long double: ids of probability at least beta, or the
//! largest alone if there are none.
template <class Scalar>
double replayed_threshold(const two_models<Scalar>& models, const plan& how, const text_run& run, double& dropped) {
  long double beta = how.sparsifier.first_threshold, sum = 0;
  std::size_t node = 0, next = 0;
  for (std::size_t position = 0; position < run.text.size(); ++position) {
    if (next < run.learnt.size() && run.learnt[next] == position) {
      ++next;
      const probabilities q = plain_law(models.drafter[node], sv::row_kind::logits, {}, models.target.vocab_size);
      long double kept = 0, largest = 0;
      for (const double mass : q) {
        largest = std::max<long double>(largest, mass);
        if (static_cast<long double>(mass) >= beta) kept += mass;
      }
      if (kept == 0) kept = largest;
      sum += 1 - kept;
      beta -=
          static_cast<long double>(how.sparsifier.step) * (1 - kept - static_cast<long double>(how.sparsifier.target));
      if (beta > 1) beta = 1;
    }
    node = models.target.child(node, run.text[position]);
  }
  dropped = static_cast<double>(sum);
  return static_cast<double>(beta);
}

//! Runs thirty rounds of a shipped generator, and compares the state after them with the replay.
text_run check_replay(std::uint64_t seed, sv::conformal sparsifier, std::uint64_t budget) {
  plan how;
  how.sparsifier = sparsifier;
  how.sparsifier.target = 0.1;
  how.sparsifier.max_support_size = 5;
  how.sparsifier.step = 0.07;
  how.sparsifier.first_threshold = 0.2;
  how.rounds = 30;
  how.draft_length = 1 + static_cast<std::uint32_t>(seed % 5);
  how.resolution = 20;
  how.trial_cap = 32;
  how.budget = budget;
  const two_models<double> models = make_models<double>(5, 3, seed);  // beyond this depth the tree begins anew
  const text_run run =
      run_text(sv::exec::seq, models, how, sv::philox{sv::derive_draft_key(specverify_test::secret_of(seed), 22)});
  REQUIRE(run.text.size() >= how.rounds);
  INFO("seed ", seed, ", L ", how.draft_length, ", budget ", budget, ", rejections ", run.rejected);
  double dropped = 0;
  const double replayed = replayed_threshold(models, how, run, dropped);
  CHECK(run.state.updates == run.learnt.size());
  CHECK(run.state.beta == doctest::Approx(replayed).epsilon(1e-6));
  CHECK(run.state.dropped == doctest::Approx(dropped).epsilon(1e-6));
  CHECK(sv::mean_dropped_mass(run.state) <= sv::dropped_mass_bound(how.sparsifier, run.state.updates, 5) + 1e-9);
  return run;
}

//! Windows that a budget closes: checks the text's law by enumeration, and the state after every path.
template <class Scalar>
void check_closed_windows(std::uint32_t vocab_size, const plan& how, std::uint64_t seed) {
  const two_models<Scalar> models = make_models<Scalar>(vocab_size, how.rounds * (how.draft_length + 1), seed);
  for_each_policy([&](auto policy, const std::string& policy_name) {
    INFO(policy_name, ", V ", vocab_size, ", L ", how.draft_length, ", budget ", how.budget, ", seed ", seed);
    std::uint64_t closed = 0, open = 0, counted = 0, rejected = 0, wrong_states = 0;
    const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
      const text_run run = run_text(policy, models, how, source);
      closed += run.closed;
      open += how.rounds - run.closed;
      counted += run.counted;
      rejected += run.rejected;
      double dropped = 0;
      const double replayed = replayed_threshold(models, how, run, dropped);
      const bool same = run.state.updates == run.learnt.size() && std::fabs(run.state.beta - replayed) <= 1e-6 &&
                        std::fabs(run.state.dropped - dropped) <= 1e-6;
      wrong_states += same ? 0u : 1u;
      return run.text;
    });
    REQUIRE(law.complete);
    CHECK_FALSE(law.grid_may_be_too_coarse);
    const double closed_window_text_distance = text_distance(law, models.target);
    CHECK(closed_window_text_distance <= tolerance<Scalar>);
    CHECK(wrong_states == 0);
    CHECK((closed > 0 && open > 0 && counted > 0 && rejected > 0));
  });
}

}  // namespace

TEST_CASE(
    "T4 T34 C-SQS whose windows a bit budget closes, the law beyond them counted: the text has the target's law, the "
    "state is the replay's") {
  plan how;
  how.sparsifier.target = 0.1;
  how.sparsifier.step = 1.0;
  how.sparsifier.first_threshold = 0.3;
  how.sparsifier.update_on_bonus = true;
  how.draft_length = 2;
  how.budget = 13;
  check_closed_windows<double>(2, how, 11);
  check_closed_windows<float>(2, how, 12);
  if (emulated()) return;
  how.draft_length = 3;
  how.budget = 18;
  check_closed_windows<double>(2, how, 13);
  if (!long_run()) return;
  how.draft_length = 2;
  how.budget = 16;
  check_closed_windows<double>(3, how, 14);
  check_closed_windows<float>(3, how, 15);
}

TEST_CASE("T4 C-SQS over several rounds: the threshold depends on what was accepted, the text has the target's law") {
  plan how;
  how.sparsifier.target = 0.1;
  how.sparsifier.step = 1.0;
  how.sparsifier.first_threshold = 0.3;
  check_texts<float>(3, how, 2);
  if (emulated()) return;
  check_texts<double>(3, how, 1);
  how.sparsifier.update = sv::conformal_update::logarithmic;
  how.sparsifier.step = 3;
  check_texts<double>(2, how, 3);
  how.sparsifier.max_support_size = 2;
  check_texts<double>(3, how, 4);
  if (!long_run()) return;
  how.draft_length = 2;
  check_texts<double>(2, how, 5);
}

TEST_CASE("T22 E13 the threshold after many rounds is that of a replay on accepted and resampled positions alone") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const text_run run = check_replay(seed, {}, 0);
    CHECK(run.rejected > 0);
    CHECK(run.closed == 0);
  }
}

TEST_CASE(
    "T22 E13 with a bit budget and update_on_bonus the replay counts the bonus tokens of windows that the budget "
    "closed") {
  std::uint32_t closed = 0, counted = 0, rejected = 0;
  for (std::uint64_t seed = 41; seed <= 80; ++seed) {
    const text_run run = check_replay(seed, {.update_on_bonus = true}, 40);
    closed += run.closed;
    counted += run.counted;
    rejected += run.rejected;
  }
  CHECK((counted > 100 && counted < closed && rejected > 100));
}

TEST_CASE(
    "T8 expected rejections of several C-SQS rounds = the expected sum of TV(q^, p) over tested positions, and below "
    "the bound") {
  if (emulated()) return;
  for (std::uint64_t seed = 1; seed <= (long_run() ? 3u : 1u); ++seed) {
    plan how;
    how.sparsifier.target = 0.1;
    how.sparsifier.step = 1.0;
    how.sparsifier.first_threshold = 0.3;
    const two_models<double> models = make_models<double>(3, 4, seed + 80);
    const auto law = sv::enumerate_law(
        [&](const sv::scripted_source& source) {
          const text_run run = run_text(sv::exec::seq, models, how, source);
          return std::array<double, 3>{static_cast<double>(run.rejected), run.apart, run.allowed};
        },
        {.grid = 10, .refinements = 12});
    REQUIRE(law.complete);
    CHECK_FALSE(law.grid_may_be_too_coarse);
    const auto mean = [&](std::size_t i) {
      return law.expectation([i](const std::array<double, 3>& of) { return of[i]; });
    };
    INFO("seed ", seed);
    CHECK(mean(0) > 0.1);
    CHECK(std::fabs(mean(0) - mean(1)) <= 1e-12);
    CHECK(mean(1) <= mean(2) + 1e-9);
  }
}
