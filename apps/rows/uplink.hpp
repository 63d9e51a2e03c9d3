// SPDX-License-Identifier: Apache-2.0
//! Runs sessions of two models and measures their uplink: bits of drafts, how often the two models agree, and the
//! library's share of the time of a round. uplink_report.hpp prints the results.
#ifndef SPECVERIFY_APPS_ROWS_UPLINK_HPP
#define SPECVERIFY_APPS_ROWS_UPLINK_HPP

#include <specverify/codec/token_prior.hpp>
#include <specverify/host/drive.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/systems.hpp>

#include "../demand.hpp"
#include "agreement.hpp"
#include "work_clock.hpp"

#include <CLI/CLI.hpp>

#include <cmath>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace recorded {

using programs::demand;

struct uplink_arguments {
  std::string prior;  // file of the table
  std::uint32_t texts = 50, tokens = 64;
  double draft_ms = 20, verify_ms = 100;  // times that the chart of throughput uses
  bool check = false;
};

//! Adds the options that both programs have, except --prior.
inline void add_options(CLI::App& app, uplink_arguments& given) {
  const CLI::Range times(1e-3, 1e6);
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
}

//! Properties that both models of a pair share, and the prompts of the texts.
struct uplink_pair {
  std::uint32_t vocab_size = 0;
  specverify::vocabulary_fingerprint fingerprint{};
  std::vector<specverify::token_id> ends{};  //!< tokens that end a text
  std::vector<std::vector<specverify::token_id>> prompts{};
};

//! Returns row i of the last feed, which had `rows` rows.
template <class Engine>
[[nodiscard]] std::span<const float> logits_of_row(const Engine& engine, std::uint32_t i, std::uint32_t rows) {
  if constexpr (requires { engine.logits(i, rows); }) {
    return engine.logits(i, rows);
  } else {
    return engine.logits(i);
  }
}

//! Wraps an engine, keeps the latest row of each position, and measures the engine's time. It begins with an empty
//! text.
template <class Engine>
class noted_engine {
 public:
  noted_engine(Engine& engine, work_clock& clock) : engine_(engine), clock_(clock) {
    static_cast<void>(engine.truncate(0));
  }

  sv::status feed(std::uint32_t position, std::span<const sv::token_id> tokens, std::uint32_t rows) {
    keep();
    note_drafts(tokens.last(std::min<std::size_t>(tokens.size(), rows - 1)));
    const work_clock::shift here(clock_, worker::engine);
    const sv::status why = engine_.feed(position, tokens, rows);
    if (!why.ok()) return why;
    first_ = position + static_cast<std::uint32_t>(tokens.size()) - rows + 1;
    waiting_ = rows;
    return {};
  }
  sv::row_view<float> row(std::uint32_t i) { return engine_.row(i); }
  auto truncate(std::uint32_t position) {
    const work_clock::shift here(clock_, worker::engine);
    return engine_.truncate(position);
  }
  [[nodiscard]] sv::status keep_from(std::uint32_t position) requires requires(Engine& engine) {
    engine.keep_from(position);
  }
  { return engine_.keep_from(position); }

  //! Returns the latest row that predicts the token at `position`.
  [[nodiscard]] std::span<const float> at(std::uint32_t position) {
    keep();
    return rows_.at(position);
  }
  [[nodiscard]] std::uint32_t first() const { return first_; }  // position that the last feed's first row predicts
  //! Returns the drafts of the last feed: the tokens that its rows except the last one predict.
  [[nodiscard]] std::span<const sv::token_id> drafts() const { return drafts_; }

 private:
  void note_drafts(std::span<const sv::token_id> drafts) {
    const work_clock::shift here(clock_, worker::other);
    drafts_.assign(drafts.begin(), drafts.end());
  }
  //! Copies the rows of the last feed. The copy is made after the session has read the rows, because it would bring
  //! them into the caches.
  void keep() {
    const work_clock::shift here(clock_, worker::other);
    for (std::uint32_t i = 0; i < waiting_; ++i) {
      const std::span<const float> logits = logits_of_row(engine_, i, waiting_);
      rows_[first_ + i].assign(logits.begin(), logits.end());
    }
    waiting_ = 0;
  }

