// SPDX-License-Identifier: Apache-2.0
//! The connections of a server: who is let in, how long it may be silent, and how many bytes may wait for it. Nothing
//! but the frames of key_challenge.hpp is read of a guest whose device is not known.
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

//! How devices are told from strangers.
struct known_devices {
  std::optional<device_keys> keys{};    //!< none where client certificates say who a device is
  std::optional<device_list> listed{};  //!< of those, the ones that may speak; none: all

  //! none, or why a device that was let in by `before` is not let in by these.
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
  //! The known devices have changed, and so may have `tls`, for connections that are still to come. Devices that are no
  //! longer known are turned away.
  void change(const known_devices& before, std::shared_ptr<asio::ssl::context> tls);
  //! Closes who was silent for too long.
  void sweep(std::uint64_t now);
  void close_all();

  // Most at once, so far.
  [[nodiscard]] std::size_t peak_connections() const noexcept { return peak_connections_; }
  [[nodiscard]] std::size_t peak_unsent() const noexcept { return peak_unsent_; }
  [[nodiscard]] std::size_t peak_unsent_in_all() const noexcept { return peak_unsent_in_all_; }

 private:
  using connection = basic_framed_connection<peer_stream>;
  struct guest {
    std::shared_ptr<connection> line;
    std::string name;                    // for the log: an address, then a device
    std::string origin;                  // who may be one stranger: an IPv4 address, or the first half of an IPv6 one
    std::uint64_t heard = 0;             // when it came, or its last whole frame
    std::shared_ptr<visitor> known{};    // once its device is
    bool stands = false;                 // the stream, TLS's handshake included
    bool leaving = false;                // only what waits is still sent
    std::uint64_t claimed = 0;           // the device that it was challenged to be
    std::optional<key_proof> awaited{};  // the answer to that challenge
  };
  using guest_map = std::map<std::uint64_t, guest>;  // by the order in which they came

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
