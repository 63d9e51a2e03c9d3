// SPDX-License-Identifier: Apache-2.0
//! A device works over messages that arrive in order and whole.
// expect: a transport that is not ordered_and_whole is wrapped in specverify::delivered
#include "compile_fail/datagrams.hpp"

sv::status run(sv::edge_session& session, model& its, link_type& to) { return sv::generate(session, its, to).error(); }
