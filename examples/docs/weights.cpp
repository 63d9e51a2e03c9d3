// SPDX-License-Identifier: Apache-2.0
// A head written as a safetensors file and read back, with the mode it was trained in and its threshold.
#include <specverify/decision_head/weights.hpp>

#include <vector>

int main() {
  using namespace specverify;
  const head_shape shape{hidden_mode::predicting, 96, 128, 2};
  const std::vector<float> first(shape.width * shape.input_size(), 0.25f), bias(2, -1), second{1.5f, -0.5f};
  const head_weights head{shape, first, bias, second, 0.125f, {{7.5f, 7.5f, 0, 0, 0.02f}, {0.5f, 0.5f, 1, 1, 0.01f}},
                          0.1};
  std::vector<std::byte> file(head_file_size(head));
  if (!write_head(head, file).ok()) return 1;
  const result<decision_head> read = decision_head::make(file);
  if (!read.ok()) return 2;
  const head_weights view = read.value().view();
  if (!(view.shape == shape) || view.threshold != 0.1 || view.first[7] != 0.25f || view.second_bias != 0.125f) return 3;
  file.back() = std::byte{0x7F};  // the last weight becomes a NaN
  file[file.size() - 2] = std::byte{0xC0};
  return decision_head::make(file).error().code == errc::value_not_finite ? 0 : 4;
}
