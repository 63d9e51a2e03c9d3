// SPDX-License-Identifier: Apache-2.0
//! Computes the sums of kernel/scalar/lane_dots.hpp with vectors, with fused products if the instruction set has them.
//!
//! A matrix entry is loaded once for all inputs, and an entry of an input once for three or four rows. For several
//! inputs, the columns are split into parts that fit in the first-level cache. For a single input, memory bandwidth is
//! the limit, so the kernel reads several whole rows at the same time.
#ifndef SPECVERIFY_KERNEL_SIMD_LANE_DOTS_HPP
#define SPECVERIFY_KERNEL_SIMD_LANE_DOTS_HPP

#include <specverify/kernel/scalar/lane_dots.hpp>
#include <specverify/kernel/simd/pack.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Sizes of the parts into which a call is divided: rows, columns (`at_once`, a multiple of the lanes) and packs of
//! lanes.
template <std::uint32_t Inputs>
struct dot_shape {
  static constexpr std::uint32_t width = pack_size<float>;
  static constexpr std::uint32_t rows = Inputs == 1 ? 4 : 3;
  static constexpr std::uint32_t at_once = Inputs == 1 ? 8192 : 768;
  static constexpr std::uint32_t registers = width == 16 ? 24 : Inputs == 1 ? 16 : 12;
  static constexpr std::uint32_t fitting = registers / (rows * Inputs);
  static constexpr std::uint32_t packs = fitting >= 4 ? 4 : fitting >= 2 ? 2 : 1;
  static constexpr std::uint32_t lanes = packs * width < dot_lanes ? packs * width : dot_lanes;
};

//! Adds the products of `size` columns, a multiple of the lanes, to the sums of `Rows` rows.
template <std::uint32_t Rows, std::uint32_t Inputs>
SPECVERIFY_INLINE void add_products(const dot_panel& panel, std::size_t size, float* sums) noexcept {
  constexpr std::uint32_t width = pack_size<float>, lanes = dot_shape<Inputs>::lanes, packs = lanes / width;
  for (std::uint32_t part = 0; part < dot_lanes; part += lanes) {
    pack<float> sum[Rows][Inputs][packs];
    for (std::uint32_t r = 0; r < Rows; ++r) {
      for (std::uint32_t i = 0; i < Inputs; ++i) {
        for (std::uint32_t v = 0; v < packs; ++v)
          sum[r][i][v] = load_pack(sums + (r * Inputs + i) * dot_lanes + part + v * width);
      }
    }
    for (std::size_t k = part; k < size; k += dot_lanes) {
      if constexpr (Inputs == 1) {
        for (std::uint32_t r = 0; r < Rows; ++r) fetch_ahead<lanes>(panel.rows + r * panel.row_stride + k + 64);
      }
      for (std::uint32_t v = 0; v < packs; ++v) {
        pack<float> row[Rows];
        for (std::uint32_t r = 0; r < Rows; ++r)
          row[r] = in_register(load_pack(panel.rows + r * panel.row_stride + k + v * width));
        for (std::uint32_t i = 0; i < Inputs; ++i) {
          const pack<float> input = in_register(load_pack(panel.inputs + i * panel.input_stride + k + v * width));
          for (std::uint32_t r = 0; r < Rows; ++r) sum[r][i][v] = fused(row[r], input, sum[r][i][v]);
        }
      }
    }
    for (std::uint32_t r = 0; r < Rows; ++r) {
      for (std::uint32_t i = 0; i < Inputs; ++i) {
        for (std::uint32_t v = 0; v < packs; ++v)
          store_pack(sums + (r * Inputs + i) * dot_lanes + part + v * width, sum[r][i][v]);
      }
    }
  }
}

template <std::uint32_t Inputs>
inline void add_rows(dot_panel panel, std::size_t size, std::uint32_t row_count, float* sums) noexcept {
  constexpr std::uint32_t rows = dot_shape<Inputs>::rows;
  std::uint32_t r = 0;
  for (; r + rows <= row_count; r += rows) {
    add_products<rows, Inputs>(panel, size, sums + r * Inputs * dot_lanes);
    panel.rows += rows * panel.row_stride;
  }
  for (; r < row_count; ++r) {
    add_products<1, Inputs>(panel, size, sums + r * Inputs * dot_lanes);
    panel.rows += panel.row_stride;
  }
}

template <std::uint32_t Inputs, class Level>
inline void lane_dots(exec::simd_on<Level>, const dot_panel& panel, std::uint32_t row_count, float* out) noexcept {
  alignas(64) float sums[dot_rows<Inputs> * Inputs * dot_lanes];
  for (std::uint32_t i = 0; i < row_count * Inputs * dot_lanes; ++i) sums[i] = 0;
  const std::size_t whole = panel.size / dot_lanes * dot_lanes, rest = panel.size - whole;
  dot_panel part = panel;
  for (std::size_t first = 0; first < whole; first += dot_shape<Inputs>::at_once) {
    const std::size_t left = whole - first;
    part.rows = panel.rows + first;
    part.inputs = panel.inputs + first;
    add_rows<Inputs>(part, left < dot_shape<Inputs>::at_once ? left : dot_shape<Inputs>::at_once, row_count, sums);
  }
  for (std::uint32_t r = 0; r < row_count; ++r) {
    const float* const row = panel.rows + r * panel.row_stride + whole;
    for (std::uint32_t i = 0; i < Inputs; ++i) {
      const float* const input = panel.inputs + i * panel.input_stride + whole;
      float* const sum = sums + (r * Inputs + i) * dot_lanes;
      for (std::size_t k = 0; k < rest; ++k) sum[k] = fused(row[k], input[k], sum[k]);
    }
  }
  for (std::uint32_t i = 0; i < row_count * Inputs; ++i) out[i] = lane_sum(sums + i * dot_lanes);
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
