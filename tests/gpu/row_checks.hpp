// SPDX-License-Identifier: Apache-2.0
//! Checks of numbers, supports and laws of whole rows: what kernels write must be what exec::seq writes.
#ifndef SPECVERIFY_TESTS_GPU_ROW_CHECKS_HPP
#define SPECVERIFY_TESTS_GPU_ROW_CHECKS_HPP

#include <specverify/cuda/fp16_counts.cuh>
#include <specverify/cuda/integer_weights.cuh>
#include <specverify/cuda/lattice.cuh>
#include <specverify/cuda/log_sum_exp.cuh>
#include <specverify/cuda/softmax.cuh>
#include <specverify/cuda/temperature_perturbation.cuh>
#include <specverify/cuda/threshold.cuh>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/row/integer_weights.hpp>
#include <specverify/row/log_sum_exp.hpp>
#include <specverify/row/softmax.hpp>
#include <specverify/sparsify/threshold.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <gpu/checks.hpp>

#include <cmath>

namespace gpu_tests {

//! Ids with numbers, as supports and laws list them: `size` of each row, from r * pitch on.
struct copied_lists {
  std::vector<token_id> ids;
  std::vector<std::uint32_t> numbers;
  std::size_t pitch;

  template <class Ids, class Numbers>
  [[nodiscard]] bool has(std::uint32_t r, const Ids& host_ids, const Numbers& host_numbers, std::size_t size) const {
    const auto first = static_cast<std::ptrdiff_t>(std::size_t{r} * pitch);
    return size <= pitch && std::equal(host_ids, host_ids + static_cast<std::ptrdiff_t>(size), ids.begin() + first) &&
           std::equal(host_numbers, host_numbers + static_cast<std::ptrdiff_t>(size), numbers.begin() + first);
  }
};

// ---- log_sum_exp, softmax, integer_weights

template <class Scalar>
void check_numbers(scene& where, const batch<Scalar>& rows, tally& found) {
  const std::size_t size = rows.how.size, entries = rows.how.count * size;
  const array<device_value> sums(where, rows.how.count), near(where, rows.how.count);
  const array<status> whys(where, rows.how.count);
  const array<device_total> totals(where, rows.how.count);
  const array<float> laws(where, entries);
  const array<std::uint32_t> weights(where, entries);
  if (!taken(log_sum_exp(exec::cuda{}, rows.rows(), rows.transform(), near.data()), "log_sum_exp", found) ||
      !taken(log_sum_exp(exec::cuda{}, rows.rows(), rows.transform(), sums.data(), {true}), "log_sum_exp", found) ||
      !taken(softmax(exec::cuda{}, rows.rows(), rows.transform(), {whys.data(), laws.data(), size}), "softmax",
             found) ||
      !taken(integer_weights(exec::cuda{}, rows.rows(), rows.transform(), {totals.data(), weights.data(), size}),
             "integer_weights", found))
    return;
  const auto made_sums = sums.read();
  const auto made_near = near.read();
  const auto made_whys = whys.read();
  const auto made_totals = totals.read();
  const auto made_laws = laws.read();
  const auto made_weights = weights.read();
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    const auto expect = [&](bool right, const char* what) { part.expect(right, what, size, r); };
    const auto sum = log_sum_exp(exec::seq, rows.host_row(r), rows.host_transform(r));
    expect(made_sums[r].why == sum.error() && (!sum || same_bits(made_sums[r].value, *sum)), "log-sum-exp");
    expect(made_near[r].why == sum.error() &&
               (!sum || std::abs(made_near[r].value - *sum) < 2e-6 + 0x1.0p-51 * std::abs(*sum)),
           "log-sum-exp in float");
    std::vector<float> law(size);
    std::vector<std::uint32_t> host_weights(size);
    const status why = softmax(exec::seq, rows.host_row(r), rows.host_transform(r), std::span<float>(law));
    const float* made_law = made_laws.data() + std::size_t{r} * size;
    expect(made_whys[r] == why && (!why.ok() || std::memcmp(law.data(), made_law, size * sizeof(float)) == 0),
           "softmax");
    const auto total = integer_weights(exec::seq, rows.host_row(r), rows.host_transform(r), host_weights);
    const auto first = made_weights.begin() + static_cast<std::ptrdiff_t>(std::size_t{r} * size);
    expect(made_totals[r].why == total.error(), "status of integer weights");
    if (total)
      expect(made_totals[r].total_weight == *total && std::equal(host_weights.begin(), host_weights.end(), first),
             "integer weights");
  });
}

