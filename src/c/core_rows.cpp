// SPDX-License-Identifier: Apache-2.0
// Implements the functions that read rows but need no session, built once per instruction-set level, and the table of a
// level's functions.
#include "levels.hpp"
#include "options.hpp"
#include "rows.hpp"

#include <specverify/quantize/draft_law.hpp>
#include <specverify/verify/token.hpp>

namespace specverify_c {
namespace {

// Returns the distribution that a drafter sends for a row. Errors: unsupported (the distribution depends on more than
// the row), output_too_small.
template <class Scalar, class Preset>
[[nodiscard]] sv::result<sv::law> law_of(sv::row_view<Scalar> given, const sv::row_transform& transform,
                                         const Preset& preset, std::span<std::byte> space) noexcept {
  using sparsifier = typename decltype(preset.sparsifier)::value_type;
  constexpr bool is_of_the_row =
      std::is_same_v<Preset, sv::preset<sparsifier>> && std::is_same_v<typename sparsifier::state_type, sv::no_state>;
  const sv::wire_format format = preset.format_for(given.valid_size());
  if constexpr (!is_of_the_row) {
    return refused(sv::errc::unsupported);
  } else {
    if (!carries_laws(format.format)) return refused(sv::errc::unsupported);
    const sv::draft_law_options options{format.format, format.resolution};
    const sparsifier kept = preset.sparsifier.value_or(sparsifier{});
    if (sv::has_support(format.format)) {
      if (const sv::status why = check(kept); !why.ok()) return why;
    }
    const std::uint32_t size = given.valid_size();
    const sv::read_request wanted = draft_law_request(size, kept, {}, options);
    const std::size_t needed = digest_workspace_size(size, transform, wanted) +
                               draft_law_workspace_size(size, kept, {}, options) + 2 * sv::workspace_alignment;
    if (space.size() < needed) return refused(sv::errc::output_too_small, needed);
    sv::workspace scratch{space};
    const auto row = read_row(sv::exec::simd, given, transform, wanted, scratch);
    if (!row) return row.error();
    const auto made = make_draft_law(*row, kept, {}, options, scratch);
    if (!made) return made.error();
    return made->drafted;
  }
}

// Checks that the distribution gives the drafted token a positive count. `where` = index of the draft.
[[nodiscard]] sv::status check_draft(const specverify_draft& draft, std::size_t index) noexcept {
  const auto where = static_cast<std::uint32_t>(index);
  if (const sv::status why = check_law(draft.law); !why.ok()) return {why.code, why.reporter, where};
  if (from_c(draft.law).count(draft.token) == 0) return {sv::errc::token_not_in_law, sv::part::distribution, where};
  return {};
}

// Arguments of a verification. All rows must have the same scalar type.
struct verify_order {
  const specverify_round& round;
  std::span<const specverify_draft> drafts;
  const specverify_target& target;
  const sv::row_transform& transform;
};
[[nodiscard]] sv::status check_order(const verify_order& order) noexcept {
  const specverify_row* const rows = order.target.rows;
  const std::size_t count = order.drafts.size();
  if (count > sv::max_wire_draft_length) return refused(sv::errc::draft_too_long, sv::max_wire_draft_length);
  if (order.target.row_count <= count) return refused(sv::errc::too_few_rows, order.target.row_count);
  for (std::size_t i = 0; i < count; ++i) {
    if (const sv::status wrong = check_draft(order.drafts[i], i); !wrong.ok()) return wrong;
    if (order.drafts[i].law.vocab_size != order.round.vocab_size) return refused(sv::errc::vocabulary_mismatch, i);
  }
  for (std::size_t i = 0; i <= count; ++i) {
    if (const sv::status wrong = check_row(rows[i]); !wrong.ok())
      return {wrong.code, wrong.reporter, static_cast<std::uint32_t>(i)};
    if (rows[i].scalar != rows[0].scalar) return refused(sv::errc::invalid_argument, i);
    if (rows[i].valid_size != order.round.vocab_size) return refused(sv::errc::row_size_mismatch, i);
  }
  return {};
}

template <class Scalar>
struct target_rows {
  const verify_order& order;

