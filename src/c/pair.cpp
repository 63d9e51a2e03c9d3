// SPDX-License-Identifier: Apache-2.0
// Both sides in one process.
#include "hosts.hpp"

#include <deque>
#include <vector>

namespace specverify_c {
namespace {

// Messages on their way to one side.
class way {
 public:
  [[nodiscard]] sv::status hear(const sv::session_output& out) {
    if (out.action == sv::session_action::send) messages_.emplace_back(out.bytes.begin(), out.bytes.end());
    return {};
  }
  // Hands them over, each followed by all the work that it makes.
  template <class Session, class Work>
  [[nodiscard]] sv::status deliver(Session& to, Work&& work) {
    for (; !messages_.empty(); messages_.pop_front()) {
      if (const sv::status busy = sv::deliver(to, messages_.front(), 0); !busy.ok()) return busy;
      if (const sv::status why = work(); !why.ok()) return why;
    }
    return {};
  }
  [[nodiscard]] bool empty() const noexcept { return messages_.empty(); }

 private:
  std::deque<std::vector<std::byte>> messages_;
};

[[nodiscard]] sv::status run(specverify_edge& edge, c_model& drafter, specverify_cloud& cloud, c_model& target,
                             const c_observer& observer) {
  way up, down;
  const auto from_edge = [&](const sv::session_output& out) {
    const sv::status why = up.hear(out);
    return why.ok() ? observer(out) : why;
  };
  const auto work_edge = [&] { return sv::drive(edge, drafter, from_edge); };
  const auto work_cloud = [&] { return sv::drive(cloud, target, [&](const auto& out) { return down.hear(out); }); };
  sv::status why = work_edge();
  if (why.ok()) why = work_cloud();  // outputs that wait since an earlier call
  while (why.ok() && !(up.empty() && down.empty())) {
    why = up.deliver(cloud, work_cloud);
    if (why.ok()) why = down.deliver(edge, work_edge);
  }
  const bool over = edge.state() == sv::edge_state::finished;
  return why.ok() && !over ? refused(sv::errc::peer_timeout) : why;
}

}  // namespace
}  // namespace specverify_c

using namespace specverify_c;

specverify_status specverify_run_pair(specverify_edge* edge, const specverify_model* drafter, specverify_cloud* cloud,
                                      const specverify_model* target, const specverify_observer* observer) {
  if (edge == nullptr || cloud == nullptr) return to_c(refused(sv::errc::null_span));
  auto small = model_of(drafter);
  if (!small) return to_c(small.error());
  return with_engine(target, observer, [&](c_model& large, const c_observer& heard) {
    try {
      return run(*edge, *small, *cloud, large, heard);
    } catch (...) {
      return refused(sv::errc::out_of_memory);
    }
  });
}
