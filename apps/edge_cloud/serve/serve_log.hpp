// SPDX-License-Identifier: Apache-2.0
//! Writes the log of a server: device, event and reason, but never a key, a salt, a prompt or a text. It writes at most
//! 8 lines of each kind per second, and counts the others.
#ifndef EDGE_CLOUD_SERVE_SERVE_LOG_HPP
#define EDGE_CLOUD_SERVE_SERVE_LOG_HPP

#include "serve_limits.hpp"

#include <array>
#include <memory>
#include <string>

namespace spdlog {
class logger;
}

namespace edge_cloud {

class serve_log {
 public:
  static constexpr std::uint32_t lines_a_second = 8;  //!< maximum lines of each kind per second

  //! Logs to standard error.
  serve_log();
  //! Logs to another sink of spdlog.
  explicit serve_log(std::shared_ptr<spdlog::logger> to);

  //! Logs a refusal. `who` is a device, a session, or an address. `now` in microseconds.
  void refused(refusal why, const std::string& who, std::uint64_t now);
  //! Logs a normal beginning or end of a session. These lines are counted separately, so that many of them cannot hide
  //! other events.
  void event(const std::string& what, std::uint64_t now) { write(own_events, what, now); }
  void device_event(const std::string& what, std::uint64_t now) { write(device_events, what, now); }
  //! Logs a failure on the server's side.
  void failure(const std::string& what, std::uint64_t now) { write(failures, what, now); }
  //! Logs the number of omitted lines of each kind in earlier seconds. Must be called about once per second.
  void summarize(std::uint64_t now);

  //! Returns the number of refusals for this reason.
  [[nodiscard]] std::uint64_t count(refusal why) const { return counts_[static_cast<std::size_t>(why)]; }

 private:
  struct bucket {
    std::uint64_t second = 0;  // second in which the lines are counted
    std::uint32_t lines = 0;
    std::uint64_t left_out = 0;
  };
  // Each refusal is a kind; `none` is used for the server's own events.
  static constexpr std::size_t own_events = 0, device_events = refusal_table.size(), failures = device_events + 1;
  static constexpr std::size_t kinds = failures + 1;

  void write(std::size_t kind, const std::string& what, std::uint64_t now);
  [[nodiscard]] bool may_write(std::size_t kind, std::uint64_t now);
  void begin_second(std::size_t kind, std::uint64_t second);

  std::shared_ptr<spdlog::logger> logger_;
  std::array<bucket, kinds> buckets_{};
  std::array<std::uint64_t, refusal_table.size()> counts_{};
};

}  // namespace edge_cloud

#endif
