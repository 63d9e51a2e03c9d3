// SPDX-License-Identifier: Apache-2.0
#include <specverify/decision_head/training_data.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <vector>

namespace sv = specverify;

namespace {

const float not_a_number = std::bit_cast<float>(0x7FC00000u);

//! Two mismatches of one episode, three samples, a drafter state of 2 and a target state of 1.
struct data_set {
  std::vector<float> drafter{1, 2, 3, 4};
  std::vector<float> target{5, 6};
  std::vector<std::uint32_t> group{0, 0};
  std::vector<std::uint32_t> state{0, 1, 1};
  std::vector<sv::channel_vector> channel{3, sv::channel_vector{}};
  std::vector<std::uint8_t> labels{0, 1, 1};
  [[nodiscard]] sv::status check(std::uint32_t width = 4) const {
    return sv::check({sv::hidden_mode::predicting, 2, 1, drafter, target, group, state, channel, labels}, width);
  }
};

sv::status here(sv::errc code, std::uint32_t where) { return {code, sv::part::decision_head, where}; }

}  // namespace

TEST_CASE("training data: the option that is out of range is named") {
  static_assert(sv::check(sv::training_options{}).ok());
  const auto where = [](auto change) {
    sv::training_options options;
    change(options);
    const sv::status why = sv::check(options);
    return why.code == sv::errc::invalid_argument ? why.where : 99;
  };
  CHECK(where([](sv::training_options& o) { o.width = 0; }) == 0);
  CHECK(where([](sv::training_options& o) { o.width = sv::max_head_size + 1; }) == 0);
  CHECK(where([](sv::training_options& o) { o.dropout = 1; }) == 1);
  CHECK(where([](sv::training_options& o) { o.learning_rate = 0; }) == 2);
  CHECK(where([](sv::training_options& o) { o.late_rate = static_cast<double>(not_a_number); }) == 3);
  CHECK(where([](sv::training_options& o) { o.weight_decay = -1; }) == 4);
  CHECK(where([](sv::training_options& o) { o.positive_weight = -1; }) == 5);
  CHECK(where([](sv::training_options& o) { o.validation_share = 1; }) == 6);
  CHECK(where([](sv::training_options& o) { o.batch = 0; }) == 7);
  CHECK(where([](sv::training_options& o) { o.epochs = 0; }) == 8);
}

TEST_CASE("training data: samples that do not fit together are named") {
  CHECK(data_set{}.check().ok());
  CHECK(data_set{}.check(0) == here(sv::errc::invalid_argument, 3));
  data_set bad;
  bad.drafter.pop_back();
  CHECK(bad.check() == here(sv::errc::size_mismatch, 20));
  bad = {};
  bad.target.push_back(1);
  CHECK(bad.check() == here(sv::errc::size_mismatch, 21));
  bad = {};
  bad.labels.pop_back();
  CHECK(bad.check() == here(sv::errc::size_mismatch, 22));
  bad = {};
  bad.state[2] = 2;
  CHECK(bad.check() == here(sv::errc::size_mismatch, 23));
  bad = {};
  bad.target[1] = not_a_number;
  CHECK(bad.check() == here(sv::errc::value_not_finite, 1));
  bad = {};
  bad.channel[2][4] = not_a_number;
  CHECK(bad.check() == here(sv::errc::value_not_finite, 2));
}
