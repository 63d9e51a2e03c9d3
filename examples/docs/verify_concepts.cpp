// SPDX-License-Identifier: Apache-2.0
// A row provider of one's own: rows are made when the rule asks for them, and not before.
#include <specverify/verify/greedy.hpp>

#include <array>

struct lazy_rows {
  std::array<float, 4>* buffer;
  int* evaluated;
  specverify::row_transform plain{};
  specverify::row_view<float> operator()(std::uint32_t index) const {
    *buffer = {0, 1, 2, 3};
    (*buffer)[index] = 9;  // the target would say 0, 1, 2, ...
    ++*evaluated;
    return specverify::logits_row<float>(*buffer);
  }
  const specverify::row_transform& transform(std::uint32_t) const { return plain; }
};
static_assert(specverify::row_provider<lazy_rows>);
static_assert(!specverify::lossless_draft<specverify::mismatched_draft>);  // no lossless rule takes one

int main() {
  std::array<float, 4> buffer{};
  int evaluated = 0;
  const std::array<specverify::claimed_draft, 3> drafts{{{0}, {3}, {2}}};
  specverify::workspace none;
  const auto said =
      specverify::greedy_rule{}.verify(specverify::exec::seq, std::span<const specverify::claimed_draft>(drafts),
                                       lazy_rows{&buffer, &evaluated}, specverify::uniforms<>{}, {}, none);
  return said && said->accepted == 1 && said->next_token == 1 && evaluated == 2 ? 0 : 1;
}
