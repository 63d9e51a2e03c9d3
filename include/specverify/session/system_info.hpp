// SPDX-License-Identifier: Apache-2.0
//! Describes a method: its name, its settings with their ranges, and its shape (format, guarantee, requirements).
//! session/systems.hpp lists all methods.
//!
//! Cost: O(letters); no allocation.
//! See: docs/algorithms/systems.md, tests/unit/session/system_info_test.cpp
#ifndef SPECVERIFY_SESSION_SYSTEM_INFO_HPP
#define SPECVERIFY_SESSION_SYSTEM_INFO_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/core/detail/decimal.hpp>
#include <specverify/session/output.hpp>

#include <span>
#include <string_view>

SPECVERIFY_TYPES_BEGIN

//! A setting and its value. The value of a switch is 0 or 1.
struct setting {
  std::string_view name{};
  double value = 0;
};

//! Description of a setting.
struct setting_info {
  std::string_view name{};
  double least = 0, most = 0;  //!< range
  double usual = 0;            //!< default; if it is below the range, the setting is required
  bool whole = false;          //!< must be a whole number
  std::string_view meaning{};

  [[nodiscard]] SPECVERIFY_INLINE constexpr bool must_be_given() const noexcept { return usual < least; }
};

struct system_info {
  std::string_view name{};
  std::string_view sentence{};
  guarantee strength = guarantee::lossy;  //!< guarantee of the text with default settings
  bool greedy = false;                    //!< the text is the target's greedy text or, for WISV, close to it
  bool needs_attention = false;           //!< the drafter's engine must return attention rows
  bool needs_hidden_states = false;       //!< both engines must return hidden states
  bool needs_head = false;                //!< the cloud's host must score mismatches with a decision head
  bool needs_network = false;             //!< the edge's host must supply the weights of a trained network
  std::span<const setting_info> settings{};
};

//! Properties of a method with particular settings.
struct system_shape {
  wire_format format{};  //!< format of the draft messages
  wire_rule rule = wire_rule::token;
  session_mode mode = session_mode::draft;
  guarantee strength = guarantee::lossy;  //!< guarantee of the text
  bool bonus = true;
  bool draw_from_row = false;
  bool gates = false;              //!< the edge may skip tokens: commit them without the cloud
  bool needs_uncertainty = false;  //!< the skip policy measures the drafter's uncertainty
  bool plans_rounds = false;       //!< the window may change L or l from round to round
  bool chooses_support = false;    //!< the number of tokens per distribution may change
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns whether two names are equal apart from hyphens and underscores.
[[nodiscard]] constexpr bool same_name(std::string_view a, std::string_view b) noexcept {
  const auto is_mark = [](char letter) { return letter == '-' || letter == '_'; };
  std::size_t i = 0, j = 0;
  for (;; ++i, ++j) {
    while (i < a.size() && is_mark(a[i])) ++i;
    while (j < b.size() && is_mark(b[j])) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (a[i] != b[j]) return false;
  }
}

//! Parses a setting such as "support_size=32". The returned name points into `text`. Errors: invalid_argument (not
//! name=number).
[[nodiscard]] inline result<setting> setting_from(std::string_view text) noexcept {
  const std::size_t equals = text.find('=');
  const auto value = equals == text.npos ? std::nullopt : detail::number_from<double>(text.substr(equals + 1));
  if (!value || equals == 0) return status{errc::invalid_argument, part::session, 0};
  return setting{text.substr(0, equals), *value};
}

SPECVERIFY_NAMESPACE_END

#endif
