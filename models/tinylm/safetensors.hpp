// SPDX-License-Identifier: Apache-2.0
//! Reads safetensors files of F16 and F32 tensors. Strict: names every defect, never reads outside the bytes it was
//! given.
#ifndef SPECVERIFY_EXAMPLES_TINYLM_SAFETENSORS_HPP
#define SPECVERIFY_EXAMPLES_TINYLM_SAFETENSORS_HPP

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "outcome.hpp"

namespace tinylm {

struct tensor {
  std::vector<std::size_t> shape;
  std::vector<float> values;  //!< row major
};

struct tensor_file {
  std::map<std::string, tensor> tensors;
  std::map<std::string, std::string> metadata;
};

[[nodiscard]] inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half} >> 15 << 31;
  const std::uint32_t exponent = (std::uint32_t{half} >> 10) & 31;
  const std::uint32_t fraction = half & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -small : small;
}

//! `bytes` is a whole file: header length (8 bytes, little endian), JSON header, data without gaps or overlaps.
[[nodiscard]] inline outcome<tensor_file> parse_safetensors(std::span<const std::uint8_t> bytes) {
  using bad = outcome<tensor_file>;
  if (bytes.size() < 8) return bad::failure("safetensors: shorter than its header length");
  std::uint64_t header_size = 0;
  for (std::size_t i = 0; i < 8; ++i) header_size |= std::uint64_t{bytes[i]} << (8 * i);
  if (header_size > bytes.size() - 8 || header_size > (1u << 20))
    return bad::failure("safetensors: header length beyond the file");
  const auto text = bytes.subspan(8, static_cast<std::size_t>(header_size));
  const auto data = bytes.subspan(8 + static_cast<std::size_t>(header_size));
  const nlohmann::json header = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!header.is_object()) return bad::failure("safetensors: header is no JSON object");

  tensor_file file;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (!entry.is_object()) return bad::failure("safetensors: " + name + " is no JSON object");
    if (name == "__metadata__") {
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return bad::failure("safetensors: metadata " + key + " is no string");
        file.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    const auto type = entry.find("dtype");
    const auto shape = entry.find("shape");
    const auto offsets = entry.find("data_offsets");
    if (type == entry.end() || !type->is_string() || shape == entry.end() || !shape->is_array() ||
        offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 || !(*offsets)[0].is_number_unsigned() ||
        !(*offsets)[1].is_number_unsigned()) {
      return bad::failure("safetensors: " + name + " lacks dtype, shape or data_offsets");
    }
    const bool half = *type == "F16";
    if (!half && *type != "F32") return bad::failure("safetensors: " + name + " is neither F16 nor F32");
    const std::size_t width = half ? 2 : 4;
    tensor parsed;
    std::size_t count = 1;
    for (const auto& extent : *shape) {
      if (!extent.is_number_unsigned()) return bad::failure("safetensors: " + name + " has a bad shape");
      const auto length = extent.get<std::uint64_t>();
      if (length == 0 || length > data.size() / width / count)
        return bad::failure("safetensors: " + name + " has a shape beyond the file");
      count *= static_cast<std::size_t>(length);
      parsed.shape.push_back(static_cast<std::size_t>(length));
    }
    const auto first = (*offsets)[0].get<std::uint64_t>();
    const auto last = (*offsets)[1].get<std::uint64_t>();
    if (first > last || last > data.size() || last - first != count * width) {
      return bad::failure("safetensors: " + name + " has data_offsets that do not fit its shape or the file");
    }
    parsed.values.resize(count);
    const std::uint8_t* from = data.data() + first;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t bits = 0;
      for (std::size_t b = 0; b < width; ++b) bits |= std::uint32_t{from[i * width + b]} << (8 * b);
      parsed.values[i] = half ? half_to_float(static_cast<std::uint16_t>(bits)) : std::bit_cast<float>(bits);
    }
    ranges.emplace_back(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
    file.tensors.emplace(name, std::move(parsed));
  }
  std::sort(ranges.begin(), ranges.end());
  std::size_t end = 0;
  for (const auto& [first, last] : ranges) {
    if (first != end) return bad::failure("safetensors: tensors overlap or leave a gap");
    end = last;
  }
  if (end != data.size()) return bad::failure("safetensors: bytes after the last tensor");
  return file;
}

}  // namespace tinylm

#endif  // SPECVERIFY_EXAMPLES_TINYLM_SAFETENSORS_HPP
