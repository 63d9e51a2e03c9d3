// SPDX-License-Identifier: Apache-2.0
// The library for engines in Python (examples/cuda/dlpack), by tensors as DLPack describes them, on the simulator.
#include "../../examples/cuda/dlpack/step.cu"

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace {

struct shaped {
  std::int64_t shape[2], strides[2];
  dl_tensor tensor;
  shaped(const void* data, std::uint8_t code, std::uint8_t bits, std::int64_t rows, std::int64_t columns,
         std::int64_t pitch)
      : shape{rows, columns},
        strides{pitch, 1},
        tensor{const_cast<void*>(data), 2, 0, columns == 0 ? 1 : 2, code, bits, 1, shape, strides, 0} {
    if (columns == 0) strides[0] = 1;
  }
};

template <class Scalar>
void compare(std::uint8_t code, std::uint8_t bits) {
  constexpr std::uint32_t count = 4, size = 1031, padding = 5;
  batch<Scalar> rows(count, size, padding);
  rows.fill(11, 3);
  std::vector<philox_key> keys{{{1, 2}}, {{3, 4}}, {{5, 6}}, {{7, 8}}};
  std::vector<std::uint32_t> positions{4, 5, 6, 7}, rounds{0, 1, 0, 2};
  std::vector<std::int32_t> words(count * 5);
  const shaped logits(rows.row(0), code, bits, count, size, size + padding);
  const shaped memory(rows.memory().data, 1, 8, static_cast<std::int64_t>(rows.memory().size), 0, 1);
  const shaped key(keys.data(), 0, 32, count, 2, 2), position(positions.data(), 0, 32, count, 0, 1);
  const shaped round(rounds.data(), 0, 32, count, 0, 1), tokens(words.data(), 0, 32, count, 5, 5);
  step_tensors in{&logits.tensor, &memory.tensor, &key.tensor, &position.tensor, &round.tensor, &tokens.tensor};
  CHECK(step_bytes(count, size) == rows.memory().size);

  simulator::device gpu({.seed = 4});
  rows.name_to(gpu);
  gpu.input(keys.data(), count);
  gpu.input(positions.data(), count);
  gpu.input(rounds.data(), count);
  gpu.output(words.data(), words.size());
  REQUIRE(step_draw(&in, 0.7, nullptr) == 0);
  REQUIRE(gpu.report() == "");
  row_transform transform;
  transform.temperature = 0.7;
  for (std::uint32_t r = 0; r < count; ++r) {
    std::vector<std::byte> bytes(digest_workspace_size(size, transform, {}));
    workspace scratch(bytes);
    const auto reading = read_row(exec::seq, rows.host_row(r), transform, {}, scratch);
    REQUIRE(reading.ok());
    const auto drawn = reading->sample(uniforms{philox{keys[r]}, positions[r], rounds[r]}.at(purpose::bonus_draw));
    CHECK(words[r * 5] == 0);
    CHECK(words[r * 5 + 2] == drawn->token);
  }

  in.positions = &key.tensor;
  CHECK(step_draw(&in, 0.7, nullptr) == static_cast<int>(errc::invalid_argument));
  in.positions = &position.tensor;
  CHECK(step_draw(&in, -1.0, nullptr) == static_cast<int>(errc::invalid_temperature));
  const shaped wide(rows.row(0), 2, 64, count, size, size + padding);
  in.logits = &wide.tensor;
  CHECK(step_draw(&in, 0.7, nullptr) == static_cast<int>(errc::unsupported));
}

}  // namespace

TEST_CASE("draws by DLPack tensors are the host's") {
  compare<float>(2, 32);
  compare<float16_bits>(2, 16);
  compare<bfloat16_bits>(4, 16);
}
