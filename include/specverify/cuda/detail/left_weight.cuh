// SPDX-License-Identifier: Apache-2.0
//! Computes the weights of ids in a residual, that is, after a drafter's distribution is subtracted from the row's
//! distribution. Also sums these weights per thread.
#ifndef SPECVERIFY_CUDA_DETAIL_LEFT_WEIGHT_CUH
#define SPECVERIFY_CUDA_DETAIL_LEFT_WEIGHT_CUH

#include <specverify/cuda/sample.cuh>
#include <specverify/device/detail/subtracted.hpp>
#include <specverify/row/residual.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t ids_per_thread = kernel::exact_size / kernel::lane_count;
inline constexpr std::uint32_t term_in_flight = 8;  // loads in flight per thread

using device_detail::subtracted_law;
using device_detail::subtracted_part;

//! Computes the weight (scale * e_v - q(v) Z)+ of an id. Default-constructed, it computes e_v.
struct left_weight {
  subtracted_law taken{};
  double scale = 1;
  double total = 0;
  bool staged = false;  // room.terms has the sums of e_v; they are valid if nothing is subtracted

  //! Returns the weight of an id whose e_v is known. After the end of the row e_v must be 0, which gives 0. `shares`
  //! must include the id.
  template <class Shares>
  [[nodiscard]] __device__ __forceinline__ double of(std::uint32_t id, double weight,
                                                     const Shares& shares) const noexcept {
    if (!(weight > 0.0) || taken.is_nothing()) return weight;
    const double left =
        kernel::left_of(numeric::product(scale, weight), shares.share(static_cast<token_id>(id)), total);
    return left > 0.0 ? left : 0.0;
  }
  template <class Scalar>
  [[nodiscard]] __device__ __forceinline__ double operator()(const drawn_row<Scalar>& row,
                                                             std::uint32_t id) const noexcept {
    return of(id, id < row.source.size ? row.weight(id) : 0.0, taken);
  }
  //! Returns the sum of the weights at id, id + 16, ...: ids_per_thread weights, in this order.
  template <class Scalar>
  [[nodiscard]] __device__ __forceinline__ double sum_from(const drawn_row<Scalar>& row, std::uint32_t id,
                                                           const subtracted_part& shares) const noexcept {
    double sum = 0;
    SPECVERIFY_UNROLL(1)
    for (std::uint32_t i = 0; i < ids_per_thread; i += term_in_flight) {
      float values[term_in_flight];
      SPECVERIFY_UNROLL(8)
      for (std::uint32_t k = 0; k < term_in_flight; ++k) {  // loads come before the code that waits for them
        const std::uint32_t at = id + (i + k) * kernel::lane_count;
        values[k] = at < row.source.size ? row.source.value(at) : kernel::negative_infinity<float>();
      }
      SPECVERIFY_UNROLL(8)
      for (std::uint32_t k = 0; k < term_in_flight; ++k) {
        const std::uint32_t at = id + (i + k) * kernel::lane_count;
        sum = __dadd_rn(sum, of(at, row.exact(static_cast<double>(values[k])), shares));
      }
    }
    return sum;
  }
};

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
