// SPDX-License-Identifier: Apache-2.0
// A sparsifier of one's own in a whole session: device and cloud over a pipe within the program, and both texts.
#include <random>
#include <specverify/testing/message_pipe.hpp>
#include <thread>
#include "even_ranks.hpp"
#include "toy_model.hpp"

int main() {
  std::random_device random;
  auto edge = sv::make_edge({.secret = sv::secret_from(random), .vocab_size = 50, .token_budget = 80}, even_ranks{8});
  auto cloud = sv::make_cloud({.secret = sv::secret_from(random), .salt = sv::salt_from(random), .vocab_size = 50});
  if (!edge || !cloud) return 1;
  std::vector<sv::token_id> heard;  // by the cloud: prompt and text
  auto keep = sv::on_committed([&](const sv::session_output& out) {
    heard.insert(heard.begin() + out.position, out.tokens.begin(), out.tokens.end());
  });
  sv::message_pipe pipe;
  toy_model small{0.7f}, large{1.0f};
  std::thread serving([&, server = pipe.cloud()]() mutable { (void)sv::serve(*cloud, large, server, keep); });
  const auto text = [&, device = pipe.edge()]() mutable {
    return sv::generate(*edge, std::array<sv::token_id, 1>{1}, small, device);
  }();
  serving.join();
  if (!text || text->size() != 80 || edge->statistics().accepted == 0) return 2;
  return std::equal(text->begin(), text->end(), heard.begin() + 1, heard.end()) ? 0 : 3;
}