  Engine& engine_;
  work_clock& clock_;
  std::map<std::uint32_t, std::vector<float>> rows_;
  std::vector<sv::token_id> drafts_;
  std::uint32_t first_ = 0, waiting_ = 0;
};

//! Sums over the texts of one system.
struct measured {
  sv::session_statistics edge;
  sv::range_encoder ids{{}};         // counts the bytes of the drafted ids, without headers and rounding per message
  std::uint64_t sent_bytes = 0;      // bytes of all draft messages, repeated ones included
  agreement sum{};                   // sums over the evaluated drafts
  double variance = 0;               // variance of the number of drafts that shared noise accepts
  std::vector<round_time> rounds{};  // all rounds except the first round of each text, which feeds the prompt
};

//! Messages of one side that the other side has not received yet.
class messages {
 public:
  explicit messages(work_clock& clock) : clock_(clock) {}
  sv::status operator()(const sv::session_output& out) {
    const work_clock::shift here(clock_, worker::other);
    if (out.action == sv::session_action::send) {
      waiting_.emplace_back(out.bytes.begin(), out.bytes.end());
      if (sv::kind_of(out.bytes).value() == sv::message_kind::draft) draft_bytes_ += out.bytes.size();
    }
    if (out.action == sv::session_action::finished) finished_ = true;
    return {};
  }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::uint64_t draft_bytes() const { return draft_bytes_; }
  std::vector<std::byte> take() {
    std::vector<std::byte> first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }

 private:
  work_clock& clock_;
  std::deque<std::vector<std::byte>> waiting_;
  std::uint64_t draft_bytes_ = 0;
  bool finished_ = false;
};

//! A method, and the code of the ids.
struct uplink_method {
  const char *label, *system;
  sv::id_code ids = sv::id_code::plain;  // with another code, both sides have the table
  [[nodiscard]] bool coded() const { return ids != sv::id_code::plain; }
};
inline constexpr uplink_method uplink_methods[] = {{"k-sqs", "k-sqs"},
                                                   {"greedy", "greedy"},
                                                   {"  with table", "greedy", sv::id_code::prior},
                                                   {"shared-noise", "shared-noise"},
                                                   {"  with table", "shared-noise", sv::id_code::prior},
                                                   {"  with noise", "shared-noise", sv::id_code::noise}};

//! Sessions of a pair of engines. Each text begins with another prompt.
template <class Engine>
class experiment {
 public:
  //! All arguments must outlive the experiment, and there must be a prompt for each text.
  experiment(const uplink_arguments& given, const uplink_pair& pair, const sv::prior_table& table, Engine& small,
             Engine& large)
      : given_(given), pair_(pair), table_(table), small_(small), large_(large) {}

  [[nodiscard]] measured run(const uplink_method& one, std::uint32_t draft_length) const {
    measured made;
    for (std::uint32_t i = 0; i < given_.texts; ++i) write_text(one, draft_length, i, made);
    return made;
  }

 private:
  [[nodiscard]] sv::edge_session edge_of(const uplink_method& one, std::uint32_t draft_length,
                                         std::uint32_t number) const {
    sv::edge_options device;
    device.session_id = number + 1;
    device.secret = sv::secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
    device.vocab_size = pair_.vocab_size;
    device.fingerprint = pair_.fingerprint;
    device.stop_tokens = pair_.ends;
    device.token_budget = given_.tokens;
    if (one.coded()) {
      device.prior = &table_;
      device.ids = one.ids;
    }
    auto edge = demand(sv::make_edge(device, one.system, {{"max_draft_length", static_cast<double>(draft_length)}}),
                       one.system);
    edge.set_ordered_and_whole(true);
    return edge;
  }
  [[nodiscard]] sv::cloud_session cloud_of(const uplink_method& one, std::uint32_t number) const {
    const sv::prior_table* const table = &table_;
    sv::cloud_options service;
    service.secret = sv::secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");
    service.salt = number + 1;
    service.vocab_size = pair_.vocab_size;
    service.fingerprint = pair_.fingerprint;
    service.stop_tokens = pair_.ends;
    service.priors = {&table, one.coded() ? std::size_t{1} : 0};
    auto cloud = demand(sv::make_cloud(service), "cloud");
    cloud.set_ordered_and_whole(true);
    return cloud;
  }

