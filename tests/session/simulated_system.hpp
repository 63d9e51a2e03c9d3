// SPDX-License-Identifier: Apache-2.0
// Sessions of the simulations: options of both sides, two models, and the edge's parts.
#ifndef SPECVERIFY_TESTS_SESSION_SIMULATED_SYSTEM_HPP
#define SPECVERIFY_TESTS_SESSION_SIMULATED_SYSTEM_HPP

#include <specverify/policy/skip.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>

#include <session/hash_model.hpp>
#include <support/secret_of.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace specverify_test {

namespace sv = specverify;

inline constexpr std::size_t hidden_size = 6;

//! State that an edge has learnt, from its journal.
struct learnt {
  std::uint64_t drafted = 0, accepted = 0, draft_bytes = 0;
  std::array<float, sv::observed_probabilities> probabilities{};
  double threshold = 0;  // only for a rule with a threshold
  friend bool operator==(const learnt&, const learnt&) = default;
};

struct simulated_system {
  sv::edge_options device{};
  sv::cloud_options service{};
  hash_model drafter{}, target{};
  std::vector<token_id> prompt{};
  std::function<sv::result<sv::edge_session>(const sv::edge_options&)> make_edge{};
  std::function<learnt(std::span<const std::byte> journal)> read_learnt{};
};

namespace parts {

template <class Sparsifier>
learnt read(std::span<const std::byte> journal) {
  std::vector<token_id> text(512);
  const auto content = sv::read_journal<sv::edge_snapshot<typename Sparsifier::state_type>>(journal, text);
  if (!content || !content->last) return {};
  const auto& last = *content->last;
  learnt made{last.seen.drafted, last.seen.accepted, last.seen.draft_bytes, last.seen.accepted_probability};
  if constexpr (requires { last.sparsifier.beta; }) made.threshold = last.sparsifier.beta;
  return made;
}

}  // namespace parts

//! Gives a system its edge. `Parts`: a window, then a sparsifier, a skip policy, or neither.
template <class Sparsifier = sv::top_k, class... Parts>
void give_parts(simulated_system& to, const Parts&... parts) {
  to.service.limits = sv::cloud_session::limits_for(sv::format_of(to.device, parts...), to.service.text_chunk);
  to.make_edge = [parts...](const sv::edge_options& options) { return sv::make_edge(options, parts...); };
  to.read_learnt = parts::read<Sparsifier>;
}

//! Returns two sides that agree, without the edge's parts.
inline simulated_system system_of(std::uint64_t session_id, std::uint32_t vocab_size = 40,
                                  std::uint32_t prompt_length = 5) {
  simulated_system made;
  made.device.session_id = session_id;
  made.device.secret = secret_of(815);
  made.service.secret = secret_of(4711);
  made.service.salt = 1;
  made.device.vocab_size = made.service.vocab_size = vocab_size;
  made.device.max_text_length = made.service.max_text_length = 256;
  made.device.text_chunk = made.service.text_chunk = 24;
  made.device.token_budget = 64;
  made.target.vocab_size = made.drafter.vocab_size = vocab_size;
  made.target.seed = made.drafter.seed = 1000 + session_id;
  made.drafter.agreement = 0.8F;
  made.drafter.own = 5 + session_id;
  for (std::uint32_t i = 0; i < prompt_length; ++i)
    made.prompt.push_back(static_cast<token_id>(mix(session_id * 77 + i) % vocab_size));
  return made;
}

//! Returns a system with four drafts and distributions of the eight likeliest tokens.
inline simulated_system plain_system(std::uint64_t session_id) {
  simulated_system made = system_of(session_id);
  give_parts(made, sv::fixed_window{4, 50}, sv::top_k{8});
  return made;
}

//! Kinds of systems in schedules.
enum class kind_of_system : std::uint8_t {
  token,
  greedy,
  shared_noise,
  semantic_with,
  semantic_on_request,
  semantic_lazy,
  stream,
  alone,
  ahead,
  learns
};
inline constexpr std::array all_kinds{kind_of_system::token,
                                      kind_of_system::greedy,
                                      kind_of_system::shared_noise,
                                      kind_of_system::semantic_with,
                                      kind_of_system::semantic_on_request,
                                      kind_of_system::semantic_lazy,
                                      kind_of_system::stream,
                                      kind_of_system::alone,
                                      kind_of_system::ahead,
                                      kind_of_system::learns};

