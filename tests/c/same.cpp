// SPDX-License-Identifier: Apache-2.0
// The sessions of the C library and those of the headers, in one program: the same messages, journals, tokens and
// numbers.
#include <specverify/all.hpp>
#include <vector>
#include "check.h"

namespace {

using namespace specverify;
using transcript = std::vector<std::vector<std::byte>>;  // everything that left a side, in order

struct model {
  engine rows{};
  explicit model(float noise) { rows.noise = noise; }
  status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t wanted) {
    (void)::feed(&rows, position, tokens.data(), tokens.size(), wanted);
    return {};
  }
  row_view<float> row(std::uint32_t i) { return logits_row(std::span<const float>(rows.values[i])); }
  void truncate(std::uint32_t) {}
};

void note(transcript& seen, session_action action, std::span<const std::byte> bytes, std::span<const token_id> tokens) {
  std::vector<std::byte> entry{static_cast<std::byte>(action)};
  entry.insert(entry.end(), bytes.begin(), bytes.end());
  const auto ids = std::as_bytes(tokens);
  entry.insert(entry.end(), ids.begin(), ids.end());
  seen.push_back(entry);
}

template <class Preset>
transcript in_headers(const Preset& system) {
  const specverify_edge_options usual = device_options();
  std::array<std::byte, 16> key{};
  std::memcpy(key.data(), usual.secret, 16);
  auto edge = make({.secret = session_secret(key), .vocab_size = V, .token_budget = 40}, system);
  const specverify_cloud_options service = service_options();
  std::memcpy(key.data(), service.secret, 16);
  auto cloud = cloud_session::make({.secret = session_secret(key),
                                    .salt = service.salt,
                                    .vocab_size = V,
                                    .limits = cloud_session::limits_for(system.format_for(V))});
  transcript seen, up, down;
  if (!edge || !cloud || !edge->start(std::array<token_id, 1>{1}, 0).ok()) return seen;
  model small{2}, large{0};
  const auto hear = [&](transcript& way) {
    return [&](const session_output& out) {
      note(seen, out.action, out.bytes, out.tokens);
      if (out.action == session_action::send) way.emplace_back(out.bytes.begin(), out.bytes.end());
    };
  };
  status why = drive(*edge, small, hear(up));
  while (why.ok() && !up.empty()) {
    for (const auto& message : std::exchange(up, {})) {
      (void)deliver(*cloud, message, 0);
      why = drive(*cloud, large, hear(down));
    }
    for (const auto& message : std::exchange(down, {})) {
      (void)deliver(*edge, message, 0);
      why = drive(*edge, small, hear(up));
    }
  }
  return seen;
}

struct ear {
  transcript& seen;
  transcript& way;
  static specverify_status hear(void* self, const specverify_output* out) {
    auto& me = *static_cast<ear*>(self);
    const auto* const first = static_cast<const std::byte*>(out->bytes);
    note(me.seen, static_cast<session_action>(out->action), {first, out->bytes_size}, {out->tokens, out->token_count});
    if (out->action == SPECVERIFY_SEND) me.way.emplace_back(first, first + out->bytes_size);
    return specverify_ok();
  }
};

transcript in_library(const char* name) {
  const specverify_system system = system_of(name);
  const specverify_edge_options device = device_options();
  const specverify_cloud_options service = service_options();
  specverify_edge* edge = nullptr;
  specverify_cloud* cloud = nullptr;
  IS(specverify_edge_create(&device, &system, nullptr, &edge), ok);
  IS(specverify_cloud_create(&service, &system, nullptr, &cloud), ok);
  engine small{}, large{};
  small.noise = 2;
  const specverify_model drafter = model_of(&small), target = model_of(&large);
  transcript seen, up, down;
  ear device_ear{seen, up}, cloud_ear{seen, down};
  const auto to_cloud = specverify_observer_of(&device_ear, ear::hear);
  const auto to_edge = specverify_observer_of(&cloud_ear, ear::hear);
  const int32_t prompt = 1;
  IS(specverify_edge_start(edge, &prompt, 1, 0), ok);
  IS(specverify_edge_drive(edge, &drafter, &to_cloud, 0), ok);
  while (!up.empty()) {
    for (const auto& message : std::exchange(up, {})) {
      (void)specverify_cloud_receive(cloud, message.data(), message.size(), 0);
      IS(specverify_cloud_drive(cloud, &target, &to_edge, 0), ok);
    }
    for (const auto& message : std::exchange(down, {})) {
      (void)specverify_edge_receive(edge, message.data(), message.size(), 0);
      IS(specverify_edge_drive(edge, &drafter, &to_cloud, 0), ok);
    }
  }
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
  return seen;
}

template <class Preset>
void compare(const char* name, const Preset& system) {
  const transcript ours = in_headers(system), theirs = in_library(name);
  CHECK(ours.size() > 40 && ours == theirs);
  std::printf("%s: %zu outputs\n", name, ours.size());
}

}  // namespace

int main() {
  compare("k-sqs", k_sqs());
  compare("qs", qs());
  compare("hlm", hlm());
  compare("greedy", greedy());
  compare("c-sqs", c_sqs({.max_support_size = 64}));
#define SPECVERIFY_ERRC(name, number, message) \
  CHECK(static_cast<int>(errc::name) == static_cast<int>(specverify_errc_##name));
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC
  std::printf("%d checks failed\n", failed_checks);
  return failed_checks != 0;
}
