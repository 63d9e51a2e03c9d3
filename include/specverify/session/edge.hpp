// SPDX-License-Identifier: Apache-2.0
//! The edge's half of a session: drafts, sends, commits what the cloud's verdicts say. A pure state machine: no I/O, no
//! clock, no threads.
//!
//! Paper:      round protocol of Quantize-Sample-and-Verify (arXiv 2507.00605) and SQS (2510.09942), states after a
//!             rejection as in docs/session.md. Tokens that the edge commits alone: arXiv 2505.11788 (U-HLM, CU-HLM),
//!             2508.12590. Hidden states on request: 2604.17701 (WISV).
//! Symbols:    n = length(), L = drafts of a round, T = accepted, y = the cloud's token; round r counts from 1.
//! Guarantees: the text of a run with lost, repeated, reordered or damaged messages and restarts is that of the run
//!             without; after `make` no heap allocation; noexcept. Every message that is not used is counted once.
//! Deviates:   the sparsifier resumes from states[min(T + 1, L)].
//! See:        docs/algorithms/session.md, docs/session.md, tests/unit/session/edge_test.cpp,
//!             tests/session/fault_test.cpp, examples/docs/session.cpp
#ifndef SPECVERIFY_SESSION_EDGE_HPP
#define SPECVERIFY_SESSION_EDGE_HPP

#include <specverify/core/execution.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/policy/concepts.hpp>
#include <specverify/policy/observation.hpp>
#include <specverify/session/detail/drafter.hpp>
#include <specverify/session/detail/edge_snapshot.hpp>
#include <specverify/session/detail/port.hpp>
#include <specverify/session/journal.hpp>
#include <specverify/session/output.hpp>
#include <specverify/session/prefix_hash.hpp>
#include <specverify/session/statistics.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>
#include <specverify/vocabulary/fingerprint.hpp>

#include <optional>
#include <span>
#include <vector>

SPECVERIFY_TYPES_BEGIN

//! What the edge does while the link is lost.
enum class link_loss : std::uint8_t {
  wait,           //!< asks again until the retry limit
  stop,           //!< fails with link_lost; the journal goes on from there
  continue_local  //!< writes ahead of the cloud: tentative tokens, which are verified when the link is back
};

struct edge_options {
  std::uint64_t session_id = 1;  //!< unique for the cloud's secret: keys derive from it
  std::uint64_t secret = 0;      //!< of this device; never travels (docs/decisions/0003)
  draft_format format{};         //!< how laws travel; format.vocab_size must be set
  wire_rule rule = wire_rule::token;
  session_mode mode = session_mode::draft;
  vocabulary_fingerprint fingerprint{};
  double threshold = 0.5;  //!< wire_rule::semantic: told to the cloud; finite, >= 0
  //! a draft that stands whole is followed by the cloud's own token; false: the rounds of HLM
  bool bonus = true;
  row_transform transform{};        //!< temperature and truncation, told to the cloud; also sizes the workspace
  std::uint32_t max_length = 4096;  //!< tokens of prompt and text together
  std::uint32_t token_budget = 0;   //!< tokens to generate; 0: until max_length
  //! top_k_tail: tokens are drawn from the whole row, as in the paper, and only rejections see the law: lossy
  bool draw_from_row = false;
  std::span<const token_id> stop_tokens{};  //!< copied
  //! microseconds until a question is asked again; 0: never (a reliable transport)
  session_time retry_timeout = 0;
  std::uint32_t retry_limit = 64;  //!< times a question is asked again before peer_timeout
  std::uint32_t text_chunk = 256;  //!< tokens of one text message
  link_loss on_link_loss = link_loss::wait;
  //! times a question is asked again in vain before the link counts as lost; 0: only `disconnect` says so
  std::uint32_t loss_after = 0;
  std::uint32_t max_ahead = 64;  //!< continue_local: tokens written beyond the drafts of the open round
};

enum class edge_state : std::uint8_t {
  idle,
  greeting,
  resuming,
  sending_text,
  fetching_text,
  drafting,
  waiting,
  streaming,
  finished,
  failed
};

//! What an engine gives beside a row where the session needs it.
struct row_extras {
  std::span<const float>
      hidden{};  //!< the drafter's hidden state behind this row; format.attachments.hidden_size numbers
  //! weights of the last layer, mean over the heads, of this row's query; over the positions before it
  std::span<const float> attention{};
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

template <sparsifier Sparsifier = top_k, window_policy Window = draft_plan, skip_policy Skip = always_send>
class basic_edge_session {
 public:
  using state_type = typename Sparsifier::state_type;
  using snapshot = edge_snapshot<state_type>;

