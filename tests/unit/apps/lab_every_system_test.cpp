// SPDX-License-Identifier: Apache-2.0
// Every system of the demo on the virtual clock: a replay, live models and the demo's own hosts give the same rounds,
// tokens and bytes. Built by apps/lab/CMakeLists.txt; elsewhere this file is empty.
#if defined(SPECVERIFY_TINYLM_DIRECTORY) && defined(LAB_WITH_EDGE_CLOUD)

#include <specverify/decision_head/weights.hpp>
#include <specverify/session/systems.hpp>

#include "../../../apps/edge_cloud/in_process.hpp"
#include "../../../apps/edge_cloud/protocol_choice.hpp"
#include "../../../apps/lab/virtual_run.hpp"
#include "../models/embedded_pair.hpp"
#include "lab_same_run.hpp"

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

//! As in the demo, the host tells it the channel, and the link no other way.
struct lab_demo_session : specverify::edge_session {
  explicit lab_demo_session(specverify::result<specverify::edge_session> made)
      : specverify::edge_session(std::move(made).value()) {}
  void record_link(float, float, float, float) {}
};

namespace {

using edge_cloud::chosen_system;
using lab::round_entry;
using lab::run_options;
using lab::run_result;
namespace sv = specverify;

std::uint32_t hidden_size() { return static_cast<std::uint32_t>(models().drafter->dim); }
std::uint32_t vocab_size() { return static_cast<std::uint32_t>(models().drafter->vocab); }

//! Numbers in [-scale, scale) that nobody trained.
std::vector<float> numbers(std::size_t count, std::uint32_t seed, double scale) {
  const sv::philox source{{{seed, 0}}};
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    made[i] = static_cast<float>(
        scale *
        (2 * sv::decision_uniform(source({static_cast<std::uint32_t>(i), 0, 0, sv::purpose::training, 0})) - 1));
  }
  return made;
}

//! A head that accepts some mismatches, and a network whose plans depend on all it sees; both also as the files that
//! the demo reads.
struct trained {
  std::vector<float> first, first_bias{0, 0}, second{4, -4};
  sv::head_weights head;
  sv::dqn_weights network;
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("lab_every_system_test." + std::to_string(::getpid()));

  trained() {
    head.shape = {
        .drafter_size = hidden_size(), .target_size = static_cast<std::uint32_t>(models().target->dim), .width = 2};
    first = numbers(2 * head.shape.input_size(), 1, 0.3);
    head.first = first, head.first_bias = first_bias, head.second = second;
    const std::vector<float> values = numbers(sv::dqn_parameters, 2, 0.3);
    std::copy(values.begin(), values.end(), network.values.begin());
    // the state of the uplink weighs more
    for (std::uint32_t i = sv::dqn_layers[4].offset; i < sv::dqn_layers[5].end(); ++i) network.values[i] *= 5;
    sv::observation low, high;
    high.uplink_state = 1;
    REQUIRE(plan_of(low) != plan_of(high));
    std::filesystem::create_directories(folder);
    std::vector<std::byte> bytes(sv::head_file_size(head));
    REQUIRE(sv::write_head(head, bytes).ok());
    write(head_file(), bytes);
    bytes.resize(sv::dqn_file_bytes);
    REQUIRE(sv::write_dqn(network, bytes).ok());
    write(network_file(), bytes);
  }
  ~trained() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  trained(const trained&) = delete;
  trained& operator=(const trained&) = delete;

  [[nodiscard]] std::uint32_t plan_of(const sv::observation& seen) const {
    return sv::dqn_best(sv::dqn_evaluate(network, sv::features_of(seen)));
  }
  [[nodiscard]] std::filesystem::path head_file() const { return folder / "head.safetensors"; }
  [[nodiscard]] std::filesystem::path network_file() const { return folder / "window.dqn"; }
  [[nodiscard]] double score(const lab::score_request& asked) const {
    const auto channel = sv::channel_features(asked.channel);
    REQUIRE(channel.ok());
    const auto made = sv::head_score(head, sv::drafter_input::hidden_state, asked.drafter, asked.target,
                                     sv::standardise(*channel, head.channel));
    REQUIRE(made.ok());
    return *made;
  }

