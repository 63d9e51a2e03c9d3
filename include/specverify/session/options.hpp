// SPDX-License-Identifier: Apache-2.0
//! What an edge and a cloud are made with.
//!
//! Use it where a host is configured and no session is made yet; edge.hpp and cloud.hpp include it.
//! See: docs/algorithms/options.md, tests/unit/session/options_test.cpp
#ifndef SPECVERIFY_SESSION_OPTIONS_HPP
#define SPECVERIFY_SESSION_OPTIONS_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/core/secret.hpp>
#include <specverify/row/transform.hpp>
#include <specverify/session/output.hpp>
#include <specverify/vocabulary/fingerprint.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>

SPECVERIFY_TYPES_BEGIN

//! What the edge does while the link is lost.
enum class link_loss : std::uint8_t {
  wait,           //!< until `reconnect`
  stop,           //!< fails with link_lost; the journal goes on from there
  continue_local  //!< writes ahead of the cloud: tentative tokens, which are verified when the link is back
};

//! Whether an edge journals a round's draft before it sends it. A restarted edge sends a journaled draft again; without
//! one it takes the text of a cloud that decided the round, and drafts a round that is open afresh.
enum class draft_journaling : std::uint8_t {
  automatic,  //!< where the record has no more than `automatic_draft_record` bytes
  always,
  never
};
inline constexpr std::uint32_t automatic_draft_record = 4096;  //!< bytes

//! As check_bits of options: 8 where `generate` or `serve` see that the transport delivers in order and whole; else 16.
inline constexpr std::uint8_t automatic_check = 255;

struct edge_options {
  std::uint64_t session_id = 1;          //!< unique for the device's secret: the keys of its draws derive from it
  session_secret secret{};               //!< of this device; must be set; never travels (docs/decisions/0003)
  std::uint32_t vocab_size = 0;          //!< V of the models, 1..2^24; must be set, and the cloud's is the same
  row_transform transform{};             //!< temperature and truncation, told to the cloud; also sizes the workspace
  std::uint32_t token_budget = 0;        //!< tokens to generate; 0: until max_text_length
  std::uint32_t max_text_length = 4096;  //!< tokens of prompt and text together
  law_format format = law_format::sparse_drop_zero;  //!< of the laws; their K is the sparsifier's, L and l the window's
  //! of the drafts; a session sets resolution_with_draft and drafted_probability itself
  attachment_format attachments{};
  std::uint32_t pad_to = 1;  //!< messages are padded with zeros to a multiple of this many bytes, 1..2^16 (1: off)
  wire_rule rule = wire_rule::token;
  session_mode mode = session_mode::draft;
  vocabulary_fingerprint fingerprint{};
  double threshold = 0.5;  //!< wire_rule::semantic: told to the cloud; finite, >= 0
  //! a draft that stands whole is followed by the cloud's own token; false: the rounds of HLM
  bool bonus = true;
  //! top_k_tail: tokens are drawn from the whole row and tested against their probability there, which travels with
  //! them, as in the paper; only rejections see the law: lossy
  bool draw_from_row = false;
  std::span<const token_id> stop_tokens{};  //!< copied
  //! microseconds until an answer is given up, and hands are shaken again; 0: never: the host says that the connection
  //! is lost
  session_time retry_timeout = 0;
  std::uint32_t retry_limit = 64;  //!< handshakes without progress before peer_timeout
  //! of the check of each message that is not a hello: 0, 8 or 16; the larger one of both sides counts
  std::uint8_t check_bits = automatic_check;
  //! of the nonces of hellos: another one for each process, where messages outlive the process (a broker); 0: made of
  //! secret, session and time
  std::uint64_t salt = 0;
  std::uint32_t text_chunk = 256;  //!< tokens of one text message, of either side; 1 or more
  link_loss on_link_loss = link_loss::wait;
  std::uint32_t max_ahead = 64;  //!< continue_local: tokens written beyond the drafts of the open round
  draft_journaling journal_drafts = draft_journaling::automatic;

