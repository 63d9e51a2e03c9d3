// SPDX-License-Identifier: Apache-2.0
//! What the edge does with a refusal, and what it says when it has failed itself.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_REFUSALS_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_REFUSALS_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/edge_session.hpp>

#include <algorithm>
#include <iterator>

SPECVERIFY_NAMESPACE_BEGIN

//! One that ends the session counts where it names the present epoch, or is the host's own, which knows no epochs; the
//! others name the open question.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_refusal(std::span<const std::byte> message,
                                                              const message_header& header, session_time now) noexcept {
  wire_context session{};
  session.session_id = options_.session_id;
  const wire_context contexts[] = {own_end(), session, {}};  // of this life, of the session, of nobody
  const wire_context* const named = std::find_if(std::begin(contexts), std::end(contexts), [&](const wire_context& of) {
    return detail::belongs_to(of, message, header);
  });
  if (named == std::end(contexts))
    return contexts_.find_end(message, header) != nullptr ? drop(errc::stale_epoch)
                                                          : on_damage(errc::checksum_mismatch, now);
  const result<refuse_message> refusal = decode_refuse(*named, message);
  if (!refusal) return on_damage(errc::checksum_mismatch, now);
  const status& reason = refusal->reason;
  if (state_ == edge_state::finished) return drop(errc::session_closed);
  const bool is_host = named == contexts + 1 && reason.reporter == part::host;
  if (detail::ends_session(reason.code) && named != std::begin(contexts) && !is_host) return drop(errc::stale_epoch);
  state_.take(message_kind::refuse);
  if (reason.code == errc::unknown_session) return on_unknown(reason, now);
  if (!detail::ends_session(reason.code)) {
    const bool open = question_.is_open() && reason.where == question_.checksum;
    if (open) heard_.pass(header.flags);
    if (!open || !question_.may_hurry(options_.retry_timeout, options_.retry_limit))
      return drop(errc::unexpected_message);
    return hurry(now);
  }
  if (place_.is_cancelled()) return finish(false);  // the session is over there, which is what the host wanted
  refusal_ = reason;
  if (reason.code == errc::unverified_text) return fail({reason.code, part::session, reason.where});
  return fail({errc::refused_by_peer, part::session, static_cast<std::uint32_t>(reason.code)});
}

//! The cloud does not know the session, or has not all of its text and this side forgot the rest.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_unknown(status reason, session_time now) noexcept {
  if (!question_.is_open() || reason.where != question_.checksum) return drop(errc::unknown_session);
  if (place_.is_over()) return finish(false);  // nobody has another text
  heard_ = {};
  forget_fetch();
  peer_.greetings += 1;
  if (place_.length == 0 || peer_.greetings > 64) {
    refusal_ = reason;
    return fail({errc::unknown_session, part::session, 0});
  }
  state_.enter<edge_event::unknown>();
  return ask(question::hello, now);
}

//! A cloud that goes on with a session that has failed here is told why. Refusals are never answered.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::after_failure(std::span<const std::byte> message,
                                                                 const message_header& header) noexcept {
  const result<std::uint64_t> greeted = session_of(message);
  const bool ours = (greeted && *greeted == options_.session_id) || detail::belongs_to(context(), message, header) ||
                    contexts_.find(message, header) != nullptr;
  if (ours && header.kind != message_kind::refuse) tell_failure();
  return drop(errc::session_closed);
}

SPECVERIFY_NAMESPACE_END

#endif
