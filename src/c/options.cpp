// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <specverify/session/cloud.hpp>

namespace specverify_c {
namespace {

constexpr struct {
  const char* name;
  system_kind kind;
} names[] = {{"qs", system_kind::qs},
             {"k-sqs", system_kind::k_sqs},
             {"c-sqs", system_kind::c_sqs},
             {"hlm", system_kind::hlm},
             {"u-hlm", system_kind::u_hlm},
             {"rand-hlm", system_kind::rand_hlm},
             {"ui", system_kind::ui},
             {"cu-hlm", system_kind::cu_hlm},
             {"cu-hlm-online", system_kind::cu_hlm_online},
             {"compressed-hlm", system_kind::compressed_hlm},
             {"greedy", system_kind::greedy},
             {"wisv", system_kind::wisv}};

// Which systems use a field.
template <class... Kinds>
[[nodiscard]] constexpr unsigned used_by(Kinds... kinds) noexcept {
  return ((1u << static_cast<unsigned>(kinds)) | ... | 0u);
}

struct field {
  std::size_t offset;
  bool is_set;
  unsigned users;
};

[[nodiscard]] sv::status check_fields(const specverify_system& set, system_kind kind) noexcept {
  using k = system_kind;
  const unsigned gated = used_by(k::u_hlm, k::ui, k::cu_hlm, k::cu_hlm_online);
  const unsigned threshold_law = used_by(k::c_sqs), claimed = used_by(k::cu_hlm, k::cu_hlm_online);
  const unsigned sparse = used_by(k::k_sqs, k::c_sqs, k::compressed_hlm) | claimed;
  const field fields[] = {
      {offsetof(specverify_system, support_size), set.support_size != 0, sparse},
      {offsetof(specverify_system, resolution), set.resolution != 0, sparse | used_by(k::qs)},
      {offsetof(specverify_system, max_draft_length), set.max_draft_length != 0,
       used_by(k::qs, k::k_sqs, k::c_sqs, k::hlm, k::greedy, k::wisv)},
      {offsetof(specverify_system, hidden_size), set.hidden_size != 0, used_by(k::wisv)},
      {offsetof(specverify_system, samples), set.samples != 0, gated},
      {offsetof(specverify_system, hidden_with_draft), set.hidden_with_draft != 0, used_by(k::wisv)},
      {offsetof(specverify_system, paper_code), set.paper_code != 0, used_by(k::k_sqs)},
      {offsetof(specverify_system, no_bonus), set.no_bonus != 0, used_by(k::hlm)},
      {offsetof(specverify_system, threshold), set.threshold != 0, gated},
      {offsetof(specverify_system, send_probability), set.send_probability != 0, used_by(k::rand_hlm)},
      {offsetof(specverify_system, distortion), set.distortion != 0, used_by(k::compressed_hlm, k::cu_hlm_online)},
      {offsetof(specverify_system, target), set.target != 0, threshold_law},
      {offsetof(specverify_system, step), set.step != 0, threshold_law},
      {offsetof(specverify_system, first_threshold), set.first_threshold != 0, threshold_law}};
  for (const field& one : fields) {
    if (one.is_set && (one.users & used_by(kind)) == 0) return refused(sv::errc::invalid_argument, one.offset);
  }
  return {};
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
  for (const auto& known : names) {
    if (set->name == nullptr || std::strcmp(set->name, known.name) != 0) continue;
    if (const sv::status why = check_fields(*set, known.kind); !why.ok()) return why;
    return named_system{*set, known.kind};
  }
  return refused(sv::errc::invalid_argument, offsetof(specverify_system, name));
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
    made.limits = with_system(system->kind, system->set, [&](const auto& preset) {
      return sv::cloud_session::limits_for(preset.format_for(set->vocab_size));
    });
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

const char* specverify_system_name(uint32_t index) { return index < std::size(names) ? names[index].name : nullptr; }

specverify_status specverify_edge_options_init(specverify_edge_options* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_edge_options>()));
}

specverify_status specverify_cloud_options_init(specverify_cloud_options* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_cloud_options>()));
}
