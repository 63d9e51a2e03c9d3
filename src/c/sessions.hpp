// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles: sessions of any system and any level, called through virtual functions. The names are
// those of the sessions in include/, so drive, generate and serve take them as they are.
#ifndef SPECVERIFY_SRC_C_SESSIONS_HPP
#define SPECVERIFY_SRC_C_SESSIONS_HPP

#include "memory.hpp"

#include <specverify_c.h>
#include <specverify/session/journal.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/statistics.hpp>

#include <algorithm>
#include <optional>

namespace specverify_c {

namespace sv = specverify;

// A `where` that does not fit is the largest that does.
[[nodiscard]] constexpr sv::status refused(sv::errc code, std::size_t where = 0) noexcept {
  return {code, sv::part::host, static_cast<std::uint32_t>(std::min<std::size_t>(where, 0xffffffffu))};
}

// A row whose scalar is known when it is supplied.
struct any_row {
  using scalar_type = float;  // what the concept asks for
  specverify_row row;
  const sv::status* failed = nullptr;  // of the callbacks for the row, once they were all called
};

// Rows of a round, produced when asked for.
struct row_source {
  const void* self;
  specverify_row (*row)(const void* self, std::uint32_t index);
  sv::row_transform (*transform)(const void* self, std::uint32_t index);
};

// Of row_extras, without its header.
struct row_gifts {
  std::span<const float> hidden{};
  std::span<const float> attention{};
};

}  // namespace specverify_c

// Both sides.
struct specverify_session {
  virtual void destroy() noexcept = 0;
  [[nodiscard]] virtual specverify::status receive(std::span<const std::byte> message,
                                                   specverify::session_time now) noexcept = 0;
  [[nodiscard]] virtual specverify::status engine_failed(specverify::status why) noexcept = 0;
  [[nodiscard]] virtual specverify::session_output next() noexcept = 0;
  [[nodiscard]] virtual bool has_outputs() const noexcept = 0;
  [[nodiscard]] virtual bool wants_rows() const noexcept = 0;
  [[nodiscard]] virtual std::span<const specverify::token_id> text() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t prompt_length() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t keep_from() const noexcept = 0;
  [[nodiscard]] virtual specverify::row_transform transform() const noexcept = 0;
  [[nodiscard]] virtual const specverify::session_statistics& statistics() const noexcept = 0;
  [[nodiscard]] virtual specverify::status refusal() const noexcept = 0;

 protected:
  ~specverify_session() = default;
};

struct specverify_edge : specverify_session {
  [[nodiscard]] virtual specverify::status start(std::span<const specverify::token_id> prompt,
                                                 specverify::session_time now) noexcept = 0;
  [[nodiscard]] virtual specverify::result<specverify::journal_reading> restore(
      std::span<const std::byte> journal, specverify::session_time now) noexcept = 0;
  [[nodiscard]] virtual specverify::status recover(std::uint32_t prompt_length,
                                                   specverify::session_time now) noexcept = 0;
  [[nodiscard]] virtual specverify::status tick(specverify::session_time now) noexcept = 0;
  [[nodiscard]] virtual specverify::status reconnect(specverify::session_time now) noexcept = 0;
  [[nodiscard]] virtual specverify::status stop(specverify::stop_cause cause,
                                                specverify::session_time now) noexcept = 0;
  [[nodiscard]] virtual specverify::status disconnect(specverify::session_time now) noexcept = 0;
  virtual void record_channel(const specverify::channel_report& channel) noexcept = 0;
  [[nodiscard]] virtual specverify::status take_row(const specverify_row& row,
                                                    const specverify::row_transform& transform,
                                                    const specverify_c::row_gifts& gifts,
                                                    specverify::session_time now) noexcept = 0;
  [[nodiscard]] virtual std::optional<specverify::session_time> deadline() const noexcept = 0;
  [[nodiscard]] virtual specverify::edge_state state() const noexcept = 0;
  [[nodiscard]] virtual const specverify::round_record& last_round() const noexcept = 0;

  template <class Policy>
  [[nodiscard]] specverify::status supply_row(Policy, const specverify_c::any_row& given,
                                              const specverify::row_transform& transform,
                                              const specverify_c::row_gifts& gifts,
                                              specverify::session_time now) noexcept {
    const bool is_there = given.failed == nullptr || given.failed->ok();
    return is_there ? take_row(given.row, transform, gifts, now) : engine_failed(*given.failed);
  }

 protected:
  ~specverify_edge() = default;
};

struct specverify_cloud : specverify_session {
  [[nodiscard]] virtual specverify::result<specverify::journal_reading> restore(
      std::span<const std::byte> journal) noexcept = 0;
  [[nodiscard]] virtual specverify::status take_rows(const specverify_c::row_source& rows,
                                                     specverify::session_time now) noexcept = 0;
  [[nodiscard]] virtual specverify::status supply_scores(std::span<const double> scores,
                                                         specverify::session_time now) noexcept = 0;
  [[nodiscard]] virtual bool wants_scores() const noexcept = 0;
  [[nodiscard]] virtual specverify::cloud_state state() const noexcept = 0;
  [[nodiscard]] virtual const specverify::decided_round& last_round() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t session_id() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t draft_position() const noexcept = 0;
  [[nodiscard]] virtual specverify::channel_report reported_channel() const noexcept = 0;

  template <class Policy, class Rows>
  [[nodiscard]] specverify::status supply_rows(Policy, const Rows& rows, specverify::session_time now) noexcept {
    const auto row = [](const void* self, std::uint32_t i) { return (*static_cast<const Rows*>(self))(i).row; };
    const auto transform = [](const void* self, std::uint32_t i) -> specverify::row_transform {
      return static_cast<const Rows*>(self)->transform(i);
    };
    return take_rows({&rows, row, transform}, now);
  }

 protected:
  ~specverify_cloud() = default;
};

#endif
