// SPDX-License-Identifier: Apache-2.0
//! Batches of hard rows, on the host and on the device, and the memory and counts of their checks. If g++ compiles the
//! checks for the block simulator, the device's memory is the host's.
#ifndef SPECVERIFY_TESTS_GPU_BATCHES_HPP
#define SPECVERIFY_TESTS_GPU_BATCHES_HPP

#include <specverify/device/batch.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../unit/row/row_cases.hpp"
#include "support/hard_rows.hpp"

namespace gpu_tests {

#if defined(__CUDACC__)

//! Ends the program with CUDA's own words where a call fails: nothing that follows would say anything.
inline void must(cudaError_t why, const char* what) {
  if (why == cudaSuccess) return;
  std::printf("CUDA: %s: %s\n", what, cudaGetErrorString(why));
  std::exit(1);
}

//! What lives as long as a batch. On the simulator it is the device.
class scene {
 public:
  explicit scene(unsigned long long) {}
  template <class T>
  T* take(std::size_t count) {
    void* data = nullptr;
    must(cudaMalloc(&data, count == 0 ? 1 : count * sizeof(T)), "cudaMalloc");
    return static_cast<T*>(data);
  }
  static void give_back(void* data) { must(cudaFree(data), "cudaFree"); }
  //! Behind all that was enqueued before, and done when it returns: streams that do not wait for the default one would
  //! else overtake a copy.
  static void copy(void* to, const void* from, std::size_t bytes) {
    must(cudaDeviceSynchronize(), "what came before");
    must(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
    must(cudaDeviceSynchronize(), "cudaMemcpy");
  }
  static void fill(void* data, int byte, std::size_t bytes) {
    must(cudaMemset(data, byte, bytes), "cudaMemset");
    must(cudaDeviceSynchronize(), "cudaMemset");
  }
  static std::string report() { return cudaGetErrorString(cudaDeviceSynchronize()); }
  static constexpr const char* nothing = "no error";
};

#else

inline void must(cudaError_t, const char*) {}

class scene {
 public:
  explicit scene(unsigned long long seed) : device_({.seed = seed}) {}
  template <class T>
  T* take(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + 64) / 64 * 64;
    taken_.emplace_back(std::aligned_alloc(64, bytes), &std::free);
    T* data = static_cast<T*>(taken_.back().get());
    device_.both(data, count);
    return data;
  }
  static void give_back(void*) {}  // a region is one until the device goes
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  static void fill(void* data, int byte, std::size_t bytes) {
    if (bytes != 0) std::memset(data, byte, bytes);
  }
  std::string report() const { return device_.report(); }
  static constexpr const char* nothing = "";

 private:
  std::vector<std::unique_ptr<void, void (*)(void*)>> taken_{};
  simulator::device device_;
};

#endif

//! What memory holds before a kernel writes it.
enum class contents : unsigned char {
  written,  //!< bytes of 1, so that a place which no kernel writes is no result of the batch before
  none      //!< nothing: the initcheck of compute-sanitizer sees a kernel read it
};

//! Elements in device memory. `read` and `write` wait for what was enqueued before.
template <class T>
class array {
 public:
  array(scene& where, std::size_t count, contents before = contents::written)
      : data_(where.take<T>(count)), count_(count) {
    if (before == contents::written) scene::fill(data_, 1, count * sizeof(T));
  }
  array(scene& where, const std::vector<T>& values) : data_(where.take<T>(values.size())), count_(values.size()) {
    write(values);
  }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() { scene::give_back(data_); }

  [[nodiscard]] T* data() const { return data_; }
  void write(const std::vector<T>& values) { scene::copy(data_, values.data(), values.size() * sizeof(T)); }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> values(count_);
    scene::copy(values.data(), data_, count_ * sizeof(T));
    return values;
  }

 private:
  T* data_;
  std::size_t count_;
};

//! The findings of one check: values that must have the same bits, and decisions that may differ at near ties.
struct tally {
  std::uint64_t rows = 0;       //!< compared
  std::uint64_t values = 0;     //!< outputs that must have the same bits
  std::uint64_t decisions = 0;  //!< draws and tests, which may differ at near ties
  std::uint64_t near_ties = 0;  //!< of these differ, within 2^-20 by long double
  std::uint64_t measured = 0;   //!< of these agree, and their distance from another outcome was taken
  std::uint64_t close = 0;      //!< of these within 2^-20: few, else the distance says nothing
  std::uint64_t wrong = 0;
  std::vector<std::string> texts{};  //!< of the first ones that are wrong

