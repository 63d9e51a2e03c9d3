// SPDX-License-Identifier: Apache-2.0
// Implements the functions of the device and of tables of id weights. This file is built once per instruction-set
// level.
#include "hosts.hpp"
#include "options.hpp"
#include "sessions.hpp"

namespace specverify_c {

specverify_status prior_create(const void* file, size_t size, uint32_t vocab_size, const specverify_allocator* memory,
                               specverify_prior** made) {
  if (made == nullptr) return no_data;
  *made = nullptr;
  if (file == nullptr) return no_data;
  return place(memory, made, [&] { return sv::prior_table::read(bytes_of(file, size), vocab_size); });
}

void prior_destroy(specverify_prior* prior) { destroy(prior); }

specverify_status edge_create(const specverify_edge_options* options, const specverify_system* system,
                              const specverify_allocator* memory, specverify_edge** made) {
  if (made == nullptr) return no_data;
  *made = nullptr;
  const auto set = taken(options);
  if (!set) return to_c(set.error());
  auto its_options = options_of<sv::edge_options>(*set);
  if (!its_options) return to_c(its_options.error());
  its_options->prior = set->prior;
  const auto its_system = system_of(system);
  if (!its_system) return to_c(its_system.error());
  return place(memory, made, [&] { return sv::make_edge(*its_options, its_system->name, its_system->settings()); });
}

void edge_destroy(specverify_edge* edge) { destroy(edge); }

specverify_status generate(specverify_edge* edge, const specverify_model* model, const specverify_link* link,
                           const specverify_observer* observer) {
  return with_host<false>(model, link, observer,
                          [&](c_model& its_model, c_link& its_link, const c_observer& its_observer) {
                            return sv::generate(*edge, its_model, its_link, its_observer).error();
                          });
}

specverify_status edge_drive(specverify_edge* edge, const specverify_model* model, const specverify_observer* observer,
                             uint64_t now) {
  return with_engine<false>(model, observer, [&](c_model& its_model, const c_observer& its_observer) {
    return sv::drive(*edge, its_model, its_observer, c_clock{now});
  });
}

specverify_status edge_start(specverify_edge* edge, const int32_t* prompt, size_t count, uint64_t now) {
  const auto its_prompt = array_of(prompt, count);
  return to_c(its_prompt ? edge->start(*its_prompt, now) : its_prompt.error());
}

specverify_status edge_restore(specverify_edge* edge, const void* journal, size_t size, uint64_t now, size_t* kept) {
  return restored(edge->restore(bytes_of(journal, size), now), kept);
}

specverify_status edge_recover(specverify_edge* edge, uint32_t prompt_length, uint64_t now) {
  return to_c(edge->recover(prompt_length, now));
}

specverify_status edge_receive(specverify_edge* edge, const void* message, size_t size, uint64_t now) {
  return to_c(edge->receive(bytes_of(message, size), now));
}

specverify_status edge_supply_row(specverify_edge* edge, const specverify_row* row,
                                  const specverify_transform* transform, const specverify_extras* extras,
                                  uint64_t now) {
  if (row == nullptr) return no_data;
  const auto its_transform =
      transform == nullptr ? sv::result<sv::row_transform>(edge->transform()) : from_c(transform);
  if (!its_transform) return to_c(its_transform.error());
  const specverify_extras given = extras == nullptr ? specverify_extras{} : value_of(extras);
  const sv::row_extras its_extras{span_of(given.hidden, given.hidden_count),
                                  span_of(given.attention, given.attention_count)};
  return to_c(edge->supply_row(sv::exec::simd, any_row{value_of(row)}, *its_transform, its_extras, now));
}

specverify_status edge_stop(specverify_edge* edge, uint32_t cause, uint64_t now) {
  if (cause >= sv::stop_cause_count) return to_c({sv::errc::invalid_argument, sv::part::session, cause});
  return to_c(edge->stop(static_cast<sv::stop_cause>(cause), now));
}

specverify_status edge_report_channel(specverify_edge* edge, const specverify_channel* channel) {
  if (channel == nullptr) return no_data;
  const specverify_channel now = value_of(channel);
  edge->record_channel({now.uplink_rate, now.downlink_rate, now.uplink_loss, now.downlink_loss, now.round_trip});
  return {};
}

specverify_status edge_tick(specverify_edge* edge, uint64_t now) { return to_c(edge->tick(now)); }
specverify_status edge_reconnect(specverify_edge* edge, uint64_t now) { return to_c(edge->reconnect(now)); }
specverify_status edge_disconnect(specverify_edge* edge, uint64_t now) { return to_c(edge->disconnect(now)); }
specverify_status edge_engine_failed(specverify_edge* edge, specverify_status why) {
  return to_c(edge->engine_failed(from_c(why)));
}

specverify_status edge_next(specverify_edge* edge, specverify_output* output) { return next(*edge, output); }
uint64_t edge_deadline(const specverify_edge* edge) {
  return edge == nullptr ? SPECVERIFY_NO_DEADLINE : edge->deadline().value_or(SPECVERIFY_NO_DEADLINE);
}
int edge_wants_rows(const specverify_edge* edge) { return edge->wants_rows() ? 1 : 0; }
uint32_t edge_state(const specverify_edge* edge) { return static_cast<std::uint32_t>(edge->state()); }
const int32_t* edge_text(const specverify_edge* edge, size_t* count, size_t* prompt_length) {
  return text(edge, count, prompt_length);
}
uint32_t edge_keep_from(const specverify_edge* edge) { return edge->keep_from(); }
uint32_t edge_agreed_id_code(const specverify_edge* edge) { return static_cast<std::uint32_t>(edge->agreed_id_code()); }
specverify_status edge_transform(const specverify_edge* edge, specverify_transform* written) {
  return to_c(give(to_c(edge->transform()), written));
}
specverify_status edge_statistics(const specverify_edge* edge, specverify_statistics* written) {
  return to_c(give(to_c(edge->statistics()), written));
}
specverify_status edge_last_round(const specverify_edge* edge, specverify_edge_round* written) {
  return to_c(give(to_c(edge->last_round()), written));
}
specverify_status edge_refusal(const specverify_edge* edge) { return to_c(edge->refusal()); }

}  // namespace specverify_c
