// SPDX-License-Identifier: Apache-2.0
//! The bundled models, loaded once a test program.
#ifndef SPECVERIFY_TESTS_UNIT_MODELS_EMBEDDED_PAIR_HPP
#define SPECVERIFY_TESTS_UNIT_MODELS_EMBEDDED_PAIR_HPP

#include "../../../models/tinylm/tinylm.hpp"

#include <doctest/doctest.h>

inline const tinylm::model_pair& models() {
  static const auto pair = tinylm::load_pair(tinylm::default_directory());
  REQUIRE_MESSAGE(pair.ok(), pair.error);
  return *pair;
}

#endif
