// SPDX-License-Identifier: Apache-2.0
// A text that ends at a string: the observer refuses the token that completes it, and the cloud is told.
#include <random>
#include <specverify/all.hpp>
#include <specverify/testing/message_pipe.hpp>
#include <thread>
using namespace specverify;
struct counting_model {  // writes 0 1 2 ... 9 0 1 ...
  std::vector<token_id> fed;
  std::array<float, 10> logits{};
  status feed(std::uint32_t, std::span<const token_id> now, std::uint32_t rows) {
    return fed.assign(now.end() - rows, now.end()), status{};
  }
  row_view<float> row(std::uint32_t i) {
    logits.fill(-1e9f), logits[static_cast<std::size_t>(fed[i] + 1) % 10] = 0;
    return logits_row<float>(logits);
  }
  void truncate(std::uint32_t) {}
} drafter, target;
int main() {
  std::random_device any;
  auto edge = make_edge({.secret = secret_from(any), .vocab_size = 10, .token_budget = 500}, top_k{3});
  auto cloud = make_cloud({.secret = secret_from(any), .salt = salt_from(any), .vocab_size = 10});
  message_pipe pipe;
  const std::jthread server([&, down = pipe.cloud()]() mutable { (void)serve(*cloud, target, down); });
  auto up = pipe.edge();  // declared last, so it closes before `server` is joined
  auto ends = stop_strings::make(std::array<std::string_view, 1>{"78"});
  const auto observer = on_committed([&](const session_output& out) -> status {
    for (const token_id token : out.tokens) (void)ends->take(std::to_string(token));
    return ends->found() ? status{errc::session_closed, part::host, 0} : status{};
  });
  (void)generate(*edge, std::array<token_id, 1>{0}, drafter, up, observer);
  return ends->found() && ends->tokens() == 6 && edge->state() == edge_state::finished ? 0 : 2;  // 1 2 3 4 5 6
}
