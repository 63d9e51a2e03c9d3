// SPDX-License-Identifier: Apache-2.0
#include <specverify/decision_head/mlp.hpp>

#include <specverify/verify/greedy.hpp>
#include <specverify/verify/semantic.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "head_kit.hpp"
#include "support/alloc_guard.hpp"

namespace sv = specverify;
using head_kit::generator;
using head_kit::owned_head;

namespace {

const float not_a_number = std::bit_cast<float>(0x7FC00000u);

//! d_D = 2, d_T = 1, w = 2.
owned_head small_head() {
  owned_head head;
  head.shape = {sv::hidden_mode::predicting, 2, 1, 2};
  head.first = {1, 2, 3, 0, 0, 0, 0, 1, /* unit 1 */ -1, 0, 1, 0.5f, 0, 0, 0, 0};
  head.first_bias = {0.5f, -4};
  head.second = {0.25f, 8};
  head.second_bias = -1;
  return head;
}

//! Sends a part through the wire format and back.
std::vector<float> sent(const std::vector<float>& values, sv::hidden_format format) {
  std::vector<std::byte> bytes(sv::hidden_bytes(format, values.size()));
  std::vector<float> back(values.size());
  REQUIRE(sv::encode_hidden(values, format, bytes).ok());
  REQUIRE(sv::decode_hidden(bytes, format, back).ok());
  return back;
}

}  // namespace

TEST_CASE("mlp: by hand") {
  const owned_head head = small_head();
  REQUIRE(sv::check(head.view()).ok());
  CHECK(sv::parameter_count(head.shape) == 2 * 9 + 2 + 1);
  const std::array<float, 2> drafter{1, -1};
  const std::array<float, 1> target{2};
  const sv::channel_vector c{2, 0, 0, 0, 1};
  // unit 0: 0.5 + 1 - 2 + 6 + 1 = 6.5; unit 1: -4 - 1 + 2 + 1 = -2, cut to 0; g = 0.25 * 6.5 - 1
  const auto logit = sv::head_logit(head.view(), sv::drafter_input::hidden_state, drafter, target, c);
  REQUIRE(logit.ok());
  CHECK(*logit == 0.625);
  const auto rho = sv::head_score(head.view(), sv::drafter_input::hidden_state, drafter, target, c);
  REQUIRE(rho.ok());
  CHECK(*rho == doctest::Approx(1 / (1 + std::exp(-0.625))).epsilon(1e-15));
  std::array<float, 2> part{};
  REQUIRE(sv::device_part(head.view(), drafter, part).ok());
  CHECK(part == std::array<float, 2>{-1, -1});
}

TEST_CASE("mlp: the paper's sizes have 1.57 million parameters; the split head uploads a sixteenth") {
  const sv::head_shape paper{sv::hidden_mode::predicting, 2048, 4096, 256};
  CHECK(sv::parameter_count(paper) == 256u * (2048 + 4096 + 5 + 1) + 256 + 1);
  const std::size_t full =
      sv::hidden_bytes(sv::hidden_format::float16, sv::upload_size(paper, sv::drafter_input::hidden_state));
  const std::size_t split =
      sv::hidden_bytes(sv::hidden_format::int8, sv::upload_size(paper, sv::drafter_input::device_part));
  CHECK(8 * full == 32768);
  CHECK(8 * split == 2048 + 32);  // and the scale
  CHECK(8 * split <= full);
}

TEST_CASE("mlp: E29 the threshold is a probability; a display step is a sixteenth of it") {
  CHECK(sv::threshold_of_sixteenths(0) == 0.0);
  CHECK(sv::threshold_of_sixteenths(12) == 0.75);
  CHECK(sv::threshold_of_sixteenths(16) == 1.0);
  CHECK(sv::threshold_of_sixteenths(17) > 1.0);
}