  [[nodiscard]] sv::row_view<Scalar> operator()(std::uint32_t index) const noexcept {
    return view_of<Scalar>(order.target.rows[index]);
  }
  [[nodiscard]] const sv::row_transform& transform(std::uint32_t) const noexcept { return order.transform; }
};

// Verifies the drafts. Errors: as for the token rule; output_too_small (`where` = bytes needed).
template <class Scalar>
[[nodiscard]] sv::result<sv::verdict> verify_rows(const verify_order& order, std::span<std::byte> space) noexcept {
  const std::size_t count = order.drafts.size();
  const std::size_t needed =
      sv::slice_bytes<sv::draft>(count) + sv::workspace_alignment +
      verify_workspace_size(order.round.vocab_size, order.transform, static_cast<std::uint32_t>(count)) +
      sv::workspace_alignment;
  if (space.size() < needed) return refused(sv::errc::output_too_small, needed);
  sv::workspace scratch{space};
  const auto room = scratch.take<std::byte>(count * sizeof(sv::draft));
  if (!room) return refused(sv::errc::output_too_small, needed);
  auto* const drafts = reinterpret_cast<sv::draft*>(room->data());
  for (std::size_t i = 0; i < count; ++i) {
    const specverify_draft& given = order.drafts[i];
    ::new (static_cast<void*>(drafts + i)) sv::draft(sv::draw_access::make(given.token, from_c(given.law)));
  }
  sv::verify_request request;
  request.stop_tokens = span_of(order.target.stop_tokens, order.target.stop_count);
  request.remaining_budget = order.target.remaining_budget;
  request.bonus = order.target.no_bonus == 0;
  const sv::philox_key key{{order.target.key.word[0], order.target.key.word[1]}};
  return sv::token_rule{order.target.trial_cap}.verify(
      sv::exec::simd, std::span<const sv::draft>(drafts, count), target_rows<Scalar>{order},
      sv::uniforms{sv::philox{key}, order.round.base_length, order.round.round}, request, scratch);
}

}  // namespace

specverify_status draft_law(const specverify_system* system, const specverify_row* row,
                            const specverify_transform* transform, specverify_space space, specverify_law* law) {
  if (row == nullptr || law == nullptr) return no_data;
  const auto named = system_of(system);
  if (!named) return to_c(named.error());
  const auto its_transform = from_c(transform);
  if (!its_transform) return to_c(its_transform.error());
  const specverify_row its_row = value_of(row);
  if (const sv::status wrong = check_row(its_row); !wrong.ok()) return to_c(wrong);
  const auto made = with_scalar(its_row, [&](auto given) {
    const auto use = [&](const auto& preset) { return law_of(given, *its_transform, preset, bytes_of(space)); };
    return sv::with_system<sv::result<sv::law>>(named->name, named->settings(), use);
  });
  if (made.ok()) *law = to_c(*made);
  return to_c(made.error());
}

specverify_status verify(const specverify_round* round, const specverify_draft* drafts, size_t count,
                         const specverify_target* target, specverify_space space, specverify_verdict* verdict) {
  const auto at = taken(round);
  if (!at) return to_c(at.error());
  const auto set = taken(target);
  if (!set) return to_c(set.error());
  const auto transform = from_c(set->transform);
  if (!transform) return to_c(transform.error());
  const auto stops = array_of(set->stop_tokens, set->stop_count, offsetof(specverify_target, stop_tokens));
  if (!stops) return to_c(stops.error());
  if (set->rows == nullptr || (drafts == nullptr && count > 0)) return no_data;
  for (const sv::status wrong : {check_aligned(set->rows), check_aligned(drafts)})
    if (!wrong.ok()) return to_c(wrong);
  const verify_order order{*at, span_of(drafts, count), *set, *transform};
  if (const sv::status wrong = check_order(order); !wrong.ok()) return to_c(wrong);
  const auto said = with_scalar(
      set->rows[0], [&]<class Scalar>(sv::row_view<Scalar>) { return verify_rows<Scalar>(order, bytes_of(space)); });
  if (!said) return to_c(said.error());
  specverify_verdict made{};
  made.accepted = said->accepted;
  made.next_token = said->next_token;
  made.commit_length = said->commit_length;
  made.source = static_cast<std::uint32_t>(said->source);
  made.stop = static_cast<std::uint32_t>(said->stop);
  made.near_ties = said->counters.near_ties;
  return to_c(give(made, verdict));
}

}  // namespace specverify_c

using namespace specverify_c;

SPECVERIFY_LEVEL_TABLE(level_calls, specverify_c_levels) = {
#define SPECVERIFY_C_CALL(count, name) name,
#include "functions.def"
};
