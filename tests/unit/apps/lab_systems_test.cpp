// SPDX-License-Identifier: Apache-2.0
// Virtual runs of the systems that skip tokens and of those that score mismatches. Built by apps/lab/CMakeLists.txt;
// elsewhere this file is empty.
#ifdef SPECVERIFY_TINYLM_DIRECTORY

#include "../../../apps/lab/papers.hpp"
#include "../../../apps/lab/virtual_run.hpp"
#include "../models/embedded_pair.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "lab_page.inc"

namespace {

using lab::run_options;
using lab::run_result;
namespace sv = specverify;

run_options text(const char* prompt) {
  run_options made;
  made.prompt = models().vocabulary.encode(prompt);
  made.prompt.insert(made.prompt.begin(), tinylm::tokenizer::end_token);
  made.tokens = 48;
  made.session_id = 77;
  made.channel = lab::steady({350e3, 4e6, 0, 0, 0.05, 0});
  return made;
}
const char* const problem = "Q: Tom has 31 coins. He loses 5 and gives 12 to Ruth. How many are left?\nA:";

//! HLM as in its paper: one draft a round, no bonus.
const auto hybrid = sv::hlm({.bonus = false});

auto wisv(bool with_draft) { return sv::wisv({.hidden_size = 96, .with_draft = with_draft, .max_draft_length = 16}); }
run_options greedy_text() {
  run_options made = text(problem);
  made.temperature = 0;
  return made;
}

void check_rounds(const run_result& made) {
  std::uint64_t emitted = 0;
  double seconds = 0;
  for (const lab::round_entry& r : made.rounds) emitted += r.emitted, seconds += r.seconds();
  CHECK(emitted == made.tokens.size());
  CHECK(made.edge.emitted == made.tokens.size());
  CHECK(made.seconds == doctest::Approx(seconds).epsilon(1e-9));
}

}  // namespace

TEST_CASE("hybrid: one token a round; what is skipped costs a pass of the drafter and no byte") {
  lab::live_model drafter(models().drafter), target(models().target);
  run_options options = text(problem);
  const run_result all = lab::run_virtually(options, drafter, target, hybrid);
  check_rounds(all);
  CHECK(all.rounds.size() == all.tokens.size());
  CHECK(all.uploads() == all.rounds.size());

  options.compute.uncertainty = 0.001;
  const run_result gated = lab::run_virtually(options, drafter, target, "u-hlm", {{"threshold", 0.3}});
  check_rounds(gated);
  CHECK(gated.rounds.size() == gated.tokens.size());
  std::uint64_t skipped = 0;
  for (const lab::round_entry& r : gated.rounds) {
    if (!r.skipped) continue;
    ++skipped;
    CHECK(r.bytes_up == 0);
    CHECK(r.emitted == 1);
    CHECK(r.seconds() == doctest::Approx(25.6e-3 + 0.001));
  }
  CHECK(skipped == gated.edge.skipped);
  CHECK(skipped > 0);
  CHECK(gated.uploads() == gated.rounds.size() - skipped);
  CHECK(gated.seconds < all.seconds);
}

TEST_CASE("the target alone: a pass and a message down for each token, nothing up") {
  lab::live_model drafter(models().drafter), target(models().target);
  const run_result made = lab::run_virtually(text(problem), drafter, target, "target");
  CHECK(made.tokens.size() > 20);
  CHECK(made.edge.emitted == made.tokens.size());
  CHECK(made.bytes_up() == 0);
  CHECK(drafter.counters().passes == 0);
  // Passes follow each other while messages travel: the text takes its passes, and what the last message takes.
  const double passes = 104.6e-3 * static_cast<double>(made.tokens.size());
  CHECK(made.seconds > passes);
  CHECK(made.seconds < passes + 0.03);
}