//! Z and W next to a digest.
template <class Scalar>
void check_totals(const batch<Scalar>& rows, tally& found) {
  device_request wanted;
  wanted.exact_normaliser = rows.how.seed % 3 != 1;
  wanted.integer_total = rows.how.seed % 3 != 2;
  if (!taken(read_rows(exec::cuda{}, rows.made(), wanted), "read_rows", found)) return;
  std::vector<device_digest> made(rows.how.count);
  scene::copy(made.data(), rows.made().digests.rows, made.size() * sizeof(device_digest));
  read_request request;
  request.exact_normaliser = wanted.exact_normaliser;
  request.integer_total = wanted.integer_total;
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    const auto expected = row_cases::make_digest(exec::seq, rows.host_row(r), rows.host_transform(r), request);
    part.expect(made[r].why == expected.outcome, "status of a digest with totals", rows.how.size, r);
    if (!expected.outcome.ok() || expected.value.truncated) return;  // truncated rows have both: compare_kept
    part.expect(!wanted.exact_normaliser || same_bits(made[r].normaliser, expected.value.normaliser), "Z of a digest",
                rows.how.size, r);
    part.expect(!wanted.integer_total || made[r].total_weight == expected.value.total_weight, "W of a digest",
                rows.how.size, r);
  });
}

// ---- select_above

template <class Scalar>
void check_thresholds(scene& where, const batch<Scalar>& rows, double minimum, tally& found) {
  const std::size_t size = rows.how.size;
  const array<device_support> supports(where, rows.how.count);
  const array<token_id> ids(where, rows.how.count * size);
  const array<std::uint32_t> weights(where, rows.how.count * size);
  if (!taken(read_rows(exec::cuda{}, rows.made()), "read_rows", found) ||
      !taken(select_above(exec::cuda{}, rows.made(), minimum, {supports.data(), ids.data(), weights.data(), size}),
             "select_above", found))
    return;
  const auto made = supports.read();
  const copied_lists lists{ids.read(), weights.read(), size};
  threshold above;
  above.minimum_probability = minimum;
  above.max_support_size = rows.how.size;
  above.with_total_weight = true;
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    host_reading<Scalar> host(rows, r, above.request({}, rows.how.size), above.workspace_size({}, rows.how.size));
    part.expect(made[r].why == host.row.error(), "status of a threshold's support", size, r);
    if (!host.row) return;
    const auto expected = above.select(*host.row, {}, host.scratch);
    part.expect(expected.ok() && made[r].size == expected->ids.size() &&
                    made[r].total_weight == expected->total_weight &&
                    lists.has(r, expected->ids.begin(), expected->weights.begin(), made[r].size),
                "support above a threshold", size, r);
  });
}

// ---- quantize, fp16_counts

template <class Scalar>
void check_laws(scene& where, const batch<Scalar>& rows, std::uint32_t resolution, tally& found) {
  const std::size_t pitch = std::min(rows.how.size, resolution) + 1;
  const array<device_law> laws(where, rows.how.count);
  const array<token_id> ids(where, rows.how.count * pitch);
  const array<std::uint32_t> counts(where, rows.how.count * pitch);
  if (!taken(read_rows(exec::cuda{}, rows.made()), "read_rows", found) ||
      !taken(quantize(exec::cuda{}, rows.made(), resolution, {laws.data(), ids.data(), counts.data(), pitch}),
             "quantize", found))
    return;
  const auto made = laws.read();
  const copied_lists lists{ids.read(), counts.read(), pitch};
  draft_law_options options;
  options.format = law_format::dense_lattice;
  options.resolution = resolution;
  const read_request wanted = draft_law_request(rows.how.size, top_k{1}, {}, options);
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    const host_reading<Scalar> host(rows, r, wanted);
    part.expect(made[r].why == host.row.error(), "status of a lattice", rows.how.size, r);
    if (!host.row) return;
    std::vector<std::byte> more(draft_law_workspace_size(rows.how.size, top_k{1}, {}, options));
    workspace scratch(more);
    const auto expected = make_draft_law(*host.row, top_k{1}, {}, options, scratch);
    const law* drafted = expected.ok() ? &expected->drafted : nullptr;
    part.expect(drafted != nullptr && made[r].size == drafted->size && made[r].resolution == drafted->resolution &&
                    lists.has(r, drafted->ids, drafted->counts, drafted->size),
                "lattice", rows.how.size, r);
  });
}

