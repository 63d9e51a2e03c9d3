// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"

#include <specverify/quantize/draft_law.hpp>
#include <specverify/verify/token.hpp>

namespace specverify_c {
namespace {

// Errors: unsupported (the law depends on more than the row), output_too_small.
template <class Scalar, class Preset>
[[nodiscard]] sv::result<sv::law> law_of(const law_order& order, const Preset& preset,
                                         std::span<std::byte> space) noexcept {
  using sparsifier = typename decltype(preset.sparsifier)::value_type;
  constexpr bool is_of_the_row =
      std::is_same_v<Preset, sv::preset<sparsifier>> && std::is_same_v<typename sparsifier::state_type, sv::no_state>;
  const sv::wire_format format = preset.format_for(order.row.valid_size);
  if constexpr (!is_of_the_row) {
    return refused(sv::errc::unsupported);
  } else {
    if (!carries_laws(format.format)) return refused(sv::errc::unsupported);
    const sv::draft_law_options options{format.format, format.resolution};
    const sparsifier kept = preset.sparsifier.value_or(sparsifier{});
    if (sv::has_support(format.format)) {
      if (const sv::status why = check(kept); !why.ok()) return why;
    }
    const std::uint32_t size = order.row.valid_size;
    const sv::read_request wanted = draft_law_request(size, kept, {}, options);
    const std::size_t needed = digest_workspace_size(size, order.transform, wanted) +
                               draft_law_workspace_size(size, kept, {}, options) + 2 * sv::workspace_alignment;
    if (space.size() < needed) return refused(sv::errc::output_too_small, needed);
    sv::workspace scratch{space};
    const auto row = read_row(sv::exec::simd, view_of<Scalar>(order.row), order.transform, wanted, scratch);
    if (!row) return row.error();
    const auto made = make_draft_law(*row, kept, {}, options, scratch);
    if (!made) return made.error();
    return made->drafted;
  }
}

template <class Scalar>
[[nodiscard]] sv::result<sv::law> law_of(const law_order& order, std::span<std::byte> space) noexcept {
  const auto use = [&](const auto& preset) { return law_of<Scalar>(order, preset, space); };
  return sv::with_system<sv::result<sv::law>>(order.system.name, order.system.settings(), use);
}

template <class Scalar>
struct target_rows {
  const verify_order& order;
  std::uint8_t scalar;

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(order.target.row_count); }
  [[nodiscard]] sv::row_view<Scalar> operator()(std::uint32_t index) const noexcept {
    const specverify_row& row = order.target.rows[index];
    return row.scalar == scalar ? view_of<Scalar>(row) : sv::row_view<Scalar>{};
  }
  [[nodiscard]] const sv::row_transform& transform(std::uint32_t) const noexcept { return order.transform; }
};

template <class Scalar>
[[nodiscard]] sv::result<sv::verdict> verify_rows(const verify_order& order, std::uint8_t scalar,
                                                  std::span<std::byte> space) noexcept {
  const std::size_t count = order.drafts.size();
  const std::size_t needed =
      sv::slice_bytes<sv::draft>(count) + sv::workspace_alignment +
      verify_workspace_size(order.vocab_size, order.transform, static_cast<std::uint32_t>(count)) +
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
  request.stop_tokens = {order.target.stop_tokens, order.target.stop_tokens == nullptr ? 0 : order.target.stop_count};
  request.remaining_budget = order.target.remaining_budget;
  request.bonus = order.target.no_bonus == 0;
  const sv::philox_key key{{order.target.key.word[0], order.target.key.word[1]}};
  return sv::token_rule{order.target.trial_cap}.verify(
      sv::exec::simd, std::span<const sv::draft>(drafts, count), target_rows<Scalar>{order, scalar},
      sv::uniforms{sv::philox{key}, order.position, order.round}, request, scratch);
}

}  // namespace

sv::result<sv::law> make_law_of(const law_order& order, std::span<std::byte> space) noexcept {
  switch (order.row.scalar) {
    case SPECVERIFY_FLOAT16:
      return law_of<sv::float16_bits>(order, space);
    case SPECVERIFY_BFLOAT16:
      return law_of<sv::bfloat16_bits>(order, space);
    default:
      return law_of<float>(order, space);
  }
}

sv::result<sv::verdict> verify_drafts(const verify_order& order, std::span<std::byte> space) noexcept {
  switch (order.target.rows[0].scalar) {
    case SPECVERIFY_FLOAT16:
      return verify_rows<sv::float16_bits>(order, SPECVERIFY_FLOAT16, space);
    case SPECVERIFY_BFLOAT16:
      return verify_rows<sv::bfloat16_bits>(order, SPECVERIFY_BFLOAT16, space);
    default:
      return verify_rows<float>(order, SPECVERIFY_FLOAT, space);
  }
}

}  // namespace specverify_c
