// SPDX-License-Identifier: Apache-2.0
//! Delivers whole messages in order and exactly once, over a transport that may lose, repeat, delay or damage
//! datagrams. It is a pure state machine: no I/O, no clock, no thread.
//!
//! Use it in an event loop. After each call, the loop must send the datagrams that `next_datagram` returns, until the
//! returned span is empty. If blocking a thread is acceptable, use `delivered` instead.
//! Guarantees: whatever the transport does, messages arrive in order and exactly once, or the connection is lost with
//!             link_lost or peer_timeout. However, a damaged datagram is accepted if the check (`check_bytes` bytes)
//!             matches by accident. O(bytes) per datagram; only `make` allocates: `delivery_window` messages of the
//!             largest size.
//! See:        docs/algorithms/delivery.md, tests/unit/delivery/{delivery,schedule}_test.cpp
#ifndef SPECVERIFY_DELIVERY_DELIVERY_HPP
#define SPECVERIFY_DELIVERY_DELIVERY_HPP

#include <specverify/core/siphash.hpp>
#include <specverify/delivery/detail/window.hpp>
#include <specverify/delivery/options.hpp>

#include <array>
#include <optional>
#include <utility>

SPECVERIFY_NAMESPACE_BEGIN

class delivery {
 public:
  //! Returns a `delivery`. Errors: salt_missing (at_salt), invalid_argument (at_*), out_of_memory.
  [[nodiscard]] static result<delivery> make(const delivery_options& options) {
    const auto wrong = [](std::uint32_t where) { return status{errc::invalid_argument, part::host, where}; };
    if (options.salt == 0) return status{errc::salt_missing, part::host, options.at_salt};
    if (options.max_message_bytes == 0) return wrong(options.at_max_message_bytes);
    if (options.check_bytes > 4 || options.check_bytes % 2 != 0) return wrong(options.at_check_bytes);
    if (options.retry_limit == 0) return wrong(options.at_retry_limit);
    return detail::within_memory([&]() -> result<delivery> { return delivery(options); });
  }

  // Inputs. After each input, call `next_datagram`.

  //! Client: begins a new incarnation, and forgets messages in flight of the old incarnation. You can send messages
  //! immediately, before the server has answered.
  void open(std::uint64_t now) noexcept {
    forget();
    live_ = {next_nonce(), 0, options_.check_bytes, options_.retry_timeout == 0};
    state_ = state::opening;
    statistics_.incarnations += 1;
    control_ = control_datagram{datagram_kind::connect, live_};
    wait(now);
  }
  //! Takes a message of 1 to max_message_bytes bytes. Errors: link_lost (no incarnation is open or being opened), busy
  //! (delivery_window messages are in flight; retry when a datagram has arrived), size_mismatch.
  [[nodiscard]] status send(std::span<const std::byte> message, std::uint64_t now) noexcept {
    if (state_ == state::closed) return said(errc::link_lost);
    if (message.empty() || message.size() > options_.max_message_bytes) return said(errc::size_mismatch);
    if (window_.is_full()) return said(errc::busy);
    window_.push(message);
    statistics_.messages_sent += 1;
    wait(now);
    return {};
  }
  //! Takes a datagram. Returns the message in it, as a part of `datagram`, or an empty span. If `room` is false, it
  //! takes no message, and you must call `want_missing` later.
  //! Errors: truncated, checksum_mismatch, not_canonical (unreadable, dropped); duplicate; stale_epoch (a late control
  //! datagram); link_lost (the peer has reset the incarnation).
  [[nodiscard]] result<std::span<const std::byte>> receive(std::span<const std::byte> datagram, std::uint64_t now,
                                                           bool room = true) noexcept {
    statistics_.received += 1;
    if (!datagram.empty() && (datagram[0] & std::byte{0x80}) != std::byte{0}) {
      const result<control_datagram> read = read_control(datagram);
      if (!read) return count(statistics_.damaged, read.error());
      if (const status why = take_control(*read, now); !why.ok()) return why;
      return std::span<const std::byte>{};
    }
    result<data_datagram> found = said(errc::checksum_mismatch);
    if (is_open()) found = read_data(live_, !is_client(), expected_, window_.acknowledged(), datagram);
    if (!found && candidate_) {
      found = read_data(*candidate_, !is_client(), 0, 0, datagram);
      if (found) begin(*std::exchange(candidate_, std::nullopt));  // the client has this side's nonce
    }
    return found ? take(*found, now, room) : refuse(datagram, found.error());
  }
  //! Requests the messages that were not taken, because they arrived out of order or while `room` was false.
  void want_missing() noexcept { asks_ = asks_ || expected_ < seen_end_; }
  //! Client: reports the time. Does nothing before `deadline()`. Errors: peer_timeout (the incarnation is lost).
  [[nodiscard]] status tick(std::uint64_t now) noexcept {
    if (!deadline_ || now < *deadline_) return {};
    statistics_.timeouts += 1;
    if (++attempts_ > options_.retry_limit) return lose(errc::peer_timeout);
    if (state_ != state::open) control_ = control_datagram{datagram_kind::connect, live_};
    asks_ = is_open();
    window_.repeat();
    wait(now);
    return {};
  }

