// SPDX-License-Identifier: Apache-2.0
// Runs the side of the small model, and generates one text. usage: device SOCKET SESSION_ID
#include <cstdlib>
#include <iostream>
#include <thread>

#include "engine_model.hpp"
#include "socket_link.hpp"

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const int file = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
  const sockaddr_un address = socket_link::address(arguments[1]);
  int tries = 500;  // 10 ms each
  while (::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (--tries == 0) return std::cout << "no cloud\n", 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  socket_link link(file);
  engine small(0.7);
  engine_model model{small};
  const sv::edge_options options{.session_id = std::strtoull(arguments[2], nullptr, 10),  // must differ between texts
                                 .secret = sv::secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3"),
                                 .vocab_size = engine::vocab_size,
                                 .token_budget = 60,
                                 .max_text_length = engine::context - 8};
  auto session = sv::make_edge(options, sv::k_sqs({.support_size = 16, .max_draft_length = 4}));
  if (!session) return std::cout << session.error().text().view() << '\n', 1;
  const auto show = [](const sv::session_output& out) {
    for (const sv::token_id token : out.tokens) std::cout << ' ' << token;
  };
  const auto text = sv::generate(*session, std::array<sv::token_id, 2>{1, 2}, model, link, sv::on_committed(show));
  const sv::session_statistics& seen = session->statistics();
  std::cout << "\ndevice: " << text.error().text().view() << ", " << seen.rounds << " rounds, " << seen.bytes_up
            << " bytes up\n";
  return text && std::cout.flush() ? 0 : 1;  // everything printed has arrived
}
