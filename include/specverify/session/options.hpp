// SPDX-License-Identifier: Apache-2.0
//! Defines the options of an edge and of a cloud, and the cloud's limits for edges.
//!
//! Include it in code that sets options but makes no session.
//! Cost: O(1); no allocation.
//! See: docs/algorithms/options.md, tests/unit/session/options_test.cpp
#ifndef SPECVERIFY_SESSION_OPTIONS_HPP
#define SPECVERIFY_SESSION_OPTIONS_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/codec/prior_table.hpp>
#include <specverify/core/secret.hpp>
#include <specverify/row/transform.hpp>
#include <specverify/session/output.hpp>
#include <specverify/vocabulary/fingerprint.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>

SPECVERIFY_TYPES_BEGIN

//! Behaviour of the edge while the link is lost.
enum class link_loss : std::uint8_t {
  wait,           //!< waits until `reconnect`
  stop,           //!< fails with link_lost; the journal can be restored later
  continue_local  //!< writes tentative tokens ahead of the cloud, which verifies the tokens when the link is back
};

//! Selects whether an edge journals each draft before it sends the draft. A restarted edge sends a journaled draft
//! again. Without a journaled draft, the edge fetches the text if the cloud has decided the round, and otherwise makes
//! a new draft.
enum class draft_journaling : std::uint8_t {
  automatic,  //!< only if the record has at most `automatic_draft_record` bytes
  always,
  never
};
inline constexpr std::uint32_t automatic_draft_record = 4096;  //!< bytes

//! Value of check_bits: 8 bits if the host called set_ordered_and_whole(true), as `generate` and `serve` do; otherwise
//! 16.
inline constexpr std::uint8_t automatic_check = 255;

//! Limits for all edges of a cloud, which determine the sizes of the buffers. The cloud refuses a hello beyond a limit
//! with beyond_limit, and `where` is the limit's cloud_options::at_*. The defaults suffice for edges with default
//! options. For other formats, use `cloud_session::limits_for`.
struct cloud_limits {
  std::uint32_t max_draft_length = 8;          //!< drafts per message, 1..4096
  std::uint32_t max_law_entries = 4096;        //!< maximum ids in all distributions of a message, 1 or more
  std::uint32_t max_skipped = 0;               //!< maximum skipped ids per message (committed by the edge), 0..2^16
  std::uint32_t max_hidden_bytes = 0;          //!< maximum bytes of the hidden states of all drafts of a message
  std::uint32_t max_message_bytes = 1u << 14;  //!< maximum bytes of any message of either side, including padding
  friend SPECVERIFY_INLINE constexpr bool operator==(const cloud_limits&, const cloud_limits&) noexcept = default;
};

//! Returns the larger value of each limit, which is enough for both formats.
[[nodiscard]] SPECVERIFY_INLINE constexpr cloud_limits larger(cloud_limits a, const cloud_limits& b) noexcept {
  for (const auto limit : {&cloud_limits::max_draft_length, &cloud_limits::max_law_entries, &cloud_limits::max_skipped,
                           &cloud_limits::max_hidden_bytes, &cloud_limits::max_message_bytes})
    if (a.*limit < b.*limit) a.*limit = b.*limit;
  return a;
}

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

