// SPDX-License-Identifier: Apache-2.0
#include "cloud_host.hpp"

#include <specverify/session/presets.hpp>

#include "clock.hpp"
#include "cloud_settings.hpp"
#include "other_options.hpp"
#include "served_transform.hpp"
#include "trained_files.hpp"

#include <algorithm>

namespace edge_cloud {

namespace {

void require(specverify::status why, const char* what) {
  if (!why.ok()) throw std::runtime_error(std::string(what) + ": " + why.text().c_str());
}

std::optional<mismatch_scorer> make_scorer(const run_settings& run, const side_model& model) {
  if (run.head.empty()) return std::nullopt;
  return mismatch_scorer(load_head(run.head), model.hidden_size);
}

specverify::cloud_session make_session(const run_settings& run, const side_model& model,
                                       const std::optional<mismatch_scorer>& scorer) {
  specverify::wire_format bulkiest;  // format with the largest messages in this demo
  bulkiest.vocab_size = model.vocab_size;
  bulkiest.format = specverify::law_format::fp16_row;
  bulkiest.resolution = 0;
  bulkiest.max_draft_length = 12;  // draft length of the longest window
  if (scorer) bulkiest.attachments = {scorer->hidden_size(), specverify::hidden_format::float16, true, true, 0};
  bulkiest.attachments.max_skipped = specverify::preset_max_skipped;
  return make_cloud(run, model, specverify::cloud_session::limits_for(bulkiest));
}

}  // namespace

cloud_host::cloud_host(const run_settings& run, const side_model& model,
                       std::function<void(std::span<const std::byte>)> send)
    : engine_(model.weights, model.pass_seconds),
      scorer_(make_scorer(run, model)),
      session_(make_session(run, model, scorer_)),
      send_(std::move(send)) {
  transform_.temperature = run.temperature;
  if (run.state.empty()) return;
  journal_.emplace(run.state / "journal");
  const std::vector<std::byte> kept = journal_->load();
  if (!kept.empty()) {
    if (const auto found = session_.restore(kept)) {
      journal_->drop_unfinished(found->valid_bytes);
    } else {
      if (!is_damage(found.error())) throw other_session(run.state, found.error());
      journal_->set_aside(found.error());
    }
  }
  take();
}

void cloud_host::receive(std::span<const std::byte> message) {
  require(specverify::deliver(session_, message, microseconds_now()), "a message");
  take();
}

//! Passes the computed results to the session. A session that has ended in the meantime ignores them, which is no
//! error.
void cloud_host::work() {
  const specverify::session_wait ready = std::exchange(ready_, specverify::session_wait::peer);
  if (!prepared_.ok()) {
    (void)session_.engine_failed(prepared_);
  } else if (ready == specverify::session_wait::rows) {
    (void)specverify::supply(session_, engine_, microseconds_now());
  } else {
    (void)session_.supply_scores(scores_, microseconds_now());
  }
  take();
}

run_report cloud_host::report() const {
  run_report made;
  const auto text = session_.text();  // the prompt may not have arrived yet
  const auto written = text.subspan(std::min<std::size_t>(session_.prompt_length(), text.size()));
  made.tokens.assign(written.begin(), written.end());
  made.cloud_passes = engine_.passes();
  made.cloud_compute = engine_.seconds();
  made.resumes = session_.statistics().restarts;
  made.mismatches = session_.statistics().mismatches;
  made.accepted_mismatches = session_.statistics().accepted_mismatches;
  made.scored_rounds = scored_rounds_;
  return made;
}

//! Computes the requested rows or scores. The engine keeps the hidden states of the round's last pass until the
//! verdict.
specverify::status cloud_host::prepare(const specverify::session_work& work) {
  const specverify::session_output& asked = work.asked;
  if (work.wait == specverify::session_wait::scores) {
    if (!scorer_) return {specverify::errc::unsupported, specverify::part::host, 0};  // the run has no --head
    return scorer_->score(asked, session_.reported_channel(), engine_, scores_);
  }
  if (const specverify::status why = check_served(session_.transform(), transform_); !why.ok()) return why;
  return engine_.feed(asked.position, asked.tokens, asked.rows);
}

void cloud_host::hear(const specverify::session_output& out) {
  using specverify::session_action;
  if (out.action == session_action::journal && journal_) journal_->write(out);
  if (out.action == session_action::send) send_(out.bytes);
  if (out.action == session_action::rollback) engine_.truncate(out.position);
}

void cloud_host::take() {
  const specverify::session_work work =
      specverify::take_outputs(session_, [this](const specverify::session_output& out) { hear(out); });
  // if the edge gave up, it has reported the reason, and may be started again
  if (work.reason.code != specverify::errc::refused_by_peer) require(work.reason, "the session failed");
  if (work.wait == specverify::session_wait::rows || work.wait == specverify::session_wait::scores) {
    prepared_ = prepare(work);
    ready_ = work.wait;
  }
  const specverify::decided_round& last = session_.last_round();
  if (!scorer_ || last.round <= noted_round_) return;
  noted_round_ = last.round;
  scored_rounds_.push_back({last.drafted, last.mismatches, last.scored});
}

}  // namespace edge_cloud
