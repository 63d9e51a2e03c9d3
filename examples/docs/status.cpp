// SPDX-License-Identifier: Apache-2.0
// Errors are values with a number, a name and a place.
#include <specverify/core/status.hpp>

#include <cstdint>
#include <string_view>

namespace {
specverify::result<int> half_of(int number) {
  if (number % 2 != 0)
    return specverify::status{specverify::errc::invalid_argument, specverify::part::host,
                              static_cast<std::uint32_t>(number)};
  return number / 2;
}
}  // namespace

int main() {
  const auto four = half_of(8);
  if (!four || *four != 4) return 1;
  const auto none = half_of(7);
  if (none || none.error().where != 7) return 2;
  if (std::string_view(name(none.error().code)) != "invalid_argument") return 3;
  const auto line = none.error().text();  // a value, without allocation; also line.c_str()
  return line.view() == "invalid_argument in host at 7: an option is outside its documented range" ? 0 : 4;
}
