// SPDX-License-Identifier: Apache-2.0
//! Table I of WISV (arXiv 2604.17701): round trip 50 ms, threshold "12", full hidden vectors; GSM8K, Llama-3.2-1B and
//! Llama-3.1-8B.
#ifndef SPECVERIFY_TESTS_UNIT_LINK_WISV_TABLE_HPP
#define SPECVERIFY_TESTS_UNIT_LINK_WISV_TABLE_HPP

#include <cstdint>

namespace specverify_test {

enum class wisv_method { greedy, reject, wisv };

//! The means of one method and window at one rate.
struct wisv_cell {
  double latency;           //!< s an answer
  double tokens_per_round;  //!< AAL
  double rounds;            //!< an answer
  double tokens_per_second;
};
struct wisv_row {
  std::uint32_t draft_length;
  wisv_method method;
  wisv_cell fast;  //!< 500 Mbit/s
  wisv_cell slow;  //!< 20 Mbit/s
};

inline constexpr double wisv_fast_rate = 500e6, wisv_slow_rate = 20e6;
inline constexpr wisv_row wisv_table[] = {
    {10, wisv_method::greedy, {7.616, 6.607, 31.912, 27.683}, {7.617, 6.607, 31.912, 27.681}},
    {10, wisv_method::reject, {8.962, 6.595, 32.036, 23.577}, {40.542, 6.586, 32.040, 5.205}},
    {10, wisv_method::wisv, {6.634, 7.478, 27.736, 31.267}, {6.816, 7.805, 27.144, 31.083}},
    {16, wisv_method::greedy, {8.842, 8.336, 25.128, 23.689}, {8.843, 8.336, 25.128, 23.687}},
    {16, wisv_method::reject, {10.543, 8.305, 25.244, 19.886}, {50.096, 8.335, 25.112, 4.179}},
    {16, wisv_method::wisv, {7.317, 9.991, 20.732, 28.309}, {7.553, 10.630, 19.936, 28.057}},
    {24, wisv_method::greedy, {11.074, 9.513, 22.020, 18.916}, {11.075, 9.513, 22.020, 18.915}},
    {24, wisv_method::reject, {13.313, 9.486, 22.132, 15.770}, {65.493, 9.505, 22.072, 3.203}},
    {24, wisv_method::wisv, {8.604, 12.142, 17.044, 24.052}, {8.832, 13.230, 15.976, 23.930}},
    {32, wisv_method::greedy, {13.525, 10.128, 20.680, 15.484}, {13.527, 10.128, 20.680, 15.483}},
    {32, wisv_method::reject, {16.376, 10.060, 20.848, 12.806}, {81.731, 10.104, 20.744, 2.564}},
    {32, wisv_method::wisv, {10.021, 13.522, 15.260, 20.592}, {10.140, 14.979, 13.892, 20.522}},
    {64, wisv_method::greedy, {24.272, 10.789, 19.272, 8.566}, {24.274, 10.789, 19.272, 8.566}},
    {64, wisv_method::reject, {29.570, 10.708, 19.424, 7.033}, {151.663, 10.763, 19.368, 1.374}},
    {64, wisv_method::wisv, {16.653, 15.489, 13.152, 12.233}, {17.394, 17.343, 12.092, 12.057}},
};

}  // namespace specverify_test

#endif
