// SPDX-License-Identifier: Apache-2.0
// Rows of the bundled pair: what is recorded is what the models say, the text has the law that was asked for, and over
// recorded rows the shipped rules emit the target's law and sessions send the bytes that the report counts. Built by
// apps/rows/CMakeLists.txt; elsewhere this file is empty.
#ifdef SPECVERIFY_TINYLM_DIRECTORY

#include <specverify/host/host.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/testing/message_pipe.hpp>

#include "../../../apps/edge_cloud/engine.hpp"
#include "../../../apps/rows/agreement.hpp"
#include "../../../apps/rows/record.hpp"
#include "../../../apps/rows/report.hpp"
#include "../models/embedded_pair.hpp"
#include "rows_law.hpp"

#include <cstdlib>
#include <sstream>
#include <thread>

#include <unistd.h>

namespace {

using recorded::law_of, recorded::row_counts, recorded::side;
using specverify::token_id;

//! A file of recorded rows that goes with the test.
struct recording {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("recorded." + std::to_string(::getpid()) + ".safetensors");

  explicit recording(std::uint32_t rows, const recorded::record_settings& changed = {},
                     recorded::dtype logits = recorded::dtype::f32) {
    recorded::record_settings settings = changed;
    if (settings.context == 0) settings.context = 256;
    settings.ends = {tinylm::tokenizer::end_token};
    edge_cloud::engine target(models().target), drafter(models().drafter);
    recorded::rows_plan plan{.rows = rows, .vocab_size = 4096, .logits = logits};
    plan.about["fingerprint"] = "00";
    recorded::rows_writer out(path, plan);
    const std::vector<std::vector<token_id>> prompts{
        tinylm::problem_ids(models().vocabulary, "Tom has 4 apples and buys 3 bags of 7 apples."), {256, 73, 110}};
    recorded::record(target, drafter, prompts, settings, out);
    out.finish();
  }
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  ~recording() { std::filesystem::remove(path); }
  [[nodiscard]] std::string bytes() const {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
};

//! A language model that says the recorded rows one after another, whatever the text is.
class row_player {
 public:
  row_player(const recorded::rows_file& file, side which) : file_(file), which_(which) {}
  [[nodiscard]] specverify::status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    first_ = position + tokens.size() - rows;
    return {};
  }
  [[nodiscard]] specverify::row_view<float> row(std::uint32_t i) const {
    return file_.view<float>(which_, (first_ + i) % file_.size());
  }
  void truncate(std::uint32_t) {}

 private:
  const recorded::rows_file& file_;
  side which_;
  std::size_t first_ = 0;
};
static_assert(specverify::truncating_model<row_player> && !recorded::model_with_logits<row_player>);

bool long_run() { return std::getenv("SPECVERIFY_LONG") != nullptr; }

}  // namespace

TEST_CASE("recorded rows are those of the models, text by text") {
  const recording made(300);
  const recorded::rows_file file(made.path);
  REQUIRE(file.size() == 300);
  const auto prompt = tinylm::problem_ids(models().vocabulary, "Tom has 4 apples and buys 3 bags of 7 apples.");
  tinylm::sequence target(models().target), drafter(models().drafter);
  std::vector<float> p(prompt.size() * 4096), q(prompt.size() * 4096), row(4096);
  REQUIRE(target.feed(prompt, p) == "");
  REQUIRE(drafter.feed(prompt, q) == "");
  std::size_t ended = 0;
  for (std::size_t i = 0; i < 256 && ended == 0; ++i) {
    file.logits(side::target, i, row);
    CHECK(std::equal(row.begin(), row.end(), p.end() - 4096));
    file.logits(side::drafter, i, row);
    CHECK(std::equal(row.begin(), row.end(), q.end() - 4096));
    if (file.tokens()[i] == tinylm::tokenizer::end_token || target.size() == 256) ended = i + 1;
    p.resize(4096);
    q.resize(4096);
    if (ended != 0) break;
    REQUIRE(target.feed(file.tokens().subspan(i, 1), p) == "");
    REQUIRE(drafter.feed(file.tokens().subspan(i, 1), q) == "");
  }
  REQUIRE(ended > 1);
  REQUIRE(ended < 300);
  tinylm::sequence other(models().target);  // the next text begins with the next prompt
  p.resize(3 * 4096);
  REQUIRE(other.feed(std::vector<token_id>{256, 73, 110}, p) == "");
  file.logits(side::target, ended, row);
  CHECK(std::equal(row.begin(), row.end(), p.end() - 4096));
}

TEST_CASE("the same seed records the same bytes, another one another text") {
  const std::string first = recording(40).bytes(), again = recording(40).bytes();
  CHECK(first == again);
  CHECK(first != recording(40, {.seed = 2}).bytes());
}

TEST_CASE("a prompt without room is refused, and leaves no file") {
  CHECK_THROWS_WITH(recording(10, {.context = 5}), doctest::Contains("the context has 5"));
  CHECK_FALSE(std::filesystem::exists(std::filesystem::temp_directory_path() /
                                      ("recorded." + std::to_string(::getpid()) + ".safetensors")));
}

TEST_CASE("a model that shows no logits is recorded by ln p: the same law") {
  const recording made(6);
  const recorded::rows_file file(made.path);
  row_player target(file, side::target);
  recorded::logits_of<row_player> shown;
  REQUIRE(target.feed(0, std::vector<token_id>{1, 2, 3}, 1).ok());
  const auto values = shown(target);
  const auto law = law_of(file, side::target, 2);
  double worst = 0;
  for (std::size_t v = 0; v < law.size(); ++v) worst = std::max(worst, std::fabs(std::exp(double{values[v]}) - law[v]));
  CHECK(worst < 1e-6);
}