  // `where` of what `make_edge`, `start` and `restore` refuse
  static constexpr std::uint32_t at_max_text_length = 0;
  static constexpr std::uint32_t at_text_chunk = 1;
  static constexpr std::uint32_t at_retry_limit = 2;
  static constexpr std::uint32_t at_max_skipped = 3;
  static constexpr std::uint32_t at_support_size = 4;  //!< of `restore`, as at_max_draft_length and at_resolution
  static constexpr std::uint32_t at_secret = 5;
  static constexpr std::uint32_t at_vocab_size = 6;
  static constexpr std::uint32_t at_format = 7;
  static constexpr std::uint32_t at_draw_from_row = 8;
  static constexpr std::uint32_t at_prompt = 9;
  static constexpr std::uint32_t at_truncation = 10;  //!< of a row that was supplied
  static constexpr std::uint32_t at_max_draft_length = 11;
  static constexpr std::uint32_t at_resolution = 12;
  static constexpr std::uint32_t at_sparsifier = 14;  //!< options_disagree: no law of the format lists a support
  static constexpr std::uint32_t at_transform = 15;   //!< invalid_temperature or invalid_truncation
  static constexpr std::uint32_t at_threshold = 16;   //!< wire_rule::semantic: not finite, or negative
  // options_disagree of `restore`: other than when the journal began; so are K, L and l above
  static constexpr std::uint32_t at_session_id = 17;
  static constexpr std::uint32_t at_rule = 18;
  static constexpr std::uint32_t at_mode = 19;
  static constexpr std::uint32_t at_bonus = 20;
  static constexpr std::uint32_t at_token_budget = 21;  //!< or max_text_length, where that ends the text
  static constexpr std::uint32_t at_fingerprint = 22;
  static constexpr std::uint32_t at_check_bits = 23;
};

//! What a cloud takes from any edge. The limits size its buffers; a hello beyond one of them is refused by its name.
//! The defaults serve every edge with default options; `cloud_session::limits_for` gives those of another format.
struct cloud_limits {
  std::uint32_t max_draft_length = 8;          //!< drafts of a message, 1..4096
  std::uint32_t max_law_entries = 4096;        //!< ids that all laws of a message list, 1 or more
  std::uint32_t max_skipped = 0;               //!< ids of a message that the edge committed alone, 0..2^16
  std::uint32_t max_hidden_bytes = 0;          //!< hidden states of all drafts of a message
  std::uint32_t max_message_bytes = 1u << 14;  //!< any message of either side, padding included
  friend SPECVERIFY_INLINE constexpr bool operator==(const cloud_limits&, const cloud_limits&) noexcept = default;
};

//! The larger of each limit, which serves both.
[[nodiscard]] SPECVERIFY_INLINE constexpr cloud_limits larger(cloud_limits a, const cloud_limits& b) noexcept {
  for (const auto limit : {&cloud_limits::max_draft_length, &cloud_limits::max_law_entries, &cloud_limits::max_skipped,
                           &cloud_limits::max_hidden_bytes, &cloud_limits::max_message_bytes})
    if (a.*limit < b.*limit) a.*limit = b.*limit;
  return a;
}

struct cloud_options {
  session_secret secret{};  //!< of this cloud; must be set; never travels (docs/decisions/0003)
  //! another one for each session, not 0, from the system's random source (`salt_from`); a restored session has the
  //! journal's, and none travels (docs/decisions/0014)
  std::uint64_t salt = 0;
  std::uint32_t vocab_size = 0;  //!< V of the models, 1..2^24; must be set, and each edge's is the same
  //! sizes the workspace: a hello or row with a truncation that needs more is refused; the rows bring their own (see
  //! cloud_session::transform)
  row_transform transform{};
  cloud_limits limits{};
  std::uint32_t max_text_length = 4096;   //!< tokens of prompt and text together
  guarantee required = guarantee::lossy;  //!< refuses drafts with less: guarantee_too_weak
  vocabulary_fingerprint fingerprint{};
  std::span<const token_id> stop_tokens{};  //!< copied
  std::uint32_t trial_cap = 32;             //!< of token_rule
  std::uint32_t text_chunk = 256;           //!< tokens of one text message at most: the edge says how many
  bool lazy = false;                        //!< semantic rule, hidden states on request: ask for one mismatch at a time
  std::uint8_t check_bits = automatic_check;  //!< as edge_options::check_bits

  // `where` of what `make_cloud` and `restore` refuse, and of the limit that a hello is beyond
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
  static constexpr std::uint32_t at_truncation = 10;  //!< also of a row that was supplied
  static constexpr std::uint32_t at_format = 11;
  static constexpr std::uint32_t at_transform = 12;  //!< invalid_temperature or invalid_truncation
  static constexpr std::uint32_t at_salt = 13;
  static constexpr std::uint32_t at_journal = 14;  //!< options_disagree of `restore`: the journal is not a cloud's
  static constexpr std::uint32_t at_check_bits = 15;
};

SPECVERIFY_TYPES_END

#endif
