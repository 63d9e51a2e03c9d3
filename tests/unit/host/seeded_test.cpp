// SPDX-License-Identifier: Apache-2.0
// Two seeded models under the greedy rule: the text is the target's own race, token for token.
#include "unit/session/pair.hpp"

#include <specverify/host/drive.hpp>
#include <specverify/host/seeded.hpp>
#include <specverify/row/reading.hpp>

#include <session/engine_model.hpp>

#include <deque>

using namespace specverify;
using namespace specverify_test;

namespace {

pair_options greedy_options() {
  pair_options options;
  options.format = law_format::token_only;
  options.rule = wire_rule::greedy;
  options.budget = 40;
  return options;
}

const std::array<token_id, 3> prompt{4, 5, 6};

//! The text of a session whose device uses `small` noise and whose cloud uses `large` noise.
std::vector<token_id> session_text(const coupling_noise& small, const coupling_noise& large, double temperature,
                                   std::uint64_t& accepted) {
  pair p(greedy_options());
  engine_model drafter{p.edge_engine}, target{p.cloud_engine};
  auto device = seeded<engine_model>::make(drafter, {small, pair::vocab_size, 1, temperature});
  auto server = seeded<engine_model>::make(target, {large, pair::vocab_size, 4, temperature});
  std::deque<bytes> up, down;
  const auto into = [](std::deque<bytes>& queue) {
    return [&queue](const session_output& out) {
      if (out.action == session_action::send) queue.emplace_back(out.bytes.begin(), out.bytes.end());
    };
  };
  CHECK(p.edge->start(prompt, 1).ok());
  CHECK(drive(exec::seq, *p.edge, *device, into(up)).ok());
  while (p.edge->state() != edge_state::finished && !up.empty()) {
    for (; !up.empty(); up.pop_front()) {
      CHECK(deliver(*p.cloud, up.front(), 1).ok());
      CHECK(drive(exec::seq, *p.cloud, *server, into(down)).ok());
    }
    for (; !down.empty(); down.pop_front()) {
      CHECK(deliver(*p.edge, down.front(), 1).ok());
      CHECK(drive(exec::seq, *p.edge, *device, into(up)).ok());
    }
  }
  accepted = p.edge->statistics().accepted;
  return p.text();
}

//! The target alone: one race per position.
std::vector<token_id> own_race(const coupling_noise& noise, double temperature) {
  hash_engine engine{pair::model(false)};
  std::vector<token_id> text(prompt.begin(), prompt.end());
  row_transform transform;
  transform.temperature = temperature;
  CHECK(engine.feed(0, text, 1));
  for (int i = 0; i < 40; ++i) {
    std::vector<std::byte> memory(1 << 16);
    workspace scratch{std::span(memory)};
    const auto row = read_row(exec::seq, row_view<float>(engine.rows()[0]), transform, {}, scratch);
    const auto position = static_cast<std::uint32_t>(text.size());
    text.push_back(*row->race(noise, position));
    CHECK(engine.feed(position, std::array<token_id, 1>{text.back()}, 1));
  }
  return text;
}

}  // namespace

TEST_CASE("seeded: two of them under the greedy rule write the target's own race") {
  std::uint64_t with_one_key = 0, with_two_keys = 0;
  for (std::uint64_t key = 0; key < 12; ++key) {
    const noise_kind kind = static_cast<noise_kind>(1 + key % 4);
    const coupling_noise noise{kind, key}, other{kind, key + 1000};
    const double temperature = key % 2 == 0 ? 1.0 : .6;
    std::uint64_t accepted = 0;
    const std::vector<token_id> own = own_race(noise, temperature);
    CHECK(session_text(noise, noise, temperature, accepted) == own);
    with_one_key += accepted;
    CHECK(session_text(other, noise, temperature, accepted) == own);  // a drafter with other noise costs rounds only
    with_two_keys += accepted;
  }
  CHECK(with_one_key > 2 * with_two_keys);
}

TEST_CASE("seeded: bias and mask count, rows of probabilities too") {
  struct fixed_model {
    std::vector<float> values;
    row_kind kind;
    status feed(std::uint32_t, std::span<const token_id>, std::uint32_t) { return {}; }
    row_view<float> row(std::uint32_t) { return {kind, values.data(), static_cast<std::uint32_t>(values.size())}; }
  };
  const std::vector<float> p{.1F, .2F, 0, .3F, .4F};
  const std::array<token_id, 1> ids{1};
  const std::array<float, 1> bias{1.5F};
  const std::array<std::uint64_t, 1> mask{0b01111};
  row_transform transform;
  transform.bias_ids = ids;
  transform.bias_values = bias;
  transform.mask_words = mask;
  fixed_model logits_of{{.1F, .2F, 1, .3F, .4F}, row_kind::logits}, probabilities_of{p, row_kind::probabilities};
  for (std::uint64_t key = 0; key < 100; ++key) {
    const coupling_noise noise{static_cast<noise_kind>(1 + key % 4), key};
    std::vector<std::byte> memory(1 << 16);
    workspace scratch{std::span(memory)};
    auto model = seeded<fixed_model>::make(logits_of, {noise, 5, 2, .5});
    CHECK(model->feed(10, std::array<token_id, 3>{}, 2).ok());
    for (std::uint32_t i = 0; i < 2; ++i) {  // row 0 decides position 12, row 1 position 13
      row_transform with_temperature = transform;
      with_temperature.temperature = .5;
      const auto row = read_row(exec::seq, logits_of.row(0), with_temperature, {}, scratch);
      CHECK(row->race(noise, 12 + i).value() == argmax(exec::seq, model->row(i), transform)->token);
      scratch.rewind(0);
    }
    auto other = seeded<fixed_model>::make(probabilities_of, {noise, 5});
    CHECK(other->feed(0, std::array<token_id, 1>{}, 1).ok());
    const auto row = read_row(exec::seq, probabilities_of.row(0), {}, {}, scratch);
    CHECK(row->race(noise, 1).value() == argmax(exec::seq, other->row(0), {})->token);
  }
}

TEST_CASE("seeded: options out of range are refused") {
  hash_engine engine{hash_model{}};
  engine_model model{engine};
  const auto why = [&](const seeded_options& options) { return seeded<engine_model>::make(model, options).error(); };
  CHECK(why({{}, 0}) == status{errc::invalid_argument, part::session, 0});
  CHECK(why({{}, 10, 0}) == status{errc::invalid_argument, part::session, 1});
  for (const double temperature : {0.0, -1.0, double{HUGE_VAL}, std::numeric_limits<double>::quiet_NaN()})
    CHECK(why({{}, 10, 1, temperature}) == status{errc::invalid_argument, part::session, 2});
  auto made = seeded<engine_model>::make(model, {{}, 30, 2});
  CHECK(made->feed(0, std::array<token_id, 4>{1, 2, 3, 4}, 3).code == errc::invalid_argument);
}