  //! What a token committed here alone, or under another rule, is worth at most.
  static constexpr guarantee strength = Skip::strength;

  //! Errors: those of `check(draft_format)`; unsupported (token_and_count, whose residual would be drawn here);
  //!         invalid_argument (also a skip policy without room for kept tokens: format.attachments.max_skipped is 0);
  //!         those of `check` of the rule, the window and the skip policy, where they have one.
  [[nodiscard]] static result<basic_edge_session> make(const edge_options& options, const Sparsifier& rule = {},
                                                       const Window& window = {}, const Skip& skip = {});

  // Inputs. Each returns `busy` while outputs wait, and all but supply_row and engine_failed while a row is wanted that
  // is written ahead. The status says what became of the input; a session that fails also says so in an output.

  //! Begins a new session with a prompt of 1 token or more. Errors: unexpected_message (not idle), token_out_of_range,
  //! invalid_argument.
  [[nodiscard]] status start(std::span<const token_id> prompt, session_time now) noexcept;
  //! Continues from a journal. Errors: journal_corrupt, unknown_session (no whole record, or one of another session),
  //! unexpected_message.
  [[nodiscard]] status restore(std::span<const std::byte> journal, session_time now,
                               journal_reading* found = nullptr) noexcept;
  //! Continues without a journal: the cloud sends the text. `now` must be later than in any run before.
  [[nodiscard]] status recover(std::uint32_t prompt_length, session_time now) noexcept;
  //! A message arrived. ok, or why it was not used: duplicate, stale_*, checksum_mismatch, truncated,
  //! unexpected_message, refused_by_peer...
  [[nodiscard]] status receive(std::span<const std::byte> message, session_time now) noexcept;
  //! Time passed. Does nothing before `deadline()`.
  [[nodiscard]] status tick(session_time now) noexcept;
  //! The row that `evaluate` asked for. Errors: unexpected_message (none is wanted), those of the row operations (the
  //! session has failed).
  template <execution_policy Policy, class Scalar>
  [[nodiscard]] status supply_row(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  session_time now) noexcept {
    return supply_row(policy, row, transform, {}, now);
  }
  //! With what the engine gives beside the row. Errors: also hidden_state_missing, attention_missing (the session has
  //! failed), size_mismatch.
  template <execution_policy Policy, class Scalar>
  [[nodiscard]] status supply_row(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  const row_extras& extras, session_time now) noexcept;
  //! The transport was lost and stands again: names the session and asks again what was open.
  [[nodiscard]] status reconnect(session_time now) noexcept;
  //! The transport was lost: what follows is up to `edge_options::on_link_loss`. Errors: link_lost (stop: the session
  //! has failed).
  [[nodiscard]] status disconnect(session_time now) noexcept;
  //! The engine cannot go on.
  [[nodiscard]] status engine_failed(status why) noexcept;
  //! What the host measured of the link; recorded with the next round.
  void record_link(float uplink_rate, float downlink_rate, float round_trip, float draft_time) noexcept;
  //! The channel as it will be reported to the cloud, and whether the uplink is in its high state; recorded with the
  //! next round.
  void record_channel(const channel_report& channel, std::uint32_t uplink_state = 0) noexcept;

  // Outputs.
  [[nodiscard]] session_output next() noexcept { return outputs_.pop(); }
  //! `next` has more: every input is `busy`.
  [[nodiscard]] bool has_outputs() const noexcept { return !outputs_.empty(); }
  [[nodiscard]] std::optional<session_time> deadline() const noexcept {
    return ahead_at_.has_value() && (!deadline_.has_value() || *ahead_at_ < *deadline_) ? ahead_at_ : deadline_;
  }

  //! `evaluate` is unanswered. Ask before `supply_row` where the engine works while messages arrive.
  [[nodiscard]] bool wants_rows() const noexcept { return row_wanted_; }

  [[nodiscard]] edge_state state() const noexcept { return state_; }
  //! Temperature and truncation of the session, as `edge_options::transform` gave them: pass this one with the rows.
  [[nodiscard]] const row_transform& transform() const noexcept { return options_.transform; }
  [[nodiscard]] std::span<const token_id> text() const noexcept { return {text_.data(), length_}; }
  [[nodiscard]] std::uint32_t length() const noexcept { return length_; }
  //! Of it, what the cloud has too: tokens from here on were committed here alone.
  [[nodiscard]] std::uint32_t agreed_length() const noexcept { return base_; }
  [[nodiscard]] std::uint32_t prompt_length() const noexcept { return prompt_length_; }
  [[nodiscard]] std::uint32_t round() const noexcept { return round_; }
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] const session_statistics& statistics() const noexcept { return statistics_; }
  [[nodiscard]] const round_record& last_round() const noexcept { return last_round_; }

