// SPDX-License-Identifier: Apache-2.0
//! The log of a server: who, what and why; never a key, a salt, a prompt or a text. A flood is counted, not listed.
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
  static constexpr std::uint32_t lines_a_second = 8;  //!< of one kind

  //! To the standard error.
  serve_log();
  //! To another sink of spdlog.
  explicit serve_log(std::shared_ptr<spdlog::logger> to);

  //! Something was refused; `who` is a device, a session, or an address. `now` in microseconds.
  void refused(refusal why, const std::string& who, std::uint64_t now);
  //! Something began or ended as it should. A flood that devices cause hides nothing else.
  void event(const std::string& what, std::uint64_t now) { write(own_events, what, now); }
  void device_event(const std::string& what, std::uint64_t now) { write(device_events, what, now); }
  //! Something went wrong on the server's side.
  void failure(const std::string& what, std::uint64_t now) { write(failures, what, now); }
  //! Says how many lines of each kind were left out in the seconds before this one. Call it every second or so.
  void summarize(std::uint64_t now);

  //! How often something was refused for this reason.
  [[nodiscard]] std::uint64_t count(refusal why) const { return counts_[static_cast<std::size_t>(why)]; }

 private:
  struct bucket {
    std::uint64_t second = 0;  // of the lines that it counts
    std::uint32_t lines = 0;
    std::uint64_t left_out = 0;
  };
  // A refusal is a kind of its own, and `none` stands for the server's own events.
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
