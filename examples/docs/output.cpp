// SPDX-License-Identifier: Apache-2.0
// The order of outputs: the journal stands before the message that depends on it.
#include <specverify/session/edge.hpp>

#include <array>
#include <random>
#include <string_view>

int main() {
  using namespace specverify;
  edge_options options;
  options.secret = secret_from(std::random_device{});
  options.vocab_size = 100;
  auto made = make_edge(options);
  if (!made.ok()) return 1;
  edge_session edge = std::move(made).value();
  const std::array<token_id, 3> prompt{1, 2, 3};
  if (!edge.start(prompt, 0).ok()) return 2;
  if (edge.tick(1).code != errc::busy) return 3;  // outputs first
  if (std::string_view(name(edge.next().action)) != "journal") return 4;
  const session_output hello = edge.next();
  const auto named = name_of(hello.bytes);
  if (hello.action != session_action::send || !named) return 5;
  return named->session_id == options.session_id && edge.next().action == session_action::none ? 0 : 6;
}
