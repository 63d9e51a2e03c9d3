// SPDX-License-Identifier: Apache-2.0
//! Batches of rows for kernels on the simulator, and the CPU readings that the results must equal.
#ifndef SPECVERIFY_TESTS_DEVICE_BATCHES_HPP
#define SPECVERIFY_TESTS_DEVICE_BATCHES_HPP

#include <specverify/device/batch.hpp>
#include <specverify/row/reading.hpp>

#if !defined(SPECVERIFY_WITHOUT_SIMULATOR)  // the tests of Thrust
#include <specverify/cuda/digest.cuh>

#include <device/orders.hpp>
#endif

#include <doctest/doctest.h>

#include <optional>

#include "../unit/row/row_cases.hpp"
#include "support/hard_rows.hpp"

namespace device_tests {

using namespace specverify;
using hard_rows::truncation_of;
using row_cases::generator;

//! Vocabulary sizes: one id, a part of a block, odd numbers of blocks, a last block of one id.
inline const std::vector<std::uint32_t> sizes{1, 17, 1000, 1024, 1025, 4001, 4096};
inline constexpr std::uint32_t large_size = 128256;

//! Returns a logit of a kind of difficult row; `kind` 15: normal numbers.
inline double hard_value(std::uint32_t kind, std::uint32_t id, std::uint32_t size, generator& random) {
  const auto normal = static_cast<float>(random.normal());
  return kind == hard_rows::kinds ? 3.0 * static_cast<double>(normal)
                                  : static_cast<double>(hard_rows::value_of(kind, id, size, normal));
}

//! Device memory for `count` elements, aligned to 64 bytes.
template <class T>
class aligned_memory {
 public:
  explicit aligned_memory(std::size_t count) : bytes_(count * sizeof(T) + 64) {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    data_ = reinterpret_cast<T*>(bytes_.data() + (64 - at % 64) % 64);
  }
  aligned_memory(aligned_memory&&) = default;  // the memory does not move
  aligned_memory& operator=(aligned_memory&&) = default;
  aligned_memory(const aligned_memory&) = delete;
  aligned_memory& operator=(const aligned_memory&) = delete;
  T* data() { return data_; }

 private:
  std::vector<std::byte> bytes_;
  T* data_;
};

//! Rows, each with a separate transform. `offset`: entries from the alignment of 64 bytes to the first row.
template <class Scalar>
class batch {
 public:
  batch(std::uint32_t count, std::uint32_t size, std::uint32_t padding = 0, std::uint32_t offset = 0)
      : count_(count),
        size_(size),
        pitch_(size + padding),
        logits_(std::size_t{count} * pitch_ + offset),
        offset_(offset),
        temperatures_(count, 1.0),
        memory_size_(device_batch_size(rows(), {})),
        memory_(memory_size_) {
    for (std::uint32_t r = 0; r < count; ++r)
      for (std::uint32_t id = size; id < pitch_; ++id)
        row(r)[id] = row_cases::scalar_of<Scalar>(row_cases::nan_value());
    digests = made().digests;
  }

  Scalar* row(std::uint32_t r) { return logits_.data() + offset_ + std::size_t{r} * pitch_; }
  void set(std::uint32_t r, std::uint32_t id, double value) { row(r)[id] = row_cases::scalar_of<Scalar>(value); }
  double& temperature(std::uint32_t r) { return temperatures_[r]; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }

  void fill(std::uint32_t kind_of_first, std::uint64_t seed) {
    generator random{seed * 2654435761u + 99991u};
    for (std::uint32_t r = 0; r < count_; ++r)
      for (std::uint32_t id = 0; id < size_; ++id)
        set(r, id, hard_value((kind_of_first + r) % (hard_rows::kinds + 1), id, size_, random));
  }
  //! Adds different biases and masks to each row: about every twentieth id has a bias, about a third are forbidden.
  void transform_all(std::uint64_t seed) {
    generator random{seed * 40503u + 7u};
    words_ = (size_ + 63) / 64;
    masks_.resize(std::size_t{count_} * words_);
    for (std::uint64_t& word : masks_) word = random.next() | random.next();
    bias_begin_ = {0};
    for (std::uint32_t r = 0; r < count_; ++r) {
      const row_cases::sparse_bias bias(size_, random);
      bias_ids_.insert(bias_ids_.end(), bias.ids.begin(), bias.ids.end());
      bias_values_.insert(bias_values_.end(), bias.values.begin(), bias.values.end());
      bias_begin_.push_back(static_cast<std::uint32_t>(bias_ids_.size()));
    }
  }

