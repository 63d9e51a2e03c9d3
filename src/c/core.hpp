// SPDX-License-Identifier: Apache-2.0
// The functions without a session that read rows, built once a level.
#ifndef SPECVERIFY_SRC_C_CORE_HPP
#define SPECVERIFY_SRC_C_CORE_HPP

#include "convert.hpp"
#include "levels.hpp"

#include <specverify_c_core.h>
#include <specverify/distribution/draft.hpp>
#include <specverify/verify/verdict.hpp>

namespace specverify_c {

template <>
inline void set_defaults(specverify_target& made) noexcept {
  made.remaining_budget = UINT32_MAX;
  made.trial_cap = sv::cloud_options{}.trial_cap;
}

struct law_order {
  const named_system& system;
  const specverify_row& row;
  const sv::row_transform& transform;
};

struct verify_order {
  std::span<const specverify_draft> drafts;
  const specverify_target& target;
  const sv::row_transform& transform;
  std::uint32_t position, round, vocab_size;
};

// Errors: output_too_small (`where` = bytes of space).
[[nodiscard]] sv::result<sv::law> make_law_of(const law_order& order, std::span<std::byte> space) noexcept;
[[nodiscard]] sv::result<sv::verdict> verify_drafts(const verify_order& order, std::span<std::byte> space) noexcept;

[[nodiscard]] inline sv::law from_c(const specverify_law& law) noexcept {
  return {law.ids, law.counts, law.size, law.tail_count, law.resolution, law.vocab_size};
}
[[nodiscard]] inline specverify_law to_c(const sv::law& law) noexcept {
  return {law.ids, law.counts, law.size, law.tail_count, law.resolution, law.vocab_size};
}
[[nodiscard]] inline sv::status check_arrays(const specverify_law& law) noexcept {
  if (law.size > 0 && (law.ids == nullptr || law.counts == nullptr))
    return {sv::errc::null_span, sv::part::distribution, 0};
  const sv::status wrong = check_aligned(law.ids);
  return wrong.ok() ? check_aligned(law.counts) : wrong;
}
[[nodiscard]] inline sv::status check_law(const specverify_law& law) noexcept {
  const sv::status why = check_arrays(law);
  return why.ok() ? check(from_c(law)) : why;
}
// Whether the token can come from its law. `where` = the draft.
[[nodiscard]] inline sv::status check_draft(const specverify_draft& draft, std::size_t index) noexcept {
  const auto where = static_cast<std::uint32_t>(index);
  if (const sv::status why = check_law(draft.law); !why.ok()) return {why.code, why.reporter, where};
  if (from_c(draft.law).count(draft.token) == 0) return {sv::errc::token_not_in_law, sv::part::distribution, where};
  return {};
}

}  // namespace specverify_c

#endif
