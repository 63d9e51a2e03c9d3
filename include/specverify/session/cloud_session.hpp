// SPDX-License-Identifier: Apache-2.0
//! Declares `cloud_session`, the class of the cloud's half of a session.
//!
//! Include it in code that only passes a session on. Code that calls a session must include session/cloud.hpp, which
//! contains the function bodies.
//! Cost: O(bytes) per message, O(drafts * V) per verdict; only `make_cloud` allocates.
//! See: docs/algorithms/session.md, docs/session.md, tests/unit/session/cloud_session_test.cpp
#ifndef SPECVERIFY_SESSION_CLOUD_SESSION_HPP
#define SPECVERIFY_SESSION_CLOUD_SESSION_HPP

#include <specverify/core/execution.hpp>
#include <specverify/core/noise.hpp>
#include <specverify/core/secret.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/session/detail/cloud_views.hpp>
#include <specverify/session/detail/endpoint.hpp>
#include <specverify/session/detail/session_terms.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/snapshot.hpp>
#include <specverify/session/states.hpp>
#include <specverify/verify/concepts.hpp>

#include <cstddef>
#include <optional>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! The cloud's half of a session, made by `make_cloud`. Take all outputs after each input; until then, every input
//! except `restore` and `disconnect` returns `busy`. A session that fails also emits `failed` and sends the edge a
//! refusal.
class cloud_session : public detail::endpoint {
 public:
  //! Returns the smallest limits for sessions in this format, with up to `text_chunk` tokens per text message.
  //! `format_of` returns the format of an edge.
  [[nodiscard]] static cloud_limits limits_for(const wire_format& format,
                                               std::uint32_t text_chunk = cloud_options{}.text_chunk) noexcept;
  //! Returns the limits of `options`, each raised as far as sessions in this format need. If the options have tables,
  //! the ids of a format without distributions may be coded.
  [[nodiscard]] static cloud_limits limits_for(wire_format format, const cloud_options& options) noexcept;

  // Inputs.

  //! Continues from a journal. The host must truncate the file to the returned length before it appends. A new session
  //! has no journal and needs no call, because it already waits for a hello. O(bytes of the journal).
  //! Errors:
  //! - unknown_session: the journal is empty. truncated: it has no whole record.
  //! - unsupported: the journal has a different layout.
  //! - journal_corrupt: the journal is damaged, or no messages can lead to this state.
  //! - options_disagree (at_journal): the journal is not a cloud's.
  //! - output_too_small: the text is longer than max_text_length.
  //! - vocabulary_mismatch, fingerprint_mismatch, beyond_limit, guarantee_too_weak: the options reject the journal's
  //!   session.
  //! - unverified_text: `required` is unconditional, but the edge supplied some of the text.
  //! - unexpected_message: the session has already begun.
  [[nodiscard]] result<journal_reading> restore(std::span<const std::byte> journal) noexcept;
  //! Takes a message. Returns ok if the session used it. Otherwise returns the reason, for example checksum_mismatch (a
  //! new handshake must follow), no_handshake (the cloud asks for a hello), the reason for a refused hello,
  //! refused_by_peer (the edge has failed, but may connect again after a restart), session_closed (the session failed
  //! earlier), or the reason why the session fails now.
  [[nodiscard]] status receive(std::span<const std::byte> message, session_time now) noexcept;
  //! Reports that the connection of the last hello was lost, so the session sends nothing until the next hello. The
  //! call is optional. Do not call it for a connection that a later hello has replaced.
  void disconnect() noexcept { leave_connection(); }
  //! Takes the rows that `evaluate` requested: rows(i) belongs to the i-th of the last `rows` tokens, and
  //! rows.transform(i) is its transform. `rows` may have a member failed(), which returns the engine's error. If the
  //! edge's host has ended the text, the rows are ignored and the call returns ok. O(rows * V).
  //! Errors: unexpected_message (no rows are wanted). Any other error ends the session and sends a refusal:
  //! - row_size_mismatch: `where` is the number of entries, which must be vocab_size without padding.
  //! - beyond_limit (at_truncation): a transform takes more workspace than the options' transform.
  //! - the error of rows.failed(), or an error of the rule.
  template <execution_policy Policy, row_provider Rows>
  [[nodiscard]] status supply_rows(Policy policy, const Rows& rows, session_time now) noexcept;
  //! Takes tokens instead of rows, from an engine that samples by itself: ids[i] is the engine's token after the i-th
  //! of the last `rows` tokens. Only the greedy rule allows this. With shared noise, the engine must sample with
  //! `noise()`. If the edge's host has ended the text, the ids are ignored and the call returns ok. O(ids).
  //! Errors: unexpected_message (no rows are wanted). After any other error the session still waits for rows or ids:
  //! - rows_required: the session has a different rule.
  //! - size_mismatch: `where` is the number of ids, which must be `wanted_rows()`.
  //! - token_out_of_range: `where` is the first i with ids[i] outside [0, vocab_size).
  [[nodiscard]] status supply_tokens(std::span<const token_id> ids, session_time now) noexcept;
  //! Takes the scores that `score` requested: one in [0, 1] per draft in `positions`, in ascending order. If the edge's
  //! host has ended the text, the scores are ignored and the call returns ok.
  //! Errors: unexpected_message (no scores are wanted), size_mismatch (a different number of scores; call again),
  //! invalid_argument (a score is outside [0, 1]; the session has failed).
  [[nodiscard]] status supply_scores(std::span<const double> scores, session_time now) noexcept;
  //! Reports that the engine cannot continue; the edge receives a refusal. If `why` is ok, the error is engine_failed.
  [[nodiscard]] status engine_failed(status why) noexcept;

