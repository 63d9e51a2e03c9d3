// SPDX-License-Identifier: Apache-2.0
//! Runs one session of a server: the library's cloud, the text in the engine, and the folder. A session never throws
//! because of a peer's bytes, and ends if it reaches a limit.
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

//! Sends a message to the device.
using message_sender = std::function<void(std::span<const std::byte>)>;

//! Resources that the sessions of a server share. They must outlive the sessions.
struct serve_parts {
  const run_settings& run;
  const side_model& model;
  const serve_limits& limits;
  engine_pool& engines;
  device_rates& rates;
  bool strict_restore = false;  //!< throw instead of setting a session aside
  specverify::guarantee required = specverify::guarantee::lossy;
  bool sync = false;  //!< journals survive a power cut

  //! Returns whether records are synced. Under `unconditional` they must be: if a verdict were sent and then lost from
  //! the journal, the cloud would decide the round again, possibly with another result.
  [[nodiscard]] bool syncs() const noexcept { return sync || required == specverify::guarantee::unconditional; }
};

class served_session {
 public:
  //! Makes a session that no device has begun. Throws the library's error if the options are invalid.
  served_session(const serve_parts& parts, session_folder& folder);

  //! Continues from the folder's journal. If there is no journal, or no complete record in it, the session stays blank.
  //! Returns the bytes of an unfinished record, which are dropped. Errors: the errors of cloud_session::restore if the
  //! journal is damaged or needs other options; the journal is then unchanged, and the session stays blank.
  [[nodiscard]] specverify::result<std::uint64_t> restore(std::uint64_t now, const message_sender& send);
  //! Takes a message of the session's owner. Nothing is written or sent before `answer`, which must follow.
  void hear(std::span<const std::byte> message, std::uint64_t now);
  //! Returns none, or the limit that ended the session; it then takes no more messages.
  [[nodiscard]] refusal answer(std::uint64_t now, const message_sender& send) { return take(now, send); }
  //! Calls `take` and then `answer`.
  [[nodiscard]] refusal receive(std::span<const std::byte> message, std::uint64_t now, const message_sender& send) {
    hear(message, now);
    return answer(now, send);
  }

  //! Returns whether the engine is needed. `work` does one pass, and returns none or the limit that ended the session.
  [[nodiscard]] bool wants_work() const noexcept { return wanted_rows_ > 0; }
  //! Returns whether the session has a cache, or can take one without ending another session's turn.
  [[nodiscard]] bool may_work(std::uint64_t now) const { return text_.may_feed(now); }
  [[nodiscard]] refusal work(std::uint64_t now, const message_sender& send);

  //! Returns whether no device has begun the session.
  [[nodiscard]] bool is_blank() const noexcept { return session_.state() == specverify::cloud_state::blank; }
  //! Returns whether the session only repeats answers, because the text is complete or one side gave up.
  [[nodiscard]] bool is_over() const noexcept;
  //! Returns whether the device ended the text before it was complete.
  [[nodiscard]] bool is_cancelled() const noexcept { return cancelled_; }
  //! Returns the reason of a refusal or failure, or ok while the session runs.
  [[nodiscard]] specverify::status why_refused() const noexcept { return session_.refusal(); }
  //! Returns the number of messages that no correct device sends, because a stream of frames is never damaged.
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
  specverify::status misplaced_{};  // not ok: session and engine disagree about the position
};

}  // namespace edge_cloud

#endif
