// SPDX-License-Identifier: Apache-2.0
// Implements the functions of the cloud; this file is built once per instruction-set level.
#include "hosts.hpp"
#include "options.hpp"
#include "sessions.hpp"

namespace specverify_c {
namespace {

// The distance between the caller's transforms is the size of the caller's struct, which may differ from the size in
// this library.
[[nodiscard]] const specverify_transform* transform_at(const specverify_transform* first, std::size_t index) noexcept {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(first);
  std::size_t size = 0;
  std::memcpy(&size, bytes, sizeof size);
  return reinterpret_cast<const specverify_transform*>(bytes + index * size);
}

// Writes the caller's tables of id weights to the front of `to`, and returns this part. Errors: the errors of array_of;
// invalid_argument (too many tables; `where` = offset of the number of tables).
[[nodiscard]] sv::result<std::span<const sv::prior_table* const>> tables_of(
    const specverify_cloud_options& set, std::span<const sv::prior_table*> to) noexcept {
  const auto given = array_of(set.priors, set.prior_count, offsetof(specverify_cloud_options, priors));
  if (!given) return given.error();
  if (given->size() > to.size())
    return refused(sv::errc::invalid_argument, offsetof(specverify_cloud_options, prior_count));
  std::copy(given->begin(), given->end(), to.begin());
  return std::span<const sv::prior_table* const>(to.first(given->size()));
}

// Gives a session rows that are in memory. A missing row becomes an empty row, which the session rejects.
struct given_rows {
  const specverify_row* rows;
  std::size_t count;
  const specverify_transform* transforms;

