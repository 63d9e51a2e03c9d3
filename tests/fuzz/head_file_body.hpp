// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as the weight file of a decision head. The result must be an error, or a head whose file reads back
// as the same head.
#ifndef SPECVERIFY_TESTS_FUZZ_HEAD_FILE_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_HEAD_FILE_BODY_HPP

#include <specverify/decision_head/weights.hpp>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace specverify_fuzz {

//! Returns true if the bytes are a head.
inline bool head_file_input(std::span<const std::byte> bytes) {
  using namespace specverify;
  const std::vector<std::byte> exact(bytes.begin(), bytes.end());  // ends at the end of an allocation
  const result<decision_head> read = decision_head::make(exact);
  if (!read.ok()) return false;
  const head_weights head = read.value().view();
  std::vector<std::byte> file(head_file_size(head));
  if (!write_head(head, file).ok()) std::abort();
  const result<decision_head> again = decision_head::make(file);
  if (!again.ok()) std::abort();
  std::vector<std::byte> twice(head_file_size(again.value().view()));
  if (!write_head(again.value().view(), twice).ok() || twice != file) std::abort();
  const std::vector<float> drafter(head.shape.drafter_size, 0.5f), target(head.shape.target_size, -0.5f);
  const auto rho = head_score(head, drafter_input::hidden_state, drafter, target, {});
  if (rho && !(*rho >= 0 && *rho <= 1)) std::abort();
  return true;
}

}  // namespace specverify_fuzz

#endif
