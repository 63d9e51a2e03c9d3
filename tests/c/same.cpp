// SPDX-License-Identifier: Apache-2.0
// The sessions of the C library and those of the headers, in one program: the same messages, journals, tokens and
// numbers. usage: same            compares them
//                 same cloud      serves a device of another process, at the other end of standard input and output
//                 same device     writes a text with a cloud there
#include <specverify/all.hpp>
#include <string>
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

session_secret secret_of(const std::uint8_t (&bytes)[16]) {
  std::array<std::byte, 16> key{};
  std::memcpy(key.data(), bytes, 16);
  return session_secret(key);
}
template <class Preset>
auto edge_of(const Preset& system, vocabulary_fingerprint tokens = {}) {
  const session_secret secret = secret_of(device_options().secret);
  return make_edge({.secret = secret, .vocab_size = V, .token_budget = 40, .fingerprint = tokens}, system);
}
template <class Preset>
auto cloud_of(const Preset& system, vocabulary_fingerprint tokens = {}) {
  const specverify_cloud_options usual = service_options();
  return make_cloud({.secret = secret_of(usual.secret), .salt = usual.salt, .vocab_size = V, .fingerprint = tokens},
                    system);
}

template <class Preset>
transcript in_headers(const Preset& system) {
  auto edge = edge_of(system);
  auto cloud = cloud_of(system);
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
  static int32_t hear(void* self, const specverify_output* out) {
    auto& me = *static_cast<ear*>(self);
    const auto* const first = static_cast<const std::byte*>(out->bytes);
    note(me.seen, static_cast<session_action>(out->action), {first, out->bytes_size}, {out->tokens, out->token_count});
    if (out->action == SPECVERIFY_SEND) me.way.emplace_back(first, first + out->bytes_size);
    return 0;
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

// Messages on standard output and input: the length in four bytes, little-endian, then the bytes.
struct standard_link {
  static constexpr bool ordered_and_whole = true;
  std::vector<std::byte> last{};
  status send(std::span<const std::byte> message) {
    std::array<std::byte, 4> head{};
    numeric::store_le(head.data(), message.size(), 4);
    const bool went = std::fwrite(head.data(), 1, 4, stdout) == 4 &&
                      std::fwrite(message.data(), 1, message.size(), stdout) == message.size() &&
                      std::fflush(stdout) == 0;
    return went ? status{} : status{errc::link_lost, part::host, 0};
  }
  result<std::span<const std::byte>> receive(std::optional<session_time>) {
    std::array<std::byte, 4> head{};
    if (std::fread(head.data(), 1, 4, stdin) != 4) return status{errc::link_lost, part::host, 0};
    last.resize(numeric::load_le(head.data(), 4));
    if (std::fread(last.data(), 1, last.size(), stdin) != last.size()) return status{errc::link_lost, part::host, 0};
    return std::span<const std::byte>(last);
  }
  session_time now() { return 0; }
};

int talk(bool is_cloud) {
  fingerprint_builder builder;
  for (token_id v = 0; v < V; ++v)
    (void)builder.add(v, "t" + std::to_string(v),
                      v == 0   ? token_class::special
                      : v < 10 ? token_class::byte
                               : token_class::text);
  standard_link link;
  model small{2}, large{0};
  if (is_cloud) {
    auto cloud = cloud_of(k_sqs(), builder.finish());
    return cloud && serve(*cloud, large, link).ok() ? 0 : 1;
  }
  auto edge = edge_of(k_sqs(), builder.finish());
  return edge && generate(*edge, std::array<token_id, 1>{1}, small, link).ok() ? 0 : 1;
}

template <class Preset>
void compare(const char* name, const Preset& system) {
  const transcript ours = in_headers(system), theirs = in_library(name);
  CHECK(ours.size() > 40 && ours == theirs);
  std::printf("%s: %zu outputs\n", name, ours.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return talk(std::string_view(argv[1]) == "cloud");
  compare("k-sqs", k_sqs());
  compare("qs", qs());
  compare("hlm", hlm());
  compare("greedy", greedy());
  compare("c-sqs", c_sqs({.max_support_size = 64}));
  // One vocabulary, one fingerprint.
  fingerprint_builder ours;
  specverify_fingerprint theirs{};
  const std::array<std::string_view, 4> pieces{"<s>", std::string_view("\0\xff", 2), "", " the"};
  constexpr std::array kinds{token_class::special, token_class::byte, token_class::text, token_class::text};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto id = static_cast<token_id>(7 * i);
    (void)ours.add(id, pieces[i], kinds[i]);
    IS(specverify_fingerprint_add(&theirs, id, pieces[i].data(), pieces[i].size(),
                                  static_cast<std::uint32_t>(kinds[i])),
       ok);
    vocabulary_fingerprint read;
    IS(specverify_fingerprint_finish(&theirs, &read.high, &read.low), ok);
    CHECK(read == ours.finish());
  }
#define SPECVERIFY_ERRC(name, number, message) \
  CHECK(static_cast<int>(errc::name) == static_cast<int>(specverify_errc_##name));
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC
  std::printf("%d checks failed\n", failed_checks);
  return failed_checks != 0;
}
