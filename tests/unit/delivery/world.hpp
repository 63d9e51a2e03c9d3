// SPDX-License-Identifier: Apache-2.0
//! A client and a server of delivery, and the network between them, which loses, copies, delays and damages datagrams,
//! forges some, and kills either side. What a schedule does comes from `Choices`: random numbers, or a fuzzer's bytes.
#ifndef SPECVERIFY_TESTS_UNIT_DELIVERY_WORLD_HPP
#define SPECVERIFY_TESTS_UNIT_DELIVERY_WORLD_HPP

#include <specverify/delivery/delivery.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace specverify_test {

namespace sv = specverify;

struct faults {
  double lost = 0, copied = 0, damaged = 0, forged = 0, killed = 0;
  bool late = false;   // datagrams overtake one another
  bool timers = true;  // without: nothing is lost, and nobody asks again
  std::uint8_t check_bytes = 4;
};

struct fault_counts {
  std::uint64_t copies = 0, losses = 0, damages = 0, forgeries = 0, kills = 0, messages = 0, lost = 0;
};

//! `Choices`: chance(p) -> bool, pick(n) -> number below n. `Expect`: expect(bool, what).
template <class Choices, class Expect>
class delivery_world {
  using bytes = std::vector<std::byte>;

  //! A message names the life and the incarnation that it was sent in, and its place there.
  struct name {
    std::uint32_t life = 0, incarnation = 0, place = 0;
  };
  struct side {
    sv::delivery_side which;
    std::optional<sv::delivery> at{};
    std::uint32_t life = 0, sent = 0;
    std::uint64_t incarnations = 0;  // that it counted
    name next{};                     // the message that must come
    bool any = false;                // one came in this incarnation
    std::vector<bytes> on_the_way{}, ever{};
    sv::delivery_statistics before{};  // of earlier lives
  };

 public:
  fault_counts counts{};

  delivery_world(Choices& choices, Expect expect, const faults& with)
      : choices_(choices), expect_(expect), with_(with) {
    begin(client_);
    begin(server_);
    open();
  }

  void step() {
    if (client_.at->is_closed()) open();
    side& s = choices_.pick(2) == 0 ? client_ : server_;
    if (choices_.chance(with_.killed)) {
      ++counts.kills;
      begin(s);
      if (&s == &client_) open();
    } else if (choices_.chance(with_.copied) && !s.ever.empty()) {
      ++counts.copies;
      receive(s, bytes(s.ever[choices_.pick(s.ever.size())]));
    } else if (choices_.chance(with_.forged)) {
      ++counts.forgeries;
      receive(s, forgery());
    } else if (choices_.chance(0.25)) {
      say(s);
    } else if (with_.timers && choices_.chance(0.1)) {
      tick(choices_.pick(1500));
    } else {
      deliver(s);
    }
  }
  //! No more faults: what was sent in the incarnation that stands at the end arrives, and every datagram was counted.
  void settle() {
    with_ = {.timers = with_.timers, .check_bytes = with_.check_bytes};
    bool said = false;
    for (int i = 0; i < 4000 && !(is_settled() && said); ++i) {
      if (client_.at->is_closed()) open();
      said = said || (client_.at->is_open() && say(client_));
      if (!deliver(server_) && !deliver(client_) && with_.timers) tick(1000);
    }
    expect_(is_settled(), "everything arrives when the faults have ended");
    const sv::delivery_statistics a = all(client_), b = all(server_);
    const std::uint64_t on_the_way = client_.on_the_way.size() + server_.on_the_way.size();
    expect_(a.sent + b.sent + counts.copies + counts.forgeries - counts.losses == a.received + b.received + on_the_way,
            "what was sent and copied was received or lost");
    for (const sv::delivery_statistics& s : {a, b}) {
      expect_(
          s.received == s.messages_received + s.acknowledgements + s.control + s.copies + s.early + s.late + s.damaged,
          "each datagram is counted once");
    }
  }

 private:
  [[nodiscard]] bool is_client(const side& s) const { return &s == &client_; }
  [[nodiscard]] side& other(const side& s) { return is_client(s) ? server_ : client_; }

