// SPDX-License-Identifier: Apache-2.0
// What is a language model, a transport, a session for a host; and what is not.
#include <doctest/doctest.h>

#include <specverify/delivery/delivered.hpp>
#include <specverify/host/language_model.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <session/engine_model.hpp>

using namespace specverify;

namespace {

struct least {
  status feed(std::uint32_t, std::span<const token_id>, std::uint32_t) { return {}; }
  row_view<double> row(std::uint32_t) { return {}; }
};
struct cut_by_void : least {
  void truncate(std::uint32_t) {}
};
struct saved : least {
  int save() { return 1; }
  void load(int) {}
};
struct saves_only : least {
  int save() { return 1; }
};
struct says_nothing : least {
  void feed(std::uint32_t, std::span<const token_id>, std::uint32_t) {}
};
struct no_view : least {
  std::span<const float> row(std::uint32_t) { return {}; }
};
struct sampler {
  status feed(std::uint32_t, std::span<const token_id>, std::uint32_t) { return {}; }
  token_id token(std::uint32_t) { return 0; }
};
struct sampler_with_rows : sampler {
  row_view<float> row(std::uint32_t) { return {}; }
};
struct token_of_another_type {
  status feed(std::uint32_t, std::span<const token_id>, std::uint32_t) { return {}; }
  std::size_t token(std::uint32_t) { return 0; }
};
struct plain_link {
  status send(std::span<const std::byte>) { return {}; }
  result<std::span<const std::byte>> receive(std::optional<session_time>) {
    return status{errc::link_lost, part::host, 0};
  }
  session_time now() { return 0; }
};
struct ordered_link : plain_link {
  static constexpr bool ordered_and_whole = true;
};
struct unordered_link : plain_link {
  static constexpr bool ordered_and_whole = false;
};
struct link_that_stands_again : plain_link {
  status reconnect(std::optional<session_time>) { return {}; }
};
struct link_without_clock {
  status send(std::span<const std::byte>) { return {}; }
  result<std::span<const std::byte>> receive(std::optional<session_time>) {
    return status{errc::link_lost, part::host, 0};
  }
};

}  // namespace

TEST_CASE("host: what is a language model, and which members are optional") {
  CHECK(language_model<least>);
  CHECK_FALSE(truncating_model<least>);
  CHECK(truncating_model<cut_by_void>);
  CHECK(saving_model<saved>);
  CHECK_FALSE(saving_model<saves_only>);
  CHECK_FALSE(language_model<says_nothing>);
  CHECK_FALSE(language_model<no_view>);
  CHECK(language_model<sampler>);
  CHECK(token_model<sampler>);
  CHECK_FALSE(row_model<sampler>);
  CHECK(row_model<sampler_with_rows>);
  CHECK_FALSE(token_model<sampler_with_rows>);
  CHECK_FALSE(language_model<token_of_another_type>);
}

TEST_CASE("host: what is a transport, and what is a session") {
  CHECK(transport<plain_link>);
  CHECK_FALSE(ordered_transport<plain_link>);
  CHECK_FALSE(ordered_transport<unordered_link>);
  CHECK(ordered_transport<ordered_link>);
  CHECK(ordered_transport<message_pipe::end>);
  CHECK(ordered_transport<delivered<unordered_link>>);
  CHECK_FALSE(reconnecting_transport<plain_link>);
  CHECK(reconnecting_transport<link_that_stands_again>);
  CHECK_FALSE(transport<link_without_clock>);
  CHECK(host_session<edge_session>);
  CHECK(host_session<cloud_session>);
  CHECK_FALSE(host_session<plain_link>);
}

TEST_CASE("host: a call that returns nothing is ok") {
  int called = 0;
  CHECK(detail::status_of([&] { ++called; }).ok());
  CHECK(detail::status_of([&] { return ++called, status{errc::unsupported, part::host, 3}; }).where == 3);
  CHECK(called == 2);
}
