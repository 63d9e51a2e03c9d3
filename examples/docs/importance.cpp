// SPDX-License-Identifier: Apache-2.0
// A row of attention with one large weight, and a flat one, under the rule as written and its complement.
#include <specverify/uncertainty/importance.hpp>

#include <vector>

int main() {
  using namespace specverify;
  std::vector<float> sharp(100, 0.1f / 99), flat(100);
  sharp[3] = 0.9f;
  for (int i = 0; i < 100; ++i) flat[static_cast<std::size_t>(i)] = i % 2 == 0 ? 0.0101f : 0.0099f;
  const importance_rule as_written{3, 1.5}, inverted{3, 1.5, true};
  if (as_written.eligible(sharp).value() || !as_written.eligible(flat).value()) return 1;
  if (!inverted.eligible(sharp).value() || inverted.eligible(flat).value()) return 2;
  return as_written.eligible({}).error().code == errc::attention_missing ? 0 : 3;
}
