// SPDX-License-Identifier: Apache-2.0
// Measures the uplink of sessions of the embedded pair: bits per drafted and per committed token, and how often shared
// noise accepts a draft. Exit code: 0; 1 if a goal of --check is missed; 2 for wrong usage or files.
#include "../demand.hpp"
#include "../edge_cloud/engine.hpp"
#include "../edge_cloud/side_model.hpp"
#include "../standard_output.hpp"
#include "agreement.hpp"
#include "prompts.hpp"
#include "split_chart.hpp"

#include "tinylm/tinylm.hpp"

#include <specverify/codec/prior_table.hpp>
#include <specverify/host/drive.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/systems.hpp>

#include <CLI/CLI.hpp>

#include <cmath>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace sv = specverify;

struct arguments {
  std::string folder = tinylm::default_directory(), prior = folder + "/prior.table",
              problems = "apps/lab/data/test.txt", prose = "apps/lab/data/prose.txt";
  std::uint32_t texts = 50, tokens = 64;
  double draft_ms = 20, verify_ms = 100;  // times that the chart of throughput uses
  bool check = false;
};

using programs::demand;

//! A model that keeps the latest row of each position.
class noted_engine {
 public:
  explicit noted_engine(const edge_cloud::side_model& side) : engine_(side.weights) {}

  sv::status feed(std::uint32_t position, std::span<const sv::token_id> tokens, std::uint32_t rows) {
    const sv::status why = engine_.feed(position, tokens, rows);
    if (!why.ok()) return why;
    const std::uint32_t first = position + static_cast<std::uint32_t>(tokens.size()) - rows + 1;
    for (std::uint32_t i = 0; i < rows; ++i) {
      const std::span<const float> logits = engine_.logits(i);
      rows_[first + i].assign(logits.begin(), logits.end());
    }
    first_ = first;
    return {};
  }
  sv::row_view<float> row(std::uint32_t i) const { return engine_.row(i); }
  void truncate(std::uint32_t position) { engine_.truncate(position); }

  //! Returns the latest row that predicts the token at `position`.
  [[nodiscard]] std::span<const float> at(std::uint32_t position) const { return rows_.at(position); }
  [[nodiscard]] std::uint32_t first() const { return first_; }  // position that the last feed's first row predicts

 private:
  edge_cloud::engine engine_;
  std::map<std::uint32_t, std::vector<float>> rows_;
  std::uint32_t first_ = 0;
};

//! Sums over the texts of one system.
struct measured {
  sv::session_statistics edge;
  recorded::agreement sum{};  // sums over the evaluated drafts
  double variance = 0;        // variance of the number of drafts that shared noise accepts
};

//! The messages of one side that the other has not received.
class messages {
 public:
  sv::status operator()(const sv::session_output& out) {
    if (out.action == sv::session_action::send) waiting_.emplace_back(out.bytes.begin(), out.bytes.end());
    if (out.action == sv::session_action::finished) finished_ = true;
    return {};
  }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  std::vector<std::byte> take() {
    std::vector<std::byte> first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }

 private:
  std::deque<std::vector<std::byte>> waiting_;
  bool finished_ = false;
};

//! A method with the code of its ids.
struct method {
  const char *label, *system;
  bool coded = false;  // by a table that both sides have
};
constexpr method methods[] = {{"k-sqs", "k-sqs"},
                              {"greedy", "greedy"},
                              {"  with table", "greedy", true},
                              {"shared-noise", "shared-noise"},
                              {"  with table", "shared-noise", true}};

[[nodiscard]] bool shares_noise(const method& one) { return std::string_view(one.system) == "shared-noise"; }

class experiment {
 public:
  explicit experiment(const arguments& given)
      : given_(given),
        small_(edge_cloud::load_side(given.folder, "drafter.safetensors")),
        large_(edge_cloud::load_side(given.folder, "target.safetensors")),
        table_(read_table(given.prior, small_.vocab_size)),
        prompts_(recorded::lab_prompts(given.problems, given.prose, small_.vocabulary, given.texts)) {}

