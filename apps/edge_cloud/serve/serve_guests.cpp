// SPDX-License-Identifier: Apache-2.0
#include "serve_guests.hpp"

#include "../clock.hpp"

#include <openssl/x509.h>

#include <algorithm>
#include <utility>

namespace edge_cloud {

namespace {

//! Size of the operating system's send queue. The queue is short, so that most waiting bytes are counted here.
constexpr int send_buffer_bytes = 1 << 16;

constexpr std::uint64_t second = 1'000'000;
constexpr std::uint64_t leaving_time = 2 * second;

//! Returns the origin of an address. For IPv6 it is the first 64 bits, because a network usually gets at least 64 bits
//! of addresses to choose from.
std::string origin_of(const asio::ip::address& from) {
  if (from.is_v4()) return from.to_string();
  const asio::ip::address_v6 address = from.to_v6();
  if (address.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, address).to_string();
  asio::ip::address_v6::bytes_type bytes = address.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
  return asio::ip::address_v6(bytes).to_string();
}

//! Returns the reason of a failed handshake: OpenSSL's reason not to trust the certificate, if there is one. It
//! contains no secret.
std::string why_of(asio::error_code handshake, peer_stream& stream) {
  std::string why = handshake.message();
  const long verified = SSL_get_verify_result(stream.encrypted()->native_handle());
  if (verified != X509_V_OK) why += std::string(": ") + X509_verify_cert_error_string(verified);
  return why;
}

std::vector<std::byte> refusal_of_connection(refusal why) {
  return refusal_message({},
                         {specverify::errc::refused_by_peer, specverify::part::host, static_cast<std::uint32_t>(why)});
}

}  // namespace

serve_guests::serve_guests(const serve_limits& limits, const known_devices& known,
                           std::shared_ptr<asio::ssl::context> tls, device_rates& rates, serve_log& log,
                           frame_taker on_frame)
    : limits_(limits), known_(known), tls_(std::move(tls)), rates_(rates), log_(log), on_frame_(std::move(on_frame)) {}

//! Counts the guests that satisfy `wanted`, and finds the guest that connected first.
template <class Wanted>
std::size_t serve_guests::count(Wanted&& wanted, guest_map::iterator& oldest) {
  std::size_t found = 0;
  oldest = guests_.end();
  for (auto at = guests_.begin(); at != guests_.end(); ++at) {
    if (!wanted(at->second)) continue;
    if (found++ == 0) oldest = at;
  }
  return found;
}

//! Removes one of the guests that satisfy `wanted`: a guest that already got a refusal, or otherwise the oldest guest
//! of the origin with the most such guests; the newcomer counts for its origin. So a flood from one origin removes
//! guests of this origin. Returns false if no guest satisfies `wanted`.
template <class Wanted>
bool serve_guests::push_out_one(Wanted&& wanted, const std::string& newcomer, refusal why) {
  guest_map::iterator found;
  if (count([&](const guest& g) { return wanted(g) && g.leaving; }, found) > 0) {
    drop(found->first, refusal::none);
    return true;
  }
  std::map<std::string, std::size_t> of_origin{{newcomer, 1}};
  for (const auto& [number, g] : guests_) of_origin[g.origin] += wanted(g) ? 1u : 0u;
  std::size_t most = 0;
  for (auto at = guests_.begin(); at != guests_.end(); ++at) {
    const std::size_t same = of_origin.at(at->second.origin);
    if (!wanted(at->second) || same <= most) continue;
    most = same;
    found = at;
  }
  if (found == guests_.end()) return false;
  drop(found->first, why);
  return true;
}

//! Makes room for a guest of an origin: removes an unauthenticated guest for each limit that one more guest would
//! exceed, because a silent peer must not keep others out. Returns false if authenticated guests have used up the open
//! files.
bool serve_guests::make_room_for(const std::string& origin) {
  guest_map::iterator oldest;
  const auto unknown = [](const guest& g) { return !g.known || g.leaving; };
  const auto same = [&](const guest& g) { return unknown(g) && g.origin == origin; };
  if (exceeds(refusal::half_open_of_address, count(same, oldest) + 1, limits_.half_open_of_address))
    push_out_one(same, origin, refusal::half_open_of_address);
  if (exceeds(refusal::half_open, count(unknown, oldest) + 1, limits_.half_open))
    push_out_one(unknown, origin, refusal::half_open);
  return !exceeds(refusal::descriptors, guests_.size() + 1, limits_.open_files) ||
         push_out_one(unknown, origin, refusal::descriptors);
}

void serve_guests::adopt(asio::ip::tcp::socket socket, std::uint64_t now) {
  asio::error_code ignored;
  socket.set_option(asio::socket_base::send_buffer_size(send_buffer_bytes), ignored);
  const auto from = socket.remote_endpoint(ignored);
  guest made;
  made.name = from.address().to_string(ignored) + " port " + std::to_string(from.port());
  made.origin = origin_of(from.address());
  if (!make_room_for(made.origin)) {
    log_.refused(refusal::descriptors, made.name, now);
    return tell_and_close(socket, refusal::descriptors);
  }
  made.heard = now;
  made.line =
      std::make_shared<connection>(tls_ ? peer_stream(std::move(socket), tls_) : peer_stream(std::move(socket)));
  const std::uint64_t number = ++numbers_;
  const std::shared_ptr<connection> line = made.line;
  guests_.emplace(number, std::move(made));
  peak_connections_ = std::max(peak_connections_, guests_.size());
  if (peer_stream::tls* inside = line->stream().encrypted()) {
    inside->async_handshake(asio::ssl::stream_base::server, [this, number, line](asio::error_code error) {
      if (!line->stream().is_open()) return;  // the connection was closed in the meantime
      error ? fail(number, error) : begin(number);
    });
  } else {
    begin(number);
  }
}

void serve_guests::fail(std::uint64_t number, asio::error_code handshake) {
  const auto at = guests_.find(number);
  if (at == guests_.end()) return;
  if (is_no_tls(handshake))  // after the handshake has returned
    return asio::post(at->second.line->stream().get_executor(), [this, number] { tell_plainly(number); });
  const std::string why = why_of(handshake, at->second.line->stream());
  log_.refused(refusal::handshake, at->second.name + " (" + why + ")", microseconds_now());
  guests_.erase(at);
}

//! Tells a device without TLS that this server requires TLS. The server reads nothing that the device sent.
void serve_guests::tell_plainly(std::uint64_t number) {
  const auto at = guests_.find(number);
  if (at == guests_.end()) return;
  const std::shared_ptr<connection> line = at->second.line;
  line->stream().leave_tls();
  turn_away(number, refusal::plain_client);
  line->start({{}, [this, number] { guests_.erase(number); }});
}

//! Begins to authenticate a guest whose stream is open. Without a certificate the device must prove that it has the
//! key.
void serve_guests::begin(std::uint64_t number) {
  const auto at = guests_.find(number);
  if (at == guests_.end()) return;
  at->second.stands = true;
  connection& line = *at->second.line;
  line.accept_up_to(bounded_by("first_frame_bytes", max_frame_bytes, first_frame_bytes));
  line.start({[this, number](frame message) { take(number, message); }, [this, number] { leave(number); },
              [this, number] { refuse_length(number); }});
  if (!known_.keys) admit(number, certified_device(line.stream()));
}

//! Admits a device whose certificate is valid, if the server's list has the device, because the authority may have
//! signed many other certificates.
void serve_guests::admit(std::uint64_t number, std::optional<std::uint64_t> certified) {
  if (!certified) return turn_away(number, refusal::certificate);
  const bool strange = known_.listed && !known_.listed->has(*certified);
  if (exceeds(refusal::not_listed, strange ? 1 : 0, 0)) {
    guests_.at(number).name += ", device " + std::to_string(*certified);
    return turn_away(number, refusal::not_listed);
  }
  let_in(number, *certified);
}

//! Refuses a frame that is too long. The reason is sent to a known device, and to a device that uses TLS with a server
//! without TLS.
void serve_guests::refuse_length(std::uint64_t number) {
  const auto at = guests_.find(number);
  if (at == guests_.end() || at->second.leaving) return;
  if (at->second.known) return turn_away(number, refusal::frame_too_long);
  if (tls_ == nullptr && is_tls_hello(at->second.line->last_prefix())) return turn_away(number, refusal::tls_client);
  log_.refused(refusal::frame_too_long, at->second.name, microseconds_now());
}

void serve_guests::take(std::uint64_t number, frame& message) {
  const auto at = guests_.find(number);
  if (at == guests_.end() || at->second.leaving) return;
  if (!at->second.known) return at->second.awaited ? authenticate(number, message) : challenge(number, message);
  at->second.heard = microseconds_now();
  const std::shared_ptr<visitor> known = at->second.known;
  if (const refusal why = on_frame_(known, message); why != refusal::none) turn_away(number, why);
}

//! Sends a challenge. A device of an older version has sent the key in this frame, so the frame is wiped.
void serve_guests::challenge(std::uint64_t number, frame& first) {
  const auto opening = read_opening(first);
  specverify::wipe(first.data(), first.size());
  if (!opening) return turn_away(number, refusal::other_first_frame);
  guest& asked = guests_.at(number);
  const auto made = challenge_for(*opening, known_.keys->key_of(opening->device), random_bytes<key_nonce>());
  asked.claimed = opening->device;
  asked.awaited = made.awaited;
  asked.line->send(made.message);
}

//! Checks the proof. Until a proof is valid, first_frame_seconds counts from the beginning of the connection.
void serve_guests::authenticate(std::uint64_t number, const frame& answer) {
  guest& asked = guests_.at(number);
  if (!is_proof(answer, *asked.awaited)) return turn_away(number, refusal::key_unknown);
  asked.awaited.reset();
  asked.heard = microseconds_now();
  let_in(number, asked.claimed);
}

//! Removes a guest whose peer has closed the connection. A device with another key does so after the challenge, because
//! the server's proof is wrong for it.
void serve_guests::leave(std::uint64_t number) {
  const auto at = guests_.find(number);
  if (at == guests_.end()) return;
  if (at->second.awaited && !at->second.leaving)
    log_.refused(refusal::key_unknown, at->second.name + ", left at the challenge", microseconds_now());
  guests_.erase(at);
}

//! Admits a device. If the device or the server then has too many connections, the device's oldest connection is
//! closed, because a device may reconnect before the server notices that the old connection is lost.
void serve_guests::let_in(std::uint64_t number, std::uint64_t device) {
  if (const refusal why = rates_.handshake(device, microseconds_now()); why != refusal::none)
    return turn_away(number, why);
  guest_map::iterator own, any;
  const auto lives = [](const guest& g) { return g.known && !g.leaving; };
  const std::size_t of_device = count([&](const guest& g) { return lives(g) && g.known->device == device; }, own);
  const bool full = exceeds(refusal::connections, count(lives, any) + 1, limits_.connections);
  if (full && of_device == 0) return turn_away(number, refusal::connections);
  if (exceeds(refusal::connections_of_device, of_device + 1, limits_.connections_of_device) || full)
    drop(own->first, refusal::connections_of_device);
  guest& found = guests_.at(number);
  found.known = std::make_shared<visitor>();
  found.known->device = device;
  found.known->send = [this, number](std::span<const std::byte> message) { send(number, message); };
  found.known->close = [this, number] { drop(number, refusal::none); };
  found.name += ", device " + std::to_string(device);
  found.line->accept_up_to(bounded_by(refusal::frame_too_long, max_frame_bytes, limits_.frame_bytes));
}

void serve_guests::send(std::uint64_t number, std::span<const std::byte> message) {
  const auto at = guests_.find(number);
  if (at == guests_.end() || at->second.leaving || !has_room(number, framed_bytes(message.size()))) return;
  at->second.line->send(message);
  peak_unsent_ = std::max(peak_unsent_, at->second.line->unsent());
}

//! Returns whether this many more bytes may wait for a guest. A guest with too many waiting bytes is dropped. If too
//! many bytes wait for all guests together, the guest with the most waiting bytes is dropped.
bool serve_guests::has_room(std::uint64_t number, std::size_t bytes) {
  std::size_t in_all = bytes;
  auto most = guests_.find(number);
  for (auto at = guests_.begin(); at != guests_.end(); ++at) {
    in_all += at->second.line->unsent();
    if (at->second.line->unsent() > most->second.line->unsent()) most = at;
  }
  if (exceeds(refusal::unsent_bytes, guests_.at(number).line->unsent() + bytes, limits_.unsent_bytes)) {
    drop(number, refusal::unsent_bytes);
    return false;
  }
  if (exceeds(refusal::unsent_in_all, in_all, limits_.unsent_in_all)) {
    const bool this_one = most->first == number;
    in_all -= most->second.line->unsent();
    drop(most->first, refusal::unsent_in_all);
    if (this_one) return false;
  }
  peak_unsent_in_all_ = std::max(peak_unsent_in_all_, in_all);
  return true;
}

//! Sends the reason, then closes the connection.
void serve_guests::turn_away(std::uint64_t number, refusal why) {
  const auto at = guests_.find(number);
  if (at == guests_.end() || at->second.leaving) return;
  const std::uint64_t now = microseconds_now();
  log_.refused(why, at->second.name, now);
  at->second.line->send(refusal_of_connection(why));
  at->second.leaving = true;
  at->second.heard = now;
  at->second.line->finish();
}

//! Sends a reason to a connection that is not accepted, and closes it. A connection with TLS is only closed, because
//! the handshake would have to finish before the reason could be sent.
void serve_guests::tell_and_close(asio::ip::tcp::socket& socket, refusal why) const {
  asio::error_code ignored;
  if (tls_ == nullptr && !socket.non_blocking(true, ignored)) {
    const std::vector<std::byte> told = refusal_of_connection(why);
    const frame_prefix prefix = encode_prefix(told.size());
    socket.send(std::array{asio::buffer(prefix), asio::buffer(told)}, 0, ignored);
  }
  socket.close(ignored);
}

//! Closes a connection immediately. The reason is sent only if the system accepts it now. The socket is destroyed after
//! the caller has returned.
void serve_guests::drop(std::uint64_t number, refusal why) {
  const auto at = guests_.find(number);
  if (at == guests_.end()) return;
  if (why != refusal::none) log_.refused(why, at->second.name, microseconds_now());
  if (words_of(why).told != "log" && at->second.stands) at->second.line->send(refusal_of_connection(why));
  const std::shared_ptr<connection> line = std::move(at->second.line);
  guests_.erase(at);
  asio::post(line->stream().get_executor(), [line] { line->close(); });
}

void serve_guests::change(const known_devices& before, std::shared_ptr<asio::ssl::context> tls) {
  tls_ = std::move(tls);
  for (const auto& [number, g] : guests_) {
    if ((!g.known && !g.awaited) || g.leaving) continue;  // a challenged guest may still answer with the old key
    const std::uint64_t device = g.known ? g.known->device : g.claimed;
    if (const refusal why = known_.refuses(device, before); why != refusal::none) turn_away(number, why);
  }
}

void serve_guests::sweep(std::uint64_t now) {
  for (auto at = guests_.begin(); at != guests_.end();) {
    const auto next = std::next(at);
    const guest& g = at->second;
    const std::uint64_t silent = now > g.heard ? now - g.heard : 0;
    if (g.leaving) {
      if (silent > leaving_time) drop(at->first, refusal::none);
    } else if (!g.known) {
      if (exceeds(refusal::first_frame_late, silent, limits_.first_frame_seconds * second))
        drop(at->first, refusal::first_frame_late);
    } else if (exceeds(refusal::idle_connection, silent, limits_.idle_connection_seconds * second)) {
      turn_away(at->first, refusal::idle_connection);
    }
    at = next;
  }
}

void serve_guests::close_all() {
  for (auto& [number, g] : guests_) g.line->close();
  guests_.clear();
}

}  // namespace edge_cloud
