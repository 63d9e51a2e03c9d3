// SPDX-License-Identifier: Apache-2.0
#include <specverify/decision_head/features.hpp>

#include <specverify/link/channel.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <vector>

#include "support/alloc_guard.hpp"

namespace sv = specverify;

namespace {

struct channel_of {
  double uplink_rate = 20e6, downlink_rate = 500e6, uplink_loss = 1e-3, downlink_loss = 2e-3, round_trip = 0.05;
};
static_assert(sv::channel_description<channel_of>);
static_assert(sv::channel_description<sv::channel_state>);

const float not_a_number = std::bit_cast<float>(0x7FC00000u);

}  // namespace

TEST_CASE("features: by hand") {
  const auto features = sv::channel_features(channel_of{});
  REQUIRE(features.ok());
  const sv::channel_vector& c = *features;
  CHECK(c[0] == doctest::Approx(7.30103).epsilon(1e-6));
  CHECK(c[1] == doctest::Approx(8.69897).epsilon(1e-6));
  CHECK(c[2] == 1e-3f);
  CHECK(c[3] == 2e-3f);
  CHECK(c[4] == 0.05f);
  const sv::channel_standardisation used{{7, 8, 0, 0, 0}, {0.5f, 0.25f, 1, 1, 0.1f}};
  const sv::channel_vector z = sv::standardise(c, used);
  CHECK(z[0] == doctest::Approx(0.60206).epsilon(1e-5));
  CHECK(z[1] == doctest::Approx(2.79588).epsilon(1e-5));
  CHECK(z[4] == doctest::Approx(0.5));
}

TEST_CASE("features: the standardised training set has mean 0 and deviation 1; a constant feature stays") {
  std::vector<sv::channel_vector> observed;
  for (int i = 0; i < 64; ++i) {
    const auto c =
        sv::channel_features(channel_of{i % 2 == 0 ? 20e6 : 500e6, 1e6 * (i + 1), 1e-3, 0.01 * (i % 5), 0.005});
    REQUIRE(c.ok());
    observed.push_back(*c);
  }
  const auto made = sv::standardisation_of(observed);
  REQUIRE(made.ok());
  const sv::channel_standardisation& used = *made;
  for (std::size_t i = 0; i < sv::channel_feature_count; ++i) {
    double sum = 0, squares = 0;
    for (const auto& c : observed) {
      const auto z = static_cast<double>(sv::standardise(c, used)[i]);
      sum += z;
      squares += z * z;
    }
    CAPTURE(i);
    CHECK(sum / 64 == doctest::Approx(0).epsilon(1e-4));
    const bool constant = i == 2 || i == 4;
    CHECK(squares / 64 == doctest::Approx(constant ? 0 : 1).epsilon(1e-4));
    CHECK((used.scale[i] == 1.0f) == constant);
  }
  CHECK(sv::standardisation_of({}).error().code == sv::errc::size_mismatch);
}

TEST_CASE("features: a channel that no link can have is named by its field") {
  const double nan = static_cast<double>(not_a_number);
  CHECK(sv::channel_features(channel_of{0}).error() == sv::status{sv::errc::invalid_rate, sv::part::decision_head, 0});
  CHECK(sv::channel_features(channel_of{1, nan}).error() ==
        sv::status{sv::errc::invalid_rate, sv::part::decision_head, 1});
  CHECK(sv::channel_features(channel_of{1, 1, 1.0}).error() ==
        sv::status{sv::errc::invalid_loss, sv::part::decision_head, 2});
  CHECK(sv::channel_features(channel_of{1, 1, 0, -0.1}).error() ==
        sv::status{sv::errc::invalid_loss, sv::part::decision_head, 3});
  CHECK(sv::channel_features(channel_of{1, 1, 0, 0, -1}).error() ==
        sv::status{sv::errc::invalid_duration, sv::part::decision_head, 4});
  CHECK_FALSE(sv::channel_features(channel_of{0}).ok());
}

TEST_CASE("features: the mode and the sizes of hidden states are checked") {
  const sv::head_shape shape{sv::hidden_mode::predicting, 96, 128, 16};
  CHECK(sv::check(shape).ok());
  CHECK(shape.input_size() == 229);
  CHECK(sv::check_states(shape, sv::hidden_mode::predicting, 96, 128).ok());
  CHECK(sv::check_states(shape, sv::hidden_mode::consuming, 96, 128).code == sv::errc::hidden_mode_mismatch);
  CHECK(sv::check_states(shape, sv::hidden_mode::predicting, 95, 128) ==
        sv::status{sv::errc::size_mismatch, sv::part::decision_head, 1});
  CHECK(sv::check_states(shape, sv::hidden_mode::predicting, 96, 127) ==
        sv::status{sv::errc::size_mismatch, sv::part::decision_head, 2});
  CHECK(sv::check(sv::head_shape{static_cast<sv::hidden_mode>(2), 1, 1, 1}) ==
        sv::status{sv::errc::invalid_argument, sv::part::decision_head, 0});
  CHECK(sv::check(sv::head_shape{sv::hidden_mode::predicting, 0, 1, 1}) ==
        sv::status{sv::errc::invalid_argument, sv::part::decision_head, 1});
  CHECK(sv::check(sv::head_shape{sv::hidden_mode::predicting, 1, 1u << 17, 1}) ==
        sv::status{sv::errc::invalid_argument, sv::part::decision_head, 2});
  CHECK(sv::check(sv::head_shape{sv::hidden_mode::predicting, 1, 1, 0}) ==
        sv::status{sv::errc::invalid_argument, sv::part::decision_head, 3});
}

TEST_CASE("features: a standardisation is checked") {
  sv::channel_standardisation used;
  CHECK(sv::check(used).ok());
  used.scale[3] = 0;
  CHECK(sv::check(used) == sv::status{sv::errc::invalid_argument, sv::part::decision_head, 3});
  used.scale[3] = 1;
  used.mean[1] = not_a_number;
  CHECK(sv::check(used) == sv::status{sv::errc::value_not_finite, sv::part::decision_head, 1});
}
