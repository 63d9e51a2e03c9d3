// SPDX-License-Identifier: Apache-2.0
//! The cloud's half of a session: takes drafts, has the target model evaluated, verifies, answers, and can repeat every
//! answer.
//!
//! Paper:      round protocol of Quantize-Sample-and-Verify (arXiv 2507.00605) and SQS (2510.09942); semantic verdicts
//!             with hidden states sent along or on request: WISV (2604.17701).
//! Symbols:    n = length(), L = drafts of a round, T = accepted, y = the token added; round r counts from 1.
//! Guarantees: the same (session, round) gets the same verdict however often it is asked, after a restart too: uniforms
//!             are a function of (secret, session id, position, round). After `make` no heap allocation; noexcept.
//!             Every message that is not used is counted once.
//! Deviates:   nothing.
//! See:        docs/algorithms/session.md, docs/session.md, tests/unit/session/cloud_test.cpp,
//!             tests/session/fault_test.cpp, examples/docs/session.cpp
#ifndef SPECVERIFY_SESSION_CLOUD_HPP
#define SPECVERIFY_SESSION_CLOUD_HPP

#include <specverify/core/execution.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/session/detail/port.hpp>
#include <specverify/session/journal.hpp>
#include <specverify/session/output.hpp>
#include <specverify/session/prefix_hash.hpp>
#include <specverify/session/statistics.hpp>
#include <specverify/verify/greedy.hpp>
#include <specverify/verify/semantic.hpp>
#include <specverify/verify/token.hpp>
#include <specverify/vocabulary/fingerprint.hpp>

#include <span>
#include <vector>

SPECVERIFY_TYPES_BEGIN

struct cloud_options {
  std::uint64_t secret = 0;  //!< of this cloud; never travels (docs/decisions/0003)
  //! sizes the buffers: a hello whose laws need more is refused; vocab_size must be the models'
  draft_format largest{};
  vocabulary_fingerprint fingerprint{};
  guarantee required = guarantee::lossy;  //!< refuses drafts with less: guarantee_too_weak
  //! sizes the workspace (truncation); the rows bring their own (see cloud_session::transform)
  row_transform transform{};
  std::uint32_t max_length = 4096;          //!< tokens of prompt and text together
  std::span<const token_id> stop_tokens{};  //!< copied
  std::uint32_t trial_cap = 32;             //!< of token_rule
  std::uint32_t text_chunk = 256;           //!< tokens of one text message
  bool lazy = false;                        //!< semantic rule, hidden states on request: ask for one mismatch at a time
};

enum class cloud_state : std::uint8_t {
  blank,
  filling,
  ready,
  evaluating,
  judging,
  requesting,
  streaming,
  finished,
  failed
};

//! What a restarted cloud needs, written with the ids before every answer.
struct cloud_snapshot {
  std::uint64_t session_id = 0;
  std::uint64_t prefix_hash = 0;
  std::uint64_t target_hash = 0;
  std::uint64_t nonce = 0;      //!< of the last edge that came without a journal
  std::uint64_t kept_hash = 0;  //!< prefix of the kept verdict
  draft_format format{};
  double threshold = 0.5;    //!< of the semantic rule
  double temperature = 1.0;  //!< what the edge's hello asks for
  row_truncation truncation{};
  feedback_message kept{};       //!< the last verdict
  std::uint32_t kept_round = 0;  //!< 0: none
  std::uint32_t kept_base = 0;
  std::uint32_t kept_drafted = 0;
  std::uint32_t kept_skipped = 0;
  std::uint32_t epoch = 0;
  std::uint32_t round = 0;
  std::uint32_t prompt_length = 0;
  std::uint32_t token_budget = 0;
  std::uint32_t length = 0;
  std::uint32_t target_length = 0;
  std::uint32_t target_round = 0;
  wire_rule rule = wire_rule::token;
  session_mode mode = session_mode::draft;
  stop_reason stop = stop_reason::none;
  std::uint8_t next_number = 0;
  std::uint8_t heard_number = 0;
  bool heard_any = false;
  bool bonus = true;
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

class cloud_session {
 public:
  using snapshot = cloud_snapshot;

  //! Errors: those of `check(draft_format)`; invalid_argument.
  [[nodiscard]] static result<cloud_session> make(const cloud_options& options);

  // Inputs. Each returns `busy` while outputs wait.

