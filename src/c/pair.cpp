// SPDX-License-Identifier: Apache-2.0
// Runs the edge and the cloud in one process. Like a host, this file calls only the functions of the C headers.
#include "hosts.hpp"

#include <vector>

using namespace specverify_c;

namespace {

// Messages in flight to one side, and the observer of the outputs of the side that sends them.
struct way {
  specverify_observer heard_by{};
  std::vector<std::vector<std::byte>> messages{};

  static std::int32_t hear(void* self, const specverify_output* out) {
    way& me = *static_cast<way*>(self);
    try {
      const auto bytes = bytes_of(out->bytes, out->bytes_size);
      if (out->action == SPECVERIFY_SEND) me.messages.emplace_back(bytes.begin(), bytes.end());
    } catch (...) {
      return specverify_errc_out_of_memory;
    }
    return me.heard_by.on_output == nullptr ? 0 : me.heard_by.on_output(me.heard_by.self, out);
  }
  // Delivers the messages to `to`. After each message, calls work() for the work that the message causes.
  template <class Handle, class Receive, class Work>
  [[nodiscard]] specverify_status deliver(Handle* to, Receive&& receive, Work&& work) {
    for (; !messages.empty(); messages.erase(messages.begin())) {
      const specverify_status busy = receive(to, messages.front().data(), messages.front().size(), 0);
      if (busy.code == specverify_errc_busy) return busy;
      if (const specverify_status why = work(); why.code != 0) return why;
    }
    return {};
  }
};

}  // namespace

specverify_status specverify_run_pair(specverify_edge* edge, const specverify_model* drafter, specverify_cloud* cloud,
                                      const specverify_model* target, const specverify_observer* observer) {
  if (edge == nullptr || cloud == nullptr) return no_data;
  for (const specverify_model* const given : {drafter, target})
    if (const auto its = model_of(given, given == target); !its) return to_c(its.error());
  const auto heard = observer_of(observer);
  if (!heard) return to_c(heard.error());
  way up{heard->to}, down;
  const specverify_observer to_cloud = specverify_observer_of(&up, way::hear);
  const specverify_observer to_edge = specverify_observer_of(&down, way::hear);
  const auto at_edge = [&] { return specverify_edge_drive(edge, drafter, &to_cloud, 0); };
  const auto at_cloud = [&] { return specverify_cloud_drive(cloud, target, &to_edge, 0); };
  specverify_status why = at_edge();
  if (why.code == 0) why = at_cloud();  // outputs that have waited since an earlier call
  while (why.code == 0 && !(up.messages.empty() && down.messages.empty())) {
    why = up.deliver(cloud, specverify_cloud_receive, at_cloud);
    if (why.code == 0) why = down.deliver(edge, specverify_edge_receive, at_edge);
  }
  const bool over = specverify_edge_state(edge) == SPECVERIFY_EDGE_FINISHED;
  return why.code == 0 && !over ? to_c(refused(sv::errc::peer_timeout)) : why;
}
