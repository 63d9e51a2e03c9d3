// SPDX-License-Identifier: Apache-2.0
//! Defines the attachments of a draft message: skipped tokens, the state of the channel, hidden states, and
//! probabilities.
//!
//! The edge committed skipped tokens without verification; the drafts follow them in the text. A message can also have
//! the probability of each draft in the drafter's row. Both sides agree on the attachments in the hello message. With
//! `attachment_format{}` a message has no attachment and no extra byte.
//! Paper:      skipped tokens and probabilities: CU-HLM (arXiv 2505.11788); channel state and hidden states: WISV
//!             (2604.17701).
//! Symbols:    d = hidden_size, L = drafts of the message, x_d = probability of a draft in the drafter's row.
//! Guarantees: noexcept, no allocation. Canonical: if a received channel state is encoded again, the bytes are the
//!             same. The error is at most 0.7 % for a rate of 1 Mbit/s, at most 2^-11 for a round trip of at least
//!             2^-14 s (both relative), and at most 2^-32 for x_d, which is never sent as 0.
//! Deviates:   the papers' message sizes include neither the ids of skipped tokens nor the channel state.
//! Cost:       O(bytes).
//! See:        docs/algorithms/draft_attachments.md, docs/wire-format.md, tests/unit/codec/draft_attachments_test.cpp
#ifndef SPECVERIFY_CODEC_DRAFT_ATTACHMENTS_HPP
#define SPECVERIFY_CODEC_DRAFT_ATTACHMENTS_HPP

#include <specverify/codec/hidden_code.hpp>
#include <specverify/core/numeric.hpp>
#include <specverify/core/views.hpp>

#include <cmath>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

inline constexpr std::uint32_t max_wire_hidden_size = std::uint32_t{1} << 16;
inline constexpr std::uint32_t max_wire_skipped = std::uint32_t{1} << 16;
inline constexpr std::size_t channel_report_bytes = 10;
inline constexpr std::size_t drafted_probability_bytes = 4;
inline constexpr std::uint32_t drafted_probability_unit = std::uint32_t{1} << 31;  //!< encoding of x_d = 1

struct attachment_format {
  // values of `where` for a field that fails a check
  static constexpr std::uint32_t at_hidden_size = 0, at_hidden = 1, at_hidden_with_draft = 2, at_channel_report = 3,
                                 at_max_skipped = 4, at_resolution_with_draft = 5, at_drafted_probability = 6;
  std::uint32_t hidden_size = 0;  //!< d, numbers per drafted position, 0..2^16; must be 0 exactly if hidden is none
  hidden_format hidden = hidden_format::none;
  //! FH: each draft message carries the vectors of all drafts; false: sent on request (SH, lazy)
  bool hidden_with_draft = false;
  bool channel_report = false;    //!< each draft message carries the state of the edge's channel
  std::uint32_t max_skipped = 0;  //!< maximum skipped ids per message, 0..2^16
  //! each draft message announces the resolution of the distributions, 1..wire_format::resolution; lattices only
  bool resolution_with_draft = false;
  //! drafts are drawn from the row itself, and each is sent with its probability in that row; top_k_tail only
  bool drafted_probability = false;
  friend SPECVERIFY_INLINE constexpr bool operator==(const attachment_format&,
                                                     const attachment_format&) noexcept = default;
};

struct channel_report {
  // values of `where` for a number that cannot be sent
  static constexpr std::uint32_t at_uplink_rate = 0, at_downlink_rate = 1, at_uplink_loss = 2, at_downlink_loss = 3,
                                 at_round_trip = 4;
  float uplink_rate = 0;    //!< bit/s, 0..10^38
  float downlink_rate = 0;  //!< bit/s, 0..10^38
  float uplink_loss = 0;    //!< packet error rate, [0, 1)
  float downlink_loss = 0;  //!< packet error rate, [0, 1)
  float round_trip = 0;     //!< s, 0..65504
};

