// SPDX-License-Identifier: Apache-2.0
//! Access of tests to a reading that users do not have: to read its digest, and to make a reading from a digest written
//! by hand.
#ifndef SPECVERIFY_TESTS_SUPPORT_READING_TEST_ACCESS_HPP
#define SPECVERIFY_TESTS_SUPPORT_READING_TEST_ACCESS_HPP

#include <specverify/row/reading.hpp>

SPECVERIFY_NAMESPACE_BEGIN

struct reading_test_access {
  [[nodiscard]] static row_summary summary(const row_digest& digest, workspace& scratch) noexcept {
    return reading_access::summary(digest, scratch);
  }
  [[nodiscard]] static const row_digest& digest(const row_summary& row) noexcept { return reading_access::digest(row); }
};

SPECVERIFY_NAMESPACE_END

#endif
