// SPDX-License-Identifier: Apache-2.0
//! Holds a value, or a message about the error.
#ifndef SPECVERIFY_MODELS_TINYLM_OUTCOME_HPP
#define SPECVERIFY_MODELS_TINYLM_OUTCOME_HPP

#include <optional>
#include <string>
#include <utility>

namespace tinylm {

template <class Value>
struct outcome {
  std::optional<Value> value;
  std::string error;  //!< empty if and only if there is a value

  outcome(Value good) : value(std::move(good)) {}
  static outcome failure(std::string message) { return outcome(std::nullopt, std::move(message)); }
  [[nodiscard]] bool ok() const { return value.has_value(); }
  Value& operator*() { return *value; }
  const Value& operator*() const { return *value; }
  Value* operator->() { return &*value; }
  const Value* operator->() const { return &*value; }

 private:
  outcome(std::nullopt_t, std::string message) : error(std::move(message)) {}
};

}  // namespace tinylm

#endif  // SPECVERIFY_MODELS_TINYLM_OUTCOME_HPP
