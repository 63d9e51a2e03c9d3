// SPDX-License-Identifier: Apache-2.0
// The cloud's functions.
#include "handles.hpp"
#include "hosts.hpp"
#include "levels.hpp"
#include "options.hpp"

using namespace specverify_c;

SPECVERIFY_LEVEL_TABLES(level_calls, specverify_c_levels);

namespace {

// The caller's transforms stand as far apart as its struct is long.
[[nodiscard]] const specverify_transform* transform_at(const specverify_transform* first, std::size_t index) noexcept {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(first);
  std::size_t size = 0;
  std::memcpy(&size, bytes, sizeof size);
  return reinterpret_cast<const specverify_transform*>(bytes + index * size);
}

// Rows in memory; one that is missing is no row.
struct given_rows {
  const specverify_row* rows;
  std::size_t count;
  const specverify_transform* transforms;
  sv::row_transform base;

  [[nodiscard]] any_row operator()(std::uint32_t index) const noexcept {
    return {index < count ? rows[index] : specverify_row{}};
  }
  [[nodiscard]] sv::row_transform transform(std::uint32_t index) const noexcept {
    const auto its = transforms == nullptr || index >= count ? base : *from_c(transform_at(transforms, index));
    return its;
  }
};

}  // namespace

specverify_status specverify_cloud_create(const specverify_cloud_options* options, const specverify_system* serves,
                                          const specverify_allocator* memory, specverify_cloud** made) {
  if (made == nullptr) return to_c(no_handle);
  *made = nullptr;
  const auto its_options = options_of(options, serves);
  if (!its_options) return to_c(its_options.error());
  const auto hooks = hooks_of(memory);
  if (!hooks) return to_c(hooks.error());
  const auto cloud = specverify_c_levels_at(sv::cpu_level()).make_cloud(*its_options, *hooks);
  if (cloud.ok()) *made = *cloud;
  return to_c(cloud.error());
}

void specverify_cloud_destroy(specverify_cloud* cloud) {
  if (cloud != nullptr) cloud->destroy();
}

specverify_status specverify_serve(specverify_cloud* cloud, const specverify_model* model, const specverify_link* link,
                                   const specverify_observer* observer) {
  return with_host(model, link, observer, [&](c_model& its_model, c_link& its_link, const c_observer& its_observer) {
    return cloud == nullptr ? no_handle : sv::serve(*cloud, its_model, its_link, its_observer);
  });
}

specverify_status specverify_cloud_drive(specverify_cloud* cloud, const specverify_model* model,
                                         const specverify_observer* observer, uint64_t now) {
  return with_engine(model, observer, [&](c_model& its_model, const c_observer& its_observer) {
    return cloud == nullptr ? no_handle : sv::drive(*cloud, its_model, its_observer, c_clock{now});
  });
}

specverify_status specverify_cloud_restore(specverify_cloud* cloud, const void* journal, size_t size, size_t* kept) {
  return with(cloud, [&](specverify_cloud& c) {
    const auto read = c.restore(bytes_of(journal, size));
    if (read.ok() && kept != nullptr) *kept = read->valid_bytes;
    return read.error();
  });
}

specverify_status specverify_cloud_receive(specverify_cloud* cloud, const void* message, size_t size, uint64_t now) {
  return with(cloud, [&](specverify_cloud& c) { return c.receive(bytes_of(message, size), now); });
}

specverify_status specverify_cloud_supply_rows(specverify_cloud* cloud, const specverify_row* rows, size_t count,
                                               const specverify_transform* transforms, uint64_t now) {
  return with(cloud, [&](specverify_cloud& c) {
    if (rows == nullptr || count == 0) return no_handle;
    if (const sv::status wrong = check_aligned(rows); !wrong.ok()) return wrong;
    for (std::size_t i = 0; transforms != nullptr && i < count; ++i) {
      if (const auto its = from_c(transform_at(transforms, i)); !its) return its.error();
    }
    return c.supply_rows(sv::exec::simd, given_rows{rows, count, transforms, c.transform()}, now);
  });
}

specverify_status specverify_cloud_supply_scores(specverify_cloud* cloud, const double* scores, size_t count,
                                                 uint64_t now) {
  return with(cloud, [&](specverify_cloud& c) {
    const auto given = array_of(scores, count);
    return given ? c.supply_scores(*given, now) : given.error();
  });
}

specverify_status specverify_cloud_engine_failed(specverify_cloud* cloud, specverify_status why) {
  return with(cloud, [&](specverify_cloud& c) { return c.engine_failed(from_c(why)); });
}

specverify_status specverify_cloud_next(specverify_cloud* cloud, specverify_output* output) {
  return next_of(cloud, output);
}

int specverify_cloud_wants_rows(const specverify_cloud* cloud) {
  return cloud != nullptr && cloud->wants_rows() ? 1 : 0;
}

int specverify_cloud_wants_scores(const specverify_cloud* cloud) {
  return cloud != nullptr && cloud->wants_scores() ? 1 : 0;
}

uint32_t specverify_cloud_state(const specverify_cloud* cloud) {
  return cloud == nullptr ? 0u : static_cast<std::uint32_t>(cloud->state());
}

uint64_t specverify_cloud_session_id(const specverify_cloud* cloud) {
  return cloud == nullptr ? 0u : cloud->session_id();
}

const int32_t* specverify_cloud_text(const specverify_cloud* cloud, size_t* count, size_t* prompt_length) {
  return text_of(cloud, count, prompt_length);
}

uint32_t specverify_cloud_keep_from(const specverify_cloud* cloud) {
  return cloud == nullptr ? 0u : cloud->keep_from();
}

uint32_t specverify_cloud_draft_position(const specverify_cloud* cloud) {
  return cloud == nullptr ? 0u : cloud->draft_position();
}

specverify_status specverify_cloud_transform(const specverify_cloud* cloud, specverify_transform* written) {
  return with(cloud, [&](const specverify_cloud& c) { return give(to_c(c.transform()), written); });
}

specverify_status specverify_cloud_statistics(const specverify_cloud* cloud, specverify_statistics* written) {
  return with(cloud, [&](const specverify_cloud& c) { return give(to_c(c.statistics()), written); });
}

specverify_status specverify_cloud_last_round(const specverify_cloud* cloud, specverify_cloud_round* written) {
  return with(cloud, [&](const specverify_cloud& c) { return give(to_c(c.last_round()), written); });
}

specverify_status specverify_cloud_refusal(const specverify_cloud* cloud) {
  return with(cloud, [](const specverify_cloud& c) { return c.refusal(); });
}

specverify_channel specverify_cloud_reported_channel(const specverify_cloud* cloud) {
  const sv::channel_report seen = cloud == nullptr ? sv::channel_report{} : cloud->reported_channel();
  return {seen.uplink_rate, seen.downlink_rate, seen.uplink_loss, seen.downlink_loss, seen.round_trip};
}
