// SPDX-License-Identifier: Apache-2.0
// Replays the committed traces of the fuzz target, and copies of them with changed characters.
// SPECVERIFY_WRITE_CORPUS=1 writes the seeds anew.
#include <doctest/doctest.h>

#include "fuzz/channel_trace_body.hpp"
#include "fuzz/corpus.hpp"

#include <string>

namespace {

using namespace specverify;

constexpr philox source{{{29, 4}}};

std::string text_of(std::span<const channel_state> states) {
  std::string text(max_channel_trace_bytes(states.size()), '\0');
  const auto size = write_channel_trace(states, text);
  REQUIRE(size.ok());
  text.resize(size->size());
  return text;
}

void write_seeds() {
  std::vector<channel_state> states(6);
  const auto seed = [](const char* name, std::string_view text) {
    specverify_fuzz::keep_input("channel_trace", name, text);
  };
  const auto with_steps = [](std::string_view steps) {
    std::string text(channel_trace_columns);
    text.append(steps);  // g++ 12 misreads + with a literal
    return text;
  };
  record(markov_channel::make(qs_paper_link()).value(), source, std::span<channel_state>(states));
  seed("markov", text_of(states));
  fading_options fading;
  fading.uplink_loss = 0.01;
  fading.round_trip = 0.0275;
  record(rayleigh_channel::make(fading).value(), source, std::span<channel_state>(states).first(3));
  seed("rayleigh", text_of(std::span<channel_state>(states).first(3)));
  seed("by_hand", with_steps("\r\n1e6,2.50e+5,0.000,9e-1,1,0\r\n1000,1000,0,0,0,4294967295"));
  seed("header_alone", with_steps({}));
  seed("not_a_number", with_steps("\n1e6,nan,0,0,0,0\n"));
  seed("subnormal", with_steps("\n1e6,1e6,1e-310,0,0,0\n"));
}

}  // namespace

TEST_CASE("T29 fuzz replay: channel traces") {
  if (specverify_fuzz::writes_corpus()) write_seeds();
  constexpr char marks[] = "0123456789.,-+eE \r\n\tnaif";
  std::size_t files = 0, traces = 0, changed_traces = 0, refused = 0;
  std::uint32_t drawn = 0;
  const auto draw = [&](std::size_t below) {
    return source({drawn++, 0, 0, purpose::channel}).word[0] % static_cast<std::uint32_t>(below);
  };
  for (const auto& [name, bytes] : specverify_fuzz::corpus_of("channel_trace")) {
    const std::string content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    traces += specverify_fuzz::channel_trace_input(content) ? 1u : 0u;
    ++files;
    for (int i = 0; i < 500; ++i) {
      std::string changed = content;
      const std::size_t body = channel_trace_columns.size();  // half of the changes leave the first line alone
      for (std::uint32_t n = draw(3); n < 3; ++n) {
        const std::size_t first = i % 2 == 0 && changed.size() > body ? body : 0;
        changed[first + draw(changed.size() - first)] = marks[draw(sizeof marks - 1)];
      }
      if (draw(4) == 0) changed.resize(1 + draw(changed.size()));
      (specverify_fuzz::channel_trace_input(changed) ? changed_traces : refused) += 1;
    }
  }
  CHECK(traces >= 3);
  CHECK(changed_traces > 50);
  CHECK(refused > 100 * files);
}
