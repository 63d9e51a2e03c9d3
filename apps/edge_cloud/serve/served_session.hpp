// SPDX-License-Identifier: Apache-2.0
//! One session of a server: the library's cloud, its engine's text and its folder. It throws nothing on a peer's bytes,
//! and ends itself where a limit says so.
#ifndef EDGE_CLOUD_SERVE_SERVED_SESSION_HPP
#define EDGE_CLOUD_SERVE_SERVED_SESSION_HPP

#include <specverify/host/drive.hpp>
#include <specverify/session/cloud.hpp>

#include "../run_settings.hpp"
#include "device_rates.hpp"
#include "engine_pool.hpp"
#include "session_folder.hpp"

#include <functional>

namespace edge_cloud {

//! Takes a message for the device.
using message_sender = std::function<void(std::span<const std::byte>)>;

//! What the sessions of a server have in common, and what outlives them.
struct serve_parts {
  const run_settings& run;
  const side_model& model;
  const serve_limits& limits;
  engine_pool& engines;
  device_rates& rates;
  bool strict_restore = false;  //!< throws instead of setting a session aside
  specverify::guarantee required = specverify::guarantee::lossy;
  bool sync = false;  //!< journals outlive a power cut

  //! A verdict that was sent and is then lost from the journal would be decided again, and differently.
  [[nodiscard]] bool syncs() const noexcept { return sync || required == specverify::guarantee::unconditional; }
};

class served_session {
 public:
  //! A blank one. Throws what the library says is wrong with the options.
  served_session(const serve_parts& parts, session_folder& folder);

  //! Goes on from the folder's journal; the session stays blank if there is none, or no whole record. Returns the bytes
  //! of an unfinished record, which are dropped. Errors: those of cloud_session::restore for a journal that is damaged,
  //! or that these options do not serve; the journal is left as it is, and the session stays blank.
  [[nodiscard]] specverify::result<std::uint64_t> restore(std::uint64_t now, const message_sender& send);
  //! A message of the session's owner: nothing is written or sent before `answer`, which follows each.
  void hear(std::span<const std::byte> message, std::uint64_t now);
  //! none, or the limit that ended the session: it takes nothing more.
  [[nodiscard]] refusal answer(std::uint64_t now, const message_sender& send) { return take(now, send); }
  //! Both.
  [[nodiscard]] refusal receive(std::span<const std::byte> message, std::uint64_t now, const message_sender& send) {
    hear(message, now);
    return answer(now, send);
  }

  //! The engine is wanted. `work` is one pass. none, or the limit that ended the session.
  [[nodiscard]] bool wants_work() const noexcept { return wanted_rows_ > 0; }
  //! Whether it has a cache, or may take one without ending another session's turn.
  [[nodiscard]] bool may_work(std::uint64_t now) const { return text_.may_feed(now); }
  [[nodiscard]] refusal work(std::uint64_t now, const message_sender& send);

  //! No device has begun it.
  [[nodiscard]] bool is_blank() const noexcept { return session_.state() == specverify::cloud_state::blank; }
  //! Nothing is left to do but to repeat answers: the text is complete, or one side gave up.
  [[nodiscard]] bool is_over() const noexcept;
  //! The device ended the text before it was complete.
  [[nodiscard]] bool is_cancelled() const noexcept { return cancelled_; }
  //! Why it was refused, or failed; ok while it goes on.
  [[nodiscard]] specverify::status why_refused() const noexcept { return session_.refusal(); }
  //! Messages that no device writes: damage does not come over a stream of frames.
  [[nodiscard]] std::uint64_t unreadable() const noexcept { return session_.statistics().corrupt; }

 private:
  [[nodiscard]] refusal take(std::uint64_t now, const message_sender& send);
  [[nodiscard]] specverify::status compute(std::uint64_t now);

  const serve_parts& parts_;
  session_folder& folder_;
  specverify::cloud_session session_;
  engine_text text_;
  std::uint32_t wanted_rows_ = 0;
  bool cancelled_ = false;
  specverify::status misplaced_{};  // not ok: the session and its engine disagree about the position
};

}  // namespace edge_cloud

#endif
