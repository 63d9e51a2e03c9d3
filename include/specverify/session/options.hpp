// SPDX-License-Identifier: Apache-2.0
//! What an edge and a cloud are made with.
//!
//! Use it where a host is configured and no session is made yet; edge.hpp and cloud.hpp include it.
//! See: docs/session.md, docs/algorithms/session.md, tests/unit/session/options_test.cpp
#ifndef SPECVERIFY_SESSION_OPTIONS_HPP
#define SPECVERIFY_SESSION_OPTIONS_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/row/transform.hpp>
#include <specverify/session/output.hpp>
#include <specverify/vocabulary/fingerprint.hpp>

#include <cstdint>
#include <span>

SPECVERIFY_TYPES_BEGIN

//! What the edge does while the link is lost.
enum class link_loss : std::uint8_t {
  wait,           //!< asks again until the retry limit
  stop,           //!< fails with link_lost; the journal goes on from there
  continue_local  //!< writes ahead of the cloud: tentative tokens, which are verified when the link is back
};

struct edge_options {
  std::uint64_t session_id = 1;  //!< unique for the cloud's secret: keys derive from it
  std::uint64_t secret = 0;      //!< of this device, not 0; never travels (docs/decisions/0003)
  draft_format format{};         //!< how laws travel; format.vocab_size must be set
  wire_rule rule = wire_rule::token;
  session_mode mode = session_mode::draft;
  vocabulary_fingerprint fingerprint{};
  double threshold = 0.5;  //!< wire_rule::semantic: told to the cloud; finite, >= 0
  //! a draft that stands whole is followed by the cloud's own token; false: the rounds of HLM
  bool bonus = true;
  row_transform transform{};             //!< temperature and truncation, told to the cloud; also sizes the workspace
  std::uint32_t max_text_length = 4096;  //!< tokens of prompt and text together
  std::uint32_t token_budget = 0;        //!< tokens to generate; 0: until max_text_length
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

  // `where` of what `make`, `start` and `restore` refuse
  static constexpr std::uint32_t at_max_text_length = 0;
  static constexpr std::uint32_t at_text_chunk = 1;
  static constexpr std::uint32_t at_retry_limit = 2;
  static constexpr std::uint32_t at_max_skipped = 3;
  static constexpr std::uint32_t at_support_size = 4;
  static constexpr std::uint32_t at_secret = 5;
  static constexpr std::uint32_t at_vocab_size = 6;
  static constexpr std::uint32_t at_format = 7;
  static constexpr std::uint32_t at_draw_from_row = 8;
  static constexpr std::uint32_t at_prompt = 9;
  static constexpr std::uint32_t at_truncation = 10;  //!< of a row that was supplied
};

struct cloud_options {
  std::uint64_t secret = 0;  //!< of this cloud, not 0; never travels (docs/decisions/0003)
  //! sizes the buffers: a hello whose laws need more is refused; vocab_size must be the models'
  draft_format largest{};
  vocabulary_fingerprint fingerprint{};
  guarantee required = guarantee::lossy;  //!< refuses drafts with less: guarantee_too_weak
  //! sizes the workspace: a hello or row with a truncation that needs more is refused; the rows bring their own (see
  //! cloud_session::transform)
  row_transform transform{};
  std::uint32_t max_text_length = 4096;     //!< tokens of prompt and text together
  std::span<const token_id> stop_tokens{};  //!< copied
  std::uint32_t trial_cap = 32;             //!< of token_rule
  std::uint32_t text_chunk = 256;           //!< tokens of one text message
  bool lazy = false;                        //!< semantic rule, hidden states on request: ask for one mismatch at a time

  // `where` of what `make` and `restore` refuse, and of the limit that a hello is beyond
  static constexpr std::uint32_t at_max_text_length = 0;
  static constexpr std::uint32_t at_text_chunk = 1;
  static constexpr std::uint32_t at_trial_cap = 2;
  static constexpr std::uint32_t at_max_skipped = 3;
  static constexpr std::uint32_t at_support_size = 4;  //!< listed ids of all laws of a message
  static constexpr std::uint32_t at_secret = 5;
  static constexpr std::uint32_t at_vocab_size = 6;
  static constexpr std::uint32_t at_max_draft_length = 7;
  static constexpr std::uint32_t at_hidden_size = 8;
  static constexpr std::uint32_t at_pad_to = 9;
  static constexpr std::uint32_t at_truncation = 10;  //!< also of a row that was supplied
  static constexpr std::uint32_t at_format = 11;
};

SPECVERIFY_TYPES_END

#endif