 private:
  enum class question : std::uint8_t { none, hello, resume, text, draft, supply };

  basic_edge_session(const edge_options& options, const Sparsifier& rule, const Window& window, const Skip& skip,
                     draft_block&& block, basic_draft_block<detail::foreign_draft>&& foreign);

  // detail/edge_link.hpp, detail/edge_answers.hpp, detail/edge_start.hpp: questions and answers
  [[nodiscard]] wire_context context_at(std::uint32_t round, std::uint32_t length, std::uint64_t hash) const noexcept {
    return {options_.session_id, epoch_, round, length, hash, next_number_};
  }
  [[nodiscard]] status ask(question what, session_time now) noexcept;
  [[nodiscard]] status transmit(session_time now) noexcept;
  [[nodiscard]] status encode(std::size_t& written) noexcept;
  [[nodiscard]] status ask_again(session_time now) noexcept;
  [[nodiscard]] bool waiting() const noexcept { return question_ != question::none; }
  [[nodiscard]] status on_damage(errc code, session_time now) noexcept;
  [[nodiscard]] status drop(errc code) noexcept;
  [[nodiscard]] status on_greeting(const wire_context& peer, bool is_hello, session_time now) noexcept;
  [[nodiscard]] status on_refusal(std::span<const std::byte> message, const message_header& header,
                                  session_time now) noexcept;
  [[nodiscard]] status on_text(std::span<const std::byte> message, const message_header& header,
                               session_time now) noexcept;
  [[nodiscard]] status in_step(session_time now) noexcept;
  void write_journal(std::uint32_t first_position) noexcept;
  void begin_epoch(std::uint32_t epoch) noexcept;
  [[nodiscard]] status fail(status why) noexcept;
  [[nodiscard]] status finish(bool tell) noexcept;

  static constexpr bool observes_probabilities = requires { requires Window::needs_probabilities; };

  // detail/edge_round.hpp: drafting and committing
  [[nodiscard]] status begin_round(session_time now) noexcept;
  [[nodiscard]] status want_row(std::uint32_t end) noexcept;
  [[nodiscard]] status close_block(session_time now) noexcept;
  [[nodiscard]] status on_feedback(std::span<const std::byte> message, session_time now) noexcept;
  void roll_back(std::uint32_t length) noexcept;
  void retract(std::uint32_t position) noexcept;
  void discard_draft() noexcept;
  void append_text(std::uint32_t count) noexcept;
  [[nodiscard]] std::uint32_t pending() const noexcept { return length_ - base_; }
  [[nodiscard]] std::uint32_t text_limit() const noexcept;
  void note_end() noexcept;
  void note_link() noexcept;

  // detail/edge_ahead.hpp: tokens written while the link is lost
  [[nodiscard]] status lose_link(session_time now) noexcept;
  void link_is_back() noexcept;
  [[nodiscard]] bool is_busy() const noexcept { return !outputs_.empty() || ahead_row_; }
  [[nodiscard]] std::uint32_t ahead() const noexcept {
    return shown_end_ > length_ + drafted_ ? shown_end_ : length_ + drafted_;
  }
  [[nodiscard]] std::uint32_t round_of(std::uint32_t position) const noexcept {
    return position < carry_end_ ? carry_round_ : round_;
  }
  void plan_ahead(session_time now) noexcept;
  template <class Policy, class Scalar>
  [[nodiscard]] status write_ahead(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                   session_time now) noexcept;
  void carry_on(bool keep) noexcept;
  void replace_shown(std::uint32_t position, token_id token) noexcept;

  // detail/edge_extras.hpp: tokens committed here alone, hidden states
  template <class Policy, class Scalar>
  [[nodiscard]] status keeps(Policy policy, row_view<Scalar> row, const row_transform& transform,
                             const row_extras& extras, token_id token, skip_observation& seen, bool& keep) noexcept;
  template <class Policy, class Scalar>
  [[nodiscard]] status draw_draft(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  const row_extras& extras, std::uint32_t position, token_id& token,
                                  bool& keep) noexcept;
  [[nodiscard]] status block_bytes(std::size_t& bytes) const noexcept {
    return options_.draw_from_row ? draft_bytes(options_.format, foreign_.drafts(), bytes, 0, resolution_)
                                  : draft_bytes(options_.format, block_.drafts(), bytes, 0, resolution_);
  }
  [[nodiscard]] status commit_alone(token_id token, session_time now) noexcept;
  [[nodiscard]] status keep_hidden(std::span<const float> hidden) noexcept;
  [[nodiscard]] draft_attachments attachments() const noexcept;
  [[nodiscard]] status on_request(std::span<const std::byte> message, session_time now) noexcept;
  [[nodiscard]] status encode_hidden_supply(std::span<std::byte> out, std::size_t& written) noexcept;

