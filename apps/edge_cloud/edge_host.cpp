// SPDX-License-Identifier: Apache-2.0
#include "edge_host.hpp"

#include <specverify/host/drive.hpp>

#include "clock.hpp"
#include "other_options.hpp"
#include "protocol_choice.hpp"
#include "session_failure.hpp"
#include "trained_files.hpp"

#include <algorithm>
#include <string>

namespace edge_cloud {

namespace {

specverify::link_loss link_loss_named(const std::string& name) {
  if (name == "stop") return specverify::link_loss::stop;
  return name == "local" ? specverify::link_loss::continue_local : specverify::link_loss::wait;
}

specverify::edge_session make_session(const run_settings& run, const side_model& model, const chosen_system& system,
                                      const specverify::dqn_weights* network) {
  static constexpr specverify::token_id end[] = {tinylm::tokenizer::end_token};
  specverify::edge_options options;
  options.session_id = run.session_id;
  options.secret = specverify::secret_from_hex(run.edge_secret);
  options.vocab_size = model.vocab_size;
  options.pad_to = run.pad_to;
  if (system.info().needs_head) options.threshold = threshold_of(run, model.hidden_size);
  options.fingerprint = model.fingerprint;
  if (sends_only_ids(system)) options.prior = model.prior.get();
  options.transform.temperature = run.temperature;
  options.max_text_length = model.context;
  options.token_budget = run.tokens;
  options.stop_tokens = end;
  options.retry_timeout = std::uint64_t{run.retry_ms} * 1000;
  options.on_link_loss = link_loss_named(run.on_link_loss);
  auto made = specverify::make_edge(options, system.info().name, system.settings(), network);
  if (!made.ok()) throw std::runtime_error(specverify::message(made.error().code));
  return std::move(made).value();
}

std::unique_ptr<const specverify::dqn_weights> network_of(const run_settings& run) {
  return chosen_system(run.system).info().needs_network ? load_policy(run.policy) : nullptr;
}

//! Returns an end-of-text token followed by the prompt, because both models were trained on texts that begin with this
//! token.
std::vector<specverify::token_id> prompt_ids(const run_settings& run, const tinylm::tokenizer& vocabulary) {
  std::vector<tinylm::token_id> ids = vocabulary.encode(run.prompt);
  ids.insert(ids.begin(), tinylm::tokenizer::end_token);
  return ids;
}

//! Returns the time origin of an earlier process. The clock restarts with the machine, so an origin in the future is
//! from an earlier boot. In this case the function returns the current time.
std::uint64_t kept_origin(const std::filesystem::path& file, std::uint64_t now) {
  std::uint64_t kept = 0;
  return std::ifstream(file) >> kept && kept <= now ? kept : now;
}

}  // namespace

edge_host::edge_host(const run_settings& run, const side_model& model,
                     std::function<void(std::span<const std::byte>)> send, observer show)
    : run_(run),
      vocabulary_(model.vocabulary),
      engine_(model.weights, model.pass_seconds),
      network_(network_of(run)),
      system_(settled_system(run).completed(model.vocab_size, model.hidden_size)),
      session_(make_session(run, model, system_, network_.get())),
      send_(std::move(send)),
      show_(std::move(show)),
      written_(run.stop_strings) {
  offers_prior_ = model.prior != nullptr && sends_only_ids(system_);
  streams_ = system_.shape().mode == specverify::session_mode::stream;
  if (!run.state.empty()) journal_.emplace(run.state / "journal");
}

void edge_host::begin() {
  origin_ = microseconds_now();
  measure_channel();
  const std::vector<specverify::token_id> prompt = prompt_ids(run_, vocabulary_);
  if (restore(prompt)) {
    restoring_ = true;
    origin_ = kept_origin(run_.state / "origin", origin_);
  } else {
    require(session_.start(prompt, origin_), "the prompt");
    // seconds continue to count after a restart of the process
    if (journal_) std::ofstream(run_.state / "origin") << origin_ << '\n';
  }
  work();
}

//! Restores the session from the journal. Returns false if there is no journal, or if it is damaged; a damaged journal
//! is renamed. Throws if the journal's session has other options, and leaves this journal unchanged.
bool edge_host::restore(std::span<const specverify::token_id> prompt) {
  const std::vector<std::byte> kept = journal_ ? journal_->load() : std::vector<std::byte>{};
  if (kept.empty()) return false;
  const auto found = session_.restore(kept, origin_);
  if (!found) {
    if (!is_damage(found.error())) throw other_text(run_.state, differing_option(found.error()));
    journal_->set_aside(found.error());
    return false;
  }
  if (!std::ranges::equal(session_.text().first(session_.prompt_length()), prompt))
    throw other_text(run_.state, "--prompt");
  journal_->drop_unfinished(found->valid_bytes);
  return true;
}

//! Passes the state of the emulated link to the session, as if the edge had measured it. The session uses the state in
//! later rounds.
void edge_host::measure_channel() {
  const specverify::channel_state now = state_at(run_.link, at_microseconds(microseconds_now()));
  // a link may have an infinite rate, which must be limited to the range of float
  const auto rate = [](double bits_per_second) { return static_cast<float>(std::min(bits_per_second, 1e38)); };
  session_.record_channel({rate(now.uplink_rate), rate(now.downlink_rate), static_cast<float>(now.uplink_loss),
                           static_cast<float>(now.downlink_loss), static_cast<float>(now.round_trip)},
                          now.index);
}

void edge_host::receive(std::span<const std::byte> message) {
  measure_channel();
  require(specverify::deliver(session_, message, microseconds_now()), "a message");
  work();
}

void edge_host::tick() {
  measure_channel();
  (void)session_.tick(microseconds_now());
  work();
}

void edge_host::disconnect() {
  measure_channel();
  (void)session_.disconnect(microseconds_now());
  work();
}

void edge_host::reconnect() {
  measure_channel();
  (void)session_.reconnect(microseconds_now());
  work();
}

bool edge_host::stop() {
  if (!session_.stop(specverify::stop_cause::cancelled, microseconds_now()).ok()) return false;
  work();
  return true;
}

run_report edge_host::report() const {
  const specverify::session_statistics& counted = session_.statistics();
  run_report made;
  made.system = run_.system;
  made.tokens.assign(session_.text().begin() + session_.prompt_length(), session_.text().end());
  if (written_.ended()) made.tokens.resize(written_.tokens());
  made.text = written_.text();
  made.arrival = arrival_;
  made.arrival.resize(std::min(made.arrival.size(), made.tokens.size()));
  made.rounds = counted.rounds;
  made.drafted = counted.drafted;
  made.evaluated = counted.evaluated;
  made.accepted = counted.accepted;
  made.resolution_sum = resolution_sum_;
  made.support_sum = support_sum_;
  made.skipped = counted.skipped;
  made.skipped_uncertain = counted.skipped_uncertain;
  made.written_ahead = counted.written_ahead;
  made.draft_bytes = counted.draft_bytes;
  made.supply_bytes = counted.supply_bytes;
  made.residual_tokens = counted.residual_tokens;
  made.edge_passes = engine_.passes();
  made.edge_compute = engine_.seconds();
  made.resumes = counted.restarts;
  made.texts = 1;
  made.texts_with_states = sends_states_with_drafts(system_) ? 1 : 0;
  return made;
}

//! Does the session's work until the session waits for the cloud.
void edge_host::work() {
  const auto hears = [this](const specverify::session_output& out) { hear(out); };
  require(specverify::drive(session_, engine_, hears, session_clock{}), "the session failed");
  restoring_ = false;
  if (written_.ended() && session_.stop(specverify::stop_cause::finished, microseconds_now()).ok())
    require(specverify::drive(session_, engine_, hears, session_clock{}), "the session failed");
}

void edge_host::hear(const specverify::session_output& out) {
  using specverify::session_action;
  if (out.action == session_action::journal && journal_) journal_->write(out);
  if (out.action == session_action::send) send_(out.bytes);
  if (out.action == session_action::committed) record(out);
  if (out.action == session_action::finished) {
    finished_ = true;
    cancelled_ = out.stop == specverify::stop_reason::cancelled;
    if (show_) show_(last_kind_, written_.waiting(), restoring_);
  }
}

void edge_host::record(const specverify::session_output& out) {
  note_round();
  for (std::uint32_t i = 0; i < out.tokens.size(); ++i) {
    const std::size_t index = out.position + i - session_.prompt_length();
    if (index < arrival_.size()) continue;  // this token was shown before
    arrival_.push_back(static_cast<double>(microseconds_now() - origin_) * 1e-6);
    const std::string_view shown = written_.take(vocabulary_.text_of(out.tokens[i]));
    last_kind_ = kind_of(out, i);
    if (show_) show_(last_kind_, shown, restoring_);
  }
}

//! Adds the last decided round to the sums of the report, unless it was added before.
void edge_host::note_round() {
  const specverify::round_record& last = session_.last_round();
  if (last.round <= noted_round_) return;
  noted_round_ = last.round;
  resolution_sum_ += std::uint64_t{last.drafted} * last.resolution;
  support_sum_ += last.support_sum;
}

token_kind edge_host::kind_of(const specverify::session_output& out, std::uint32_t i) const {
  if (streams_) return token_kind::streamed;
  if (out.authority == specverify::token_authority::edge) return token_kind::skipped;
  if (i < out.accepted) return token_kind::accepted;
  return out.source == specverify::token_source::bonus ? token_kind::bonus : token_kind::corrected;
}

//! Throws session_failure if `why` is an error. If the session failed or was refused before the first token, also
//! removes the journal, so that the state folder can be used with other options.
void edge_host::require(specverify::status why, const char* what) {
  if (why.ok()) return;
  std::string said = "system " + run_.system + ": " + what + ": " + why.text().c_str();
  const specverify::status cause = session_.refusal();
  if (!cause.ok()) said.append(": ").append(cause.text().view());
  if (!cause.ok() && session_.text().size() == session_.prompt_length() && journal_) journal_->remove();
  throw session_failure(said, cause);
}

}  // namespace edge_cloud
