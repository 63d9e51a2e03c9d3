// SPDX-License-Identifier: Apache-2.0
//! A session of the library as the demo's host has it, for the lab's `run_session`.
#ifndef SPECVERIFY_TESTS_UNIT_APPS_LAB_DEMO_SESSION_HPP
#define SPECVERIFY_TESTS_UNIT_APPS_LAB_DEMO_SESSION_HPP

#include <specverify/session/systems.hpp>

#include "../../../apps/lab/virtual_run.hpp"

#include <utility>

//! As in the demo, the host tells it the channel, and the link no other way.
struct lab_demo_session : specverify::edge_session {
  explicit lab_demo_session(specverify::result<specverify::edge_session> made)
      : specverify::edge_session(std::move(made).value()) {}
  void record_link(float, float, float, float) {}
};

#endif
