// SPDX-License-Identifier: Apache-2.0
//! A session of the demo as the lab's `run_session` takes it: compiled already, its rules known when the program runs.
#ifndef SPECVERIFY_TESTS_UNIT_EXAMPLES_LAB_DEMO_SESSION_HPP
#define SPECVERIFY_TESTS_UNIT_EXAMPLES_LAB_DEMO_SESSION_HPP

#include "../../../apps/edge_cloud/edge_session.hpp"
#include "../../../apps/lab/virtual_run.hpp"

#include <memory>
#include <utility>

//! As in the demo, the host tells it the channel, and the link no other way.
class lab_demo_session {
 public:
  explicit lab_demo_session(std::unique_ptr<edge_cloud::edge_session> session) : session_(std::move(session)) {}
  [[nodiscard]] specverify::status start(std::span<const lab::token_id> prompt, specverify::session_time now) {
    return session_->start(prompt, now);
  }
  [[nodiscard]] specverify::status receive(std::span<const std::byte> message, specverify::session_time now) {
    return session_->receive(message, now);
  }
  template <class Policy>
  [[nodiscard]] specverify::status supply_row(Policy policy, specverify::row_view<float> row,
                                              const specverify::row_transform& transform,
                                              const specverify::row_extras& extras, specverify::session_time now) {
    return session_->supply_row(policy, row, transform, extras, now);
  }
  [[nodiscard]] specverify::status engine_failed(specverify::status why) { return session_->engine_failed(why); }
  [[nodiscard]] bool has_outputs() const { return session_->has_outputs(); }
  [[nodiscard]] const specverify::row_transform& transform() const { return session_->transform(); }
  void record_link(float, float, float, float) {}
  void record_channel(const specverify::channel_report& channel, std::uint32_t uplink_state) {
    session_->record_channel(channel, uplink_state);
  }
  [[nodiscard]] specverify::session_output next() { return session_->next(); }
  [[nodiscard]] const specverify::session_statistics& statistics() const { return session_->statistics(); }

 private:
  std::unique_ptr<edge_cloud::edge_session> session_;
};

//! One text on the virtual clock. `options` and `plan` must say the same of format, rule, mode and order.
template <class Model>
[[nodiscard]] lab::run_result run_demo_session(const lab::run_options& options, const edge_cloud::wire_plan& plan,
                                               Model& drafter, Model& target) {
  const bool measures = plan.gate && !std::holds_alternative<specverify::random_skip>(*plan.gate);
  const specverify::edge_options made = lab::edge_options_of(options, drafter.vocab_size());
  return lab::run_session(options, drafter, target, lab_demo_session(edge_cloud::make_edge_session(made, plan)),
                          measures);
}

//! What `options` has of a plan.
inline void follow(const edge_cloud::wire_plan& plan, lab::run_options& options) {
  options.format = plan.format;
  options.mode = plan.mode;
  options.rule = plan.rule;
  options.bonus = plan.bonus;
  options.draw_from_row = plan.draw_from_row;
}

#endif
