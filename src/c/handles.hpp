// SPDX-License-Identifier: Apache-2.0
// What the functions of both handles do alike. No handle is an error, and a struct is written as its caller knows it.
#ifndef SPECVERIFY_SRC_C_HANDLES_HPP
#define SPECVERIFY_SRC_C_HANDLES_HPP

#include "convert.hpp"

namespace specverify_c {

inline constexpr sv::status no_handle = refused(sv::errc::null_span);

// The status of work(handle).
template <class Handle, class Work>
[[nodiscard]] specverify_status with(Handle* handle, Work&& work) noexcept {
  return to_c(handle == nullptr ? no_handle : work(*handle));
}

// No output is taken that has no room.
template <class Handle>
[[nodiscard]] specverify_status next_of(Handle* handle, specverify_output* output) noexcept {
  return with(handle, [&](Handle& its) {
    const sv::status room = give(specverify_output{}, output);
    return room.ok() ? give(to_c(its.next()), output) : room;
  });
}

template <class Handle>
[[nodiscard]] const int32_t* text_of(const Handle* handle, std::size_t* count, std::size_t* prompt_length) noexcept {
  const auto text = handle == nullptr ? std::span<const sv::token_id>{} : handle->text();
  if (count != nullptr) *count = text.size();
  if (prompt_length != nullptr) *prompt_length = handle == nullptr ? 0 : handle->prompt_length();
  return text.data();
}

}  // namespace specverify_c

#endif
