// SPDX-License-Identifier: Apache-2.0
//! Tests whether a call ends the program, like a failed assertion of the library.
#ifndef SPECVERIFY_TESTS_SUPPORT_ABORTS_HPP
#define SPECVERIFY_TESTS_SUPPORT_ABORTS_HPP

#if defined(__unix__)

#include <csignal>
#include <cstdio>

#include <sys/wait.h>
#include <unistd.h>

namespace specverify_test {

//! Runs the call in a child process, without output.
template <class Run>
[[nodiscard]] bool aborts(const Run& run) {
  const pid_t child = fork();
  if (child == 0) {
    (void)std::signal(SIGABRT, SIG_DFL);
    (void)std::freopen("/dev/null", "w", stderr);
    (void)run();
    _exit(0);
  }
  int how = 0;
  return waitpid(child, &how, 0) == child && WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT;
}

}  // namespace specverify_test

#endif

#endif
