// SPDX-License-Identifier: Apache-2.0
//! Reads many rows in parallel, on a thread pool that the engine provides.
//!
//! Use it if a server reads the rows of many sessions in one step: `read_rows(exec::parallel(pool), ...)`. The pool is
//! a callable `pool(count, body)`. It must call body(i) once for each i below count, on any threads and in any order.
//! It must return only after all calls have returned, and must not throw.
//! Guarantees: readings and errors are the same for every pool, because one thread reads each row. O(rows * V) in
//!             total. No allocation, no new threads; noexcept.
//! See:        docs/algorithms/parallel.md, tests/unit/row/parallel_test.cpp, benchmarks/bench_parallel.cpp
#ifndef SPECVERIFY_ROW_PARALLEL_HPP
#define SPECVERIFY_ROW_PARALLEL_HPP

#include <specverify/row/reading.hpp>

SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! Argument of a pool in the concept below.
struct any_row_body {
  void operator()(std::uint32_t row) const noexcept;
};

//! One row of a batch while it is read: the row's part of the workspace, digest and status.
struct batch_row {
  row_digest digest{};
  status outcome{};
  std::size_t begin = 0;
  std::size_t bytes = 0;
};

//! Shifts the digest's offsets by `bytes`, for a workspace that is part of a larger one.
[[nodiscard]] inline row_digest moved_by(std::size_t bytes, row_digest digest) noexcept {
  const auto units = static_cast<std::uint32_t>(bytes / workspace_alignment);
  for (workspace_slice* slice : {&digest.lane_sums, &digest.block_sums, &digest.top_ids, &digest.top_weights,
                                 &digest.kept_ids, &digest.kept_weights, &digest.mark})
    slice->offset += units;
  return digest;
}

//! Makes a reading from a digest that `build_digest` made in a part of the workspace.
struct batch_reader {
  template <class Policy, class Scalar>
  [[nodiscard]] static result<row_reading<Policy, Scalar>> finish(const batch_row& read, Policy policy,
                                                                  row_view<Scalar> row, const row_transform& transform,
                                                                  workspace& scratch) noexcept {
    if (!read.outcome.ok()) return read.outcome;
    const row_summary summary = reading_access::summary(moved_by(read.begin, read.digest), scratch);
    return reading_access::reading(summary, policy, row, transform);
  }
};

}  // namespace detail

//! A callable pool(count, body) that calls body(i) for every i below count, and returns when all calls have returned.
template <class Pool>
concept row_pool = requires(const Pool& pool, const detail::any_row_body& body) {
  pool(std::uint32_t{1}, body);
};

namespace exec {

//! Runs the rows of a batch on the threads of a pool, each row under `policy`.
template <class Pool, class Policy = simd_policy>
struct parallel_policy {
  const Pool* pool = nullptr;
  [[no_unique_address]] Policy policy{};
};

//! `pool` must outlive the policy.
template <row_pool Pool, execution_policy Policy = simd_policy>
[[nodiscard]] constexpr parallel_policy<Pool, Policy> parallel(const Pool& pool, Policy policy = {}) noexcept {
  return {&pool, policy};
}
template <row_pool Pool, execution_policy Policy = simd_policy>
constexpr parallel_policy<Pool, Policy> parallel(const Pool&& pool, Policy policy = {}) = delete;

}  // namespace exec

//! Returns the bytes of workspace that `read_rows` on a pool needs for `rows` rows of at most `vocab_size` ids. Pure;
//! O(1).
[[nodiscard]] constexpr std::size_t read_rows_workspace_size(std::uint32_t rows, std::uint32_t vocab_size,
                                                             const row_transform& transform,
                                                             const read_request& request) noexcept {
  const std::size_t one = digest_workspace_size(vocab_size, transform, request);
  const saturating all = saturating(rows) * slice_bytes<std::byte>(one);
  return static_cast<std::size_t>((all + slice_bytes<detail::batch_row>(rows) + workspace_alignment).value);
}

//! Reads every row of a batch on the threads of a pool. Writes the readings to the front of `out` and returns that
//! part. If a row has an error, its entry is the status, and the other rows are still read. Each row with valid
//! arguments keeps `digest_workspace_size` bytes of the workspace, even if its reading needs less.
//! Errors: size_mismatch (the number of transforms is neither 1 nor the number of rows), output_too_small,
//!         workspace_too_small (`where` = the first row without space). On an error nothing is read.
template <row_pool Pool, execution_policy Policy, class Scalar>
[[nodiscard]] result<std::span<result<row_reading<Policy, Scalar>>>> read_rows(
    exec::parallel_policy<Pool, Policy> how, const row_batch<Scalar>& batch, const read_request& request,
    std::type_identity_t<std::span<result<row_reading<Policy, Scalar>>>> out, workspace& scratch) noexcept {
  const auto count = static_cast<std::uint32_t>(batch.rows.size());
  if (const status why = detail::check_batch(batch, out.size()); !why.ok()) return why;
  workspace_scope all(scratch);
  const auto rows = scratch.take<detail::batch_row>(count);
  if (!rows) return detail::row_error(errc::workspace_too_small, 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    const status why = detail::check_arguments(batch.rows[i], batch.transform(i));
    (*rows)[i] = {{}, why, 0, 0};
    if (!why.ok()) continue;  // a row with an error takes no space
    const std::size_t bytes = digest_workspace_size(batch.rows[i].valid_size(), batch.transform(i), request);
    const auto room = scratch.take_slice<std::byte>(bytes);
    if (!room) return detail::row_error(errc::workspace_too_small, i);
    (*rows)[i] = {{}, {}, std::size_t{room->offset} * workspace_alignment, bytes};
  }
  (*how.pool)(count, [&](std::uint32_t i) noexcept {
    detail::batch_row& row = (*rows)[i];
    if (!row.outcome.ok()) return;
    workspace own(std::span<std::byte>(scratch.data() + row.begin, row.bytes));
    row.outcome = detail::build_digest(how.policy, batch.rows[i], batch.transform(i), request, row.digest, own);
  });
  for (std::uint32_t i = 0; i < count; ++i)  // in index order, so that stamps do not depend on threads
    out[i] = detail::batch_reader::finish((*rows)[i], how.policy, batch.rows[i], batch.transform(i), scratch);
  all.keep();
  return out.first(count);
}

SPECVERIFY_NAMESPACE_END

#endif
