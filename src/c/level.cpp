// SPDX-License-Identifier: Apache-2.0
// The cloud, and the table of a level.
#include "core.hpp"

#include <specverify/session/cloud.hpp>

namespace specverify_c {
namespace {

// Rows of one kind of scalar. One that is of another, or none, is empty: the session refuses it by its size.
template <class Scalar>
struct typed_rows {
  const row_source& source;
  const specverify_row& first;  // is there, and of this kind

  [[nodiscard]] sv::row_view<Scalar> operator()(std::uint32_t index) const noexcept {
    if (index == 0) return view_of<Scalar>(first);
    const specverify_row row = source.row(source.self, index);
    return check_row(row).ok() && row.scalar == first.scalar ? view_of<Scalar>(row) : sv::row_view<Scalar>{};
  }
  [[nodiscard]] sv::row_transform transform(std::uint32_t index) const noexcept {
    return source.transform(source.self, index);
  }
};

class cloud_of final : public specverify_cloud {
 public:
  explicit cloud_of(const sv::cloud_options& options) : session_(sv::make_cloud(options)) {}
  [[nodiscard]] sv::status why() const noexcept { return session_.error(); }

  void destroy() noexcept override { unplace(this); }
  sv::result<sv::journal_reading> restore(std::span<const std::byte> journal) noexcept override {
    return session_->restore(journal);
  }
  sv::status receive(std::span<const std::byte> message, sv::session_time now) noexcept override {
    return session_->receive(message, now);
  }
  sv::status engine_failed(sv::status why) noexcept override { return session_->engine_failed(why); }
  sv::status take_rows(const row_source& rows, sv::session_time now) noexcept override {
    if (!session_->wants_rows()) return {sv::errc::unexpected_message, sv::part::session, 0};
    const specverify_row first = rows.row(rows.self, 0);
    if (const sv::status wrong = check_row(first); !wrong.ok()) {
      (void)session_->engine_failed(wrong);
      return wrong;
    }
    switch (first.scalar) {
      case SPECVERIFY_FLOAT16:
        return take<sv::float16_bits>(rows, first, now);
      case SPECVERIFY_BFLOAT16:
        return take<sv::bfloat16_bits>(rows, first, now);
      default:
        return take<float>(rows, first, now);
    }
  }
  sv::status supply_scores(std::span<const double> scores, sv::session_time now) noexcept override {
    return session_->supply_scores(scores, now);
  }

  sv::session_output next() noexcept override { return session_->next(); }
  bool has_outputs() const noexcept override { return session_->has_outputs(); }
  bool wants_rows() const noexcept override { return session_->wants_rows(); }
  bool wants_scores() const noexcept override { return session_->wants_scores(); }
  sv::cloud_state state() const noexcept override { return session_->state(); }
  const sv::decided_round& last_round() const noexcept override { return session_->last_round(); }
  std::uint64_t session_id() const noexcept override { return session_->session_id(); }
  std::span<const sv::token_id> text() const noexcept override { return session_->text(); }
  std::uint32_t prompt_length() const noexcept override { return session_->prompt_length(); }
  std::uint32_t keep_from() const noexcept override { return session_->keep_from(); }
  std::uint32_t draft_position() const noexcept override { return session_->draft_position(); }
  sv::row_transform transform() const noexcept override { return session_->transform(); }
  sv::channel_report reported_channel() const noexcept override { return session_->reported_channel(); }
  const sv::session_statistics& statistics() const noexcept override { return session_->statistics(); }
  sv::status refusal() const noexcept override { return session_->refusal(); }

 private:
  template <class Scalar>
  [[nodiscard]] sv::status take(const row_source& rows, const specverify_row& first, sv::session_time now) noexcept {
    return session_->supply_rows(sv::exec::simd, typed_rows<Scalar>{rows, first}, now);
  }
  sv::result<sv::cloud_session> session_;
};

sv::result<specverify_cloud*> make_cloud(const sv::cloud_options& options, const memory_hooks& memory) noexcept {
  const auto made = place<cloud_of>(memory, options);
  if (!made) return made.error();
  return static_cast<specverify_cloud*>(*made);
}

}  // namespace

SPECVERIFY_LEVEL_TABLE(level_calls, specverify_c_levels) = {make_edge, make_cloud, make_law_of, verify_drafts};

}  // namespace specverify_c
