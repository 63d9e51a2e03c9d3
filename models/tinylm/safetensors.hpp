// SPDX-License-Identifier: Apache-2.0
//! Reads safetensors files of F16 and F32 tensors. It is strict: it has a message for every defect and never reads
//! outside the given bytes.
#ifndef SPECVERIFY_MODELS_TINYLM_SAFETENSORS_HPP
#define SPECVERIFY_MODELS_TINYLM_SAFETENSORS_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace tinylm {

struct tensor {
  std::vector<std::size_t> shape;
  std::vector<float> values;  //!< row-major
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

//! `bytes` must be a whole file: header length (8 bytes, little-endian), JSON header, data without gaps or overlaps.
[[nodiscard]] outcome<tensor_file> parse_safetensors(std::span<const std::uint8_t> bytes);

}  // namespace tinylm

#endif  // SPECVERIFY_MODELS_TINYLM_SAFETENSORS_HPP
