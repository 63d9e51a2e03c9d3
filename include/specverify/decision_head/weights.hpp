// SPDX-License-Identifier: Apache-2.0
//! Reads and writes a decision head as a safetensors file: four float32 tensors, and the training setup as metadata.
//!
//! Paper:      arXiv 2604.17701 (WISV), section on the head; the file format is ours.
//! Format:     tensors, little endian, for width w and d_in inputs: first (w x d_in), first_bias (w), second (w),
//!             second_bias (1). Metadata: format, mode, drafter_size, target_size, width, channel_mean, channel_scale
//!             (five numbers, separated by spaces), threshold.
//! Guarantees: a head that is written and read again has the same bits. Keys and tensors may be in any order, but every
//!             defect is an error. Writing does not allocate; a `decision_head` owns copies of the weights.
//! See:        docs/algorithms/weights.md, tests/unit/decision_head/weights_test.cpp
#ifndef SPECVERIFY_DECISION_HEAD_WEIGHTS_HPP
#define SPECVERIFY_DECISION_HEAD_WEIGHTS_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/decision_head/detail/header_text.hpp>
#include <specverify/decision_head/mlp.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::string_view head_file_format = "specverify.decision_head.1";
inline constexpr std::array<std::string_view, 4> head_tensor_names{"first", "first_bias", "second", "second_bias"};
inline constexpr std::array<std::string_view, 8> head_field_names{
    "format", "mode", "drafter_size", "target_size", "width", "channel_mean", "channel_scale", "threshold"};
inline constexpr std::array<std::string_view, 3> head_tensor_keys{"dtype", "shape", "data_offsets"};
inline constexpr std::array<std::string_view, 2> hidden_mode_names{"predicting", "consuming"};

[[nodiscard]] inline std::array<std::size_t, 4> tensor_sizes(const head_shape& shape) noexcept {
  return {shape.width * shape.input_size(), shape.width, shape.width, 1};
}

