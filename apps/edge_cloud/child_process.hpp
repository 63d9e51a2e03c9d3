// SPDX-License-Identifier: Apache-2.0
//! Starts a child process of the demo, which runs this program with other arguments, and checks whether the child has
//! ended.
#ifndef EDGE_CLOUD_CHILD_PROCESS_HPP
#define EDGE_CLOUD_CHILD_PROCESS_HPP

#include "../uninterrupted.hpp"

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace edge_cloud {

class child_process {
 public:
  explicit child_process(std::vector<std::string> arguments) : arguments_(std::move(arguments)) { start(); }
  ~child_process() { stop(); }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  [[nodiscard]] pid_t id() const noexcept { return id_; }

  //! Starts the child again with the same arguments. The child must have ended.
  void start() {
    std::vector<char*> argv;
    for (std::string& argument : arguments_) argv.push_back(argument.data());
    argv.push_back(nullptr);
    if (::posix_spawn(&id_, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0)
      throw std::runtime_error("cannot start " + arguments_[1]);
  }

  struct ending {
    bool ended = false;
    bool killed = false;  //!< whether a signal ended the child; `code` is then the number of the signal
    int code = 0;
  };

  //! Returns whether and how the child has ended, without waiting.
  [[nodiscard]] ending poll() {
    int state = 0;
    if (id_ <= 0 || ::waitpid(id_, &state, WNOHANG) != id_) return {};
    id_ = 0;
    if (WIFSIGNALED(state)) return {true, true, WTERMSIG(state)};
    return {true, false, WEXITSTATUS(state)};
  }

  void stop() {
    if (id_ <= 0) return;
    ::kill(id_, SIGTERM);
    (void)programs::uninterrupted([&] { return ::waitpid(id_, nullptr, 0); });
    id_ = 0;
  }

 private:
  std::vector<std::string> arguments_;
  pid_t id_ = 0;
};

}  // namespace edge_cloud

#endif
