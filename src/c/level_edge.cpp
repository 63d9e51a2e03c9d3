// SPDX-License-Identifier: Apache-2.0
// The edge behind its handle.
#include "convert.hpp"
#include "levels.hpp"

namespace specverify_c {
namespace {

class edge_of final : public specverify_edge {
 public:
  edge_of(const sv::edge_options& options, const named_system& system)
      : session_(sv::make_edge(options, system.name, system.settings())) {}
  [[nodiscard]] sv::status why() const noexcept { return session_.error(); }

  void destroy() noexcept override { unplace(this); }
  sv::status start(std::span<const sv::token_id> prompt, sv::session_time now) noexcept override {
    return session_->start(prompt, now);
  }
  sv::result<sv::journal_reading> restore(std::span<const std::byte> journal, sv::session_time now) noexcept override {
    return session_->restore(journal, now);
  }
  sv::status recover(std::uint32_t prompt_length, sv::session_time now) noexcept override {
    return session_->recover(prompt_length, now);
  }
  sv::status receive(std::span<const std::byte> message, sv::session_time now) noexcept override {
    return session_->receive(message, now);
  }
  sv::status tick(sv::session_time now) noexcept override { return session_->tick(now); }
  sv::status reconnect(sv::session_time now) noexcept override { return session_->reconnect(now); }
  sv::status stop(sv::stop_cause cause, sv::session_time now) noexcept override { return session_->stop(cause, now); }
  sv::status disconnect(sv::session_time now) noexcept override { return session_->disconnect(now); }
  sv::status engine_failed(sv::status why) noexcept override { return session_->engine_failed(why); }
  void record_channel(const sv::channel_report& channel) noexcept override { session_->record_channel(channel); }
  sv::status take_row(const specverify_row& row, const sv::row_transform& transform, const row_gifts& gifts,
                      sv::session_time now) noexcept override {
    sv::status wrong = check_row(row);
    if (wrong.ok()) wrong = check_aligned(gifts.hidden.data());
    if (wrong.ok()) wrong = check_aligned(gifts.attention.data());
    if (!wrong.ok()) {
      if (session_->wants_rows()) (void)session_->engine_failed(wrong);  // as any other row that is none
      return wrong;
    }
    const sv::row_extras extras{gifts.hidden, gifts.attention};
    switch (row.scalar) {
      case SPECVERIFY_FLOAT16:
        return session_->supply_row(sv::exec::simd, view_of<sv::float16_bits>(row), transform, extras, now);
      case SPECVERIFY_BFLOAT16:
        return session_->supply_row(sv::exec::simd, view_of<sv::bfloat16_bits>(row), transform, extras, now);
      default:
        return session_->supply_row(sv::exec::simd, view_of<float>(row), transform, extras, now);
    }
  }

  sv::session_output next() noexcept override { return session_->next(); }
  bool has_outputs() const noexcept override { return session_->has_outputs(); }
  bool wants_rows() const noexcept override { return session_->wants_rows(); }
  std::optional<sv::session_time> deadline() const noexcept override { return session_->deadline(); }
  sv::edge_state state() const noexcept override { return session_->state(); }
  const sv::round_record& last_round() const noexcept override { return session_->last_round(); }
  std::span<const sv::token_id> text() const noexcept override { return session_->text(); }
  std::uint32_t prompt_length() const noexcept override { return session_->prompt_length(); }
  std::uint32_t keep_from() const noexcept override { return session_->keep_from(); }
  sv::row_transform transform() const noexcept override { return session_->transform(); }
  const sv::session_statistics& statistics() const noexcept override { return session_->statistics(); }
  sv::status refusal() const noexcept override { return session_->refusal(); }

 private:
  sv::result<sv::edge_session> session_;
};

}  // namespace

sv::result<specverify_edge*> make_edge(const sv::edge_options& options, const named_system& system,
                                       const memory_hooks& memory) noexcept {
  const auto made = place<edge_of>(memory, options, system);
  if (!made) return made.error();
  return static_cast<specverify_edge*>(*made);
}

}  // namespace specverify_c
