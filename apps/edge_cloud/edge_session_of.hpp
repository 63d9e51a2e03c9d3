// SPDX-License-Identifier: Apache-2.0
//! Sessions of the library behind the demo's face. A session takes seconds to compile, so that each family has a file
//! of its own.
#ifndef EDGE_CLOUD_EDGE_SESSION_OF_HPP
#define EDGE_CLOUD_EDGE_SESSION_OF_HPP

#include "edge_session.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

namespace edge_cloud {

template <class Session>
class edge_session_of final : public edge_session {
 public:
  explicit edge_session_of(Session&& session) : session_(std::move(session)) {}
  specverify::status start(std::span<const specverify::token_id> prompt, specverify::session_time now) override {
    return session_.start(prompt, now);
  }
  specverify::result<specverify::journal_reading> restore(std::span<const std::byte> journal,
                                                          specverify::session_time now) override {
    return session_.restore(journal, now);
  }
  specverify::status receive(std::span<const std::byte> message, specverify::session_time now) override {
    return session_.receive(message, now);
  }
  specverify::status tick(specverify::session_time now) override { return session_.tick(now); }
  specverify::status reconnect(specverify::session_time now) override { return session_.reconnect(now); }
  specverify::status disconnect(specverify::session_time now) override { return session_.disconnect(now); }
  specverify::status stop(specverify::stop_cause cause, specverify::session_time now) override {
    return session_.stop(cause, now);
  }
  specverify::status engine_failed(specverify::status why) override { return session_.engine_failed(why); }
  void record_channel(const specverify::channel_report& channel, std::uint32_t uplink_state) override {
    session_.record_channel(channel, uplink_state);
  }
  specverify::session_output next() override { return session_.next(); }
  bool has_outputs() const override { return session_.has_outputs(); }
  std::optional<specverify::session_time> deadline() const override { return session_.deadline(); }
  const specverify::row_transform& transform() const override { return session_.transform(); }
  std::span<const specverify::token_id> text() const override { return session_.text(); }
  std::uint32_t prompt_length() const override { return session_.prompt_length(); }
  specverify::status refusal() const override { return session_.refusal(); }
  const specverify::session_statistics& statistics() const override { return session_.statistics(); }
  const specverify::round_record& last_round() const override { return session_.last_round(); }

 private:
  specverify::status take_row(specverify::row_view<float> row, const specverify::row_transform& transform,
                              const specverify::row_extras& extras, specverify::session_time now) override {
    return session_.supply_row(specverify::exec::simd, row, transform, extras, now);
  }
  Session session_;
};

//! Throws what the session says is wrong with the options.
template <class Support, class Window, class Gate = specverify::always_send>
[[nodiscard]] std::unique_ptr<edge_session> session_of(const specverify::edge_options& options,
                                                       const std::optional<Support>& support, const Window& window,
                                                       const Gate& gate = {}) {
  auto made = specverify::make_edge(options, support, window, gate);
  if (!made.ok()) throw std::runtime_error(specverify::message(made.error().code));
  return std::make_unique<edge_session_of<specverify::edge_session>>(std::move(made).value());
}

//! The top-K rule of a plan; none where no law lists a support.
[[nodiscard]] inline std::optional<specverify::top_k> largest_of(const wire_plan& plan) {
  if (!plan.support) return std::nullopt;
  return std::get<specverify::top_k>(*plan.support);
}

//! The families. Each knows the combinations of rules that systems.hpp names; std::bad_variant_access where a plan has
//! none of its own.
//! every round alike
[[nodiscard]] std::unique_ptr<edge_session> make_steady_session(const specverify::edge_options& options,
                                                                const wire_plan& plan);
//! each round planned
[[nodiscard]] std::unique_ptr<edge_session> make_windowed_session(const specverify::edge_options& options,
                                                                  const wire_plan& plan);
//! some tokens not sent
[[nodiscard]] std::unique_ptr<edge_session> make_gated_session(const specverify::edge_options& options,
                                                               const wire_plan& plan);

}  // namespace edge_cloud

#endif
