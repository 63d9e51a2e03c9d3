// SPDX-License-Identifier: Apache-2.0
//! Represents the distribution that a residual subtracts from a row's distribution, in a form for kernels and Thrust.
//! This header compiles as C++17.
#ifndef SPECVERIFY_DEVICE_DETAIL_SUBTRACTED_HPP
#define SPECVERIFY_DEVICE_DETAIL_SUBTRACTED_HPP

#include <specverify/distribution/law.hpp>

SPECVERIFY_TYPES_BEGIN
namespace device_detail {

//! The part of the subtraction for a run of ids: a distribution of the ids listed there, or a point mass.
struct subtracted_part {
  law listed{};
  token_id point = no_token;
  double unit = 0;  // 1 / resolution

  //! Returns whether no id of the run has a share.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool is_empty() const noexcept {
    return listed.size == 0 && listed.tail_count == 0 && point == no_token;
  }
  //! Returns q of an id of the run.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double share(token_id token) const noexcept {
    return numeric::product(static_cast<double>(token == point ? 1u : listed.count(token)), unit);
  }
};

//! Subtraction from p: a distribution, a point mass, or nothing.
struct subtracted_law {
  const law* listed = nullptr;
  token_id point = no_token;
  double unit = 0;  // 1 / resolution

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool is_nothing() const noexcept {
    return listed == nullptr && point == no_token;
  }
  //! Returns q of an id.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double share(token_id token) const noexcept {
    const std::uint32_t count = listed != nullptr ? listed->count(token) : token == point ? 1u : 0u;
    return numeric::product(static_cast<double>(count), unit);
  }
  //! Returns the part for ids in [first, end). The number of search steps does not depend on the run.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE subtracted_part within(token_id first, token_id end) const noexcept {
    subtracted_part part;
    part.unit = unit;
    if (listed == nullptr) {
      if (point >= first && point < end) part.point = point;
      return part;
    }
    const std::uint32_t below = numeric::count_below(listed->ids, listed->size, first);
    part.listed = *listed;
    part.listed.ids += below;
    part.listed.counts += below;
    part.listed.size = numeric::count_below(listed->ids, listed->size, end) - below;
    return part;
  }
};

}  // namespace device_detail
SPECVERIFY_TYPES_END

#endif