  void expect(bool right, const char* what, std::uint64_t size, std::uint64_t row) {
    ++values;
    if (!right) complain(place_of(what, size, row));
  }
  static std::string place_of(const char* what, std::uint64_t size, std::uint64_t row) {
    return std::string(what) + " at V = " + std::to_string(size) + ", row " + std::to_string(row);
  }
  //! A decision that must be the same. Where it is not, `distance()` says how near another outcome was, in long double;
  //! `look` asks for that although it is the same.
  template <class Distance>
  void decide(bool same, bool look, const std::string& what, const Distance& distance) {
    ++decisions;
    if (same && !look) return;
    const long double found = distance();
    const bool is_near = found <= 0x1p-20L;
    if (same) {
      ++measured;
      close += is_near ? 1 : 0;
    } else if (is_near) {
      ++near_ties;
    } else {
      complain(what + " differs, nearest decision " + std::to_string(static_cast<double>(found)));
    }
  }
  void complain(const std::string& text) {
    ++wrong;
    if (texts.size() < 5) texts.push_back(text);
  }
  void add(const tally& other) {
    rows += other.rows;
    values += other.values;
    decisions += other.decisions;
    near_ties += other.near_ties;
    measured += other.measured;
    close += other.close;
    wrong += other.wrong;
    for (const std::string& text : other.texts)
      if (texts.size() < 5) texts.push_back(text);
  }
  //! Near ties may be one in ten thousand; in a few thousand draws one.
  [[nodiscard]] bool passed() const {
    return wrong == 0 && near_ties <= 1 + decisions / 10000 && close <= 1 + measured / 200;
  }
};

//! Checks by name, in the order in which they came.
class report {
 public:
  tally& operator[](const std::string& name) {
    if (found_.find(name) == found_.end()) order_.push_back(name);
    return found_[name];
  }
  //! A table on stdout; whether all passed.
  bool print() {
    bool passed = true;
    std::printf("%-24s %9s %12s %10s %10s  %s\n", "check", "rows", "same bits", "decisions", "near ties", "result");
    for (const std::string& name : order_) {
      const tally& t = found_[name];
      const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
      std::printf("%-24s %9llu %12llu %10llu %10llu  %s\n", name.c_str(), number(t.rows), number(t.values),
                  number(t.decisions), number(t.near_ties), t.passed() ? "ok" : "FAILED");
      for (const std::string& text : t.texts) std::printf("    %s\n", text.c_str());
      passed = passed && t.passed();
    }
    return passed;
  }

 private:
  std::map<std::string, tally> found_;
  std::vector<std::string> order_;
};

using namespace specverify;
using row_cases::generator;

//! Normal numbers, made once.
inline const std::vector<float> normals = [] {
  generator random{7};
  std::vector<float> made(65536);
  for (float& value : made) value = static_cast<float>(random.normal());
  return made;
}();

//! Rows of a batch that a check looks at.
struct shape {
  std::uint32_t count = 16;
  std::uint32_t size = 1024;
  std::uint64_t seed = 1;
  bool transforms = false;  //!< biases, masks, padding and rows that begin anywhere
  bool truncates = false;   //!< a truncation for each row, of all sorts and orders, some of them invalid
};

//! One batch: what the host knows, and the same on the device.
template <class Scalar>
class batch {
 public:
  batch(scene& where, const shape& wanted)
      : how(wanted),
        pitch_(wanted.size + (wanted.transforms ? 3 : 0)),
        offset_(wanted.transforms ? 1 : 0),
        logits_(make_logits()),
        temperatures_(make_temperatures()),
        device_logits_(where, logits_),
        device_temperatures_(where, temperatures_),
        truncations_(make_truncations()),
        device_truncations_(where, truncations_),
        bytes_(device_batch_size(rows(), cuts())),
        memory_(where, bytes_) {
    make_places();
    if (how.transforms) make_transforms();
    keys_ = std::make_unique<array<philox_key>>(where, keys);
    positions_ = std::make_unique<array<std::uint32_t>>(where, positions);
    rounds_ = std::make_unique<array<std::uint32_t>>(where, rounds);
    masks_on_ = std::make_unique<array<std::uint64_t>>(where, masks_);
    begin_on_ = std::make_unique<array<std::uint32_t>>(where, bias_begin_);
    ids_on_ = std::make_unique<array<token_id>>(where, bias_ids_);
    values_on_ = std::make_unique<array<float>>(where, bias_values_);
  }

