// SPDX-License-Identifier: Apache-2.0
//! Every check on one batch. A new kernel brings its function and its line to this table and below:
//!
//!   cuda/                             compared with exec::seq by             how
//!   digest: read_rows                 check_digests, compare_kept            bits; truncated rows as well
//!   digest: read_rows, Z and W        check_totals                           bits
//!   argmax                            check_argmax                           bits
//!   sample                            check_draws                            token, trials, rule; near ties counted
//!   select                            check_selections                       ids and weights
//!   log_sum_exp, float and exact      check_numbers                          2e-6; bits
//!   softmax, integer_weights          check_numbers                          bits
//!   threshold: select_above           check_thresholds                       ids and weights
//!   lattice: quantize of a batch      check_laws                             ids and counts
//!   lattice: quantize of supports     check_sparse_laws                      ids and counts
//!   fp16_counts                       check_fp16_laws                        ids and counts
//!   temperature_perturbation          check_perturbations                    counts; near ties counted
//!   accept                            check_accepts                          answers; near ties counted
//!   residual                          check_residuals                        token, trials, rule; near ties counted
//!   verify: both rules                check_rounds                           verdicts, counters, row states
//!   blocks: read_rows_from_blocks     check_claims                           bits
//!   blocks: sample of claims          check_claims                           token, trials, rule
//!   all that need a whole row         check_insufficient                     digest_insufficient of claims
//!   kept_capacity                     check_capacity                         support_too_large
//!   known_answers                     check_known_answers                    check.cu
//!   streams and graphs                check_replay, check_two_streams        steps.hpp
#ifndef SPECVERIFY_TESTS_GPU_BATCH_CHECKS_HPP
#define SPECVERIFY_TESTS_GPU_BATCH_CHECKS_HPP

#include <specverify/cuda/blocks.cuh>
#include <specverify/cuda/residual.cuh>
#include <specverify/row/blocks.hpp>

#include <gpu/checks.hpp>
#include <gpu/round_checks.hpp>
#include <gpu/row_checks.hpp>

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

//! What an epilogue would say of a batch. `off`: how far sums are off, up or down.
template <class Scalar>
class claims_of {
 public:
  claims_of(const batch<Scalar>& rows, std::uint32_t size, double wrong, double off)
      : block_size(size),
        error(wrong),
        blocks((rows.how.size + size - 1) / size),
        pitch(blocks + 2),
        maxima(rows.how.count * pitch),
        sums(maxima.size()) {
    tally none;
    for_each_row(rows.how.count, none, [&](std::uint32_t r, tally&) {
      const std::vector<double> values = rows.values(r);
      for (std::uint32_t b = 0; b < blocks; ++b) claim(r, b, values, rows.host_transform(r).temperature, off);
      if (r % 13 == 7) sums[r * pitch + r % blocks] = static_cast<float>(2 * size);  // more than a block can have
      if (r % 13 == 9) maxima[r * pitch + r % blocks] += 1.0f;                       // noticed where it is read
    });
  }
  [[nodiscard]] row_blocks host(std::uint32_t r) const {
    return {block_size, std::span<const float>(maxima.data() + r * pitch, blocks),
            std::span<const float>(sums.data() + r * pitch, blocks), error};
  }

  std::uint32_t block_size;
  double error;
  std::size_t blocks, pitch;
  std::vector<float> maxima, sums;

 private:
  void claim(std::uint32_t r, std::uint32_t b, const std::vector<double>& values, double temperature, double off) {
    const std::size_t first = std::size_t{b} * block_size,
                      end = std::min<std::size_t>(values.size(), first + block_size);
    double most = -row_cases::infinity, sum = 0;
    for (std::size_t v = first; v < end; ++v) most = std::max(most, values[v]);
    for (std::size_t v = first; v < end; ++v)
      if (most > -row_cases::infinity && values[v] > -row_cases::infinity)
        sum += temperature > 0.0 ? std::exp((values[v] - most) / temperature) : 1.0;
    maxima[r * pitch + b] = static_cast<float>(most);
    sums[r * pitch + b] = static_cast<float>(sum * (1.0 + (b % 3 == 0 ? off : b % 3 == 1 ? -off : 0.5 * off)));
  }
};

