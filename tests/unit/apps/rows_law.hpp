// SPDX-License-Identifier: Apache-2.0
//! Whether the shipped rule emits the target's law over the rows of a file: rounds whose drafts travel as bytes, and
//! tokens counted row by row. rows_record_test.cpp takes rows of the bundled pair, rows_law.cpp any file.
#ifndef SPECVERIFY_TESTS_UNIT_APPS_ROWS_LAW_HPP
#define SPECVERIFY_TESTS_UNIT_APPS_ROWS_LAW_HPP

#include <specverify/testing/chi_square.hpp>
#include <specverify/verify/token.hpp>

#include "../../../apps/rows/report.hpp"

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace recorded {

//! The softmax of a row at T = 1, in double.
[[nodiscard]] inline std::vector<double> law_of(const rows_file& file, side which, std::size_t i) {
  std::vector<float> row(file.vocab_size());
  file.logits(which, i, row);
  const double top = *std::max_element(row.begin(), row.end());
  std::vector<double> law;
  for (const float z : row) law.push_back(std::exp(z - top));
  const double sum = std::accumulate(law.begin(), law.end(), 0.0);
  for (double& p : law) p /= sum;
  return law;
}

//! Tokens counted row by row, against the laws of these rows: the statistics of all rows together.
class row_counts {
 public:
  explicit row_counts(const rows_file& file)
      : file_(file), counts_(file.size(), std::vector<std::uint64_t>(file.vocab_size())) {}
  void add(std::size_t row, specverify::token_id token) { ++counts_[row][static_cast<std::size_t>(token)]; }
  [[nodiscard]] double p_value(side which) const {
    double statistic = 0, freedom = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const std::span<const std::uint64_t> counts(counts_[i]);
      const auto found = demand(specverify::chi_square(counts, law_of(file_, which, i)), "chi-square");
      if (found.impossible > 0) return 0;
      statistic += found.statistic;
      freedom += found.degrees_of_freedom;
    }
    return specverify::chi_square_tail(statistic, freedom);
  }

 private:
  const rows_file& file_;
  std::vector<std::vector<std::uint64_t>> counts_;
};

//! Rounds of K-SQS over recorded rows: two drafts travel as bytes, and the shipped rule tests them against three rows.
class round_maker {
 public:
  explicit round_maker(const rows_file& file)
      : file_(file),
        V_(file.vocab_size()),
        format_(specverify::k_sqs({.max_draft_length = 2}).format_for(V_)),
        memory_(2 * specverify::digest_workspace_size(V_, {}, specverify::draft_law_request(V_, kept_, {}, {})) +
                2 * specverify::draft_law_workspace_size(V_, kept_, {}, {}) +
                specverify::verify_workspace_size(V_, {}, 2) + (1u << 16)),
        block_(*specverify::received_draft_block::make({2, specverify::max_draft_entries(format_, 2)})) {}

  //! Calls `emitted(row, token)` for each token of round `number`, which begins at `row`. Throws what the library says.
  template <class Emitted>
  void operator()(std::uint32_t number, std::size_t row, Emitted emitted) {
    using namespace specverify;
    workspace scratch{std::span<std::byte>(memory_)};
    std::vector<draft> drafts;
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto read = demand(read_row(exec::simd, file_.view<float>(side::drafter, row + i), {},
                                        draft_law_request(V_, kept_, {}, {}), scratch),
                               "a drafter's row");
      const auto made = demand(make_draft_law(read, kept_, {}, {}, scratch), "a law");
      drafts.push_back(draw(made.drafted, uniforms{philox{{{1, 2}}}, i, number}.at(purpose::draft_draw)));
    }
    const wire_place place{.round = number};
    const auto sent = demand(encode_draft(place, format_, std::span<const draft>(drafts), bytes_), "a message");
    (void)demand(decode_draft(place, format_, sent, block_, scratch), "a message");
    const std::array<row_view<float>, 3> rows{file_.view<float>(side::target, row),
                                              file_.view<float>(side::target, row + 1),
                                              file_.view<float>(side::target, row + 2)};
    const std::array<row_transform, 1> transform{};
    const auto said = demand(token_rule{}.verify(exec::simd, block_.drafts(), row_span_provider<float>(rows, transform),
                                                 uniforms{philox{{{5, 6}}}, 0, number}, {}, scratch),
                             "a verdict");
    for (std::uint32_t i = 0; i < said.accepted; ++i) emitted(row + i, drafts[i].token());
    emitted(row + said.accepted, said.next_token);
  }

 private:
  static constexpr specverify::top_k kept_{16};
  const rows_file& file_;
  std::uint32_t V_;
  specverify::wire_format format_;
  std::vector<std::byte> memory_;
  std::array<std::byte, 512> bytes_{};
  specverify::received_draft_block block_;
};

//! What a number of rounds emitted.
struct emitted_law {
  std::uint64_t tokens = 0;
  double of_target = 0, of_drafter = 0;  //!< p-values: that of the target's law, and that of another one
};

[[nodiscard]] inline emitted_law play_rounds(const rows_file& file, std::uint32_t rounds) {
  round_maker play(file);
  row_counts counts(file);
  emitted_law found;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    play(round, round % (file.size() - 2), [&](std::size_t row, specverify::token_id token) {
      counts.add(row, token);
      ++found.tokens;
    });
  }
  found.of_target = counts.p_value(side::target);
  found.of_drafter = counts.p_value(side::drafter);
  return found;
}

}  // namespace recorded

#endif