  void begin(side& s) {
    if (s.at) s.before = all(s);
    sv::delivery_options options;
    options.side = s.which;
    options.salt = ++salts_;
    options.max_message_bytes = 64;
    options.check_bytes = with_.check_bytes;
    options.retry_timeout = with_.timers ? 1000 : 0;
    options.retry_limit = 12;
    s.at.emplace(*sv::delivery::make(options));
    ++s.life;
    s.incarnations = 0;
    s.sent = 0;
    s.any = false;
  }
  void open() {
    counts.lost += client_.at->statistics().incarnations > 0 ? 1u : 0u;
    client_.at->open(now_);
    client_.sent = 0;
    drain(client_);
  }
  void drain(side& from) {
    for (auto next = from.at->next_datagram(); !next.empty(); next = from.at->next_datagram()) {
      other(from).on_the_way.emplace_back(next.begin(), next.end());
      other(from).ever.emplace_back(next.begin(), next.end());
    }
  }
  [[nodiscard]] bool has_arrived(const side& s) {
    const side& to = other(s);
    return s.sent == (to.any && to.next.life == s.life ? to.next.place : 0);
  }
  [[nodiscard]] bool is_settled() {
    return client_.at->is_open() && server_.at->is_open() && has_arrived(client_) && has_arrived(server_);
  }
  bool say(side& s) {
    bytes message(12 + choices_.pick(52), std::byte{0x5a});
    sv::numeric::store_le(message.data(), s.life, 4);
    sv::numeric::store_le(message.data() + 4, s.at->statistics().incarnations, 4);
    sv::numeric::store_le(message.data() + 8, s.sent, 4);
    const bool sent = s.at->send(message, now_).ok();
    s.sent += sent ? 1u : 0u;
    drain(s);
    return sent;
  }
  //! One datagram to `to`; false: none is on the way.
  bool deliver(side& to) {
    if (to.on_the_way.empty()) return false;
    const std::size_t which = with_.late ? choices_.pick(to.on_the_way.size()) : 0;
    bytes datagram = std::move(to.on_the_way[which]);
    to.on_the_way.erase(to.on_the_way.begin() + static_cast<std::ptrdiff_t>(which));
    if (choices_.chance(with_.lost)) {
      ++counts.losses;
      return true;
    }
    if (choices_.chance(with_.damaged)) {
      ++counts.damages;
      datagram[choices_.pick(datagram.size())] ^= static_cast<std::byte>(1u << choices_.pick(8));
      if (choices_.chance(0.2)) datagram.resize(choices_.pick(datagram.size() + 1));
    }
    receive(to, datagram);
    return true;
  }
  //! What somebody sends who knows the layout and no nonce.
  [[nodiscard]] bytes forgery() {
    if (choices_.chance(0.5)) {
      bytes made(choices_.pick(24));
      for (std::byte& b : made) b = static_cast<std::byte>(choices_.pick(256));
      return made;
    }
    sv::control_datagram what;
    what.kind = static_cast<sv::datagram_kind>(1 + choices_.pick(3));
    what.what.client_nonce = static_cast<std::uint32_t>(choices_.pick(1u << 16));
    what.what.server_nonce = static_cast<std::uint32_t>(choices_.pick(1u << 16));
    what.what.check_bytes = 4;
    what.what.without_timers = !with_.timers;
    what.named = static_cast<std::uint32_t>(choices_.pick(1u << 16));
    std::array<std::byte, sv::control_datagram_bytes> space{};
    const auto made = sv::write_control(what, space);
    return {made.begin(), made.end()};
  }
  void receive(side& to, const bytes& datagram) {
    const auto heard = to.at->receive(datagram, now_);
    if (const std::uint64_t now = to.at->statistics().incarnations; now != to.incarnations) {
      to.incarnations = now;
      to.any = false;
      if (!is_client(to)) to.sent = 0;
    }
    if (heard.ok() && !heard->empty()) take(to, *heard);
    drain(to);
  }
  void take(side& to, std::span<const std::byte> message) {
    ++counts.messages;
    expect_(message.size() >= 12, "a message is whole");
    const auto word = [&](std::size_t at) {
      return static_cast<std::uint32_t>(sv::numeric::load_le(message.data() + at, 4));
    };
    const name got{word(0), word(4), word(8)};
    if (!to.any) {
      expect_(std::pair(got.life, got.incarnation) >= std::pair(to.next.life, to.next.incarnation),
              "an incarnation is no older one");
      to.next = {got.life, got.incarnation, 0};
      to.any = true;
    }
    expect_(got.life == to.next.life && got.incarnation == to.next.incarnation, "a message is of this incarnation");
    expect_(got.place == to.next.place, "a message comes in order and once");
    to.next.place += 1;
  }
  void tick(std::uint64_t by) {
    now_ += by;
    (void)client_.at->tick(now_);
    drain(client_);
  }
  [[nodiscard]] static sv::delivery_statistics all(const side& s) {
    sv::delivery_statistics made = s.before;
    const sv::delivery_statistics& now = s.at->statistics();
    for (const auto counter :
         {&sv::delivery_statistics::sent, &sv::delivery_statistics::received,
          &sv::delivery_statistics::messages_received, &sv::delivery_statistics::acknowledgements,
          &sv::delivery_statistics::control, &sv::delivery_statistics::copies, &sv::delivery_statistics::early,
          &sv::delivery_statistics::late, &sv::delivery_statistics::damaged})
      made.*counter += now.*counter;
    return made;
  }

  Choices& choices_;
  Expect expect_;
  faults with_;
  side client_{sv::delivery_side::client}, server_{sv::delivery_side::server};
  std::uint64_t now_ = 0, salts_ = 0;
};

}  // namespace specverify_test

#endif
