// SPDX-License-Identifier: Apache-2.0
//! Computes the bits that each method sends on the uplink and the downlink, either by the papers' formulas or with
//! every field that a receiver needs.
//!
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605); Conformal Sparsification (arXiv 2510.09942) eq. (5);
//!             CU-HLM (arXiv 2505.11788) II-B; WISV (arXiv 2604.17701) eqs. (3)-(5), (7)-(9), which we reconstructed
//!             because our text of the paper has no formulas (docs/errata.md).
//! Symbols:    L = draft_length; l = resolution; K = support_size; M = mismatches; C(n, k) = binomial; b_tok =
//!             ceil(log2 V); B_h = d_D b_e, the bits of a hidden vector. FH sends all hidden vectors at once, SH only
//!             requested ones. The comments of the fields define the other symbols.
//! Guarantees: O(1), no allocation, noexcept; results saturate at 2^64 - 1. Call `check` first, because the formulas
//!             need a valid format.
//! Deviates:   QS: the bits of a distribution are counted for each of the L tokens, and the feedback has L + 1 values.
//!             HLM and WISV: the papers omit ids and counts that a receiver needs, but `bit_accounting::wire` includes
//!             them.
//! See:        docs/algorithms/payload.md, tests/unit/link/payload_test.cpp (T14)
#ifndef SPECVERIFY_LINK_PAYLOAD_HPP
#define SPECVERIFY_LINK_PAYLOAD_HPP

#include <specverify/codec/bit_cost.hpp>
#include <specverify/core/numeric.hpp>
#include <specverify/core/status.hpp>

#include <algorithm>
#include <cstdint>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! Bits to count: only the terms of the paper's formula as printed, or every field that a receiver needs.
enum class bit_accounting : std::uint8_t { paper = 0, wire = 1 };

//! HLM and related methods: probabilities with ids, one draft per round.
struct hlm_format {
  std::uint32_t vocab_size = 32000;  //!< V, in [1, 2^24]
  std::uint32_t value_bits = 8;      //!< b_prob, in [1, 64]
  //! maximum skipped tokens in one upload; the length field costs ceil(log2(max_skipped + 1)) bits
  std::uint32_t max_skipped = 512;
};

//! One upload of the HLM family.
struct hlm_upload {
  std::uint32_t support_size = 32000;  //!< k in [1, V]; V: the full distribution
  bool announced = false;              //!< whether k is sent, because it varies between tokens (online)
  bool draft_in_support = true;        //!< whether the draft token is one of the k tokens
  std::uint32_t skipped = 0;           //!< tokens committed by the device since the last upload, in [0, max_skipped]
};

//! WISV: ids, hidden vectors on demand, greedy verification.
struct wisv_format {
  std::uint32_t vocab_size = 128256;    //!< V, in [1, 2^24]
  std::uint32_t hidden_size = 2048;     //!< d_D, or the width of the split head, in [1, 2^24]
  std::uint32_t element_bits = 16;      //!< b_e, in [1, 64]
  std::uint32_t law_value_bits = 16;    //!< bits of a full distribution's value (rejection baseline), in [1, 64]
  std::uint32_t uplink_overhead = 0;    //!< O_u, framing bits per message
  std::uint32_t downlink_overhead = 0;  //!< O_d, framing bits per message
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

[[nodiscard]] constexpr bool is_width(std::uint32_t bits) noexcept { return bits >= 1 && bits <= 64; }
[[nodiscard]] constexpr status payload_error(errc code, std::uint32_t where) noexcept {
  return {code, part::link, where};
}
[[nodiscard]] constexpr status check_vocabulary(std::uint32_t vocab_size) noexcept {
  if (vocab_size == 0) return payload_error(errc::empty_vocabulary, 0);
  if (vocab_size > (std::uint32_t{1} << 24)) return payload_error(errc::vocabulary_too_large, 0);
  return {};
}

}  // namespace detail

