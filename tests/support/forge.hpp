// SPDX-License-Identifier: Apache-2.0
// Changes a message so that its checksum, if it has one, is correct again.
#ifndef SPECVERIFY_TESTS_SUPPORT_FORGE_HPP
#define SPECVERIFY_TESTS_SUPPORT_FORGE_HPP

#include <specverify/codec/message.hpp>
#include <specverify/core/numeric.hpp>

#include <cstddef>
#include <span>

namespace specverify_test {

//! Changes bit `bit` of a message. The check of a steady message does not cover its content; hello and refuse get a new
//! header. `answered`: the hello that a refusal names. Returns false and changes nothing if the bit is in the header.
inline bool forge(std::span<std::byte> message, const specverify::hello_name& answered, std::size_t bit) {
  namespace sv = specverify;
  const auto kind = sv::kind_of(message);
  const std::size_t byte = bit / 8;
  const bool hello = kind.ok() && *kind == sv::message_kind::hello;
  const bool headed = hello || (kind.ok() && *kind == sv::message_kind::refuse);
  if (!kind || byte >= message.size() || (headed && byte < sv::message_header_bytes)) return false;
  message[byte] ^= static_cast<std::byte>(1u << bit % 8);
  if (!headed) return true;
  sv::detail::hello_head head{answered};
  if (hello) head = sv::detail::load_head(message, sv::detail::hello_head_at);
  static_cast<void>(sv::detail::end_headed(*kind, head, message.size(), message));
  return true;
}

}  // namespace specverify_test

#endif
