// SPDX-License-Identifier: Apache-2.0
// Options of the C headers, checked and in the library's types.
#ifndef SPECVERIFY_SRC_C_OPTIONS_HPP
#define SPECVERIFY_SRC_C_OPTIONS_HPP

#include "convert.hpp"
#include "systems.hpp"

namespace specverify_c {

struct named_system {
  specverify_system set;
  system_kind kind;
};

// Errors: those of `taken`; invalid_argument (`where` = offset of the name that is unknown, or of a field that the
// system has no use for).
[[nodiscard]] sv::result<named_system> system_of(const specverify_system* given) noexcept;
[[nodiscard]] sv::result<sv::edge_options> options_of(const specverify_edge_options* given) noexcept;
// With the limits that a system asks for, where one is given.
[[nodiscard]] sv::result<sv::cloud_options> options_of(const specverify_cloud_options* given,
                                                       const specverify_system* serves) noexcept;

}  // namespace specverify_c

#endif
