// SPDX-License-Identifier: Apache-2.0
//! Parses ids and ports, which must have only decimal digits and no leading zeros.
#ifndef EDGE_CLOUD_WHOLE_NUMBER_HPP
#define EDGE_CLOUD_WHOLE_NUMBER_HPP

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace edge_cloud {

//! Returns nothing if the text is empty, has other characters than digits, has a leading zero, or is 2^64 or more. So
//! each number has only one text; for example, `05` is not the device 5.
[[nodiscard]] inline std::optional<std::uint64_t> whole_number_from(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const char* const behind = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), behind, value);
  const bool padded = text.size() > 1 && text.front() == '0';
  if (error != std::errc{} || end != behind || padded) return std::nullopt;
  return value;
}

}  // namespace edge_cloud

#endif