  static std::int32_t row(void* self, std::uint32_t index, specverify_row* given) {
    const given_rows& all = *static_cast<const given_rows*>(self);
    *given = index < all.count ? all.rows[index] : specverify_row{};
    return 0;
  }
  static std::int32_t transform(void* self, std::uint32_t index, specverify_transform* changed) {
    const given_rows& all = *static_cast<const given_rows*>(self);
    if (index < all.count) *changed = *taken(transform_at(all.transforms, index));
    return 0;
  }
};

}  // namespace

specverify_status cloud_create(const specverify_cloud_options* options, const specverify_system* serves,
                               const specverify_allocator* memory, specverify_cloud** made) {
  if (made == nullptr) return no_data;
  *made = nullptr;
  const auto set = taken(options);
  if (!set) return to_c(set.error());
  auto its_options = options_of<sv::cloud_options>(*set);
  if (!its_options) return to_c(its_options.error());
  std::array<const sv::prior_table*, 16> tables{};
  const auto priors = tables_of(*set, tables);
  if (!priors) return to_c(priors.error());
  its_options->priors = *priors;
  sv::cloud_limits& limits = its_options->limits;
  if (serves != nullptr) {
    const auto shape = shape_of(serves, set->vocab_size);
    if (!shape) return to_c(shape.error());
    limits = sv::cloud_session::limits_for(shape->format, *its_options);
  }
  const auto set_limit = [](std::uint32_t& limit, std::uint32_t given) { limit = given != 0 ? given : limit; };
  set_limit(limits.max_draft_length, set->max_draft_length);
  set_limit(limits.max_law_entries, set->max_law_entries);
  set_limit(limits.max_skipped, set->max_skipped);
  set_limit(limits.max_hidden_bytes, set->max_hidden_bytes);
  set_limit(limits.max_message_bytes, set->max_message_bytes);
  return place(memory, made, [&] { return sv::make_cloud(*its_options); });
}

void cloud_destroy(specverify_cloud* cloud) { destroy(cloud); }

specverify_status serve(specverify_cloud* cloud, const specverify_model* model, const specverify_link* link,
                        const specverify_observer* observer) {
  return with_host<true>(model, link, observer,
                         [&](c_model& its_model, c_link& its_link, const c_observer& its_observer) {
                           return sv::serve(*cloud, its_model, its_link, its_observer);
                         });
}

specverify_status cloud_drive(specverify_cloud* cloud, const specverify_model* model,
                              const specverify_observer* observer, uint64_t now) {
  return with_engine<true>(model, observer, [&](c_model& its_model, const c_observer& its_observer) {
    return sv::drive(*cloud, its_model, its_observer, c_clock{now});
  });
}

specverify_status cloud_restore(specverify_cloud* cloud, const void* journal, size_t size, size_t* kept) {
  return restored(cloud->restore(bytes_of(journal, size)), kept);
}

specverify_status cloud_receive(specverify_cloud* cloud, const void* message, size_t size, uint64_t now) {
  return to_c(cloud->receive(bytes_of(message, size), now));
}

specverify_status cloud_supply_rows(specverify_cloud* cloud, const specverify_row* rows, size_t count,
                                    const specverify_transform* transforms, uint64_t now) {
  if (rows == nullptr || count == 0) return no_data;
  if (const sv::status wrong = check_aligned(rows); !wrong.ok()) return to_c(wrong);
  for (std::size_t i = 0; transforms != nullptr && i < count; ++i) {
    if (const auto its = from_c(transform_at(transforms, i)); !its) return to_c(its.error());
  }
  given_rows given{rows, count, transforms};
  specverify_model fed{};
  fed.self = &given;
  fed.row = given_rows::row;
  fed.transform = transforms == nullptr ? nullptr : given_rows::transform;
  c_model model(fed);
  return to_c(sv::supply(*cloud, model, now));
}

specverify_status cloud_supply_tokens(specverify_cloud* cloud, const int32_t* tokens, size_t count, uint64_t now) {
  const auto given = array_of(tokens, count);
  return to_c(given ? cloud->supply_tokens(*given, now) : given.error());
}

specverify_status cloud_supply_scores(specverify_cloud* cloud, const double* scores, size_t count, uint64_t now) {
  const auto given = array_of(scores, count);
  return to_c(given ? cloud->supply_scores(*given, now) : given.error());
}

specverify_status cloud_engine_failed(specverify_cloud* cloud, specverify_status why) {
  return to_c(cloud->engine_failed(from_c(why)));
}

specverify_status cloud_next(specverify_cloud* cloud, specverify_output* output) { return next(*cloud, output); }
int cloud_wants_rows(const specverify_cloud* cloud) { return cloud->wants_rows() ? 1 : 0; }
uint64_t cloud_noise_key(const specverify_cloud* cloud) { return cloud->noise().key; }
uint32_t cloud_noise_kind(const specverify_cloud* cloud) { return static_cast<std::uint32_t>(cloud->noise().kind); }
uint32_t cloud_agreed_id_code(const specverify_cloud* cloud) {
  return static_cast<std::uint32_t>(cloud->agreed_id_code());
}
int cloud_wants_scores(const specverify_cloud* cloud) { return cloud->wants_scores() ? 1 : 0; }
uint32_t cloud_state(const specverify_cloud* cloud) { return static_cast<std::uint32_t>(cloud->state()); }
uint64_t cloud_session_id(const specverify_cloud* cloud) { return cloud->session_id(); }
const int32_t* cloud_text(const specverify_cloud* cloud, size_t* count, size_t* prompt_length) {
  return text(cloud, count, prompt_length);
}
uint32_t cloud_keep_from(const specverify_cloud* cloud) { return cloud->keep_from(); }
uint32_t cloud_draft_position(const specverify_cloud* cloud) { return cloud->draft_position(); }
specverify_status cloud_transform(const specverify_cloud* cloud, specverify_transform* written) {
  return to_c(give(to_c(cloud->transform()), written));
}
specverify_status cloud_statistics(const specverify_cloud* cloud, specverify_statistics* written) {
  return to_c(give(to_c(cloud->statistics()), written));
}
specverify_status cloud_last_round(const specverify_cloud* cloud, specverify_cloud_round* written) {
  return to_c(give(to_c(cloud->last_round()), written));
}
specverify_status cloud_refusal(const specverify_cloud* cloud) { return to_c(cloud->refusal()); }
specverify_channel cloud_reported_channel(const specverify_cloud* cloud) {
  const sv::channel_report& seen = cloud->reported_channel();
  return {seen.uplink_rate, seen.downlink_rate, seen.uplink_loss, seen.downlink_loss, seen.round_trip};
}

}  // namespace specverify_c
