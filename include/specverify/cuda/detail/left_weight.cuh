// SPDX-License-Identifier: Apache-2.0
//! What is left of a row's law when another one is subtracted: weights of ids, and their sums as a thread takes them.
#ifndef SPECVERIFY_CUDA_DETAIL_LEFT_WEIGHT_CUH
#define SPECVERIFY_CUDA_DETAIL_LEFT_WEIGHT_CUH

#include <specverify/cuda/sample.cuh>
#include <specverify/distribution/law.hpp>
#include <specverify/row/residual.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t ids_per_thread = kernel::exact_size / kernel::lane_count;
inline constexpr std::uint32_t term_in_flight = 8;  // loads of a thread at once

//! What a law says of a run of ids.
struct part_of_law {
  const token_id* ids = nullptr;  // those listed in the run
  const std::uint32_t* counts = nullptr;
  std::uint32_t size = 0;
  std::uint32_t rest = 0;   // the count of the others,
  std::uint32_t known = 0;  // up to this id
  token_id point = no_token;
  double unit = 0;  // 1 / resolution

  //! Whether no id of the run has a share.
  [[nodiscard]] __device__ __forceinline__ bool is_empty() const noexcept {
    return size == 0 && rest == 0 && point == no_token;
  }
  //! q of an id of the run.
  [[nodiscard]] __device__ __forceinline__ double share(std::uint32_t id) const noexcept {
    const auto token = static_cast<token_id>(id);
    std::uint32_t count = id < known ? rest : 0;
    if (size != 0) {
      const std::uint32_t at = numeric::count_below(ids, size, token);
      if (at < size && ids[at] == token) count = counts[at];
    }
    return numeric::product(static_cast<double>(token == point ? 1u : count), unit);
  }
};

//! What is subtracted from p: a law, a point mass, or nothing.
struct subtracted_law {
  const law* listed = nullptr;
  token_id point = no_token;
  double unit = 0;  // 1 / resolution

  [[nodiscard]] __device__ __forceinline__ bool is_nothing() const noexcept {
    return listed == nullptr && point == no_token;
  }
  //! q of an id.
  [[nodiscard]] __device__ __forceinline__ double share(std::uint32_t id) const noexcept {
    const auto token = static_cast<token_id>(id);
    const std::uint32_t count = listed != nullptr ? listed->count(token) : token == point ? 1u : 0u;
    return numeric::product(static_cast<double>(count), unit);
  }
  //! Of the ids from `first` to below `end`.
  [[nodiscard]] __device__ __forceinline__ part_of_law within(std::uint32_t first, std::uint32_t end) const noexcept {
    const auto from = static_cast<token_id>(first), to = static_cast<token_id>(end);
    part_of_law part;
    part.unit = unit;
    if (listed == nullptr) {
      if (point >= from && point < to) part.point = point;
      return part;
    }
    const std::uint32_t below = numeric::count_below(listed->ids, listed->size, from);
    part.ids = listed->ids + below;
    part.counts = listed->counts + below;
    part.size = numeric::count_below(listed->ids, listed->size, to) - below;  // as many steps for all threads
    part.rest = listed->tail_count;
    part.known = listed->vocab_size;
    return part;
  }
};

//! (scale * e_v - q(v) Z)+; e_v itself without arguments.
struct left_weight {
  subtracted_law taken{};
  double scale = 1;
  double total = 0;
  bool staged = false;  // room.terms are the sums of e_v, from the sum of Z: they stay where nothing is subtracted

  //! Of an id whose e_v is known; 0 behind the row, where that is 0. `shares` has that of the id.
  template <class Shares>
  [[nodiscard]] __device__ __forceinline__ double of(std::uint32_t id, double weight,
                                                     const Shares& shares) const noexcept {
    if (!(weight > 0.0) || taken.is_nothing()) return weight;
    const double left = kernel::left_of(numeric::product(scale, weight), shares.share(id), total);
    return left > 0.0 ? left : 0.0;
  }
  template <class Scalar>
  [[nodiscard]] __device__ __forceinline__ double operator()(const drawn_row<Scalar>& row,
                                                             std::uint32_t id) const noexcept {
    return of(id, id < row.source.size ? row.weight(id) : 0.0, taken);
  }
  //! The sum of the weights at id, id + 16, ...: ids_per_thread of them, in this order.
  template <class Scalar>
  [[nodiscard]] __device__ __forceinline__ double sum_from(const drawn_row<Scalar>& row, std::uint32_t id,
                                                           const part_of_law& shares) const noexcept {
    double sum = 0;
    SPECVERIFY_UNROLL(1)
    for (std::uint32_t i = 0; i < ids_per_thread; i += term_in_flight) {
      float values[term_in_flight];
      SPECVERIFY_UNROLL(8)
      for (std::uint32_t k = 0; k < term_in_flight; ++k) {  // loads before what waits for them
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
