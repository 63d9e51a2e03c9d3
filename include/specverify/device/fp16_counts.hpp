// SPDX-License-Identifier: Apache-2.0
//! Converts the distributions of a batch of rows to fp16 values with Thrust. A value is an id and a count in units of
//! 2^-24 (row/fp16_row.hpp).
//!
//! Use it after `read_rows`, on the same batch, if a drafter sends half-precision distributions.
//! Guarantees: ids and counts equal the results of exec::seq, for any flags of nvcc. A truncated row is not read,
//!             because the digest stores its kept entries. Any other row is read three times, or four times if the
//!             digest has no normalizer (device_request::exact_normaliser). Temporary memory:
//!             docs/algorithms/device.md.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/device.md, tests/device/thrust_select_test.cpp
#ifndef SPECVERIFY_DEVICE_FP16_COUNTS_HPP
#define SPECVERIFY_DEVICE_FP16_COUNTS_HPP

#include <specverify/device/detail/compact.hpp>
#include <specverify/device/detail/draw.hpp>
#include <specverify/device/digest.hpp>
#include <specverify/kernel/scalar/half_count.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! Computes the counts of a row, or of a truncated row's kept ids.
template <class Scalar>
struct counts_of_row {
  drawn_row<Scalar> row;
  kernel::exact_weight weight;
  double inverse;
  bool is_there;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t size() const noexcept {
    return is_there ? row.entries() : 0;
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE token_id id(std::uint32_t at) const noexcept { return row.entry(at); }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t value(std::uint32_t at) const noexcept {
    const double entry =
        row.digest.truncated ? row.kept_weights[at] : weight(static_cast<double>(row.source.value(at)));
    return half_count(entry * inverse);
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool passes(std::uint32_t, std::uint32_t found) const noexcept {
    return found > 0;
  }
};

template <class Scalar>
struct fp16_entries {
  device_batch<Scalar> batch;
  const double* inverses;  // 1 / Z, indexed by row
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE counts_of_row<Scalar> of(std::size_t r) const noexcept {
    const drawn_row<Scalar> row(batch, r);
    const bool is_there = row.digest.of_whole_row().ok() && !row.digest.one_hot;
    return {row, is_there ? row.exact() : kernel::exact_weight{}, inverses[r], is_there};
  }
};

template <class Scalar>
struct term_where_unknown {
  term_of_digest<Scalar> term;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    if (!(term.batch.digests.rows[i / term.count].normaliser > 0.0)) term(i);
  }
};

struct invert_normaliser {
  const device_digest* digests;
  const double* terms;
  std::uint32_t count;
  double* inverses;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    const device_digest& digest = digests[r];
    if (!digest.of_whole_row().ok() || digest.one_hot) return;
    inverses[r] = 1.0 / (digest.normaliser > 0.0 ? digest.normaliser : sum_of_terms(terms + r * count, count));
  }
};

struct write_fp16 {
  const device_digest* digests;
  const entry_count* counts;
  device_laws out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    device_law law;
    law.why = digests[r].of_whole_row();
    if (law.why.ok() && digests[r].one_hot) {
      law.size = 1;
      law.resolution = half_count(1.0);
      out.ids[r * out.pitch] = digests[r].argmax;
      out.counts[r * out.pitch] = law.resolution;
    } else if (law.why.ok()) {
      law.size = counts[r].listed;
      law.resolution = static_cast<std::uint32_t>(counts[r].sum);
      if (law.size > out.pitch) law.why = {errc::support_too_large, part::row, law.size};
      if (law.size == 0) law.why = {errc::empty_support, part::row, 0};
    }
    out.rows[r] = law;
  }
};

template <class Policy, class Scalar>
void count_fp16(const Policy& policy, const device_batch<Scalar>& batch, const device_laws& out) {
  const std::size_t rows = batch.rows.count;
  const std::uint32_t count = exact_terms(batch.rows.size);
  const temporary<double, Policy> terms(policy, rows * count), inverses(policy, rows);
  const temporary<entry_count, Policy> counts(policy, rows);
  for_each_index(policy, rows * count, term_where_unknown<Scalar>{{batch, terms.data(), count}});
  for_each_index(policy, rows, invert_normaliser{batch.digests.rows, terms.data(), count, inverses.data()});
  compact_rows(policy, rows, batch.rows.size, fp16_entries<Scalar>{batch, inverses.data()},
               list_writer{out.ids, out.counts, out.pitch}, counts.data());
  for_each_index(policy, rows, write_fp16{batch.digests.rows, counts.data(), out});
}

}  // namespace thrust_detail

//! Writes the fp16 distributions of all rows, from the digests of `read_rows`.
//! Errors of the call: as for `read_rows`; null_span; output_too_small (pitch 0; `where` = 1); engine_failed.
//! Errors of a row: the digest's error; support_too_large (`where` = ids needed), empty_support.
template <class Policy, class Scalar>
[[nodiscard]] status fp16_counts(const exec::thrust_on<Policy>& how, const device_batch<Scalar>& batch,
                                 const device_laws& out) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (out.rows == nullptr || out.ids == nullptr || out.counts == nullptr)
    return device_detail::refusal(errc::null_span);
  if (out.pitch == 0) return device_detail::refusal(errc::output_too_small, 1);
  return thrust_detail::guarded([&] {
    thrust_detail::count_fp16(how.policy, batch, out);
    return status{};
  });
}

SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