template <class Scalar>
void check_fp16_laws(scene& where, const batch<Scalar>& rows, tally& found) {
  const std::size_t pitch = rows.how.size;
  const array<device_law> laws(where, rows.how.count);
  const array<token_id> ids(where, rows.how.count * pitch);
  const array<std::uint32_t> counts(where, rows.how.count * pitch);
  if (!taken(read_rows(exec::cuda{}, rows.made(), {true, false}), "read_rows", found) ||
      !taken(fp16_counts(exec::cuda{}, rows.made(), {laws.data(), ids.data(), counts.data(), pitch}), "fp16_counts",
             found))
    return;
  const auto made = laws.read();
  const copied_lists lists{ids.read(), counts.read(), pitch};
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    const host_reading<Scalar> host(rows, r);
    std::vector<token_id> host_ids(pitch);
    std::vector<std::uint32_t> host_counts(pitch);
    const auto expected = host.row.ok() ? host.row->fp16_counts(host_ids, host_counts)
                                        : decltype(host.row->fp16_counts(host_ids, host_counts))(host.row.error());
    part.expect(made[r].why == expected.error(), "status of an fp16 law", pitch, r);
    if (expected)
      part.expect(made[r].size == expected->size && made[r].resolution == expected->resolution &&
                      lists.has(r, host_ids.begin(), host_counts.begin(), expected->size),
                  "fp16 law", pitch, r);
  });
}

// ---- temperature_perturbation

template <class Scalar>
void check_perturbations(scene& where, const batch<Scalar>& rows, tally& found) {
  std::vector<token_id> drafted;
  generator random{rows.how.seed + 3};
  for (std::uint32_t r = 0; r < rows.how.count; ++r) {
    const std::vector<double> values = rows.values(r);
    const auto best = std::max_element(values.begin(), values.end()) - values.begin();
    drafted.push_back(r % 4 == 0 ? static_cast<token_id>(random.below(rows.how.size)) : static_cast<token_id>(best));
  }
  const array<token_id> tokens(where, drafted);
  const array<device_disagreement> out(where, rows.how.count);
  const perturbation_options options{};
  if (!taken(read_rows(exec::cuda{}, rows.made()), "read_rows", found) ||
      !taken(
          temperature_perturbation(exec::cuda{}, rows.made(), tokens.data(), options, rows.uniforms_on(), out.data()),
          "temperature_perturbation", found))
    return;
  const auto made = out.read();
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    const host_reading<Scalar> host(rows, r);
    const auto expected =
        host.row.ok()
            ? temperature_perturbation(*host.row, drafted[r], options, rows.uniforms_of(r))
            : decltype(temperature_perturbation(*host.row, drafted[r], options, rows.uniforms_of(r)))(host.row.error());
    part.expect(made[r].why == expected.error(), "status of a perturbation", rows.how.size, r);
    if (!expected || !made[r].why.ok()) return;
    const std::uint32_t here = made[r].disagreements, there = expected->disagreements;
    const std::uint32_t differ = here > there ? here - there : there - here;
    part.expect(made[r].samples == options.samples, "draws of a perturbation", rows.how.size, r);
    part.decisions += options.samples;
    if (differ == 0 && r % 64 != 0) return;
    const std::uint32_t close = close_draws(rows.values(r), drafted[r], options, rows.uniforms_of(r));
    if (differ == 0) {
      part.measured += options.samples;
      part.close += close;
    } else if (differ <= close) {
      part.near_ties += differ;
    } else {
      part.complain(tally::place_of("a perturbation differs", rows.how.size, r));
    }
  });
}

}  // namespace gpu_tests

#endif