  //! Allows only ids that are multiples of `step` in every row, and raises one id by a bias.
  void allow_few(std::uint32_t step, std::uint32_t lifted, float by) {
    words_ = (size_ + 63) / 64;
    masks_.assign(std::size_t{count_} * words_, 0);
    bias_begin_ = {0};
    for (std::uint32_t r = 0; r < count_; ++r) {
      for (std::uint32_t id = 0; id < size_; id += step) masks_[r * words_ + id / 64] |= std::uint64_t{1} << (id % 64);
      bias_ids_.push_back(static_cast<token_id>(lifted));
      bias_values_.push_back(by);
      bias_begin_.push_back(r + 1);
    }
  }

  //! Adds truncations of all kinds from number `first` on, one per row. `capacity`: maximum kept ids per row; 0: all.
  void truncate_all(std::uint32_t first, std::uint32_t capacity = 0) {
    cuts_.resize(count_);
    for (std::uint32_t r = 0; r < count_; ++r) cuts_[r] = truncation_of(first + r, size_);
    kept_capacity_ = capacity;
    make_room();
  }
  //! Adds one truncation for all rows, with the memory that it needs.
  void truncate_alike(const row_truncation& cut) {
    cuts_.clear();
    one_cut_ = cut;
    kept_capacity_ = 0;
    make_room();
  }
  row_truncation& truncation(std::uint32_t r) { return cuts_[r]; }

  [[nodiscard]] device_rows<Scalar> rows() { return {row(0), pitch_, count_, size_}; }
  [[nodiscard]] device_memory memory() { return {memory_.data(), memory_size_}; }
  //! Returns rows, transform and memory as one value.
  [[nodiscard]] device_batch<Scalar> made() { return made(transform()); }
  [[nodiscard]] device_batch<Scalar> made(const device_transform& wanted) {
    const auto all = make_device_batch(rows(), wanted, memory());
    REQUIRE(all.ok());
    return *all;
  }
  [[nodiscard]] device_transform transform() const {
    device_transform made;
    made.temperatures = temperatures_.data();
    made.truncation = one_cut_;
    if (!cuts_.empty()) made.truncations = cuts_.data();
    made.kept_capacity = kept_capacity_;
    if (bias_begin_.empty()) return made;
    made.mask_words = masks_.data();
    made.mask_pitch = words_;
    made.bias_begin = bias_begin_.data();
    made.bias_ids = bias_ids_.data();
    made.bias_values = bias_values_.data();
    return made;
  }
  [[nodiscard]] row_transform host_transform(std::uint32_t r) const {
    row_transform made;
    made.temperature = temperatures_[r];
    made.truncation = cuts_.empty() ? one_cut_ : cuts_[r];
    if (bias_begin_.empty()) return made;
    made.mask_words = {masks_.data() + std::size_t{r} * words_, words_};
    const std::uint32_t first = bias_begin_[r], count = bias_begin_[r + 1] - first;
    made.bias_ids = {bias_ids_.data() + first, count};
    made.bias_values = {bias_values_.data() + first, count};
    return made;
  }
  [[nodiscard]] row_view<Scalar> host_row(std::uint32_t r) { return {row_kind::logits, row(r), size_}; }

