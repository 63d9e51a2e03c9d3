// SPDX-License-Identifier: Apache-2.0
//! Selects, in each row of a batch, all tokens with a probability of at least beta. It uses Thrust, and `threshold`
//! does the same on the CPU.
//!
//! Use it after `read_rows`, on the same batch.
//! Symbols:    beta = minimum_probability, W = total of the integer weights.
//! Guarantees: ids and weights equal the results of exec::seq (sparsify/threshold.hpp). If beta exceeds every
//!             probability, the first id of the largest weight is kept. Four reads per row, or three if the digest has
//!             W; a truncated row reads only the kept ids. Temporary memory: docs/algorithms/device.md.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/device.md, tests/device/thrust_select_test.cpp
#ifndef SPECVERIFY_DEVICE_THRESHOLD_HPP
#define SPECVERIFY_DEVICE_THRESHOLD_HPP

#include <specverify/device/detail/compact.hpp>
#include <specverify/device/detail/draw.hpp>
#include <specverify/device/digest.hpp>
#include <specverify/row/detail/share.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! Integer weights of a row, or of the kept ids. Lists weights of at least `least`, or the first id of the largest
//! weight if there are none.
template <class Scalar>
struct weights_above {
  drawn_row<Scalar> row;
  kernel::integer_weight weight;
  std::uint64_t least;
  bool is_there;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t size() const noexcept {
    return is_there ? row.entries() : 0;
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE token_id id(std::uint32_t at) const noexcept { return row.entry(at); }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t value(std::uint32_t at) const noexcept {
    return weight(static_cast<double>(row.source.value(static_cast<std::uint32_t>(id(at)))));
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool passes(std::uint32_t at, std::uint32_t found) const noexcept {
    return least > kernel::weight_one ? found == kernel::weight_one && at == least_top(at) : found >= least;
  }

 private:
  //! Returns the first index with the largest weight, given one such index, `at`. The result can precede the argmax,
  //! because ids with nearly the same logit can have the same weight. In a list of kept ids, an id's index is at most
  //! the id.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t least_top(std::uint32_t at) const noexcept {
    const auto top = static_cast<std::uint32_t>(row.digest.argmax);
    for (std::uint32_t before = 0; before < at && before < top; ++before)
      if (value(before) == kernel::weight_one) return before;
    return at <= top ? at : top;
  }
};

template <class Scalar>
struct entries_above {
  device_batch<Scalar> batch;
  double beta;
  const std::uint64_t* totals;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t total(std::size_t r) const noexcept {
    const device_digest& digest = batch.digests.rows[r];
    return digest.one_hot ? kernel::weight_one : digest.total_weight != 0 ? digest.total_weight : totals[r];
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE weights_above<Scalar> of(std::size_t r) const noexcept {
    const device_digest& digest = batch.digests.rows[r];
    const bool is_there = digest.of_whole_row().ok() && !digest.one_hot;
    const std::uint64_t least = is_there ? detail::least_above(beta, total(r), batch.rows.size) : 1;
    return {{batch, r}, thrust_detail::weight_of(digest), least, is_there};
  }
};

template <class Scalar>
struct write_above {
  entries_above<Scalar> entries;
  const entry_count* counts;
  device_supports out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    const device_digest& digest = entries.batch.digests.rows[r];
    device_support support;
    support.why = digest.of_whole_row();
    if (support.why.ok()) support.total_weight = entries.total(r);
    if (support.why.ok() && digest.one_hot) {
      support.size = 1;
      support.complete = true;
      out.ids[r * out.pitch] = digest.argmax;
      out.weights[r * out.pitch] = kernel::weight_one;
    } else if (support.why.ok()) {
      support.size = counts[r].listed;
      support.complete = counts[r].listed == counts[r].positive;
      if (support.size > out.pitch) support.why = {errc::support_too_large, part::row, support.size};
    }
    out.rows[r] = support;
  }
};

}  // namespace thrust_detail

//! Selects the tokens of probability `minimum_probability` or more in each row, from the digests of `read_rows`. If
//! `minimum_probability` is 0 or below, selects all tokens of positive weight.
//! Errors of the call: as for `read_rows`; invalid_argument (a NaN); null_span; output_too_small (pitch 0; `where` =
//! 1); engine_failed.
//! Errors of a row: the digest's error; support_too_large (`where` = entries).
template <class Policy, class Scalar>
[[nodiscard]] status select_above(const exec::thrust_on<Policy>& how, const device_batch<Scalar>& batch,
                                  double minimum_probability, const device_supports& supports) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (numeric::is_nan(minimum_probability)) return device_detail::refusal(errc::invalid_argument);
  if (supports.rows == nullptr || supports.ids == nullptr || supports.weights == nullptr)
    return device_detail::refusal(errc::null_span);
  if (supports.pitch == 0) return device_detail::refusal(errc::output_too_small, 1);
  return thrust_detail::guarded([&] {
    const std::size_t rows = batch.rows.count;
    const thrust_detail::temporary<std::uint64_t, Policy> totals(how.policy, rows);
    const thrust_detail::temporary<thrust_detail::entry_count, Policy> counts(how.policy, rows);
    thrust_detail::sum_weights(how.policy, batch, totals.data());
    const thrust_detail::entries_above<Scalar> entries{batch, minimum_probability, totals.data()};
    const thrust_detail::list_writer write{supports.ids, supports.weights, supports.pitch};
    thrust_detail::compact_rows(how.policy, rows, batch.rows.size, entries, write, counts.data());
    thrust_detail::for_each_index(how.policy, rows,
                                  thrust_detail::write_above<Scalar>{entries, counts.data(), supports});
    return status{};
  });
}

SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
