// SPDX-License-Identifier: Apache-2.0
//! The body of the fuzz target of the frames before a device is known. An input: a byte that chooses the receiver of
//! the frame, and the frame. Demanded: a server reads an opening only if it would write the same frame for that
//! opening; neither a server nor a device believes anybody without the key; a device answers only an honest server's
//! frame.
#ifndef SPECVERIFY_TESTS_FUZZ_KEY_CHALLENGE_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_KEY_CHALLENGE_BODY_HPP

#include "../../apps/edge_cloud/serve/key_challenge.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace specverify_fuzz {

inline void demand_proof(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

inline edge_cloud::device_key key_of_target() {
  edge_cloud::device_key made{};
  made.fill(std::byte{0x5A});
  return made;
}
inline edge_cloud::key_nonce nonce_of_target(unsigned fill) {
  edge_cloud::key_nonce made{};
  made.fill(static_cast<std::byte>(fill));
  return made;
}

//! Returns true if the receiver could use the frame.
inline bool server_input(std::span<const std::byte> said) {
  const edge_cloud::device_key key = key_of_target();
  const edge_cloud::key_nonce nonce = nonce_of_target(1);
  const auto opening = edge_cloud::read_opening(said);
  demand_proof(opening.has_value() == (said.size() == 36 &&
                                       std::equal(said.begin(), said.begin() + 4, "svk1",
                                                  [](std::byte a, char b) { return a == static_cast<std::byte>(b); })),
               "an opening by another form");
  if (opening) {
    const edge_cloud::frame again = edge_cloud::opening_frame(*opening);
    demand_proof(std::equal(again.begin(), again.end(), said.begin(), said.end()), "an opening that is another one");
    demand_proof(edge_cloud::challenge_for(*opening, key, nonce).message.size() == 60, "a challenge of another length");
  }
  const auto asked = edge_cloud::challenge_for(opening.value_or(edge_cloud::key_opening{}), key, nonce);
  demand_proof(!edge_cloud::is_proof(said, asked.awaited), "a stranger is let in");
  return opening.has_value();
}

//! If `honest`, somebody who has the key writes the proof of the frame.
inline bool device_input(std::span<const std::byte> said, bool honest) {
  const edge_cloud::device_key key = key_of_target();
  const edge_cloud::key_opening opening{7, nonce_of_target(2)};
  std::vector<std::byte> frame(said.begin(), said.end());
  edge_cloud::key_nonce nonce{};
  if (frame.size() == 60) std::copy_n(frame.begin() + 4, nonce.size(), nonce.begin());
  const auto made = edge_cloud::challenge_for(opening, key, nonce);
  if (honest && frame.size() == 60) std::copy(made.message.begin() + 28, made.message.end(), frame.begin() + 28);
  const auto answer = edge_cloud::answer_to(frame, opening, key);
  demand_proof(answer.has_value() == (frame == made.message), "an answer to somebody without the key, or none to one");
  if (answer) demand_proof(edge_cloud::is_proof(*answer, made.awaited), "an answer that the server does not take");
  return answer.has_value();
}

inline bool key_challenge_input(std::span<const std::byte> input) {
  if (input.empty()) return false;
  const auto who = std::to_integer<unsigned>(input[0]);
  return (who & 1u) == 0 ? server_input(input.subspan(1)) : device_input(input.subspan(1), (who & 2u) != 0);
}

}  // namespace specverify_fuzz

#endif
