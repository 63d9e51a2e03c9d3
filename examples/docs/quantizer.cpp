// SPDX-License-Identifier: Apache-2.0
// A quantizer of our own: everything on the largest token. Any law that is sampled and sent keeps the target's law
// exact.
#include <specverify/quantize/concepts.hpp>

#include <algorithm>
#include <array>

namespace {
using namespace specverify;

struct mode_only {
  static constexpr std::size_t workspace_size(std::uint32_t) noexcept { return 0; }
  result<std::span<std::uint32_t>> quantize(const support& kept, std::uint32_t resolution,
                                            std::span<std::uint32_t> counts, workspace&) const noexcept {
    if (kept.ids.empty() || counts.size() < kept.size()) return status{errc::output_too_small, part::host, kept.size()};
    std::fill_n(counts.begin(), kept.size(), 0u);
    counts[static_cast<std::size_t>(std::max_element(kept.weights.begin(), kept.weights.end()) -
                                    kept.weights.begin())] = resolution;
    return counts.first(kept.size());
  }
};
static_assert(quantizer<mode_only>);
}  // namespace

int main() {
  const std::array<token_id, 3> ids{4, 5, 9};
  const std::array<std::uint32_t, 3> weights{2, 7, 7};
  std::array<std::uint32_t, 3> counts{};
  workspace none;
  return mode_only{}.quantize({ids, weights, 16, 10}, 100, counts, none).ok() && counts[1] == 100 ? 0 : 1;
}
