// SPDX-License-Identifier: Apache-2.0
//! What an edge's protocol is made of: the open question, the other side, tokens ahead, the link, hidden states.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_PARTS_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_PARTS_HPP

#include <specverify/policy/observation.hpp>
#include <specverify/session/output.hpp>
#include <specverify/session/snapshot.hpp>
#include <specverify/session/statistics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

enum class question : std::uint8_t { none, hello, resume, text, draft, supply, stop };

//! What the cloud was asked and has not answered. Without a question there is no deadline, but in a stream.
class open_question {
 public:
  [[nodiscard]] bool is_open() const noexcept { return what_ != question::none; }
  [[nodiscard]] question what() const noexcept { return what_; }
  //! That it was sent under, and the checksum of its message.
  [[nodiscard]] const wire_context& context() const noexcept { return context_; }
  [[nodiscard]] std::uint32_t checksum() const noexcept { return checksum_; }
  //! Times that it was asked again.
  [[nodiscard]] std::uint32_t attempts() const noexcept { return attempts_; }
  [[nodiscard]] const std::optional<session_time>& deadline() const noexcept { return deadline_; }

  //! Times that it was sent again at once, because of damage, since the last deadline.
  [[nodiscard]] std::uint32_t hurries() const noexcept { return hurries_; }

  void open(question what) noexcept {
    what_ = what;
    progress();
  }
  void ask_again() noexcept {
    attempts_ += 1;
    hurries_ = 0;
  }
  //! Whether it may be sent again because of damage: once a deadline; without deadlines `limit` times.
  [[nodiscard]] bool may_hurry(session_time timeout, std::uint32_t limit) const noexcept {
    return hurries_ < (timeout != 0 ? 1 : limit);
  }
  void hurry() noexcept { hurries_ += 1; }
  //! An answer came.
  void progress() noexcept { attempts_ = hurries_ = 0; }
  //! Is asked again in other words.
  void rephrase(question what) noexcept { what_ = what; }
  //! What `stop` says if the host ends the text.
  void stop_because(stop_cause cause) noexcept { cause_ = cause; }
  [[nodiscard]] stop_cause cause() const noexcept { return cause_; }
  void encode_under(const wire_context& context) noexcept { context_ = context; }
  //! The draft's message stands ready in its memory: so many bytes. 0: it has to be made.
  void prepare(std::size_t bytes) noexcept { prepared_ = bytes; }
  [[nodiscard]] std::size_t prepared() const noexcept { return prepared_; }
  void sent(std::uint32_t checksum) noexcept { checksum_ = checksum; }
  //! `timeout` 0: no deadline. One beyond the end of time is that end.
  void wait(session_time now, session_time timeout) noexcept {
    deadline_.reset();
    if (timeout != 0) deadline_ = now + std::min(timeout, ~now);
  }
  void close() noexcept {
    what_ = question::none;
    deadline_.reset();
  }

 private:
  wire_context context_{};
  std::optional<session_time> deadline_{};
  std::size_t prepared_ = 0;
  std::uint32_t checksum_ = 0;
  std::uint32_t attempts_ = 0;
  std::uint32_t hurries_ = 0;
  question what_ = question::none;
  stop_cause cause_ = stop_cause::cancelled;
};

//! What a life of an edge without a journal is known by when it begins at `now`. It counts up where another life would
//! begin an epoch; 256 nonces come before those of the next microsecond, so that two lives have none in common.
[[nodiscard]] constexpr std::uint64_t nonce_at(session_time now) noexcept {
  constexpr std::uint64_t each = 256;
  return now < ~std::uint64_t{0} / each ? now * each : ~std::uint64_t{0} - each;
}

//! What the cloud said of itself, and the text that is fetched from it.
class peer_view {
 public:
  [[nodiscard]] std::uint32_t length() const noexcept { return length_; }
  [[nodiscard]] std::uint32_t round() const noexcept { return round_; }
  [[nodiscard]] std::uint32_t target_length() const noexcept { return target_length_; }
  [[nodiscard]] std::uint64_t target_hash() const noexcept { return target_hash_; }
  //! Where the text that is being fetched begins, and where the edge's own ended, which it has to repeat.
  [[nodiscard]] std::uint32_t fetch_start() const noexcept { return fetch_start_; }
  [[nodiscard]] std::uint32_t fetch_own() const noexcept { return fetch_own_; }
  //! What an edge without a journal is known by.
  [[nodiscard]] std::uint64_t nonce() const noexcept { return nonce_; }
  //! Since the last progress.
  [[nodiscard]] std::uint32_t greetings() const noexcept { return greetings_; }

  void name_by(std::uint64_t nonce) noexcept { nonce_ = nonce; }
  //! By the next one: asks anew.
  void name_anew() noexcept { nonce_ += nonce_ + 1 != 0 ? 1 : 0; }
  void greet() noexcept { greetings_ += 1; }
  void progress() noexcept { greetings_ = furthest_ = 0; }
  void stands_at(std::uint32_t length, std::uint32_t round) noexcept {
    if (length > furthest_) greetings_ = 0;
    furthest_ = std::max(furthest_, length);
    length_ = length;
    round_ = round;
  }
  void fetch_from(std::uint32_t position, std::uint32_t own) noexcept {
    fetch_start_ = position;
    fetch_own_ = own;
  }
  //! All that the cloud has is wanted.
  void aim(std::uint64_t hash) noexcept {
    target_length_ = length_;
    target_hash_ = hash;
  }

