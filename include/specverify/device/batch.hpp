// SPDX-License-Identifier: Apache-2.0
//! Combines a batch of rows in device memory with the transform and the rows' digests.
//!
//! Use it to pass an engine's logits to the functions of device/ (Thrust) or cuda/ (hand-written kernels). First call
//! `read_rows`, then `sample`, `select`, `residual` and others on the same value.
//! Guarantees: plain structs, C++17, no allocation. All pointers are to device memory. Kernels read the contents when
//!             they run, so a captured graph uses the contents at replay.
//! Deviates:   unlike on the CPU, rows must be logits (float or a 16-bit format), not probabilities. Biases and masks
//!             are not checked, because the engine's own kernel writes them.
//! Cost:       O(1).
//! See:        docs/algorithms/cuda.md, tests/device/batch_test.cpp
#ifndef SPECVERIFY_DEVICE_BATCH_HPP
#define SPECVERIFY_DEVICE_BATCH_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/random.hpp>
#include <specverify/core/status.hpp>
#include <specverify/core/views.hpp>
#include <specverify/kernel/block_source.hpp>
#include <specverify/row/transform.hpp>

#include <cstddef>
#include <cstdint>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! Rows of logits: float, float16_bits or bfloat16_bits.
template <class Scalar>
struct device_rows {
  static_assert(
      is_row_scalar<Scalar> && !std::is_same_v<Scalar, double>,
      "rows hold float, float16_bits or bfloat16_bits: reinterpret_cast a pointer to __half or __nv_bfloat16");
  const Scalar* data = nullptr;
  std::size_t pitch = 0;    //!< entries between the beginnings of two rows, at least `size`
  std::uint32_t count = 0;  //!< rows
  std::uint32_t size = 0;   //!< ids of a row, 1 .. max_vocab_size; padding after them is never read
};

//! Transform from logits to a distribution (row/transform.hpp), one for all rows or one per row.
struct device_transform {
  double temperature = 1;                       //!< temperature of all rows; below 1e-6: one-hot at the argmax
  const double* temperatures = nullptr;         //!< temperature of each row, in place of `temperature`; null: none
  const std::uint64_t* mask_words = nullptr;    //!< token v is allowed if bit v % 64 of word v / 64 is set; null: all
  std::size_t mask_pitch = 0;                   //!< words between the masks of two rows; 0: one mask for all
  const std::uint32_t* bias_begin = nullptr;    //!< rows + 1 offsets into bias_ids and bias_values; null: no bias
  const token_id* bias_ids = nullptr;           //!< strictly ascending within a row
  const float* bias_values = nullptr;           //!< added to the logits of bias_ids; -infinity forbids
  row_truncation truncation{};                  //!< truncation of all rows
  const row_truncation* truncations = nullptr;  //!< truncation of each row, in place of `truncation`; null: none
  //! maximum ids that a truncated row may keep; 0: top_k of `truncation`, or all ids. A row that would keep more
  //! returns support_too_large (`where` = ids needed)
  std::uint32_t kept_capacity = 0;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool may_truncate() const noexcept {
    return truncations != nullptr || truncation.active();
  }
};

//! Device memory of the caller; must be aligned to 64 bytes.
struct device_memory {
  void* data = nullptr;
  std::size_t size = 0;  //!< bytes
};

//! Optional results of `read_rows`. Each takes one more read per row.
struct device_request {
  bool exact_normaliser = false;  //!< Z in double; otherwise only bounds on Z
  bool integer_total = false;     //!< W, the sum of integer weights
};

//! Function that made a digest.
enum class digest_source : std::uint8_t {
  none,   //!< no function, as in cleared memory
  row,    //!< `read_rows`
  claims  //!< `read_rows_from_blocks` (cuda/blocks.cuh): without lane sums and lane maxima
};

//! Results of one read of a row. They are valid only if `why` is ok.
struct device_digest {
  status why{};                //!< row_has_nan, row_has_positive_infinity (`where` = least id), row_is_empty,
                               //!< invalid_temperature, invalid_truncation, support_too_large; under part::row
  token_id argmax = no_token;  //!< ties to the smaller id
  float maximum = 0;           //!< the logit of argmax, after bias and mask
  float reference = 0;         //!< reference of the exponents e_v
  bool one_hot = false;        //!< whether the temperature is below 1e-6
  bool truncated = false;      //!< whether the distribution is limited to kept_ids
  digest_source made_by = digest_source::none;
  std::uint32_t kept = 0;  //!< number of ids that a truncated row keeps
  double temperature = 1;
  double coarse_total = 0;         //!< sum of the block sums, in order
  double lower = 0;                //!< lower <= Z
  double upper = 0;                //!< Z <= upper
  double normaliser = 0;           //!< Z, or 0 if not requested. Truncated rows always have it
  std::uint64_t total_weight = 0;  //!< W, or 0 if not requested. Truncated rows: W of the kept ids

  //! Returns `why`, or digest_insufficient if the digest is ok but `read_rows` did not make it. Functions that cannot
  //! use digests of claims call this function.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr status of_whole_row() const noexcept {
    return why.ok() && made_by != digest_source::row ? status{errc::digest_insufficient, part::row, 0} : why;
  }
};

