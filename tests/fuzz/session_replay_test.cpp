// SPDX-License-Identifier: Apache-2.0
// Replays the committed scripts of the session's fuzz target, and some made by a fixed generator.
#include <doctest/doctest.h>

#include "fuzz/corpus.hpp"
#include "fuzz/session_body.hpp"

namespace {

//! The results of a committed script.
struct outcome {
  specverify::stop_reason end{};
  bool streams = false;
  specverify::session_statistics at_cloud{};
};
outcome of(const char* seed) {
  outcome made;
  const std::vector<std::byte> content = specverify_fuzz::corpus_of("session")[seed];
  specverify_fuzz::session_run(content, [&made](const auto& script) {
    made = {script.end(), script.streams(), script.at_cloud()};
  });
  return made;
}

}  // namespace

TEST_CASE("T29 NET-7 fuzz replay: scripts of the session") {
  std::size_t scripts = 0;
  for (const auto& [name, content] : specverify_fuzz::corpus_of("session")) {
    specverify_fuzz::session_input(content);
    ++scripts;
  }
  CHECK(scripts > 0);
  specverify_test::dice dice(11);
  for (int i = 0; i < 900; ++i) {
    std::vector<std::byte> script(1 + dice.below(300));
    for (std::byte& b : script) b = static_cast<std::byte>(dice.next());
    specverify_fuzz::session_input(script);
  }
}

TEST_CASE("fuzz replay: seeds lead to each end of a text, and to each variant") {
  using enum specverify::stop_reason;
  CHECK(of("host_stops_a_round").end == cancelled);
  CHECK(of("host_stops_a_stream").end == cancelled);
  CHECK(of("host_stops_a_stream").streams);
  CHECK(of("stopped_edge_restarts").end == cancelled);
  CHECK(of("cloud_ends_a_stream").end == stop_token);
  CHECK(of("cloud_ends_a_stream").streams);
  CHECK(of("both_list_stops").end == stop_token);
  CHECK(of("without_timers").end == budget);
  CHECK(of("drafts_from_row").at_cloud.accepted > 0);
  CHECK(of("needs_verified_text").at_cloud.accepted > 0);
}
