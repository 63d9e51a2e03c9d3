// SPDX-License-Identifier: Apache-2.0
#include "serve_limits.hpp"

namespace edge_cloud {

bool exceeds(refusal, std::uint64_t value, std::uint64_t most) { return value > most; }
bool exceeds(std::string_view, std::uint64_t value, std::uint64_t most) { return value > most; }

}  // namespace edge_cloud
