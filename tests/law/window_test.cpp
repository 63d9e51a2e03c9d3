// SPDX-License-Identifier: Apache-2.0
//! T34: a window may end a draft because the next law costs too much. The cost is a function of the drafted prefix, so
//! the text must keep the target's law. The test measures shipped pieces: `draw_within`, `bit_budget_window`,
//! `token_rule`. The twin window_looks_at_token draws first.
#include "law/harness.hpp"

#include <specverify/policy/window.hpp>

#include <set>

using namespace law_test;

namespace {

//! Runs one round whose window sets the length: drafts with draw_within, verifies, commits.
template <class Policy, class Window, class Scalar>
sequence windowed_round(Policy policy, const world<Scalar>& in, const Window& window,
                        const sv::scripted_source& source) {
  std::vector<sv::draft> drafts;
  std::vector<std::size_t> nodes{0};
  sv::window_progress so_far;
  const std::uint32_t planned = std::min(window.begin({}).max_draft_length, in.draft_length);
  while (so_far.drafted < planned) {
    const std::optional<sv::draft> drawn =
        sv::draw_within(window, so_far, in.drafter[nodes.back()].view(),
                        sv::uniforms{source, so_far.drafted, 0}.at(sv::purpose::draft_draw));
    if (!drawn) break;
    drafts.push_back(*drawn);
    nodes.push_back(in.child(nodes.back(), drawn->token()));
  }
  std::vector<std::byte> bytes(scratch_size(in.vocab_size, in.transform, in.draft_length));
  sv::workspace scratch{std::span<std::byte>(bytes)};
  const auto said = sv::token_rule{1}.verify(policy, std::span<const sv::draft>(drafts), path_rows<Scalar>{in, nodes},
                                             sv::uniforms{source, 0, 0}, {}, scratch);
  sequence text;
  if (!said) return text;
  for (std::uint32_t i = 0; i < said->accepted; ++i) text.push_back(drafts[i].token());
  text.push_back(said->next_token);
  return text;
}

//! Counts the positions that the window sends along each path of drafts.
template <class Scalar>
void lengths_of(const world<Scalar>& in, const sv::bit_budget_window& window, std::size_t node,
                sv::window_progress so_far, std::set<std::uint32_t>& out) {
  const sv::law next = in.drafter[node].view();
  if (so_far.drafted == in.draft_length || (so_far.drafted > 0 && !window.proceed(so_far.drafted, next, so_far.bits))) {
    out.insert(so_far.drafted);
    return;
  }
  so_far = {so_far.drafted + 1, so_far.bits + window.charge(next)};
  for (std::uint32_t v = 0; v < in.vocab_size; ++v) {
    if (next.count(static_cast<sv::token_id>(v)) > 0)
      lengths_of(in, window, in.child(node, static_cast<sv::token_id>(v)), so_far, out);
  }
}

//! Sends a position while its law is flat enough: a window without charges.
struct while_flat {
  std::uint32_t most = 6;
  [[nodiscard]] sv::draft_plan begin(const sv::observation&) const noexcept { return {4}; }
  [[nodiscard]] bool proceed(std::uint32_t, const sv::law& next, std::uint64_t) const noexcept {
    std::uint32_t largest = 0;
    for (std::uint32_t i = 0; i < next.size; ++i) largest = std::max(largest, next.counts[i]);
    return largest <= most;
  }
};

template <class Scalar>
void check_budget_windows() {
  for_each_policy([](auto policy, const std::string& policy_name) {
    std::set<std::uint32_t> seen;
    for (const shape which : {shape::random, shape::zeros, shape::heavy_tail}) {
      for (const sv::position_accounting accounting :
           {sv::position_accounting::threshold, sv::position_accounting::drop_zero}) {
        world<Scalar> in = make_world<Scalar>(which, 3, 3, 83, 8);
        // laws of 1, 2 and 3 tokens, by prefix
        for (std::size_t node = 1; node < in.drafter.size(); node += 1 + node % 2) {
          in.drafter[node] = law_of_counts(
              node % 3 == 0 ? std::vector<std::uint32_t>{0, 8, 0} : std::vector<std::uint32_t>{3, 0, 5}, true);
        }
        for (const std::uint64_t budget : {std::uint64_t{5}, std::uint64_t{12}, std::uint64_t{16}, std::uint64_t{25}}) {
          const sv::bit_budget_window window{3, 8, 3, 3, budget, 0, accounting};
          INFO(policy_name, ", ", in.name, ", budget ", budget);
          std::set<std::uint32_t> lengths;
          lengths_of(in, window, 0, {}, lengths);
          CHECK(*lengths.begin() >= 1);
          seen.insert(static_cast<std::uint32_t>(lengths.size()));
          const auto law = sv::enumerate_law(
              [&](const sv::scripted_source& source) { return windowed_round(policy, in, window, source); },
              {.checks = 200});
          REQUIRE(law.complete);
          const double window_distance_to_p = text_distance(law, in);
          CHECK(window_distance_to_p <= tolerance<Scalar>);
        }
      }
    }
    CHECK(*seen.rbegin() >= 2);  // some window did depend on the prefix
  });
}

}  // namespace

TEST_CASE("T34 a bit budget decides from the laws of the drafted prefix, and the text keeps p") {
  check_budget_windows<double>();
  check_budget_windows<float>();
}

TEST_CASE("T34 a window that asks for flat laws keeps p") {
  const auto check = [](auto scalar) {
    using number = decltype(scalar);
    for_each_policy([](auto policy, const std::string& policy_name) {
      INFO(policy_name);
      const world<number> in = make_world<number>(shape::random, 3, 3, 84);
      const auto law = sv::enumerate_law(
          [&](const sv::scripted_source& source) { return windowed_round(policy, in, while_flat{}, source); },
          {.checks = 200});
      REQUIRE(law.complete);
      const double flat_distance_to_p = text_distance(law, in);
      CHECK(flat_distance_to_p <= tolerance<number>);
    });
  };
  check(double{});
  check(float{});
}