//! Digests of a batch and the arrays of the digests. The entries of row r begin at r * blocks, and at 16 times that for
//! lanes.
struct device_digests {
  device_digest* rows = nullptr;    //!< indexed by row
  double* block_sums = nullptr;     //!< sums of blocks of 1024 ids
  float* lane_sums = nullptr;       //!< 16 per 1024 ids
  float* lane_maxima = nullptr;     //!< 16 per 1024 ids: the largest logit of each lane
  token_id* kept_ids = nullptr;     //!< truncated rows: kept_capacity per row, ascending
  double* kept_weights = nullptr;   //!< truncated rows: e_v
  std::uint32_t* parts = nullptr;   //!< indexed by row: finished parts of a split row
  std::uint32_t count = 0;          //!< rows
  std::uint32_t blocks = 0;         //!< blocks of 1024 ids per row
  std::uint32_t kept_capacity = 0;  //!< 0: no row is truncated
};

//! Rows, transform and digests of one batch. `make_device_batch` makes it.
template <class Scalar>
struct device_batch {
  device_rows<Scalar> rows{};
  device_transform transform{};
  device_digests digests{};
};

//! Returns a 128-bit block of randomness for a key. Kernels call it unqualified, so that a test can use a key type of
//! its own.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE random_block random_at(philox_key key, random_counter counter) noexcept {
  return philox{key}(counter);
}

//! Random numbers of one purpose for each row of a batch.
template <class Key = philox_key>
struct device_stream {
  const Key* keys = nullptr;
  std::uint32_t key_pitch = 0;               //!< distance between the keys of two rows; 0: one key for all
  const std::uint32_t* positions = nullptr;  //!< indexed by row
  const std::uint32_t* rounds = nullptr;     //!< indexed by row
  purpose use = purpose::draft_draw;
  std::uint32_t lane = 0;  //!< lane of trial 0

  [[nodiscard]] SPECVERIFY_INLINE bool has_all() const noexcept {
    return keys != nullptr && positions != nullptr && rounds != nullptr;
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE random_counter first_of(std::uint32_t row) const noexcept {
    return {positions[row], rounds[row], lane, use, 0};
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE random_block at(std::uint32_t row,
                                                                random_counter counter) const noexcept {
    return random_at(keys[std::size_t{row} * key_pitch], counter);
  }
};

//! Keys, positions and rounds of a batch's rows, which determine the random numbers of every purpose
//! (core/uniforms.hpp). Kernels read them on the device.
template <class Key = philox_key>
struct device_uniforms {
  const Key* keys = nullptr;
  std::uint32_t key_pitch = 0;               //!< distance between the keys of two rows; 0: one key for all
  const std::uint32_t* positions = nullptr;  //!< indexed by row: absolute token position
  const std::uint32_t* rounds = nullptr;     //!< indexed by row: round in the session

  //! Returns the stream of one purpose, starting at `lane`.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE device_stream<Key> at(purpose use,
                                                                      std::uint32_t lane = 0) const noexcept {
    return {keys, key_pitch, positions, rounds, use, lane};
  }
};

namespace device_detail {

[[nodiscard]] SPECVERIFY_INLINE constexpr status refusal(errc code, std::size_t where = 0) noexcept {
  return {code, part::row, where > 0xFFFFFFFFu ? 0xFFFFFFFFu : static_cast<std::uint32_t>(where)};
}
[[nodiscard]] SPECVERIFY_INLINE constexpr std::size_t whole_lines(std::size_t bytes) noexcept {
  return (bytes + 63) / 64 * 64;
}

template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE constexpr std::uint32_t blocks_of(const device_rows<Scalar>& rows) noexcept {
  return static_cast<std::uint32_t>((std::size_t{rows.size} + kernel::block_size - 1) / kernel::block_size);
}
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE constexpr std::uint32_t kept_of(const device_rows<Scalar>& rows,
                                                                const device_transform& transform) noexcept {
  if (!transform.may_truncate()) return 0;
  std::uint32_t most = transform.kept_capacity;
  if (most == 0 && transform.truncations == nullptr) most = transform.truncation.top_k;
  return most == 0 || most > rows.size ? rows.size : most;
}

//! Divides memory into arrays that begin on lines of 64 bytes.
class cutter {
 public:
  SPECVERIFY_INLINE explicit cutter(void* data) noexcept : next_(reinterpret_cast<std::uintptr_t>(data)) {}
  template <class T>
  [[nodiscard]] SPECVERIFY_INLINE T* take(std::size_t count) noexcept {
    const std::uintptr_t at = next_;
    next_ += whole_lines(count * sizeof(T));
    return count == 0 ? nullptr : reinterpret_cast<T*>(at);
  }

