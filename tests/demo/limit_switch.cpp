// SPDX-License-Identifier: Apache-2.0
//! In place of apps/edge_cloud/serve/exceeds.cpp: the same server without the limit that the environment names. The
//! test of hostile clients has to fail on it.
#include "edge_cloud/serve/serve_limits.hpp"

#include <cstdlib>

namespace edge_cloud {

bool exceeds(std::string_view limit, std::uint64_t value, std::uint64_t most) {
  const char* const lifted = std::getenv("EDGE_CLOUD_LIFTED_LIMIT");
  if (lifted != nullptr && limit == lifted) return false;
  return value > most;
}
bool exceeds(refusal limit, std::uint64_t value, std::uint64_t most) {
  return exceeds(words_of(limit).name, value, most);
}

}  // namespace edge_cloud
