// SPDX-License-Identifier: Apache-2.0
//! The same two hosts without processes, link or clock: messages go from hand to hand. The text must be the one that the processes
//! write, because it depends on the keys and the models alone.
#ifndef EDGE_CLOUD_IN_PROCESS_HPP
#define EDGE_CLOUD_IN_PROCESS_HPP

#include "cloud_host.hpp"
#include "edge_host.hpp"

#include <deque>

namespace edge_cloud {

[[nodiscard]] inline run_report run_in_process(run_settings run) {
  run.state.clear();  // nothing is journaled
  run.retry_ms = 0;   // nothing is lost
  const side_model small = load_side(run.models, "drafter.safetensors"), large = load_side(run.models, "target.safetensors");
  std::deque<std::vector<std::byte>> up, down;
  const auto into = [](std::deque<std::vector<std::byte>>& queue) {
    return [&queue](std::span<const std::byte> message) { queue.emplace_back(message.begin(), message.end()); };
  };
  const auto take = [](std::deque<std::vector<std::byte>>& queue) {
    const std::vector<std::byte> message = std::move(queue.front());
    queue.pop_front();
    return message;
  };
  edge_host edge(run, small, into(up), {});
  cloud_host cloud(run, large, into(down));
  edge.begin();
  while (!edge.finished()) {
    if (!up.empty()) {
      cloud.receive(take(up));
    } else if (!down.empty()) {
      edge.receive(take(down));
    } else if (cloud.has_work()) {
      cloud.work();
    } else {
      throw std::logic_error("both sides wait for each other");
    }
  }
  run_report report = edge.report();
  report.cloud_passes = cloud.report().cloud_passes;
  return report;
}

}  // namespace edge_cloud

#endif
