// SPDX-License-Identifier: Apache-2.0
// A message that was changed and given a valid checksum again.
#ifndef SPECVERIFY_TESTS_SUPPORT_FORGE_HPP
#define SPECVERIFY_TESTS_SUPPORT_FORGE_HPP

#include <specverify/codec/message.hpp>
#include <specverify/core/numeric.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace specverify_test {

//! Changes bit `bit` of a message and makes its checksum right again; `contexts`: those that it may have been sent
//! under, the latest last. False, and nothing is changed: it was under none, or the bit is one of the checksum's.
inline bool forge(std::span<std::byte> message, std::span<const specverify::wire_context> contexts, std::size_t bit) {
  namespace sv = specverify;
  const auto header = sv::peek_header(message);
  const std::size_t byte = bit / 8;
  if (!header || byte >= message.size() || (byte >= 4 && byte < 8)) return false;
  const bool hello = header->kind == sv::message_kind::hello;
  const bool greets = hello || header->kind == sv::message_kind::resume;
  sv::wire_context under{};
  if (!greets) {
    const auto found = std::find_if(contexts.rbegin(), contexts.rend(), [&](const sv::wire_context& one) {
      return sv::message_checksum(one, message) == header->checksum;
    });
    if (found == contexts.rend()) return false;
    under = *found;
  }
  message[byte] ^= static_cast<std::byte>(1u << bit % 8);
  if (greets) {
    under = sv::detail::load_context(message, hello ? 10 : 8);
    sv::numeric::store_le(message.data() + 1, under.round, 1);
    sv::numeric::store_le(message.data() + 2, under.base_length, 2);
  }
  sv::numeric::store_le(message.data() + 4, sv::message_checksum(under, message), 4);
  return true;
}

}  // namespace specverify_test

#endif
