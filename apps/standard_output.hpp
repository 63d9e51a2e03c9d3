// SPDX-License-Identifier: Apache-2.0
//! Makes a program fail if a part of its output was not written, and turns exceptions into exit codes.
#ifndef SPECVERIFY_APPS_STANDARD_OUTPUT_HPP
#define SPECVERIFY_APPS_STANDARD_OUTPUT_HPP

#include <cerrno>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>

namespace programs {

//! Opens /dev/null for each of the three standard files that the caller closed (`>&-`), in a mode that makes writing
//! fail. Otherwise the next file that the program opens would get the closed file's number, and a journal or a
//! connection would receive the printed text.
inline void keep_standard_files() {
  for (const int file : {0, 1, 2}) {
    if (::fcntl(file, F_GETFD) < 0) (void)!::open("/dev/null", file == 2 ? O_WRONLY : O_RDONLY);
  }
}

//! Prints the error with which a program ends, and returns the exit code: 2 for wrong usage (std::invalid_argument) and
//! for a file that is missing, invalid or cannot be written (std::runtime_error). All other exceptions are defects of
//! the program or a lack of memory; their exit code is 70.
[[nodiscard]] inline int exit_code_of(const char* program, const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", program, error.what());
  const bool by_user = dynamic_cast<const std::runtime_error*>(&error) != nullptr ||
                       dynamic_cast<const std::invalid_argument*>(&error) != nullptr;
  return by_user ? 2 : 70;
}

//! Runs `work()`, and returns its result as the exit code of the program. If a part of the standard output could not be
//! written, for example because the disk is full, it prints an error and returns 1 in place of 0.
template <class Work>
[[nodiscard]] int with_output(const char* program, Work&& work) {
  keep_standard_files();
  const int code = work();
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  const int why = errno;
  if (flushed && std::ferror(stdout) == 0 && std::cout.good()) return code;
  std::fprintf(stderr,
               "%s: the standard output could not be written completely%s%s; use a file or a disk with free space\n",
               program, why == 0 ? "" : ": ", why == 0 ? "" : std::generic_category().message(why).c_str());
  return code == 0 ? 1 : code;
}

}  // namespace programs

#endif
