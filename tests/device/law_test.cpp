// SPDX-License-Identifier: Apache-2.0
// The laws of what the CUDA kernels draw, accept and commit, measured on the block simulator.
#include <specverify/cuda/accept.cuh>
#include <specverify/cuda/blocks.cuh>
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/residual.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/verify.cuh>

#include <doctest/doctest.h>
#include <device/draws.hpp>
#include <device/laws.hpp>

using namespace device_tests;

namespace {

//! What is measured (laws.hpp).
struct kernels {
  using key = scripted_key;
  using memory = simulator::device;
  static constexpr exec::cuda how{};
  static void answer(key&, const scripted_source& source) { answer_with(source); }
  static std::size_t scratch_size(const device_rounds<float>& rounds, bool reads_first) {
    return reads_first ? verify_memory_size(how, rounds) : verify_memory_size(rounds);
  }
};

//! The row of a world, drawn from by what an engine claims about its blocks: sums are off, up and down in turn, nearly
//! by as much as they may be.
class claimed_row {
 public:
  claimed_row(const world<float>& in, double error)
      : row_(in),
        error_(error),
        maxima_((in.vocab_size + block_size - 1) / block_size),
        sums_(maxima_),
        shares_(sums_.size()) {
    for (std::size_t b = 0; b < maxima_.size(); ++b) {
      const auto first = in.rows[0].begin() + static_cast<std::ptrdiff_t>(b * block_size);
      const auto end = b + 1 == maxima_.size() ? in.rows[0].end() : first + block_size;
      maxima_[b] = *std::max_element(first, end);
      double sum = 0;
      for (auto z = first; z != end; ++z)
        if (*z > -1000.0f) sum += std::exp(static_cast<double>(*z - maxima_[b]) / in.transform.temperature);
      sums_[b] = static_cast<float>(sum * (b % 2 == 0 ? 1 + 0.9 * error : 1 - 0.9 * error));
    }
    row_.seen().input(maxima_.data(), maxima_.size());
    row_.seen().input(sums_.data(), sums_.size());
    row_.seen().output(shares_.data(), shares_.size());
    REQUIRE(read_rows_from_blocks(exec::cuda{}, row_.batch(), view()).ok());
  }
  [[nodiscard]] token_id drawn(const scripted_source& source, std::uint32_t trial_cap) {
    return row_.token(source, purpose::draft_draw, [&](const auto& stream, device_token* out) {
      return sample(exec::cuda{}, row_.batch(), view(), stream, out, {trial_cap});
    });
  }
  [[nodiscard]] std::string report() { return row_.seen().report(); }

 private:
  static constexpr std::uint32_t block_size = 64;
  [[nodiscard]] device_row_blocks view() {
    return {block_size, maxima_.data(), sums_.data(), shares_.data(), maxima_.size(), error_};
  }

  one_row<kernels> row_;
  double error_;
  std::vector<float> maxima_, sums_;
  std::vector<double> shares_;
};

//! The ids of a small world, at `places` of a row of 150; the others are forbidden.
world<float> spread(world<float> in, const std::vector<std::uint32_t>& places) {
  std::vector<float> row(150, -std::numeric_limits<float>::infinity());
  for (std::uint32_t v = 0; v < in.vocab_size; ++v) row[places[v]] = in.rows[0][v];
  in.rows[0] = row;
  in.vocab_size = 150;
  return in;
}

void check_claimed_draws(const world<float>& in, double error, std::uint32_t trial_cap) {
  INFO(in.name, ", error ", error, ", trials ", trial_cap);
  claimed_row device(in, error);
  const auto drawn = law_of([&](const scripted_source& source) { return device.drawn(source, trial_cap); });
  const double claimed_distance = total_variation(drawn, in.target_law(0));
  CHECK(claimed_distance <= tolerance);
  CHECK(device.report() == "");
}

}  // namespace

TEST_CASE("the law of a draw, by trials and by the exact rule, is that of the row") {
  for (const shape which : shapes) {
    for (const std::uint32_t trial_cap : {0u, 1u, 2u})
      if (trial_cap < 2 || is_long()) check_draws<kernels>(one_row_world(which, 5, 3), trial_cap);
  }
}

TEST_CASE("the law of a residual is what the subtracted law leaves of the row") {
  for (const shape which : {shape::random, shape::zeros, shape::opposite}) {
    for (const std::uint32_t trial_cap : {0u, 1u, 2u}) {
      if (trial_cap == 2 && which != shape::random && !is_long()) continue;  // two at once
      check_residuals<kernels>(one_row_world(which, 4, 5), trial_cap);
    }
  }
}

TEST_CASE("the law of a draw from a truncated row is the row's law on what it keeps") {
  for (const shape which : {shape::random, shape::equal}) {
    for (const world<float>& in : cut_rows(which)) {
      check_draws<kernels>(in, 1);
      check_residuals<kernels>(in, 1);
    }
  }
}

TEST_CASE("the law of a draw from claimed blocks is that of the row, however wrong the claims may be") {
  const std::vector<std::uint32_t> everywhere{0, 16, 33, 70, 86, 149}, around{3, 19, 63, 128, 129, 144};
  for (const std::uint32_t trial_cap : {0u, 1u, 2u}) {
    if (trial_cap == 2 && !is_long()) continue;
    check_claimed_draws(spread(one_row_world(shape::random, 6, 3), everywhere), 0.25, trial_cap);
    check_claimed_draws(at(0.7, spread(one_row_world(shape::zeros, 6, 4), around)), 0x1.0p-10, trial_cap);
  }
}

TEST_CASE("a token is accepted with the probability min(1, p / q)") {
  for (const shape which : shapes) check_tests<kernels>(one_row_world(which, 5, 3));
  for (const world<float>& in : cut_rows(shape::random)) check_tests<kernels>(in);
}

TEST_CASE("the law of what a round commits is that of the target") {
  check_round<kernels>(law_test::make_world<float>(shape::random, 3, 1, 1), 1);
  check_round<kernels>(law_test::make_world<float>(shape::opposite, 3, 1, 1), 1, true);
  check_round<kernels>(law_test::make_world<float>(shape::random, 2, 2, 1), 1, true);
}

TEST_CASE("the law of what a round over truncated rows commits is that of the truncated target") {
  const world<float> in = law_test::make_world<float>(shape::zeros, 3, 1, 1);
  check_round<kernels>(cut({.top_k = 2}, in), 1, true);  // two seconds, twice as many where each round reads its rows
  if (is_long()) check_round<kernels>(cut({.top_p = 0.7}, in), 1, true);
  if (is_long()) check_round<kernels>(cut({.top_k = 2}, in), 1, false);
}

TEST_CASE("the law of longer rounds, in the long run") {
  if (!is_long()) return;
  for (const bool reads_first : {false, true}) {
    for (const std::uint32_t vocab_size : {3u, 6u})
      for (const shape which : shapes)
        check_round<kernels>(law_test::make_world<float>(which, vocab_size, 1, 1), 1, reads_first);
    for (const shape which : shapes) check_round<kernels>(law_test::make_world<float>(which, 4, 2, 1), 1, reads_first);
    for (const row_truncation& by : cuts)
      check_round<kernels>(cut(by, law_test::make_world<float>(shape::random, 4, 1, 1)), 1, reads_first);
    check_round<kernels>(law_test::make_world<float>(shape::random, 6, 1, 1), 2, reads_first);  // two trials at once
  }
}