  // Outputs.

  //! Returns the next datagram to send, valid until the next call; empty if there is none.
  [[nodiscard]] std::span<const std::byte> next_datagram() noexcept {
    if (control_) {
      statistics_.sent += 1;
      return write_control(*std::exchange(control_, std::nullopt), bare_);
    }
    if (!is_open()) return {};
    if (window_.is_due()) return next_data(window_.take());
    if (!acknowledges_ && !asks_) return {};
    return next_data({window_.end(), std::span<std::byte>(bare_).subspan(max_datagram_overhead, 0)});
  }
  //! Client: returns when to call `tick`, which repeats messages and requests missing messages. There is a deadline
  //! while an incarnation is open or being opened, but a host that waits for no message need not call `tick`.
  [[nodiscard]] std::optional<std::uint64_t> deadline() const noexcept { return deadline_; }
  //! Returns whether all messages sent have arrived. Also acknowledges received messages now, without a message to
  //! send.
  [[nodiscard]] bool settle() noexcept {
    acknowledges_ = acknowledges_ || unsaid_ > 0;
    return window_.is_empty();
  }
  //! Returns whether an incarnation is open. A server opens an incarnation at the client's first data datagram, or
  //! without a check at the connect.
  [[nodiscard]] bool is_open() const noexcept { return state_ >= state::accepted; }
  //! Returns whether no incarnation is open or being opened.
  [[nodiscard]] bool is_closed() const noexcept { return state_ == state::closed; }
  [[nodiscard]] const delivery_statistics& statistics() const noexcept { return statistics_; }

 private:
  //! accepted: the state of a client until data arrive, because until then the server may change its candidate, or a
  //! different server may have answered.
  enum class state : std::uint8_t { closed, opening, accepted, open };

  explicit delivery(const delivery_options& options) : options_(options), window_(options.max_message_bytes) {}

  [[nodiscard]] static status said(errc code) noexcept { return {code, part::host, 0}; }
  [[nodiscard]] bool is_client() const noexcept { return options_.side == delivery_side::client; }
  [[nodiscard]] std::uint32_t next_nonce() noexcept {
    std::byte counted[4];
    numeric::store_le(counted, nonces_++, 4);
    return static_cast<std::uint32_t>(siphash({{options_.salt, 0}}, counted, sizeof counted).word[0]);
  }
  void wait(std::uint64_t now) noexcept {
    if (is_client() && options_.retry_timeout != 0) deadline_ = (saturating(now) + options_.retry_timeout).value;
  }
  void forget() noexcept {
    window_.clear();
    expected_ = seen_end_ = attempts_ = unsaid_ = 0;
    asked_for_.reset();
    deadline_.reset();
    acknowledges_ = asks_ = false;
    control_.reset();
  }
  void begin(const incarnation& next) noexcept {
    forget();
    live_ = next;
    state_ = state::open;
    statistics_.incarnations += 1;
  }
  [[nodiscard]] status lose(errc why) noexcept {
    forget();
    state_ = state::closed;
    statistics_.lost += 1;
    return said(why);
  }

