// SPDX-License-Identifier: Apache-2.0
#include <specverify/verify/concepts.hpp>
#include <specverify/verify/greedy.hpp>
#include <specverify/verify/semantic.hpp>
#include <specverify/verify/token.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace sv = specverify;

namespace {

struct lazy_rows {
  sv::row_transform own{};
  [[nodiscard]] sv::row_view<sv::float16_bits> operator()(std::uint32_t) const { return {}; }
  [[nodiscard]] const sv::row_transform& transform(std::uint32_t) const { return own; }
};

//! Rows whose argmax is their own index; counts how often each is made.
struct counted_rows {
  std::vector<float>* buffer;
  std::vector<int>* asked;
  std::span<const std::uint64_t> mask;
  [[nodiscard]] sv::row_view<float> operator()(std::uint32_t index) const {
    ++(*asked)[index];
    buffer->assign(4, 0.0f);
    (*buffer)[index] = 9.0f;
    return sv::logits_row(std::span<const float>(*buffer));
  }
  [[nodiscard]] sv::row_transform transform(std::uint32_t) const {  // a temporary
    sv::row_transform made;
    made.mask_words = mask;
    return made;
  }
};

struct lenient_scorer {
  [[nodiscard]] sv::result<double> score(std::uint32_t) const noexcept { return 0.0; }
};

//! Verifies drafts 0, 3, 2 with log-probabilities; returns how often each of the rows 0..3 was made.
template <class Rule>
std::vector<int> rows_asked(const Rule& rule) {
  std::vector<float> buffer;
  std::vector<int> asked(4);
  std::vector<double> log_probabilities(4);
  alignas(64) std::array<std::byte, 4096> memory{};
  sv::workspace scratch{std::span<std::byte>(memory)};
  const std::array<sv::claimed_draft, 3> drafts{{{0}, {3}, {2}}};
  const std::array<std::uint64_t, 1> mask{15};
  sv::verify_request request;
  request.log_probabilities = log_probabilities;
  const auto said = rule.verify(sv::exec::seq, std::span<const sv::claimed_draft>(drafts),
                                counted_rows{&buffer, &asked, mask}, sv::uniforms<>{}, request, scratch);
  CHECK(said.ok());
  return asked;
}

}  // namespace

TEST_CASE("concepts: a rule asks for each row once, and for none after the stop") {
  CHECK(rows_asked(sv::greedy_rule{}) == std::vector<int>{1, 1, 0, 0});
  CHECK(rows_asked(sv::token_rule{}) == std::vector<int>{1, 1, 0, 0});
  CHECK(rows_asked(sv::semantic_rule<lenient_scorer>{{}, 0.5}) == std::vector<int>{1, 1, 1, 1});
}

TEST_CASE("concepts: COR-1 only drafts of their own law are lossless") {
  static_assert(sv::lossless_draft<sv::draft>);
  static_assert(sv::lossless_draft<sv::received_draft>);
  static_assert(sv::lossless_draft<sv::claimed_draft>);
  static_assert(!sv::lossless_draft<sv::mismatched_draft>);
  static_assert(sv::token_draft<sv::mismatched_draft>);
  static_assert(!sv::token_draft<int>);
  CHECK(true);
}

TEST_CASE("concepts: the rules are acceptance rules for every lossless draft, and for no other") {
  using rows = sv::row_span_provider<float>;
  static_assert(sv::acceptance_rule<sv::token_rule, sv::exec::simd_policy, sv::draft, rows, sv::philox>);
  static_assert(sv::acceptance_rule<sv::token_rule, sv::exec::seq_policy, sv::received_draft, lazy_rows, sv::philox>);
  static_assert(sv::acceptance_rule<sv::greedy_rule, sv::exec::simd_policy, sv::claimed_draft, rows, sv::philox>);
  static_assert(!sv::acceptance_rule<sv::token_rule, sv::exec::simd_policy, sv::mismatched_draft, rows, sv::philox>);
  static_assert(!sv::acceptance_rule<sv::greedy_rule, sv::exec::simd_policy, sv::mismatched_draft, rows, sv::philox>);
  static_assert(!sv::acceptance_rule<int, sv::exec::seq_policy, sv::draft, rows, sv::philox>);
  CHECK(true);
}

TEST_CASE("concepts: a guarantee is the weaker of rule and draft") {
  static_assert(sv::combined_guarantee<sv::token_rule, sv::draft> == sv::guarantee::honest_drafter);
  static_assert(sv::combined_guarantee<sv::token_rule, sv::claimed_draft> == sv::guarantee::unconditional);
  static_assert(sv::combined_guarantee<sv::greedy_rule, sv::mismatched_draft> == sv::guarantee::lossy);
  CHECK(true);
}

TEST_CASE("concepts: row providers over spans share one transform or bring one each") {
  const std::array<float, 2> a{1, 2}, b{3, 4};
  const std::array<sv::row_view<float>, 2> views{sv::logits_row<float>(a), sv::logits_row<float>(b)};
  std::array<sv::row_transform, 2> transforms{};
  transforms[1].temperature = 0.5;
  const sv::row_span_provider<float> each(views, transforms), shared(views, std::span(transforms).first(1));
  static_assert(sv::sized_row_provider<sv::row_span_provider<float>> && sv::row_provider<lazy_rows> &&
                !sv::sized_row_provider<lazy_rows>);
  CHECK(each.size() == 2);
  CHECK(shared.size() == 2);
  CHECK(each.transform(1).temperature == 0.5);
  CHECK(shared.transform(1).temperature == 1.0);
  CHECK(sv::row_span_provider<float>(views, {}).size() == 0);
}
