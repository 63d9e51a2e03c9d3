// SPDX-License-Identifier: Apache-2.0
// The peers of benchmarks/cuda do what they are timed for: softmax, draws and verdicts of plain host code.
#include <doctest/doctest.h>
#include <device/batches.hpp>

#include "../../benchmarks/cuda/peers.cuh"

using namespace device_tests;
namespace peers = specverify::cuda_peers;

namespace {

constexpr std::uint32_t size = 2052;  // two rounds of a block of threads, the last of four ids
constexpr double temperature = 0.8;

std::vector<long double> law_of_row(batch<float>& rows, std::uint32_t r) {
  return row_cases::law_of(std::vector<double>(rows.row(r), rows.row(r) + size), temperature);
}

struct laws {
  explicit laws(batch<float>& rows) : p(std::size_t{rows.count()} * size) {
    for (std::uint32_t r = 0; r < rows.count(); ++r) {
      const auto law = law_of_row(rows, r);
      for (std::uint32_t id = 0; id < size; ++id) p[std::size_t{r} * size + id] = static_cast<float>(law[id]);
    }
  }
  std::vector<float> p;
};

float uniform_of(std::uint32_t word) { return (static_cast<float>(word >> 8) + 0.5f) * 0x1.0p-24f; }

}  // namespace

TEST_CASE("both softmaxes are the law") {
  batch<float> rows(4, size);
  rows.fill(10, 3);
  const laws expected(rows);
  for (const bool online : {false, true}) {
    std::vector<float> out(expected.p.size());
    simulator::device gpu({.seed = 3});
    rows.name_to(gpu);
    gpu.output(out.data(), out.size());
    run(online ? &peers::peer_online_softmax_kernel<float> : &peers::peer_softmax_kernel<float>, 4, peers::threads,
        rows.rows(), static_cast<float>(1 / temperature), out.data());
    REQUIRE(gpu.report() == "");
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double away = std::fabs(static_cast<double>(out[i]) - static_cast<double>(expected.p[i]));
      REQUIRE(away <= 1e-4 * static_cast<double>(expected.p[i]) + 1e-12);
    }
  }
}

TEST_CASE("draws: the argmax over noise, and the inverse of the running sum") {
  batch<float> rows(5, size);
  rows.fill(11, 4);
  const laws of(rows);
  const philox_key key{{5, 6}};
  std::vector<token_id> noise(5), inverse(5);
  simulator::device gpu({.seed = 9});
  gpu.input(of.p.data(), of.p.size());
  gpu.input(&key, 1);
  gpu.output(noise.data(), 5);
  gpu.output(inverse.data(), 5);
  run(&peers::peer_noise_kernel<peers::threads>, 5, peers::threads, of.p.data(), size, &key, noise.data());
  run(&peers::peer_sum_kernel<peers::threads>, 5, peers::threads, of.p.data(), size, &key, inverse.data());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < 5; ++r) {
    const float* p = of.p.data() + std::size_t{r} * size;
    float best = -1;
    token_id most = 0;
    for (std::uint32_t id = 0; id < size; ++id) {
      const auto block = random_at(key, {r, 0, id / 4, purpose::coupling_noise, 0});
      const float score = p[id] / -std::log(uniform_of(block.word[id % 4]));
      if (score > best) best = score, most = static_cast<token_id>(id);
    }
    CHECK(noise[r] == most);
    const double target = uniform_of(random_at(key, {r, 0, 0, purpose::bonus_draw, 0}).word[0]);
    double before = 0;
    for (token_id id = 0; id < inverse[r]; ++id) before += static_cast<double>(p[id]);
    CHECK(before <= target + 1e-5);
    CHECK(before + static_cast<double>(p[inverse[r]]) >= target - 1e-5);
    CHECK(p[inverse[r]] > 0.0f);
  }
}

TEST_CASE("verification: the first rejection, and a token of the residual behind it") {
  constexpr std::uint32_t requests = 6, drafted = 3;
  batch<float> target(requests * (drafted + 1), size), draft(requests * drafted, size);
  target.fill(3, 4);
  draft.fill(4, 5);
  const laws p(target), q(draft);
  const philox_key key{{8, 1}};
  std::vector<token_id> drafts(requests * drafted), next(requests), chained(requests);
  for (std::uint32_t i = 0; i < drafts.size(); ++i) drafts[i] = static_cast<token_id>(i * 37 % size);
  std::vector<token_id> recovered(requests * (drafted + 1));
  std::vector<std::uint32_t> accepted(requests), chain_accepted(requests);
  simulator::device gpu({.seed = 2});
  gpu.input(p.p.data(), p.p.size());
  gpu.input(q.p.data(), q.p.size());
  gpu.input(drafts.data(), drafts.size());
  gpu.input(&key, 1);
  for (auto* out : {&next, &chained, &recovered}) gpu.output(out->data(), out->size());
  gpu.output(accepted.data(), requests);
  gpu.output(chain_accepted.data(), requests);
  peers::dense_round round{p.p.data(), q.p.data(), drafts.data(), drafted, size, &key, accepted.data(), next.data()};
  run(&peers::peer_recover_kernel<peers::threads>, requests * (drafted + 1), peers::threads, round, recovered.data());
  run(&peers::peer_accept_kernel<peers::threads>, 1, peers::threads, round, requests, recovered.data());
  round.accepted = chain_accepted.data();
  round.next = chained.data();
  run(&peers::peer_chain_kernel<peers::threads>, requests, peers::threads, round);
  REQUIRE(gpu.report() == "");
  std::uint32_t longest = 0;
  for (std::uint32_t r = 0; r < requests; ++r) {
    std::uint32_t expected = 0;
    for (; expected < drafted; ++expected) {
      const auto token = static_cast<std::size_t>(drafts[r * drafted + expected]);
      const float u = uniform_of(random_at(key, {r, expected, 0, purpose::acceptance, 0}).word[0]);
      if (!(u * q.p[(std::size_t{r} * drafted + expected) * size + token] <
            p.p[(std::size_t{r} * (drafted + 1) + expected) * size + token]))
        break;
    }
    longest = std::max(longest, expected);
    CHECK(accepted[r] == expected);
    CHECK(chain_accepted[r] == expected);
    for (const token_id token : {next[r], chained[r]}) {
      const auto id = static_cast<std::size_t>(token);
      const float kept = p.p[(std::size_t{r} * (drafted + 1) + expected) * size + id];
      const float other = expected < drafted ? q.p[(std::size_t{r} * drafted + expected) * size + id] : 0.0f;
      CHECK(kept > other);
    }
  }
  CHECK(longest > 0);
}
