// SPDX-License-Identifier: Apache-2.0
// A run on the virtual clock: the same rounds, tokens and bytes from a replay and from live models; and times that are
// the papers' formulas. Built by apps/lab/CMakeLists.txt; elsewhere this file is empty.
#ifdef SPECVERIFY_TINYLM_DIRECTORY

#include "../models/embedded_pair.hpp"
#include "lab_same_run.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using lab::round_entry;
using lab::run_options;
using lab::run_result;
using lab::token_id;
namespace sv = specverify;

const char* const prompts[] = {"Q: Tom has 31 coins. He loses 5 and gives 12 to Ruth. How many are left?\nA:",
                               "And it came to pass in those days, that"};

const char* const systems[] = {"qs", "k-sqs", "hlm"};

run_options options_of(const char* prompt, std::uint64_t session) {
  run_options made;
  made.prompt = models().vocabulary.encode(prompt);
  made.prompt.insert(made.prompt.begin(), tinylm::tokenizer::end_token);
  made.tokens = 48;
  made.session_id = session;
  made.channel = [](std::uint32_t step) {
    return lab::link_state{step % 3 == 0 ? 350e3 : 4e6, 4e6, 0.1, 0, 0.05, step % 3 == 0 ? 0u : 1u};
  };
  return made;
}

}  // namespace

TEST_CASE("a replay and a live run have the same rounds, tokens, bytes and times") {
  const auto drafter_trace = std::make_shared<lab::model_trace>(models().drafter),
             target_trace = std::make_shared<lab::model_trace>(models().target);
  lab::live_model drafter(models().drafter), target(models().target);
  lab::replayed_model recording_drafter(drafter_trace), recording_target(target_trace);
  for (const char* const system : systems) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      CAPTURE(system);
      const run_options options = options_of(prompts[i], 100 + i);
      const run_result live = lab::run_virtually(options, drafter, target, system);
      REQUIRE(live.tokens.size() > 20);
      check_same(live, lab::run_virtually(options, recording_drafter, recording_target, system));
      lab::replayed_model strict_drafter(drafter_trace, lab::replay_mode::strict),
          strict_target(target_trace, lab::replay_mode::strict);
      check_same(live, lab::run_virtually(options, strict_drafter, strict_target, system));
    }
  }
}

TEST_CASE("a run over a channel model and one over the model's trace are the same") {
  sv::markov_options link = sv::qs_paper_link();
  link.low.round_trip = link.high.round_trip = 0.05;
  const auto channel = sv::markov_channel::make(link).value();
  std::vector<lab::link_state> states(256);
  sv::record(channel, sv::philox{{{17, 0}}}, std::span<lab::link_state>(states));
  std::string text(sv::max_channel_trace_bytes(states.size()), '\0');
  text.resize(sv::write_channel_trace(states, text).value().size());

  run_options options = options_of(prompts[1], 5);
  lab::live_model drafter(models().drafter), target(models().target);
  options.channel = lab::drawn_from(channel, 17);
  const run_result drawn = lab::run_virtually(options, drafter, target, "k-sqs");
  options.channel = lab::replayed(std::string_view(text));
  check_same(lab::run_virtually(options, drafter, target, "k-sqs"), drawn);
  CHECK(std::any_of(drawn.rounds.begin(), drawn.rounds.end(), [](const round_entry& r) { return r.state == 1; }));
  for (std::uint32_t step = 0; step < 600; ++step) CHECK(options.channel(step) == states[step % 256]);

  options.channel = lab::replayed(std::string_view(text.substr(0, text.find('\n') + 1) + "1e3,1e3,0,0,0,0\n"));
  CHECK(options.channel(9) == lab::link_state{1e3, 1e3, 0, 0, 0, 0});
  CHECK_THROWS_WITH(static_cast<void>(lab::replayed(std::string_view(text + "fast"))),
                    "a channel trace, line 258: a line of a channel trace has too few fields or too many");
}

TEST_CASE("rounds add up to the sessions' own counters") {
  lab::live_model drafter(models().drafter), target(models().target);
  for (const char* const system : systems) {
    CAPTURE(system);
    const run_result made = lab::run_virtually(options_of(prompts[0], 7), drafter, target, system);
    std::uint64_t drafted = 0, accepted = 0;
    for (const round_entry& r : made.rounds) drafted += r.drafted, accepted += r.accepted;
    CHECK(drafted == made.edge.drafted);
    CHECK(accepted == made.edge.accepted);
    CHECK(made.emitted() == made.edge.emitted);
    CHECK(made.emitted() == made.tokens.size());
    CHECK(made.rounds.size() == made.edge.rounds);
    // What is neither a round's nor the greeting's is the goodbye after the last commit.
    CHECK(made.bytes_up() + made.bytes_down() + made.greeting_bytes <= made.edge.bytes_up + made.cloud.bytes_down);
    CHECK(made.bytes_up() + made.bytes_down() + made.greeting_bytes + 100 > made.edge.bytes_up + made.cloud.bytes_down);
  }
}

TEST_CASE("a round takes L passes of the drafter, its bits over the rates, one pass of the target and a round trip") {
  lab::live_model drafter(models().drafter), target(models().target);
  const run_options options = options_of(prompts[0], 8);
  const run_result made = lab::run_virtually(options, drafter, target, "k-sqs");
  double sum = 0;
  for (std::size_t r = 0; r < made.rounds.size(); ++r) {
    const round_entry& round = made.rounds[r];
    const lab::link_state link = options.channel(static_cast<std::uint32_t>(r));
    const double formula = round.drafted * 25.6e-3 +
                           8.0 * static_cast<double>(round.bytes_up) / link.uplink_rate / (1 - link.uplink_loss) +
                           104.6e-3 + 8.0 * static_cast<double>(round.bytes_down) / link.downlink_rate +
                           link.round_trip;
    CHECK(round.seconds() == doctest::Approx(formula).epsilon(1e-12));
    CHECK(round.state == link.index);
    sum += formula;
  }
  CHECK(made.seconds == doctest::Approx(sum).epsilon(1e-9));
  CHECK(made.tokens_per_second() == doctest::Approx(static_cast<double>(made.tokens.size()) / sum));
  double of_rounds = 0;
  for (const round_entry& round : made.rounds) of_rounds += round.emitted / round.seconds();
  CHECK(made.mean_of_rounds() == doctest::Approx(of_rounds / static_cast<double>(made.rounds.size())));
}

#endif
