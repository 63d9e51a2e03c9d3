// SPDX-License-Identifier: Apache-2.0
// Link between the two hosts of a simulation, with its faults: whole messages over a pipe or a broker, or datagrams
// under delivery.
#ifndef SPECVERIFY_TESTS_SESSION_SIMULATED_LINK_HPP
#define SPECVERIFY_TESTS_SESSION_SIMULATED_LINK_HPP

#include <specverify/codec/message.hpp>
#include <specverify/delivery/delivery.hpp>
#include <specverify/session/output.hpp>

#include <session/hash_model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace specverify_test {

namespace sv = specverify;
using bytes = std::vector<std::byte>;

enum class side : std::uint8_t { edge, cloud };

enum class link_kind : std::uint8_t {
  pipe,       //!< in order, each once. If it breaks, earlier messages may still go up. Nobody has a timer
  broker,     //!< in order, each once; it outlives both processes
  datagrams,  //!< lost, copied, late and damaged, under delivery
  copies      //!< at least once, under delivery without timers
};

//! Events between the hosts.
struct link_counts {
  std::uint64_t connections = 0, broken = 0, replaced = 0;  // replaced: by a connection that was accepted late
  std::uint64_t lost = 0, damaged = 0, late = 0, copies = 0;

  link_counts& operator+=(const link_counts& o) {
    connections += o.connections, broken += o.broken, replaced += o.replaced;
    lost += o.lost, damaged += o.damaged, late += o.late, copies += o.copies;
    return *this;
  }
};

class simulated_link {
 public:
  simulated_link() = default;
  simulated_link(const simulated_link&) = delete;
  simulated_link& operator=(const simulated_link&) = delete;
  virtual ~simulated_link() = default;

  // Calls of a side's host.
  //! Returns whether it may take one more output of its session.
  [[nodiscard]] virtual bool takes(side) const { return true; }
  virtual void send(side from, std::span<const std::byte> message, sv::session_time now) = 0;
  //! Must be called when the host has taken all outputs and its session can receive messages.
  virtual void drained(side, sv::session_time) {}

  // Calls of the edge's host.
  [[nodiscard]] virtual bool stands() const = 0;
  [[nodiscard]] virtual bool may_connect(bool cloud_lives) const = 0;
  virtual void connect(sv::session_time now) = 0;
  [[nodiscard]] virtual std::optional<sv::session_time> deadline() const { return std::nullopt; }
  virtual void tick(sv::session_time) {}

  // Calls of the simulation.
  [[nodiscard]] virtual bool carries_to(side) const = 0;
  //! Lets something arrive, and returns a message if it brings one. `room`: the session can receive messages.
  [[nodiscard]] virtual std::optional<bytes> arrive(side to, bool room, sv::session_time now) = 0;
  virtual void die(side) = 0;
  //! Loses the connection. Returns false if this link cannot lose it that way.
  virtual bool break_off() { return false; }
  //! Returns whether the sent and injected messages are those that arrived and were counted.
  [[nodiscard]] virtual bool adds_up() const { return true; }

  link_counts counts{};
};

[[nodiscard]] inline bool is_hello(const bytes& message) {
  return (std::to_integer<unsigned>(message.front()) & 15u) == static_cast<unsigned>(sv::message_kind::hello);
}

class message_link final : public simulated_link {
 public:
  message_link(bool is_pipe, dice& chance) : is_pipe_(is_pipe), chance_(chance) {}

  void send(side from, std::span<const std::byte> message, sv::session_time) override {
    if (stands_) (from == side::edge ? up_ : down_).emplace_back(message.begin(), message.end());
  }
  [[nodiscard]] bool stands() const override { return stands_; }
  [[nodiscard]] bool may_connect(bool cloud_lives) const override { return cloud_lives || !is_pipe_; }
  void connect(sv::session_time) override {
    counts.connections += 1;
    stands_ = true;
  }
  [[nodiscard]] bool carries_to(side to) const override {
    return to == side::edge ? !down_.empty() : !up_.empty() || !before_.empty() || (late_ && stands_);
  }
  [[nodiscard]] std::optional<bytes> arrive(side to, bool room, sv::session_time) override {
    if (!room) return std::nullopt;
    if (to == side::edge) return taken(down_);
    const std::uint64_t kinds = (up_.empty() ? 0u : 1u) + (before_.empty() ? 0u : 1u) + (late_ && stands_ ? 1u : 0u);
    std::uint64_t which = chance_.below(kinds);
    if (!up_.empty() && which-- == 0) return next_up();
    if (!before_.empty() && which == 0) return next_before();
    counts.replaced += 1;
    const bytes message = *std::exchange(late_, std::nullopt);
    break_off();
    return message;
  }
  void die(side which) override {
    if (!is_pipe_) return;
    break_off();
    if (which == side::cloud) before_.clear();
  }
  bool break_off() override {
    if (!is_pipe_) return false;
    counts.broken += stands_ ? 1u : 0u;
    const std::size_t arrives = stands_ ? static_cast<std::size_t>(chance_.below(up_.size() + 1)) : 0;
    before_.insert(before_.end(), up_.begin(), up_.begin() + static_cast<std::ptrdiff_t>(arrives));
    up_.clear();
    down_.clear();
    stands_ = false;
    return true;
  }

