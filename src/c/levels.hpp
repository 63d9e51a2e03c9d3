// SPDX-License-Identifier: Apache-2.0
// What is built once a level, and the table through which it is called (docs/algorithms/level.md).
#ifndef SPECVERIFY_SRC_C_LEVELS_HPP
#define SPECVERIFY_SRC_C_LEVELS_HPP

#include "options.hpp"

#include <specverify/core/level.hpp>

namespace specverify_c {

// core.hpp
struct law_order;
struct verify_order;

struct level_calls {
  sv::result<specverify_edge*> (*make_edge)(const sv::edge_options& options, const named_system& system,
                                            const memory_hooks& memory) noexcept;
  sv::result<specverify_cloud*> (*make_cloud)(const sv::cloud_options& options, const memory_hooks& memory) noexcept;
  sv::result<sv::law> (*make_law)(const law_order& order, std::span<std::byte> space) noexcept;
  sv::result<sv::verdict> (*verify)(const verify_order& order, std::span<std::byte> space) noexcept;
};

// The edges have a unit of their own: they are the largest code of the library.
[[nodiscard]] sv::result<specverify_edge*> make_edge(const sv::edge_options& options, const named_system& system,
                                                     const memory_hooks& memory) noexcept;

// An object behind the hooks that its memory came from.
template <class Object>
struct placed {
  memory_hooks hooks;
  alignas(Object) std::byte space[sizeof(Object)];
};

// Makes one of these arguments. Its `why()` says whether it may be kept.
template <class Object, class... Arguments>
[[nodiscard]] sv::result<Object*> place(const memory_hooks& given, Arguments&&... arguments) noexcept {
  using block = placed<Object>;
  constexpr sv::status no_memory{sv::errc::out_of_memory, sv::part::host, 0};
  void* const memory = given.allocate(given.self, sizeof(block), alignof(block));
  if (memory == nullptr) return no_memory;
  block* const made = ::new (memory) block;
  made->hooks = given;
  const making_scope scope(&made->hooks);
  Object* const object = ::new (static_cast<void*>(made->space)) Object(arguments...);  // a result: nothing is thrown
  const sv::status why = object->why();
  if (why.ok()) return object;
  object->~Object();
  given.deallocate(given.self, memory, sizeof(block), alignof(block));
  return why;
}

// Ends an object that `place` made.
template <class Object>
void unplace(Object* object) noexcept {
  using block = placed<Object>;
  auto* const space = reinterpret_cast<std::byte*>(object);
  auto* const made = reinterpret_cast<block*>(space - offsetof(block, space));
  const memory_hooks hooks = made->hooks;
  object->~Object();
  hooks.deallocate(hooks.self, made, sizeof(block), alignof(block));
}

template <class Scalar>
[[nodiscard]] sv::row_view<Scalar> view_of(const specverify_row& row) noexcept {
  const auto kind = row.probabilities != 0 ? sv::row_kind::probabilities : sv::row_kind::logits;
  return {kind, static_cast<const Scalar*>(row.data), row.size, row.valid_size, row.stride};
}

// What no row may be in any session.
[[nodiscard]] constexpr sv::status check_row(const specverify_row& row) noexcept {
  if (row.data == nullptr && row.size > 0) return {sv::errc::null_span, sv::part::host, 0};
  if (row.scalar > SPECVERIFY_BFLOAT16) return {sv::errc::invalid_argument, sv::part::host, row.scalar};
  return {};
}

}  // namespace specverify_c

#endif