  //! Continues from a journal; a cloud that kept none simply waits for messages. Errors: journal_corrupt,
  //! unknown_session (no whole record), unexpected_message.
  [[nodiscard]] inline status restore(std::span<const std::byte> journal, journal_reading* found = nullptr) noexcept;
  //! A message arrived. ok, or why it was not used.
  [[nodiscard]] inline status receive(std::span<const std::byte> message, session_time now) noexcept;
  //! The rows that `evaluate` asked for: rows(i) is the row of the i-th of its last `rows` tokens, rows.transform(i)
  //! what makes it final.
  //! Errors: unexpected_message (none are wanted), those of the rule (the session has failed and the edge is told).
  template <execution_policy Policy, row_provider Rows>
  [[nodiscard]] status supply_rows(Policy policy, const Rows& rows, session_time now) noexcept;
  //! The scores that `judge` asked for, one per named draft, ascending, in [0, 1].
  //! Errors: unexpected_message (none are wanted), size_mismatch (another number of them; ask again), those of
  //!         `decide_semantically` (failed).
  [[nodiscard]] inline status supply_scores(std::span<const double> scores, session_time now) noexcept;
  //! The engine cannot go on; the edge is told.
  [[nodiscard]] inline status engine_failed(status why) noexcept;

  // Outputs.
  [[nodiscard]] session_output next() noexcept { return outputs_.pop(); }
  //! `next` has more: every input is `busy`.
  [[nodiscard]] bool has_outputs() const noexcept { return !outputs_.empty(); }

  //! `evaluate` is unanswered. Ask before `supply_rows` where the engine works while messages arrive.
  [[nodiscard]] bool wants_rows() const noexcept { return rows_wanted_; }
  //! `judge` is unanswered.
  [[nodiscard]] bool wants_scores() const noexcept { return state_ == cloud_state::judging; }

  [[nodiscard]] cloud_state state() const noexcept { return state_; }
  [[nodiscard]] std::uint64_t session_id() const noexcept { return now_.session_id; }
  [[nodiscard]] std::span<const token_id> text() const noexcept { return {text_.data(), now_.length}; }
  [[nodiscard]] std::uint32_t length() const noexcept { return now_.length; }
  [[nodiscard]] std::uint32_t prompt_length() const noexcept { return now_.prompt_length; }
  [[nodiscard]] std::uint32_t round() const noexcept { return now_.round; }
  [[nodiscard]] std::uint32_t epoch() const noexcept { return now_.epoch; }
  [[nodiscard]] const session_statistics& statistics() const noexcept { return statistics_; }
  //! The last round that this process decided.
  [[nodiscard]] const judged_round& last_round() const noexcept { return last_round_; }
  //! The state of its channel as the edge reported it with the open round's draft; zeros where the format has no
  //! report.
  [[nodiscard]] const channel_report& reported_channel() const noexcept { return channel_; }
  //! First position of the open round's drafts: the host's target states for `judge` stand at the rows of supply_rows
  //! from here on.
  [[nodiscard]] std::uint32_t draft_position() const noexcept { return now_.length + skipped_; }
  //! Temperature and truncation that the edge's hello asks for. The session does not apply them: the text has the law
  //! of the rows with *their* transform. A host passes this one with its rows, or ends the session by `engine_failed`
  //! with invalid_temperature or invalid_truncation.
  [[nodiscard]] row_transform transform() const noexcept {
    row_transform made;
    made.temperature = now_.temperature;
    made.truncation = now_.truncation;
    return made;
  }

 private:
  inline cloud_session(const cloud_options& options, received_draft_block&& block);