inline void write_head_header(const head_weights& head, header_writer& out) noexcept {
  out.text(R"({"__metadata__":{"format":")").text(head_file_format).text(R"(","mode":")");
  out.text(hidden_mode_names[static_cast<std::size_t>(head.shape.mode)]);
  out.text(R"(","drafter_size":")")
      .number(head.shape.drafter_size)
      .text(R"(","target_size":")")
      .number(head.shape.target_size);
  out.text(R"(","width":")").number(head.shape.width).text(R"(","channel_mean":")");
  for (std::size_t i = 0; i < channel_feature_count; ++i) out.text(i == 0 ? "" : " ").number(head.channel.mean[i]);
  out.text(R"(","channel_scale":")");
  for (std::size_t i = 0; i < channel_feature_count; ++i) out.text(i == 0 ? "" : " ").number(head.channel.scale[i]);
  out.text(R"(","threshold":")").number(head.threshold).text("\"}");
  const std::array<std::size_t, 4> sizes = tensor_sizes(head.shape);
  std::size_t offset = 0;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    out.text(",\"").text(head_tensor_names[t]).text(R"(":{"dtype":"F32","shape":[)");
    if (t == 0) {
      out.number(head.shape.width).text(",").number(head.shape.input_size());
    } else {
      out.number(sizes[t]);
    }
    out.text(R"(],"data_offsets":[)").number(offset).text(",").number(offset + 4 * sizes[t]).text("]}");
    offset += 4 * sizes[t];
  }
  out.text("}");
  while (out.size() % 8 != 0) out.text(" ");
}

//! One tensor in a header.
struct head_tensor {
  bool seen = false;
  bool is_float = false;
  std::array<std::uint64_t, 2> shape{};
  std::size_t dimensions = 0;
  std::array<std::uint64_t, 2> offsets{};
};

struct head_header {
  std::array<head_tensor, 4> tensors{};
  std::array<std::string_view, 8> fields{};
  std::array<bool, 8> seen{};
};

template <std::size_t Count>
[[nodiscard]] constexpr std::size_t index_of(const std::array<std::string_view, Count>& names,
                                             std::string_view name) noexcept {
  std::size_t index = 0;
  while (index < Count && names[index] != name) ++index;
  return index;
}

//! Reads the type, shape and position of one tensor. Returns nothing if this part of the header is malformed.
[[nodiscard]] inline std::optional<head_tensor> read_head_tensor(header_reader& reader) noexcept {
  head_tensor into{.seen = true};
  std::array<bool, 3> given{};
  const bool whole = reader.object([&](std::string_view key) {
    const std::size_t which = index_of(head_tensor_keys, key);
    if (which == given.size() || std::exchange(given[which], true)) return false;
    if (key == "dtype") {
      const auto type = reader.string();
      into.is_float = type == "F32";
      return type.has_value();
    }
    const auto count = reader.numbers(key == "shape" ? into.shape : into.offsets);
    if (key == "shape" && count) into.dimensions = *count;
    return count && (key == "shape" || *count == 2);
  });
  return whole ? std::optional(into) : std::nullopt;
}

[[nodiscard]] inline result<head_header> read_head_header(std::string_view text) noexcept {
  head_header out;
  header_reader reader(text);
  bool unknown = false;
  const auto field = [&](std::string_view key) {
    const std::size_t index = index_of(head_field_names, key);
    unknown = index == out.fields.size();
    if (unknown || out.seen[index]) return false;
    out.seen[index] = true;
    const auto value = reader.string();
    if (value) out.fields[index] = *value;
    return value.has_value();
  };
  bool metadata = false;
  const bool read = reader.object([&](std::string_view key) {
    if (key == "__metadata__") {
      if (metadata) return false;
      metadata = true;
      return reader.object(field);
    }
    const std::size_t index = index_of(head_tensor_names, key);
    unknown = index == out.tensors.size();
    if (unknown || out.tensors[index].seen) return false;
    const std::optional<head_tensor> tensor = read_head_tensor(reader);
    if (tensor) out.tensors[index] = *tensor;
    return tensor.has_value();
  });
  if (!read || !reader.ended()) return head_error(unknown ? errc::weights_unknown : errc::weights_header, reader.at());
  return out;
}

//! Reads the fields of a head from the metadata, without the arrays.
[[nodiscard]] inline result<head_weights> read_head_fields(const head_header& header) noexcept {
  head_weights out;
  for (std::size_t i = 0; i < header.seen.size(); ++i) {
    if (!header.seen[i]) return head_error(errc::weights_missing, 10 + i);
  }
  const auto bad = [](std::size_t index) { return head_error(errc::weights_metadata, 10 + index); };
  if (header.fields[0] != head_file_format) return bad(0);
  const std::size_t mode = index_of(hidden_mode_names, header.fields[1]);
  if (mode == hidden_mode_names.size()) return bad(1);
  out.shape.mode = static_cast<hidden_mode>(mode);
  if (!read_numbers(header.fields[2], std::span(&out.shape.drafter_size, 1))) return bad(2);
  if (!read_numbers(header.fields[3], std::span(&out.shape.target_size, 1))) return bad(3);
  if (!read_numbers(header.fields[4], std::span(&out.shape.width, 1))) return bad(4);
  if (const status why = check(out.shape); !why.ok()) return bad(1 + why.where);
  if (!read_numbers<float>(header.fields[5], out.channel.mean)) return bad(5);
  if (!read_numbers<float>(header.fields[6], out.channel.scale)) return bad(6);
  for (const float mean : out.channel.mean) {
    if (!numeric::is_finite(mean)) return bad(5);
  }
  if (!check(out.channel).ok()) return bad(6);
  if (!read_numbers(header.fields[7], std::span(&out.threshold, 1))) return bad(7);
  if (!numeric::is_finite(out.threshold) || out.threshold < 0) return bad(7);
  return out;
}

//! Checks that the tensors are floats of the sizes in the metadata, and together cover all `data_size` bytes.
[[nodiscard]] inline status check_head_tensors(const head_header& header, const head_shape& shape,
                                               std::size_t data_size) noexcept {
  const std::array<std::size_t, 4> sizes = tensor_sizes(shape);
  std::uint64_t total = 0;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    const head_tensor& found = header.tensors[t];
    if (!found.seen) return head_error(errc::weights_missing, t);
    const bool right_shape =
        t == 0 ? found.dimensions == 2 && found.shape[0] == shape.width && found.shape[1] == shape.input_size()
               : found.dimensions == 1 && found.shape[0] == sizes[t];
    if (!found.is_float || !right_shape || found.offsets[1] < found.offsets[0] ||
        found.offsets[1] - found.offsets[0] != 4 * sizes[t])
      return head_error(errc::weights_shape, t);
    total += 4 * sizes[t];
  }
  if (data_size < total) return head_error(errc::truncated, data_size);
  if (data_size > total) return head_error(errc::trailing_bytes, static_cast<std::size_t>(total));
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    const auto& [first, last] = header.tensors[t].offsets;
    if (last > total) return head_error(errc::weights_shape, t);
    for (std::size_t u = 0; u < t; ++u) {
      if (first < header.tensors[u].offsets[1] && header.tensors[u].offsets[0] < last)
        return head_error(errc::weights_shape, t);
    }
  }
  return {};
}

}  // namespace detail

