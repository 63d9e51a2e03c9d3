// SPDX-License-Identifier: Apache-2.0
//! Times one score of the decision head, whole and split, compared with a plain double loop. The sizes are the paper's
//! and those of the bundled pair.
#include <specverify/decision_head/mlp.hpp>

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace sv = specverify;

namespace {

struct inputs {
  sv::head_shape shape;
  std::vector<float> first, bias, second, drafter, target, part;
  sv::channel_vector channel{0.5f, 0.5f, 0.1f, 0.1f, -1};

  explicit inputs(sv::head_shape of) : shape(of), part(of.width) {
    std::minstd_rand bits(1);
    std::normal_distribution<float> normal;
    const auto draw = [&](std::size_t size, float scale) {
      std::vector<float> made(size);
      for (float& x : made) x = scale * normal(bits);
      return made;
    };
    first = draw(shape.width * shape.input_size(), 1.0f / std::sqrt(static_cast<float>(shape.input_size())));
    bias = draw(shape.width, 0.1f);
    second = draw(shape.width, 0.1f);
    drafter = draw(shape.drafter_size, 1);
    target = draw(shape.target_size, 1);
    if (!sv::device_part(head(), drafter, part).ok()) part.clear();
  }
  [[nodiscard]] sv::head_weights head() const { return {shape, first, bias, second, 0.1f, {}, 0.5}; }
};

sv::head_shape shape_of(const benchmark::State& state) {
  return {sv::hidden_mode::predicting, static_cast<std::uint32_t>(state.range(0)),
          static_cast<std::uint32_t>(state.range(1)), static_cast<std::uint32_t>(state.range(2))};
}

void score(benchmark::State& state, sv::drafter_input given) {
  const inputs in(shape_of(state));
  const sv::head_weights head = in.head();
  for (auto _ : state) {
    const auto rho = sv::head_score(head, given, given == sv::drafter_input::device_part ? in.part : in.drafter,
                                    in.target, in.channel);
    if (!rho) state.SkipWithError("no score");
    benchmark::DoNotOptimize(rho);
  }
  state.counters["flops"] =
      benchmark::Counter(2.0 * static_cast<double>(in.first.size()), benchmark::Counter::kIsIterationInvariantRate);
}

void device(benchmark::State& state) {
  inputs in(shape_of(state));
  const sv::head_weights head = in.head();
  for (auto _ : state) {
    if (!sv::device_part(head, in.drafter, in.part).ok()) state.SkipWithError("no part");
    benchmark::DoNotOptimize(in.part.data());
  }
}

void plain(benchmark::State& state) {
  const inputs in(shape_of(state));
  std::vector<float> z = in.drafter;
  z.insert(z.end(), in.target.begin(), in.target.end());
  z.insert(z.end(), in.channel.begin(), in.channel.end());
  for (auto _ : state) {
    double g = 0.1;
    for (std::size_t k = 0; k < in.second.size(); ++k) {
      double unit = static_cast<double>(in.bias[k]);
      for (std::size_t i = 0; i < z.size(); ++i)
        unit += static_cast<double>(in.first[k * z.size() + i]) * static_cast<double>(z[i]);
      if (unit > 0) g += static_cast<double>(in.second[k]) * unit;
    }
    benchmark::DoNotOptimize(g);
  }
}

void sizes(benchmark::internal::Benchmark* of) {
  of->Args({2048, 4096, 256})->Args({96, 128, 256})->Args({96, 128, 16})->Unit(benchmark::kMicrosecond);
}

}  // namespace

BENCHMARK_CAPTURE(score, full, sv::drafter_input::hidden_state)->Name("head_score/full")->Apply(sizes);
BENCHMARK_CAPTURE(score, split, sv::drafter_input::device_part)->Name("head_score/split")->Apply(sizes);
BENCHMARK(device)->Name("device_part")->Apply(sizes);
BENCHMARK(plain)->Name("plain_double_loop")->Apply(sizes);
