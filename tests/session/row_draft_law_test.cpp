// SPDX-License-Identifier: Apache-2.0
// Sessions in CU-HLM's order: the drafted token is tested against its probability in the drafter's row. Sessions with
// salts sorted by the acceptance number measure the share of accepting numbers to 2^-18. The committed tokens under the
// other numbers are counted. Together they give the distribution of the committed token, which is compared with T7's
// bound.
#include <specverify/policy/window.hpp>
#include <specverify/quantize/claim.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <session/in_turns.hpp>
#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

using namespace specverify;
using namespace specverify_test;

namespace {

constexpr std::uint32_t vocab_size = 6, resolution = 15;
constexpr std::uint32_t salts = std::uint32_t{1} << 18;
constexpr double widest_gap = 5e-5;  // between the numbers of two salts
constexpr double noise = 0.01;       // of a distribution counted over 6 000 sessions; 0.005 was measured
using probabilities = std::array<double, vocab_size>;
using logits = std::array<float, vocab_size>;

//! Salts of the cloud, sorted by the acceptance number of the first draft after a prompt of one token.
const std::vector<std::pair<double, std::uint64_t>>& sorted_salts() {
  static const auto made = [] {
    std::vector<std::pair<double, std::uint64_t>> all;
    for (std::uint64_t salt = 1; salt <= salts; ++salt) {
      const uniforms random{philox{derive_verdict_key(secret_of(2), 1, salt)}, 1, 1};
      all.emplace_back(random.at(purpose::acceptance).uniform(), salt);
    }
    std::sort(all.begin(), all.end());
    return all;
  }();
  return made;
}

probabilities softmax_of(const logits& z) {
  probabilities made{};
  double sum = 0;
  for (std::uint32_t v = 0; v < vocab_size; ++v) sum += made[v] = std::exp(static_cast<double>(z[v]));
  for (double& p : made) p /= sum;
  return made;
}

struct constant_model {
  logits z{};
  status feed(std::uint32_t, std::span<const token_id>, std::uint32_t) { return {}; }
  row_view<float> row(std::uint32_t) const { return logits_row<float>(z); }
  void truncate(std::uint32_t) {}
};

//! A drafter and a target over six tokens, one of which gets nothing from the lattice, and k.
struct pair_of_rows {
  logits drafter{}, target{};
  std::uint32_t support_size = 0;
  probabilities x{}, y{};
};
pair_of_rows random_pair(std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  for (;;) {
    pair_of_rows made;
    for (std::uint32_t v = 0; v < vocab_size; ++v) {
      made.drafter[v] = 1.8F * normal(random);
      made.target[v] = made.drafter[v] + 1.5F * normal(random);
    }
    made.support_size = 1 + static_cast<std::uint32_t>(random() % 3);
    made.x = softmax_of(made.drafter), made.y = softmax_of(made.target);
    const double least = *std::min_element(made.x.begin(), made.x.end());
    if (least > 0.006 && least < 0.4 / resolution) return made;
  }
}

struct outcome {
  token_id token = no_token;
  bool accepted = false;
};
//! Runs a session of one token. `secret`: of the device, which determines its draws.
outcome session_of_one(const pair_of_rows& rows, std::uint64_t secret, std::uint64_t salt) {
  edge_options device;
  device.secret = secret_of(secret);
  device.vocab_size = vocab_size;
  device.format = law_format::top_k_tail;
  const top_k kept{rows.support_size};
  constexpr fixed_window window{1, resolution};
  device.draw_from_row = true;
  device.bonus = false;
  device.token_budget = 1;
  device.max_text_length = 4;
  device.text_chunk = 4;
  cloud_options server;
  server.secret = secret_of(2);
  server.salt = salt;
  server.vocab_size = vocab_size;
  server.limits = cloud_session::limits_for(format_of(device, kept, window));
  server.max_text_length = 4;
  server.text_chunk = 4;
  auto edge = std::move(make_edge(device, kept, window)).value();
  auto cloud = std::move(make_cloud(server)).value();
  constant_model small{rows.drafter}, large{rows.target};
  write_in_turns(edge, small, cloud, large, std::array<token_id, 1>{1});
  return {edge.text()[1], edge.statistics().accepted > 0};
}

//! Returns, for each token, the secret of a device that drafts it. With the number next to 0 each draft is accepted.
std::array<std::uint64_t, vocab_size> devices_for(const pair_of_rows& rows) {
  std::array<std::uint64_t, vocab_size> made{};
  std::uint32_t missing = (1u << vocab_size) - 1;
  for (std::uint64_t secret = 3; missing != 0 && secret < 10000; ++secret) {
    const outcome first = session_of_one(rows, secret, sorted_salts().front().second);
    REQUIRE(first.accepted);
    made[static_cast<std::size_t>(first.token)] = secret;
    missing &= ~(1u << first.token);
  }
  REQUIRE(missing == 0);
  return made;
}

//! Returns the first of the sorted numbers that rejects this device's draft.
std::size_t first_rejecting(const pair_of_rows& rows, std::uint64_t secret) {
  const auto& all = sorted_salts();
  std::size_t low = 0, high = all.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (session_of_one(rows, secret, all[middle].second).accepted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

//! Returns the distribution of the token that replaces this device's draft, counted over `sessions` of the rejecting
//! numbers from `first` on.
probabilities replacement(const pair_of_rows& rows, std::uint64_t secret, std::size_t first, std::size_t sessions) {
  const auto& all = sorted_salts();
  probabilities made{};
  for (std::size_t i = 0; i < sessions; ++i) {
    const outcome one = session_of_one(rows, secret, all[first + i * (all.size() - first) / sessions].second);
    REQUIRE(!one.accepted);
    made[static_cast<std::size_t>(one.token)] += 1.0 / static_cast<double>(sessions);
  }
  return made;
}

probabilities residual_of(const probabilities& p, const probabilities& subtracted) {
  probabilities left{};
  double sum = 0;
  for (std::uint32_t v = 0; v < vocab_size; ++v) sum += left[v] = std::max(0.0, p[v] - subtracted[v]);
  for (double& mass : left) mass = sum > 0 ? mass / sum : 0;
  return left;
}

double distance(const probabilities& a, const probabilities& b) {
  double sum = 0;
  for (std::uint32_t v = 0; v < vocab_size; ++v) sum += std::fabs(a[v] - b[v]);
  return sum / 2;
}

//! Returns the distribution that is sent with a draft of `token`.
probabilities travelling(const pair_of_rows& rows, token_id token) {
  const top_k sparsifier{rows.support_size, true};
  read_request wanted = sparsifier.request({}, vocab_size);
  wanted.top_entries = vocab_size;
  std::vector<std::byte> memory(4096), more(4096);
  workspace space{std::span<std::byte>(memory)}, scratch{std::span<std::byte>(more)};
  const auto reading = read_row(exec::seq, logits_row<float>(rows.drafter), {}, wanted, space);
  REQUIRE(reading.ok());
  const auto made = make_claim(*reading, sparsifier, {}, {token}, {law_format::top_k_tail, resolution}, scratch);
  REQUIRE(made.ok());
  probabilities q{};
  for (std::uint32_t v = 0; v < vocab_size; ++v)
    q[v] = static_cast<double>(made->claimed.count(static_cast<token_id>(v))) / made->claimed.resolution;
  return q;
}

}  // namespace

TEST_CASE("T7 sessions in the paper's order: a draft is tested against its probability in the row, within the bound") {
  std::mt19937_64 random(7);
  for (int run = 0; run < 48; ++run) {
    const pair_of_rows rows = random_pair(random);
    INFO("run ", run, ", k ", rows.support_size);
    const auto devices = devices_for(rows);
    const probabilities replacing = residual_of(rows.y, rows.x);
    probabilities out{};
    double bound = 0;
    const bool counts = run % 6 == 0;  // because many sessions replace a draft
    for (std::uint32_t d = 0; d < vocab_size; ++d) {
      const std::size_t rejecting = first_rejecting(rows, devices[d]);
      const double share = rejecting == salts ? 1.0 : sorted_salts()[rejecting].first;
      const double right = std::min(1.0, rows.y[d] / rows.x[d]), replaced = rows.x[d] * (1 - share);
      CHECK(std::fabs(share - right) <= widest_gap);
      if (!counts) continue;
      const probabilities q = residual_of(rows.y, travelling(rows, static_cast<token_id>(d)));
      out[d] += rows.x[d] * share;
      const auto sessions = static_cast<std::size_t>(std::ceil(6000 * replaced));
      const probabilities committed = replacement(rows, devices[d], rejecting, sessions);
      for (std::uint32_t v = 0; v < vocab_size; ++v) out[v] += replaced * committed[v];
      bound += rows.x[d] * (1 - right) * distance(replacing, q);
    }
    if (counts) CHECK(distance(out, rows.y) <= bound + noise);
  }
}

TEST_CASE("NET-8 cloud: a draft whose probability is 0, above 1 or missing is refused by name, and no text is taken") {
  const auto edge_options_of = [] {
    edge_options device;
    device.secret = secret_of(3);
    device.vocab_size = vocab_size;
    device.format = law_format::top_k_tail;
    device.draw_from_row = true;
    device.check_bits = 0;
    return device;
  };
  constant_model small;
  const std::array<token_id, 1> prompt{1};
  const auto refusal_of = [&](auto change) {
    auto edge = std::move(make_edge(edge_options_of(), top_k{2}, fixed_window{1, resolution})).value();
    cloud_options server{.secret = secret_of(2), .salt = 1, .vocab_size = vocab_size};
    server.check_bits = 0;
    auto cloud = std::move(make_cloud(server)).value();
    std::vector<std::vector<std::byte>> up;
    const auto send = [&](const session_output& out) {
      if (out.action == session_action::send) up.emplace_back(out.bytes.begin(), out.bytes.end());
    };
    REQUIRE(edge.start(prompt, 1).ok());
    while (specverify::kind_of(up.empty() ? std::vector(1, std::byte{1}) : up.back()).value() != message_kind::draft) {
      REQUIRE(drive(exec::seq, edge, small, send).ok());
      for (const std::vector<std::byte>& message : up) {
        if (specverify::kind_of(message).value() == message_kind::draft) continue;
        std::vector<std::byte> answer;
        REQUIRE(cloud.receive(message, 1).ok());
        (void)take_outputs(cloud, [&](const session_output& out) {
          if (out.action == session_action::send) answer.assign(out.bytes.begin(), out.bytes.end());
        });
        if (!answer.empty()) REQUIRE(edge.receive(answer, 1).ok());
      }
      if (specverify::kind_of(up.back()).value() != message_kind::draft) up.clear();
    }
    change(up.back());
    (void)cloud.receive(up.back(), 1);
    CHECK(cloud.text().size() == 1);
    CHECK(cloud.statistics().emitted == 0);
    return cloud.refusal();
  };
  const auto with = [&](std::uint32_t units) {  // after the byte with kind and number of drafts
    return refusal_of([units](auto& message) { specverify::numeric::store_le(message.data() + 1, units, 4); });
  };
  CHECK(with(1).ok());
  CHECK(with(drafted_probability_unit).ok());
  for (const std::uint32_t units : {0u, drafted_probability_unit + 1, 0xffffffffu, 0xff800000u, 0xffc00000u})
    CHECK(with(units) == status{errc::probability_out_of_range, part::codec, 0});
  CHECK(refusal_of([](auto& message) { message.resize(5); }).code == errc::size_mismatch);  // and no draft
  for (const std::size_t size : {1u, 4u})
    CHECK(refusal_of([size](auto& message) { message.resize(size); }).code == errc::truncated);
}

TEST_CASE(
    "NET-8 sessions in the paper's order are lossy: hello says so, and a restored cloud knows it from the format") {
  edge_options device{.secret = secret_of(3), .vocab_size = vocab_size, .token_budget = 1};
  device.format = law_format::top_k_tail;
  device.draw_from_row = true;
  cloud_options server{.secret = secret_of(2), .salt = 1, .vocab_size = vocab_size};
  const auto run = [&](guarantee required, std::vector<std::byte>& journal) {
    auto edge = std::move(make_edge(device, top_k{2}, fixed_window{1, resolution})).value();
    server.required = required;
    auto cloud = std::move(make_cloud(server)).value();
    constant_model small, large;
    std::vector<std::vector<std::byte>> said;
    const auto take = [&](const session_output& out) {
      if (out.action == session_action::send) said.emplace_back(out.bytes.begin(), out.bytes.end());
    };
    const auto keep = [&](const session_output& out) {
      take(out);
      if (out.action == session_action::journal) journal.insert(journal.end(), out.bytes.begin(), out.bytes.end());
    };
    REQUIRE(edge.start(std::array<token_id, 1>{1}, 1).ok());
    REQUIRE(drive(exec::seq, edge, small, take).ok());
    while (edge.state() != edge_state::finished && cloud.refusal().ok()) {
      for (const std::vector<std::byte>& message : std::exchange(said, {})) {
        (void)cloud.receive(message, 1);
        REQUIRE(drive(exec::seq, cloud, large, keep).ok());
      }
      if (!cloud.refusal().ok()) break;
      for (const std::vector<std::byte>& message : std::exchange(said, {})) {
        (void)edge.receive(message, 1);
        REQUIRE(drive(exec::seq, edge, small, take).ok());
      }
    }
    return cloud.refusal().code;
  };
  std::vector<std::byte> none, journal;
  CHECK(run(guarantee::honest_drafter, none) == errc::guarantee_too_weak);
  CHECK(run(guarantee::lossy, journal) == errc::ok);
  const auto restored = [&](guarantee required) {
    server.required = required;
    return std::move(make_cloud(server)).value().restore(journal).error().code;
  };
  CHECK(restored(guarantee::lossy) == errc::ok);
  CHECK(restored(guarantee::honest_drafter) == errc::guarantee_too_weak);
}
