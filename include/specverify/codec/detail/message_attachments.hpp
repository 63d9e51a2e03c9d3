// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes the fields that precede the drafts in a draft message: skipped ids, channel report, hidden
//! states, probabilities. Used by codec/message.hpp.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_ATTACHMENTS_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_ATTACHMENTS_HPP

#include <specverify/codec/bit_cost.hpp>
#include <specverify/codec/detail/message_fields.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns whether the attachments contain bytes for each draft.
[[nodiscard]] constexpr bool has_parts(const attachment_format& format) noexcept {
  return format.hidden_with_draft || format.drafted_probability;
}
//! Return the widths in bits of two fields: the number of skipped ids, and the number of drafts with bytes in the
//! attachments. The second field repeats the number of drafts, because a reader otherwise learns this number only while
//! it decodes the range code.
[[nodiscard]] constexpr unsigned skipped_width(const wire_format& format) noexcept {
  return ceil_log2(std::uint64_t{format.attachments.max_skipped} + 1);
}
[[nodiscard]] constexpr unsigned parts_width(const wire_format& format) noexcept {
  return has_parts(format.attachments) ? ceil_log2(std::uint64_t{format.max_draft_length} + 1) : 0;
}
[[nodiscard]] constexpr unsigned resolution_width(const wire_format& format) noexcept {
  return format.attachments.resolution_with_draft ? ceil_log2(format.resolution) : 0;
}
//! Returns the format of the distributions in one message.
[[nodiscard]] constexpr wire_format law_format_of(const wire_format& format, std::uint32_t resolution) noexcept {
  wire_format made = format;
  if (format.attachments.resolution_with_draft && resolution != 0) made.resolution = resolution;
  return made;
}
//! Returns the number of bits for the kind, the counts and the ids.
[[nodiscard]] constexpr std::uint64_t skipped_bits(const wire_format& format, std::uint64_t skipped) noexcept {
  return kind_bits + skipped_width(format) + parts_width(format) + resolution_width(format) +
         skipped * token_bits(format.vocab_size);
}
//! Returns whether attachments of whole bytes follow the bits.
[[nodiscard]] constexpr bool has_byte_attachments(const attachment_format& format) noexcept {
  return format.channel_report || has_parts(format);
}
//! Returns the number of bits before the drafts. Claims begin there; distributions begin at the next whole byte.
[[nodiscard]] constexpr std::uint64_t attachment_bits(const wire_format& format, std::uint64_t skipped,
                                                      std::uint64_t drafts) noexcept {
  const std::uint64_t bits = skipped_bits(format, skipped);
  if (!has_byte_attachments(format.attachments)) return bits;
  return 8 * (bits_to_bytes(bits) + (format.attachments.channel_report ? channel_report_bytes : 0) +
              (format.attachments.hidden_with_draft ? drafts * hidden_bytes(format.attachments) : 0) +
              (format.attachments.drafted_probability ? drafts * drafted_probability_bytes : 0));
}

//! Checks consecutive vectors; `where` = index of the vector.
[[nodiscard]] inline status check_vectors(const attachment_format& format, std::uint64_t count,
                                          std::span<const std::byte> bytes) noexcept {
  const std::size_t each = hidden_bytes(format);
  if (bytes.size() != count * each) return codec_error(errc::size_mismatch, bytes.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (const status why = check_hidden(bytes.subspan(i * each, each), format.hidden, format.hidden_size); !why.ok())
      return codec_error(why.code, i);
  }
  return {};
}

//! Checks consecutive probabilities; `where` = index of the probability.
[[nodiscard]] inline status check_probabilities(std::uint64_t count, std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != count * drafted_probability_bytes) return codec_error(errc::size_mismatch, bytes.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto read =
        decode_drafted_probability(bytes.subspan(i * drafted_probability_bytes, drafted_probability_bytes));
    if (!read) return codec_error(read.error().code, i);
  }
  return {};
}

[[nodiscard]] inline status check_attachments(const wire_format& format, const draft_attachments& attachments,
                                              std::uint64_t drafts) noexcept {
  if (attachments.skipped.size() > format.attachments.max_skipped)
    return codec_error(errc::message_too_large, attachments.skipped.size());
  for (std::size_t i = 0; i < attachments.skipped.size(); ++i) {
    if (attachments.skipped[i] < 0 || static_cast<std::uint32_t>(attachments.skipped[i]) >= format.vocab_size)
      return codec_error(errc::token_out_of_range, i);
  }
  if (format.attachments.resolution_with_draft && attachments.resolution > format.resolution)
    return codec_error(errc::invalid_resolution, attachments.resolution);
  std::byte report[channel_report_bytes];
  if (format.attachments.channel_report) {
    if (const auto written = encode_channel_report(attachments.channel, report); !written) return written.error();
  }
  const std::uint64_t vectors = format.attachments.hidden_with_draft ? drafts : 0;
  if (const status why = check_vectors(format.attachments, vectors, attachments.hidden); !why.ok()) return why;
  return check_probabilities(format.attachments.drafted_probability ? drafts : 0, attachments.probabilities);
}