TEST_CASE("mlp: equal to the formula in double for every size around the lanes") {
  for (std::uint32_t drafter_size : {1u, 7u, 8u, 9u, 96u}) {
    for (std::uint32_t target_size : {0u, 1u, 5u, 16u, 128u}) {
      for (std::uint32_t width : {1u, 3u, 32u}) {
        const owned_head head = head_kit::random_head({sv::hidden_mode::consuming, drafter_size, target_size, width},
                                                      drafter_size + 131 * target_size + width);
        generator draw(width + 17);
        const auto drafter = draw.vector(drafter_size), target = draw.vector(target_size);
        sv::channel_vector c{};
        for (float& x : c) x = draw.normal();
        const auto logit = sv::head_logit(head.view(), sv::drafter_input::hidden_state, drafter, target, c);
        REQUIRE(logit.ok());
        CHECK(*logit == doctest::Approx(head_kit::plain_logit(head, drafter, target, c)).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("mlp: T26 split head = full head: same decisions outside the stated margins, at a sixteenth of the upload") {
  for (const sv::head_shape shape : {sv::head_shape{sv::hidden_mode::predicting, 2048, 4096, 256},
                                     sv::head_shape{sv::hidden_mode::predicting, 96, 128, 16}}) {
    const owned_head head = head_kit::random_head(shape, shape.width);
    generator draw(5);
    const int samples = shape.width > 100 ? 60 : 2000;
    double worst_int8 = 0, worst_bound = 0;
    int near = 0;
    for (int i = 0; i < samples; ++i) {
      const auto drafter = draw.vector(shape.drafter_size), target = draw.vector(shape.target_size);
      sv::channel_vector c{};
      for (float& x : c) x = draw.normal();
      std::vector<float> part(shape.width);
      REQUIRE(sv::device_part(head.view(), drafter, part).ok());
      const auto logit = [&](sv::drafter_input given, const std::vector<float>& from) {
        const auto made = sv::head_logit(head.view(), given, from, target, c);
        REQUIRE(made.ok());
        return *made;
      };
      const double full = logit(sv::drafter_input::hidden_state, drafter),
                   split = logit(sv::drafter_input::device_part, part),
                   half = logit(sv::drafter_input::device_part, sent(part, sv::hidden_format::float16)),
                   byte = logit(sv::drafter_input::device_part, sent(part, sv::hidden_format::int8));
#ifndef __FAST_MATH__
      CHECK(split == full);
#endif
      const double bound = sv::part_bound(head.view(), part, sv::hidden_format::int8);
      CHECK(std::fabs(byte - full) <= bound);
      CHECK(std::fabs(half - full) <= sv::part_bound(head.view(), part, sv::hidden_format::float16));
      worst_int8 = std::max(worst_int8, std::fabs(byte - full));
      worst_bound = std::max(worst_bound, bound);
      for (double tau = 0.05; tau < 1; tau += 0.05) {
        const double rho = sv::sigmoid(full);
        if (std::fabs(rho - tau) > 1e-3) {
          CHECK((sv::sigmoid(split) >= tau) == (rho >= tau));
          CHECK((sv::sigmoid(half) >= tau) == (rho >= tau));
        } else {
          ++near;
        }
        const double margin = std::log(tau / (1 - tau)) - full;
        if (std::fabs(margin) > bound) CHECK((sv::sigmoid(byte) >= tau) == (rho >= tau));
      }
    }
    CHECK(worst_int8 > 0.02 * worst_bound);  // the bound is not empty talk
    CHECK(near < samples);
  }
}

TEST_CASE("mlp: the int8 bound is (s / 2) sum|w_2| and a part of one sign comes near it") {
  owned_head head;
  head.shape = {sv::hidden_mode::predicting, 64, 0, 64};
  head.first.assign(64 * head.shape.input_size(), 0);
  for (std::size_t k = 0; k < 64; ++k) head.first[k * head.shape.input_size() + k] = 1;
  head.first_bias.assign(64, 0);
  head.second.assign(64, 0.5f);
  std::vector<float> part(64, 100.5f / 127);  // half a step above 100
  part[0] = 1;
  const auto exact = sv::head_logit(head.view(), sv::drafter_input::device_part, part, {}, {});
  const auto byte =
      sv::head_logit(head.view(), sv::drafter_input::device_part, sent(part, sv::hidden_format::int8), {}, {});
  REQUIRE(exact.ok());
  REQUIRE(byte.ok());
  const double stated = 0.5 / 127 * 32;
  CHECK(std::fabs(*byte - *exact) > 0.9 * stated);
  CHECK(sv::part_bound(head.view(), part, sv::hidden_format::int8) == doctest::Approx(stated).epsilon(0.01));
  CHECK(std::fabs(*byte - *exact) <= sv::part_bound(head.view(), part, sv::hidden_format::int8));
}

TEST_CASE("mlp: a scorer under semantic_rule: tau = 0 is greedy, tau > 1 accepts all, states are taken by position") {
  generator draw(11);
  const sv::head_shape shape{sv::hidden_mode::predicting, 8, 6, 4};
  const owned_head head = head_kit::random_head(shape, 3);
  for (int world = 0; world < 200; ++world) {
    constexpr std::uint32_t length = 5, vocab = 4;
    std::vector<std::vector<float>> values;
    std::vector<sv::row_view<float>> rows;
    std::vector<sv::claimed_draft> drafts;
    for (std::uint32_t i = 0; i <= length; ++i) values.push_back(draw.vector(vocab));
    for (const auto& row : values) rows.push_back(sv::logits_row<float>(row));
    for (std::uint32_t i = 0; i < length; ++i) drafts.push_back({static_cast<sv::token_id>(draw.below(vocab)), 0, 0});
    const auto states = draw.vector(length * 8), targets = draw.vector(length * 6);
    const std::vector<sv::row_transform> transform(1);
    const sv::row_span_provider<float> provider(rows, transform);
    std::vector<float> parts(length * 4);
    for (std::uint32_t i = 0; i < length; ++i) {
      REQUIRE(
          sv::device_part(head.view(), std::span(states).subspan(i * 8, 8), std::span(parts).subspan(i * 4, 4)).ok());
    }
    const auto run = [&](double tau, bool split) {
      sv::workspace none;
      const sv::head_scorer scorer{head.view(),
                                   split ? sv::drafter_input::device_part : sv::drafter_input::hidden_state,
                                   split ? parts : states,
                                   targets,
                                   {}};
      return sv::semantic_rule<sv::head_scorer>{scorer, tau}
          .verify(sv::exec::simd, std::span<const sv::claimed_draft>(drafts), provider, sv::uniforms<>{}, {}, none)
          .value();
    };
    sv::workspace none;
    const auto greedy = sv::greedy_rule{}.verify(sv::exec::simd, std::span<const sv::claimed_draft>(drafts), provider,
                                                 sv::uniforms<>{}, {}, none);
    CHECK(run(0, false).accepted == greedy->accepted);
    CHECK(run(0, false).next_token == greedy->next_token);
    CHECK(run(1.01, false).accepted == length);
    const sv::verdict said = run(0.5, false);
    CHECK(run(0.5, true).accepted == said.accepted);
    std::uint32_t expected = 0;
    for (; expected < length; ++expected) {
      const auto best = static_cast<sv::token_id>(std::max_element(values[expected].begin(), values[expected].end()) -
                                                  values[expected].begin());
      const std::vector<float> h(states.begin() + expected * 8, states.begin() + expected * 8 + 8);
      const std::vector<float> t(targets.begin() + expected * 6, targets.begin() + expected * 6 + 6);
      if (best != drafts[expected].token && head_kit::plain_logit(head, h, t, {}) >= 0) break;
    }
    CHECK(said.accepted == expected);
  }
}

TEST_CASE("mlp: positions scored together have the bits that each has alone, whole and split") {
  for (const sv::head_shape shape : {sv::head_shape{sv::hidden_mode::predicting, 2048, 4096, 29},
                                     {sv::hidden_mode::predicting, 96, 128, 16},
                                     {sv::hidden_mode::predicting, 33, 0, 1},
                                     {sv::hidden_mode::predicting, 5, 769, 25}}) {
    const owned_head head = head_kit::random_head(shape, shape.width);
    generator draw(shape.target_size + 3);
    sv::channel_vector c{};
    for (float& x : c) x = draw.normal();
    for (std::size_t count = 0; count < 10; ++count) {
      const std::vector<float> states = draw.vector(count * shape.drafter_size),
                               targets = draw.vector(count * shape.target_size);
      std::vector<float> parts(count * shape.width);
      std::vector<double> together(count, -1), split(count, -1), scores(count, -1);
      const std::span<const float> drafter(states), target(targets);
      for (std::size_t i = 0; i < count; ++i)
        REQUIRE(sv::device_part(head.view(), drafter.subspan(i * shape.drafter_size, shape.drafter_size),
                                std::span(parts).subspan(i * shape.width, shape.width))
                    .ok());
      const auto given = sv::drafter_input::hidden_state;
      REQUIRE(sv::head_logits(head.view(), given, drafter, target, c, together).ok());
      REQUIRE(sv::head_scores(head.view(), given, drafter, target, c, scores).ok());
      REQUIRE(sv::head_logits(head.view(), sv::drafter_input::device_part, parts, target, c, split).ok());
      for (std::size_t i = 0; i < count; ++i) {
        const auto alone =
            sv::head_logit(head.view(), given, drafter.subspan(i * shape.drafter_size, shape.drafter_size),
                           target.subspan(i * shape.target_size, shape.target_size), c);
        REQUIRE(alone.ok());
        CHECK(scores[i] == sv::sigmoid(together[i]));
        CHECK(together[i] == doctest::Approx(*alone).epsilon(1e-5));
#ifndef __FAST_MATH__
        CHECK(together[i] == *alone);
        CHECK(split[i] == *alone);
#endif
      }
    }
  }
}

TEST_CASE("mlp: of positions scored together the first bad one is named") {
  const owned_head head = small_head();
  std::vector<double> logits(6);
  std::vector<float> drafter(12, 1), target(6, 2);
  const auto scored = [&] {
    return sv::head_logits(head.view(), sv::drafter_input::hidden_state, drafter, target, {}, logits);
  };
  REQUIRE(scored().ok());
  CHECK(scored()->data() == logits.data());
  target[5] = not_a_number;
  CHECK(scored().error() == sv::status{sv::errc::value_not_finite, sv::part::decision_head, 5});
  drafter[6] = not_a_number;
  CHECK(scored().error() == sv::status{sv::errc::value_not_finite, sv::part::decision_head, 3});
  CHECK_FALSE(sv::head_scores(head.view(), sv::drafter_input::hidden_state, drafter, target, {}, logits).ok());
  target.pop_back();
  CHECK(scored().error() == sv::status{sv::errc::size_mismatch, sv::part::decision_head, 2});
  drafter.pop_back();
  CHECK(scored().error() == sv::status{sv::errc::size_mismatch, sv::part::decision_head, 1});
  owned_head broken = head;
  broken.first.pop_back();
  CHECK(sv::head_logits(broken.view(), sv::drafter_input::device_part, {}, {}, {}, {}).error() ==
        sv::status{sv::errc::size_mismatch, sv::part::decision_head, 10});
}

TEST_CASE("mlp: bad input has a name") {
  const owned_head head = small_head();
  const std::array<float, 2> drafter{1, -1}, bad{1, not_a_number};
  const std::array<float, 1> target{2};
  const auto where = [&](std::span<const float> d, std::span<const float> t) {
    return sv::head_logit(head.view(), sv::drafter_input::hidden_state, d, t, {}).error();
  };
  CHECK(where(target, target) == sv::status{sv::errc::size_mismatch, sv::part::decision_head, 1});
  CHECK(where(drafter, drafter) == sv::status{sv::errc::size_mismatch, sv::part::decision_head, 2});
  owned_head both = head;
  both.first[9] = 1;
  CHECK(sv::head_logit(both.view(), sv::drafter_input::hidden_state, bad, target, {}).error().code ==
        sv::errc::value_not_finite);
  CHECK_FALSE(sv::head_logit(both.view(), sv::drafter_input::hidden_state, bad, target, {}).ok());
  std::array<float, 3> part{};
  CHECK(sv::device_part(head.view(), drafter, part).error() ==
        sv::status{sv::errc::size_mismatch, sv::part::decision_head, 2});
  CHECK(sv::head_scorer{head.view(), sv::drafter_input::hidden_state, drafter, target, {}}.score(1).error() ==
        sv::status{sv::errc::size_mismatch, sv::part::decision_head, 1});
  owned_head broken = head;
  broken.first.pop_back();
  CHECK(sv::check(broken.view()) == sv::status{sv::errc::size_mismatch, sv::part::decision_head, 10});
  CHECK(sv::head_logit(broken.view(), sv::drafter_input::hidden_state, drafter, target, {}).error() ==
        sv::status{sv::errc::size_mismatch, sv::part::decision_head, 10});
  std::array<float, 2> two{};
  CHECK(sv::device_part(broken.view(), drafter, two).error().where == 10);
  CHECK_FALSE(sv::head_logit(broken.view(), sv::drafter_input::hidden_state, drafter, target, {}).ok());
  broken = head;
  broken.second[1] = not_a_number;
  CHECK(sv::check(broken.view()) == sv::status{sv::errc::value_not_finite, sv::part::decision_head, 1});
  broken = head;
  broken.threshold = static_cast<double>(not_a_number);
  CHECK(sv::check(broken.view()) == sv::status{sv::errc::invalid_argument, sv::part::decision_head, 13});
}

TEST_CASE("mlp: sigmoid keeps to [0, 1] at both ends") {
  CHECK(sv::sigmoid(0) == 0.5);
  CHECK(sv::sigmoid(1e6) == 1.0);
  CHECK(sv::sigmoid(-1e6) == 0.0);
  CHECK(sv::sigmoid(2) + sv::sigmoid(-2) == doctest::Approx(1).epsilon(1e-15));
}

TEST_CASE("mlp: a score allocates nothing") {
  const owned_head head = head_kit::random_head({sv::hidden_mode::predicting, 96, 128, 16}, 2);
  generator draw(1);
  const auto drafter = draw.vector(96), target = draw.vector(128);
  const sv::head_weights view = head.view();
  const auto states = draw.vector(5 * 96), targets = draw.vector(5 * 128);
  std::array<double, 5> scores{};
  const specverify_test::alloc_guard guard;
  const bool scored = sv::head_score(view, sv::drafter_input::hidden_state, drafter, target, {}).ok();
  const bool all = sv::head_scores(view, sv::drafter_input::hidden_state, states, targets, {}, scores).ok();
  CHECK(guard.count() == 0);
  CHECK(scored);
  CHECK(all);
}
