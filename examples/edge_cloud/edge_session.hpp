// SPDX-License-Identifier: Apache-2.0
//! The edge's session of any system behind one face: which rules it is made of is decided when the program runs.
#ifndef EDGE_CLOUD_EDGE_SESSION_HPP
#define EDGE_CLOUD_EDGE_SESSION_HPP

#include <specverify/session/edge.hpp>

#include "wire_plan.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace edge_cloud {

class edge_session {
 public:
  virtual ~edge_session() = default;
  [[nodiscard]] virtual specverify::status start(std::span<const specverify::token_id> prompt, specverify::session_time now) = 0;
  [[nodiscard]] virtual specverify::status restore(std::span<const std::byte> journal, specverify::session_time now, specverify::journal_reading* found) = 0;
  [[nodiscard]] virtual specverify::status receive(std::span<const std::byte> message, specverify::session_time now) = 0;
  [[nodiscard]] virtual specverify::status tick(specverify::session_time now) = 0;
  [[nodiscard]] virtual specverify::status reconnect(specverify::session_time now) = 0;
  [[nodiscard]] virtual specverify::status supply_row(specverify::row_view<float> row, const specverify::row_transform& transform,
                                                      const specverify::row_extras& extras, specverify::session_time now) = 0;
  virtual void record_channel(const specverify::channel_report& channel) = 0;
  [[nodiscard]] virtual specverify::session_output next() = 0;
  [[nodiscard]] virtual std::optional<specverify::session_time> deadline() const = 0;
  [[nodiscard]] virtual std::span<const specverify::token_id> text() const = 0;
  [[nodiscard]] virtual std::uint32_t prompt_length() const = 0;
  [[nodiscard]] virtual const specverify::session_statistics& statistics() const = 0;
};

template <class Session>
class edge_session_of final : public edge_session {
 public:
  explicit edge_session_of(Session&& session) : session_(std::move(session)) {}
  specverify::status start(std::span<const specverify::token_id> prompt, specverify::session_time now) override { return session_.start(prompt, now); }
  specverify::status restore(std::span<const std::byte> journal, specverify::session_time now, specverify::journal_reading* found) override {
    return session_.restore(journal, now, found);
  }
  specverify::status receive(std::span<const std::byte> message, specverify::session_time now) override { return session_.receive(message, now); }
  specverify::status tick(specverify::session_time now) override { return session_.tick(now); }
  specverify::status reconnect(specverify::session_time now) override { return session_.reconnect(now); }
  specverify::status supply_row(specverify::row_view<float> row, const specverify::row_transform& transform, const specverify::row_extras& extras,
                                specverify::session_time now) override {
    return session_.supply_row(specverify::exec::simd, row, transform, extras, now);
  }
  void record_channel(const specverify::channel_report& channel) override { session_.record_channel(channel); }
  specverify::session_output next() override { return session_.next(); }
  std::optional<specverify::session_time> deadline() const override { return session_.deadline(); }
  std::span<const specverify::token_id> text() const override { return session_.text(); }
  std::uint32_t prompt_length() const override { return session_.prompt_length(); }
  const specverify::session_statistics& statistics() const override { return session_.statistics(); }

 private:
  Session session_;
};

//! The pairs of rules that systems.hpp names. Every other one would be compiled for nothing.
template <class Support, class Skip>
inline constexpr bool is_paired = std::is_same_v<Skip, specverify::always_send> || std::is_same_v<Support, specverify::top_k> ||
                                  (std::is_same_v<Support, specverify::vocabulary_budget> && std::is_same_v<Skip, specverify::uncertainty_gate>);

//! One session, of the rules that the plan names. Throws what the session says is wrong with the options.
[[nodiscard]] inline std::unique_ptr<edge_session> make_edge_session(const specverify::edge_options& options, const wire_plan& plan) {
  const auto made_of = [&](const auto& support, const auto& skip) -> std::unique_ptr<edge_session> {
    using support_type = std::decay_t<decltype(support)>;
    using skip_type = std::decay_t<decltype(skip)>;
    if constexpr (is_paired<support_type, skip_type>) {
      using session = specverify::basic_edge_session<support_type, specverify::fixed_window, skip_type>;
      auto made = session::make(options, support, plan.window, skip);
      if (!made.ok()) throw std::runtime_error(specverify::message(made.error().code));
      return std::make_unique<edge_session_of<session>>(std::move(made).value());
    } else {
      throw std::logic_error("no system of systems.hpp is made of these rules");
    }
  };
  return std::visit(made_of, plan.support, plan.skip);
}

}  // namespace edge_cloud

#endif
