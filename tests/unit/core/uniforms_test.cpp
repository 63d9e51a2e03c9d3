// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/uniforms.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

using namespace specverify;

namespace {

// Remembers every counter, repeats included. All bits are zero unless `rejected` lanes ask for a retry.
struct recording {
  std::vector<random_counter>* reads;
  std::uint32_t rejected = 0;
  random_block operator()(random_counter counter) const noexcept {
    reads->push_back(counter);
    // 0 * bound has the low word 0, which a bound that is no power of two rejects
    return counter.lane < rejected ? random_block{} : random_block{{0x80000000u, 1, 0x40000000u, 2}};
  }
};

constexpr uniforms<> here{philox{{{1, 2}}}, 9, 2};

}  // namespace

static_assert(here.after(0).position == 9 && here.after(5).position == 14 && here.after(5).round == 2);
static_assert(here.at(purpose::bonus_draw, 4).block(3) ==
              philox{{{1, 2}}}(random_counter{9, 2, 7, purpose::bonus_draw, 0}));
static_assert(here.at(purpose::acceptance).uniform(1, 1) ==
              decision_uniform(philox{{{1, 2}}}(random_counter{9, 2, 1, purpose::acceptance, 0}), 1));
static_assert(std::is_trivially_copyable_v<uniform_stream<>>);
static_assert(noexcept(here.at(purpose::acceptance).integer(3)));

TEST_CASE("uniforms: a block of every purpose, lane and trial is the source's block at that counter") {
  const philox source{{{11, 12}}};
  const uniforms place{source, 0xFFFFFFFEu, 77};
  for (const purpose use :
       {purpose::draft_draw, purpose::acceptance, purpose::residual_draw, purpose::perturbed_draw}) {
    for (const std::uint32_t lane : {0u, 3u, 0xFFFFFFF0u}) {
      const auto stream = place.at(use, lane);
      for (const std::uint32_t trial : {0u, 1u, 15u}) {
        const random_block block = source({0xFFFFFFFEu, 77, lane + trial, use, 0});
        CHECK(stream.block(trial) == block);
        CHECK(stream.uniform(trial) == decision_uniform(block, 0));
        CHECK(stream.uniform(trial, 1) == decision_uniform(block, 1));
      }
      CHECK(stream.integer(1000) == uniform_integer(source, {0xFFFFFFFEu, 77, lane, use, 0}, 1000));
    }
  }
}

TEST_CASE("uniforms: positions go on, the round stays, and the last position wraps as counters do") {
  const uniforms place{philox{}, 0xFFFFFFFEu, 5};
  CHECK(place.after(1).position == 0xFFFFFFFFu);
  CHECK(place.after(2).position == 0);
  CHECK(place.after(2).round == 5);
  CHECK(place.after(1).at(purpose::bonus_draw).first == random_counter{0xFFFFFFFFu, 5, 0, purpose::bonus_draw, 0});
}

TEST_CASE("uniforms: every call reads the counters that it says, each once and in order") {
  std::vector<random_counter> reads;
  const uniforms place{recording{&reads}, 40, 3};
  const auto stream = place.at(purpose::residual_draw, 6);
  (void)stream.block(2);
  (void)stream.uniform();
  (void)stream.uniform(9, 1);
  (void)stream.integer(10);
  CHECK(reads == std::vector<random_counter>{{40, 3, 8, purpose::residual_draw, 0},
                                             {40, 3, 6, purpose::residual_draw, 0},
                                             {40, 3, 15, purpose::residual_draw, 0},
                                             {40, 3, 6, purpose::residual_draw, 0}});
  reads.clear();
  const uniforms retried{recording{&reads, 2}, 40, 3};
  CHECK(retried.at(purpose::draft_draw).integer(10) == 5);
  CHECK(reads == std::vector<random_counter>{{40, 3, 0, purpose::draft_draw, 0},
                                             {40, 3, 1, purpose::draft_draw, 0},
                                             {40, 3, 2, purpose::draft_draw, 0}});
}