TEST_CASE("importance: the drafter's attention decides with the uncertainty") {
  const auto trace = std::make_shared<lab::model_trace>(models().drafter);
  lab::replayed_model blind(trace), drafter(trace), target(std::make_shared<lab::model_trace>(models().target));
  drafter.want_attention();
  const auto gated = sv::ui({0.1, {.k = 3, .gamma = 0.5}});
  const run_options options = text(problem);
  const run_result made = lab::run_virtually(options, drafter, target, gated);
  check_rounds(made);
  lab::live_model live(models().drafter);
  const run_result again = lab::run_virtually(options, live, target, gated);
  CHECK(made.tokens == again.tokens);
  CHECK(made.bytes_up() == again.bytes_up());
  lab::replayed_model without(std::make_shared<lab::model_trace>(models().drafter));
  CHECK_THROWS_WITH((void)lab::run_virtually(options, without, target, gated), doctest::Contains("attention"));
}

TEST_CASE("semantic: threshold 0 is greedy, above 1 takes all; FH, SH and lazy write the same") {
  lab::live_model drafter(models().drafter), target(models().target);
  run_options options = greedy_text();
  const run_result exact = lab::run_virtually(options, drafter, target, "greedy", {{"max_draft_length", 16}});
  check_rounds(exact);

  // A scorer that reads all it is given, so that a wrong vector would change the text.
  std::size_t scored = 0;
  const auto score = [&](const lab::score_request& r) {
    ++scored;
    REQUIRE(r.drafter.size() == 96);
    REQUIRE(r.target.size() == 128);
    REQUIRE(r.channel.uplink_rate == doctest::Approx(350e3).epsilon(0.01));
    double sum = 0;
    for (const float v : r.drafter) sum += static_cast<double>(v);
    for (const float v : r.target) sum += static_cast<double>(v);
    return 0.5 + 0.5 * std::sin(sum);
  };
  options.score = score;
  options.threshold = 0;
  CHECK(lab::run_virtually(options, drafter, target, wisv(true)).tokens == exact.tokens);
  options.threshold = 1.5;
  const run_result all = lab::run_virtually(options, drafter, target, wisv(true));
  for (const lab::round_entry& r : all.rounds) CHECK(r.accepted_mismatches == r.mismatches);

  options.threshold = 0.6;
  options.compute.score = 0.002;
  scored = 0;
  const run_result full = lab::run_virtually(options, drafter, target, wisv(true));
  check_rounds(full);
  std::uint64_t mismatches = 0, accepted = 0;
  for (const lab::round_entry& r : full.rounds) mismatches += r.mismatches, accepted += r.accepted_mismatches;
  CHECK(mismatches > 0);
  CHECK(accepted > 0);
  CHECK(mismatches <= scored);
  CHECK(full.rounds.size() <= exact.rounds.size());
  for (const bool lazy : {false, true}) {
    run_options on_request = greedy_text();
    on_request.lazy = lazy;
    on_request.score = score;
    on_request.threshold = 0.6;
    const run_result made = lab::run_virtually(on_request, drafter, target, wisv(false));
    check_rounds(made);
    CHECK(made.tokens == full.tokens);
    REQUIRE(made.rounds.size() == full.rounds.size());
    CHECK(made.bytes_up() < full.bytes_up());
    for (std::size_t r = 0; r < made.rounds.size(); ++r) {
      CHECK(made.rounds[r].accepted == full.rounds[r].accepted);
      CHECK(made.rounds[r].mismatches == full.rounds[r].mismatches);
      if (made.rounds[r].mismatches == 0) CHECK(made.rounds[r].waited == doctest::Approx(0.05));
    }
  }
}

TEST_CASE("a projected hidden state travels in its place") {
  lab::live_model drafter(models().drafter), target(models().target);
  run_options options = greedy_text();
  auto system = sv::wisv({.hidden_size = 8, .with_draft = true, .max_draft_length = 16});
  system.attachments.hidden = sv::hidden_format::int8;
  options.project = [](std::span<const float> hidden, std::span<float> sent) {
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = hidden[i] + hidden[i + 8];
  };
  options.score = [](const lab::score_request& r) {
    REQUIRE(r.drafter.size() == 8);
    return 0.0;
  };
  const run_result made = lab::run_virtually(options, drafter, target, system);
  check_rounds(made);
  CHECK(made.tokens.size() > 10);
}

#endif