  // Outputs.

  //! Returns the next output, or `none`. Text that the edge does not have is sent in chunks, one per call.
  [[nodiscard]] session_output next() noexcept {
    if (outputs_.empty() && pieces_.open) push_text();
    return outputs_.pop();
  }
  //! Returns whether the session waits for the rows of an `evaluate`; no other `evaluate` follows before these rows. If
  //! messages can arrive while the engine works, check this before you supply the rows.
  [[nodiscard]] bool wants_rows() const noexcept { return rows_wanted_ > 0; }
  //! Returns the number of rows, or of ids in place of rows, that the session waits for; 0 if it waits for none.
  [[nodiscard]] std::uint32_t wanted_rows() const noexcept { return rows_wanted_; }
  //! Returns whether the session waits for the scores of a `score`.
  [[nodiscard]] bool wants_scores() const noexcept { return state_ == cloud_state::scoring; }
  [[nodiscard]] cloud_state state() const noexcept { return state_.now(); }
  [[nodiscard]] std::uint64_t session_id() const noexcept { return place_.session_id; }
  //! Returns the last round that this process decided.
  [[nodiscard]] const decided_round& last_round() const noexcept { return last_round_; }
  //! Returns the channel state that the edge reported with the draft of the open round; zeros if the format has no
  //! report.
  [[nodiscard]] const channel_report& reported_channel() const noexcept { return channel_; }
  //! Returns the noise that both sides share, with the key of this session; `noise_kind::none` if they share none. The
  //! token at position i is the winner of the race with the noise of position i.
  [[nodiscard]] coupling_noise noise() const noexcept {
    if (!detail::races(terms_)) return {noise_kind::none, 0};
    return {terms_.noise, derive_noise_key(options_.secret, place_.session_id, options_.salt)};
  }
  //! Returns the code of drafted ids that the last handshake agreed on; `plain` before the first handshake of this
  //! process. Any other code than `plain` needs the table that the edge names, on both sides.
  [[nodiscard]] id_code agreed_id_code() const noexcept { return terms_.format.ids; }
  //! Returns the position of the open round's first draft. Bit 0 of `positions` in the output `score` is the draft
  //! there.
  [[nodiscard]] std::uint32_t draft_position() const noexcept { return place_.length + drafts_.skipped; }
  //! Returns the temperature and truncation that the edge requests. The session does not apply them, so the host should
  //! supply this transform with each row. A host that cannot must call `engine_failed` with invalid_temperature or
  //! invalid_truncation.
  [[nodiscard]] row_transform transform() const noexcept { return detail::transform_of(terms_); }

 private:
  friend result<cloud_session> make_cloud(const cloud_options& options);
  cloud_session(const cloud_options& options, received_draft_block&& block);

  // cloud_start.hpp: make, restore, limits
  [[nodiscard]] static status check_options(const cloud_options& options) noexcept;
  [[nodiscard]] status check_terms(const session_terms& terms, std::uint32_t prompt_length) const noexcept;
  [[nodiscard]] status check_snapshot(const cloud_snapshot& last, std::span<const token_id> text) const noexcept;
  [[nodiscard]] std::uint32_t text_limit() const noexcept {
    return detail::text_limit(terms_.token_budget, place_.prompt_length, options_.max_text_length);
  }
  //! Returns the number of tokens that may still be generated.
  [[nodiscard]] std::uint32_t remaining() const noexcept {
    return place_.length < text_limit() ? text_limit() - place_.length : 0;
  }