  [[nodiscard]] device_rows<Scalar> rows() const {
    return {device_logits_.data() + offset_, pitch_, how.count, how.size};
  }
  [[nodiscard]] device_transform transform() const {
    device_transform made = cuts();
    made.temperatures = device_temperatures_.data();
    if (!how.transforms) return made;
    made.mask_words = masks_on_->data();
    made.mask_pitch = words();
    made.bias_begin = begin_on_->data();
    made.bias_ids = ids_on_->data();
    made.bias_values = values_on_->data();
    return made;
  }
  [[nodiscard]] device_batch<Scalar> made() const {
    const auto all = make_device_batch(rows(), transform(), {memory_.data(), bytes_});
    if (!all) std::printf("make_device_batch: error %d\n", static_cast<int>(all.error().code));
    return all ? *all : device_batch<Scalar>{};
  }
  [[nodiscard]] device_uniforms<> uniforms_on() const {
    return {keys_->data(), 1, positions_->data(), rounds_->data()};
  }
  [[nodiscard]] uniforms<philox> uniforms_of(std::uint32_t r) const {
    return {philox{keys[r]}, positions[r], rounds[r]};
  }
  [[nodiscard]] row_view<Scalar> host_row(std::uint32_t r) const {
    return {row_kind::logits, logits_.data() + offset_ + std::size_t{r} * pitch_, how.size};
  }
  [[nodiscard]] row_transform host_transform(std::uint32_t r) const {
    row_transform made;
    made.temperature = temperatures_[r];
    if (how.truncates) made.truncation = truncations_[r];
    if (!how.transforms) return made;
    made.mask_words = {masks_.data() + std::size_t{r} * words(), words()};
    const std::uint32_t first = bias_begin_[r], count = bias_begin_[r + 1] - first;
    made.bias_ids = {bias_ids_.data() + first, count};
    made.bias_values = {bias_values_.data() + first, count};
    return made;
  }
  //! The logits of a row after bias and mask.
  [[nodiscard]] std::vector<double> values(std::uint32_t r) const {
    const Scalar* from = logits_.data() + offset_ + std::size_t{r} * pitch_;
    return row_cases::transformed(std::vector<Scalar>(from, from + how.size), host_transform(r));
  }
  //! Moves all rows on in their texts.
  void advance(std::uint32_t by) {
    for (std::uint32_t& position : positions) position += by;
    positions_->write(positions);
  }

  shape how;
  std::vector<philox_key> keys{};
  std::vector<std::uint32_t> positions{}, rounds{};

