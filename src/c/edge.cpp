// SPDX-License-Identifier: Apache-2.0
// The device's functions.
#include "handles.hpp"
#include "hosts.hpp"
#include "levels.hpp"
#include "options.hpp"

using namespace specverify_c;

SPECVERIFY_LEVEL_TABLES(level_calls, specverify_c_levels);

specverify_status specverify_edge_create(const specverify_edge_options* options, const specverify_system* system,
                                         const specverify_allocator* memory, specverify_edge** made) {
  if (made == nullptr) return to_c(no_handle);
  *made = nullptr;
  const auto its_options = options_of(options);
  if (!its_options) return to_c(its_options.error());
  const auto its_system = system_of(system);
  if (!its_system) return to_c(its_system.error());
  const auto hooks = hooks_of(memory);
  if (!hooks) return to_c(hooks.error());
  const level_calls& calls = specverify_c_levels_at(sv::cpu_level());
  const auto edge = calls.make_edge(*its_options, *its_system, *hooks);
  if (edge.ok()) *made = *edge;
  return to_c(edge.error());
}

void specverify_edge_destroy(specverify_edge* edge) {
  if (edge != nullptr) edge->destroy();
}

specverify_status specverify_generate(specverify_edge* edge, const specverify_model* model, const specverify_link* link,
                                      const specverify_observer* observer) {
  return with_host(model, link, observer, [&](c_model& its_model, c_link& its_link, const c_observer& its_observer) {
    if (edge == nullptr) return no_handle;
    return sv::generate(*edge, its_model, its_link, its_observer).error();
  });
}

specverify_status specverify_edge_drive(specverify_edge* edge, const specverify_model* model,
                                        const specverify_observer* observer, uint64_t now) {
  return with_engine(model, observer, [&](c_model& its_model, const c_observer& its_observer) {
    return edge == nullptr ? no_handle : sv::drive(*edge, its_model, its_observer, c_clock{now});
  });
}

specverify_status specverify_edge_start(specverify_edge* edge, const int32_t* prompt, size_t count, uint64_t now) {
  return with(edge, [&](specverify_edge& e) {
    const auto its_prompt = array_of(prompt, count);
    return its_prompt ? e.start(*its_prompt, now) : its_prompt.error();
  });
}

specverify_status specverify_edge_restore(specverify_edge* edge, const void* journal, size_t size, uint64_t now,
                                          size_t* kept) {
  return with(edge, [&](specverify_edge& e) {
    const auto read = e.restore(bytes_of(journal, size), now);
    if (read.ok() && kept != nullptr) *kept = read->valid_bytes;
    return read.error();
  });
}

specverify_status specverify_edge_recover(specverify_edge* edge, uint32_t prompt_length, uint64_t now) {
  return with(edge, [&](specverify_edge& e) { return e.recover(prompt_length, now); });
}

specverify_status specverify_edge_receive(specverify_edge* edge, const void* message, size_t size, uint64_t now) {
  return with(edge, [&](specverify_edge& e) { return e.receive(bytes_of(message, size), now); });
}

specverify_status specverify_edge_tick(specverify_edge* edge, uint64_t now) {
  return with(edge, [&](specverify_edge& e) { return e.tick(now); });
}

specverify_status specverify_edge_supply_row(specverify_edge* edge, const specverify_row* row,
                                             const specverify_transform* transform, const specverify_extras* extras,
                                             uint64_t now) {
  return with(edge, [&](specverify_edge& e) {
    if (row == nullptr) return no_handle;
    const auto its_transform = transform == nullptr ? sv::result<sv::row_transform>(e.transform()) : from_c(transform);
    if (!its_transform) return its_transform.error();
    const specverify_extras given = extras == nullptr ? specverify_extras{} : value_of(extras);
    const row_gifts gifts{span_of(given.hidden, given.hidden_count), span_of(given.attention, given.attention_count)};
    return e.take_row(value_of(row), *its_transform, gifts, now);
  });
}

specverify_status specverify_edge_reconnect(specverify_edge* edge, uint64_t now) {
  return with(edge, [&](specverify_edge& e) { return e.reconnect(now); });
}

specverify_status specverify_edge_stop(specverify_edge* edge, uint32_t cause, uint64_t now) {
  return with(edge, [&](specverify_edge& e) {
    const bool is_known = cause < sv::stop_cause_count;
    return is_known ? e.stop(static_cast<sv::stop_cause>(cause), now)
                    : sv::status{sv::errc::invalid_argument, sv::part::session, cause};
  });
}

specverify_status specverify_edge_disconnect(specverify_edge* edge, uint64_t now) {
  return with(edge, [&](specverify_edge& e) { return e.disconnect(now); });
}

specverify_status specverify_edge_engine_failed(specverify_edge* edge, specverify_status why) {
  return with(edge, [&](specverify_edge& e) { return e.engine_failed(from_c(why)); });
}

specverify_status specverify_edge_report_channel(specverify_edge* edge, const specverify_channel* channel) {
  return with(edge, [&](specverify_edge& e) {
    if (channel == nullptr) return no_handle;
    const specverify_channel now = value_of(channel);
    e.record_channel({now.uplink_rate, now.downlink_rate, now.uplink_loss, now.downlink_loss, now.round_trip});
    return sv::status{};
  });
}

specverify_status specverify_edge_next(specverify_edge* edge, specverify_output* output) {
  return next_of(edge, output);
}

uint64_t specverify_edge_deadline(const specverify_edge* edge) {
  return edge == nullptr ? SPECVERIFY_NO_DEADLINE : edge->deadline().value_or(SPECVERIFY_NO_DEADLINE);
}

int specverify_edge_wants_rows(const specverify_edge* edge) { return edge != nullptr && edge->wants_rows() ? 1 : 0; }

uint32_t specverify_edge_state(const specverify_edge* edge) {
  return edge == nullptr ? 0u : static_cast<std::uint32_t>(edge->state());
}

const int32_t* specverify_edge_text(const specverify_edge* edge, size_t* count, size_t* prompt_length) {
  return text_of(edge, count, prompt_length);
}

uint32_t specverify_edge_keep_from(const specverify_edge* edge) { return edge == nullptr ? 0u : edge->keep_from(); }

specverify_status specverify_edge_transform(const specverify_edge* edge, specverify_transform* written) {
  return with(edge, [&](const specverify_edge& e) { return give(to_c(e.transform()), written); });
}

specverify_status specverify_edge_statistics(const specverify_edge* edge, specverify_statistics* written) {
  return with(edge, [&](const specverify_edge& e) { return give(to_c(e.statistics()), written); });
}

specverify_status specverify_edge_last_round(const specverify_edge* edge, specverify_edge_round* written) {
  return with(edge, [&](const specverify_edge& e) { return give(to_c(e.last_round()), written); });
}

specverify_status specverify_edge_refusal(const specverify_edge* edge) {
  return with(edge, [](const specverify_edge& e) { return e.refusal(); });
}
