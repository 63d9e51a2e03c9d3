// SPDX-License-Identifier: Apache-2.0
//! Finds a lower bound on the K largest logits of a row, so that only logits at or above it need to be ordered.
//!
//! Symbols: a key is the 32 bits of a float, mapped so that keys compare as integers. w = integer weights, monotone in
//!          the logit.
#ifndef SPECVERIFY_CUDA_DETAIL_BAR_CUH
#define SPECVERIFY_CUDA_DETAIL_BAR_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/order.cuh>
#include <specverify/kernel/scalar/integer_weights.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t key_of_nothing = 0x007FFFFFu;     // key of -infinity, whose weight is 0
inline constexpr std::uint32_t key_above_all = 0xFF800000u;      // key of +infinity, which no row has
inline constexpr std::uint32_t most_tops = 1024;                 // blocks of 1024 ids with a staged largest key
inline constexpr std::uint32_t most_staged = 2 * list_capacity;  // lanes whose keys are in shared memory

//! Returns the key of a value, which must not be NaN. -0 and +0 have one key.
[[nodiscard]] __device__ __forceinline__ std::uint32_t key_of_value(float value) noexcept {
  const auto bits = kernel::bits_as<std::uint32_t>(__fadd_rn(value, 0.0f));
  return bits ^ (bits >> 31 != 0 ? 0xFFFFFFFFu : 0x80000000u);
}
[[nodiscard]] __device__ __forceinline__ float value_of_key(std::uint32_t key) noexcept {
  return kernel::bits_as<float>(key ^ (key >> 31 != 0 ? 0x80000000u : 0xFFFFFFFFu));
}
[[nodiscard]] __device__ __forceinline__ std::uint32_t weight_of_key(const kernel::integer_weight& weight,
                                                                     std::uint32_t key) noexcept {
  return weight(static_cast<double>(value_of_key(key)));
}

inline constexpr std::uint32_t per_warp_load = lanes_per_warp * per_load;  // ids per load of a warp

//! Returns a logit below which no logit has a weight above `floor`. A weight is at most 0.6 above 2^31 e^(-x), and log2
//! of a float is at least the exponent plus the fraction.
[[nodiscard]] __device__ __forceinline__ float least_logit(double maximum, double temperature,
                                                           std::uint32_t floor) noexcept {
  const auto weight = static_cast<float>(static_cast<double>(floor) + 0.4);
  const std::uint32_t bits = kernel::bits_as<std::uint32_t>(weight);
  const double octaves = __dmul_rn(static_cast<double>(bits), 0x1.0p-23) - 127.0;
  const double low = maximum - (31.001 - octaves) * temperature / (kernel::log2_e * 0.999999);
  const double lower = low - __dmul_rn(low < 0.0 ? -low : low, 0x1.0p-20);
  return lower > -3.0e38 ? static_cast<float>(lower) : kernel::negative_infinity<float>();
}

//! Returns the least key of a weight of `wanted` or more, which must be 1 to weight_one, near a guess. It steps away by
//! powers of 4 at first, then tests 32 keys between two bounds. Runs on a whole warp; every lane gets the result.
[[nodiscard]] __device__ __forceinline__ std::uint32_t least_key(const kernel::integer_weight& weight,
                                                                 std::uint32_t wanted, std::uint32_t guess) noexcept {
  std::uint32_t low = key_of_nothing, high = key_of_value(static_cast<float>(weight.maximum));  // too small; enough
  const std::uint32_t lane = lane_of_thread();
  guess = guess < low ? low : guess < high ? guess : high;
  const std::uint32_t away = lane == 16 ? 0u : 1u << (lane < 16 ? 30 - 2 * lane : 2 * lane - 34);
  std::uint32_t place =
      lane < 16 ? (guess - low < away ? low : guess - away) : (high - guess < away ? high : guess + away);
  SPECVERIFY_UNROLL(1)
  for (;;) {  // keys ascend with lanes
    const std::uint32_t enough = __ballot_sync(all_lanes, weight_of_key(weight, place) >= wanted);
    const int first = enough == 0 ? static_cast<int>(lanes_per_warp) : __ffs(static_cast<int>(enough)) - 1;
    const std::uint32_t reached = __shfl_sync(all_lanes, place, first % static_cast<int>(lanes_per_warp));
    const std::uint32_t missed = __shfl_sync(all_lanes, place, first == 0 ? 0 : first - 1);
    if (enough != 0) high = reached;
    if (first != 0) low = missed;
    if (high - low <= 1) return high;  // uniform across the warp
    const std::uint32_t step = (high - low + lanes_per_warp) / (lanes_per_warp + 1), by = step * (lane + 1);
    place = by < high - low ? low + by : high;
  }
}

//! Lanes of the digest as keys. Lanes that are not staged are loaded again.
struct lane_keys {
  const float* maxima;
  const entry_list& staged;

  [[nodiscard]] __device__ __forceinline__ std::uint32_t operator()(std::uint32_t i) const noexcept {
    if (i < list_capacity) return staged.ids[i];
    return i < most_staged ? staged.weights[i - list_capacity] : key_of_value(maxima[i]);
  }
};

//! Stages the keys of lanes, and the largest key of each block. Threads may read them after a barrier.
__device__ __forceinline__ void stage_lanes(const float* maxima, std::uint32_t blocks, entry_list& staged,
                                            std::uint32_t* tops) noexcept {
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t first = 0; first < blocks * per_block && first < most_tops * per_block; first += blockDim.x) {
    const std::uint32_t part = first + threadIdx.x, lane = part * per_load;  // whole warps pass through together
    std::uint32_t top = 0;
    if (part < blocks * per_block) {
      const float4 four = *reinterpret_cast<const float4*>(maxima + lane);
      const float values[per_load] = {four.x, four.y, four.z, four.w};
      SPECVERIFY_UNROLL(4)
      for (std::uint32_t i = 0; i < per_load; ++i) {
        const std::uint32_t key = key_of_value(values[i]);
        top = key > top ? key : top;
        if (lane < list_capacity) staged.ids[lane + i] = key;
        if (lane >= list_capacity && lane < most_staged) staged.weights[lane - list_capacity + i] = key;
      }
    }
    SPECVERIFY_UNROLL(2)
    for (int with = 1; with < static_cast<int>(per_block); with *= 2) {
      const std::uint32_t other = __shfl_xor_sync(all_lanes, top, with);
      top = other > top ? other : top;
    }
    const std::uint32_t block = part / per_block;
    if (part % per_block == 0 && block < blocks && block < most_tops) tops[block] = top;
  }
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
