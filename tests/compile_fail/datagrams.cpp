// SPDX-License-Identifier: Apache-2.0
// Code that must not compile: a transport that does not say that its messages arrive in order and whole.

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

// === drive_over_datagrams
//! A transport that is the clock of `drive` carries the messages, too.
// expect: wrap a transport that is not ordered_and_whole in specverify::delivered
sv::status run(sv::edge_session& session, model& its, link_type& to) {
  return sv::drive(session, its, sv::no_observer{}, to);
}

// === generate_over_datagrams
//! A device works over messages that arrive in order and whole.
// expect: wrap a transport that is not ordered_and_whole in specverify::delivered
sv::status run(sv::edge_session& session, model& its, link_type& to) { return sv::generate(session, its, to).error(); }

// === serve_over_datagrams
//! A cloud works over messages that arrive in order and whole.
// expect: wrap a transport that is not ordered_and_whole in specverify::delivered
sv::status run(sv::cloud_session& session, model& its, link_type& to) { return sv::serve(session, its, to); }
