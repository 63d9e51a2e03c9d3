// SPDX-License-Identifier: Apache-2.0
// Behaviour of the edge while the link is lost. If text is written ahead, retracted or carried over, it must still have
// the target's distribution.
#include <doctest/doctest.h>

#include <specverify/host/drive.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/testing/chi_square.hpp>

#include <session/hash_model.hpp>
#include <support/secret_of.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

using namespace specverify;
using namespace specverify_test;

namespace {

constexpr std::uint32_t vocab_size = 3, tokens = 5, texts = 243;
using row = std::array<float, vocab_size>;

row logits(bool drafter, token_id last) {
  row made{};
  const auto unit = [](std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1.0p-24F; };
  for (std::uint32_t v = 0; v < vocab_size; ++v) {
    made[v] = 2.0F * unit(mix(static_cast<std::uint64_t>(last) * 31 + v)) +
              (drafter ? 0.7F * unit(mix(977 + static_cast<std::uint64_t>(last) * 7 + v)) : 0.0F);
  }
  return made;
}

std::array<long double, vocab_size> law_after(token_id last) {
  const row z = logits(false, last);
  std::array<long double, vocab_size> p{};
  long double sum = 0;
  for (std::uint32_t v = 0; v < vocab_size; ++v) sum += p[v] = std::exp(static_cast<long double>(z[v]));
  for (long double& one : p) one /= sum;
  return p;
}

//! Logits depend on the last token; truncation has no effect.
struct last_token_model {
  bool is_drafter;
  std::array<std::array<float, vocab_size>, 4> z{};
  status feed(std::uint32_t, std::span<const token_id> ids, std::uint32_t rows) {
    for (std::uint32_t i = 0; i < rows; ++i) z[i] = logits(is_drafter, ids[ids.size() - rows + i]);
    return {};
  }
  row_view<float> row(std::uint32_t i) const { return logits_row<float>(z[i]); }
  void truncate(std::uint32_t) {}
};

struct outcome {
  std::vector<token_id> text;
  std::uint64_t ahead = 0, stood = 0, exchanged = 0;
};

constexpr fixed_window two_drafts{2, 20};

//! Runs a session whose link is lost in some rounds, before or after the cloud has the draft. The edge writes some
//! tokens ahead.
outcome lossy_session(std::uint64_t id, bool bonus) {
  edge_options device;
  device.session_id = id;
  device.secret = secret_of(3);
  device.vocab_size = vocab_size;
  device.bonus = bonus;
  device.token_budget = tokens;
  device.max_text_length = 16;
  device.text_chunk = 8;
  device.on_link_loss = link_loss::continue_local;
  cloud_options server;
  server.secret = secret_of(4);
  server.salt = 1;
  server.vocab_size = vocab_size;
  server.limits = cloud_session::limits_for(format_of(device, top_k{3}, two_drafts));
  server.max_text_length = 16;
  server.text_chunk = 8;
  auto edge = std::move(make_edge(device, top_k{3}, two_drafts)).value();
  auto cloud = std::move(make_cloud(server)).value();
  dice weather(id * 11 + 5);
  last_token_model drafter{true}, target{false};
  outcome made;
  std::vector<token_id> shown(1, 1);
  std::vector<std::vector<std::byte>> up, down;
  const auto drain = [&] {
    (void)drive(exec::seq, edge, drafter, [&](const session_output& out) {
      if (out.action == session_action::send) up.emplace_back(out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::retracted) shown.resize(std::min<std::size_t>(shown.size(), out.position));
      if (out.action != session_action::tentative && out.action != session_action::committed) return;
      for (std::size_t i = 0; i < out.tokens.size(); ++i) {
        if (out.position + i < shown.size()) {
          made.exchanged += shown[out.position + i] != out.tokens[i] ? 1u : 0u;
          made.stood += out.action == session_action::tentative ? 1u : 0u;
        } else {
          shown.push_back(out.tokens[i]);
        }
      }
    });
  };
  (void)edge.start(std::array<token_id, 1>{1}, 1);
  drain();
  while (edge.state() != edge_state::finished && edge.state() != edge_state::failed) {
    const bool lost = edge.state() == edge_state::waiting && weather.chance(0.6);
    const std::size_t arrive = !lost || weather.chance(0.5) ? up.size() : 0;
    for (std::size_t i = 0; i < arrive; ++i) {
      (void)cloud.receive(up[i], 1);
      (void)drive(exec::seq, cloud, target, [&](const session_output& out) {
        if (out.action == session_action::send) down.emplace_back(out.bytes.begin(), out.bytes.end());
      });
    }
    up.clear();
    if (lost) {
      down.clear();
      (void)edge.disconnect(1);
      for (std::uint64_t i = weather.below(5); i > 0 && edge.deadline().has_value(); --i) {
        (void)edge.tick(1);
        drain();
      }
      (void)edge.reconnect(1);
      drain();
    }
    for (const std::vector<std::byte>& message : std::exchange(down, {})) {
      (void)edge.receive(message, 1);
      drain();
    }
  }
  made.ahead = edge.statistics().written_ahead;
  made.text.assign(edge.text().begin() + 1, edge.text().end());
  return made;
}

}  // namespace

