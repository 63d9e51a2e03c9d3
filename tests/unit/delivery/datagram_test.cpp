// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/delivery/datagram.hpp>

#include <array>
#include <string>
#include <vector>

using namespace specverify;

namespace {

using bytes = std::vector<std::byte>;

constexpr incarnation some{0x01020304, 0x0a0b0c0d, 4, false};

std::string hex(std::span<const std::byte> given) {
  std::string made;
  for (const std::byte b : given) {
    static constexpr char digits[] = "0123456789abcdef";
    made += digits[static_cast<unsigned>(b) >> 4];
    made += digits[static_cast<unsigned>(b) & 15];
  }
  return made;
}
bytes control(const control_datagram& given) {
  std::array<std::byte, control_datagram_bytes> space{};
  const auto made = write_control(given, space);
  return {made.begin(), made.end()};
}
bytes data(const incarnation& of, bool from_client, std::uint32_t number, std::uint32_t acknowledged, bool ask,
           std::string_view text) {
  bytes made(1 + of.check_bytes + text.size());
  for (std::size_t i = 0; i < text.size(); ++i) made[1 + of.check_bytes + i] = static_cast<std::byte>(text[i]);
  const std::span<const std::byte> message = std::span<const std::byte>(made).subspan(1 + of.check_bytes);
  write_data_head(of, from_client, {number, acknowledged, ask, message}, std::span(made).first(1 + of.check_bytes));
  return made;
}

}  // namespace

TEST_CASE("datagram: golden bytes") {  // of a Python transcription of docs/algorithms/delivery.md
  CHECK(hex(control({datagram_kind::connect, some})) == "890403020139858492");
  CHECK(hex(control({datagram_kind::accept, some})) == "8a040302010d0c0b0a8f5c5706");
  CHECK(hex(control({datagram_kind::reset, some, 0xdeadbeef})) == "8befbeadde18051daf");
  CHECK(hex(data(some, true, 9, 6, true, "abc")) == "71836076ef616263");
  incarnation shorter = some;
  shorter.check_bytes = 2;
  CHECK(hex(data(shorter, false, 0, 0, false, "abc")) == "007930616263");
  shorter.check_bytes = 0;
  CHECK(hex(data(shorter, false, 3, 1, false, "")) == "0b");
}

TEST_CASE("datagram: what was written is read, and no bit of it can change") {
  for (const datagram_kind kind : {datagram_kind::connect, datagram_kind::accept, datagram_kind::reset}) {
    for (const std::uint8_t check : std::array<std::uint8_t, 3>{0, 2, 4}) {
      incarnation of = some;
      of.check_bytes = check;
      of.without_timers = check == 2;
      const bytes made = control({kind, of, 77});
      const auto read = read_control(made);
      REQUIRE(read.ok());
      CHECK(read->kind == kind);
      CHECK(read->what.check_bytes == check);
      CHECK(read->what.without_timers == of.without_timers);
      CHECK((kind == datagram_kind::reset ? read->named == 77 : read->what.client_nonce == some.client_nonce));
      CHECK((kind != datagram_kind::accept || read->what.server_nonce == some.server_nonce));
      for (std::size_t bit = 0; bit < 8 * made.size(); ++bit) {
        bytes damaged = made;
        damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        CHECK_FALSE(read_control(damaged).ok());
      }
      CHECK(read_control(std::span(made).first(made.size() - 1)).error().code != errc::ok);
    }
  }
  const bytes made = data(some, true, 13, 10, true, "message");
  const auto read = read_data(some, true, 12, 11, made);
  REQUIRE(read.ok());
  CHECK(read->number == 13);
  CHECK(read->acknowledged == 10);
  CHECK(read->ask);
  CHECK(read->message.size() == 7);
  for (std::size_t bit = 0; bit < 8 * made.size(); ++bit) {
    if (bit == 7) continue;  // makes it a control datagram
    bytes damaged = made;
    damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    CHECK(read_data(some, true, 12, 11, damaged).error().code == errc::checksum_mismatch);
  }
  CHECK(read_data(some, true, 12, 11, std::span(made).first(4)).error().code == errc::truncated);
}

TEST_CASE("datagram: bits that nobody sets are refused by name") {
  bytes made = control({datagram_kind::connect, some});
  for (const unsigned bits : {0x20u, 0x40u, 0x04u}) {  // reserved, reserved, a check of 6 bytes
    bytes other = made;
    other[0] |= static_cast<std::byte>(bits);
    numeric::store_le(other.data() + 5, crc32c(std::span<const std::byte>(other).first(5)), 4);
    CHECK(read_control(other).error().code == errc::not_canonical);
  }
  made.insert(made.begin() + 5, 4, std::byte{0});  // as long as an accept
  numeric::store_le(made.data() + 9, crc32c(std::span<const std::byte>(made).first(9)), 4);
  CHECK(read_control(made).error().code == errc::not_canonical);
}

TEST_CASE("datagram: of another incarnation, direction or time it fits nothing") {
  const bytes made = data(some, true, 13, 10, false, "message");
  const auto code = [&](const incarnation& of, bool from_client, std::uint32_t expected, std::uint32_t acknowledged) {
    return read_data(of, from_client, expected, acknowledged, made).error().code;
  };
  CHECK(code(some, true, 13, 10) == errc::ok);
  CHECK(code({some.client_nonce + 1, some.server_nonce}, true, 13, 10) == errc::checksum_mismatch);
  CHECK(code({some.client_nonce, some.server_nonce + 1}, true, 13, 10) == errc::checksum_mismatch);
  CHECK(code(some, false, 13, 10) == errc::checksum_mismatch);
  for (std::uint32_t expected = 0; expected < 40; ++expected) {  // four below to three above
    const bool near = expected >= 10 && expected <= 17;
    CHECK((code(some, true, expected, 10) == errc::ok) == near);
  }
  for (std::uint32_t acknowledged = 0; acknowledged < 40; ++acknowledged) {
    const bool near = acknowledged >= 6 && acknowledged <= 13;
    CHECK((code(some, true, 13, acknowledged) == errc::ok) == near);
  }
}
