// SPDX-License-Identifier: Apache-2.0
#include <specverify/quantize/concepts.hpp>
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>

#include <doctest/doctest.h>

#include <array>

namespace {

struct may_throw {
  static constexpr std::size_t workspace_size(std::uint32_t) noexcept { return 0; }
  specverify::result<std::span<std::uint32_t>> quantize(const specverify::support&, std::uint32_t,
                                                        std::span<std::uint32_t> counts, specverify::workspace&) const {
    return counts;
  }
};
struct without_size {
  specverify::result<std::span<std::uint32_t>> quantize(const specverify::support&, std::uint32_t,
                                                        std::span<std::uint32_t> counts,
                                                        specverify::workspace&) const noexcept {
    return counts;
  }
};

// What code written against the concept sees.
template <specverify::quantizer Quantizer>
std::array<std::uint32_t, 3> counts_of(const Quantizer& quantizer) {
  const std::array<specverify::token_id, 3> ids{0, 1, 2};
  const std::array<std::uint32_t, 3> weights{5, 3, 2};
  std::array<std::uint32_t, 3> counts{};
  std::array<std::byte, Quantizer::workspace_size(3)> memory{};
  specverify::workspace scratch{memory};
  const auto written = quantizer.quantize({ids, weights, 10, 3}, 4, counts, scratch);
  REQUIRE(written.ok());
  CHECK(written->data() == counts.data());
  CHECK(written->size() == 3);
  return counts;
}

}  // namespace

TEST_CASE("quantizers are values that write counts") {
  static_assert(specverify::quantizer<specverify::sparse_lattice>);
  static_assert(specverify::quantizer<specverify::lattice>);
  static_assert(!specverify::quantizer<may_throw>);
  static_assert(!specverify::quantizer<without_size>);
  static_assert(!specverify::quantizer<int>);
  static_assert(specverify::max_lattice_resolution == 65536);
  CHECK(counts_of(specverify::sparse_lattice{}) == std::array<std::uint32_t, 3>{2, 1, 1});
  CHECK(counts_of(specverify::lattice{}) == std::array<std::uint32_t, 3>{2, 1, 1});
}

TEST_CASE("check_quantize names each argument that a lattice cannot take, and gives the sum of the weights") {
  using namespace specverify;
  const std::array<token_id, 3> ids{0, 1, 2};
  const std::array<std::uint32_t, 3> weights{5, 3, 2}, heavy{5, (1u << 31) + 1, 2};
  std::array<std::uint32_t, 3> counts{};
  const support kept{ids, weights, 10, 3};
  const auto refused = [](errc code, std::uint32_t where) { return status{code, part::quantize, where}; };
  CHECK(*check_quantize(kept, 4, counts) == 10);
  CHECK(check_quantize(kept, 0, counts).error() == refused(errc::invalid_resolution, 0));
  CHECK(check_quantize(kept, (1u << 16) + 1, counts).error() == refused(errc::invalid_resolution, (1u << 16) + 1));
  CHECK(check_quantize({ids, std::span(weights).first(2), 10, 3}, 4, counts).error() ==
        refused(errc::size_mismatch, 0));
  CHECK(check_quantize({{}, {}, 10, 3}, 4, counts).error() == refused(errc::empty_support, 0));
  CHECK(check_quantize(kept, 4, std::span(counts).first(2)).error() == refused(errc::output_too_small, 3));
  CHECK(check_quantize({ids, heavy, 10, 3}, 4, counts).error() == refused(errc::weight_too_large, 1));
}
