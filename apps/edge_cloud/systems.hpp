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
  ids,           //!< the most probable tokens, no laws
  fp16_row,      //!< V values in half precision
  dense,         //!< a lattice point over the whole vocabulary
  sparse_paper,  //!< the top K ids and a lattice point on them, zero counts included
  sparse,        //!< only the ids that got a count
  top_k_tail     //!< K ids and a lattice point on them and on the rest together
};

//! Which tokens a law may hold.
enum class support_rule {
  top_k,                    //!< the K most probable ones
  conformal,                //!< those above a threshold that follows the dropped mass
  vocabulary_budget,        //!< as many as it takes for the rest to be nearly even
  online_vocabulary_budget  //!< the more, the likelier the drawn token seems to be rejected
};

//! Which drafted tokens the edge commits alone.
enum class skipping {
  never,
  coin,                    //!< half of them
  certain,                 //!< those that draws at other temperatures agree on
  certain_or_unimportant,  //!< these, and those whose attention row says that they matter little
};

//! When the drafter's hidden states reach the scorer of mismatches.
enum class states {
  unused,      //!< there is no scorer
  with_draft,  //!< FH
  on_request,  //!< SH
  one_by_one,  //!< SH, as long as mismatches stand
  chosen       //!< one of these, settled when a text is opened (protocol_choice.hpp)
};

//! How many drafts a round has, and how fine their laws are.
enum class windowing {
  fixed,  //!< L and l in every round
  //! the action of QS's grid with the best modelled throughput for the link and for what was accepted so far
  modelled,
  learned,  //!< the action of the same grid that a trained network values most
  budget    //!< as many drafts, up to L, as a round's bits pay for
};

struct system_plan {
  std::string_view key;
  std::string_view label;
  upload law = upload::none;
  std::uint32_t draft_length = 0;  //!< L, tokens drafted a round
  std::uint32_t support_size = 0;  //!< K; of a budget or a threshold: at most this many (0: V)
  std::uint32_t resolution = 0;    //!< l, the lattice's
  support_rule support = support_rule::top_k;
  skipping skip = skipping::never;
  states scored = states::unused;
  windowing window = windowing::fixed;

  //! The paper's order: the token comes from the row itself, the compressed law is only what a rejection subtracts.
  //! Lossy.
  [[nodiscard]] constexpr bool draws_from_row() const { return law == upload::top_k_tail && skip != skipping::never; }
  //! The rounds of HLM's family: one draft, and no token of the cloud's own after it.
  [[nodiscard]] constexpr bool has_bonus() const { return skip == skipping::never && law != upload::top_k_tail; }
  [[nodiscard]] constexpr bool is_greedy() const { return law == upload::ids; }
  //! K differs from law to law, or the law names k tokens of the whole row.
  [[nodiscard]] constexpr bool chooses_support() const {
    return support != support_rule::top_k || law == upload::top_k_tail || window == windowing::budget;
  }
  //! L and l are then the largest of the grid, and each draft message says its own l.
  [[nodiscard]] constexpr bool changes_resolution() const {
    return window == windowing::modelled || window == windowing::learned;
  }
};

inline constexpr std::array<system_plan, 22> all_systems{{
    {"target", "target alone, streamed", upload::none, 0, 0, 0},
    // HLM drafts one token a round, as its paper does: a second one would cost another 187 ms of uplink.
    {"hlm", "HLM, full fp16 law", upload::fp16_row, 1, 0, 0},
    {"qs", "QS, dense lattice l=240", upload::dense, 4, 0, 240},
    {"ksqs-paper", "K-SQS K=16 l=100, paper code", upload::sparse_paper, 4, 16, 100},
    {"ksqs", "K-SQS K=16 l=100, our code", upload::sparse, 4, 16, 100},
    {"csqs", "C-SQS l=100, our code", upload::sparse, 4, 0, 100, support_rule::conformal},
    {"csqs-256", "C-SQS l=100, K at most 256", upload::sparse, 4, 256, 100, support_rule::conformal},
    {"qs-adaptive", "QS, window by the model", upload::dense, 12, 0, 720, support_rule::top_k, skipping::never,
     states::unused, windowing::modelled},
    {"qs-dqn", "QS, learned window", upload::dense, 12, 0, 720, support_rule::top_k, skipping::never, states::unused,
     windowing::learned},
    {"ksqs-budget", "K-SQS, 1000 bits a round", upload::sparse, 12, 16, 100, support_rule::top_k, skipping::never,
     states::unused, windowing::budget},
    {"csqs-budget", "C-SQS, 1000 bits a round", upload::sparse, 12, 0, 100, support_rule::conformal, skipping::never,
     states::unused, windowing::budget},
    {"rand-hlm", "Rand-HLM, half of the tokens", upload::fp16_row, 1, 0, 0, support_rule::top_k, skipping::coin},
    {"u-hlm", "U-HLM, u > 0.8", upload::fp16_row, 1, 0, 0, support_rule::top_k, skipping::certain},
    {"cu-hlm", "CU-HLM offline, k=30", upload::top_k_tail, 1, 30, 255, support_rule::top_k, skipping::certain},
    {"cu-hlm-online", "CU-HLM online, k by token", upload::top_k_tail, 1, 1024, 255,
     support_rule::online_vocabulary_budget, skipping::certain},
    {"hlm-compressed", "HLM compressed, N(k)<=0.1", upload::top_k_tail, 1, 1024, 255, support_rule::vocabulary_budget},
    {"ui", "UI, k=3 gamma=1.5", upload::fp16_row, 1, 0, 0, support_rule::top_k, skipping::certain_or_unimportant},
    {"greedy", "greedy, ids only", upload::ids, 8, 0, 0},
    {"wisv-fh", "WISV, states with drafts", upload::ids, 8, 0, 0, support_rule::top_k, skipping::never,
     states::with_draft},
    {"wisv-sh", "WISV, states on request", upload::ids, 8, 0, 0, support_rule::top_k, skipping::never,
     states::on_request},
    {"wisv-lazy", "WISV, states one by one", upload::ids, 8, 0, 0, support_rule::top_k, skipping::never,
     states::one_by_one},
    {"wisv-adaptive", "WISV, states by the link", upload::ids, 8, 0, 0, support_rule::top_k, skipping::never,
     states::chosen},
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
