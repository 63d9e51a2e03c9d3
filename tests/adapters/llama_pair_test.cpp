// SPDX-License-Identifier: Apache-2.0
// apps/llama on the toy engine: a text of two files ends before its stop string.
#if defined(__cpp_exceptions)  // which the program throws
#include "llama/system_run.cpp"

#include <doctest/doctest.h>

using namespace llama_pair;

TEST_CASE("llama pair: a text ends before its stop string, as it is shown and as it is reported") {
  llama_model drafter{{}, 1}, target{{}, 0};
  for (llama_model* model : {&drafter, &target}) {
    for (int v = 0; v < 300; ++v) model->vocab.pieces.push_back(" w" + std::to_string(v));
  }
  toy_file = &drafter;
  engine small("drafter", 256, 1);
  toy_file = &target;
  engine large("target", 256, 1);
  toy_file = nullptr;
  const std::array<specverify::token_id, 3> prompt{7, 3, 9};
  run_settings run;
  run.tokens = 40;
  run.link.uplink_bits_per_second = run.link.downlink_bits_per_second = 1e9;
  run.link.round_trip_ms = 0;
  for (const std::string_view system : {"target", "hlm", "ksqs", "greedy"}) {
    CAPTURE(system);
    std::string shown;
    const observer show = [&](edge_cloud::token_kind, std::string_view piece) { shown += piece; };
    run.stop_strings = {"no text has this"};
    const edge_cloud::run_report whole = write_text(run, system, small, large, prompt, show);
    REQUIRE(whole.tokens.size() == run.tokens);
    CHECK(shown == whole.text);
    // from the last byte of a token into the next one
    std::size_t border = 0;
    for (std::size_t i = 0; i < 20; ++i) border += small.piece(whole.tokens[i]).size();
    run.stop_strings.push_back(whole.text.substr(border - 1, 4));
    const std::size_t at = whole.text.find(run.stop_strings.back());
    shown.clear();
    const edge_cloud::run_report cut = write_text(run, system, small, large, prompt, show);
    CHECK(shown == whole.text.substr(0, at));
    CHECK(cut.text == shown);
    CHECK(cut.tokens.size() < 20);
    CHECK(cut.rounds < whole.rounds);  // the session has ended, too
    CHECK(cut.arrival.size() == cut.tokens.size());
    const bool same_tokens = std::equal(cut.tokens.begin(), cut.tokens.end(), whole.tokens.begin());
    CHECK(same_tokens);
    std::size_t bytes = 0;
    for (const specverify::token_id token : cut.tokens) bytes += small.piece(token).size();
    CHECK(bytes <= at);
    CHECK(at - bytes < 5);  // less than a token
  }
}
#endif
