// SPDX-License-Identifier: Apache-2.0
// Defines the sessions and tables that the handles of the C interface refer to. The sessions and tables are the
// library's objects, in the host's memory. Sessions take rows whose scalar type is known only at run time. Only
// translation units that are built once per instruction-set level include this header.
#ifndef SPECVERIFY_SRC_C_SESSIONS_HPP
#define SPECVERIFY_SRC_C_SESSIONS_HPP

#include "levels.hpp"
#include "rows.hpp"

#include <specverify/session/systems.hpp>

namespace specverify_c {

// Returns the error that the callback for rows returned.
template <class Rows>
[[nodiscard]] sv::status why_failed(const Rows& rows) noexcept {
  if constexpr (requires { rows.failed(); }) return rows.failed();
  return {};
}

// Rows of one scalar type. A missing row or a row of a different type becomes an empty row, which the session rejects
// because of its size.
template <class Scalar, class Rows>
struct typed_rows {
  const Rows& rows;
  const any_row& first;  // must be present and have this scalar type

  [[nodiscard]] sv::row_view<Scalar> operator()(std::uint32_t index) const noexcept {
    const any_row its = index == 0 ? first : rows(index);
    return check_row(its.row).ok() && its.row.scalar == first.row.scalar ? view_of<Scalar>(its.row)
                                                                         : sv::row_view<Scalar>{};
  }
  [[nodiscard]] sv::row_transform transform(std::uint32_t index) const noexcept { return rows.transform(index); }
  [[nodiscard]] sv::status failed() const noexcept { return why_failed(rows); }
};

// Ends a session that waits for rows, because the row is unusable.
template <class Session>
[[nodiscard]] sv::status refuse_row(Session& session, sv::status wrong) noexcept {
  if (session.wants_rows()) (void)session.engine_failed(wrong);
  return wrong;
}

}  // namespace specverify_c

struct specverify_prior : specverify::prior_table {};

struct specverify_edge : specverify::edge_session {
  template <class Policy>
  [[nodiscard]] specverify::status supply_row(Policy policy, const specverify_c::any_row& given,
                                              const specverify::row_transform& transform,
                                              const specverify::row_extras& extras,
                                              specverify::session_time now) noexcept {
    specverify::status wrong = specverify_c::check_row(given.row);
    if (wrong.ok()) wrong = specverify_c::check_aligned(extras.hidden.data());
    if (wrong.ok()) wrong = specverify_c::check_aligned(extras.attention.data());
    if (!wrong.ok()) return specverify_c::refuse_row(*this, wrong);
    return specverify_c::with_scalar(given.row, [&]<class Scalar>(specverify::row_view<Scalar> row) {
      return edge_session::supply_row(policy, row, transform, extras, now);
    });
  }
};

struct specverify_cloud : specverify::cloud_session {
  template <class Policy, class Rows>
  [[nodiscard]] specverify::status supply_rows(Policy policy, const Rows& rows, specverify::session_time now) noexcept {
    if (rows.model.samples()) return specverify::detail::supply_tokens_of(*this, rows.model, now);
    if (!wants_rows()) return {specverify::errc::unexpected_message, specverify::part::session, 0};
    const specverify_c::any_row first = rows(0);
    specverify::status wrong = specverify_c::why_failed(rows);
    if (wrong.ok()) wrong = specverify_c::check_row(first.row);
    if (!wrong.ok()) return specverify_c::refuse_row(*this, wrong);
    return specverify_c::with_scalar(first.row, [&]<class Scalar>(specverify::row_view<Scalar>) {
      return cloud_session::supply_rows(policy, specverify_c::typed_rows<Scalar, Rows>{rows, first}, now);
    });
  }
};

namespace specverify_c {

// Returns the caller's hooks; null gives the C++ heap. Errors: as for `taken`; null_span.
[[nodiscard]] inline sv::result<specverify_allocator> hooks_of(const specverify_allocator* given) noexcept {
  specverify_allocator heap{};
  heap.allocate = [](void*, std::size_t size, std::size_t alignment) {
    return ::operator new (size, std::align_val_t{alignment}, std::nothrow);
  };
  heap.deallocate = [](void*, void* memory, std::size_t, std::size_t alignment) {
    ::operator delete (memory, std::align_val_t{alignment});
  };
  const auto set = given == nullptr ? sv::result(heap) : taken(given);
  const bool is_whole = !set || (set->allocate != nullptr && set->deallocate != nullptr);
  return is_whole ? set : refused(sv::errc::null_span);
}

// A session or a table, stored after the hooks that allocated its memory.
template <class Handle>
struct placed {
  specverify_allocator hooks;
  alignas(Handle) std::byte space[sizeof(Handle)];
};

// Creates the session or table that make() returns, in memory from the host's functions; if `memory` is null, on the
// C++ heap.
template <class Handle, class Make>
[[nodiscard]] specverify_status place(const specverify_allocator* memory, Handle** made, Make&& make) noexcept {
  using block = placed<Handle>;
  const auto hooks = hooks_of(memory);
  if (!hooks) return to_c(hooks.error());
  const specverify_allocator given = *hooks;
  void* const space = given.allocate(given.self, sizeof(block), alignof(block));
  if (space == nullptr) return to_c(refused(sv::errc::out_of_memory));
  block* const its = ::new (space) block;
  its->hooks = given;
  const making_scope scope(&its->hooks);
  auto its_value = make();  // a result, so it does not throw
  if (its_value.ok()) {
    *made = ::new (static_cast<void*>(its->space)) Handle{std::move(*its_value)};
  } else {
    given.deallocate(given.self, space, sizeof(block), alignof(block));
  }
  return to_c(its_value.error());
}

// Destroys an object that `place` created.
template <class Handle>
void destroy(Handle* handle) noexcept {
  if (handle == nullptr) return;
  using block = placed<Handle>;
  auto* const space = reinterpret_cast<std::byte*>(handle);
  auto* const made = reinterpret_cast<block*>(space - offsetof(block, space));
  const specverify_allocator hooks = made->hooks;
  handle->~Handle();
  hooks.deallocate(hooks.self, made, sizeof(block), alignof(block));
}

// Takes the next output of a session. Checks the size of `output` first, so that no output is lost.
template <class Handle>
[[nodiscard]] specverify_status next(Handle& handle, specverify_output* output) noexcept {
  const sv::status room = give(specverify_output{}, output);
  return to_c(room.ok() ? give(to_c(handle.next()), output) : room);
}

template <class Handle>
[[nodiscard]] const int32_t* text(const Handle* handle, std::size_t* count, std::size_t* prompt_length) noexcept {
  const auto its = handle == nullptr ? std::span<const sv::token_id>{} : handle->text();
  if (count != nullptr) *count = its.size();
  if (prompt_length != nullptr) *prompt_length = handle == nullptr ? 0 : handle->prompt_length();
  return its.data();
}

[[nodiscard]] inline specverify_status restored(const sv::result<sv::journal_reading>& read, size_t* kept) noexcept {
  if (read.ok() && kept != nullptr) *kept = read->valid_bytes;
  return to_c(read.error());
}

}  // namespace specverify_c

#endif
