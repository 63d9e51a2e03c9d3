// SPDX-License-Identifier: Apache-2.0
// Secrets and keys must not remain in the memory of a destroyed session.
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

using namespace specverify;

namespace {

constexpr std::string_view secret_digits = "c1d2e3f405162738495a6b7c8d9eafb0";

std::array<std::byte, 16> secret_bytes() {
  std::array<std::byte, 16> made{};
  for (std::size_t word = 0; word < 2; ++word)
    numeric::store_le(made.data() + 8 * word, secret_from_hex(secret_digits).key().word[word], 8);
  return made;
}
std::array<std::byte, 8> bytes_of(const philox_key& key) {
  std::array<std::byte, 8> made{};
  std::memcpy(made.data(), &key, made.size());
  return made;
}

bool holds(std::span<const std::byte> memory, std::span<const std::byte> wanted) {
  return std::search(memory.begin(), memory.end(), wanted.begin(), wanted.end()) != memory.end();
}

//! Memory that outlives the session in it.
template <class Session>
struct place_of {
  alignas(Session) std::array<std::byte, sizeof(Session)> memory{};
  Session* session = nullptr;

  explicit place_of(result<Session> made) {
    REQUIRE(bool(made));
    session = ::new (static_cast<void*>(memory.data())) Session(*std::move(made));
  }
  void end() { std::destroy_at(session); }
  [[nodiscard]] bool shows(std::span<const std::byte> wanted) const { return holds(memory, wanted); }
};

}  // namespace

TEST_CASE("SEC-1 session: an edge leaves neither its secret nor its draft key in memory") {
  edge_options device;
  device.secret = secret_from_hex(secret_digits);
  device.session_id = 17;
  device.vocab_size = 64;
  place_of<edge_session> edge(make_edge(device));
  const auto key = bytes_of(derive_draft_key(device.secret, device.session_id));
  CHECK(edge.shows(secret_bytes()));  // the test can find the secret
  CHECK(edge.shows(key));
  edge.end();
  CHECK_FALSE(edge.shows(secret_bytes()));
  CHECK_FALSE(edge.shows(key));
}

TEST_CASE("SEC-1 session: a cloud leaves neither its secret nor its salt nor its verdict key in memory") {
  edge_options device;
  device.secret = secret_from_hex("00112233445566778899aabbccddeeff");
  device.session_id = 17;
  device.vocab_size = 64;
  cloud_options options;
  options.secret = secret_from_hex(secret_digits);
  options.salt = 0x1122334455667788;
  options.vocab_size = 64;
  options.limits = cloud_session::limits_for(format_of(device));
  auto edge = make_edge(device);
  REQUIRE(bool(edge));
  place_of<cloud_session> cloud(make_cloud(options));
  const std::array<token_id, 2> prompt{1, 2};
  REQUIRE(edge->start(prompt, {}).ok());
  while (edge->has_outputs()) {
    const session_output out = edge->next();
    if (out.action == session_action::send) CHECK(cloud.session->receive(out.bytes, {}).ok());
  }
  const auto key = bytes_of(derive_verdict_key(options.secret, device.session_id, options.salt));
  const auto salt = std::as_bytes(std::span(&options.salt, 1));
  CHECK(cloud.shows(secret_bytes()));
  CHECK(cloud.shows(key));
  CHECK(cloud.shows(salt));
  cloud.end();
  CHECK_FALSE(cloud.shows(secret_bytes()));
  CHECK_FALSE(cloud.shows(key));
  CHECK_FALSE(cloud.shows(salt));
}
