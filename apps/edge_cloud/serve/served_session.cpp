// SPDX-License-Identifier: Apache-2.0
#include "served_session.hpp"

#include <specverify/session/presets.hpp>

#include "../cloud_settings.hpp"
#include "../served_transform.hpp"

namespace edge_cloud {

namespace {

using specverify::session_action;

//! Returns limits for every system of this program without a decision head. Whole fp16 distributions come one per
//! round.
specverify::cloud_limits limits_of(const serve_parts& parts) {
  specverify::wire_format dense, whole_row;
  dense.format = specverify::law_format::dense_lattice;
  dense.resolution = 720;  // resolution of the finest lattice
  dense.max_draft_length = bounded_by("draft_length", most_drafts, parts.limits.draft_length);
  whole_row.format = specverify::law_format::fp16_row;
  whole_row.resolution = 0;
  whole_row.max_draft_length = 1;
  dense.attachments.max_skipped = whole_row.attachments.max_skipped = specverify::preset_max_skipped;
  dense.vocab_size = whole_row.vocab_size = parts.model.vocab_size;
  using cloud = specverify::cloud_session;
  specverify::cloud_limits made = specverify::larger(cloud::limits_for(dense), cloud::limits_for(whole_row));
  // the maximum leaves space for padding, because a device may pad its messages
  constexpr std::uint32_t with_padding = 1u << 14;
  made.max_message_bytes = std::max(made.max_message_bytes, with_padding);
  return made;
}

bool is_refusal(std::span<const std::byte> message) {
  const auto kind = specverify::kind_of(message);
  return kind && *kind == specverify::message_kind::refuse;
}

}  // namespace

served_session::served_session(const serve_parts& parts, session_folder& folder)
    : parts_(parts),
      folder_(folder),
      session_(make_cloud(parts.run, parts.model, limits_of(parts), parts.required)),
      text_(parts.engines) {}

specverify::result<std::uint64_t> served_session::restore(std::uint64_t now, const message_sender& send) {
  const std::vector<std::byte> kept = folder_.load();
  if (kept.empty()) return std::uint64_t{0};
  const auto found = session_.restore(kept);
  if (!found && found.error().code == specverify::errc::truncated) return folder_.cut(0);
  if (!found) return found.error();
  const std::uint64_t dropped = folder_.cut(found->valid_bytes);
  (void)take(now, send);  // it writes nothing
  return dropped;
}

void served_session::hear(std::span<const std::byte> message, std::uint64_t now) {
  (void)specverify::deliver(session_, message, now);  // the session is never busy, because its outputs are always taken
}

refusal served_session::work(std::uint64_t now, const message_sender& send) {
  if (const specverify::status why = compute(now); !why.ok()) (void)session_.engine_failed(why);
  return take(now, send);
}

bool served_session::is_over() const noexcept {
  return session_.state() >= specverify::cloud_state::closing;  // this includes finished and failed sessions
}

//! Runs one pass of the engine. If the session no longer needs rows, nothing is fed, but the text still has the tokens.
specverify::status served_session::compute(std::uint64_t now) {
  const std::uint32_t rows = std::exchange(wanted_rows_, 0u);
  text_.set_waiting(false, now);
  if (!session_.wants_rows()) return {};
  if (!misplaced_.ok()) return misplaced_;
  specverify::row_transform served;
  served.temperature = parts_.run.temperature;
  if (const specverify::status why = check_served(session_.transform(), served); !why.ok()) return why;
  engine* fed = nullptr;
  if (const specverify::status why = text_.feed(rows, now, fed); !why.ok()) return why;
  (void)specverify::supply(session_, *fed, now);  // a rejection is reported as an output
  return {};
}

refusal served_session::take(std::uint64_t now, const message_sender& send) {
  refusal ended = refusal::none;
  const specverify::session_work work =
      specverify::take_outputs(session_, [&](const specverify::session_output& out) -> specverify::status {
        if (out.action == session_action::send) {
          if (!is_refusal(out.bytes)) folder_.create();
          send(out.bytes);
        }
        if (out.action == session_action::finished) cancelled_ = out.stop == specverify::stop_reason::cancelled;
        if (out.action == session_action::rollback) text_.truncate(out.position);
        if (out.action != session_action::journal) return {};
        ended = folder_.write(out);
        if (ended == refusal::none) return {};
        return {specverify::errc::beyond_limit, specverify::part::host, static_cast<std::uint32_t>(ended)};
      });
  if (work.wait == specverify::session_wait::rows) {
    misplaced_ = text_.append(work.asked.position, work.asked.tokens);
    wanted_rows_ = work.asked.rows;
  } else if (work.wait == specverify::session_wait::scores) {  // there is no decision head
    (void)session_.engine_failed({specverify::errc::unsupported, specverify::part::host, 0});
    return take(now, send);
  }
  const bool over = ended != refusal::none || is_over();
  if (over) wanted_rows_ = 0;  // a pass that waits would be useless
  text_.set_waiting(wants_work(), now);
  if (over) text_.release();
  return ended;
}

}  // namespace edge_cloud
