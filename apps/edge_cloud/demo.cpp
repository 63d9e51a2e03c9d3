// SPDX-License-Identifier: Apache-2.0
#include "demo.hpp"

#include "child_process.hpp"
#include "clock.hpp"
#include "file_bytes.hpp"
#include "in_process.hpp"
#include "link_emulator.hpp"
#include "live_text.hpp"
#include "plot.hpp"
#include "protocol_choice.hpp"
#include "side_model.hpp"
#include "trained_files.hpp"

#include <unistd.h>

#include <fstream>
#include <random>
#include <sstream>

namespace edge_cloud {

namespace {

//! Returns a port below the range of outgoing connections, because an outgoing connection could otherwise take the port
//! before the cloud listens.
std::uint16_t free_port() {
  // demos that run at the same time begin with different ports
  static std::uint32_t next = 131u * static_cast<std::uint32_t>(::getpid());
  constexpr std::uint32_t lowest = 20000, count = 12000;
  asio::io_context io;
  for (std::uint32_t tried = 0; tried < count; ++tried) {
    const asio::ip::tcp::endpoint here(asio::ip::address_v4::loopback(),
                                       static_cast<std::uint16_t>(lowest + next++ % count));
    asio::ip::tcp::acceptor probe(io, here.protocol());
    asio::error_code error;
    probe.bind(here, error);
    if (!error) return here.port();
  }
  throw std::runtime_error("no free port from 20000 to 31999");
}

//! Returns the longest round trip and the longest time to send `bits` up. Compares only the times at which a state
//! begins, so the result is nearly the maximum over all times.
double longest_on_trace_ms(const link_settings& link, double bits) {
  const link_lane lane(uplink(link), link.seed, 0);
  double trip = 0, way = 0;
  for (std::size_t step = 0; step < link.trace.size(); ++step) {
    const time_point begin = link.clock.begin_of(step);
    trip = std::max(trip, link.trace[step].round_trip * 1e3);
    way = std::max(way, std::chrono::duration<double, std::milli>(lane.carried(begin, bits) - begin).count());
  }
  return trip + way;
}

//! Returns the milliseconds that the edge should wait for an answer: the time of the longest round of this system on
//! this link, plus a margin for a slow machine.
std::uint32_t patience_ms(const link_settings& link, const chosen_system& system, const side_model& drafter,
                          std::string_view pace) {
  const specverify::wire_format format = system.shape(drafter.vocab_size, drafter.hidden_size).format;
  const std::uint32_t drafts = format.max_draft_length;
  const std::size_t bytes =
      std::max(specverify::max_draft_bytes(format, drafts), specverify::max_supply_bytes(format, drafts));
  const double bits = 8.0 * static_cast<double>(bytes + frame_prefix{}.size());
  double longest_ms = link.round_trip_ms + 1e3 * bits / link.uplink_bits_per_second;
  if (!link.trace.empty()) longest_ms = longest_on_trace_ms(link, bits);
  return static_cast<std::uint32_t>(400 + 2 * link.jitter_ms + longest_ms + 1e3 * paced(pace, paper_cloud_pass));
}

//! Handles a child that has ended: restarts it if SIGKILL or SIGTERM ended it, and throws otherwise.
void revive(child_process& child, const child_process::ending& end, const char* name,
            const std::filesystem::path& state) {
  const bool from_outside = end.killed && (end.code == SIGKILL || end.code == SIGTERM);
  if (!from_outside)
    throw std::runtime_error(std::string(name) + (end.killed ? " crashed with signal " : " failed with exit code ") +
                             std::to_string(end.code));
  std::fprintf(stdout, "\n[%s killed by signal %d, restarted]\n", name, end.code);
  std::fflush(stdout);
  child.start();
  std::ofstream(state / "pid") << child.id() << '\n';
}

//! Runs one system on one text in two processes, and returns the edge's report. Both processes write their journals and
//! reports to `folder`.
run_report run_pair(run_settings run, const link_settings& emulated, const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "edge");
  std::filesystem::create_directories(folder / "cloud");
  const std::uint16_t cloud_port = free_port();