  [[nodiscard]] static status count(std::uint64_t& counter, status why) noexcept {
    counter += 1;
    return why;
  }
  //! Handles unreadable data. Without an incarnation or without timers, a server sends a reset. Without timers, a
  //! client requests the data again, because they may belong to this incarnation but arrive too late to be read.
  [[nodiscard]] status refuse(std::span<const std::byte> datagram, status why) noexcept {
    const bool tells = !is_open() || live_.without_timers;
    if (tells && is_client()) asks_ = is_open();
    if (tells && !is_client()) control_ = control_datagram{datagram_kind::reset, live_, crc32c(datagram)};
    return count(statistics_.damaged, why);
  }
  //! Returns whether a reset names a datagram of this client: a datagram in flight, or in state `accepted` the last one
  //! sent.
  [[nodiscard]] bool is_unread(std::uint32_t name) const noexcept {
    bool found = false;
    const std::uint32_t end = window_.sent() + (state_ == state::accepted ? 1u : 0u);
    for (std::uint32_t n = window_.acknowledged(); n < end; ++n) found = found || names_[n % delivery_window] == name;
    return found && is_client();
  }
  [[nodiscard]] status take_control(const control_datagram& given, std::uint64_t now) noexcept {
    const bool waits = state_ == state::opening || state_ == state::accepted;
    const bool answers = waits && given.what.client_nonce == live_.client_nonce;
    if (given.kind == datagram_kind::connect && !is_client()) {
      accept(given.what);
    } else if (given.kind == datagram_kind::accept && answers && given.what.check_bytes >= options_.check_bytes) {
      live_.server_nonce = given.what.server_nonce;
      live_.check_bytes = given.what.check_bytes;
      state_ = state::accepted;
      control_.reset();
      asks_ = true;  // the server waits for data from this side, and this side waits for data from the server
      window_.repeat();
      wait(now);
    } else if (given.kind == datagram_kind::reset && is_open() && is_unread(given.named)) {
      if (state_ == state::open || ++attempts_ > options_.retry_limit)
        return count(statistics_.control, lose(errc::link_lost));
      state_ = state::opening;
      control_ = control_datagram{datagram_kind::connect, live_};
    } else {
      return count(statistics_.late, said(errc::stale_epoch));
    }
    return count(statistics_.control, {});
  }
  //! Answers a client's connect with this client's incarnation, live or candidate. The live incarnation stays until
  //! data match the candidate. Without a check, data match both; but then the transport delivers nothing late, so the
  //! candidate begins immediately.
  void accept(incarnation asked) noexcept {
    const bool is_live = is_open() && live_.client_nonce == asked.client_nonce;
    if (!is_live && (!candidate_ || candidate_->client_nonce != asked.client_nonce)) {
      asked.server_nonce = next_nonce();
      if (asked.check_bytes < options_.check_bytes) asked.check_bytes = options_.check_bytes;
      candidate_ = asked;
      if (asked.check_bytes == 0) begin(*std::exchange(candidate_, std::nullopt));
    }
    const bool is_candidate = candidate_ && candidate_->client_nonce == asked.client_nonce;
    control_ = control_datagram{datagram_kind::accept, is_candidate ? *candidate_ : live_};
  }

  [[nodiscard]] result<std::span<const std::byte>> take(const data_datagram& given, std::uint64_t now,
                                                        bool room) noexcept {
    const bool is_message = !given.message.empty(), in_turn = is_message && room && given.number == expected_;
    const bool advances = window_.acknowledge(given.acknowledged);
    if (in_turn || advances || window_.is_empty()) {  // otherwise the peer cannot take messages, or this is a copy
      attempts_ = 0;
      wait(now);
    }
    state_ = state::open;
    acknowledges_ = acknowledges_ || given.ask;
    if (given.ask) window_.repeat();
    if (is_message && given.number < expected_) return count(statistics_.copies, said(errc::duplicate));
    expected_ += in_turn ? 1u : 0u;
    unsaid_ += in_turn ? 1u : 0u;
    acknowledges_ = acknowledges_ || unsaid_ >= 2;  // in a stream, acknowledge every second message
    ++(in_turn ? statistics_.messages_received : is_message ? statistics_.early : statistics_.acknowledgements);
    // Requests missing messages once per gap, and again whenever the other side has no new message.
    if (const std::uint32_t end = given.number + (is_message ? 1u : 0u); seen_end_ < end) seen_end_ = end;
    if (room && expected_ < seen_end_ && (asked_for_ != expected_ || !is_message)) {
      asked_for_ = expected_;
      asks_ = true;
    }
    return in_turn ? given.message : std::span<const std::byte>{};
  }

  [[nodiscard]] std::span<const std::byte> next_data(const detail::send_window::entry& its) noexcept {
    const std::size_t head = std::size_t{1} + live_.check_bytes;
    std::byte* const at = its.message.data() - head;
    write_data_head(live_, is_client(), {its.number, expected_, asks_, its.message}, {at, head});
    const std::span<const std::byte> made{at, head + its.message.size()};
    acknowledges_ = asks_ = false;
    unsaid_ = 0;
    if (!its.message.empty() || state_ == state::accepted) names_[its.number % delivery_window] = crc32c(made);
    statistics_.repeated += its.again ? 1u : 0u;
    statistics_.sent += 1;
    return made;
  }

  delivery_options options_;
  state state_ = state::closed;
  incarnation live_{};                      // client, while opening: without the server's nonce
  std::optional<incarnation> candidate_{};  // server: accepted, but without data yet
  detail::send_window window_;
  std::uint32_t nonces_ = 0;    // number of nonces drawn
  std::uint32_t expected_ = 0;  // messages below this number have arrived
  std::uint32_t seen_end_ = 0;  // end of all messages that arrived, even if not taken
  std::uint32_t attempts_ = 0;
  std::uint32_t unsaid_ = 0;  // messages taken since the last datagram
  std::optional<std::uint32_t> asked_for_{};
  std::optional<std::uint64_t> deadline_{};
  std::optional<control_datagram> control_{};  // due to be sent
  bool acknowledges_ = false;                  // a datagram is due, even without a message
  bool asks_ = false;
  std::array<std::uint32_t, delivery_window> names_{};  // CRC-32C of the last datagrams, by number
  std::array<std::byte, control_datagram_bytes> bare_{};
  delivery_statistics statistics_{};
};

SPECVERIFY_NAMESPACE_END

#endif
