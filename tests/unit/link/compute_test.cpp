// SPDX-License-Identifier: Apache-2.0
#include <specverify/link/compute.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

using namespace specverify;

namespace {

const double not_a_number = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000});

bool near(double value, double expected, double relative) {
  return std::fabs(value - expected) <= relative * std::fabs(expected);
}

}  // namespace

TEST_CASE("WISV (11)-(17): operations, the roofline, the head") {
  for (const transformer_shape& shape : {llama_3_2_1b, llama_3_1_8b}) {
    CHECK(check(shape).ok());
    // Without attention a token costs two operations for each parameter that it meets.
    CHECK(near(token_flops(shape, 0), weight_bytes(shape, 2), 1e-14));
    double sum = 0;
    for (int j = 0; j < 32; ++j) sum += token_flops(shape, 100 + j);
    CHECK(near(window_flops(shape, 100, 32), sum, 1e-13));
    CHECK(window_flops(shape, 100, 0) == 0);
    CHECK(near(token_flops(shape, 1000) - token_flops(shape, 0), 4.0 * 1000 * shape.hidden_size * shape.layers, 1e-6));
  }
  // Published sizes: 1.236 billion parameters (its output is its embedding), 8.030 billion less an embedding of 525
  //                  million.
  CHECK(std::fabs(weight_bytes(llama_3_2_1b, 1) - 1.236e9) <= 0.0005e9);
  CHECK(std::fabs(weight_bytes(llama_3_1_8b, 1) - (8.030e9 - 0.5253e9)) <= 0.0005e9);
  transformer_shape unshared = llama_3_2_1b;
  unshared.kv_heads = 32;  // c_2 = 8
  CHECK(near(token_flops(unshared, 0) - token_flops(llama_3_2_1b, 0), 16 * 3.0 * 2048 * 2048, 1e-9));
  CHECK(head_flops(2048 + 4096 + 5, 256) == 2.0 * 6149 * 256 + 512);

  compute_engine engine;
  engine.peak = 2e12;
  engine.efficiency = 0.5;
  CHECK(near(compute_time(3e12, engine, 1e15), 3, 1e-15));
  engine.bandwidth = 1e11;
  engine.launch = 1e-3;
  CHECK(near(compute_time(3e12, engine, 1e11), 3.001, 1e-15));
  CHECK(near(compute_time(3e12, engine, 4e11), 4.001, 1e-15));
  CHECK(near(head_time(3, 10, 5, engine), 3 * 110 / 1e12, 1e-15));
  // An 8B pass in 16-bit weights from 696 GB/s of memory takes more than 20 ms, however fast the processor is.
  compute_engine server{150e12, 0.5, 696e9, 0};
  CHECK(compute_time(token_flops(llama_3_1_8b, 200), server, weight_bytes(llama_3_1_8b)) > 20e-3);

  CHECK(check(engine).ok());
  CHECK(check(compute_engine{0, 1, 1, 0}) == status{errc::invalid_rate, part::link, 0});
  CHECK(check(compute_engine{1, 0, 1, 0}) == status{errc::invalid_probability, part::link, 1});
  CHECK(check(compute_engine{1, 1.01, 1, 0}) == status{errc::invalid_probability, part::link, 1});
  CHECK(check(compute_engine{1, 1, not_a_number, 0}) == status{errc::invalid_rate, part::link, 2});
  CHECK(check(compute_engine{1, 1, 1, -1}) == status{errc::invalid_duration, part::link, 3});
  CHECK(check(transformer_shape{16, 2048, 0, 8, 32, 5}) == status{errc::invalid_argument, part::link, 2});
  CHECK(check(transformer_shape{16, 2048, 1, 33, 32, 5}) == status{errc::invalid_argument, part::link, 3});
}
