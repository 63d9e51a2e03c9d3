// SPDX-License-Identifier: Apache-2.0
//! Helpers of the tests of device/: the policy of the Thrust system of this build, and readings of the CPU.
#ifndef SPECVERIFY_TESTS_DEVICE_THRUST_SUPPORT_HPP
#define SPECVERIFY_TESTS_DEVICE_THRUST_SUPPORT_HPP

#include <specverify/device/thrust.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

#define SPECVERIFY_WITHOUT_SIMULATOR
#include "batches.hpp"

namespace device_tests {

#if defined(THRUST_CUB_WRAPPED_NAMESPACE)
namespace thrust = THRUST_CUB_WRAPPED_NAMESPACE::thrust;
#endif

inline const exec::thrust_on on{thrust::device};  // CPP or OMP, by THRUST_DEVICE_SYSTEM

inline bool is_long() {
  const char* wanted = std::getenv("SPECVERIFY_LONG");
  return wanted != nullptr && wanted[0] == '1';
}

//! Calls `check(rows, seed)` for rows of all kinds at many temperatures, with and without transforms. `count`: batches
//! of 16 rows.
template <class Scalar, class Check>
void for_each_batch(const Check& check) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 20u : 2u); ++seed) {
      CAPTURE(size);
      CAPTURE(seed);
      batch<Scalar> rows(hard_rows::kinds + 1, size, static_cast<std::uint32_t>(seed * 3),
                         static_cast<std::uint32_t>(seed));
      rows.fill(0, seed);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = seed == 0 ? 1.0 : 0.3 + 0.25 * r;
      check(rows, seed);
      rows.transform_all(seed + size);
      rows.temperature(3) = 0.0;
      rows.temperature(5) = 1e-7;
      rows.temperature(7) = -1.0;
      rows.temperature(8) = row_cases::nan_value();
      check(rows, seed + 1);
      rows.set(2, size / 2, row_cases::nan_value());
      rows.set(4, size - 1, row_cases::infinity);
      for (std::uint32_t id = 0; id < size; ++id) rows.set(6, id, -row_cases::infinity);
      check(rows, seed + 2);
    }
  }
}

//! Five hundred rows of 4 096 ids, ten thousand in the long run.
template <class Check>
void for_many_rows(const Check& check) {
  for (std::uint64_t seed = 0; seed < (is_long() ? 625u : 32u); ++seed) {
    batch<float> rows(hard_rows::kinds + 1, 4096);
    rows.fill(0, 1000 + seed);
    for (std::uint32_t r = 0; r < rows.count(); ++r)
      rows.temperature(r) = 0.05 + 0.01 * static_cast<double>(seed * 7 % 150 + r);
    check(rows, seed);
  }
}

//! The same for rows with truncations of all kinds, one of them invalid.
template <class Check>
auto truncated(const Check& check) {
  return [check](auto& rows, std::uint64_t seed) {
    rows.truncate_all(static_cast<std::uint32_t>(seed * 31 + rows.size()));
    rows.truncation(9 % rows.count()).top_p = 0.0;
    check(rows, seed);
  };
}

//! A reading of one row by exec::seq, with its memory.
template <class Scalar>
class host_reading {
 public:
  host_reading(batch<Scalar>& rows, std::uint32_t r, const read_request& request = {})
      : transform_(rows.host_transform(r)),
        bytes_(digest_workspace_size(rows.size(), transform_, request)),
        scratch_(bytes_),
        reading_(read_row(exec::seq, rows.host_row(r), transform_, request, scratch_)) {}
  [[nodiscard]] status why() const { return reading_.error(); }
  [[nodiscard]] bool ok() const { return reading_.ok(); }
  const auto* operator->() const { return &reading_.value(); }
  const auto& operator*() const { return reading_.value(); }

 private:
  row_transform transform_;
  std::vector<std::byte> bytes_;
  workspace scratch_;
  result<row_reading<exec::seq_policy, Scalar>> reading_;
};

//! Keys, positions and rounds of a batch.
struct places {
  explicit places(std::uint32_t count) : keys(count), positions(count), rounds(count) {
    for (std::uint32_t r = 0; r < count; ++r) {
      keys[r] = {{r * 7919u + 1u, 0xC0FFEEu ^ r}};
      positions[r] = 100 + r;
      rounds[r] = r % 5;
    }
  }
  [[nodiscard]] device_uniforms<> all() const { return {keys.data(), 1, positions.data(), rounds.data()}; }
  [[nodiscard]] uniforms<> of(std::uint32_t r) const { return {philox{keys[r]}, positions[r], rounds[r]}; }
  std::vector<philox_key> keys;
  std::vector<std::uint32_t> positions, rounds;
};

}  // namespace device_tests

#endif
