// SPDX-License-Identifier: Apache-2.0
//! Positions of random numbers for the rows of a batch, and keys with prescribed numbers.
#ifndef SPECVERIFY_TESTS_DEVICE_DRAWS_HPP
#define SPECVERIFY_TESTS_DEVICE_DRAWS_HPP

#include <specverify/core/uniforms.hpp>
#include <specverify/device/batch.hpp>
#include <specverify/testing/uniform_script.hpp>

#include <device/simulator/simulator.hpp>

#include <vector>

namespace device_tests {

using namespace specverify;

//! One key, position and round per row of a batch.
struct places {
  explicit places(std::uint32_t count, std::uint32_t seed = 0) : keys(count), positions(count), rounds(count) {
    for (std::uint32_t r = 0; r < count; ++r) {
      keys[r] = {{r * 7919u + seed, 0xBEEFu ^ r}};
      positions[r] = 40 + r;
      rounds[r] = r % 3;
    }
  }
  void name_to(simulator::device& gpu) const {
    gpu.input(keys.data(), keys.size());
    gpu.input(positions.data(), positions.size());
    gpu.input(rounds.data(), rounds.size());
  }
  [[nodiscard]] device_uniforms<> all() const { return {keys.data(), 1, positions.data(), rounds.data()}; }
  [[nodiscard]] uniforms<> of(std::uint32_t row) const { return {philox{keys[row]}, positions[row], rounds[row]}; }
  std::vector<philox_key> keys;
  std::vector<std::uint32_t> positions, rounds;
};

//! A key whose numbers come from the last script passed to answer_with. Kernels find `random_at` by ADL.
struct scripted_key {
  std::uint32_t unused = 0;
};
void answer_with(const scripted_source& script);  // in script.cpp, which the simulator does not instrument
[[nodiscard]] random_block random_at(scripted_key key, random_counter counter) noexcept;

}  // namespace device_tests

#endif