  edge_options options_;
  Window window_;
  Skip skip_;
  detail::drafter<Sparsifier> drafter_;
  draft_block block_;
  basic_draft_block<detail::foreign_draft> foreign_;  // in its place where tokens are drawn from the row
  std::vector<claimed_draft> claims_;
  std::vector<token_id> text_;  // committed tokens, then drafted ones
  std::vector<token_id> stop_tokens_;
  std::vector<token_id> received_;
  std::vector<float> probabilities_;  // that the row gave each draft, where the window asks
  std::vector<state_type> states_;    // before each draft of the window, and after the last
  std::vector<std::byte> skip_space_;
  std::vector<std::byte> hidden_;   // vectors of the drafts, as they travel
  std::vector<std::byte> payload_;  // those that were asked for
  std::vector<std::uint64_t> asked_;
  std::vector<std::uint64_t> supplied_;
  std::vector<std::byte> message_;
  std::vector<std::byte> record_;
  std::size_t record_used_ = 0;
  philox source_{};
  session_statistics statistics_{};
  round_record last_round_{};
  round_record open_round_{};
  observation seen_{};
  // of the link, since the round began: a round drafted again after a restart must see what it saw
  observation measured_{};
  channel_report channel_{};
  channel_report measured_channel_{};
  state_type sparsifier_state_{};
  detail::output_queue outputs_{};
  detail::context_memory memory_{};
  detail::transmission_window heard_{};
  wire_context question_context_{};
  std::optional<session_time> deadline_{};
  std::optional<session_time> ahead_at_{};  // the next token is written ahead then
  state_type ahead_state_{};
  std::uint64_t hash_ = prefix_hash_seed;  // of the text up to base_
  std::uint64_t nonce_ = 0;
  std::uint64_t target_hash_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint32_t round_ = 0;
  std::uint32_t prompt_length_ = 0;
  std::uint32_t length_ = 0;
  std::uint32_t base_ = 0;       // of it the cloud has too; what follows was committed here alone
  std::uint32_t cached_ = 0;     // positions in the engine's cache
  std::uint32_t journaled_ = 0;  // tokens that the journal has
  std::uint64_t charged_ = 0;    // bits of the laws so far, as the window counts them
  std::uint32_t drafted_ = 0;
  std::uint32_t planned_ = 0;
  std::uint32_t resolution_ = 0;   // of the open round's laws
  std::uint32_t shown_end_ = 0;    // end of the tokens that the host was shown beyond the open round's drafts
  std::uint32_t ahead_round_ = 0;  // whose counters those have
  std::uint32_t carry_round_ = 0;
  std::uint32_t carry_end_ = 0;
  std::uint32_t peer_length_ = 0;
  std::uint32_t peer_round_ = 0;
  std::uint32_t target_length_ = 0;  // of the text that is fetched
  std::uint32_t fetch_start_ = 0;
  std::uint32_t attempts_ = 0;
  std::uint32_t greetings_ = 0;  // since the last progress
  std::uint32_t question_checksum_ = 0;
  edge_state state_ = edge_state::idle;
  question question_ = question::none;
  stop_reason stop_ = stop_reason::none;
  std::uint8_t next_number_ = 0;
  bool row_wanted_ = false;
  bool beyond_known_ = false;  // states_[drafted_ + 1] counts a law that was made and not drawn from
  bool ahead_row_ = false;     // it is for a token beyond the open round's drafts
  bool lost_ = false;
  bool block_complete_ = false;
  bool announce_ = false;
  bool fresh_supply_ = false;  // vectors that were not asked for before
};

//! The edge of the papers: top-K supports, the same plan every round.
using edge_session = basic_edge_session<>;

SPECVERIFY_NAMESPACE_END

#include <specverify/session/detail/edge_ahead.hpp>
#include <specverify/session/detail/edge_extras.hpp>
#include <specverify/session/detail/edge_link.hpp>
#include <specverify/session/detail/edge_round.hpp>
#include <specverify/session/detail/edge_start.hpp>

#endif