  const auto start = [&](const char* side, std::uint16_t port) {
    run.state = folder / side;
    std::vector<std::string> arguments{"edge_cloud", side, "--port", std::to_string(port), "--end-with-parent"};
    const std::vector<std::string> shared = command_line(run, std::string_view(side) == "edge");
    arguments.insert(arguments.end(), shared.begin(), shared.end());
    auto child = std::make_unique<child_process>(std::move(arguments));
    std::ofstream(run.state / "pid") << child->id() << '\n';
    return child;
  };
  const auto cloud = start("cloud", cloud_port);
  link_emulator link(emulated, cloud_port);
  while (!link.reached_cloud()) {
    if (const child_process::ending end = cloud->poll(); end.ended) revive(*cloud, end, "cloud", folder / "cloud");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // each system meets the same trace, because the trace begins when the edge starts
  run.link.clock.origin_microseconds = microseconds_now();
  link.begin_trace(run.link.clock.origin_microseconds);
  const auto edge = start("edge", link.port());

  for (;;) {
    const child_process::ending edge_end = edge->poll(), cloud_end = cloud->poll();
    if (edge_end.ended && !edge_end.killed && edge_end.code == 0) break;
    if (edge_end.ended) revive(*edge, edge_end, "edge", folder / "edge");
    if (cloud_end.ended) revive(*cloud, cloud_end, "cloud", folder / "cloud");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  cloud->stop();

  run_report report = load_report(folder / "edge" / "report.json");
  const run_report of_cloud = load_report(folder / "cloud" / "report.json");
  report.cloud_passes = of_cloud.cloud_passes;
  report.cloud_compute = of_cloud.cloud_compute;
  report.mismatches = of_cloud.mismatches;
  report.accepted_mismatches = of_cloud.accepted_mismatches;
  report.scored_rounds = of_cloud.scored_rounds;
  report.bytes_up = link.up().bytes;
  report.bytes_down = link.down().bytes;
  return report;
}

void print_link(const link_settings& link) {
  const live_text screen(stdout);
  if (link.trace.empty()) {
    std::printf(
        "link: %.0f kbit/s up, %.0f kbit/s down, %.0f ms round trip, %.0f ms jitter, %.1f %% loss; tokens: %s\n",
        link.uplink_bits_per_second * 1e-3, link.downlink_bits_per_second * 1e-3, link.round_trip_ms, link.jitter_ms,
        link.loss * 100, screen.legend().c_str());
    return;
  }
  const auto less = [](const specverify::channel_state& a, const specverify::channel_state& b) {
    return a.uplink_rate < b.uplink_rate;
  };
  const auto [slowest, fastest] = std::minmax_element(link.trace.begin(), link.trace.end(), less);
  std::printf("link: %zu states of %s, %g s each, %.0f to %.0f kbit/s up, %.0f ms jitter; tokens: %s\n",
              link.trace.size(), link.trace_file.c_str(), link.clock.state_seconds, slowest->uplink_rate * 1e-3,
              fastest->uplink_rate * 1e-3, link.jitter_ms, screen.legend().c_str());
}

//! Chooses one salt for all texts, so that each text can be generated again within one process.
demo_settings with_salt(demo_settings demo) {
  if (demo.run.salt == 0) demo.run.salt = specverify::salt_from(std::random_device{});
  std::printf("salt: --salt %llu repeats these texts\n", static_cast<unsigned long long>(demo.run.salt));
  return demo;
}

}  // namespace

std::vector<std::string> openings(const std::filesystem::path& file, std::size_t lines) {
  constexpr int words = 16;
  std::vector<std::string> made;
  std::ifstream in(file);
  std::string head(3, ' ');
  in.read(head.data(), 3);
  refuse_mark(head, file.string());
  in.clear();
  in.seekg(0);
  for (std::string line; made.size() < lines && std::getline(in, line);) {
    std::istringstream whole(line);
    std::string opening, word;
    for (int i = 0; i < words && whole >> word; ++i) opening += (i > 0 ? " " : "") + word;
    if (!opening.empty()) made.push_back(opening);
  }
  if (made.empty()) throw std::runtime_error(file.string() + ": the file has no line with a word");
  return made;
}

bool run_demo(const demo_settings& wanted) {
  const demo_settings demo = with_salt(wanted);
  print_link(demo.link);
  const side_model drafter = load_side(demo.run.models, "drafter.safetensors", demo.run.prior);
  for (const std::string& key : demo.systems) require_files(chosen_system(key), demo.run);
  std::vector<run_report> reports;
  specverify::mismatch_history mismatches;  // statistics of all scored texts so far
  bool all_same = true;
  for (const std::string& key : demo.systems) {
    const chosen_system named(key);
    const bool is_open = leaves_protocol_open(named), is_scored = named.info().needs_head;
    std::printf("\n[%zu/%zu] %s\n", reports.size() + 1, demo.systems.size(), named.text().c_str());
    run_report& sum = reports.emplace_back();
    sum.system = key;
    for (std::size_t i = 0; i < demo.prompts.size(); ++i) {
      run_settings run = demo.run;
      run.system = key;
      run.prompt = demo.prompts[i];
      run.session_id += i;
      run.link = demo.link;
      if (!sends_only_ids(named)) run.prior.clear();  // an edge refuses a table that it cannot use
      if (run.protocol == "model")
        run.protocol = is_open ? choose_protocol(named, demo.link, drafter, mismatches) : run_settings{}.protocol;
      const chosen_system system = settled_system(run);
      run.lazy = is_open && run.protocol == "lazy";
      run.retry_ms = patience_ms(demo.link, system, drafter, run.pace);
      live_text(stdout).note(run.prompt);
      run_report one = run_pair(run, demo.link, demo.out / (key + "-" + std::to_string(i + 1)));
      if (!is_scored) one.scored_rounds.clear();  // drops the rounds that a cloud with a head records for every system
      // If tokens were written ahead, later drafts have the same distribution but other random draws. A greedy text
      // does not change, because it has no draws.
      const bool ahead = one.written_ahead > 0 && !(system.info().greedy && !is_scored);
      // If rounds depend on the edge's measurement of a changing link, they differ in each run.
      const bool looks =
          !demo.link.trace.empty() && (is_scored || system.shape().format.attachments.resolution_with_draft);
      const bool same = ahead || looks || run_in_process(run).tokens == one.tokens;
      const char* answer = ahead   ? "not checked, because tokens were written ahead"
                           : looks ? "not checked, because it depends on the link"
                           : same  ? "yes"
                                   : "NO";
      const std::string protocol = is_open ? "; hidden states: " + run.protocol : "";
      std::printf("\n   -- %zu tokens in %.2f s%s; the same text as within one process: %s\n", one.tokens.size(),
                  one.seconds(), protocol.c_str(), answer);
      std::fflush(stdout);
      sum.add(one);
      record_rounds(one, mismatches);
      all_same = all_same && same;
    }
    save(sum, demo.out / (key + ".json"));
  }
  print_table(stdout, reports, demo.run.pace);
  const std::filesystem::path picture = draw_plot(reports, demo.out);
  std::printf("%s\n",
              picture.empty() ? "no plot: gnuplot is not installed or failed" : ("plot: " + picture.string()).c_str());
  return all_same;
}

}  // namespace edge_cloud
