// SPDX-License-Identifier: Apache-2.0
//! Reads the values of a row in device memory with bias and mask applied, and converts them to integers that compare in
//! the same order.
#ifndef SPECVERIFY_DEVICE_DETAIL_ROWS_HPP
#define SPECVERIFY_DEVICE_DETAIL_ROWS_HPP

#include <specverify/device/thrust.hpp>
#include <specverify/kernel/block_source.hpp>
#include <specverify/kernel/scalar/log_sum_exp.hpp>

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

inline constexpr std::uint32_t lane_ids = kernel::block_size / kernel::lane_count;  // ids of a lane in a block

template <class Scalar>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE kernel::row_source<Scalar> open_row(const device_rows<Scalar>& rows,
                                                                                  const device_transform& transform,
                                                                                  std::size_t row) noexcept {
  kernel::row_source<Scalar> source;
  source.data = rows.data + row * rows.pitch;
  source.size = rows.size;
  source.mask = transform.mask_words == nullptr ? nullptr : transform.mask_words + row * transform.mask_pitch;
  if (transform.bias_begin != nullptr) {
    const std::uint32_t begin = transform.bias_begin[row];
    source.bias_ids = transform.bias_ids + begin;
    source.bias_values = transform.bias_values + begin;
    source.bias_count = transform.bias_begin[row + 1] - begin;
  }
  return source;
}

[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double temperature_of(const device_transform& transform,
                                                                    std::size_t row) noexcept {
  return transform.temperatures == nullptr ? transform.temperature : transform.temperatures[row];
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool is_greedy(double temperature) noexcept { return temperature < 1e-6; }
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool is_usable_temperature(double value) noexcept {
  return numeric::is_finite(value) && value >= 0.0 && value <= max_temperature;
}

//! Returns an integer that orders values and then ids: a larger value gives a larger integer, and among equal values
//! the smaller id does. A NaN is above all values, and -0 equals +0. The result is never 0, which means "none".
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t order_key(float value, std::uint32_t id) noexcept {
  const std::uint32_t bits = kernel::bits_as<std::uint32_t>(value == 0.0f ? 0.0f : value);
  std::uint32_t order = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  if (kernel::is_nan(value)) order = 0xFFFFFFFFu;
  return std::uint64_t{order} << 32 | (0xFFFFFFFFu - id);
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t id_of_key(std::uint64_t key) noexcept {
  return 0xFFFFFFFFu - static_cast<std::uint32_t>(key);
}

//! Ids of one thread: the ids of lane `lane` in block `block`.
struct lane_place {
  std::size_t row;
  std::uint32_t block, lane;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE static lane_place of(std::size_t index, std::uint32_t blocks) noexcept {
    const std::size_t whole = index / kernel::lane_count;
    return {whole / blocks, static_cast<std::uint32_t>(whole % blocks),
            static_cast<std::uint32_t>(index % kernel::lane_count)};
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t first() const noexcept {
    return block * kernel::block_size + lane;
  }
  //! Returns the end of the lane's ids.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t end(std::uint32_t size) const noexcept {
    const std::uint32_t most = (block + 1) * kernel::block_size;
    return most < size ? most : size;
  }
};

//! Returns the first index in 0 .. count - 1 for which `holds`, or count if there is none. `holds` must then hold for
//! all later indices.
template <class Holds>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t first_where(std::uint32_t count,
                                                                        const Holds& holds) noexcept {
  std::uint32_t low = 0;
  while (low < count) {
    const std::uint32_t middle = low + (count - low) / 2;
    if (holds(middle)) {
      count = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

//! Computes one term of an exact sum: 256 ids in the fixed shape (kernel::exact_block).
template <class Scalar>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double exact_term(const kernel::row_source<Scalar>& row,
                                                                std::uint32_t first,
                                                                const kernel::exact_weight& weight) noexcept {
  double lanes[kernel::lane_count] = {};
  for (std::uint32_t i = 0; i < kernel::exact_size && first + i < row.size; ++i)
    lanes[i % kernel::lane_count] += weight(static_cast<double>(row.value(first + i)));
  return kernel::lane_tree(lanes);
}

[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t exact_terms(std::uint32_t size) noexcept {
  return kernel::block_count(size, kernel::exact_size);
}

//! Sums the terms of a row in order.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double sum_of_terms(const double* terms, std::uint32_t count) noexcept {
  double sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += terms[i];
  return sum;
}

//! Returns the larger of two integers.
struct larger {
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t operator()(std::uint64_t a,
                                                                         std::uint64_t b) const noexcept {
    return a > b ? a : b;
  }
};
struct larger_word {
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t operator()(std::uint32_t a,
                                                                         std::uint32_t b) const noexcept {
    return a > b ? a : b;
  }
};
struct plus {
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t operator()(std::uint64_t a,
                                                                         std::uint64_t b) const noexcept {
    return a + b;
  }
};

}  // namespace thrust_detail
SPECVERIFY_DEVICE_END

#endif
