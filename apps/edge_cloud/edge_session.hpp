// SPDX-License-Identifier: Apache-2.0
//! The edge's session of any system behind one face: which rules it is made of is decided when the program runs.
#ifndef EDGE_CLOUD_EDGE_SESSION_HPP
#define EDGE_CLOUD_EDGE_SESSION_HPP

#include <specverify/session/edge.hpp>

#include "wire_plan.hpp"

#include <memory>

namespace edge_cloud {

class edge_session {
 public:
  virtual ~edge_session() = default;
  [[nodiscard]] virtual specverify::status start(std::span<const specverify::token_id> prompt,
                                                 specverify::session_time now) = 0;
  [[nodiscard]] virtual specverify::result<specverify::journal_reading> restore(std::span<const std::byte> journal,
                                                                                specverify::session_time now) = 0;
  [[nodiscard]] virtual specverify::status receive(std::span<const std::byte> message,
                                                   specverify::session_time now) = 0;
  [[nodiscard]] virtual specverify::status tick(specverify::session_time now) = 0;
  [[nodiscard]] virtual specverify::status reconnect(specverify::session_time now) = 0;
  [[nodiscard]] virtual specverify::status disconnect(specverify::session_time now) = 0;
  [[nodiscard]] virtual specverify::status stop(specverify::stop_cause cause, specverify::session_time now) = 0;
  [[nodiscard]] virtual specverify::status engine_failed(specverify::status why) = 0;
  //! As the library's own, by the vector kernels whatever the policy is.
  [[nodiscard]] specverify::status supply_row(specverify::exec::seq_policy, specverify::row_view<float> row,
                                              const specverify::row_transform& transform,
                                              const specverify::row_extras& extras, specverify::session_time now) {
    return take_row(row, transform, extras, now);
  }
  virtual void record_channel(const specverify::channel_report& channel, std::uint32_t uplink_state) = 0;
  [[nodiscard]] virtual specverify::session_output next() = 0;
  [[nodiscard]] virtual bool has_outputs() const = 0;
  [[nodiscard]] virtual std::optional<specverify::session_time> deadline() const = 0;
  [[nodiscard]] virtual const specverify::row_transform& transform() const = 0;
  [[nodiscard]] virtual std::span<const specverify::token_id> text() const = 0;
  [[nodiscard]] virtual std::uint32_t prompt_length() const = 0;
  [[nodiscard]] virtual specverify::status refusal() const = 0;
  [[nodiscard]] virtual const specverify::session_statistics& statistics() const = 0;
  [[nodiscard]] virtual const specverify::round_record& last_round() const = 0;

 private:
  [[nodiscard]] virtual specverify::status take_row(specverify::row_view<float> row,
                                                    const specverify::row_transform& transform,
                                                    const specverify::row_extras& extras,
                                                    specverify::session_time now) = 0;
};

//! One session, of the rules that the plan names. Throws what the session says is wrong with the options. A network of
//! the plan's window must outlive it.
[[nodiscard]] std::unique_ptr<edge_session> make_edge_session(const specverify::edge_options& options,
                                                              const wire_plan& plan);

}  // namespace edge_cloud

#endif
