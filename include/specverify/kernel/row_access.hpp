// SPDX-License-Identifier: Apache-2.0
//! Gives access to the entries of a row through a passkey type. Only kernel/, row/, device/ and cuda/ may name this
//! type, and a lint checks this.
#ifndef SPECVERIFY_KERNEL_ROW_ACCESS_HPP
#define SPECVERIFY_KERNEL_ROW_ACCESS_HPP

#include <specverify/core/views.hpp>

SPECVERIFY_TYPES_BEGIN

struct row_access {
  template <class Scalar>
  [[nodiscard]] static SPECVERIFY_INLINE constexpr const Scalar* data(row_view<Scalar> row) noexcept {
    return row.data_;
  }
};

SPECVERIFY_TYPES_END

#endif
