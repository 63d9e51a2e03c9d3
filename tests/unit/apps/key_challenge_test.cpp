// SPDX-License-Identifier: Apache-2.0
//! How a device and a server of strangers prove to each other that they have the device's key.
#include "edge_cloud/serve/key_challenge.hpp"
#include "fuzz/corpus.hpp"
#include "fuzz/key_challenge_body.hpp"
#include "session/hash_model.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace edge_cloud;

namespace {

//! Bytes that count up from `first`.
template <class Bytes>
Bytes counting(unsigned first) {
  Bytes made{};
  for (auto& byte : made) byte = static_cast<std::byte>(first++);
  return made;
}

const device_key key = counting<device_key>(0);
const key_opening opening{7, counting<key_nonce>(100)};
const key_nonce server_nonce = counting<key_nonce>(200);

std::string hex(std::span<const std::byte> bytes) {
  std::string made;
  for (const std::byte byte : bytes) {
    made += "0123456789abcdef"[std::to_integer<unsigned>(byte >> 4)];
    made += "0123456789abcdef"[std::to_integer<unsigned>(byte & std::byte{15})];
  }
  return made;
}

//! `message` with each of its bits changed, one at a time.
template <class Look>
void with_each_bit_changed(frame message, Look&& look) {
  for (std::size_t bit = 0; bit < 8 * message.size(); ++bit) {
    message[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    look(std::as_const(message));
    message[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }
}

}  // namespace

TEST_CASE("key challenge: proofs are HMAC-SHA-256 over role, device and both nonces") {
  // openssl dgst -sha256 -mac HMAC, over the text, 8 bytes of the id, and both nonces
  CHECK(hex(proof_of(key_role::server, key, opening, server_nonce)) ==
        "d37f66b04d5659930ac0124f07d0f85839f0fc6f45e7336e45dc76de3586975f");
  CHECK(hex(proof_of(key_role::device, key, opening, server_nonce)) ==
        "19116c5670d0a6f501a948e96fb0be3600104170b33d4547ab7e166dbfea452e");
}

TEST_CASE("key challenge: both sides believe one that has the key") {
  const frame first = opening_frame(opening);
  CHECK(first.size() == 36);
  const auto read = read_opening(first);
  REQUIRE(read);
  CHECK(read->device == 7);
  CHECK(read->nonce == opening.nonce);
  const key_challenge asked = challenge_for(*read, key, server_nonce);
  CHECK(asked.message.size() == 60);
  const auto answer = answer_to(asked.message, opening, key);
  REQUIRE(answer);
  CHECK(is_proof(*answer, asked.awaited));
}

TEST_CASE("key challenge: the key is in no frame") {
  const key_challenge asked = challenge_for(opening, key, server_nonce);
  const auto answer = answer_to(asked.message, opening, key);
  REQUIRE(answer);
  for (const frame& sent : {opening_frame(opening), asked.message, frame(answer->begin(), answer->end())}) {
    for (std::size_t at = 0; at + 4 <= key.size(); ++at)
      CHECK(std::search(sent.begin(), sent.end(), key.begin() + static_cast<std::ptrdiff_t>(at),
                        key.begin() + static_cast<std::ptrdiff_t>(at) + 4) == sent.end());
  }
}

TEST_CASE("key challenge: one changed bit, and nobody is believed") {
  const key_challenge asked = challenge_for(opening, key, server_nonce);
  const auto answer = answer_to(asked.message, opening, key);
  REQUIRE(answer);
  with_each_bit_changed(asked.message, [&](const frame& changed) { CHECK(!answer_to(changed, opening, key)); });
  with_each_bit_changed(frame(answer->begin(), answer->end()),
                        [&](const frame& changed) { CHECK(!is_proof(changed, asked.awaited)); });
  with_each_bit_changed(frame(key.begin(), key.end()), [&](const frame& changed) {
    device_key other{};
    std::copy(changed.begin(), changed.end(), other.begin());
    CHECK(!answer_to(asked.message, opening, other));
  });
  with_each_bit_changed(opening_frame(opening), [&](const frame& changed) {
    const auto read = read_opening(changed);
    if (read) CHECK(!answer_to(challenge_for(*read, key, server_nonce).message, opening, key));
  });
}

TEST_CASE("key challenge: a proof is good in one role, for one connection") {
  const key_challenge asked = challenge_for(opening, key, server_nonce);
  CHECK(!is_proof(proof_of(key_role::server, key, opening, server_nonce), asked.awaited));
  const key_challenge later = challenge_for(opening, key, counting<key_nonce>(201));
  CHECK(!is_proof(asked.awaited, later.awaited));
  CHECK(!answer_to(asked.message, {7, counting<key_nonce>(101)}, key));
  CHECK(!answer_to(asked.message, {8, opening.nonce}, key));
  CHECK(random_bytes<key_nonce>() != random_bytes<key_nonce>());
}

TEST_CASE("key challenge: frames of other lengths are none of these") {
  const key_challenge asked = challenge_for(opening, key, server_nonce);
  frame first = opening_frame(opening), challenge = asked.message;
  first.push_back(std::byte{0});
  challenge.push_back(std::byte{0});
  CHECK(!read_opening(first));
  CHECK(!read_opening(std::span(first).first(35)));
  CHECK(!read_opening({}));
  CHECK(!answer_to(challenge, opening, key));
  CHECK(!answer_to(std::span(challenge).first(59), opening, key));
  CHECK(!answer_to({}, opening, key));
  CHECK(!is_proof(std::span(asked.awaited).first(31), asked.awaited));
  CHECK(!is_proof({}, asked.awaited));
  frame old(40, std::byte{7});  // of an older version: {device id, key}
  CHECK(!read_opening(old));
}

TEST_CASE("T29 fuzz replay: frames before a device is known") {
  std::size_t useful = 0;
  std::vector<std::vector<std::byte>> seeds;
  for (const auto& [name, bytes] : specverify_fuzz::corpus_of("key_challenge")) {
    seeds.push_back(bytes);
    useful += specverify_fuzz::key_challenge_input(bytes) ? 1u : 0u;
  }
  CHECK(useful == 3);
  specverify_test::dice dice(17);
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::byte> changed = seeds[dice.below(seeds.size())];
    for (std::uint64_t n = dice.below(3); n > 0; --n)
      changed[dice.below(changed.size())] = static_cast<std::byte>(dice.next());
    if (dice.below(8) == 0) changed.resize(dice.below(80));
    specverify_fuzz::key_challenge_input(changed);
  }
}