 private:
  std::uint64_t target_hash_ = 0;
  std::uint64_t nonce_ = 0;
  std::uint32_t length_ = 0;
  std::uint32_t round_ = 0;
  std::uint32_t target_length_ = 0;
  std::uint32_t fetch_start_ = 0;
  std::uint32_t fetch_own_ = 0;
  std::uint32_t greetings_ = 0;
  std::uint32_t furthest_ = 0;
};

//! Tokens written ahead of the cloud while the link is lost: when the next one is due, how far they were shown, and
//! whose counters they have.
class ahead_view {
 public:
  [[nodiscard]] const std::optional<session_time>& deadline() const noexcept { return at_; }
  //! The engine works on a row for a token beyond the open round's drafts.
  [[nodiscard]] bool is_writing() const noexcept { return writing_; }
  //! End of the tokens that the host was shown beyond the open round's drafts, and the round that they were drawn in.
  [[nodiscard]] std::uint32_t shown_end() const noexcept { return shown_end_; }
  [[nodiscard]] std::uint32_t drawn_in() const noexcept { return round_; }
  [[nodiscard]] std::uint32_t carry_round() const noexcept { return carry_round_; }
  [[nodiscard]] std::uint32_t carry_end() const noexcept { return carry_end_; }
  //! The round whose counters a draft at `position` has.
  [[nodiscard]] std::uint32_t round_of(std::uint32_t position, std::uint32_t open_round) const noexcept {
    return position < carry_end_ ? carry_round_ : open_round;
  }

  void plan(session_time at) noexcept { at_ = at; }
  void cancel() noexcept { at_.reset(); }
  void write() noexcept {
    at_.reset();
    writing_ = true;
  }
  void written() noexcept { writing_ = false; }
  void stop() noexcept {
    at_.reset();
    writing_ = false;
  }
  //! The first one ahead of a round's drafts.
  void begin(std::uint32_t round) noexcept { round_ = round; }
  void show(std::uint32_t end) noexcept { shown_end_ = end; }
  void forget_shown() noexcept { shown_end_ = 0; }
  //! The round is decided: what was shown beyond it stands, or is forgotten.
  void carry_on(bool keep) noexcept {
    carry_round_ = keep ? round_ : 0;
    carry_end_ = keep ? shown_end_ : 0;
    if (!keep) shown_end_ = 0;
  }
  void restore(std::uint32_t carry_round, std::uint32_t carry_end) noexcept {
    carry_round_ = carry_round;
    carry_end_ = carry_end;
  }

 private:
  std::optional<session_time> at_{};
  std::uint32_t shown_end_ = 0;
  std::uint32_t round_ = 0;
  std::uint32_t carry_round_ = 0;
  std::uint32_t carry_end_ = 0;
  bool writing_ = false;
};

//! What policies see of rounds and link. What is measured counts from the next round on: a round that is drafted again
//! after a restart must see what it saw.
class link_view {
 public:
  [[nodiscard]] const observation& seen() const noexcept { return seen_; }
  [[nodiscard]] const channel_report& channel() const noexcept { return channel_; }
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }

  void lose() noexcept { lost_ = true; }
  void mend() noexcept { lost_ = false; }
  //! The transport was lost while a block was drafted: it is named again before the block is sent.
  void name_again(bool wanted) noexcept { names_again_ = wanted; }
  [[nodiscard]] bool names_again() const noexcept { return names_again_; }
  void measure(float uplink_rate, float downlink_rate, float round_trip) noexcept {
    measured_.uplink_rate = uplink_rate;
    measured_.downlink_rate = downlink_rate;
    measured_.round_trip = round_trip;
  }
  void measure_drafting(float draft_time) noexcept { measured_.draft_time = draft_time; }
  void measure(const channel_report& channel, std::uint32_t uplink_state) noexcept {
    measured_channel_ = channel;
    measure(channel.uplink_rate, channel.downlink_rate, channel.round_trip);
    measured_.uplink_state = uplink_state;
  }
  //! Between two rounds: what was measured becomes part of what policies see, and of the journal.
  void note() noexcept {
    seen_.uplink_rate = measured_.uplink_rate;
    seen_.downlink_rate = measured_.downlink_rate;
    seen_.round_trip = measured_.round_trip;
    seen_.draft_time = measured_.draft_time;
    seen_.uplink_state = measured_.uplink_state;
    channel_ = measured_channel_;
  }
  void stand_at(std::uint32_t position) noexcept { seen_.position = position; }
  void begin_round(std::uint32_t round) noexcept { seen_.round = round; }
  void accept(float probability) noexcept { record_accepted(seen_, probability); }
  void decide(const round_record& round) noexcept {
    record_round(seen_, round.drafted, round.accepted, round.emitted, round.draft_bytes, round.resolution);
  }
  void restore(const observation& seen, const channel_report& channel) noexcept {
    seen_ = measured_ = seen;
    channel_ = measured_channel_ = channel;
  }

 private:
  observation seen_{};
  observation measured_{};
  channel_report channel_{};
  channel_report measured_channel_{};
  bool lost_ = false;
  bool names_again_ = false;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
