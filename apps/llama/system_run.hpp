// SPDX-License-Identifier: Apache-2.0
//! Runs one text with one system: the device and the cloud, each on its own thread, over the emulated link.
#ifndef LLAMA_PAIR_SYSTEM_RUN_HPP
#define LLAMA_PAIR_SYSTEM_RUN_HPP

#include <specverify/codec/prior_table.hpp>

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

//! Faults to inject, in order to test the reports.
enum class session_fault { none, cloud_gone, other_version, other_vocabulary };

struct run_settings {
  std::uint32_t tokens = 64;
  std::vector<std::string> stop_strings;  //!< the text ends before the first of these strings
  double temperature = 1;
  std::uint64_t session_id = 1;
  std::uint64_t salt = 1;
  edge_cloud::link_settings link{};
  const specverify::prior_table* prior = nullptr;  //!< codes the ids of systems that send only ids; may be null
  session_fault fault = session_fault::none;
};

//! Returns the maximum number of tokens of a text with the prompt. The context has further positions for drafts.
[[nodiscard]] std::uint32_t text_room(const engine& side);

using observer = std::function<void(edge_cloud::token_kind, std::string_view piece)>;

//! Generates one text with `system`, a text for chosen_system (edge_cloud/systems.hpp). Throws failure.
[[nodiscard]] edge_cloud::run_report write_text(const run_settings& run, std::string_view system, engine& small,
                                                engine& large, std::span<const specverify::token_id> prompt,
                                                const observer& show);

//! Comparison of a text with the target's own most probable tokens, by one pass per token.
struct greedy_comparison {
  std::size_t same = 0;
  std::vector<std::size_t>
      near_ties;                    //!< positions where it differs, and the target's own gap is below 1e-3 of its range
  std::vector<std::size_t> others;  //!< positions with another token but no near tie
};
[[nodiscard]] greedy_comparison compare_greedily(engine& large, std::span<const specverify::token_id> prompt,
                                                 std::span<const specverify::token_id> text);

}  // namespace llama_pair

#endif
