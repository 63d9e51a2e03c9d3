// SPDX-License-Identifier: Apache-2.0
//! Defines the interface of one implementation of one task on one row. Each task has several implementations: this
//! library, other libraries, and plain C++.
#ifndef SPECVERIFY_BENCHMARKS_PEERS_PEER_HPP
#define SPECVERIFY_BENCHMARKS_PEERS_PEER_HPP

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace bench_peers {

//! `call` does the task and returns a number to compare: a logarithm, a token, a sum of token ids, or the probability
//! of the last id. A task that draws returns the token.
struct peer {
  std::string task, who;
  std::function<double(std::span<const float>)> call;
};
using peers = std::vector<peer>;

inline constexpr std::uint32_t top_k = 64;
inline constexpr float top_p = 0.95f;

}  // namespace bench_peers

#endif