  [[nodiscard]] measured run(const method& one, std::uint32_t draft_length) const {
    measured made;
    for (std::uint32_t i = 0; i < given_.texts; ++i) write_text(one, draft_length, i, made);
    return made;
  }
  [[nodiscard]] std::uint32_t vocab_size() const { return small_.vocab_size; }

 private:
  static sv::prior_table read_table(const std::string& path, std::uint32_t vocab_size) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    if (!file || bytes.empty()) throw std::runtime_error("cannot read " + path);
    return demand(sv::prior_table::read(std::as_bytes(std::span(bytes)), vocab_size), path.c_str());
  }

  void write_text(const method& one, std::uint32_t draft_length, std::uint32_t number, measured& made) const {
    const char* const system = one.system;
    const sv::prior_table* const table = &table_;
    sv::edge_options device;
    device.session_id = number + 1;
    device.secret = sv::secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
    device.vocab_size = small_.vocab_size;
    device.token_budget = given_.tokens;
    if (one.coded) device.prior = table;
    sv::cloud_options service;
    service.secret = sv::secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");
    service.salt = number + 1;
    service.vocab_size = large_.vocab_size;
    service.priors = {&table, one.coded ? std::size_t{1} : 0};
    auto edge =
        demand(sv::make_edge(device, system, {{"max_draft_length", static_cast<double>(draft_length)}}), system);
    auto cloud = demand(sv::make_cloud(service), "cloud");
    edge.set_ordered_and_whole(true);
    cloud.set_ordered_and_whole(true);
    noted_engine small(small_), large(large_);
    messages up, down;
    demand(edge.start(prompts_[number], 0), "start");
    std::uint32_t round = 0;
    for (;;) {
      demand(sv::drive(edge, small, up), system);
      if (up.finished()) break;
      if (down.empty()) {
        if (up.empty()) throw std::logic_error("both sides wait for each other");
        demand(sv::deliver(cloud, up.take(), 0), "cloud");
        demand(sv::drive(cloud, large, down), "cloud");
        if (cloud.last_round().round != round) note(cloud.last_round(), small, large, made);
        round = cloud.last_round().round;
      } else {
        demand(sv::deliver(edge, down.take(), 0), "edge");
      }
    }
    sv::merge(made.edge, edge.statistics());
  }

  //! Adds the agreement of the two models at the evaluated drafts of a round, where both models have read the same
  //! tokens.
  static void note(const sv::decided_round& round, const noted_engine& small, const noted_engine& large,
                   measured& made) {
    const std::uint32_t evaluated = std::min(round.accepted + 1, round.drafted);
    for (std::uint32_t i = 0; i < evaluated; ++i) {
      const std::uint32_t position = large.first() + i;
      const recorded::agreement one = recorded::agreement_of(large.at(position), small.at(position));
      made.sum.best += one.best;
      made.sum.shared_noise += one.shared_noise;
      made.variance += one.shared_noise * (1 - one.shared_noise);
    }
  }

  const arguments& given_;
  edge_cloud::side_model small_, large_;
  sv::prior_table table_;
  std::vector<std::vector<sv::token_id>> prompts_;
};

//! Goals of shared noise.
struct goal {
  bool coded;
  std::uint32_t draft_length;
  double bits_per_draft, bits_per_token;  // 0: no goal
};
constexpr goal goals[] = {{false, 4, 16.8, 0}, {false, 8, 14.6, 0}, {true, 4, 14.5, 24.8}, {true, 8, 12.2, 0}};

