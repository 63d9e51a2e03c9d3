// SPDX-License-Identifier: Apache-2.0
//! Makes a program fail if a part of its output was not written.
#ifndef SPECVERIFY_APPS_STANDARD_OUTPUT_HPP
#define SPECVERIFY_APPS_STANDARD_OUTPUT_HPP

#include <cerrno>
#include <cstdio>
#include <iostream>
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
