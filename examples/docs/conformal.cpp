// SPDX-License-Identifier: Apache-2.0
// A threshold that learns: the mean dropped mass of a text stays below its bound, whatever the laws.
#include <specverify/row/reading.hpp>
#include <specverify/sparsify/conformal.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 4> sharp{0.9, 0.06, 0.03, 0.01}, flat{0.25, 0.25, 0.25, 0.25};
  const row_transform as_it_is{};
  conformal sparsifier;
  sparsifier.target = 0.05;
  sparsifier.step = 0.1;
  sparsifier.first_threshold = 0.3;
  sparsifier.max_support_size = 4;
  const read_request most = sparsifier.request(sparsifier.widest_state(), 4);
  std::vector<std::byte> memory(digest_workspace_size(4, as_it_is, most)),
      more(sparsifier.workspace_size(sparsifier.widest_state(), 4));
  conformal_state state = sparsifier.initial_state();
  for (int token = 0; token < 200; ++token) {
    workspace space{memory}, scratch{more};
    const auto law = probability_row<double>(token % 3 == 0 ? flat : sharp);
    const auto row = read_row(exec::seq, law, as_it_is, sparsifier.request(state, 4), space);
    if (!row) return 1;
    const auto kept = sparsifier.select(*row, state, scratch);
    if (!kept) return 2;
    state = sparsifier.advance(state, *kept);
  }
  return state.updates == 200 && mean_dropped_mass(state) <= dropped_mass_bound(sparsifier, 200, 4) ? 0 : 3;
}