 private:
  static void write(const std::filesystem::path& path, const std::vector<std::byte>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
};
const trained& files() {
  static const trained made;
  return made;
}

const char* const prompts[] = {"Q: Tom has 31 coins. He loses 5 and gives 12 to Ruth. How many are left?\nA:",
                               "And it came to pass in those days, that"};

//! Every system that the demo runs or names; one that leaves the way of hidden states open as the demo settles it on a
//! link with a round trip of 50 ms, and by name as lazy.
std::vector<edge_cloud::run_settings> all_settings() {
  std::vector<std::string> texts{"k-sqs:paper_code=1",
                                 "c-sqs:support_size=256",
                                 "k-sqs:max_draft_length=12:round_bits=1000",
                                 "c-sqs:max_draft_length=12:round_bits=1000",
                                 "cu-hlm-online:support_size=1024",
                                 "wisv:with_draft=0"};
  for (const sv::system_info& system : sv::systems()) texts.emplace_back(system.name);
  std::vector<edge_cloud::run_settings> made;
  for (const std::string& text : texts) {
    edge_cloud::run_settings& settings = made.emplace_back();
    settings.system = text;
    if (!leaves_protocol_open(chosen_system(text))) continue;
    made.push_back(settings);
    made.back().protocol = "lazy";
  }
  return made;
}

//! One text's system, complete, and whether the cloud asks for one state at a time.
struct run_system {
  chosen_system chosen;
  sv::system_shape shape;
  bool lazy;
  explicit run_system(const edge_cloud::run_settings& settings)
      : chosen(edge_cloud::settled_system(settings).completed(vocab_size(), hidden_size())),
        shape(chosen.shape(vocab_size(), hidden_size())),
        lazy(leaves_protocol_open(chosen_system(settings.system)) && settings.protocol == "lazy") {}
};

run_options options_of(const run_system& system, const char* prompt, std::uint64_t session_id) {
  run_options made;
  made.prompt = models().vocabulary.encode(prompt);
  made.prompt.insert(made.prompt.begin(), tinylm::tokenizer::end_token);
  made.tokens = 40;
  made.session_id = session_id;
  made.lazy = system.lazy;
  made.score = [](const lab::score_request& asked) { return files().score(asked); };
  made.compute.uncertainty = 1e-3;
  made.compute.score = 2e-3;
  return made;
}

template <class Model>
run_result run(const run_system& system, const run_options& options, Model& drafter, Model& target) {
  lab_demo_session session(sv::make_edge(lab::edge_options_of(options, vocab_size()), system.chosen.info().name,
                                         system.chosen.settings(), &files().network));
  return lab::run_session(options, drafter, target, std::move(session), system.shape);
}

//! What only this system does was done: a check that a run without it would pass says nothing about it.
void check_own_part(const run_system& system, const run_result& made) {
  CHECK(made.tokens.size() > 10);
  std::set<std::uint32_t> windows;
  std::set<bool> kept;
  std::uint64_t mismatches = 0, stood = 0;
  for (const round_entry& r : made.rounds) {
    windows.insert(r.drafted);
    kept.insert(r.skipped);
    mismatches += r.mismatches, stood += r.accepted_mismatches;
  }
  if (system.shape.gates) CHECK(kept.size() == 2);
  if (system.shape.plans_rounds) CHECK(windows.size() > 1);
  if (!system.chosen.info().needs_head) return;
  CHECK(stood > 0);
  CHECK(stood < mismatches);
  if (sends_states_with_drafts(system.chosen)) {
    CHECK(made.edge.supply_bytes == 0);
  } else {
    CHECK(made.edge.supply_bytes > 0);
  }
}

}  // namespace