//! Returns the size in bytes of a head's file.
[[nodiscard]] inline std::size_t head_file_size(const head_weights& head) noexcept {
  detail::header_writer counter({});
  detail::write_head_header(head, counter);
  return static_cast<std::size_t>((saturating(4) * parameter_count(head.shape) + counter.size() + 8).value);
}

//! Writes a head to the front of `out` and returns the written part.
//! Errors: as for check(head_weights); output_too_small (`where` = bytes needed).
[[nodiscard]] inline result<std::span<std::byte>> write_head(const head_weights& head,
                                                             std::span<std::byte> out) noexcept {
  if (const status why = check(head); !why.ok()) return why;
  const std::size_t size = head_file_size(head), data = 4 * parameter_count(head.shape);
  if (out.size() < size) return detail::head_error(errc::output_too_small, size);
  numeric::store_le(out.data(), size - data - 8, 8);
  detail::header_writer header(out.subspan(8, size - data - 8));
  detail::write_head_header(head, header);
  std::byte* to = out.data() + (size - data);
  for (const std::span<const float> values :
       {head.first, head.first_bias, head.second, std::span<const float>(&head.second_bias, 1)}) {
    for (const float value : values) {
      numeric::store_le(to, std::bit_cast<std::uint32_t>(value), 4);
      to += 4;
    }
  }
  return out.first(size);
}

//! A head that owns the weights, so it stays valid after the file or the arrays are gone.
class decision_head {
 public:
  //! Reads a file.
  //! Errors: truncated, trailing_bytes; weights_header, weights_unknown (`where` = byte of the header); weights_shape
  //!         (`where` = tensor, 0..3, in the order of the head of this file); weights_metadata (`where` = 10..17, the
  //!         field in this order); weights_missing (`where` = tensor or field); value_not_finite.
  [[nodiscard]] static result<decision_head> make(std::span<const std::byte> file) noexcept {
    if (file.size() < 8) return detail::head_error(errc::truncated, file.size());
    const std::uint64_t length = numeric::load_le(file.data(), 8);
    if (length > file.size() - 8) return detail::head_error(errc::truncated, 8);
    const std::span<const std::byte> text = file.subspan(8, static_cast<std::size_t>(length)),
                                     data = file.subspan(8 + static_cast<std::size_t>(length));
    const auto header =
        detail::read_head_header(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
    if (!header) return header.error();
    const auto fields = detail::read_head_fields(*header);
    if (!fields) return fields.error();
    if (const status why = detail::check_head_tensors(*header, fields->shape, data.size()); !why.ok()) return why;
    decision_head made;
    made.head_ = *fields;
    const std::array<std::size_t, 4> sizes = detail::tensor_sizes(made.head_.shape);
    made.values_.reserve(parameter_count(made.head_.shape));
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      const std::byte* at = data.data() + header->tensors[t].offsets[0];
      for (std::size_t i = 0; i < sizes[t]; ++i, at += 4)
        made.values_.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(numeric::load_le(at, 4))));
    }
    if (const status why = check(made.view()); !why.ok()) return why;
    return made;
  }

  //! Copies a head. Errors: as for check(head_weights).
  [[nodiscard]] static result<decision_head> make(const head_weights& head) noexcept {
    if (const status why = check(head); !why.ok()) return why;
    decision_head made;
    made.head_ = head;
    for (const std::span<const float> values :
         {head.first, head.first_bias, head.second, std::span<const float>(&head.second_bias, 1)}) {
      made.values_.insert(made.values_.end(), values.begin(), values.end());
    }
    return made;
  }

  //! Returns a view, valid as long as this object.
  [[nodiscard]] head_weights view() const noexcept {
    head_weights out = head_;
    const std::array<std::size_t, 4> sizes = detail::tensor_sizes(head_.shape);
    const std::span<const float> all(values_);
    out.first = all.subspan(0, sizes[0]);
    out.first_bias = all.subspan(sizes[0], sizes[1]);
    out.second = all.subspan(sizes[0] + sizes[1], sizes[2]);
    out.second_bias = values_.back();
    return out;
  }

  //! Sets tau. Errors: invalid_argument (NaN, infinite or negative).
  [[nodiscard]] status set_threshold(double threshold) noexcept {
    if (!numeric::is_finite(threshold) || threshold < 0) return detail::head_error(errc::invalid_argument, 13);
    head_.threshold = threshold;
    return {};
  }

 private:
  decision_head() noexcept = default;
  head_weights head_{};  // its spans are not used
  std::vector<float> values_{};
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