TEST_CASE("T1 NET-5 a session that writes ahead while the link is lost keeps the target's law") {
  for (const bool bonus : {true, false}) {
    std::array<double, texts> expected{};
    for (std::size_t cell = 0; cell < texts; ++cell) {
      long double p = 1;
      token_id last = 1;
      for (std::size_t i = 0, rest = cell; i < tokens; ++i, rest /= 3) {
        const auto next = static_cast<token_id>(rest % 3);
        p *= law_after(last)[static_cast<std::size_t>(next)];
        last = next;
      }
      expected[cell] = static_cast<double>(p);
    }
    std::array<std::uint64_t, texts> seen{};
    std::uint64_t ahead = 0, stood = 0, exchanged = 0;
    for (std::uint64_t id = 1; id <= 30000; ++id) {
      const outcome made = lossy_session(id + (bonus ? 0u : 1000000u), bonus);
      REQUIRE(made.text.size() == tokens);
      std::size_t cell = 0;
      for (std::size_t i = tokens; i > 0; --i) cell = 3 * cell + static_cast<std::size_t>(made.text[i - 1]);
      seen[cell] += 1;
      ahead += made.ahead;
      stood += made.stood;
      exchanged += made.exchanged;
    }
    auto fits = chi_square(seen, expected);
    REQUIRE(fits.ok());
    CHECK(fits->p_value > 1e-4);
    CHECK(ahead > 10000);
    CHECK(stood > 500);     // written ahead, shown, and drafted again as the same token
    CHECK(exchanged == 0);  // shown text is retracted before another token replaces it
  }
}

TEST_CASE("session: a lost link can end the session by name, and its journal goes on from there") {
  edge_options device;
  device.secret = secret_of(1);
  device.vocab_size = vocab_size;
  device.on_link_loss = link_loss::stop;
  device.token_budget = tokens;
  auto edge = std::move(make_edge(device)).value();
  CHECK(edge.disconnect(1).ok());  // nothing has begun
  REQUIRE(edge.start(std::array<token_id, 1>{1}, 1).ok());
  std::vector<std::byte> journal;
  (void)take_outputs(edge, [&](const session_output& out) {
    if (out.action == session_action::journal) journal.insert(journal.end(), out.bytes.begin(), out.bytes.end());
  });
  CHECK(edge.disconnect(1).code == errc::link_lost);
  CHECK(edge.next().reason.code == errc::link_lost);
  CHECK(edge.state() == edge_state::failed);
  auto again = std::move(make_edge(device)).value();
  CHECK(again.restore(journal, 2).ok());
}

TEST_CASE("session: a row that is written ahead is supplied before anything else happens") {
  edge_options device;
  device.secret = secret_of(1);
  device.vocab_size = vocab_size;
  device.on_link_loss = link_loss::continue_local;
  device.max_ahead = 2;
  cloud_options server;
  server.secret = secret_of(2);
  server.salt = 1;
  server.vocab_size = vocab_size;
  server.limits = cloud_session::limits_for(format_of(device, top_k{3}, two_drafts));
  auto edge = std::move(make_edge(device, top_k{3}, two_drafts)).value();
  auto cloud = std::move(make_cloud(server)).value();
  const row z = logits(true, 1);
  std::vector<std::vector<std::byte>> up, down;
  const auto send_to = [](auto& way) {
    return [&way](const session_output& out) {
      if (out.action == session_action::send) way.emplace_back(out.bytes.begin(), out.bytes.end());
    };
  };
  const auto drain = [&](bool supply) {
    for (std::uint32_t rows = 0;;) {
      const session_work work = take_outputs(edge, send_to(up));
      if (work.wait != session_wait::rows) return rows;
      ++rows;
      if (!supply) return rows;
      (void)edge.supply_row(exec::seq, logits_row<float>(z), {}, 1);
    }
  };
  REQUIRE(edge.start(std::array<token_id, 1>{1}, 1).ok());
  drain(true);
  while (edge.state() != edge_state::waiting) {
    for (const std::vector<std::byte>& message : std::exchange(up, {})) {
      (void)cloud.receive(message, 1);
      (void)take_outputs(cloud, send_to(down));
    }
    for (const std::vector<std::byte>& message : std::exchange(down, {})) {
      REQUIRE(edge.receive(message, 1).ok());
      drain(true);
    }
  }
  CHECK_FALSE(edge.deadline().has_value());
  CHECK(edge.disconnect(1).ok());
  REQUIRE(edge.deadline().has_value());
  CHECK(edge.tick(1).ok());
  CHECK(drain(false) == 1);
  CHECK(edge.receive(up.front(), 1).code == errc::busy);
  CHECK(edge.tick(1).code == errc::busy);
  CHECK(edge.reconnect(1).code == errc::busy);
  CHECK(edge.supply_row(exec::seq, logits_row<float>(z), {}, 1).ok());
  drain(true);
  CHECK(edge.tick(1).ok());
  CHECK(drain(true) == 1);
  CHECK(edge.statistics().written_ahead == 2);
  CHECK_FALSE(edge.deadline().has_value());  // as many as allowed
  CHECK(edge.length() == 1);                 // nothing is committed
}
