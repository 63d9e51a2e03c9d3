// SPDX-License-Identifier: Apache-2.0
//! One text by one system: the device and the cloud, each on a thread, over the emulated link.
#ifndef LLAMA_PAIR_SYSTEM_RUN_HPP
#define LLAMA_PAIR_SYSTEM_RUN_HPP

#include "edge_cloud/link_settings.hpp"
#include "edge_cloud/live_text.hpp"
#include "edge_cloud/run_report.hpp"
#include "engine.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace llama_pair {

//! What breaks on the way, to see what is said.
enum class session_fault { none, cloud_gone, other_version, other_vocabulary };

struct run_settings {
  std::uint32_t tokens = 64;
  std::vector<std::string> stop_strings;  //!< the text ends before the first of them
  double temperature = 1;
  std::uint64_t session_id = 1;
  std::uint64_t salt = 1;
  edge_cloud::link_settings link{};
  session_fault fault = session_fault::none;
};

//! Tokens that a text may have, prompt included: drafts take positions beyond it.
[[nodiscard]] std::uint32_t text_room(const engine& side);

using observer = std::function<void(edge_cloud::token_kind, std::string_view piece)>;

//! `system`: as chosen_system takes it (edge_cloud/systems.hpp). Throws failure.
[[nodiscard]] edge_cloud::run_report write_text(const run_settings& run, std::string_view system, engine& small,
                                                engine& large, std::span<const specverify::token_id> prompt,
                                                const observer& show);

//! How a text compares with the target's own most probable tokens, one pass a token.
struct greedy_comparison {
  std::size_t same = 0;
  std::vector<std::size_t>
      near_ties;                    //!< positions where it differs, and the target's own gap is below 1e-3 of its range
  std::vector<std::size_t> others;  //!< positions where it differs for no such reason
};
[[nodiscard]] greedy_comparison compare_greedily(engine& large, std::span<const specverify::token_id> prompt,
                                                 std::span<const specverify::token_id> text);

}  // namespace llama_pair

#endif
