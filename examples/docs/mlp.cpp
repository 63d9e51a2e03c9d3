// SPDX-License-Identifier: Apache-2.0
// A head evaluated whole, and split: the device sends 2 numbers, as bytes, instead of its hidden state of 4.
#include <specverify/decision_head/mlp.hpp>

#include <array>
#include <cmath>

int main() {
  using namespace specverify;
  std::array<float, 2 * 11> first{};  // w = 2, d_in = 4 + 2 + 5
  first[0] = 1, first[4] = -1, first[11] = 0.5f, first[17] = 0.25f;
  const std::array<float, 2> first_bias{0, 0.1f}, second{2, -1};
  const head_weights head{{hidden_mode::predicting, 4, 2, 2}, first, first_bias, second, -0.5f, {}, 0.5};
  if (!check(head).ok()) return 1;
  const std::array<float, 4> drafter{0.75f, 0, 0, 0};
  const std::array<float, 2> target{-0.5f, 1};
  const channel_vector c{};
  const auto whole = head_logit(head, drafter_input::hidden_state, drafter, target, c);
  if (!whole) return 2;
  std::array<float, 2> part{}, received{};
  std::array<std::byte, 6> sent{};
  if (!device_part(head, drafter, part).ok() || !encode_hidden(part, hidden_format::int8, sent)) return 3;
  if (!decode_hidden(sent, hidden_format::int8, received)) return 4;
  const auto split = head_logit(head, drafter_input::device_part, received, target, c);
  if (!split) return 5;
  return std::fabs(*split - *whole) <= part_bound(head, part, hidden_format::int8) && sigmoid(*whole) > 0.5 ? 0 : 6;
}
