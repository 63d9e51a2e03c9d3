// SPDX-License-Identifier: Apache-2.0
//! Runs both hosts in one process without an emulated link, and passes messages directly. The text must equal the text
//! of two processes, because it depends only on the keys and the models.
#ifndef EDGE_CLOUD_IN_PROCESS_HPP
#define EDGE_CLOUD_IN_PROCESS_HPP

#include "cloud_host.hpp"
#include "edge_host.hpp"

#include <deque>

namespace edge_cloud {

//! Holds the reports of both hosts, and the bytes of the messages.
struct in_process_run {
  run_report edge, cloud;
  std::uint64_t bytes_up = 0, bytes_down = 0;
};

[[nodiscard]] inline in_process_run run_hosts(run_settings run, const side_model& small, const side_model& large) {
  run.state.clear();  // this run keeps no journal
  run.retry_ms = 0;   // this run loses no message
  in_process_run made;
  std::deque<std::vector<std::byte>> up, down;
  const auto into = [](std::deque<std::vector<std::byte>>& queue, std::uint64_t& bytes) {
    return [&queue, &bytes](std::span<const std::byte> message) {
      queue.emplace_back(message.begin(), message.end());
      bytes += message.size();
    };
  };
  const auto take = [](std::deque<std::vector<std::byte>>& queue) {
    const std::vector<std::byte> message = std::move(queue.front());
    queue.pop_front();
    return message;
  };
  edge_host edge(run, small, into(up, made.bytes_up), {});
  cloud_host cloud(run, large, into(down, made.bytes_down));
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
  made.edge = edge.report();
  made.cloud = cloud.report();
  return made;
}

[[nodiscard]] inline run_report run_in_process(const run_settings& run) {
  const side_model small = load_side(run.models, "drafter.safetensors", run.prior),
                   large = load_side(run.models, "target.safetensors", run.prior);
  in_process_run made = run_hosts(run, small, large);
  made.edge.cloud_passes = made.cloud.cloud_passes;
  return std::move(made.edge);
}

}  // namespace edge_cloud

#endif