struct edge_options {
  std::uint64_t session_id = 1;          //!< unique per secret, because the random numbers derive from both
  session_secret secret{};               //!< of this device; required; never sent (docs/decisions/0003)
  std::uint32_t vocab_size = 0;          //!< V of the models, 1..2^24; required, and equal to the cloud's
  row_transform transform{};             //!< temperature and truncation, sent to the cloud; sets the workspace size
  std::uint32_t token_budget = 0;        //!< maximum tokens to generate; 0: only max_text_length limits the text
  std::uint32_t max_text_length = 4096;  //!< maximum tokens of prompt and generated text together
  //! format of the distributions; the sparsifier sets K, and the window sets L and l
  law_format format = law_format::sparse_drop_zero;
  //! attachments of draft messages; the session sets resolution_with_draft and drafted_probability itself, and ignores
  //! their values here
  attachment_format attachments{};
  std::uint32_t pad_to = 1;  //!< messages are padded with zeros to a multiple of this many bytes, 1..2^16 (1: off)
  wire_rule rule = wire_rule::token;
  //! greedy rule, token_only: draws tokens by races over shared noise (row/race.hpp); the cloud sends the key, and may
  //! choose another kind
  noise_kind noise = noise_kind::none;
  //! token_only: codes the drafted ids by this table if the cloud has the same table; otherwise ids are sent plain.
  //! The table must have V ids, and must outlive the session. nullptr: plain ids
  const prior_table* prior = nullptr;
  //! with a table: the code of the drafted ids. `noise` needs `noise` above; it saves about 2 bits per draft, but both
  //! sides then compute the noise of all ids for each draft (docs/algorithms/token_prior.md). plain: as without a table
  id_code ids = id_code::prior;
  session_mode mode = session_mode::draft;
  vocabulary_fingerprint fingerprint{};
  double threshold = 0.5;  //!< threshold of wire_rule::semantic; sent to the cloud; finite, >= 0
  //! whether the cloud adds a token if all drafts are accepted; false: as in the rounds of HLM
  bool bonus = true;
  //! top_k_tail only: draws tokens from the whole row and sends their probability, which the acceptance test uses; the
  //! distribution that is sent is used only after rejections. As in the paper of CU-HLM; lossy
  bool draw_from_row = false;
  std::span<const token_id> stop_tokens{};  //!< copied
  //! microseconds to wait for a response before a new handshake. 0: off; the host must then report each lost
  //! connection, because otherwise a lost message stalls the session forever
  session_time retry_timeout = 0;
  std::uint32_t retry_limit = 64;  //!< handshakes without progress before the error peer_timeout
  //! bits of the check in each message except hello, refuse and stop: 0, 8 or 16; both sides use the larger value
  std::uint8_t check_bits = automatic_check;
  //! value mixed into the nonce of each hello; 0: nonces depend only on the secret, the session id and the time. If
  //! messages can outlive the process (for example, at a broker), use a different value in each process
  std::uint64_t salt = 0;
  std::uint32_t text_chunk = 256;  //!< maximum tokens per text message, in both directions; 1 or more
  link_loss on_link_loss = link_loss::wait;
  std::uint32_t max_ahead = 64;  //!< continue_local: maximum tokens after the drafts of the open round
  draft_journaling journal_drafts = draft_journaling::automatic;

  // `where` of the errors of `make_edge`, `start` and `restore`
  static constexpr std::uint32_t at_max_text_length = 0;
  static constexpr std::uint32_t at_text_chunk = 1;
  static constexpr std::uint32_t at_retry_limit = 2;
  static constexpr std::uint32_t at_max_skipped = 3;
  //! K; also an error of `restore`, like at_max_draft_length and at_resolution
  static constexpr std::uint32_t at_support_size = 4;
  static constexpr std::uint32_t at_secret = 5;
  static constexpr std::uint32_t at_vocab_size = 6;
  static constexpr std::uint32_t at_format = 7;
  static constexpr std::uint32_t at_draw_from_row = 8;
  static constexpr std::uint32_t at_prompt = 9;
  static constexpr std::uint32_t at_truncation = 10;  //!< of a supplied row
  static constexpr std::uint32_t at_max_draft_length = 11;
  static constexpr std::uint32_t at_resolution = 12;
  static constexpr std::uint32_t at_sparsifier = 14;  //!< options_disagree: the format lists no support
  static constexpr std::uint32_t at_transform = 15;   //!< invalid_temperature or invalid_truncation
  static constexpr std::uint32_t at_threshold = 16;   //!< wire_rule::semantic: not finite, or negative
  // `restore` returns options_disagree if the option (or K, L or l above) has changed since the journal began
  static constexpr std::uint32_t at_session_id = 17;
  static constexpr std::uint32_t at_rule = 18;
  static constexpr std::uint32_t at_mode = 19;
  static constexpr std::uint32_t at_bonus = 20;
  //! token_budget has changed, or max_text_length if it ends the text
  static constexpr std::uint32_t at_token_budget = 21;
  static constexpr std::uint32_t at_fingerprint = 22;
  static constexpr std::uint32_t at_check_bits = 23;
  static constexpr std::uint32_t at_noise = 24;  //!< unknown kind, or noise without the greedy rule and token_only
  //! a table without token_only (invalid_argument), or a table of another vocabulary (vocabulary_mismatch)
  static constexpr std::uint32_t at_prior = 25;
  static constexpr std::uint32_t at_ids = 26;  //!< unknown, or `noise` without a table or without shared noise
};

