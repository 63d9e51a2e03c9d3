// SPDX-License-Identifier: Apache-2.0
// Converts the rows of a C caller to the library's row views.
#ifndef SPECVERIFY_SRC_C_ROWS_HPP
#define SPECVERIFY_SRC_C_ROWS_HPP

#include "convert.hpp"

namespace specverify_c {

// Checks a row. Errors: null_span, invalid_argument (an unknown scalar type).
[[nodiscard]] constexpr sv::status check_row(const specverify_row& row) noexcept {
  if (row.data == nullptr && row.size > 0) return refused(sv::errc::null_span);
  if (row.scalar > SPECVERIFY_BFLOAT16) return refused(sv::errc::invalid_argument, row.scalar);
  return {};
}

// A row whose scalar type is known only at run time.
struct any_row {
  using scalar_type = float;  // required by the concept
  specverify_row row;
};

template <class Scalar>
[[nodiscard]] sv::row_view<Scalar> view_of(const specverify_row& row) noexcept {
  const auto kind = row.probabilities != 0 ? sv::row_kind::probabilities : sv::row_kind::logits;
  return {kind, static_cast<const Scalar*>(row.data), row.size, row.valid_size, row.stride};
}

// Calls use(row) with the row's scalar type.
template <class Use>
[[nodiscard]] auto with_scalar(const specverify_row& row, Use&& use) noexcept {
  switch (row.scalar) {
    case SPECVERIFY_FLOAT16:
      return use(view_of<sv::float16_bits>(row));
    case SPECVERIFY_BFLOAT16:
      return use(view_of<sv::bfloat16_bits>(row));
    default:
      return use(view_of<float>(row));
  }
}

}  // namespace specverify_c

#endif
