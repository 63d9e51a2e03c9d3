// SPDX-License-Identifier: Apache-2.0
// A transport that does not say that its messages arrive in order and whole, and a model for it.
#ifndef SPECVERIFY_TESTS_COMPILE_FAIL_DATAGRAMS_HPP
#define SPECVERIFY_TESTS_COMPILE_FAIL_DATAGRAMS_HPP

#include <specverify/delivery/delivered.hpp>
#include <specverify/host/host.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

namespace sv = specverify;

struct datagrams {
  sv::status send(std::span<const std::byte>) { return {}; }
  sv::result<std::span<const std::byte>> receive(std::optional<sv::session_time>) {
    return std::span<const std::byte>{};
  }
  sv::session_time now() { return 0; }
};
struct model {
  sv::status feed(std::uint32_t, std::span<const sv::token_id>, std::uint32_t) { return {}; }
  sv::row_view<float> row(std::uint32_t) { return {}; }
  void truncate(std::uint32_t) {}
};

#ifdef SPECVERIFY_MUST_FAIL
using link_type = datagrams;
#else
using link_type = sv::delivered<datagrams>;
#endif

#endif
