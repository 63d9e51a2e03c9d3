// SPDX-License-Identifier: Apache-2.0
// What fault schedules are made of: how many there are, which systems take part, what they suffer.
#ifndef SPECVERIFY_TESTS_SESSION_SCHEDULES_HPP
#define SPECVERIFY_TESTS_SESSION_SCHEDULES_HPP

#include <session/simulation.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>

namespace specverify_test {

//! As many as SPECVERIFY_SCHEDULES says, else `in_long` with SPECVERIFY_LONG=1, else `in_short`.
inline std::uint64_t schedules(std::uint64_t in_short = 300, std::uint64_t in_long = 10000) {
  if (const char* number = std::getenv("SPECVERIFY_SCHEDULES")) return std::strtoull(number, nullptr, 10);
  return std::getenv("SPECVERIFY_LONG") != nullptr ? in_long : in_short;
}

//! What the lives of an engine may add to its logits.
inline constexpr std::array<float, 4> jitters{0.0F, 1e-5F, 1e-3F, 1e-2F};

inline simulation_options options_of(std::uint64_t seed) {
  simulation_options o;
  o.seed = seed;
  o.session_id = seed;
  switch (seed % 8) {  // every law kind takes part
    case 5:
      o.format = sv::law_format::dense_lattice;
      break;
    case 6:
      o.format = sv::law_format::sparse_paper;
      break;
    case 7:
      o.format = seed % 16 == 7 ? sv::law_format::fp16_row : sv::law_format::token_only;
      break;
    default:
      break;
  }
  if (o.format == sv::law_format::token_only && seed % 32 == 15) o.rule = sv::wire_rule::greedy;
  return o;
}

inline constexpr fault_rates rates{0.02, 0.02, 0.02, 0.02, 0.02, 0.004, 0.006, 0.3, 0.01};

inline simulation_options hybrid_options(std::uint64_t seed) {
  simulation_options o;
  o.seed = seed;
  o.session_id = seed;
  o.bonus = false;
  o.draft_length = 1;
  o.format = seed % 3 == 0   ? sv::law_format::fp16_row
             : seed % 3 == 1 ? sv::law_format::sparse_drop_zero
                             : sv::law_format::top_k_tail;
  o.draw_from_row = o.format == sv::law_format::top_k_tail && seed % 4 == 0;
  o.tokens = 40;
  return o;
}

inline simulation_options semantic_options(std::uint64_t seed) {
  simulation_options o;
  o.seed = seed;
  o.session_id = seed;
  o.rule = sv::wire_rule::semantic;
  o.format = sv::law_format::token_only;
  o.hidden = seed % 2 == 0 ? sv::hidden_format::float16 : sv::hidden_format::int8;
  return o;
}

inline std::uint64_t system_schedules() { return (schedules() + 2) / 3; }

}  // namespace specverify_test

#endif
