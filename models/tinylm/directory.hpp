// SPDX-License-Identifier: Apache-2.0
//! Returns the folder of the bundled pair.
#ifndef SPECVERIFY_MODELS_TINYLM_DIRECTORY_HPP
#define SPECVERIFY_MODELS_TINYLM_DIRECTORY_HPP

#include <string>

namespace tinylm {

//! Returns the folder of the committed model that the build found. A program's own argument should take precedence.
[[nodiscard]] inline std::string default_directory() {
#ifdef SPECVERIFY_TINYLM_DIRECTORY
  return SPECVERIFY_TINYLM_DIRECTORY;
#else
  return "models/tinylm/model";
#endif
}

}  // namespace tinylm

#endif
