// SPDX-License-Identifier: Apache-2.0
//! Defines the options and counters of `delivery` (delivery/delivery.hpp).
//!
//! See: docs/algorithms/delivery.md, tests/unit/delivery/options_test.cpp
#ifndef SPECVERIFY_DELIVERY_OPTIONS_HPP
#define SPECVERIFY_DELIVERY_OPTIONS_HPP

#include <specverify/config.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

enum class delivery_side : std::uint8_t {
  client,  //!< opens incarnations, and has the only timer
  server
};

struct delivery_options {
  delivery_side side = delivery_side::client;
  std::uint64_t salt = 0;  //!< salt of the nonces: not 0, unique for each object (`salt_from` a random source)
  std::uint32_t max_message_bytes = 1u << 14;  //!< maximum size of a message sent by this side; 1 or more
  //! bytes of the check in a datagram: 0, 2 or 4; both sides use the larger value. 0 is only for a transport that
  //! authenticates datagrams and drops copies (DTLS, QUIC)
  std::uint8_t check_bytes = 4;
  //! client: microseconds until a retry; 0: off, for a transport that loses nothing
  std::uint64_t retry_timeout = 100'000;
  std::uint32_t retry_limit = 64;  //!< client: retries without progress before the incarnation is lost; 1 or more

  // `where` of the errors of `delivery::make`
  static constexpr std::uint32_t at_salt = 0;
  static constexpr std::uint32_t at_max_message_bytes = 1;
  static constexpr std::uint32_t at_check_bytes = 2;
  static constexpr std::uint32_t at_retry_limit = 3;
};

//! Counters. Each received datagram counts once: received = messages_received + acknowledgements + control + copies +
//! early + late + damaged.
struct delivery_statistics {
  std::uint64_t sent = 0;               //!< datagrams
  std::uint64_t received = 0;           //!< datagrams
  std::uint64_t messages_sent = 0;      //!< each message once
  std::uint64_t messages_received = 0;  //!< messages delivered, in order and once each
  std::uint64_t repeated = 0;           //!< datagrams with a message that was sent before
  std::uint64_t acknowledgements = 0;   //!< datagrams without a message
  std::uint64_t control = 0;            //!< control datagrams that were used
  std::uint64_t copies = 0;             //!< datagrams whose message had arrived before
  std::uint64_t early = 0;              //!< datagrams whose message was out of order, or arrived while `room` was false
  std::uint64_t late = 0;               //!< control datagrams that no longer have an effect
  std::uint64_t damaged = 0;            //!< unreadable: from a different incarnation, too late, or damaged
  std::uint64_t timeouts = 0;
  std::uint64_t incarnations = 0;  //!< client: opened incarnations; server: incarnations begun by a client's first data
  std::uint64_t lost = 0;          //!< incarnations that ended because the peer took no message, or by a reset
};

SPECVERIFY_TYPES_END

#endif
