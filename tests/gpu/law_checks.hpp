// SPDX-License-Identifier: Apache-2.0
//! Checks of laws of supports and of residuals: what kernels give must be what exec::seq gives.
#ifndef SPECVERIFY_TESTS_GPU_LAW_CHECKS_HPP
#define SPECVERIFY_TESTS_GPU_LAW_CHECKS_HPP

#include <specverify/cuda/residual.cuh>

#include <gpu/round_checks.hpp>

namespace gpu_tests {

//! The laws of the k largest entries.
template <class Scalar>
void check_sparse_laws(scene& where, const batch<Scalar>& rows, std::uint32_t k, std::uint32_t resolution,
                       tally& found) {
  const std::size_t entries = std::size_t{rows.how.count} * k;
  const array<device_support> supports(where, rows.how.count);
  const array<device_law> laws(where, rows.how.count);
  const array<token_id> kept_ids(where, entries), ids(where, entries);
  const array<std::uint32_t> weights(where, entries), counts(where, entries);
  const device_supports kept{supports.data(), kept_ids.data(), weights.data(), k};
  const device_laws out{laws.data(), ids.data(), counts.data(), k};
  if (!taken(read_rows(exec::cuda{}, rows.made()), "read_rows", found) ||
      !taken(select(exec::cuda{}, rows.made(), k, kept), "select", found) ||
      !taken(quantize(exec::cuda{}, rows.how.count, kept, resolution, out), "quantize", found))
    return;
  const auto made = laws.read();
  const copied_lists lists{ids.read(), counts.read(), k};
  draft_law_options options;
  options.format = law_format::sparse_drop_zero;
  options.resolution = resolution;
  const read_request wanted = draft_law_request(rows.how.size, top_k{k}, {}, options);
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    const host_reading<Scalar> host(rows, r, wanted);
    part.expect(made[r].why == host.row.error(), "status of a law", rows.how.size, r);
    if (!host.row) return;
    std::vector<std::byte> more(draft_law_workspace_size(rows.how.size, top_k{k}, {}, options));
    workspace scratch(more);
    const auto expected = make_draft_law(*host.row, top_k{k}, {}, options, scratch);
    const law* drafted = expected.ok() ? &expected->drafted : nullptr;
    part.expect(drafted != nullptr && made[r].size == drafted->size && made[r].resolution == drafted->resolution &&
                    lists.has(r, drafted->ids, drafted->counts, drafted->size),
                "law of a support", rows.how.size, r);
  });
}

//! Residuals: of each row a law of one or two ids is subtracted.
template <class Scalar>
void check_residuals(scene& where, const batch<Scalar>& rows, const copied_digests<Scalar>& digests, tally& found) {
  const std::vector<drafted_token> drafted = choose_drafts(rows);
  std::vector<token_id> ids;
  std::vector<std::uint32_t> counts;
  for (std::uint32_t r = 0; r < rows.how.count; ++r) {
    const auto last = static_cast<token_id>(rows.how.size - 1);
    ids.push_back(std::min(drafted[r].token, last));
    ids.push_back(last);
    counts.push_back(1 + r % 3);
    counts.push_back(r % 2);
  }
  const array<token_id> law_ids(where, ids);
  const array<std::uint32_t> law_counts(where, counts);
  const auto laws_over = [&](const token_id* all_ids, const std::uint32_t* all_counts) {
    std::vector<law> laws;
    for (std::uint32_t r = 0; r < rows.how.count; ++r) {
      const std::uint32_t size = ids[2 * r] < ids[2 * r + 1] ? 2 : 1;
      const std::uint32_t resolution = counts[2 * r] + (size == 2 ? counts[2 * r + 1] : 0);
      laws.push_back({all_ids + 2 * r, all_counts + 2 * r, size, 0, resolution, rows.how.size});
    }
    return laws;
  };
  const std::vector<law> on_host = laws_over(ids.data(), counts.data());
  const array<law> taken_laws(where, laws_over(law_ids.data(), law_counts.data()));
  const array<device_token> out(where, rows.how.count);
  const auto random = rows.uniforms_on().at(purpose::residual_draw);
  const std::uint32_t trial_cap = rows.how.seed % 5 == 0 ? 2 : 32;
  if (!taken(read_rows(exec::cuda{}, rows.made()), "read_rows", found) ||
      !taken(residual(exec::cuda{}, rows.made(), taken_laws.data(), random, out.data(), {trial_cap, 1.0}), "residual",
             found))
    return;
  const auto made = out.read();
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    const host_reading<Scalar> host(rows, r);
    const auto stream = rows.uniforms_of(r).at(purpose::residual_draw);
    const auto expected = host.row.ok() ? host.row->residual(on_host[r], stream, {trial_cap, 1.0})
                                        : result<residual_token>(host.row.error());
    part.expect(made[r].why == expected.error(), "status of a residual", rows.how.size, r);
    if (!expected) return;
    const bool same = made[r].token == expected->token && made[r].fallback == expected->fallback &&
                      made[r].trials == expected->trials && made[r].exact == expected->exact;
    part.decide(same, is_looked_at(r, expected->exact), tally::place_of("a residual", rows.how.size, r), [&] {
      const std::uint32_t trials = std::min(trial_cap, std::max(made[r].trials, expected->trials));
      return closest_draw(drawn_from_row(rows, digests, r), {&on_host[r]}, stream, trials, trial_cap);
    });
  });
}

}  // namespace gpu_tests

#endif
