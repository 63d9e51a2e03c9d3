// SPDX-License-Identifier: Apache-2.0
#include "cloud_host.hpp"

#include "clock.hpp"
#include "trained_files.hpp"
#include "wire_plan.hpp"

namespace edge_cloud {

namespace {

//! The rule asks for the rows it reads and no others.
struct rows {
  const engine& model;
  const specverify::row_transform& final_transform;
  [[nodiscard]] specverify::row_view<float> operator()(std::uint32_t index) const { return model.row(index); }
  [[nodiscard]] const specverify::row_transform& transform(std::uint32_t) const noexcept { return final_transform; }
};

std::optional<mismatch_judge> make_judge(const run_settings& run, const side_model& model) {
  if (run.head.empty()) return std::nullopt;
  return mismatch_judge(load_head(run.head), model.hidden_size);
}

specverify::cloud_session make_session(const run_settings& run, const side_model& model,
                                       const std::optional<mismatch_judge>& judge) {
  static constexpr specverify::token_id end[] = {tinylm::tokenizer::end_token};
  specverify::cloud_options options;
  options.secret = run.cloud_secret;
  options.largest.format = specverify::law_format::fp16_row;  // the bulkiest laws of this demo
  options.largest.vocab_size = model.vocab_size;
  options.largest.resolution = 0;
  options.largest.max_draft_length = demo_max_draft_length;
  if (judge) options.largest.attachments = judged_attachments(judge->hidden_size(), true);
  options.largest.attachments.max_skipped = demo_max_skipped;
  options.lazy = run.lazy;
  options.fingerprint = model.fingerprint;
  options.max_text_length = model.context;
  options.stop_tokens = end;
  auto made = specverify::cloud_session::make(options);
  if (!made.ok()) throw std::runtime_error(specverify::message(made.error().code));
  return std::move(made).value();
}

}  // namespace

cloud_host::cloud_host(const run_settings& run, const side_model& model,
                       std::function<void(std::span<const std::byte>)> send)
    : engine_(model.weights, model.pass_seconds),
      judge_(make_judge(run, model)),
      session_(make_session(run, model, judge_)) {
  transform_.temperature = run.temperature;
  outlets_.send = std::move(send);
  outlets_.judge = [this](const specverify::session_output& asked) { judge(asked); };
  if (run.state.empty()) return;
  journal_.emplace(run.state / "journal");
  const std::vector<std::byte> kept = journal_->load();
  specverify::journal_reading found;
  const bool restored = !kept.empty() && session_.restore(kept, &found).ok();
  journal_->cut(restored ? found.valid_bytes : 0);
  rows_wanted_ = take_outputs(session_, engine_, journal_, outlets_);
}

void cloud_host::receive(std::span<const std::byte> message) {
  counted_by_session(session_.receive(message, microseconds_now()));
  take();
}

void cloud_host::work() {
  if (scores_wanted_) {
    scores_wanted_ = false;
    counted_by_session(judged_.ok() ? session_.supply_scores(scores_, microseconds_now())
                                    : session_.engine_failed(judged_));
    take();
    return;
  }
  rows_wanted_ = 0;
  if (session_.transform().temperature != transform_.temperature) {  // two temperatures would be two laws
    counted_by_session(session_.engine_failed({specverify::errc::invalid_temperature, specverify::part::host, 0}));
    take();
    return;
  }
  counted_by_session(session_.supply_rows(specverify::exec::simd, rows{engine_, transform_}, microseconds_now()));
  take();
}

run_report cloud_host::report() const {
  run_report made;
  made.tokens.assign(session_.text().begin() + session_.prompt_length(), session_.text().end());
  made.cloud_passes = engine_.passes();
  made.cloud_compute = engine_.seconds();
  made.resumes = session_.statistics().restarts;
  made.mismatches = session_.statistics().mismatches;
  made.accepted_mismatches = session_.statistics().accepted_mismatches;
  made.judged_rounds = judged_rounds_;
  return made;
}

//! States of the round's last pass stand in the engine until the session has its verdict.
void cloud_host::judge(const specverify::session_output& asked) {
  scores_wanted_ = true;
  judged_ = judge_ ? judge_->score(asked, session_.reported_channel(), engine_, scores_)
                   : specverify::status{specverify::errc::unsupported, specverify::part::host, 0};  // no head was given
}

void cloud_host::take() {
  if (const std::uint32_t wanted = take_outputs(session_, engine_, journal_, outlets_); wanted > 0)
    rows_wanted_ = wanted;
  const specverify::judged_round& last = session_.last_round();
  if (!judge_ || last.round <= noted_round_) return;
  noted_round_ = last.round;
  judged_rounds_.push_back({last.drafted, last.mismatches, last.judged});
}

}  // namespace edge_cloud