TEST_CASE("every system: a replay and a live run have the same rounds, tokens, bytes and times") {
  const auto drafter_trace = std::make_shared<lab::model_trace>(models().drafter),
             target_trace = std::make_shared<lab::model_trace>(models().target);
  lab::live_model drafter(models().drafter), target(models().target);
  lab::replayed_model recording_drafter(drafter_trace, lab::replay_mode::record, true), recording_target(target_trace);
  for (const edge_cloud::run_settings& settings : all_settings()) {
    const run_system system(settings);
    for (std::uint64_t i = 0; i < std::size(prompts); ++i) {
      CAPTURE(settings.system);
      CAPTURE(i);
      run_options options = options_of(system, prompts[i], 200 + i);
      // A link that changes from round to round, for the windows and the heads that look at it.
      options.channel = [](std::uint32_t step) {
        return lab::link_state{step % 3 == 0 ? 350e3 : 4e6, 4e6, 0.1, 0, 0.05, step % 3 == 0 ? 0u : 1u};
      };
      const run_result live = run(system, options, drafter, target);
      if (i == 1) check_own_part(system, live);
      check_same(live, run(system, options, recording_drafter, recording_target));
      lab::replayed_model strict_drafter(drafter_trace, lab::replay_mode::strict, true),
          strict_target(target_trace, lab::replay_mode::strict);
      check_same(live, run(system, options, strict_drafter, strict_target));
    }
  }
}

TEST_CASE("every system: the demo's hosts write the same tokens with the same rounds and bytes") {
  const std::filesystem::path folder = edge_cloud::run_settings{}.models;
  const auto small = edge_cloud::load_side(folder, "drafter.safetensors"),
             large = edge_cloud::load_side(folder, "target.safetensors");
  const auto trace_of = [](const auto& weights) { return std::make_shared<lab::model_trace>(weights); };
  lab::replayed_model drafter(trace_of(models().drafter), lab::replay_mode::record, true),
      target(trace_of(models().target));
  for (edge_cloud::run_settings settings : all_settings()) {
    const run_system system(settings);
    for (std::uint64_t i = 0; i < std::size(prompts); ++i) {
      CAPTURE(settings.system);
      CAPTURE(i);
      settings.prompt = prompts[i];
      settings.tokens = 40;
      settings.session_id = 31 + i;
      settings.salt = 5;
      settings.retry_ms = 0;
      settings.head = system.chosen.info().needs_head ? files().head_file() : "";
      settings.policy = files().network_file();
      settings.link.uplink_bits_per_second = i == 0 ? 350e3 : 4e6;
      settings.lazy = system.lazy;
      const edge_cloud::in_process_run demo = edge_cloud::run_hosts(settings, small, large);

      run_options options = options_of(system, prompts[i], 31 + i);
      options.edge_secret = specverify::secret_from_hex(settings.edge_secret);
      options.cloud_secret = specverify::secret_from_hex(settings.cloud_secret);
      options.salt = settings.salt;
      options.channel =
          lab::steady({settings.link.uplink_bits_per_second, settings.link.downlink_bits_per_second, settings.link.loss,
                       settings.link.loss, settings.link.round_trip_ms * 1e-3, static_cast<std::uint32_t>(i)});
      const run_result made = run(system, options, drafter, target);
      CHECK(made.tokens == demo.edge.tokens);
      CHECK(made.edge.rounds == demo.edge.rounds);
      CHECK(made.edge.drafted == demo.edge.drafted);
      CHECK(made.edge.accepted == demo.edge.accepted);
      CHECK(made.edge.skipped == demo.edge.skipped);
      CHECK(made.edge.supply_bytes == demo.edge.supply_bytes);
      CHECK(made.cloud.mismatches == demo.cloud.mismatches);
      CHECK(made.cloud.accepted_mismatches == demo.cloud.accepted_mismatches);
      CHECK(made.edge.draft_bytes + made.edge.supply_bytes == made.bytes_up());
      CHECK(made.edge.bytes_up == demo.bytes_up);
      CHECK(made.cloud.bytes_down == demo.bytes_down);
    }
  }
}

#endif