//! Checks a format. Errors (`where` = index of the field, from 0): empty_vocabulary, vocabulary_too_large,
//! invalid_argument.
[[nodiscard]] constexpr status check(const hlm_format& format) noexcept {
  if (const status why = detail::check_vocabulary(format.vocab_size); !why.ok()) return why;
  return detail::is_width(format.value_bits) ? status{} : detail::payload_error(errc::invalid_argument, 1);
}
//! Checks an upload. Errors: as for the format; invalid_argument (`where` = index of the field, from 0: k outside [1,
//! V], a draft outside the full distribution, more skipped tokens than the format allows).
[[nodiscard]] constexpr status check(const hlm_format& format, const hlm_upload& upload) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (upload.support_size == 0 || upload.support_size > format.vocab_size)
    return detail::payload_error(errc::invalid_argument, 0);
  if (!upload.draft_in_support && upload.support_size == format.vocab_size)
    return detail::payload_error(errc::invalid_argument, 2);
  return upload.skipped <= format.max_skipped ? status{} : detail::payload_error(errc::invalid_argument, 3);
}
//! Checks a format. Errors (`where` = index of the field, from 0): empty_vocabulary, vocabulary_too_large,
//! invalid_argument.
[[nodiscard]] constexpr status check(const wisv_format& format) noexcept {
  if (const status why = detail::check_vocabulary(format.vocab_size); !why.ok()) return why;
  if (format.hidden_size == 0 || format.hidden_size > (std::uint32_t{1} << 24))
    return detail::payload_error(errc::invalid_argument, 1);
  if (!detail::is_width(format.element_bits)) return detail::payload_error(errc::invalid_argument, 2);
  return detail::is_width(format.law_value_bits) ? status{} : detail::payload_error(errc::invalid_argument, 3);
}

//! QS: returns the uplink bits of a round, L (ceil(log2 V) + ceil(log2 C(l+V-1, V-1))). Wire: plus the number of the
//! action (L, l), one of `actions`.
[[nodiscard]] inline std::uint64_t qs_uplink_bits(std::uint32_t draft_length, std::uint32_t vocab_size,
                                                  std::uint32_t resolution,
                                                  bit_accounting accounting = bit_accounting::paper,
                                                  std::uint32_t actions = 22) noexcept {
  return (saturating(draft_length) * dense_token_bits(vocab_size, resolution) +
          (accounting == bit_accounting::wire ? ceil_log2(actions) : 0))
      .value;
}

//! K-SQS: returns the uplink bits of one token. Wire: plus the draft token's index in the support.
[[nodiscard]] inline double k_sqs_token_bits(std::uint32_t vocab_size, std::uint32_t support_size,
                                             std::uint32_t resolution,
                                             bit_accounting accounting = bit_accounting::paper) noexcept {
  return top_k_law_bits(vocab_size, support_size, resolution) +
         (accounting == bit_accounting::wire ? index_bits(support_size) : 0);
}
//! C-SQS: returns the uplink bits of one token, including K.
[[nodiscard]] inline double c_sqs_token_bits(std::uint32_t vocab_size, std::uint32_t support_size,
                                             std::uint32_t resolution,
                                             bit_accounting accounting = bit_accounting::paper) noexcept {
  return threshold_law_bits(vocab_size, support_size, resolution) +
         (accounting == bit_accounting::wire ? index_bits(support_size) : 0);
}

