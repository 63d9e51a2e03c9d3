// SPDX-License-Identifier: Apache-2.0
//! The ways of writing text that the demo compares, with the settings of their papers.
#ifndef EDGE_CLOUD_SYSTEMS_HPP
#define EDGE_CLOUD_SYSTEMS_HPP

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace edge_cloud {

//! How the law of a drafted token is made and travels.
enum class upload {
  none,          //!< no drafts: the target alone
  half_row,      //!< V values in half precision
  dense,         //!< a lattice point over the whole vocabulary
  sparse_paper,  //!< the top K ids and a lattice point on them, zero counts included
  sparse         //!< only the ids that got a count
};

//! Which tokens a law may hold.
enum class support_rule {
  top_k,     //!< the K most probable ones
  conformal  //!< those above a threshold that follows the dropped mass
};

struct system_plan {
  std::string_view key;
  std::string_view label;
  upload law = upload::none;
  std::uint32_t draft_length = 0;  //!< L, tokens drafted a round
  std::uint32_t support_size = 0;  //!< K
  std::uint32_t resolution = 0;    //!< l, the lattice's
  support_rule support = support_rule::top_k;
};

//! HLM drafts one token a round, as its paper does: a second one would cost another 187 ms of uplink.
inline constexpr std::array<system_plan, 6> all_systems{{
    {"target", "target alone, streamed", upload::none, 0, 0, 0},
    {"hlm", "HLM, full fp16 law", upload::half_row, 1, 0, 0},
    {"qs", "QS, dense lattice l=240", upload::dense, 4, 0, 240},
    {"ksqs-paper", "K-SQS K=16 l=100, paper code", upload::sparse_paper, 4, 16, 100},
    {"ksqs", "K-SQS K=16 l=100, our code", upload::sparse, 4, 16, 100},
    {"csqs", "C-SQS l=100, our code", upload::sparse, 4, 0, 100, support_rule::conformal},
}};

//! What the demo runs when nothing else is asked for.
inline constexpr std::array<std::string_view, 5> demo_systems{"target", "hlm", "qs", "ksqs-paper", "ksqs"};

//! Every key, for help texts.
[[nodiscard]] inline std::string system_keys() {
  std::string keys;
  for (const system_plan& plan : all_systems) keys += (keys.empty() ? "" : ", ") + std::string(plan.key);
  return keys;
}

[[nodiscard]] inline const system_plan& system_named(std::string_view key) {
  for (const system_plan& plan : all_systems) {
    if (plan.key == key) return plan;
  }
  throw std::invalid_argument("unknown system: " + std::string(key) + "; there are " + system_keys());
}

}  // namespace edge_cloud

#endif