TEST_CASE("tokens have the law that was asked for") {
  const recording made(3);
  const recorded::rows_file file(made.path);
  const auto counts_of = [&](recorded::token_law law) {
    recorded::token_source source(4096, {.law = law, .seed = 5});
    row_counts counts(file);
    for (std::uint32_t i = 0; i < 3000; ++i)
      counts.add(i % 3, source.draw(file.view<float>(side::target, i % 3), file.view<float>(side::drafter, i % 3), i));
    return counts;
  };
  const row_counts of_target = counts_of(recorded::token_law::target), sent = counts_of(recorded::token_law::sent);
  CHECK(of_target.p_value(side::target) > 1e-4);
  CHECK(of_target.p_value(side::drafter) < 1e-6);
  CHECK(sent.p_value(side::target) < 1e-6);
}

TEST_CASE("T1 rounds over recorded rows emit the target's law") {
  const recording made(24);
  const recorded::rows_file file(made.path);
  const std::uint32_t rounds = long_run() ? 200'000 : 20'000;
  const recorded::emitted_law found = recorded::play_rounds(file, rounds);
  CHECK(found.tokens > rounds + rounds / 4);
  INFO(found.tokens, " tokens, p-value ", found.of_target);
  CHECK(found.of_target > 1e-4);
  CHECK(found.of_drafter < 1e-12);  // the test has the power to see another law
}

TEST_CASE("sessions over recorded rows accept and send what the report says") {
  const recording made(400);
  const recorded::rows_file file(made.path);
  auto system = specverify::k_sqs({.max_draft_length = 1});
  system.bonus = false;  // a round is a position: each row is drafted and tested ten times
  const recorded::measured reported = recorded::measure(file, 1, "k-sqs:max_draft_length=1");  // sums over 400 rows
  specverify::message_pipe pipe;
  const auto secret = specverify::secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
  auto edge =
      specverify::make_edge({.session_id = 4, .secret = secret, .vocab_size = 4096, .token_budget = 4000}, system);
  auto cloud = specverify::make_cloud({.secret = secret, .salt = 9, .vocab_size = 4096});
  REQUIRE(edge.ok());
  REQUIRE(cloud.ok());
  auto device = pipe.edge(), server = pipe.cloud();
  row_player small(file, side::drafter), large(file, side::target);
  specverify::status served;
  {
    const std::jthread serving([&] { served = specverify::serve(*cloud, large, server); });
    REQUIRE(specverify::generate(*edge, std::array<token_id, 1>{1}, small, device).ok());
  }
  REQUIRE(served.ok());
  const auto& seen = edge->statistics();
  const double bits = 8 * static_cast<double>(seen.draft_bytes) / static_cast<double>(seen.drafted),
               stood = static_cast<double>(seen.accepted) / static_cast<double>(seen.evaluated);
  REQUIRE(seen.evaluated == 4000);
  CHECK(bits == doctest::Approx(reported.coded_bits / 400).epsilon(0.002));
  CHECK(std::fabs(stood - reported.acceptance / 400) < 4 * std::sqrt(0.25 / 4000));
}

TEST_CASE("coded bits are those of messages that can be read, and lie above the ideal ones") {
  const recording made(61);
  const recorded::rows_file file(made.path);
  for (const recorded::measured& line : recorded::measure_all(file, 1)) {
    INFO(line.system, " ", line.setting);
    const bool ids = line.system == "greedy" || line.system == "ids only";
    const double drafts = ids ? 8 : line.system == "hlm" ? 1 : 4;
    const double messages = std::ceil(61 / drafts);
    // a check of 8 bits, the kind in 4 bits or a byte, the number of drafts, at most two bytes of rounding a message
    CHECK(line.coded_bits >= line.ideal_bits + messages * (8 + 4) / 61 - 1e-9);
    CHECK(line.coded_bits <= line.ideal_bits + messages * (8 + 8 + 4 + 16) / 61 + (ids ? 0 : 0.5));
    CHECK(line.acceptance <= line.overlap + (line.system == "greedy" ? 1e-12 : 2e-3));
  }
}

TEST_CASE("one message of drafts over recorded rows, by hand") {
  const recording made(4);
  const recorded::rows_file file(made.path);
  CHECK(recorded::measure(file, 1, "hlm").coded_bits ==
        8 * 4 * (1 + 2 + 2 * 4096 + 2 + 1));  // kind, number of drafts, V halves, an id, check
}

#endif

TEST_CASE("agreement of two models: the sums of the definition, ids without probability included") {
  for (std::uint32_t run = 0; run < 20; ++run) {
    std::vector<float> target(60), drafter(60);
    for (std::uint32_t v = 0; v < target.size(); ++v) {
      target[v] = 3 * std::sin(static_cast<float>(7 * v + run));
      drafter[v] = target[v] + static_cast<float>(run) / 10 * std::sin(static_cast<float>(11 * v));
    }
    target[run] = drafter[59 - run] = -1000;
    const std::vector<double> p = lab::law_of(target, 1), q = lab::law_of(drafter, 1);
    double best = 0, shared_noise = 0;
    for (std::size_t x = 0; x < p.size(); ++x) {
      best += std::min(p[x], q[x]);
      if (p[x] <= 0 || q[x] <= 0) continue;
      double sum = 0;
      for (std::size_t v = 0; v < p.size(); ++v) sum += std::max(p[v] / p[x], q[v] / q[x]);
      shared_noise += 1 / sum;
    }
    const recorded::agreement found = recorded::agreement_of(target, drafter);
    CHECK(found.best == doctest::Approx(best).epsilon(1e-12));
    CHECK(found.shared_noise == doctest::Approx(shared_noise).epsilon(1e-12));
  }
}