//! Digests and draws of claims.
template <class Scalar>
void compare_claims(const batch<Scalar>& rows, const claims_of<Scalar>& claims, const std::vector<device_digest>& made,
                    const std::vector<device_token>& tokens, tally& found) {
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    const auto expect = [&](bool right, const char* what) { part.expect(right, what, rows.how.size, r); };
    const row_transform transform = rows.host_transform(r);
    std::vector<std::byte> bytes(row_blocks_workspace_size(rows.how.size, claims.block_size, transform, {}));
    workspace scratch(bytes);
    const auto reading = read_row_from_blocks(exec::seq, rows.host_row(r), transform, {}, claims.host(r), scratch);
    expect(made[r].why == reading.error(), "status of claims");
    if (!reading) return expect(tokens[r].why == reading.error(), "status of a draw from claims");
    const row_digest& host = row_cases::reading_test_access::digest(*reading);
    expect(made[r].argmax == host.argmax && same_bits(static_cast<double>(made[r].maximum), host.maximum) &&
               same_bits(static_cast<double>(made[r].reference), host.reference) && made[r].one_hot == host.one_hot,
           "argmax and maximum of claims");
    expect(same_bits(made[r].coarse_total, host.coarse_total) && same_bits(made[r].lower, host.lower) &&
               same_bits(made[r].upper, host.upper),
           "sums of claims");
    const auto expected = reading->sample(rows.uniforms_of(r).at(purpose::bonus_draw, 3));
    expect(tokens[r].why == expected.error(), "status of a draw from claims");
    if (expected)
      expect(tokens[r].token == expected->token && tokens[r].trials == expected->trials &&
                 tokens[r].exact == expected->exact,
             "draw from claims");
  });
}

//! What needs a row's own sums says so of a digest that was made of claims.
template <class Scalar>
void check_insufficient(scene& where, const batch<Scalar>& rows, const std::vector<device_digest>& made, tally& found) {
  const std::uint32_t count = rows.how.count;
  const std::vector<drafted_token> drafted(count, drafted_token{0, 1, 1});
  const token_id first_id = 0;
  const std::uint32_t one = 1;
  const array<drafted_token> tests(where, drafted);
  const array<token_id> tokens(where, std::vector<token_id>(count, 0)), law_ids(where, std::vector{first_id});
  const array<std::uint32_t> law_counts(where, std::vector{one});
  const array<law> laws(where, std::vector<law>(count, {law_ids.data(), law_counts.data(), 1, 0, 1, rows.how.size}));
  const array<device_acceptance> accepted(where, count);
  const array<device_token> drawn(where, count), rest(where, count);
  const array<device_support> supports(where, count), above(where, count);
  const array<device_disagreement> perturbed(where, count);
  const array<device_law> lattices(where, count), halves(where, count);
  const std::size_t entries = std::size_t{count} * rows.how.size;
  const array<token_id> ids(where, entries);
  const array<std::uint32_t> numbers(where, entries);
  const exec::cuda on{};
  const auto batch = rows.made();
  const auto random = rows.uniforms_on();
  const std::size_t pitch = rows.how.size;
  const bool all_taken =
      taken(sample(on, batch, random.at(purpose::bonus_draw), drawn.data()), "sample", found) &&
      taken(accept(on, batch, tests.data(), random.at(purpose::acceptance), accepted.data()), "accept", found) &&
      taken(residual(on, batch, laws.data(), random.at(purpose::residual_draw), rest.data()), "residual", found) &&
      taken(select(on, batch, 1, {supports.data(), ids.data(), numbers.data(), pitch}), "select", found) &&
      taken(select_above(on, batch, 0.5, {above.data(), ids.data(), numbers.data(), pitch}), "select_above", found) &&
      taken(temperature_perturbation(on, batch, tokens.data(), {}, random, perturbed.data()), "perturbation", found) &&
      taken(quantize(on, batch, 1, {lattices.data(), ids.data(), numbers.data(), pitch}), "quantize", found) &&
      taken(fp16_counts(on, batch, {halves.data(), ids.data(), numbers.data(), pitch}), "fp16_counts", found);
  if (!all_taken) return;
  const auto expect_all = [&](const auto& results, const char* what) {
    const auto all = results.read();
    for (std::uint32_t r = 0; r < count; ++r) found.expect(all[r].why == made[r].of_whole_row(), what, pitch, r);
  };
  expect_all(drawn, "claims in place of a digest: sample");
  expect_all(accepted, "claims in place of a digest: accept");
  expect_all(rest, "claims in place of a digest: residual");
  expect_all(supports, "claims in place of a digest: select");
  expect_all(above, "claims in place of a digest: select_above");
  expect_all(perturbed, "claims in place of a digest: temperature_perturbation");
  expect_all(lattices, "claims in place of a digest: quantize");
  expect_all(halves, "claims in place of a digest: fp16_counts");
}

