// SPDX-License-Identifier: Apache-2.0
#include <specverify/policy/dqn.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <vector>

#include "dqn_oracle.hpp"

using namespace specverify;

namespace {

struct saved {
  std::vector<std::byte> bytes = std::vector<std::byte>(dqn_file_bytes);
  explicit saved(const dqn_weights& weights) { REQUIRE(write_dqn(weights, bytes).ok()); }
  [[nodiscard]] status read() const {
    const auto out = std::make_unique<dqn_weights>();
    return read_dqn(bytes, out->values).error();
  }
  //! Puts the checksum right after a change.
  void seal() {
    std::uint64_t sum = 0xCBF29CE484222325u;
    for (std::size_t i = 0; i + 8 < bytes.size(); ++i)
      sum = (sum ^ std::to_integer<std::uint64_t>(bytes[i])) * 0x100000001B3u;
    for (std::size_t i = 0; i < 8; ++i) bytes[bytes.size() - 8 + i] = static_cast<std::byte>(sum >> (8 * i));
  }
};

}  // namespace

TEST_CASE("dqn: features are the probabilities, their mean, the newest, and the uplink state") {
  observation seen;
  CHECK(features_of(seen) == dqn_features{});
  record_accepted(seen, 0.5f);
  record_accepted(seen, 0.25f);
  seen.uplink_state = 1;
  const dqn_features in = features_of(seen);
  CHECK(in[63] == 0.25f);
  CHECK(in[62] == 0.5f);
  CHECK(in[64] == 0.375f);
  CHECK(in[65] == 0.25f);
  CHECK(in[66] == 1.0f);
  record_accepted(seen, 0.0f);  // such a draft cannot be drawn; the newest non-zero entry is meant
  CHECK(features_of(seen)[65] == 0.25f);
}

TEST_CASE("dqn: the network computes what its description says") {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    const auto weights = std::make_unique<dqn_weights>(dqn_oracle::random_weights(seed));
    const dqn_features in = dqn_oracle::random_features(seed);
    const auto expected = dqn_oracle::evaluate(dqn_oracle::widen(*weights), dqn_oracle::widen(in));
    const dqn_values found = dqn_evaluate(*weights, in);
    for (std::size_t a = 0; a < dqn_actions; ++a)
      CHECK(static_cast<double>(found[a]) == doctest::Approx(expected[a]).epsilon(1e-4));
    CHECK(dqn_best(found) == dqn_oracle::best(expected));
  }
  dqn_values flat{};
  CHECK(dqn_best(flat) == 0);
  flat[7] = flat[9] = 1;
  CHECK(dqn_best(flat) == 7);
}

TEST_CASE("dqn: what is saved is loaded bit for bit") {
  const auto weights = std::make_unique<dqn_weights>(dqn_oracle::random_weights(3));
  weights->values[5] = -0.0f;
  weights->values[6] = std::numeric_limits<float>::denorm_min();
  const saved file(*weights);
  const auto read = std::make_unique<dqn_weights>();
  REQUIRE(read_dqn(file.bytes, read->values).ok());
  bool same = true;
  for (std::size_t i = 0; i < dqn_parameters; ++i)
    same = same && std::bit_cast<std::uint32_t>(read->values[i]) == std::bit_cast<std::uint32_t>(weights->values[i]);
  CHECK(same);
  CHECK(saved(*read).bytes == file.bytes);
}

