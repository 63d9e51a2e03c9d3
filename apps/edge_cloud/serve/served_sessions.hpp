// SPDX-License-Identifier: Apache-2.0
//! Manages the sessions of a server by id. An id belongs to the device that opened it; all other devices are refused
//! and learn nothing more. This class has no sockets and no clock: the caller passes messages and times in.
#ifndef EDGE_CLOUD_SERVE_SERVED_SESSIONS_HPP
#define EDGE_CLOUD_SERVE_SERVED_SESSIONS_HPP

#include "serve_log.hpp"
#include "served_session.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace edge_cloud {

//! A connection as the sessions see it, after the device is authenticated.
struct visitor {
  std::uint64_t device = 0;
  message_sender send;
  std::function<void()> close{};                  //!< called if another connection takes over the session
  std::optional<specverify::hello_name> hello{};  //!< its last hello, which selects the session of the connection
  std::uint32_t useless = 0;                      //!< number of useless frames
};

class served_sessions {
 public:
  //! Restores the sessions of the run's state folder. If a session cannot be restored, it is set aside and logged, or
  //! the constructor throws with `strict_restore`. Finished sessions are deleted if a limit requires it. Throws if the
  //! folder cannot be read, or has more sessions than a limit allows.
  served_sessions(const serve_parts& parts, serve_log& log, std::uint64_t now);

  //! Takes a whole frame. If it returns a refusal other than none, the caller must close the connection for that
  //! reason. Times are in microseconds.
  [[nodiscard]] refusal receive(const std::shared_ptr<visitor>& from, std::span<const std::byte> message,
                                std::uint64_t now);

  //! Returns whether a session waits for an engine and can have one now. `work` does one pass for the session that
  //! waits longest; call it only then.
  [[nodiscard]] bool has_work(std::uint64_t now) const { return next_to_work(now) != waiting_.end(); }
  void work(std::uint64_t now);
  //! Forgets sessions that have been idle too long.
  void sweep(std::uint64_t now);

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }
  [[nodiscard]] const disk_share& disk() const noexcept { return disk_; }

 private:
  struct entry {
    entry(const serve_parts& parts, std::uint64_t id, std::uint64_t of, disk_share& share)
        : owner(of), folder(parts.run.state / "sessions", id, parts.syncs(), parts.limits, share) {}
    std::uint64_t owner;
    session_folder folder;
    std::unique_ptr<served_session> session{};  // none if a limit ended the session
    refusal ended = refusal::none;
    specverify::hello_name hello{};  // name of the last hello
    std::weak_ptr<visitor> link{};   // the connection of the session
    std::uint64_t heard = 0;         // time of the last message
    bool waits = false;              // whether the session waits for an engine
    bool told = false;               // whether the log contains the session's end
  };
  //! Result of a frame.
  struct outcome {
    refusal why = refusal::none;
    bool useful = true;  // valid if nothing was refused
  };
  using entry_map = std::map<std::uint64_t, entry>;

  [[nodiscard]] std::deque<std::uint64_t>::const_iterator next_to_work(std::uint64_t now) const;
  void restore(std::uint64_t now);
  void restore(entry_map::iterator of, std::uint64_t now);
  [[nodiscard]] bool restore_owner(entry_map::iterator of, std::uint64_t now);
  void set_aside(entry_map::iterator of, const std::string& why, std::uint64_t now);
  [[nodiscard]] outcome hear(const std::shared_ptr<visitor>& from, std::span<const std::byte> message,
                             std::uint64_t now);
  [[nodiscard]] outcome greet(const std::shared_ptr<visitor>& from, const specverify::hello_name& name,
                              std::span<const std::byte> hello, std::uint64_t now);
  [[nodiscard]] outcome begin(const std::shared_ptr<visitor>& from, const specverify::hello_name& name,
                              std::span<const std::byte> hello, std::uint64_t now);
  void connect(const std::shared_ptr<visitor>& from, entry_map::iterator to, const specverify::hello_name& name);
  [[nodiscard]] std::vector<entry_map::iterator> over();
  [[nodiscard]] refusal hold_limits(std::uint64_t owner, std::uint64_t more_bytes);
  [[nodiscard]] entry_map::iterator found_for(const visitor& from, std::uint64_t id);
  void pass_on(entry_map::iterator to, std::span<const std::byte> message, std::uint64_t now);
  template <class Step>
  void step(entry_map::iterator of, std::uint64_t now, Step&& step);
  void end(entry_map::iterator of, refusal why, std::uint64_t now);
  void forget(entry_map::iterator of);
  [[nodiscard]] std::size_t count_of(std::uint64_t owner) const;

  const serve_parts& parts_;
  serve_log& log_;
  damaged_folder damaged_;
  disk_share disk_{};
  entry_map entries_;
  std::deque<std::uint64_t> waiting_;  // sessions that wait for an engine, in order
  std::size_t peak_ = 0;
};

//! Returns a message that refuses a hello, in the form that the library's devices accept. With an empty name the
//! message refuses a connection or a message.
[[nodiscard]] std::vector<std::byte> refusal_message(const specverify::hello_name& hello, specverify::status why);

}  // namespace edge_cloud

#endif
