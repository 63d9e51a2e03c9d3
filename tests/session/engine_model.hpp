// SPDX-License-Identifier: Apache-2.0
// Adapts a hash engine to the host's loop: a language_model that reports if session and engine disagree.
#ifndef SPECVERIFY_TESTS_SESSION_ENGINE_MODEL_HPP
#define SPECVERIFY_TESTS_SESSION_ENGINE_MODEL_HPP

#include <specverify/host/language_model.hpp>

#include <session/hash_model.hpp>

namespace specverify_test {

//! Error status of the tests' engines.
inline constexpr specverify::status wrong_position{specverify::errc::base_length_mismatch, specverify::part::host, 1};

struct engine_model {
  hash_engine& engine;

  [[nodiscard]] specverify::status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    return engine.feed(position, tokens, rows) ? specverify::status{} : wrong_position;
  }
  [[nodiscard]] specverify::row_view<float> row(std::uint32_t i) const { return engine.rows()[i]; }
  [[nodiscard]] specverify::status truncate(std::uint32_t position) {
    return engine.cut(position) ? specverify::status{} : wrong_position;
  }
};
static_assert(specverify::truncating_model<engine_model>);

}  // namespace specverify_test

#endif
