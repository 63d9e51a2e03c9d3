// SPDX-License-Identifier: Apache-2.0
// The README's device and cloud write a text together.
#include <doctest/doctest.h>

#include <specverify/testing/message_pipe.hpp>

#include "readme.hpp"

#include <thread>

namespace {

//! The largest logit stands behind the last token's successor.
struct counting_model {
  std::uint32_t vocab_size;
  std::vector<float> rows{};

  sv::status feed(std::uint32_t, std::span<const sv::token_id> tokens, std::uint32_t wanted) {
    rows.assign(std::size_t{wanted} * vocab_size, 0.0f);
    std::size_t base = 0;
    for (const sv::token_id last : tokens.last(wanted)) {
      rows[base + (static_cast<std::uint32_t>(last) + 1) % vocab_size] = 40.0f;
      base += vocab_size;
    }
    return {};
  }
  sv::row_view<float> row(std::uint32_t i) const {
    return sv::logits_row(rows.data() + std::size_t{i} * vocab_size, vocab_size);
  }
  void truncate(std::uint32_t) {}
};

}  // namespace

TEST_CASE("readme: the device and the cloud of the first screen write the target's text") {
  constexpr std::uint32_t V = 40;
  sv::message_pipe pipe;
  sv::status served, written;
  std::vector<sv::token_id> text;
  std::thread server([&] {
    auto link = pipe.cloud();
    counting_model large{V};
    served = cloud(large, link, V);
  });
  {
    auto link = pipe.edge();
    counting_model small{V};
    const sv::token_id prompt[] = {3};
    written = device(small, link, prompt, V, [&](const sv::session_output& out) {
      text.insert(text.end(), out.tokens.begin(), out.tokens.end());
    });
  }
  server.join();
  CHECK(served.ok());
  CHECK(written.ok());
  std::vector<sv::token_id> counted(200);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<sv::token_id>((4 + i) % V);
  CHECK(text == counted);
}