namespace parts {

inline void give_token(simulated_system& to, const sv::fixed_window& window, dice& chance) {
  constexpr std::array formats{sv::law_format::sparse_drop_zero, sv::law_format::dense_lattice,
                               sv::law_format::sparse_paper,     sv::law_format::fp16_row,
                               sv::law_format::token_only,       sv::law_format::top_k_tail};
  to.device.format = formats[static_cast<std::size_t>(chance.below(formats.size()))];
  to.device.draw_from_row = to.device.format == sv::law_format::top_k_tail && chance.chance(0.5);
  if (to.device.draw_from_row) return give_parts(to, window, sv::top_k{7});  // and the token, in distributions of 8
  if (sv::has_support(to.device.format)) return give_parts(to, window, sv::top_k{8});
  give_parts(to, window);
}

inline void give_semantic(simulated_system& to, kind_of_system kind, const sv::fixed_window& window, dice& chance) {
  sv::edge_options& o = to.device;
  o.rule = sv::wire_rule::semantic;
  o.format = sv::law_format::token_only;
  o.attachments.hidden = chance.chance(0.5) ? sv::hidden_format::float16 : sv::hidden_format::int8;
  o.attachments.hidden_size = hidden_size;
  o.attachments.hidden_with_draft = kind == kind_of_system::semantic_with;
  o.attachments.channel_report = true;
  to.service.lazy = kind == kind_of_system::semantic_lazy;
  give_parts(to, window);
}

inline void give_gate(simulated_system& to, const sv::fixed_window& window, dice& chance) {
  to.device.attachments.max_skipped = 1 + static_cast<std::uint32_t>(chance.below(4));
  switch (chance.below(4)) {
    case 0:
      to.device.format = sv::law_format::top_k_tail;
      to.device.draw_from_row = true;
      return give_parts(to, window, sv::online_vocabulary_budget{{0.3, 2}}, sv::uncertainty_gate{0.8});
    case 3:
      return give_parts(to, window, sv::top_k{8}, sv::uncertainty_gate{0.9});
    case 1:
      return give_parts(to, window, sv::top_k{8}, sv::random_skip{0.4});
    default:
      return give_parts(to, window, sv::top_k{8}, sv::uncertainty_and_importance_gate{0.6});
  }
}

}  // namespace parts

//! Gives the sides of an ids-only system tables for the code of ids: none, the same, or different ones. With shared
//! noise, half of the edges with a table ask for ids coded with noise.
inline void give_tables(simulated_system& to, std::uint64_t seed, bool has_noise) {
  const std::uint64_t chosen = mix(seed ^ 0x7AB1E5);
  static const std::array all{&table_of(24, 2), &table_of(24, 1)};
  const std::array<std::span<const sv::prior_table* const>, 4> of_cloud{
      std::span(all), std::span(all).last(1), std::span(all).first(1), std::span(all).first(0)};
  if (chosen % 4 != 0) to.device.prior = all[1];
  to.service.priors = of_cloud[chosen / 4 % 4];
  if (has_noise && to.device.prior != nullptr && chosen / 16 % 2 == 0) to.device.ids = sv::id_code::noise;
}

inline void write_ahead(sv::edge_options& device) {
  device.on_link_loss = sv::link_loss::continue_local;
  device.max_ahead = 9;
}

//! Returns the system of a schedule.
inline simulated_system draw_system(kind_of_system kind, std::uint64_t seed, bool unconditional, dice& chance) {
  simulated_system made = system_of(seed, 24, chance.chance(0.5) ? 1 : 5);
  constexpr std::array<std::uint32_t, 4> lengths{1, 2, 4, 4}, budgets{3, 8, 14, 30}, chunks{1, 2, 5, 24};
  const sv::fixed_window window{lengths[static_cast<std::size_t>(chance.below(4))], 50};
  sv::edge_options& o = made.device;
  o.token_budget = budgets[chance.below(4)];
  o.text_chunk = chunks[chance.below(4)];
  o.bonus = chance.chance(0.8);
  o.journal_drafts = chance.chance(0.7) ? sv::draft_journaling::always : sv::draft_journaling::never;
  if (unconditional) made.service.required = sv::guarantee::unconditional;
  static constexpr std::array<token_id, 1> stops{3};
  if (chance.chance(0.3)) o.stop_tokens = made.service.stop_tokens = stops;
  if (kind >= kind_of_system::greedy && kind <= kind_of_system::semantic_lazy)  // only ids
    give_tables(made, seed, kind == kind_of_system::shared_noise);
  switch (kind) {
    case kind_of_system::greedy:
    case kind_of_system::shared_noise:
      o.rule = sv::wire_rule::greedy;
      if (kind == kind_of_system::shared_noise) {
        o.noise = sv::noise_kind::philox;
        made.service.noise = static_cast<sv::noise_kind>(seed % 5);  // none: the edge's
      }
      if (mix(seed ^ 0xA4EAD) % 3 == 0) write_ahead(o);  // drafts and texts stay the same
      [[fallthrough]];
    case kind_of_system::stream:
      o.format = sv::law_format::token_only;
      if (kind == kind_of_system::stream) o.mode = sv::session_mode::stream;
      give_parts(made, window);
      break;
    case kind_of_system::semantic_with:
    case kind_of_system::semantic_on_request:
    case kind_of_system::semantic_lazy:
      parts::give_semantic(made, kind, window, chance);
      break;
    case kind_of_system::alone:
      parts::give_gate(made, window, chance);
      break;
    case kind_of_system::learns:
      if (chance.chance(0.3)) {
        o.format = sv::law_format::top_k_tail;
        give_parts(made, window, sv::vocabulary_budget{0.3});
      } else {
        give_parts<sv::conformal>(made, window,
                                  sv::conformal{.target = 0.1, .step = 0.2, .max_support_size = o.vocab_size});
      }
      break;
    case kind_of_system::ahead:
      write_ahead(o);
      [[fallthrough]];
    case kind_of_system::token:
      if (unconditional) {
        o.format = sv::law_format::token_only;
        give_parts(made, window);
      } else {
        parts::give_token(made, window, chance);
      }
      break;
  }
  return made;
}

}  // namespace specverify_test

#endif