 private:
  [[nodiscard]] std::size_t words() const { return (how.size + 63) / 64; }
  [[nodiscard]] device_transform cuts() const {
    device_transform made;
    if (how.truncates) made.truncations = device_truncations_.data();
    return made;
  }
  [[nodiscard]] std::vector<row_truncation> make_truncations() const {
    std::vector<row_truncation> made;
    for (std::uint32_t r = 0; how.truncates && r < how.count; ++r) {
      const auto number = static_cast<std::uint32_t>(how.seed * 31 + r);
      made.push_back(hard_rows::truncation_of(number, how.size));
      if (number % 83 == 0) made.back().top_p = 0;
      if (number % 89 == 0) made.back().min_p = -1;
    }
    return made;
  }
  [[nodiscard]] std::vector<Scalar> make_logits() const {
    const Scalar outside = row_cases::scalar_of<Scalar>(row_cases::nan_value());
    std::vector<Scalar> made(offset_ + pitch_ * how.count, outside);
    generator random{how.seed * 2654435761u + 99991u};
    for (std::uint32_t r = 0; r < how.count; ++r) {
      const std::uint32_t kind = static_cast<std::uint32_t>((how.seed + r) % (hard_rows::kinds + 1));
      Scalar* row = made.data() + offset_ + std::size_t{r} * pitch_;
      for (std::uint32_t id = 0; id < how.size; ++id) {
        const float normal = normals[random.next() >> 48];
        const float value = kind == hard_rows::kinds ? 3.0f * normal : hard_rows::value_of(kind, id, how.size, normal);
        row[id] = row_cases::scalar_of<Scalar>(static_cast<double>(value));
      }
      spoil(row, r, random);
    }
    return made;
  }
  //! Some rows are in error: a NaN, +infinity, nothing finite.
  void spoil(Scalar* row, std::uint32_t r, generator& random) const {
    const std::uint64_t place = (how.seed * 131 + r) % 97;
    if (place < 2)
      row[random.below(how.size)] =
          row_cases::scalar_of<Scalar>(place == 0 ? row_cases::nan_value() : row_cases::infinity);
    if (place != 2) return;
    for (std::uint32_t id = 0; id < how.size; ++id) row[id] = row_cases::scalar_of<Scalar>(-row_cases::infinity);
  }
  [[nodiscard]] std::vector<double> make_temperatures() const {
    std::vector<double> made;
    for (std::uint32_t r = 0; r < how.count; ++r) {
      const std::uint64_t place = (how.seed * 17 + r) % 61;
      made.push_back(place == 0   ? 0.0
                     : place == 1 ? -1.0
                     : place == 2 ? row_cases::nan_value()
                                  : 0.1 + 0.05 * static_cast<double>(place));
    }
    return made;
  }
  void make_places() {
    for (std::uint32_t r = 0; r < how.count; ++r) {
      keys.push_back({{r * 7919u + 1u, 0xC0FFEEu ^ static_cast<std::uint32_t>(how.seed)}});
      positions.push_back(100 + r);
      rounds.push_back(r % 5);
    }
  }
  void make_transforms() {
    generator random{how.seed * 40503u + 7u};
    masks_.resize(how.count * words());
    for (std::uint64_t& word : masks_) word = random.next() | random.next();
    bias_begin_ = {0};
    for (std::uint32_t r = 0; r < how.count; ++r) {
      const row_cases::sparse_bias bias(how.size, random);
      bias_ids_.insert(bias_ids_.end(), bias.ids.begin(), bias.ids.end());
      bias_values_.insert(bias_values_.end(), bias.values.begin(), bias.values.end());
      bias_begin_.push_back(static_cast<std::uint32_t>(bias_ids_.size()));
    }
  }

  std::size_t pitch_, offset_;
  std::vector<Scalar> logits_;
  std::vector<double> temperatures_;
  std::vector<std::uint64_t> masks_{};
  std::vector<std::uint32_t> bias_begin_{};
  std::vector<token_id> bias_ids_{};
  std::vector<float> bias_values_{};
  array<Scalar> device_logits_;
  array<double> device_temperatures_;
  std::vector<row_truncation> truncations_;
  array<row_truncation> device_truncations_;
  std::size_t bytes_;
  array<std::byte> memory_;
  std::unique_ptr<array<philox_key>> keys_{};
  std::unique_ptr<array<std::uint32_t>> positions_{}, rounds_{}, begin_on_{};
  std::unique_ptr<array<std::uint64_t>> masks_on_{};
  std::unique_ptr<array<token_id>> ids_on_{};
  std::unique_ptr<array<float>> values_on_{};
};

//! `compare(row, tally)` for each row of a batch, on all processors where there is a GPU.
template <class Compare>
void for_each_row(std::uint32_t count, tally& found, const Compare& compare) {
#if defined(__CUDACC__)
  const std::uint32_t workers = std::max(1u, std::min(std::thread::hardware_concurrency(), count / 4));
#else
  const std::uint32_t workers = 1;  // threads of the simulator are its own
#endif
  std::vector<tally> part(workers);
  const auto work = [&](std::uint32_t first) {
    for (std::uint32_t r = first; r < count; r += workers) compare(r, part[first]);
  };
  std::vector<std::thread> others;
  for (std::uint32_t first = 1; first < workers; ++first) others.emplace_back(work, first);
  work(0);
  for (std::thread& other : others) other.join();
  for (const tally& one : part) found.add(one);
  found.rows += count;
}

}  // namespace gpu_tests

#endif
