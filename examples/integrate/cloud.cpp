// SPDX-License-Identifier: Apache-2.0
// Runs the side of the large model, and serves one session per connection, one after another. usage: cloud SOCKET TIMES
#include <cstdlib>
#include <iostream>
#include <random>

#include "engine_model.hpp"
#include "socket_link.hpp"

int main(int count, char** arguments) {
  if (count != 3) return 2;
  ::unlink(arguments[1]);
  const int listening = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
  const sockaddr_un address = socket_link::address(arguments[1]);
  if (::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 1;
  if (::listen(listening, 8) != 0) return 1;
  engine large(0.0);
  for (int left = std::atoi(arguments[2]); left > 0; --left) {
    int file = -1;
    do file = ::accept(listening, nullptr, nullptr);
    while (file < 0 && errno == EINTR);  // a signal
    if (file < 0) return 1;
    socket_link link(file);
    engine_model model{large};
    auto session = sv::make_cloud({.secret = sv::secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9"),
                                   .salt = sv::salt_from(std::random_device{}),
                                   .vocab_size = engine::vocab_size,
                                   .max_text_length = engine::context - 8});  // room for the drafts of a round
    const sv::status why = session ? sv::serve(*session, model, link) : session.error();
    std::cout << "cloud: " << why.text().view() << ", " << (session ? session->length() : 0) << " tokens\n";
    ::close(file);
  }
  return std::cout.flush() ? 0 : 1;
}
