// SPDX-License-Identifier: Apache-2.0
// Twenty rounds of a link written as text, read back as the same states, and replayed; a damaged line is named.
#include <specverify/link/channel.hpp>
#include <specverify/link/channel_trace.hpp>

#include <string>
#include <vector>

int main() {
  using namespace specverify;
  const philox source{{{0x5ec4e7, 17}}};  // any key
  std::vector<channel_state> states(20);
  record(markov_channel::make(qs_paper_link()).value(), source, std::span<channel_state>(states));
  std::string text(max_channel_trace_bytes(states.size()), '\0');
  text.resize(write_channel_trace(states, text).value().size());

  std::vector<channel_state> read(max_channel_trace_steps(text));
  read.resize(read_channel_trace(text, read).value().size());
  if (read != states) return 1;
  const recorded_channel replay = recorded_channel::make(read).value();  // repeats after its last step
  if (!(replay.state(source, 23, {}) == states[3])) return 2;

  text.replace(text.find("350000"), 6, "fast");  // the first step: line 2
  const status why = read_channel_trace(text, read).error();
  return why.code == errc::trace_number && why.where == 2 ? 0 : 3;
}