//! Writes the kind and the attachments, which must have passed check_attachments. Returns the writer, so that the
//! drafts' bits can follow.
[[nodiscard]] inline bit_writer store_attachments(const wire_format& format, const draft_attachments& attachments,
                                                  std::uint64_t drafts, std::span<std::byte> out) noexcept {
  bit_writer bits(message_kind::draft, out);
  bits.put(attachments.skipped.size(), skipped_width(format));
  if (has_parts(format.attachments)) bits.put(drafts, parts_width(format));
  if (format.attachments.resolution_with_draft)
    bits.put(law_format_of(format, attachments.resolution).resolution - 1, resolution_width(format));
  for (const token_id token : attachments.skipped)
    bits.put(static_cast<std::uint32_t>(token), token_bits(format.vocab_size));
  if (!has_byte_attachments(format.attachments)) return bits;
  bits.finish();
  auto at = static_cast<std::size_t>(bits_to_bytes(skipped_bits(format, attachments.skipped.size())));
  if (format.attachments.channel_report) {
    (void)encode_channel_report(attachments.channel, out.subspan(at, channel_report_bytes));
    at += channel_report_bytes;
  }
  for (const std::span<const std::byte> parts : {attachments.hidden, attachments.probabilities}) {
    for (const std::byte part : parts) out[at++] = part;
  }
  return bit_writer(out.data() + at);
}

//! Reads and checks the attachments of a message. Nothing outside this object is written before `deliver`.
class attachment_reader {
 public:
  attachment_reader(const wire_format& format, std::span<const std::byte> message) noexcept
      : format_(format), message_(message) {}

  [[nodiscard]] status read(std::size_t room) noexcept {
    if (!has_bytes(bits_to_bytes(skipped_bits(format_, 0)), format_, message_))
      return codec_error(errc::truncated, message_.size());
    bit_reader bits(message_);
    skipped_ = bits.take(skipped_width(format_));
    parts_ = bits.take(parts_width(format_));
    if (format_.attachments.resolution_with_draft) resolution_ = bits.take(resolution_width(format_)) + 1;
    if (skipped_ > format_.attachments.max_skipped) return codec_error(errc::message_too_large, skipped_);
    if (parts_ > format_.max_draft_length) return codec_error(errc::draft_too_long, parts_);
    if (resolution_ > format_.resolution) return codec_error(errc::invalid_resolution, resolution_);
    end_bits_ = attachment_bits(format_, skipped_, parts_);
    if (!has_bytes(bits_to_bytes(end_bits_), format_, message_)) return codec_error(errc::truncated, message_.size());
    if (room < skipped_) return codec_error(errc::output_too_small, skipped_);
    for (std::uint32_t i = 0; i < skipped_; ++i) {
      if (bits.take(token_bits(format_.vocab_size)) >= format_.vocab_size)
        return codec_error(errc::token_out_of_range, i);
    }
    auto at = static_cast<std::size_t>(bits_to_bytes(skipped_bits(format_, skipped_)));
    const bool ends_here =
        carries_laws(format_.format) || format_.ids != id_code::plain || has_byte_attachments(format_.attachments);
    if (ends_here && !bits.rest_is_zero()) return codec_error(errc::padding_not_zero, at - 1);
    if (!has_byte_attachments(format_.attachments)) return {};
    if (format_.attachments.channel_report) {
      const result<channel_report> report = decode_channel_report(message_.subspan(at, channel_report_bytes));
      if (!report) return report.error();
      channel_ = *report;
      at += channel_report_bytes;
    }
    const std::uint32_t vectors = format_.attachments.hidden_with_draft ? parts_ : 0;
    hidden_ = message_.subspan(at, vectors * hidden_bytes(format_.attachments));
    probabilities_ = message_.subspan(at + hidden_.size(), end() - at - hidden_.size());
    if (const status why = check_vectors(format_.attachments, vectors, hidden_); !why.ok()) return why;
    return check_probabilities(format_.attachments.drafted_probability ? parts_ : 0, probabilities_);
  }

  //! Return the end of the attachments, in bits and in bytes. Plain claims begin at `end_bits`; distributions and ids
  //! coded by a table begin at `end`.
  [[nodiscard]] std::uint64_t end_bits() const noexcept { return end_bits_; }
  [[nodiscard]] std::size_t end() const noexcept { return static_cast<std::size_t>(bits_to_bytes(end_bits_)); }
  [[nodiscard]] std::uint32_t skipped() const noexcept { return skipped_; }
  [[nodiscard]] wire_format laws() const noexcept { return law_format_of(format_, resolution_); }
  //! Checks that a message with `drafts` drafts has an attachment part for each.
  [[nodiscard]] status fits(std::uint64_t drafts) const noexcept {
    return has_parts(format_.attachments) && drafts != parts_ ? codec_error(errc::size_mismatch, parts_) : status{};
  }
  //! Returns the attachments, and writes the skipped ids to the front of `skipped`.
  [[nodiscard]] draft_attachments deliver(std::span<token_id> skipped) const noexcept {
    bit_reader bits(message_);
    (void)bits.take(skipped_width(format_));
    (void)bits.take(parts_width(format_));
    (void)bits.take(resolution_width(format_));
    for (std::uint32_t i = 0; i < skipped_; ++i)
      skipped[i] = static_cast<token_id>(bits.take(token_bits(format_.vocab_size)));
    return {skipped.first(skipped_), channel_, hidden_, resolution_, probabilities_};
  }

 private:
  const wire_format& format_;
  std::span<const std::byte> message_;
  std::uint32_t skipped_ = 0;
  std::uint32_t parts_ = 0;       // drafts with a vector or a probability
  std::uint32_t resolution_ = 0;  // 0: not announced
  std::uint64_t end_bits_ = 0;
  channel_report channel_{};
  std::span<const std::byte> hidden_{};
  std::span<const std::byte> probabilities_{};
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
