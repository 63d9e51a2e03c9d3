// SPDX-License-Identifier: Apache-2.0
// Built by scripts/traced_round with -finstrument-functions: prints the address of each function that one round of
// K-SQS without faults enters, on both sides, after two rounds of warm-up.
#include <specverify/all.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define SPECVERIFY_NOT_TRACED __attribute__((no_instrument_function))

namespace {

constexpr std::size_t slots = 1u << 14;
std::uintptr_t entered[slots];  // by hash; 0: free. Not std::array, because its functions would be traced
bool traces = false;

}  // namespace

extern "C" SPECVERIFY_NOT_TRACED void __cyg_profile_func_enter(void* function, void*) {
  if (!traces) return;
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  std::size_t slot = (address * 0x9E3779B97F4A7C15u) >> 50;
  while (entered[slot] != 0 && entered[slot] != address) slot = (slot + 1) % slots;
  entered[slot] = address;
}
extern "C" SPECVERIFY_NOT_TRACED void __cyg_profile_func_exit(void*, void*) {}

namespace {

using namespace specverify;

constexpr std::uint32_t V = 64;

//! The last token determines one large logit, so every draft is accepted.
struct model {
  std::vector<float> rows{};
  status feed(std::uint32_t, std::span<const token_id> tokens, std::uint32_t wanted) {
    rows.assign(std::size_t{wanted} * V, 0.0F);
    const std::span<const token_id> last = tokens.last(wanted);
    for (std::uint32_t i = 0; i < wanted; ++i) rows[i * V + static_cast<std::uint32_t>(last[i] + 7) % V] = 30.0F;
    return {};
  }
  row_view<float> row(std::uint32_t i) { return logits_row(std::span<const float>(rows).subspan(i * V, V)); }
  void truncate(std::uint32_t) {}
};

void must(const status& given) {
  if (given.ok()) return;
  std::printf("%s\n", given.text().c_str());
  std::exit(1);
}

}  // namespace

int main() {
  edge_options device;
  device.session_id = 1;
  device.secret = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
  device.vocab_size = V;
  device.token_budget = 200;
  cloud_options server;
  server.secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");
  server.salt = 7;
  server.vocab_size = V;
  auto edge = make_edge(device, top_k{16});
  auto cloud = make_cloud(server);
  must(edge.error());
  must(cloud.error());
  message_pipe pipe;
  auto up = pipe.edge(), down = pipe.cloud();
  model small, large;
  const auto sends = [](auto& link) {
    return [&link](const session_output& out) {
      return out.action == session_action::send ? link.send(out.bytes) : status{};
    };
  };
  must(edge->start(std::array<token_id, 1>{1}, 0));
  // One turn: the edge drafts and sends, the cloud responds, and the edge reads the response.
  for (int turn = 0;; ++turn) {
    const std::uint32_t before = edge->length();
    traces = turn == 4;  // after the handshake, the prompt and two rounds
    must(drive(*edge, small, sends(up)));
    const auto question = down.receive(0);
    must(question.error());
    must(deliver(*cloud, *question, 0));
    must(drive(*cloud, large, sends(down)));
    const auto answer = up.receive(0);
    must(answer.error());
    must(deliver(*edge, *answer, 0));
    if (!traces) continue;
    must(take_outputs(*edge, [](const session_output&) { return status{}; }).reason);
    traces = false;
    if (edge->length() != before + 4 + 1) return std::printf("not a clean round\n"), 1;
    break;
  }
  for (const std::uintptr_t address : entered) {
    if (address != 0) std::printf("0x%llx\n", static_cast<unsigned long long>(address));
  }
}