struct draft_attachments {
  std::span<const token_id> skipped{};  //!< skipped tokens in text order
  channel_report channel{};             //!< ignored without attachment_format::channel_report
  std::span<const std::byte> hidden{};  //!< L vectors of hidden_bytes bytes if hidden_with_draft, otherwise empty
  //! resolution of the distributions; 0: wire_format::resolution. Ignored without resolution_with_draft
  std::uint32_t resolution = 0;
  //! x_d of the L drafts, drafted_probability_bytes each, if drafted_probability; otherwise empty
  std::span<const std::byte> probabilities{};
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the size in bytes of one position's vector.
[[nodiscard]] constexpr std::size_t hidden_bytes(const attachment_format& format) noexcept {
  return hidden_bytes(format.hidden, format.hidden_size);
}

//! Checks an attachment format. Errors: invalid_argument; `where` = attachment_format::at_hidden_size or another
//! constant of this type.
[[nodiscard]] constexpr status check(const attachment_format& format) noexcept {
  if (format.hidden_size > max_wire_hidden_size)
    return detail::codec_error(errc::invalid_argument, format.at_hidden_size);
  if (format.hidden > hidden_format::int8 || (format.hidden == hidden_format::none) != (format.hidden_size == 0))
    return detail::codec_error(errc::invalid_argument, format.at_hidden);
  if (format.hidden_with_draft && format.hidden == hidden_format::none)
    return detail::codec_error(errc::invalid_argument, format.at_hidden_with_draft);
  if (format.max_skipped > max_wire_skipped) return detail::codec_error(errc::invalid_argument, format.at_max_skipped);
  return {};
}

namespace detail {

inline constexpr std::uint32_t largest_rate_half = 0x50c0;  // 38

[[nodiscard]] inline status check_channel_half(std::uint32_t half, std::uint32_t field) noexcept {
  if (!numeric::is_finite_half(half)) return codec_error(errc::value_not_finite, field);
  const std::uint32_t largest = field < 2   ? largest_rate_half
                                : field < 4 ? half_of_one - 1
                                            : numeric::half_infinity - 1;
  return half > largest ? codec_error(errc::field_out_of_range, field) : status{};  // a sign makes a large pattern
}

}  // namespace detail

//! Writes channel_report_bytes bytes.
//! Errors: output_too_small; value_not_finite, field_out_of_range (a negative number, a loss of 1 or more, a rate above
//!         10^38, more than 65504 s), `where` = channel_report::at_uplink_rate or another constant of this type.
[[nodiscard]] inline result<std::span<std::byte>> encode_channel_report(const channel_report& value,
                                                                        std::span<std::byte> out) noexcept {
  if (out.size() < channel_report_bytes) return detail::codec_error(errc::output_too_small, channel_report_bytes);
  const float fields[5] = {value.uplink_rate, value.downlink_rate, value.uplink_loss, value.downlink_loss,
                           value.round_trip};
  std::uint32_t halves[5] = {};
  for (std::uint32_t i = 0; i < 5; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(fields[i]);
    if (!numeric::is_finite(std::bit_cast<float>(bits))) return detail::codec_error(errc::value_not_finite, i);
    if (bits == 0x80000000u) continue;  // -0
    if (bits > 0x80000000u || (i >= 2 && i < 4 && bits >= 0x3f800000u))
      return detail::codec_error(errc::field_out_of_range, i);
    const auto sent =
        i < 2 ? static_cast<float>(std::log1p(static_cast<double>(fields[i])) * 0.43429448190325182765) : fields[i];
    halves[i] = numeric::float_bits_to_half(std::bit_cast<std::uint32_t>(sent));
    if (i >= 2 && i < 4 && halves[i] == detail::half_of_one) halves[i] -= 1;  // a loss just below 1 would round to 1
    if (halves[i] >= numeric::half_infinity) return detail::codec_error(errc::field_out_of_range, i);
    if (const status why = detail::check_channel_half(halves[i], i); !why.ok()) return why;
  }
  for (std::size_t i = 0; i < 5; ++i) numeric::store_le(out.data() + 2 * i, halves[i], 2);
  return out.first(channel_report_bytes);
}

//! Reads channel_report_bytes bytes. Errors: size_mismatch; value_not_finite, field_out_of_range (`where` as for
//! encode_channel_report).
[[nodiscard]] inline result<channel_report> decode_channel_report(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != channel_report_bytes) return detail::codec_error(errc::size_mismatch, bytes.size());
  float fields[5] = {};
  for (std::uint32_t i = 0; i < 5; ++i) {
    const auto half = static_cast<std::uint32_t>(numeric::load_le(bytes.data() + 2 * i, 2));
    if (const status why = detail::check_channel_half(half, i); !why.ok()) return why;
    const float sent = std::bit_cast<float>(numeric::half_to_float_bits(half));
    fields[i] = i < 2 ? static_cast<float>(std::expm1(static_cast<double>(sent) * 2.30258509299404568402)) : sent;
  }
  return channel_report{fields[0], fields[1], fields[2], fields[3], fields[4]};
}

//! Writes x_d = count / resolution in drafted_probability_bytes bytes. Errors: output_too_small; invalid_resolution (0,
//! or below the count).
[[nodiscard]] inline result<std::span<std::byte>> encode_drafted_probability(std::uint32_t count,
                                                                             std::uint32_t resolution,
                                                                             std::span<std::byte> out) noexcept {
  if (out.size() < drafted_probability_bytes)
    return detail::codec_error(errc::output_too_small, drafted_probability_bytes);
  if (resolution == 0 || count > resolution) return detail::codec_error(errc::invalid_resolution, resolution);
  const std::uint64_t units = (std::uint64_t{count} * drafted_probability_unit + resolution / 2) / resolution;
  numeric::store_le(out.data(), units > 0 ? units : 1, drafted_probability_bytes);
  return out.first(drafted_probability_bytes);
}

//! Returns x_d in units of 1 / drafted_probability_unit. Errors: size_mismatch; probability_out_of_range.
[[nodiscard]] inline result<std::uint32_t> decode_drafted_probability(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != drafted_probability_bytes) return detail::codec_error(errc::size_mismatch, bytes.size());
  const auto units = static_cast<std::uint32_t>(numeric::load_le(bytes.data(), drafted_probability_bytes));
  if (units == 0 || units > drafted_probability_unit) return detail::codec_error(errc::probability_out_of_range, 0);
  return units;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
