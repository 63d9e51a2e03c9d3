// SPDX-License-Identifier: Apache-2.0
//! A cloud works over messages that arrive in order and whole.
// expect: a transport that is not ordered_and_whole is wrapped in specverify::delivered
#include "compile_fail/datagrams.hpp"

sv::status run(sv::cloud_session& session, model& its, link_type& to) { return sv::serve(session, its, to); }
