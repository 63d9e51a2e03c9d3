// SPDX-License-Identifier: Apache-2.0
//! The ends of all programs here: what they printed has arrived, or they fail.
#ifndef SPECVERIFY_APPS_STANDARD_OUTPUT_HPP
#define SPECVERIFY_APPS_STANDARD_OUTPUT_HPP

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <system_error>

#include <fcntl.h>

namespace programs {

//! Where one of the three files was closed (`>&-`), the next one that a program opens would take its number: a journal
//! or a connection would get what is printed. /dev/null takes the place, and refuses what is written to it as output.
inline void keep_standard_files() {
  for (const int file : {0, 1, 2}) {
    if (::fcntl(file, F_GETFD) < 0) (void)!::open("/dev/null", file == 2 ? O_WRONLY : O_RDONLY);
  }
}

//! `work()` gives the exit code of a program. It is 1 in place of 0 where not all of the standard output could be
//! written, to a full disk for example; a line says so.
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