  // cloud_handshake.hpp: connections, messages, refusals, failure
  struct edge_place {  // an edge's position and connection, from the last hello
    std::uint32_t round = 0, length = 0;
    std::uint64_t hash = 0;
    std::uint8_t check_bits = 0;
    bool lists_stops = false;
    std::optional<prior_fingerprint> prior{};
    id_code ids = id_code::plain;
  };
  [[nodiscard]] bool round_is_open() const noexcept {
    return state_ == cloud_state::evaluating || state_ == cloud_state::scoring || state_ == cloud_state::requesting;
  }
  //! Returns whether the engine works on rows or scores. A hello that arrives now is answered after this work.
  [[nodiscard]] bool engine_works() const noexcept { return wants_rows() || state_ == cloud_state::scoring; }
  //! Returns whether this side has the prompt and all text that it requested from the edge.
  [[nodiscard]] bool is_whole() const noexcept { return place_.has_prompt() && place_.length >= target_.length; }
  void leave_connection() noexcept;
  void send(std::size_t written) noexcept;
  [[nodiscard]] status post(const result<std::span<std::byte>>& encoded) noexcept;
  status refuse(status reason) noexcept;
  status fail(status why) noexcept;
  [[nodiscard]] status on_message(message_kind kind, std::span<const std::byte> message) noexcept;
  [[nodiscard]] status on_misfit(status why) noexcept;
  [[nodiscard]] status on_unusable(status why) noexcept;
  [[nodiscard]] status on_refusal(std::span<const std::byte> message) noexcept;
  [[nodiscard]] status on_hello(std::span<const std::byte> message) noexcept;
  [[nodiscard]] status check_session(const hello_message& hello) const noexcept;
  [[nodiscard]] status check_text(const hello_message& hello) const noexcept;
  [[nodiscard]] status check_claim(std::uint32_t claimed, std::uint32_t own) const noexcept;
  void begin_session(const hello_message& hello) noexcept;
  void choose_prior(const edge_place& edge) noexcept;
  [[nodiscard]] status answer(const edge_place& edge) noexcept;
  [[nodiscard]] status answer_owed() noexcept;
  void in_step() noexcept;
  void settle() noexcept;

  // cloud_text.hpp: text that one side does not have, the end
  void push_text() noexcept;
  [[nodiscard]] status tell_end() noexcept;
  [[nodiscard]] status on_text(std::span<const std::byte> message) noexcept;
  [[nodiscard]] status on_stop(std::span<const std::byte> message) noexcept;
  //! Returns whether the text ended with a stop token of this side, and the edge has no list of stop tokens.
  [[nodiscard]] bool knows_end_alone() const noexcept {
    return place_.stop == stop_reason::stop_token && !peer_lists_stops_;
  }

  // cloud_round.hpp
  void stream_on() noexcept;
  [[nodiscard]] status on_draft(std::span<const std::byte> message) noexcept;
  void ask_for_rows() noexcept;
  [[nodiscard]] verify_request round_request() const noexcept;
  [[nodiscard]] status commit(const result<verdict>& made) noexcept;
  void count_round(std::uint32_t round, const verdict& decided) noexcept;
  [[nodiscard]] status tell(const wire_place& asked, std::uint32_t base, const verdict& decided) noexcept;
  void write_journal(std::uint32_t first_position) noexcept;
  [[nodiscard]] status decide_or_ask() noexcept;
  [[nodiscard]] status send_request() noexcept;
  void want_scores() noexcept;
  [[nodiscard]] status on_supply(std::span<const std::byte> message) noexcept;

  // cloud.hpp
  [[nodiscard]] bool drafts_have_laws() const noexcept {
    return !detail::streams(terms_) && detail::laws_travel(terms_);
  }
  //! Calls `work` with the drafts of the open round.
  template <class Work>
  [[nodiscard]] auto with_drafts(const Work& work) const noexcept {
    return drafts_have_laws() ? work(drafts_.with_laws.drafts()) : work(drafts_.without_laws());
  }
  template <class Policy, class Rows>
  [[nodiscard]] result<verdict> decide(Policy policy, const Rows& rows) noexcept;

  wiped<cloud_options> options_;
  session_terms terms_{};
  verdict_notice last_{};
  text_target target_{};
  detail::received_drafts drafts_;
  detail::round_scoring scoring_;
  decided_round last_round_{};
  channel_report channel_{};
  status failure_{};
  session_state<cloud_table> state_;
  std::uint32_t rows_wanted_ = 0;     // rows that the last `evaluate` requested; 0: no rows are wanted
  std::optional<edge_place> owed_{};  // a hello that arrived while the engine worked
  bool shaken_ = false;               // a hello was answered over this connection
  bool peer_lists_stops_ = false;     // whether the last hello lists stop tokens
  bool stopped_ = false;              // the edge sent stop, and the host received `finished`
  untouched_memory<std::byte> verify_space_;
  owned_memory<const prior_table*> priors_;
  const prior_table* prior_ = nullptr;  // table that codes the ids of this connection; nullptr: plain ids
};

//! Makes a cloud. Large buffers reserve address space; they use memory only when they are written.
//! Errors:
//! - vocab_size_missing, vocabulary_too_large, secret_missing, salt_missing.
//! - invalid_temperature, invalid_truncation (at_transform).
//! - invalid_argument: the option cloud_options::at_* in `where` is out of range, or max_message_bytes cannot hold a
//!   text message, the maximum of skipped ids, or a hidden state.
//! - vocabulary_mismatch (at_priors), out_of_memory.
[[nodiscard]] result<cloud_session> make_cloud(const cloud_options& options);

SPECVERIFY_NAMESPACE_END

#endif