//! HLM: returns the bits of a probability and its id, b_prob + ceil(log2 V).
[[nodiscard]] constexpr std::uint64_t hlm_entry_bits(const hlm_format& format) noexcept {
  return std::uint64_t{format.value_bits} + token_bits(format.vocab_size);
}
//! HLM, U-HLM: returns the bits of the full distribution as the paper counts them, V (b_prob + ceil(log2 V)).
[[nodiscard]] constexpr std::uint64_t hlm_full_bits(const hlm_format& format) noexcept {
  return (saturating(format.vocab_size) * hlm_entry_bits(format)).value;
}
//! CU-HLM: returns the bits of k entries as the paper counts them.
[[nodiscard]] constexpr std::uint64_t hlm_compressed_bits(const hlm_format& format,
                                                          std::uint32_t support_size) noexcept {
  return (saturating(support_size) * hlm_entry_bits(format)).value;
}
//! Returns the bits of an upload. Paper: only the k entries. Wire: also the draft (an index into the entries, or a
//! separate entry), k if it varies, and the skipped ids with their number.
[[nodiscard]] constexpr std::uint64_t hlm_uplink_bits(const hlm_format& format, const hlm_upload& upload,
                                                      bit_accounting accounting = bit_accounting::wire) noexcept {
  const saturating entries = hlm_compressed_bits(format, upload.support_size);
  if (accounting == bit_accounting::paper) return entries.value;
  const std::uint64_t draft = upload.draft_in_support ? index_bits(upload.support_size) : hlm_entry_bits(format);
  const std::uint64_t size = upload.announced ? token_bits(format.vocab_size) : 0;
  const std::uint64_t ids = std::uint64_t{upload.skipped} * token_bits(format.vocab_size);
  return (entries + draft + size + ids + ceil_log2(std::uint64_t{format.max_skipped} + 1)).value;
}
//! Returns the bits of the response to an upload, which is the final token. Paper: 0, because the paper does
//! not count the response.
[[nodiscard]] constexpr std::uint64_t hlm_downlink_bits(const hlm_format& format,
                                                        bit_accounting accounting = bit_accounting::wire) noexcept {
  return accounting == bit_accounting::wire ? token_bits(format.vocab_size) : 0;
}

//! WISV (3): returns the bits of one hidden vector, d_D b_e.
[[nodiscard]] constexpr std::uint64_t wisv_hidden_bits(const wisv_format& format) noexcept {
  return std::uint64_t{format.hidden_size} * format.element_bits;
}
//! WISV (4): returns the bits of the feedback, ceil(log2(L + 1)) + ceil(log2 V) + O_d.
[[nodiscard]] constexpr std::uint64_t wisv_feedback_bits(const wisv_format& format,
                                                         std::uint32_t draft_length) noexcept {
  return std::uint64_t{downlink_bits(draft_length, format.vocab_size)} + format.downlink_overhead;
}
//! WISV (5): returns the bits of ids and every hidden vector (FH), L (b_tok + B_h) + O_u.
[[nodiscard]] constexpr std::uint64_t wisv_full_upload_bits(const wisv_format& format,
                                                            std::uint32_t draft_length) noexcept {
  const saturating each = saturating(wisv_hidden_bits(format)) + token_bits(format.vocab_size);
  return (each * draft_length + format.uplink_overhead).value;
}
//! WISV (7): returns the bits of only the ids, L b_tok + O_u: the first upload of SH, and the only upload of greedy
//! decoding.
[[nodiscard]] constexpr std::uint64_t wisv_token_upload_bits(const wisv_format& format,
                                                             std::uint32_t draft_length) noexcept {
  return std::uint64_t{draft_length} * token_bits(format.vocab_size) + format.uplink_overhead;
}
//! WISV (8): returns the bits of the request for M hidden vectors, M ceil(log2(L + 1)) + O_d. Wire: plus M, or a bitmap
//! of L bits if that is shorter (the kind of request is in the header, O_d).
[[nodiscard]] constexpr std::uint64_t wisv_request_bits(const wisv_format& format, std::uint32_t draft_length,
                                                        std::uint32_t mismatches,
                                                        bit_accounting accounting = bit_accounting::paper) noexcept {
  const std::uint64_t place = ceil_log2(std::uint64_t{draft_length} + 1), list = mismatches * place;
  return (accounting == bit_accounting::paper ? list : std::min<std::uint64_t>(list + place, draft_length)) +
         format.downlink_overhead;
}
//! WISV (9): returns the bits of the M requested hidden vectors, M B_h + O_u.
[[nodiscard]] constexpr std::uint64_t wisv_selected_upload_bits(const wisv_format& format,
                                                                std::uint32_t mismatches) noexcept {
  return (saturating(mismatches) * wisv_hidden_bits(format) + format.uplink_overhead).value;
}
//! Baseline with rejection sampling: returns the bits of ids and full distributions, L (b_tok + law_value_bits V) +
//! O_u.
[[nodiscard]] constexpr std::uint64_t reject_upload_bits(const wisv_format& format,
                                                         std::uint32_t draft_length) noexcept {
  const saturating law = full_law_bits(format.vocab_size, format.law_value_bits);
  return ((law + token_bits(format.vocab_size)) * draft_length + format.uplink_overhead).value;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