struct cloud_options {
  session_secret secret{};  //!< of this cloud; required; never sent (docs/decisions/0003)
  //! unique per session, not 0, from the system's random source (`salt_from`); never sent (docs/decisions/0014). A
  //! restored session uses the salt in its journal
  std::uint64_t salt = 0;
  std::uint32_t vocab_size = 0;  //!< V of the models, 1..2^24; required, and equal to each edge's
  //! determines only the size of the workspace: a hello or a row is refused if its truncation needs more. The host
  //! supplies the transform of each row with the row (see cloud_session::transform)
  row_transform transform{};
  cloud_limits limits{};
  std::uint32_t max_text_length = 4096;  //!< maximum tokens of prompt and generated text together
  //! minimum guarantee; edges with a weaker guarantee are refused (guarantee_too_weak)
  guarantee required = guarantee::lossy;
  vocabulary_fingerprint fingerprint{};
  std::span<const token_id> stop_tokens{};  //!< copied
  std::uint32_t trial_cap = 32;             //!< maximum trials per draw before the exact rule, as in `token_rule`
  std::uint32_t text_chunk = 256;           //!< maximum tokens per text message; the edge chooses the number
  //! semantic rule, hidden states on request: whether each request asks for only one mismatch
  bool lazy = false;
  std::uint8_t check_bits = automatic_check;  //!< as edge_options::check_bits
  //! kind of noise in sessions with shared noise, for example that of the engine that supplies the tokens; none: the
  //! kind that the edge requests. A restored session keeps the kind in its journal
  noise_kind noise = noise_kind::none;
  //! tables that edges may use to code ids, each of V ids. The pointers are copied, but the tables must outlive the
  //! session. An edge sends plain ids if its hello names another table, or if a coded draft could exceed
  //! max_message_bytes
  std::span<const prior_table* const> priors{};

  // `where` of the errors of `make_cloud` and `restore`, and of beyond_limit for a hello
  static constexpr std::uint32_t at_max_text_length = 0;
  static constexpr std::uint32_t at_text_chunk = 1;
  static constexpr std::uint32_t at_trial_cap = 2;
  static constexpr std::uint32_t at_max_skipped = 3;
  static constexpr std::uint32_t at_max_law_entries = 4;
  static constexpr std::uint32_t at_secret = 5;
  static constexpr std::uint32_t at_vocab_size = 6;
  static constexpr std::uint32_t at_max_draft_length = 7;
  static constexpr std::uint32_t at_max_hidden_bytes = 8;
  static constexpr std::uint32_t at_max_message_bytes = 9;
  static constexpr std::uint32_t at_truncation = 10;  //!< truncation of the options or of a supplied row
  static constexpr std::uint32_t at_format = 11;
  static constexpr std::uint32_t at_transform = 12;  //!< invalid_temperature or invalid_truncation
  static constexpr std::uint32_t at_salt = 13;
  static constexpr std::uint32_t at_journal = 14;  //!< options_disagree of `restore`: not a cloud's journal
  static constexpr std::uint32_t at_check_bits = 15;
  static constexpr std::uint32_t at_noise = 16;  //!< unknown
  //! a null pointer (invalid_argument), or a table of another vocabulary (vocabulary_mismatch)
  static constexpr std::uint32_t at_priors = 17;
};

SPECVERIFY_NAMESPACE_END

#endif
