// SPDX-License-Identifier: Apache-2.0
//! Checks of rows whose engine claims block sums: digests and draws of exec::seq, and no answer where claims do not do.
#ifndef SPECVERIFY_TESTS_GPU_CLAIM_CHECKS_HPP
#define SPECVERIFY_TESTS_GPU_CLAIM_CHECKS_HPP

#include <specverify/cuda/blocks.cuh>
#include <specverify/row/blocks.hpp>

#include <gpu/law_checks.hpp>

namespace gpu_tests {

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

}  // namespace gpu_tests

#endif