  void write_text(const uplink_method& one, std::uint32_t draft_length, std::uint32_t number, measured& made) const {
    auto edge = edge_of(one, draft_length, number);
    auto cloud = cloud_of(one, number);
    work_clock clock;
    noted_engine<Engine> small(small_, clock), large(large_, clock);
    messages up(clock), down(clock);
    demand(edge.start(pair_.prompts[number], 0), "start");
    std::uint32_t round = 0;
    for (;;) {
      clock.of(worker::library, [&] { demand(sv::drive(edge, small, up), one.system); });
      if (up.finished()) break;
      if (down.empty()) {
        if (up.empty()) throw std::logic_error("both sides wait for each other");
        const std::vector<std::byte> message = up.take();
        clock.of(worker::library, [&] {
          demand(sv::deliver(cloud, message, 0), "cloud");
          demand(sv::drive(cloud, large, down), "cloud");
        });
        if (cloud.last_round().round != round) {
          note(cloud.last_round(), small, large, made);
          count_ids(one, cloud.noise(), edge.text(), large.drafts(), made.ids);
        }
        round = cloud.last_round().round;
      } else {
        const std::vector<std::byte> message = down.take();
        const std::uint64_t before = edge.statistics().rounds;
        clock.of(worker::library, [&] { demand(sv::deliver(edge, message, 0), "edge"); });
        if (edge.statistics().rounds == before) continue;
        if (before > 0) made.rounds.push_back(clock.passed());
        clock.restart();
      }
    }
    sv::merge(made.edge, edge.statistics());
    made.sent_bytes += up.draft_bytes();
  }

  //! Adds the ids of `drafts` after the text `before` to a code that only counts.
  void count_ids(const uplink_method& one, const sv::coupling_noise& noise, std::span<const sv::token_id> before,
                 std::span<const sv::token_id> drafts, sv::range_encoder& to) const {
    std::vector<sv::token_id> text(before.begin(), before.end());
    text.insert(text.end(), drafts.begin(), drafts.end());
    sv::id_noise known;
    if (one.ids == sv::id_code::noise) known = {noise, static_cast<std::uint32_t>(before.size())};
    if (one.coded()) {
      demand(sv::encode_ids(to, table_, text, before.size(), known), one.system);
    } else {
      for (const sv::token_id id : drafts)
        to.uniform(static_cast<std::uint32_t>(id), std::uint64_t{1} << sv::ceil_log2(pair_.vocab_size));
    }
  }

  //! Adds the agreement of the two models at the evaluated drafts of a round, where both models have read the same
  //! tokens.
  static void note(const sv::decided_round& round, noted_engine<Engine>& small, noted_engine<Engine>& large,
                   measured& made) {
    const std::uint32_t evaluated = std::min(round.accepted + 1, round.drafted);
    for (std::uint32_t i = 0; i < evaluated; ++i) {
      const std::uint32_t position = large.first() + i;
      const agreement one = agreement_of(large.at(position), small.at(position));
      made.sum.best += one.best;
      made.sum.shared_noise += one.shared_noise;
      made.variance += one.shared_noise * (1 - one.shared_noise);
    }
  }

  const uplink_arguments& given_;
  const uplink_pair& pair_;
  const sv::prior_table& table_;
  Engine &small_, &large_;
};

}  // namespace recorded

#endif
