// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/status.hpp>

#include "support/alloc_guard.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

using specverify::errc;
using specverify::message;
using specverify::name;
using specverify::part;
using specverify::result;
using specverify::status;

TEST_CASE("a status is eight bytes and ok by default") {
  static_assert(sizeof(status) == 8);
  static_assert(status{}.ok());
  static_assert(!status{errc::row_has_nan, part::row, 3}.ok());
  static_assert(status{errc::row_has_nan, part::row, 3} == status{errc::row_has_nan, part::row, 3});
  static_assert(!(status{errc::row_has_nan, part::row, 3} == status{errc::row_has_nan, part::row, 4}));
  static_assert(!(status{errc::row_has_nan, part::row, 3} == status{errc::row_has_nan, part::verify, 3}));
  static_assert(!(status{errc::row_has_nan, part::row, 3} == status{errc::row_is_empty, part::row, 3}));
}

TEST_CASE("error numbers are frozen") {
  // They travel in refusals and stand in the C ABI: a change here breaks every peer.
  static_assert(static_cast<int>(errc::ok) == 0 && static_cast<int>(errc::invalid_argument) == 1 &&
                static_cast<int>(errc::null_span) == 8);
  static_assert(static_cast<int>(errc::row_has_nan) == 20 && static_cast<int>(errc::invalid_truncation) == 29);
  static_assert(static_cast<int>(errc::token_out_of_range) == 40 && static_cast<int>(errc::support_too_large) == 49);
  static_assert(static_cast<int>(errc::too_few_rows) == 60 && static_cast<int>(errc::not_read) == 64);
  static_assert(static_cast<int>(errc::truncated) == 80 && static_cast<int>(errc::law_kind_mismatch) == 90 &&
                static_cast<int>(errc::value_not_finite) == 91);
  static_assert(static_cast<int>(errc::stale_epoch) == 100 && static_cast<int>(errc::busy) == 113 &&
                static_cast<int>(errc::link_lost) == 116);
  static_assert(static_cast<int>(errc::invalid_rate) == 120 && static_cast<int>(errc::empty_record) == 125 &&
                static_cast<int>(errc::trace_number) == 128);
  static_assert(static_cast<int>(errc::hidden_mode_mismatch) == 140 &&
                static_cast<int>(errc::training_set_empty) == 146);
}

