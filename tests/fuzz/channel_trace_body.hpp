// SPDX-License-Identifier: Apache-2.0
// Reads any text as a channel trace. The result must be an error with a line, or states that are in range, can be
// written, and read back the same.
#ifndef SPECVERIFY_TESTS_FUZZ_CHANNEL_TRACE_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_CHANNEL_TRACE_BODY_HPP

#include <specverify/link/channel.hpp>
#include <specverify/link/channel_trace.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace specverify_fuzz {

inline bool same_state(const specverify::channel_state& a, const specverify::channel_state& b) {
  const double left[] = {a.uplink_rate, a.downlink_rate, a.uplink_loss, a.downlink_loss, a.round_trip};
  const double right[] = {b.uplink_rate, b.downlink_rate, b.uplink_loss, b.downlink_loss, b.round_trip};
  return std::memcmp(left, right, sizeof left) == 0 && a.index == b.index;
}

//! Returns true if the text is a trace.
inline bool channel_trace_input(std::span<const char> given) {
  using namespace specverify;
  const std::vector<char> exact(given.begin(), given.end());  // ends at the end of an allocation
  const std::string_view text(exact.data(), exact.size());
  std::vector<channel_state> states(max_channel_trace_steps(text));
  const auto steps = read_channel_trace(text, states);
  if (!steps.ok()) {
    const status why = steps.error();
    if (why.code == errc::output_too_small || why.where == 0 || why.where > states.size() + 2) std::abort();
    return false;
  }
  if (steps->empty() || steps->size() > states.size() || steps->data() != states.data()) std::abort();
  const std::span<const channel_state> read = *steps;
  if (!recorded_channel::make(read).ok()) std::abort();

  std::vector<char> written(max_channel_trace_bytes(read.size()));
  const auto size = write_channel_trace(read, written);
  if (!size.ok()) std::abort();
  written.resize(size->size());
  std::vector<channel_state> again(read.size());
  const auto count = read_channel_trace({written.data(), written.size()}, again);
  if (!count.ok() || count->size() != read.size() || !std::equal(read.begin(), read.end(), again.begin(), same_state))
    std::abort();

  // One step less of room, one character less of room.
  if (read_channel_trace(text, std::span<channel_state>(again).first(read.size() - 1)).error().code !=
      errc::output_too_small)
    std::abort();
  if (write_channel_trace(read, std::span<char>(written).first(written.size() - 1)).error().code !=
      errc::output_too_small)
    std::abort();
  return true;
}

}  // namespace specverify_fuzz

#endif
