// SPDX-License-Identifier: Apache-2.0
#include <specverify/kernel/block_source.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "../row/row_cases.hpp"

using namespace row_cases;

TEST_CASE("kernel.to_working: every fp16 and bf16 pattern") {
  bool equal = true;
  for (std::uint32_t bits = 0; bits <= 0xFFFFu; ++bits) {
    const float16_bits half{static_cast<std::uint16_t>(bits)};
    const bfloat16_bits brain{static_cast<std::uint16_t>(bits)};
    const float a = kernel::to_working(half), b = kernel::to_working(brain);
    const bool nan = (bits & 0x7C00u) == 0x7C00u && (bits & 0x3FFu) != 0;
    equal = equal && kernel::is_nan(a) == nan &&
            (nan ||
             kernel::bits_as<std::uint64_t>(static_cast<double>(a)) == kernel::bits_as<std::uint64_t>(meaning(half)));
    equal = equal && kernel::bits_as<std::uint32_t>(b) == bits << 16;
  }
  CHECK(equal);
}

TEST_CASE(
    "kernel.load: a plain block is the row itself; stride, bias, mask and end go through the buffer and agree with "
    "value()") {
  const std::vector<float> row = row_of<float>(normal_logits(700, 1));
  std::vector<float> buffer(256);
  kernel::row_source<float> source;
  source.data = row.data();
  source.size = 700;
  CHECK(kernel::load(source, 256, 256, buffer.data()) == row.data() + 256);
  CHECK(kernel::load(source, 512, 256, buffer.data()) == buffer.data());
  const std::vector<token_id> ids{0, 255, 256, 699};
  const std::vector<float> bias{1.0f, 2.0f, 3.0f, 4.0f};
  std::vector<std::uint64_t> mask(11, 0xAAAAFFFFFFFFFFFFull);
  for (int kind = 0; kind < 8; ++kind) {
    source.stride = (kind & 1) != 0 ? 2 : 1;
    source.size = (kind & 1) != 0 ? 350 : 700;
    source.bias_count = (kind & 2) != 0 ? ((kind & 1) != 0 ? 3 : 4) : 0;
    source.bias_ids = ids.data();
    source.bias_values = bias.data();
    source.mask = (kind & 4) != 0 ? mask.data() : nullptr;
    for (std::uint32_t first = 0; first < source.size; first += 256) {
      const float* values = kernel::load(source, first, 256, buffer.data());
      for (std::uint32_t i = 0; i < 256; ++i) {
        const std::uint32_t id = first + i;
        float expected = kernel::negative_infinity<float>();
        if (id < source.size) {
          expected = row[id * source.stride];
          for (std::uint32_t b = 0; b < source.bias_count; ++b)
            expected += ids[b] == static_cast<token_id>(id) ? bias[b] : 0.0f;
          if ((kind & 4) != 0 && ((mask[id / 64] >> (id % 64)) & 1u) == 0)
            expected = kernel::negative_infinity<float>();
          CHECK(kernel::bits_as<std::uint32_t>(source.value(id)) == kernel::bits_as<std::uint32_t>(expected));
        }
        CHECK(kernel::bits_as<std::uint32_t>(values[i]) == kernel::bits_as<std::uint32_t>(expected));
      }
    }
  }
}

TEST_CASE("kernel.lane_tree: the stated shape") {
  float lanes[16];
  for (int j = 0; j < 16; ++j) lanes[j] = static_cast<float>(1 << j);
  CHECK(kernel::lane_tree(lanes) == 65535.0);
#if !defined(__FAST_MATH__)
  double wide[16] = {};
  wide[0] = 1.0;
  wide[8] = 0x1.0p-53;  // 1 + 2^-53 rounds to 1 in the first step
  wide[4] = 0x1.0p-53;
  CHECK(kernel::lane_tree(wide) == 1.0);
#endif
}