 private:
  std::uintptr_t next_;
};

//! Checks rows and transform without reading them.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status check(const device_rows<Scalar>& rows,
                                             const device_transform& transform) noexcept {
  if (rows.size == 0) return refusal(errc::empty_vocabulary);
  if (rows.size > max_vocab_size) return refusal(errc::vocabulary_too_large);
  if (rows.data == nullptr) return refusal(errc::null_span);
  if (rows.pitch < rows.size || rows.count == 0) return refusal(errc::size_mismatch);
  if (transform.bias_begin != nullptr && (transform.bias_ids == nullptr || transform.bias_values == nullptr))
    return refusal(errc::null_span);
  if (transform.mask_words != nullptr) {
    const std::size_t words = (std::size_t{rows.size} + 63) / 64;
    if (transform.mask_pitch != 0 && transform.mask_pitch < words) return refusal(errc::size_mismatch, words);
    if (reinterpret_cast<std::uintptr_t>(transform.mask_words) % sizeof(std::uint64_t) != 0)
      return refusal(errc::invalid_argument);
  }
  row_truncation cut = transform.truncation;
  if (transform.truncations != nullptr) cut = {};
  const bool usable = numeric::is_finite(transform.temperature) && transform.temperature >= 0.0 &&
                      transform.temperature <= max_temperature;
  if (transform.temperatures == nullptr && !usable) return refusal(errc::invalid_temperature);
  return cut.valid() ? status{} : refusal(errc::invalid_truncation);
}

//! Checks the arguments at the beginning of every function of a batch.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status check(const device_batch<Scalar>& batch) noexcept {
  if (const status why = check(batch.rows, batch.transform); !why.ok()) return why;
  const device_digests& made = batch.digests;
  if (made.rows == nullptr || made.block_sums == nullptr || made.lane_sums == nullptr || made.lane_maxima == nullptr ||
      made.parts == nullptr)
    return refusal(errc::null_span);
  if (made.kept_capacity != 0 && (made.kept_ids == nullptr || made.kept_weights == nullptr))
    return refusal(errc::null_span);
  const bool fits = made.count >= batch.rows.count && made.blocks == blocks_of(batch.rows) &&
                    made.kept_capacity == kept_of(batch.rows, batch.transform);
  return fits ? status{} : refusal(errc::size_mismatch);
}

}  // namespace device_detail

//! Returns the bytes of device memory that the digests of a batch need: 136 per 1024 ids of a row, one device_digest
//! and 4 bytes per row, and 12 per id that a truncated row may keep. Each array is rounded up to 64 bytes. Pure; O(1).
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE constexpr std::size_t device_batch_size(const device_rows<Scalar>& rows,
                                                                        const device_transform& transform) noexcept {
  const auto whole_lines = [](saturating bytes) { return bytes.rounded_up(64); };
  const saturating count = rows.count, blocks = count * device_detail::blocks_of(rows);
  const saturating kept = count * device_detail::kept_of(rows, transform);
  const saturating all = whole_lines(count * sizeof(device_digest)) + whole_lines(blocks * sizeof(double)) +
                         whole_lines(blocks * (kernel::lane_count * sizeof(float))) * 2 +
                         whole_lines(kept * sizeof(token_id)) + whole_lines(kept * sizeof(double)) +
                         whole_lines(count * sizeof(std::uint32_t));
  return static_cast<std::size_t>(all.value);
}

//! Joins rows and transform with memory for the digests. The call accesses no memory, so it can run at every step.
//! Errors: empty_vocabulary, vocabulary_too_large, null_span, invalid_temperature, invalid_truncation; size_mismatch
//! (no rows; pitch below size; mask_pitch below `where` = words of a row); workspace_too_small (`where` = bytes needed,
//! at most 2^32 - 1); invalid_argument (memory not aligned to 64 bytes, or a mask not aligned to 8).
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE result<device_batch<Scalar>> make_device_batch(const device_rows<Scalar>& rows,
                                                                               const device_transform& transform,
                                                                               device_memory memory) noexcept {
  if (const status why = device_detail::check(rows, transform); !why.ok()) return why;
  if (memory.data == nullptr) return device_detail::refusal(errc::null_span);
  if (reinterpret_cast<std::uintptr_t>(memory.data) % 64 != 0) return device_detail::refusal(errc::invalid_argument);
  const std::size_t needed = device_batch_size(rows, transform);
  if (memory.size < needed) return device_detail::refusal(errc::workspace_too_small, needed);
  device_batch<Scalar> made{rows, transform, {}};
  device_digests& out = made.digests;
  out.count = rows.count;
  out.blocks = device_detail::blocks_of(rows);
  out.kept_capacity = device_detail::kept_of(rows, transform);
  const std::size_t count = rows.count, blocks = count * out.blocks, kept = count * out.kept_capacity;
  device_detail::cutter cut(memory.data);
  out.rows = cut.take<device_digest>(count);
  out.block_sums = cut.take<double>(blocks);
  out.lane_sums = cut.take<float>(blocks * kernel::lane_count);
  out.lane_maxima = cut.take<float>(blocks * kernel::lane_count);
  out.kept_ids = cut.take<token_id>(kept);
  out.kept_weights = cut.take<double>(kept);
  out.parts = cut.take<std::uint32_t>(count);
  return made;
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