 private:
  [[nodiscard]] static bytes taken(std::deque<bytes>& from) {
    bytes first = std::move(from.front());
    from.pop_front();
    return first;
  }
  //! The host reads only the new connection, from its hello on. An older connection may be accepted after it.
  [[nodiscard]] bytes next_up() {
    bytes message = taken(up_);
    if (!is_hello(message)) return message;
    late_.reset();
    if (chance_.chance(0.3)) {
      for (const bytes& old : before_)
        if (is_hello(old) && !late_) late_ = old;
    }
    before_.clear();
    return message;
  }
  [[nodiscard]] std::optional<bytes> next_before() {
    bytes message = taken(before_);
    if (is_hello(message) && chance_.chance(0.5)) return std::nullopt;  // it was never accepted
    return message;
  }

  bool is_pipe_;
  dice& chance_;
  bool stands_ = false;
  std::deque<bytes> up_{}, down_{};
  std::deque<bytes> before_{};   // of a connection that is gone
  std::optional<bytes> late_{};  // a hello of such a connection
};

//! Faults of datagrams.
struct datagram_faults {
  double noise = 0;   //!< probability that a datagram is lost, damaged or late
  double copies = 0;  //!< probability that a datagram of any age is repeated; it falls with each copy
  bool timers = true;
};

class datagram_link final : public simulated_link {
 public:
  static constexpr sv::session_time patience = 1000;

  datagram_link(const datagram_faults& suffers, dice& chance) : suffers_(suffers), chance_(chance) {
    for (const side which : {side::edge, side::cloud}) begin(which);
  }

  [[nodiscard]] bool takes(side from) const override { return of(from).unsent.empty(); }
  void send(side from, std::span<const std::byte> message, sv::session_time now) override {
    of(from).unsent.emplace_back(message.begin(), message.end());
    flush(now);
  }
  void drained(side which, sv::session_time now) override {
    of(which).at->want_missing();
    flush(now);
  }
  [[nodiscard]] bool stands() const override { return !of(side::edge).at->is_closed(); }
  [[nodiscard]] bool may_connect(bool) const override { return true; }
  void connect(sv::session_time now) override {
    counts.connections += 1;
    of(side::edge).unsent.clear();
    of(side::edge).at->open(now);
    flush(now);
  }
  [[nodiscard]] std::optional<sv::session_time> deadline() const override { return of(side::edge).at->deadline(); }
  void tick(sv::session_time now) override {
    (void)of(side::edge).at->tick(now);
    flush(now);
  }
  [[nodiscard]] bool carries_to(side to) const override { return !of(to).coming.empty(); }
  [[nodiscard]] std::optional<bytes> arrive(side to, bool room, sv::session_time now) override {
    const std::optional<bytes> datagram = next(to);
    if (!datagram) return std::nullopt;
    end& at = of(to);
    const auto heard = at.at->receive(*datagram, now, room);
    std::optional<bytes> message;
    if (heard && !heard->empty()) message.emplace(heard->begin(), heard->end());
    if (const std::uint64_t incarnations = at.at->statistics().incarnations; incarnations != at.incarnations) {
      at.incarnations = incarnations;
      if (to == side::cloud) at.unsent.clear();  // it was sent for another one
    }
    flush(now);
    return message;
  }
  void die(side which) override {
    counts.broken += which == side::edge && stands() ? 1u : 0u;
    add(of(which).before, of(which).at->statistics());
    begin(which);
    if (!chance_.chance(0.5)) return;
    counts.lost += of(which).coming.size();
    of(which).coming.clear();
  }
  //! The client's process gives up an incarnation without an answer.
  bool break_off() override {
    if (suffers_.timers) return false;
    counts.broken += 1;
    add(of(side::edge).before, of(side::edge).at->statistics());
    begin(side::edge);
    return true;
  }
  [[nodiscard]] bool adds_up() const override {
    sv::delivery_statistics all;
    std::uint64_t coming = 0;
    for (const end& one : ends_) {
      add(all, one.before);
      add(all, one.at->statistics());
      coming += one.coming.size();
    }
    return all.sent + counts.copies == all.received + counts.lost + coming && all.damaged >= counts.damaged &&
           all.received == all.messages_received + all.acknowledgements + all.control + all.copies + all.early +
                               all.late + all.damaged;
  }