  //! Registers each row separately, so that a read of padding is outside all regions.
  template <class Gpu>
  void name_to(Gpu& gpu) {
    for (std::uint32_t r = 0; r < count_; ++r) gpu.input(row(r), size_);
    gpu.input(temperatures_.data(), count_);
    gpu.input(masks_.data(), masks_.size());
    gpu.input(bias_begin_.data(), bias_begin_.size());
    gpu.input(bias_ids_.data(), bias_ids_.size());
    gpu.input(bias_values_.data(), bias_values_.size());
    const std::size_t blocks = std::size_t{count_} * digests.blocks;
    gpu.output(digests.rows, count_);
    gpu.output(digests.parts, count_);
    gpu.output(digests.block_sums, blocks);
    gpu.output(digests.lane_sums, blocks * kernel::lane_count);
    gpu.output(digests.lane_maxima, blocks * kernel::lane_count);
    gpu.input(cuts_.data(), cuts_.size());
    if (digests.kept_capacity == 0) return;
    gpu.output(digests.kept_ids, std::size_t{count_} * digests.kept_capacity);
    gpu.output(digests.kept_weights, std::size_t{count_} * digests.kept_capacity);
  }

  device_digests digests;

 private:
  void make_room() {
    memory_size_ = device_batch_size(rows(), transform());
    memory_ = aligned_memory<std::byte>(memory_size_);
    digests = made().digests;
  }

  std::uint32_t count_, size_;
  std::size_t pitch_;
  std::vector<Scalar> logits_;
  std::uint32_t offset_;
  std::vector<double> temperatures_;
  std::vector<row_truncation> cuts_;
  row_truncation one_cut_{};
  std::uint32_t kept_capacity_ = 0;
  std::vector<std::uint64_t> masks_;
  std::size_t words_ = 0;
  std::vector<std::uint32_t> bias_begin_;
  std::vector<token_id> bias_ids_;
  std::vector<float> bias_values_;
  std::size_t memory_size_;
  aligned_memory<std::byte> memory_;
};

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

//! A truncated row must keep the same ids as on the CPU. Returns false if these exceed the memory; the digest must then
//! have an error.
template <class Held>
bool compare_kept(const device_digests& digests, std::uint32_t r, const Held& expected) {
  const device_digest& found = digests.rows[r];
  const auto ids = expected.space.template at<token_id>(expected.value.kept_ids);
  const auto weights = expected.space.template at<double>(expected.value.kept_weights);
  REQUIRE(found.kept == ids.size());
  if (found.kept > digests.kept_capacity) {
    REQUIRE(found.why == status{errc::support_too_large, part::row, found.kept});
    return false;
  }
  const std::size_t first = std::size_t{r} * digests.kept_capacity;
  REQUIRE(std::equal(ids.begin(), ids.end(), digests.kept_ids + first));
  REQUIRE(std::memcmp(weights.data(), digests.kept_weights + first, weights.size() * sizeof(double)) == 0);
  REQUIRE(found.total_weight == expected.value.total_weight);
  REQUIRE(same_bits(found.normaliser, expected.value.normaliser));
  REQUIRE(same_bits(found.coarse_total, expected.value.coarse_total));
  REQUIRE(same_bits(static_cast<double>(found.reference), expected.value.reference));
  return true;
}

#if !defined(SPECVERIFY_WITHOUT_SIMULATOR)
//! Batches of 16 difficult rows of 4 096 ids: two hundred rows, ten thousand in the long run.
inline std::uint32_t many_batches() { return is_long() ? 625 : 13; }
inline batch<float> batch_of_many(std::uint32_t number) {
  batch<float> rows(hard_rows::kinds + 1, 4096);
  rows.fill(0, 1000 + number);
  for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.05 + 0.01 * (number * 7 % 150 + r);
  return rows;
}
#endif

//! As many rows as ids, each with a NaN at another id.
inline batch<float> nan_at_every_place(std::uint32_t size) {
  batch<float> rows(size, size);
  rows.fill(15, 9);
  for (std::uint32_t r = 0; r < size; ++r) rows.set(r, r, row_cases::nan_value());
  return rows;
}

}  // namespace device_tests

#endif
