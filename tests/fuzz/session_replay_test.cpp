// SPDX-License-Identifier: Apache-2.0
// Replays the committed scripts of the session's fuzz target, and some made by a fixed generator; then the committed
// journals of the fuzz targets of restore, and copies of them that are cut or have changed bytes. Each must be the
// journal that the name describes (fuzz/restore_seeds.hpp), because a journal that is refused leads nowhere. After a
// change of the layout, SPECVERIFY_WRITE_CORPUS=1 writes the seeds anew.
#include <doctest/doctest.h>

#include "fuzz/corpus.hpp"
#include "fuzz/restore_seeds.hpp"
#include "fuzz/session_body.hpp"

#include <string>

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

using namespace specverify_fuzz;

namespace {

std::string target_of(side restored) { return restored == side::edge ? "restore_edge" : "restore_cloud"; }

// Checks that the journal of an input fits the input's name, as it stands and after it is mended.
void check_journal(side restored, const restore_seed& seed, const std::vector<std::byte>& input) {
  REQUIRE(input.size() > restore_head);
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(input[i]); };
  REQUIRE(at(0) == seed.choice);
  const auto all = std::span(input).subspan(restore_head);
  REQUIRE(all.size() >= (at(2) | at(3) << 8));
  std::vector<std::byte> journal(all.begin(), all.begin() + (at(2) | at(3) << 8));
  const bool journal_is_as_named = holds(seed.kind, facts_of(restored, seed.choice, journal));
  CHECK(journal_is_as_named);
  mend(restored, journal, at(1));
  const bool mended_journal_is_as_named = holds(seed.kind, facts_of(restored, seed.choice, journal));
  CHECK(mended_journal_is_as_named);
}

void replay_changed(side restored, std::vector<std::byte> content, specverify_test::dice& dice) {
  restore_input(restored, content);
  if (content.size() < restore_head) return;
  content[1] = std::byte{0};  // mends nothing, because the journal's own checks count
  for (int i = 0; i < 60; ++i) {
    std::vector<std::byte> changed = content;
    for (std::uint64_t n = dice.below(3); n > 0; --n)
      changed[restore_head + dice.below(static_cast<std::uint32_t>(changed.size() - restore_head))] =
          static_cast<std::byte>(dice.next());
    if (dice.below(3) == 0) changed[2] = static_cast<std::byte>(dice.next());
    restore_input(restored, changed);
  }
}

void replay(side restored) {
  specverify_test::dice dice(13);
  for (const restore_seed& seed : make_seeds(restored)) {
    const std::string name = name_of(seed.kind) + std::to_string(seed.choice);
    INFO("SPECVERIFY_WRITE_CORPUS=1 writes it anew: ", name);
    const bool seed_was_made = !seed.bytes.empty();
    CHECK(seed_was_made);
    if (!seed_was_made) continue;
    check_journal(restored, seed, seed.bytes);
    replay_changed(restored, seed.bytes, dice);
    if (writes_corpus()) keep_input(target_of(restored), name, seed.bytes);
    check_journal(restored, seed, corpus_of(target_of(restored))[name]);
  }
  const corpus inputs = corpus_of(target_of(restored));
  for (const auto& [name, content] : inputs) replay_changed(restored, content, dice);
  CHECK(inputs.size() >= script_formats);
}

}  // namespace

TEST_CASE("T29 fuzz replay: journals of an edge") { replay(side::edge); }

TEST_CASE("T29 fuzz replay: journals of a cloud") { replay(side::cloud); }
