// SPDX-License-Identifier: Apache-2.0
//! Defines the limits of a server for unknown devices, and the name of each refusal.
#ifndef EDGE_CLOUD_SERVE_SERVE_LIMITS_HPP
#define EDGE_CLOUD_SERVE_SERVE_LIMITS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace edge_cloud {

inline constexpr std::uint32_t most_drafts = 64;  //!< maximum drafts per message, for any setting

//! Limits on memory, disk or time; docs/serving.md computes the totals.
struct serve_limits {
  std::uint32_t sessions = 256;             //!< sessions at a time, including finished sessions
  std::uint32_t sessions_of_device = 4;     //!< sessions opened by one device
  std::uint32_t connections = 256;          //!< authenticated connections
  std::uint32_t connections_of_device = 4;  //!< authenticated connections of one device
  //! unauthenticated connections; a further connection evicts one of them
  std::uint32_t half_open = 32;
  //! unauthenticated connections per address (for IPv6: per 64-bit prefix)
  std::uint32_t half_open_of_address = 8;
  std::uint32_t first_frame_seconds = 5;        //!< seconds to authenticate a connection
  std::uint32_t idle_connection_seconds = 120;  //!< seconds without a whole frame; single bytes do not count
  //! seconds without a message of the owner until the session is deleted
  std::uint32_t idle_session_seconds = 3600;
  std::uint32_t frame_bytes = 1u << 15;    //!< bytes per frame; a longer frame is not read
  std::uint32_t unsent_bytes = 1u << 20;   //!< bytes that wait for one connection
  std::uint32_t unsent_in_all = 1u << 24;  //!< bytes that wait for all connections
  //! frames per connection with invalid data, another session's id or a refused hello
  std::uint32_t useless_frames = 64;
  std::uint32_t handshakes_of_device = 32;       //!< connections and hellos per device per second
  std::uint64_t written_of_device = 1u << 21;    //!< journal bytes per device per second
  std::uint32_t draft_length = 12;               //!< drafts per message
  std::uint32_t journal_bytes = 1u << 16;        //!< bytes of one session's journal and owner file
  std::uint64_t disk_bytes = 1u << 28;           //!< bytes on disk of all sessions, in blocks of 4 KiB
  std::uint64_t damaged_bytes = 1u << 22;        //!< bytes on disk of journals that no session accepts
  std::uint64_t open_files = ~std::uint64_t{0};  //!< connections at once, and as many sessions; set from the system
  std::uint32_t engines = 16;                    //!< caches of the model; further sessions wait or are fed again
};

//! Reasons to refuse a peer. The number is sent as `where` of a refusal with the host as reporter, so new reasons must
//! be added at the end.
enum class refusal : std::uint32_t {
  none,
  not_the_owner,
  sessions,
  sessions_of_device,
  journal_full,
  disk_full,
  host_failed,
  connections,
  connections_of_device,
  half_open,
  first_frame_late,
  key_unknown,
  idle_connection,
  idle_session,
  frame_too_long,
  unsent_bytes,
  unsent_in_all,
  useless_frames,
  certificate,
  handshake,
  half_open_of_address,
  descriptors,
  disk_failed,
  not_listed,
  tls_client,
  plain_client,
  other_first_frame,
  handshakes_of_device,
  written_of_device,
  other_version
};

struct refusal_words {
  std::string_view name;  //!< name in logs and reports
  std::string_view text;  //!< problem and advice
  std::string_view told;  //!< receiver of the reason: the device's session, its connection, or only the log
};

inline constexpr std::array<refusal_words, 30> refusal_table{{
    {"none", "nothing was refused", "log"},
    {"not_the_owner", "another device opened this session id; give another --session-id and --state-dir", "session"},
    {"sessions", "the server has reached its maximum number of sessions; try later", "session"},
    {"sessions_of_device", "this device has reached its maximum number of sessions; finish one first", "session"},
    {"journal_full", "the session's journal has reached its maximum size; begin a new session with the text so far",
     "session"},
    {"disk_full", "the server's disk share is used up; try later", "session"},
    {"host_failed", "the server failed in this session and forgot it; send hello again with its text", "session"},
    {"connections", "the server has reached its maximum number of connections; try later", "connection"},
    {"connections_of_device", "newer connections of this device replaced this one; open fewer at once", "connection"},
    {"half_open", "newer connections replaced this one before it was authenticated; connect again", "connection"},
    {"first_frame_late", "the connection was not authenticated in time; send the first frame at once", "connection"},
    {"key_unknown", "no device has this id and key; check --device-id and --device-key-file", "connection"},
    {"idle_connection", "no whole message arrived for too long; connect again", "connection"},
    {"idle_session", "no message of the session arrived for too long; send hello again with its text", "log"},
    {"frame_too_long", "the frame exceeds the server's --frame-bytes; choose a --system with shorter messages",
     "connection"},
    {"unsent_bytes", "this connection has too many unsent bytes; read the server's messages", "log"},
    {"unsent_in_all", "all connections have too many unsent bytes, and this one has the most; connect again", "log"},
    {"useless_frames", "too many frames were useless; connect again and send hello first", "connection"},
    {"certificate", "the certificate has no device id; its common name must be decimal digits without leading zeros",
     "connection"},
    {"handshake", "the TLS handshake failed; check the certificates and authorities of both sides", "log"},
    {"half_open_of_address",
     "newer connections of this address replaced this one before it was authenticated; connect again", "connection"},
    {"descriptors", "the server has reached its maximum number of open files; try later", "session"},
    {"disk_failed", "the server cannot write to its disk; try later", "session"},
    {"not_listed", "the certificate is valid, but the server's --devices does not list its device id", "connection"},
    {"tls_client", "the server does not use TLS; leave out --tls-ca, or give the server --tls-certificate",
     "connection"},
    {"plain_client", "the server accepts only TLS; give --tls-ca", "connection"},
    {"other_first_frame",
     "the first frame is of another version; use one version, and a new key if the frame contained it", "connection"},
    {"handshakes_of_device", "this device made too many connections and hellos in a second; try later", "connection"},
    {"written_of_device", "this device made the server write too many bytes in a second; try later", "connection"},
    {"other_version", "the device uses another version of the messages; use the same version on both sides",
     "connection"},
}};

[[nodiscard]] constexpr refusal_words words_of(refusal why) noexcept {
  const auto index = static_cast<std::size_t>(why);
  return index < refusal_table.size() ? refusal_table[index]
                                      : refusal_words{"unknown", "a refusal of a newer server", "session"};
}

//! Every limit is checked by this function, because a test can then link a program that ignores one limit.
[[nodiscard]] bool exceeds(refusal limit, std::uint64_t value, std::uint64_t most);
//! Checks a limit that has no refusal, by the name of its member.
[[nodiscard]] bool exceeds(std::string_view limit, std::uint64_t value, std::uint64_t most);

//! Returns `most`, or less if the limit of this name is lower.
template <class Name>
[[nodiscard]] std::uint32_t bounded_by(Name limit, std::uint32_t most, std::uint32_t held) {
  return exceeds(limit, most, held) ? held : most;
}

}  // namespace edge_cloud

#endif
