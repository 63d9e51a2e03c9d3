// SPDX-License-Identifier: Apache-2.0
// Options of both sides. make_edge names what it refuses, and the cloud what it does not take of a hello.
#include <random>
#include <specverify/all.hpp>
using namespace specverify;
int main() {
  edge_options phone{.session_id = 7, .vocab_size = 1000, .token_budget = 200};
  phone.transform = {.temperature = 0.8, .truncation = {.top_p = 0.95}};
  phone.retry_timeout = 300'000;  // the link loses messages: ask again after 0.3 s
  const fixed_window window{.max_draft_length = 12, .resolution = 200};
  const auto refused = make_edge(phone, top_k{64}, window);
  if (refused || refused.error().code != errc::secret_missing) return 1;
  if (refused.error().where != edge_options::at_secret) return 2;
  phone.secret = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
  auto edge = make_edge(phone, top_k{64}, window);
  cloud_options server{.secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9"), .vocab_size = 1000};
  if (make_cloud(server).error().code != errc::salt_missing) return 3;
  server.salt = salt_from(std::random_device{});  // a new one for each session
  server.transform = phone.transform;             // room for the truncation
  auto narrow = make_cloud(server);
  server.limits = cloud_session::limits_for(format_of(phone, top_k{64}, window));  // 12 drafts; else 8
  auto cloud = make_cloud(server);
  if (!edge || !narrow || !cloud) return 4;

  std::vector<std::byte> hello;
  if (!edge->start(std::array<token_id, 1>{17}, 0).ok()) return 5;
  (void)take_outputs(*edge, [&](const session_output& out) {
    if (out.action == session_action::send) hello.assign(out.bytes.begin(), out.bytes.end());
  });
  if (!deliver(*narrow, hello, 0).ok() || !deliver(*cloud, hello, 0).ok()) return 6;
  const status why = narrow->refusal();
  if (why.code != errc::beyond_limit || why.where != cloud_options::at_max_draft_length) return 7;
  return cloud->refusal().ok() ? 0 : 8;
}