  // detail/cloud_link.hpp and detail/cloud_answers.hpp
  [[nodiscard]] wire_context context() const noexcept {
    return {now_.session_id, now_.epoch, now_.round, now_.length, now_.prefix_hash, now_.next_number};
  }
  [[nodiscard]] inline status drop(errc code) noexcept;
  [[nodiscard]] inline status on_damage(errc code) noexcept;
  [[nodiscard]] inline status on_unknown(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] inline status on_hello(std::span<const std::byte> message, const message_header& header,
                                       session_time now) noexcept;
  [[nodiscard]] inline status on_resume(std::span<const std::byte> message, const message_header& header,
                                        session_time now) noexcept;
  [[nodiscard]] inline status on_text(std::span<const std::byte> message, const message_header& header,
                                      session_time now) noexcept;
  [[nodiscard]] inline status on_draft(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] inline status on_other_round(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] inline status read_draft(const wire_context& context, std::span<const std::byte> message,
                                         std::uint32_t& drafts, draft_attachments& attachments) noexcept;
  [[nodiscard]] inline errc judge_hello(const hello_message& hello) const noexcept;
  [[nodiscard]] inline status judge_length(const wire_context& peer) noexcept;
  [[nodiscard]] inline status judge_repeat(const wire_context& kept, std::span<const std::byte> message) noexcept;
  [[nodiscard]] inline bool accept_epoch(const wire_context& peer, errc& why) noexcept;
  inline void aim_at(const wire_context& peer) noexcept;
  inline void send(std::size_t written) noexcept;
  inline void refuse(const wire_context& context, status reason) noexcept;
  [[nodiscard]] inline status greet(message_kind kind) noexcept;
  [[nodiscard]] inline status send_text(const wire_context& context, std::uint32_t from) noexcept;
  [[nodiscard]] inline status send_feedback() noexcept;
  inline void write_journal(std::uint32_t first_position) noexcept;
  inline status fail(status why) noexcept;
  inline void settle() noexcept;
  [[nodiscard]] bool round_is_open() const noexcept {
    return state_ == cloud_state::evaluating || state_ == cloud_state::judging || state_ == cloud_state::requesting;
  }

  // detail/cloud_round.hpp
  inline void want_rows(std::uint32_t drafted) noexcept;
  [[nodiscard]] inline std::uint32_t remaining() const noexcept;
  inline void append_text(std::uint32_t count) noexcept;
  inline void roll_back(std::uint32_t length) noexcept;
  template <class Policy, class Rows>
  [[nodiscard]] verdict decide(Policy policy, const Rows& rows) noexcept;
  [[nodiscard]] inline verify_request round_request() const noexcept;
  [[nodiscard]] inline status commit(const verdict& decided) noexcept;

  // detail/cloud_judge.hpp
  template <class Policy, class Rows>
  [[nodiscard]] status compare(Policy policy, const Rows& rows) noexcept;
  [[nodiscard]] inline status judge_on() noexcept;
  [[nodiscard]] inline status send_request() noexcept;
  inline void want_scores() noexcept;
  [[nodiscard]] inline status on_supply(std::span<const std::byte> message, const message_header& header) noexcept;
  inline void abandon() noexcept;

  cloud_options options_;
  received_draft_block block_;
  std::vector<claimed_draft> claims_;
  std::vector<token_id> text_;
  std::vector<token_id> stop_tokens_;
  std::vector<token_id> received_;
  std::vector<token_id> skipped_ids_;
  std::vector<token_id> best_;  // argmax of each row of a round under the semantic rule
  std::vector<std::uint64_t> mismatches_;
  std::vector<std::uint64_t> near_ties_;
  std::vector<std::uint64_t> asked_;  // of them, those whose scores or vectors are wanted now
  std::vector<double> scores_;
  std::vector<std::byte> hidden_;
  std::vector<std::byte> message_;
  std::vector<std::byte> record_;
  std::vector<std::byte> decode_space_;
  std::vector<std::byte> verify_space_;
  std::size_t record_used_ = 0;
  philox source_{};
  session_statistics statistics_{};
  judged_round last_round_{};
  channel_report channel_{};
  cloud_snapshot now_{};
  detail::output_queue outputs_{};
  detail::context_memory memory_{};
  detail::transmission_window heard_{};
  std::uint32_t cached_ = 0;
  std::uint32_t drafted_ = 0;
  std::uint32_t skipped_ = 0;  // tokens before the drafts of the open round that the edge committed alone
  std::uint32_t scored_ = 0;
  std::uint32_t journaled_ = 0;  // tokens that the journal has
  cloud_state state_ = cloud_state::blank;
  message_kind owed_ = message_kind::stop;  // a greeting that arrived while the engine worked is answered afterwards
  bool rows_wanted_ = false;
};

SPECVERIFY_NAMESPACE_END

#include <specverify/session/detail/cloud_answers.hpp>
#include <specverify/session/detail/cloud_judge.hpp>
#include <specverify/session/detail/cloud_link.hpp>
#include <specverify/session/detail/cloud_round.hpp>

#endif