TEST_CASE("dqn: a damaged file is refused by name") {
  const auto weights = std::make_unique<dqn_weights>(dqn_oracle::random_weights(4));
  const saved good(*weights);
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{40}, dqn_file_bytes - 1}) {
    saved cut = good;
    cut.bytes.resize(size);
    CHECK(cut.read().code == errc::truncated);
  }
  saved longer = good;
  longer.bytes.push_back(std::byte{0});
  CHECK(longer.read().code == errc::trailing_bytes);
  saved other = good;
  other.bytes[2] = std::byte{'X'};
  CHECK(other.read().code == errc::weights_header);
  saved later = good;
  later.bytes[7] = std::byte{'2'};
  CHECK(later.read().code == errc::unknown_version);
  saved shape = good;
  shape.bytes[8 + 4 + 8 * 3 + 4] = std::byte{33};  // outputs of the fourth layer
  shape.seal();
  CHECK(shape.read() == status{errc::weights_shape, part::policy, 3});
  saved layers = good;
  layers.bytes[8] = std::byte{9};
  CHECK(layers.read().code == errc::weights_shape);
  saved flipped = good;
  flipped.bytes[5000] ^= std::byte{1};
  CHECK(flipped.read().code == errc::checksum_mismatch);
  saved nan = good;
  for (std::size_t i = 0; i < 4; ++i) nan.bytes[76 + 4 * 1000 + i] = static_cast<std::byte>(0x7FC00000u >> (8 * i));
  nan.seal();
  CHECK(nan.read() == status{errc::value_not_finite, part::policy, 1000});
  const auto kept = std::make_unique<dqn_weights>(*weights);
  CHECK_FALSE(read_dqn(nan.bytes, kept->values).ok());
  const auto short_of = std::span(kept->values).first(dqn_parameters - 1);
  CHECK(read_dqn(good.bytes, short_of).error() == status{errc::output_too_small, part::policy, dqn_parameters});
  CHECK(kept->values == weights->values);
}

TEST_CASE("dqn: weights that are no numbers are neither saved nor used") {
  const auto weights = std::make_unique<dqn_weights>(dqn_oracle::random_weights(5));
  std::vector<std::byte> small(100), bytes(dqn_file_bytes);
  CHECK(write_dqn(*weights, small).error().code == errc::output_too_small);
  weights->values[17] = std::bit_cast<float>(0x7F800000u);
  CHECK(write_dqn(*weights, bytes).error() == status{errc::value_not_finite, part::policy, 17});
  CHECK(dqn_window::make(*weights).error() == status{errc::value_not_finite, part::policy, 17});
  weights->values[17] = 0;
  const std::uint32_t lengths[] = {1, 2}, resolutions[] = {10};
  CHECK(dqn_window::make(*weights, make_action_grid(lengths, resolutions).value()).error() ==
        status{errc::size_mismatch, part::policy, 2});
}

TEST_CASE("dqn_window: a grid with L = 0 or l = 0 is refused by name") {
  const auto weights = std::make_unique<dqn_weights>();
  action_grid grid = paper_action_grid();
  grid.actions[20].draft_length = 0;
  CHECK(dqn_window::make(*weights, grid).error() == status{errc::invalid_argument, part::policy, 20});
  grid = paper_action_grid();
  grid.actions[3].resolution = 0;
  CHECK(dqn_window::make(*weights, grid).error() == status{errc::invalid_resolution, part::policy, 3});
}

TEST_CASE("dqn_window: plans the action that the network values most") {
  const auto weights = std::make_unique<dqn_weights>();
  weights->values[dqn_layers[7].bias() + 5] = 1;  // action 5: L = 9, l = 240
  const auto window = dqn_window::make(*weights);
  REQUIRE(window.ok());
  CHECK(window.value().begin({}) == draft_plan{9, 240});
  CHECK(window.value().proceed(0, law{}, 1u << 30));
  // On the high state the uplink branch raises action 0.
  weights->values[dqn_layers[4].offset] = 1;
  weights->values[dqn_layers[5].offset] = 1;
  weights->values[dqn_layers[6].offset + 160 * 128] = 1;
  weights->values[dqn_layers[7].offset] = 2;
  observation seen;
  CHECK(window.value().begin(seen) == draft_plan{9, 240});
  seen.uplink_state = 1;
  CHECK(window.value().begin(seen) == draft_plan{12, 720});
}
