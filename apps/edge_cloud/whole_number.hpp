// SPDX-License-Identifier: Apache-2.0
//! Ids and ports as they are written: decimal digits and nothing else.
#ifndef EDGE_CLOUD_WHOLE_NUMBER_HPP
#define EDGE_CLOUD_WHOLE_NUMBER_HPP

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace edge_cloud {

//! None: it is empty, holds anything but digits, or is 2^64 or more.
[[nodiscard]] inline std::optional<std::uint64_t> whole_number_from(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const char* const behind = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), behind, value);
  if (error != std::errc{} || end != behind) return std::nullopt;
  return value;
}

}  // namespace edge_cloud

#endif