template <class Scalar>
void check_claims(scene& where, const batch<Scalar>& rows, tally& found, tally& insufficient) {
  const bool is_off = rows.how.seed % 2 == 1;
  const auto block_size = static_cast<std::uint32_t>(64 * (1 + rows.how.seed % 16));
  const claims_of<Scalar> claims(rows, block_size, is_off ? 0.25 : 0x1.0p-10, is_off ? 0.2 : 0.0);
  const array<float> maxima(where, claims.maxima), sums(where, claims.sums);
  const array<double> shares(where, claims.sums.size(), contents::none);
  const array<device_token> out(where, rows.how.count);
  const device_row_blocks view{claims.block_size, maxima.data(), sums.data(),
                               shares.data(),     claims.pitch,  claims.error};
  const auto random = rows.uniforms_on().at(purpose::bonus_draw, 3);
  if (rows.how.truncates) {
    const status why = read_rows_from_blocks(exec::cuda{}, rows.made(), view);
    return found.expect(why.code == errc::unsupported, "claims of truncated rows", rows.how.size, 0);
  }
  if (!taken(read_rows_from_blocks(exec::cuda{}, rows.made(), view), "read_rows_from_blocks", found) ||
      !taken(sample(exec::cuda{}, rows.made(), view, random, out.data()), "sample of claims", found))
    return;
  std::vector<device_digest> made(rows.how.count);
  scene::copy(made.data(), rows.made().digests.rows, made.size() * sizeof(device_digest));
  compare_claims(rows, claims, made, out.read(), found);
  check_insufficient(where, rows, made, insufficient);
}

//! What reads of rows find: digests, which come back, draws, supports, laws.
template <class Scalar>
copied_digests<Scalar> check_reads(scene& where, const batch<Scalar>& rows, report& found) {
  const shape& how = rows.how;
  const copied_digests<Scalar> digests = check_digests(rows, found["read_rows"]);
  check_totals(rows, found["Z and W"]);
  check_argmax(where, rows, found["argmax"]);
  check_draws(where, rows, digests, how.seed % 8 == 0 ? 1 : 32, found["sample"]);
  const std::uint32_t some[] = {16, 64, 1, 256, 200, 2048, 33, 500};
  check_selections(where, rows, some[how.seed % 8], found["select"]);
  check_numbers(where, rows, found["whole rows"]);
  check_thresholds(where, rows, how.seed % 2 == 0 ? 0.01 : 1e-4, found["threshold"]);
  check_laws(where, rows, how.seed % 3 == 0 ? 1000 : 100, found["lattice"]);
  check_fp16_laws(where, rows, found["fp16 law"]);
  check_sparse_laws(where, rows, 1 + static_cast<std::uint32_t>(how.seed % 64), 100, found["sparse lattice"]);
  if (how.truncates) check_capacity(where, rows, digests, 40, found["capacity"]);
  return digests;
}

//! What is decided of a row with random numbers and drafts, and engines' claims.
template <class Scalar>
void check_decisions(scene& where, const batch<Scalar>& rows, const copied_digests<Scalar>& digests, report& found) {
  check_perturbations(where, rows, found["perturbation"]);
  check_accepts(where, rows, digests, found["accept"]);
  check_residuals(where, rows, digests, found["residual"]);
  check_claims(where, rows, found["claims"], found["claims insufficient"]);
}

}  // namespace gpu_tests

#endif
