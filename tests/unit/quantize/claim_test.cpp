// SPDX-License-Identifier: Apache-2.0
#include <specverify/quantize/claim.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace specverify;

namespace {

//! A row of six probabilities, read for all of them.
struct whole_row {
  explicit whole_row(std::vector<double> of = {0.6, 0.2, 0.1, 0.06, 0.0399, 0.0001})
      : law(std::move(of)), memory(digest_workspace_size(6, {}, wanted)), space{std::span<std::byte>(memory)} {}
  [[nodiscard]] auto read() {
    const auto row = read_row(exec::seq, probability_row<double>(law), {}, wanted, space);
    REQUIRE(row.ok());
    return *row;
  }
  read_request wanted{.top_entries = 6, .integer_total = true};
  std::vector<double> law;
  std::vector<std::byte> memory;
  workspace space;
};

constexpr draft_law_options tail{law_format::top_k_tail, 15};

double probability_of(const drafted_claim& made) { return static_cast<double>(made.count) / made.resolution; }

}  // namespace

TEST_CASE("claim: a token among the kept is claimed with what the lattice gives it") {
  whole_row held;
  const auto row = held.read();
  const top_k sparsifier{2, true};
  std::vector<std::byte> memory(claim_workspace_size(6, sparsifier, {}));
  workspace scratch{std::span<std::byte>(memory)};
  const auto made = make_claim(row, sparsifier, {}, {1}, tail, scratch);
  REQUIRE(made.ok());
  CHECK(check(made->claimed).ok());
  CHECK(made->claimed.size == 2);
  CHECK(made->claimed.count(0) == 9 * 4);
  CHECK(made->claimed.count(1) == 3 * 4);
  CHECK(made->claimed.tail_count == 3);
  CHECK(made->kept.size() == 2);
  CHECK(probability_of(*made) == doctest::Approx(0.2).epsilon(1e-8));  // and not the lattice's 3 of 15
}

TEST_CASE("claim: a token that the lattice left nothing gets one unit of the largest entry") {
  whole_row held;
  const auto row = held.read();
  const top_k sparsifier{2, true};
  std::vector<std::byte> memory(claim_workspace_size(6, sparsifier, {}));
  workspace scratch{std::span<std::byte>(memory)};
  const auto made = make_claim(row, sparsifier, {}, {5}, tail, scratch);
  REQUIRE(made.ok());
  CHECK(check(made->claimed).ok());
  CHECK(made->claimed.size == 3);  // an entry of its own
  CHECK(made->claimed.count(5) == 3);
  CHECK(made->claimed.count(0) == (9 - 1) * 3);
  CHECK(made->claimed.resolution == 15 * 3);
  CHECK(probability_of(*made) == doctest::Approx(0.0001).epsilon(1e-5));
}

TEST_CASE("claim: the unit comes from the largest entry, wherever it is") {
  for (const token_id largest : {1, 2}) {
    whole_row held(largest == 1 ? std::vector<double>{0.2, 0.6, 0.1, 0.06, 0.0399, 0.0001}
                                : std::vector<double>{0.2, 0.1, 0.6, 0.06, 0.0399, 0.0001});
    const auto row = held.read();
    const top_k sparsifier{2, true};
    std::vector<std::byte> memory(claim_workspace_size(6, sparsifier, {}));
    workspace scratch{std::span<std::byte>(memory)};
    const auto made = make_claim(row, sparsifier, {}, {5}, tail, scratch);
    REQUIRE(made.ok());
    CHECK(made->claimed.count(0) == 3 * 3);
    CHECK(made->claimed.count(largest) == (9 - 1) * 3);
    CHECK(made->claimed.count(5) == 3);
  }
}

TEST_CASE("claim: a sparsifier that may look at the token does") {
  whole_row held;
  const auto row = held.read();
  const online_vocabulary_budget sparsifier{{0.8, 2}};
  std::vector<std::byte> memory(claim_workspace_size(6, sparsifier, {}));
  workspace scratch{std::span<std::byte>(memory)};
  const auto sure = make_claim(row, sparsifier, {}, {0, 0, 20}, tail, scratch);
  REQUIRE(sure.ok());
  const std::uint32_t few = sure->kept.size();
  scratch.rewind(0);
  const auto unsure = make_claim(row, sparsifier, {}, {0, 20, 20}, tail, scratch);
  REQUIRE(unsure.ok());
  CHECK(few < unsure->kept.size());
}

TEST_CASE("claim: errors give the space back") {
  whole_row held;
  const auto row = held.read();
  const top_k sparsifier{2, true};
  std::vector<std::byte> memory(claim_workspace_size(6, sparsifier, {}));
  workspace scratch{std::span<std::byte>(memory)};
  CHECK(make_claim(row, sparsifier, {}, {1}, {law_format::sparse_paper, 15}, scratch).error().code ==
        errc::unsupported);
  CHECK(make_claim(row, sparsifier, {}, {6}, tail, scratch).error().code == errc::token_out_of_range);
  CHECK(make_claim(row, sparsifier, {}, {1}, {law_format::top_k_tail, 0}, scratch).error().code ==
        errc::invalid_resolution);
  CHECK(scratch.used() == 0);
  for (std::size_t size = 0; size < memory.size(); size += 64) {
    workspace small{std::span<std::byte>(memory).first(size)};
    const auto made = make_claim(row, sparsifier, {}, {5}, tail, small);
    if (made) break;
    CHECK(made.error().code == errc::workspace_too_small);
    CHECK(small.used() == 0);
  }
  held.space.rewind(0);
  CHECK(make_claim(row, sparsifier, {}, {1}, tail, scratch).error().code == errc::reading_expired);
}
