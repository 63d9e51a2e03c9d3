// SPDX-License-Identifier: Apache-2.0
//! The edge without a network: a session, the drafter that works for it, its journal, and the record of what was written when.
//! Whoever owns it passes messages in, takes them out through `outlets::send`, and keeps the deadline.
#ifndef EDGE_CLOUD_EDGE_HOST_HPP
#define EDGE_CLOUD_EDGE_HOST_HPP

#include "clock.hpp"
#include "edge_session.hpp"
#include "live_text.hpp"
#include "mismatch_judge.hpp"
#include "run_report.hpp"
#include "run_settings.hpp"
#include "side_model.hpp"
#include "take_outputs.hpp"
#include "wire_plan.hpp"

namespace edge_cloud {

class edge_host {
 public:
  //! `show` hears of every committed token: where it came from, its bytes, and whether an earlier process had written it already.
  using observer = std::function<void(token_kind, std::string_view, bool restored)>;

  edge_host(const run_settings& run, const side_model& model, std::function<void(std::span<const std::byte>)> send, observer show)
      : run_(run), vocabulary_(model.vocabulary), engine_(model.weights), session_(make_session(run, model)), show_(std::move(show)) {
    if (!run.state.empty()) journal_.emplace(run.state / "journal");
    outlets_.send = std::move(send);
    outlets_.committed = [this](const specverify::session_output& out) { record(out); };
    outlets_.finished = [this] { finished_ = true; };
  }
  edge_host(const edge_host&) = delete;
  edge_host& operator=(const edge_host&) = delete;

  //! The link stands for the first time: a new session, or the one that the journal tells of.
  void begin() {
    origin_ = microseconds_now();
    session_->record_channel(channel_of(run_.link));
    const std::vector<std::byte> kept = journal_ ? journal_->load() : std::vector<std::byte>{};
    specverify::journal_reading found;
    if (!kept.empty() && session_->restore(kept, origin_, &found).ok()) {
      journal_->cut(found.valid_bytes);
      restoring_ = true;
      std::ifstream(run_.state / "origin") >> origin_;
    } else {
      if (journal_) journal_->cut(0);
      const std::vector<specverify::token_id> prompt = prompt_ids(run_, vocabulary_);
      require(session_->start(prompt, origin_));
      if (journal_) std::ofstream(run_.state / "origin") << origin_ << '\n';  // seconds are counted across restarts
    }
    work();
  }

  void receive(std::span<const std::byte> message) {
    counted_by_session(session_->receive(message, microseconds_now()));
    work();
  }

  void tick() {
    counted_by_session(session_->tick(microseconds_now()));
    work();
  }

  //! The link was lost and stands again.
  void reconnect() {
    counted_by_session(session_->reconnect(microseconds_now()));
    work();
  }

  [[nodiscard]] std::optional<std::uint64_t> deadline() const { return session_->deadline(); }
  [[nodiscard]] bool finished() const noexcept { return finished_; }

  [[nodiscard]] run_report report() const {
    const specverify::session_statistics& counted = session_->statistics();
    run_report made;
    made.system = run_.system;
    made.tokens.assign(session_->text().begin() + session_->prompt_length(), session_->text().end());
    made.text = vocabulary_.decode(made.tokens);
    made.arrival = arrival_;
    made.rounds = counted.rounds;
    made.drafted = counted.drafted;
    made.evaluated = counted.evaluated;
    made.accepted = counted.accepted;
    made.skipped = counted.skipped;
    made.supply_bytes = counted.supply_bytes;
    made.residual_tokens = counted.residual_tokens;
    made.edge_passes = engine_.passes();
    made.edge_compute = engine_.seconds();
    made.resumes = counted.restarts;
    return made;
  }

 private:
  static std::unique_ptr<edge_session> make_session(const run_settings& run, const side_model& model) {
    const wire_plan plan =
        plan_wire(system_named(run.system), static_cast<std::uint32_t>(model.vocabulary.vocab_size()), static_cast<std::uint32_t>(model.weights->dim));
    static constexpr specverify::token_id end[] = {tinylm::tokenizer::end_token};
    specverify::edge_options options;
    options.session_id = run.session_id;
    options.secret = run.edge_secret;
    options.format = plan.format;
    options.mode = plan.mode;
    options.rule = plan.rule;
    options.bonus = plan.bonus;
    options.draw_from_row = plan.draw_from_row;
    if (plan.rule == specverify::wire_rule::semantic) options.threshold = threshold_of(run);
    options.fingerprint = model.fingerprint;
    options.transform.temperature = run.temperature;
    options.max_length = static_cast<std::uint32_t>(model.weights->context);
    options.token_budget = run.tokens;
    options.stop_tokens = end;
    options.retry_timeout = std::uint64_t{run.retry_ms} * 1000;
    return make_edge_session(options, plan);
  }

  //! Does what the session asks for until it waits for the cloud.
  void work() {
    while (take_outputs(*session_, engine_, journal_, outlets_) > 0) {
      require(session_->supply_row(engine_.row(0), transform(), {engine_.hidden(0), engine_.attention(0)}, microseconds_now()));
    }
    restoring_ = false;
  }

  [[nodiscard]] specverify::row_transform transform() const {
    specverify::row_transform made;
    made.temperature = run_.temperature;
    return made;
  }

  void record(const specverify::session_output& out) {
    for (std::uint32_t i = 0; i < out.tokens.size(); ++i) {
      const std::size_t index = out.position + i - session_->prompt_length();
      if (index < arrival_.size()) continue;  // announced before
      arrival_.push_back(static_cast<double>(microseconds_now() - origin_) * 1e-6);
      if (show_) show_(kind_of(out, i), vocabulary_.text_of(out.tokens[i]), restoring_);
    }
  }

  [[nodiscard]] token_kind kind_of(const specverify::session_output& out, std::uint32_t i) const {
    if (system_named(run_.system).law == upload::none) return token_kind::streamed;
    if (out.authority == specverify::token_authority::edge) return token_kind::skipped;
    if (i < out.accepted) return token_kind::accepted;
    return out.source == specverify::token_source::bonus ? token_kind::bonus : token_kind::corrected;
  }

  //! The emulated link as the edge would measure it.
  static specverify::channel_report channel_of(const link_settings& link) {
    const auto loss = static_cast<float>(link.loss);
    return {static_cast<float>(link.uplink_bits_per_second), static_cast<float>(link.downlink_bits_per_second), loss, loss,
            static_cast<float>(link.round_trip_ms * 1e-3)};
  }

  //! What the session says is missing: a model without attention rows or hidden states cannot run every system.
  void require(specverify::status why) const {
    if (!why.ok()) throw std::runtime_error("system " + run_.system + ": " + specverify::message(why.code));
  }

  run_settings run_;
  const tinylm::tokenizer& vocabulary_;
  engine engine_;
  std::unique_ptr<edge_session> session_;
  std::optional<state_file> journal_;
  outlets outlets_;
  observer show_;
  std::vector<double> arrival_;
  std::uint64_t origin_ = 0;
  bool restoring_ = false;
  bool finished_ = false;
};

}  // namespace edge_cloud

#endif
