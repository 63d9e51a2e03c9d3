// SPDX-License-Identifier: Apache-2.0
// Two vocabularies of the same size with one different string.
#include <specverify/vocabulary/fingerprint.hpp>

#include <string_view>

int main() {
  using namespace specverify;
  const auto fingerprint = [](std::string_view last) {
    fingerprint_builder builder;
    (void)builder.add(0, std::string_view("<s>"), token_class::special);
    (void)builder.add(1, std::string_view(" the"));
    (void)builder.add(2, last);
    return builder.finish();
  };
  if (!(fingerprint(" cat") == fingerprint(" cat"))) return 1;
  return fingerprint(" cat") == fingerprint(" dog") ? 2 : 0;
}