TEST_CASE("every error has a number, a name and a message of its own") {
  std::set<int> numbers;
  std::set<std::string> names, messages;
  int entries = 0;
#define SPECVERIFY_ERRC(identifier, number, text)            \
  ++entries;                                                 \
  numbers.insert(number);                                    \
  names.insert(name(errc::identifier));                      \
  messages.insert(message(errc::identifier));                \
  CHECK(std::string(name(errc::identifier)) == #identifier); \
  CHECK(std::string(message(errc::identifier)) == text);
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC
  CHECK(numbers.size() == static_cast<std::size_t>(entries));
  CHECK(names.size() == static_cast<std::size_t>(entries));
  CHECK(messages.size() == static_cast<std::size_t>(entries));
  CHECK(std::string(message(static_cast<errc>(9999))) == "unknown error code");
  CHECK(std::string(name(static_cast<errc>(9999))) == "unknown");
}

TEST_CASE("every room has a name of its own") {
  std::set<std::string> names;
  for (int reporter = 0; reporter <= static_cast<int>(part::host); ++reporter)
    names.insert(name(static_cast<part>(reporter)));
  CHECK(names.size() == static_cast<std::size_t>(part::host) + 1);
  CHECK(std::string(name(part::core)) == "core");
  CHECK(std::string(name(part::uncertainty)) == "uncertainty");
  CHECK(std::string(name(part::codec)) == "codec");
  CHECK(std::string(name(part::decision_head)) == "decision_head");
  CHECK(std::string(name(part::vocabulary)) == "vocabulary");
  CHECK(std::string(name(part::host)) == "host");
  CHECK(std::string(name(static_cast<part>(static_cast<int>(part::host) + 1))) == "unknown");
}

TEST_CASE("a status in words, in the caller's memory") {
  std::array<char, specverify::status_text_size> memory{};
  const auto text = specverify::to_string(status{errc::row_has_nan, part::row, 3}, memory);
  REQUIRE(text.ok());
  CHECK(text.value() == "row_has_nan in row at 3: a row holds a NaN");
  CHECK(text.value().data() == memory.data());
  CHECK(std::strlen(memory.data()) == text.value().size());  // good for printf
  CHECK(specverify::to_string(status{}, memory).value() == "ok");
  const status refused{errc::refused_by_peer, part::session, static_cast<std::uint32_t>(errc::row_has_nan)};
  CHECK(specverify::to_string(refused, memory).value() ==
        "refused_by_peer in session with row_has_nan: the peer refused the session");

  // One byte too few, the zero's own among them: nothing is written, and the error says how many it takes.
  const std::size_t needed = std::string_view("ok").size() + 1;
  memory.fill('#');
  const auto none = specverify::to_string(status{}, std::span(memory).first(needed - 1));
  CHECK(none.error() == status{errc::output_too_small, part::core, static_cast<std::uint32_t>(needed)});
  CHECK(std::all_of(memory.begin(), memory.end(), [](char letter) { return letter == '#'; }));
  CHECK(specverify::to_string(status{}, std::span(memory).first(needed)).ok());
  CHECK(specverify::to_string(status{}, {}).error().code == errc::output_too_small);
}

namespace {
//! The most bytes that a status with this code can need: its part has the longest name, and a cause is the longest one.
constexpr std::size_t bytes_of(errc code, std::uint32_t cause) {
  return status{code, part::decision_head, cause}.text().size + 1;
}

constexpr std::size_t most_bytes() {
  std::size_t most = 0;
#define SPECVERIFY_ERRC(identifier, number, text)         \
  most = std::max(most, bytes_of(errc::identifier, ~0u)); \
  most = std::max(most, bytes_of(errc::refused_by_peer, number));
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC
  return most;
}
static_assert(most_bytes() <= specverify::status_text_size, "a status would be cut off");
}  // namespace

TEST_CASE("status_text_size holds the text of every status") {
  std::size_t longest = 0;
  for (int number = 0; number < 200; ++number)
    for (int reporter = 0; reporter <= static_cast<int>(part::host) + 1; ++reporter) {
      const status why{static_cast<errc>(number), static_cast<part>(reporter), 0xFFFFFFFFu};
      longest = std::max(longest, why.text().size + 1);
    }
  CHECK(longest == most_bytes());
  CHECK(longest > specverify::status_text_size / 2);
}

TEST_CASE("a status returns its text by value") {
  static_assert(status{}.text().view() == "ok");
  static_assert(noexcept(status{}.text()) && std::is_trivially_copyable_v<specverify::status_text>);
  static_assert(status{errc::row_has_nan, part::row, 0}.text().view() == "row_has_nan in row at 0: a row holds a NaN");
  for (int number = 1; number < 200; ++number)
    for (int reporter = 0; reporter <= static_cast<int>(part::host) + 1; ++reporter) {
      const status why{static_cast<errc>(number), static_cast<part>(reporter), 4294967290u};
      std::string expected = std::string(name(why.code)) + " in " + name(why.reporter);
      expected += why.code == errc::refused_by_peer ? " with unknown: " : " at 4294967290: ";
      expected += message(why.code);
      specverify_test::alloc_guard guard;
      const specverify::status_text text = why.text();
      CHECK(guard.count() == 0);
      CHECK(text.view() == expected);
      CHECK(text.c_str() == expected);
      std::array<char, specverify::status_text_size> memory{};
      CHECK(specverify::to_string(why, memory).value() == expected);
    }
}

TEST_CASE("a result holds a value or the reason why not") {
  result<int> seven = 7;
  REQUIRE(seven.ok());
  CHECK(seven.value() == 7);
  CHECK(seven.error().ok());
  seven.value() = 8;
  CHECK(std::as_const(seven).value() == 8);

  const result<int> none = status{errc::busy, part::session, 2};
  CHECK_FALSE(none.ok());
  CHECK(none.error() == status{errc::busy, part::session, 2});

  result<std::unique_ptr<int>> owner = std::make_unique<int>(5);  // move-only values pass through
  const std::unique_ptr<int> taken = std::move(owner).value();
  CHECK(*taken == 5);
}

TEST_CASE("a result names its types like std::expected") {
  static_assert(std::is_same_v<result<int>::value_type, int>);
  static_assert(std::is_same_v<result<std::unique_ptr<int>>::value_type, std::unique_ptr<int>>);
  static_assert(std::is_same_v<result<int>::error_type, status>);
}

TEST_CASE("a result reads like std::expected") {
  const auto half_of = [](int number) -> result<std::unique_ptr<int>> {
    if (number % 2 != 0) return status{errc::invalid_argument, part::host, 3};
    return std::make_unique<int>(number / 2);
  };
  auto four = half_of(8);
  CHECK(static_cast<bool>(four));
  CHECK(**four == 4);
  CHECK(four->get() == four.value().get());
  const std::unique_ptr<int> taken = *std::move(four);
  CHECK(*taken == 4);
  const auto none = half_of(7);
  CHECK_FALSE(static_cast<bool>(none));
  CHECK(none.error().where == 3);
  static_assert(!std::is_convertible_v<result<int>, bool>, "only an explicit test");
}
