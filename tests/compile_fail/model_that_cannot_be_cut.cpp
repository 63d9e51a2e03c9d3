// SPDX-License-Identifier: Apache-2.0
//! A session cuts its model back after a rejection: a model without truncate is wrapped before it is driven.
// expect: a model without truncate is wrapped in specverify::rewinding
#include <specverify/host/drive.hpp>
#include <specverify/host/rewinding.hpp>
#include <specverify/session/edge.hpp>

struct recurrent {
  specverify::status feed(std::uint32_t, std::span<const specverify::token_id>, std::uint32_t) { return {}; }
  specverify::row_view<float> row(std::uint32_t) { return {}; }
};

specverify::status run(specverify::edge_session& session, recurrent& model) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::drive(session, model, specverify::no_observer{});
#else
  auto wrapped = specverify::rewinding<recurrent>::make(model, 64);
  return wrapped.ok() ? specverify::drive(session, *wrapped, specverify::no_observer{}) : wrapped.error();
#endif
}
