// SPDX-License-Identifier: Apache-2.0
// Options of the C headers, checked and in the library's types.
#ifndef SPECVERIFY_SRC_C_OPTIONS_HPP
#define SPECVERIFY_SRC_C_OPTIONS_HPP

#include "convert.hpp"

#include <specverify/session/systems.hpp>

#include <array>
#include <string_view>

namespace specverify_c {

// A system as a caller names it.
struct named_system {
  std::string_view name;
  std::array<sv::setting, 16> all;
  std::size_t count;

  [[nodiscard]] std::span<const sv::setting> settings() const noexcept { return std::span(all).first(count); }
};

// Errors: those of `taken`; null_span (no name; `where` = offset of a pointer that must be there), misaligned,
// unknown_setting (more settings than any system has).
[[nodiscard]] sv::result<named_system> system_of(const specverify_system* given) noexcept;
[[nodiscard]] sv::result<sv::edge_options> options_of(const specverify_edge_options* given) noexcept;
// With the limits that a system asks for, where one is given.
[[nodiscard]] sv::result<sv::cloud_options> options_of(const specverify_cloud_options* given,
                                                       const specverify_system* serves) noexcept;

}  // namespace specverify_c

#endif