bool print_and_check(const method& one, std::uint32_t draft_length, const measured& made) {
  const sv::session_statistics& edge = made.edge;
  const auto drafted = static_cast<double>(edge.drafted), emitted = static_cast<double>(edge.emitted),
             evaluated = static_cast<double>(edge.evaluated), accepted = static_cast<double>(edge.accepted),
             rounds = static_cast<double>(edge.rounds);
  const double bits = 8 * static_cast<double>(edge.draft_bytes);
  const double share = accepted / made.sum.best;
  std::printf("%-12s %2u %8.2f %10.2f %10.2f %9.2f %8.2f %8.3f %8.3f", one.label, draft_length, bits / drafted,
              (bits + 40 * rounds) / drafted, bits / emitted, 8 * static_cast<double>(edge.bytes_down) / emitted,
              emitted / rounds, accepted / evaluated, share);
  bool good = true;
  if (shares_noise(one)) {
    const double apart = (accepted - made.sum.shared_noise) / std::sqrt(made.variance);
    std::printf("  formula %.3f, %+.1f s.e.", made.sum.shared_noise / evaluated, apart);
    good = std::abs(apart) <= 3 && share >= 0.91;
  }
  for (const goal& its : goals) {
    if (!shares_noise(one) || one.coded != its.coded || draft_length != its.draft_length) continue;
    std::printf("  goal %.1f", its.bits_per_draft);
    good = good && bits / drafted <= its.bits_per_draft;
    if (its.bits_per_token == 0) continue;
    std::printf(", %.1f", its.bits_per_token);
    good = good && bits / emitted <= its.bits_per_token;
  }
  std::printf("%s\n", good ? "" : "  MISSED");
  return good;
}

int run(int argc, char** argv) try {
  arguments given;
  const CLI::Range times(1e-3, 1e6);
  CLI::App app{"Measures how many bits a session of the embedded models sends on the uplink (docs/choosing.md)."};
  app.add_option("--prior", given.prior, "file with the token-id table for the result lines marked `with table`")
      ->capture_default_str();
  app.add_option("--texts", given.texts, "number of texts to generate")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--tokens", given.tokens, "number of tokens per text")
      ->capture_default_str()
      ->check(CLI::Range(1, 200));
  app.add_option("--draft-ms", given.draft_ms, "time to draft one token, in milliseconds, for the chart of throughput")
      ->capture_default_str()
      ->check(times);
  app.add_option("--verify-ms", given.verify_ms,
                 "time of one forward pass of the target, in milliseconds, for the chart of throughput")
      ->capture_default_str()
      ->check(times);
  app.add_flag("--check", given.check, "exit with status 1 if a measured value misses its goal");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const experiment pair(given);
  std::printf("%u texts of %u tokens, temperature 1, V = %u; bits of draft messages\n\n", given.texts, given.tokens,
              pair.vocab_size());
  std::printf("%-12s %2s %8s %10s %10s %9s %8s %8s %8s\n", "", "", "bits/", "datagrams,", "bits/com-", "down/com-",
              "tokens/", "accept-", "of");
  std::printf("%-12s %2s %8s %10s %10s %9s %8s %8s %8s\n", "system", "L", "draft", "bits/draft", "mitted", "mitted",
              "round", "ance", "1 - TV");
  bool good = true;
  std::vector<recorded::uplink_cost> costs;
  for (const method& one : methods) {
    for (const std::uint32_t draft_length : {4u, 8u}) {
      const measured made = pair.run(one, draft_length);
      good = print_and_check(one, draft_length, made) && good;
      // the chart omits greedy, because its text differs
      const bool charted = std::string_view(one.system) == "k-sqs" || (shares_noise(one) && one.coded);
      if (draft_length != 8 || !charted) continue;
      const double drafted = static_cast<double>(made.edge.drafted), head = 16 * static_cast<double>(made.edge.rounds);
      costs.push_back({one.coded ? 'S' : 'K',
                       static_cast<double>(made.edge.accepted) / static_cast<double>(made.edge.evaluated),
                       (8 * static_cast<double>(made.edge.draft_bytes) - head) / drafted});
    }
  }
  recorded::print_chart(given.draft_ms, given.verify_ms, costs);
  return given.check && !good ? 1 : 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "uplink: %s\n", error.what());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  return programs::with_output("uplink", [&] { return run(argc, argv); });
}
