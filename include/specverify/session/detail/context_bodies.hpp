// SPDX-License-Identifier: Apache-2.0
//! Whose message it is: what reads messages.
#ifndef SPECVERIFY_SESSION_DETAIL_CONTEXT_BODIES_HPP
#define SPECVERIFY_SESSION_DETAIL_CONTEXT_BODIES_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/detail/contexts.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] SPECVERIFY_BODY bool belongs_to(const wire_context& context, std::span<const std::byte> message,
                                              const message_header& header) noexcept {
  return (context.round & 0xFFu) == header.round_low && (context.base_length & 0xFFFFu) == header.base_length_low &&
         message_checksum(context, message) == header.checksum;
}

[[nodiscard, gnu::cold]] SPECVERIFY_BODY result<std::span<std::byte>> encode_refusal(
    const wire_context& context, status reason, std::span<std::byte> out) noexcept {
  const auto bytes = encode_refuse(context, {reason}, out);
  return bytes ? bytes : encode_refuse(context, {{errc::engine_failed, part::host, 0}}, out);
}

[[nodiscard]] SPECVERIFY_BODY result<wire_context> greeting_context(std::span<const std::byte> message,
                                                                    message_kind kind) noexcept {
  if (kind == message_kind::hello) {
    const result<hello_message> hello = decode_hello(message);
    if (!hello) return hello.error();
    return hello->context;
  }
  const result<resume_message> resume = decode_resume(message);
  if (!resume) return resume.error();
  return resume->context;
}

[[nodiscard]] SPECVERIFY_BODY wire_context named_by(std::span<const std::byte> message, message_kind kind) noexcept {
  return load_context(message,
                      message_header_bytes + (kind == message_kind::hello ? sizeof(hello_message::version) : 0));
}

SPECVERIFY_BODY const wire_context* context_memory::find_end(std::span<const std::byte> message,
                                                             const message_header& header) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (belongs_to(end_of(contexts_[i]), message, header)) return &contexts_[i];
  }
  return nullptr;
}

SPECVERIFY_BODY const wire_context* context_memory::find(std::span<const std::byte> message,
                                                         const message_header& header) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (belongs_to(contexts_[i], message, header)) return &contexts_[i];
  }
  return nullptr;
}

}  // namespace detail

[[nodiscard]] SPECVERIFY_BODY result<std::uint64_t> session_of(std::span<const std::byte> message) noexcept {
  const result<message_header> header = peek_header(message);
  if (!header) return header.error();
  if (header->kind != message_kind::hello && header->kind != message_kind::resume)
    return status{errc::unexpected_message, part::session, 0};
  const result<wire_context> context = detail::greeting_context(message, header->kind);
  if (!context) return context.error();
  return context->session_id;
}

SPECVERIFY_NAMESPACE_END

#endif
