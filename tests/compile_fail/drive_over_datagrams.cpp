// SPDX-License-Identifier: Apache-2.0
//! A transport that is the clock of `drive` carries the messages, too.
// expect: a transport that is not ordered_and_whole is wrapped in specverify::delivered
#include "compile_fail/datagrams.hpp"

sv::status run(sv::edge_session& session, model& its, link_type& to) {
  return sv::drive(session, its, sv::no_observer{}, to);
}
