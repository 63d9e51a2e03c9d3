// SPDX-License-Identifier: Apache-2.0
// Numbers of scripted keys. Not instrumented: what a script reads is no memory of a kernel.
#include <device/draws.hpp>

#include <optional>

namespace device_tests {

namespace {
std::optional<scripted_source> current;
}

void answer_with(const scripted_source& script) { current = script; }
random_block random_at(scripted_key, random_counter counter) noexcept { return (*current)(counter); }

}  // namespace device_tests