 private:
  struct end {
    std::unique_ptr<sv::delivery> at{};
    std::deque<bytes> unsent{};  // after a full window
    std::deque<bytes> coming{};  // to this side
    std::uint64_t incarnations = 0;
    sv::delivery_statistics before{};  // of earlier processes
  };

  [[nodiscard]] end& of(side which) { return ends_[static_cast<std::size_t>(which)]; }
  [[nodiscard]] const end& of(side which) const { return ends_[static_cast<std::size_t>(which)]; }

  void begin(side which) {
    sv::delivery_options o;
    o.side = which == side::edge ? sv::delivery_side::client : sv::delivery_side::server;
    o.salt = ++salts_;
    o.retry_timeout = suffers_.timers ? patience : 0;
    o.retry_limit = 12;
    end& one = of(which);
    one.at = std::make_unique<sv::delivery>(*sv::delivery::make(o));
    one.unsent.clear();
    one.incarnations = 0;
  }
  void flush(sv::session_time now) {
    for (const side from : {side::edge, side::cloud}) {
      end &at = of(from), &to = of(from == side::edge ? side::cloud : side::edge);
      while (!at.unsent.empty()) {
        if (at.at->send(at.unsent.front(), now).code == sv::errc::busy) break;
        at.unsent.pop_front();  // or nobody received it
      }
      for (auto made = at.at->next_datagram(); !made.empty(); made = at.at->next_datagram()) {
        to.coming.emplace_back(made.begin(), made.end());
        if (ever_.size() < 60) ever_.emplace_back(&to, to.coming.back());
      }
    }
  }
  static void insert(std::deque<bytes>& into, std::uint64_t at, bytes datagram) {
    into.insert(into.begin() + static_cast<std::ptrdiff_t>(at), std::move(datagram));
  }
  //! Returns the next datagram as it arrives, or nothing if it is lost.
  [[nodiscard]] std::optional<bytes> next(side to) {
    if (chance_.chance(suffers_.copies) && !ever_.empty()) {
      const auto& [where, copy] = ever_[static_cast<std::size_t>(chance_.below(ever_.size()))];
      insert(where->coming, chance_.below(where->coming.size() + 1), copy);
      counts.copies += 1;
      suffers_.copies = std::max(0.0, suffers_.copies - 0.004);
    }
    std::deque<bytes>& coming = of(to).coming;
    bytes datagram = std::move(coming.front());
    coming.pop_front();
    if (!chance_.chance(suffers_.noise)) return datagram;
    switch (chance_.below(3)) {
      case 0:
        counts.lost += 1;
        return std::nullopt;
      case 1:
        counts.late += 1;
        insert(coming, chance_.below(coming.size() + 1), std::move(datagram));
        return std::nullopt;
      default:
        counts.damaged += 1;
        if (chance_.chance(0.2)) {
          datagram.resize(static_cast<std::size_t>(chance_.below(datagram.size())));
        } else {
          datagram[static_cast<std::size_t>(chance_.below(datagram.size()))] ^=
              static_cast<std::byte>(1u << chance_.below(8));
        }
        return datagram;
    }
  }
  static void add(sv::delivery_statistics& into, const sv::delivery_statistics& from) {
    for (const auto counter :
         {&sv::delivery_statistics::sent, &sv::delivery_statistics::received,
          &sv::delivery_statistics::messages_received, &sv::delivery_statistics::acknowledgements,
          &sv::delivery_statistics::control, &sv::delivery_statistics::copies, &sv::delivery_statistics::early,
          &sv::delivery_statistics::late, &sv::delivery_statistics::damaged})
      into.*counter += from.*counter;
  }

  datagram_faults suffers_;
  dice& chance_;
  std::array<end, 2> ends_{};
  std::vector<std::pair<end*, bytes>> ever_{};
  std::uint64_t salts_ = 0;
};

}  // namespace specverify_test

#endif
