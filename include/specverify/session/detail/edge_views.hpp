// SPDX-License-Identifier: Apache-2.0
//! What an edge keeps in mind: the open question, the other side, tokens ahead, the link.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_VIEWS_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_VIEWS_HPP

#include <specverify/policy/observation.hpp>
#include <specverify/session/output.hpp>
#include <specverify/session/snapshot.hpp>
#include <specverify/session/statistics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

enum class question : std::uint8_t { none, hello, resume, text, draft, supply, stop };

//! What the cloud was asked and has not answered. Without a question there is no deadline, but in a stream.
struct open_question {
  question what = question::none;
  wire_context context{};      //!< that it was sent under
  std::uint32_t checksum = 0;  //!< of its message
  std::uint32_t attempts = 0;  //!< times that it was asked again
  std::uint32_t hurries = 0;   //!< times that it was sent again at once, because of damage, since the last deadline
  std::optional<session_time> deadline{};
  std::size_t prepared = 0;  //!< bytes of the draft's message that stand ready in its memory; 0: it has to be made
  stop_cause cause = stop_cause::cancelled;  //!< what `stop` says if the host ends the text

  [[nodiscard]] bool is_open() const noexcept { return what != question::none; }
  void open(question asked) noexcept {
    what = asked;
    progress();
  }
  //! An answer came.
  void progress() noexcept { attempts = hurries = 0; }
  //! Whether it may be sent again because of damage: once a deadline; without deadlines `limit` times.
  [[nodiscard]] bool may_hurry(session_time timeout, std::uint32_t limit) const noexcept {
    return hurries < (timeout != 0 ? 1 : limit);
  }
  //! `timeout` 0: no deadline. One beyond the end of time is that end.
  void wait(session_time now, session_time timeout) noexcept {
    deadline.reset();
    if (timeout != 0) deadline = now + std::min(timeout, ~now);
  }
  void close() noexcept {
    what = question::none;
    deadline.reset();
  }
};

//! What a life of an edge without a journal is known by when it begins at `now`. It counts up where another life would
//! begin an epoch; 256 nonces come before those of the next microsecond, so that two lives have none in common.
[[nodiscard]] constexpr std::uint64_t nonce_at(session_time now) noexcept {
  constexpr std::uint64_t each = 256;
  return now < ~std::uint64_t{0} / each ? now * each : ~std::uint64_t{0} - each;
}

//! What the cloud said of itself, and the text that is fetched from it.
struct peer_view {
  std::uint32_t length = 0;
  std::uint32_t round = 0;
  std::uint32_t target_length = 0;  //!< all that the cloud has is wanted
  std::uint64_t target_hash = 0;
  std::uint32_t fetch_start = 0;  //!< where the text that is being fetched begins
  std::uint32_t fetch_own = 0;    //!< and where the edge's own ended, which it has to repeat
  std::uint64_t nonce = 0;        //!< what an edge without a journal is known by
  std::uint32_t greetings = 0;    //!< since the last progress
  std::uint32_t furthest = 0;

  void progress() noexcept { greetings = furthest = 0; }
  void stands_at(std::uint32_t tokens, std::uint32_t in_round) noexcept {
    if (tokens > furthest) greetings = 0;
    furthest = std::max(furthest, tokens);
    length = tokens;
    round = in_round;
  }
};

//! Tokens written ahead of the cloud while the link is lost: when the next one is due, how far they were shown, and
//! whose counters they have.
struct ahead_view {
  std::optional<session_time> deadline{};
  bool writing = false;         //!< the engine works on a row for a token beyond the open round's drafts
  std::uint32_t shown_end = 0;  //!< of the tokens that the host was shown beyond the open round's drafts
  std::uint32_t round = 0;      //!< that they were drawn in
  std::uint32_t carry_round = 0;
  std::uint32_t carry_end = 0;

  //! The round whose counters a draft at `position` has.
  [[nodiscard]] std::uint32_t round_of(std::uint32_t position, std::uint32_t open_round) const noexcept {
    return position < carry_end ? carry_round : open_round;
  }
  void stop() noexcept {
    deadline.reset();
    writing = false;
  }
  //! The round is decided: what was shown beyond it stands, or is forgotten.
  void carry_on(bool keep) noexcept {
    carry_round = keep ? round : 0;
    carry_end = keep ? shown_end : 0;
    if (!keep) shown_end = 0;
  }
};

//! What policies see of rounds and link. What is measured counts from the next round on: a round that is drafted again
//! after a restart must see what it saw.
struct link_view {
  observation seen{};
  observation measured{};
  channel_report channel{};
  channel_report measured_channel{};
  bool lost = false;
  bool names_again = false;  //!< lost while a block was drafted: it is named again before the block is sent

  void measure(float uplink_rate, float downlink_rate, float round_trip) noexcept {
    measured.uplink_rate = uplink_rate;
    measured.downlink_rate = downlink_rate;
    measured.round_trip = round_trip;
  }
  void measure(const channel_report& now, std::uint32_t uplink_state) noexcept {
    measured_channel = now;
    measure(now.uplink_rate, now.downlink_rate, now.round_trip);
    measured.uplink_state = uplink_state;
  }
  //! Between two rounds: what was measured becomes part of what policies see, and of the journal.
  void note() noexcept {
    seen.uplink_rate = measured.uplink_rate;
    seen.downlink_rate = measured.downlink_rate;
    seen.round_trip = measured.round_trip;
    seen.draft_time = measured.draft_time;
    seen.uplink_state = measured.uplink_state;
    channel = measured_channel;
  }
  void restore(const observation& recorded, const channel_report& reported) noexcept {
    seen = measured = recorded;
    channel = measured_channel = reported;
  }
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
