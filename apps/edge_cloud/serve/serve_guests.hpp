// SPDX-License-Identifier: Apache-2.0
//! Manages the connections (guests) of a server: authenticates devices, and limits idle time and waiting bytes. Until
//! the device of a connection is known, the server reads only the frames of key_challenge.hpp.
#ifndef EDGE_CLOUD_SERVE_SERVE_GUESTS_HPP
#define EDGE_CLOUD_SERVE_SERVE_GUESTS_HPP

#include "../framed_connection.hpp"
#include "device_keys.hpp"
#include "served_sessions.hpp"
#include "tls_settings.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace edge_cloud {

//! Data that authenticates devices.
struct known_devices {
  std::optional<device_keys> keys{};    //!< none if client certificates identify devices
  std::optional<device_list> listed{};  //!< allowed devices with certificates; none: all

  //! Returns none, or the reason why this data does not admit a device that `before` admitted.
  [[nodiscard]] refusal refuses(std::uint64_t device, const known_devices& before) const {
    if (keys && !keys->has_as_in(device, *before.keys)) return refusal::key_unknown;
    return listed && !listed->has(device) ? refusal::not_listed : refusal::none;
  }
};

class serve_guests {
 public:
  using frame_taker = std::function<refusal(const std::shared_ptr<visitor>&, const frame&)>;

  //! `tls` may be null.
  serve_guests(const serve_limits& limits, const known_devices& known, std::shared_ptr<asio::ssl::context> tls,
               device_rates& rates, serve_log& log, frame_taker on_frame);
  ~serve_guests() { close_all(); }
  serve_guests(const serve_guests&) = delete;
  serve_guests& operator=(const serve_guests&) = delete;

  void adopt(asio::ip::tcp::socket socket, std::uint64_t now);
  //! Changes the known devices, and `tls` for future connections. Closes the connections of devices that are no longer
  //! known.
  void change(const known_devices& before, std::shared_ptr<asio::ssl::context> tls);
  //! Closes connections that have been silent too long.
  void sweep(std::uint64_t now);
  void close_all();

  // Return the largest numbers of connections and of unsent bytes so far.
  [[nodiscard]] std::size_t peak_connections() const noexcept { return peak_connections_; }
  [[nodiscard]] std::size_t peak_unsent() const noexcept { return peak_unsent_; }
  [[nodiscard]] std::size_t peak_unsent_in_all() const noexcept { return peak_unsent_in_all_; }

 private:
  using connection = basic_framed_connection<peer_stream>;
  struct guest {
    std::shared_ptr<connection> line;
    std::string name;  // name in the log: an address, later a device
    // addresses that may belong to one peer: an IPv4 address, or the first half of an IPv6 address
    std::string origin;
    std::uint64_t heard = 0;             // time of arrival or of the last whole frame
    std::shared_ptr<visitor> known{};    // device of the connection, once it is known
    bool stands = false;                 // whether the stream is open, after the TLS handshake
    bool leaving = false;                // whether the connection only sends waiting bytes before it closes
    std::uint64_t claimed = 0;           // device id in the opening frame
    std::optional<key_proof> awaited{};  // expected answer to the challenge
  };
  using guest_map = std::map<std::uint64_t, guest>;  // in order of arrival

  [[nodiscard]] bool make_room_for(const std::string& origin);
  template <class Wanted>
  bool push_out_one(Wanted&& wanted, const std::string& newcomer, refusal why);
  void begin(std::uint64_t number);
  void fail(std::uint64_t number, asio::error_code handshake);
  void tell_plainly(std::uint64_t number);
  void take(std::uint64_t number, frame& message);
  void refuse_length(std::uint64_t number);
  void challenge(std::uint64_t number, frame& first);
  void authenticate(std::uint64_t number, const frame& answer);
  void leave(std::uint64_t number);
  void admit(std::uint64_t number, std::optional<std::uint64_t> certified);
  void let_in(std::uint64_t number, std::uint64_t device);
  void send(std::uint64_t number, std::span<const std::byte> message);
  [[nodiscard]] bool has_room(std::uint64_t number, std::size_t bytes);
  void turn_away(std::uint64_t number, refusal why);
  void drop(std::uint64_t number, refusal why);
  void tell_and_close(asio::ip::tcp::socket& socket, refusal why) const;
  template <class Wanted>
  [[nodiscard]] std::size_t count(Wanted&& wanted, guest_map::iterator& oldest);

  const serve_limits& limits_;
  const known_devices& known_;
  std::shared_ptr<asio::ssl::context> tls_;
  device_rates& rates_;
  serve_log& log_;
  frame_taker on_frame_;
  guest_map guests_;
  std::uint64_t numbers_ = 0;
  std::size_t peak_connections_ = 0, peak_unsent_ = 0, peak_unsent_in_all_ = 0;
};

}  // namespace edge_cloud

#endif
