// SPDX-License-Identifier: Apache-2.0
// One operation, two policies, the same integers.
#include <specverify/row/reading.hpp>

#include <array>
#include <vector>

namespace {
template <specverify::execution_policy Policy>
std::uint64_t weight_of(Policy policy, std::span<const float> logits) {
  using namespace specverify;
  const read_request wanted{.integer_total = true};
  std::vector<std::byte> memory(digest_workspace_size(static_cast<std::uint32_t>(logits.size()), {}, wanted));
  workspace scratch{memory};
  const auto row = read_row(policy, logits_row<float>(logits), {}, wanted, scratch);
  return row ? row->total_weight() : 0;
}
}  // namespace

int main() {
  const std::array<float, 5> logits{0.25f, 1.5f, -3.0f, 2.0f, 0.0f};
  const std::uint64_t weight = weight_of(specverify::exec::seq, logits);
  return weight > 0 && weight == weight_of(specverify::exec::simd, logits) ? 0 : 1;
}
