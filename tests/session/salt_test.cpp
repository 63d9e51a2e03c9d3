// SPDX-License-Identifier: Apache-2.0
// A device that opens one session id twice: it sees the first verdict, and then drafts accordingly. Each cloud session
// has another salt, so the second text must still have the target's distribution.
#include <specverify/policy/window.hpp>
#include <specverify/testing/chi_square.hpp>

#include <session/in_turns.hpp>
#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdlib>

using namespace specverify;
using namespace specverify_test;

namespace {

constexpr std::uint32_t vocab_size = 3;
constexpr std::array<double, vocab_size> target_law{0.4, 0.3, 0.3};

//! The target's rows, or those of a drafter that always drafts one token.
struct constant_model {
  std::array<float, vocab_size> logits{};
  status feed(std::uint32_t, std::span<const token_id>, std::uint32_t) { return {}; }
  row_view<float> row(std::uint32_t) const { return logits_row<float>(logits); }
  void truncate(std::uint32_t) {}
};

constant_model target() {
  constant_model made;
  for (std::uint32_t v = 0; v < vocab_size; ++v) made.logits[v] = static_cast<float>(std::log(target_law[v]));
  return made;
}
constant_model always(token_id drafted) {
  constant_model made{{-100.0F, -100.0F, -100.0F}};
  made.logits[static_cast<std::size_t>(drafted)] = 0.0F;
  return made;
}

struct answer {
  token_id token = no_token;
  bool accepted = false;
};

//! Returns the result for one drafted token in a new session.
answer ask(std::uint64_t session_id, std::uint64_t salt, token_id drafted) {
  edge_options device{.session_id = session_id, .secret = secret_of(1), .vocab_size = vocab_size};
  device.format = law_format::token_only;
  device.token_budget = 2;
  device.max_text_length = 8;
  device.text_chunk = 4;
  cloud_options server{.secret = secret_of(2), .salt = salt, .vocab_size = vocab_size};
  server.limits = cloud_session::limits_for(format_of(device, fixed_window{1}));
  server.max_text_length = 8;
  server.text_chunk = 4;
  server.required = guarantee::unconditional;
  auto edge = std::move(make_edge(device, fixed_window{1})).value();
  auto cloud = std::move(make_cloud(server)).value();
  constant_model drafter = always(drafted), large = target();
  write_in_turns(edge, drafter, cloud, large, std::array<token_id, 1>{1});
  return {edge.text()[1], edge.statistics().accepted > 0 && edge.text()[1] == drafted};
}

//! Counts the first tokens of second sessions; the device wants token 0. An accepted token would be accepted again with
//! the same numbers. After a rejection the uniform is above .4, so token 1 would be rejected and leave 0 or 2.
std::array<std::uint64_t, vocab_size> second_texts(bool new_salts, std::uint64_t devices) {
  std::array<std::uint64_t, vocab_size> seen{};
  for (std::uint64_t id = 1; id <= devices; ++id) {
    const answer first = ask(id, 2 * id, 0);
    const answer second = ask(id, new_salts ? 2 * id + 1 : 2 * id, first.accepted ? 0 : 1);
    ++seen[static_cast<std::size_t>(second.token)];
  }
  return seen;
}

std::uint64_t devices() { return std::getenv("SPECVERIFY_LONG") != nullptr ? 100000 : 4000; }

}  // namespace

TEST_CASE("NET-8 a session id used twice: what the first verdict showed does not move the second text") {
  const auto fits = chi_square(second_texts(true, devices()), target_law);
  REQUIRE(fits.ok());
  INFO("p-value ", fits->p_value);
  const bool second_text_has_the_law = fits->p_value > 1e-4;
  CHECK(second_text_has_the_law);
}

TEST_CASE("NET-8 a session id and a salt used twice: the second text follows the device's wish") {
  const auto seen = second_texts(false, 1000);
  CHECK(static_cast<double>(seen[0]) / 1000 > 0.65);  // .4 + .6 x 4 / 7 = .743
}

TEST_CASE("NET-8 a session id used twice has two keys of shared noise, and so has another secret") {
  const session_secret secret = secret_of(5);
  const std::uint64_t key = derive_noise_key(secret, 7, 1);
  CHECK(key == derive_noise_key(secret, 7, 1));
  const bool another_salt_another_key = key != derive_noise_key(secret, 7, 2);
  CHECK(another_salt_another_key);
  CHECK(key != derive_noise_key(secret, 8, 1));
  CHECK(key != derive_noise_key(secret_of(6), 7, 1));
}
