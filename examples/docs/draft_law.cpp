// SPDX-License-Identifier: Apache-2.0
// The device's half of a drafted token: a row of logits becomes a law of 100 counts on at most 4 tokens, and a token is
// drawn from it.
#include <specverify/distribution/draft.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 8> logits{0.5f, 3.0f, -1.0f, 2.0f, 2.0f, 2.0f, -9.0f, -9.0f};
  const top_k sparsifier{4};
  const row_transform transform{.temperature = 0.5};
  const draft_law_options options{.format = law_format::sparse_drop_zero, .resolution = 100};
  const read_request wanted = draft_law_request(8, sparsifier, {}, options);
  std::vector<std::byte> memory(digest_workspace_size(8, transform, wanted) +
                                draft_law_workspace_size(8, sparsifier, {}, options));
  workspace scratch{memory};
  const auto row = read_row(exec::simd, logits_row<float>(logits), transform, wanted, scratch);
  if (!row) return 1;
  const auto made = make_draft_law(*row, sparsifier, {}, options, scratch);
  if (!made) return 1;
  // At temperature 0.5 the four tokens weigh e^6 : e^4 : e^4 : e^4.
  if (made->drafted.count(1) != 71 || made->drafted.count(3) != 10 || made->drafted.count(5) != 9) return 2;
  const draft drawn = draw(made->drafted, uniforms{philox{}, 0, 0}.at(purpose::draft_draw));
  return made->drafted.count(drawn.token()) > 0 ? 0 : 3;
}
