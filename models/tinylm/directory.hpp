// SPDX-License-Identifier: Apache-2.0
//! Where the embedded pair lies.
#ifndef SPECVERIFY_EXAMPLES_TINYLM_DIRECTORY_HPP
#define SPECVERIFY_EXAMPLES_TINYLM_DIRECTORY_HPP

#include <string>

namespace tinylm {

//! Where the build found the committed model; a program's own argument comes first.
[[nodiscard]] inline std::string default_directory() {
#ifdef SPECVERIFY_TINYLM_DIRECTORY
  return SPECVERIFY_TINYLM_DIRECTORY;
#else
  return "models/tinylm/model";
#endif
}

}  // namespace tinylm

#endif
