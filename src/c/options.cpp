// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <specverify/session/systems.hpp>

namespace specverify_c {
namespace {

template <class Number>
[[nodiscard]] constexpr Number or_else(Number given, Number usual) noexcept {
  return given == 0 ? usual : given;
}

// A session reads all its rows under this one, so that what it points to would have to stay: biases and masks belong to
// a row. Errors: invalid_argument (`where` = `field`), those of from_c.
sv::result<sv::row_transform> transform_of(const specverify_transform* given, std::size_t field) noexcept {
  const auto made = from_c(given);
  if (made && !(made->bias_ids.empty() && made->mask_words.empty())) return refused(sv::errc::invalid_argument, field);
  return made;
}

}  // namespace

template <>
void set_defaults(specverify_edge_options& made) noexcept {
  const sv::edge_options from;
  made.session_id = from.session_id;
  made.max_text_length = from.max_text_length;
  made.pad_to = from.format.pad_to;
  made.threshold = from.threshold;
  made.retry_limit = from.retry_limit;
  made.text_chunk = from.text_chunk;
  made.max_ahead = from.max_ahead;
}

template <>
void set_defaults(specverify_cloud_options& made) noexcept {
  const sv::cloud_options from;
  made.max_text_length = from.max_text_length;
  made.trial_cap = from.trial_cap;
  made.text_chunk = from.text_chunk;
}

sv::result<named_system> system_of(const specverify_system* given) noexcept {
  const auto set = taken(given);
  if (!set) return set.error();
  if (set->name == nullptr) return refused(sv::errc::null_span, offsetof(specverify_system, name));
  const auto settings = array_of(set->settings, set->setting_count, offsetof(specverify_system, settings));
  if (!settings) return settings.error();
  named_system made{set->name, {}, set->setting_count};
  if (made.count > made.all.size()) return refused(sv::errc::unknown_setting, made.all.size());
  for (std::size_t i = 0; i < made.count; ++i) {
    const char* const name = (*settings)[i].name;
    made.all[i] = {name == nullptr ? "" : name, (*settings)[i].value};
  }
  return made;
}

sv::result<sv::edge_options> options_of(const specverify_edge_options* given) noexcept {
  const auto set = taken(given);
  if (!set) return set.error();
  const auto transform = transform_of(set->transform, offsetof(specverify_edge_options, transform));
  if (!transform) return transform.error();
  const auto stops = array_of(set->stop_tokens, set->stop_count, offsetof(specverify_edge_options, stop_tokens));
  if (!stops) return stops.error();
  if (set->on_link_loss > 2)
    return refused(sv::errc::invalid_argument, offsetof(specverify_edge_options, on_link_loss));
  if (set->journal_drafts > 2)
    return refused(sv::errc::invalid_argument, offsetof(specverify_edge_options, journal_drafts));
  if (set->mode > 1) return refused(sv::errc::invalid_argument, offsetof(specverify_edge_options, mode));
  sv::edge_options made;
  made.session_id = set->session_id;
  made.secret = secret_of(set->secret);
  made.vocab_size = set->vocab_size;
  made.token_budget = set->token_budget;
  made.max_text_length = set->max_text_length;
  made.format.pad_to = set->pad_to;
  made.fingerprint = {set->fingerprint_high, set->fingerprint_low};
  made.threshold = set->threshold;
  made.transform = *transform;
  made.stop_tokens = *stops;
  made.retry_timeout = set->retry_timeout;
  made.retry_limit = set->retry_limit;
  made.text_chunk = set->text_chunk;
  made.on_link_loss = static_cast<sv::link_loss>(set->on_link_loss);
  made.loss_after = set->loss_after;
  made.max_ahead = set->max_ahead;
  made.journal_drafts = static_cast<sv::draft_journaling>(set->journal_drafts);
  made.mode = static_cast<sv::session_mode>(set->mode);
  return made;
}

sv::result<sv::cloud_options> options_of(const specverify_cloud_options* given,
                                         const specverify_system* serves) noexcept {
  const auto set = taken(given);
  if (!set) return set.error();
  const auto transform = transform_of(set->transform, offsetof(specverify_cloud_options, transform));
  if (!transform) return transform.error();
  const auto stops = array_of(set->stop_tokens, set->stop_count, offsetof(specverify_cloud_options, stop_tokens));
  if (!stops) return stops.error();
  if (set->required > 2) return refused(sv::errc::invalid_argument, offsetof(specverify_cloud_options, required));
  sv::cloud_options made;
  if (serves != nullptr) {
    const auto system = system_of(serves);
    if (!system) return system.error();
    const auto shape = sv::shape_of(system->name, system->settings(), set->vocab_size);
    if (!shape) return shape.error();
    made.limits = sv::cloud_session::limits_for(shape->format);
  }
  made.limits.max_draft_length = or_else(set->max_draft_length, made.limits.max_draft_length);
  made.limits.max_law_entries = or_else(set->max_law_entries, made.limits.max_law_entries);
  made.limits.max_skipped = or_else(set->max_skipped, made.limits.max_skipped);
  made.limits.max_hidden_bytes = or_else(set->max_hidden_bytes, made.limits.max_hidden_bytes);
  made.limits.max_message_bytes = or_else(set->max_message_bytes, made.limits.max_message_bytes);
  made.secret = secret_of(set->secret);
  made.salt = set->salt;
  made.vocab_size = set->vocab_size;
  made.max_text_length = set->max_text_length;
  made.fingerprint = {set->fingerprint_high, set->fingerprint_low};
  made.transform = *transform;
  made.stop_tokens = *stops;
  made.required = static_cast<sv::guarantee>(set->required);
  made.trial_cap = set->trial_cap;
  made.text_chunk = set->text_chunk;
  made.lazy = set->lazy != 0;
  return made;
}

}  // namespace specverify_c

using namespace specverify_c;

specverify_status specverify_transform_init(specverify_transform* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_transform>()));
}

specverify_status specverify_system_init(specverify_system* made, size_t size, uint32_t abi, const char* name) {
  specverify_system set = usual<specverify_system>();
  set.name = name;
  return to_c(begin(made, size, abi, set));
}

const char* specverify_system_name(uint32_t index) {
  for (const sv::system_info& known : sv::systems()) {
    if (!known.needs_network && index-- == 0) return known.name.data();  // a literal: a zero ends it
  }
  return nullptr;
}

specverify_status specverify_edge_options_init(specverify_edge_options* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_edge_options>()));
}

specverify_status specverify_cloud_options_init(specverify_cloud_options* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_cloud_options>()));
}
