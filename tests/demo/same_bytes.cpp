// SPDX-License-Identifier: Apache-2.0
// Writes every text of every system of the demo within one process, and prints all that went over the link, as lines
// `SYSTEM SEED WHAT NUMBER HEX`. scripts/same_bytes compiles it against two commits and compares what they print, so it
// uses of the demo only its two hosts. usage: driver HEAD POLICY STATE_FOLDER [PLANTED_SYSTEM]
#include "cloud_host.hpp"
#include "edge_host.hpp"
#include "systems.hpp"

#include <cstdio>
#include <deque>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using bytes = std::vector<std::byte>;

//! What differs between the seeds apart from the draws: the link, whether it breaks, and what the edge does then.
struct scenario {
  const char* prompt;
  double uplink_bits_per_second;
  const char* on_link_loss;
  std::uint32_t lost_after;  //!< messages of the edge before the link is lost once; 0: never
  const char* protocol;      //!< of the system that leaves it open
};
constexpr scenario scenarios[] = {
    {"Q: Tom has 31 coins. He loses 5 and gives 12 to Ruth. How many are left?\nA:", 350e3, "wait", 0, "round-trip"},
    {"And it came to pass in those days, that", 4e6, "wait", 4, "lazy"},
    {"In the beginning", 20e3, "local", 6, "sh"}};

struct printer {
  std::string system;
  std::size_t seed;

  void operator()(const char* what, std::size_t number, std::span<const std::byte> message) const {
    std::string line = system + ' ' + std::to_string(seed) + ' ' + what + ' ' + std::to_string(number) + ' ';
    for (const std::byte byte : message) {
      line += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
      line += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
    }
    std::puts(line.c_str());
  }
  void operator()(const char* what, const std::string& text) const { (*this)(what, 0, std::as_bytes(std::span(text))); }
};

bytes contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  const auto begin = reinterpret_cast<const std::byte*>(all.data());
  return {begin, begin + all.size()};
}

//! What the demo calls a system. Earlier it had a table of its own, whose names the dump keeps.
struct known_system {
  std::string name, text;
};
#if __has_include("wire_plan.hpp")
std::vector<known_system> all_systems() {
  std::vector<known_system> made;
  for (const auto& plan : edge_cloud::all_systems) made.push_back({std::string(plan.key), std::string(plan.key)});
  return made;
}
#else
std::vector<known_system> all_systems() {
  return {{"target", "target"},
          {"hlm", "hlm"},
          {"qs", "qs"},
          {"ksqs-paper", "k-sqs:paper_code=1"},
          {"ksqs", "ksqs"},
          {"csqs", "c_sqs"},
          {"csqs-256", "c-sqs:support_size=256"},
          {"qs-adaptive", "qs-adaptive"},
          {"qs-dqn", "qs-dqn"},
          {"ksqs-budget", "k-sqs:max_draft_length=12:round_bits=1000"},
          {"csqs-budget", "c-sqs:max_draft_length=12:round_bits=1000"},
          {"rand-hlm", "rand-hlm"},
          {"u-hlm", "u-hlm"},
          {"cu-hlm", "cu-hlm"},
          {"cu-hlm-online", "cu-hlm-online:support_size=1024"},
          {"hlm-compressed", "compressed-hlm"},
          {"ui", "ui"},
          {"greedy", "greedy"},
          {"wisv-fh", "wisv:with_draft=1"},
          {"wisv-sh", "wisv:with_draft=0"},
          {"wisv-lazy", "wisv:with_draft=0"},
          {"wisv-adaptive", "wisv"}};
}
#endif

edge_cloud::run_settings settings_of(const known_system& named, std::size_t seed, char** files) {
  const std::string& system = named.name;
  edge_cloud::run_settings run;
  run.system = named.text;
  run.tokens = 40;
  run.retry_ms = 0;  // the clock has no say
  run.session_id += seed;
  run.edge_secret[0] = run.cloud_secret[0] = static_cast<char>('1' + seed);
  run.salt = 1 + seed;
  run.prompt = scenarios[seed].prompt;
  run.link.uplink_bits_per_second = scenarios[seed].uplink_bits_per_second;
  run.on_link_loss = scenarios[seed].on_link_loss;
  run.protocol = scenarios[seed].protocol;
  run.lazy = system == "wisv-lazy" || (system == "wisv-adaptive" && run.protocol == "lazy");
  run.policy = files[1];
  if (system.starts_with("wisv")) run.head = files[0];
  return run;
}

struct link {
  const printer& print;
  const char* direction;
  bool planted;
  std::deque<bytes> waiting{};
  std::size_t count = 0;

  void send(std::span<const std::byte> message) {
    bytes shown(message.begin(), message.end());
    waiting.push_back(shown);
    if (planted && count == 2) shown.back() ^= std::byte{1};
    const bool is_hello = (std::to_integer<unsigned>(shown.front()) & 15u) == 1;
    print((std::string(direction) + (is_hello ? "-hello" : "")).c_str(), count++, shown);
  }
  bytes take() {
    const bytes message = std::move(waiting.front());
    waiting.pop_front();
    return message;
  }
};

template <class Host>
void print_report(const printer& print, const char* side, const Host& host) {
  const edge_cloud::run_report made = host.report();
  std::string numbers;
  for (const std::uint64_t number : {made.rounds, made.drafted, made.evaluated, made.accepted, made.skipped,
                                     made.written_ahead, made.mismatches, made.accepted_mismatches, made.supply_bytes})
    numbers += std::to_string(number) + ' ';
  print((std::string(side) + "-counters").c_str(), numbers);
  print((std::string(side) + "-text").c_str(), 0, std::as_bytes(std::span(made.tokens)));
}

void write_text(edge_cloud::run_settings run, const printer& print, const std::filesystem::path& folder, bool planted) {
  static const auto small = edge_cloud::load_side(run.models, "drafter.safetensors"),
                    large = edge_cloud::load_side(run.models, "target.safetensors");
  std::filesystem::remove_all(folder);
  link up{print, "up", planted}, down{print, "down", false};
  run.state = folder / "edge";
  std::filesystem::create_directories(run.state);
  edge_cloud::edge_host edge(run, small, [&](std::span<const std::byte> message) { up.send(message); }, {});
  run.state = folder / "cloud";
  std::filesystem::create_directories(run.state);
  edge_cloud::cloud_host cloud(run, large, [&](std::span<const std::byte> message) { down.send(message); });
  edge.begin();
  for (std::size_t lose_at = scenarios[print.seed].lost_after; !edge.finished();) {
    if (lose_at > 0 && up.count >= lose_at) {  // what is under way is lost with the link
      lose_at = 0;
      up.waiting.clear(), down.waiting.clear();
      edge.disconnect();
      edge.reconnect();
    } else if (!up.waiting.empty()) {
      cloud.receive(up.take());
    } else if (!down.waiting.empty()) {
      edge.receive(down.take());
    } else if (cloud.has_work()) {
      cloud.work();
    } else {
      throw std::logic_error("both sides wait for each other");
    }
  }
  print_report(print, "edge", edge);
  print_report(print, "cloud", cloud);
  print("edge-journal", 0, contents(folder / "edge" / "journal"));
  print("cloud-journal", 0, contents(folder / "cloud" / "journal"));
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  for (const known_system& named : all_systems()) {
    for (std::size_t seed = 0; seed < std::size(scenarios); ++seed) {
      const printer print{named.name, seed};
      try {
        write_text(settings_of(named, seed, words + 1), print, words[3],
                   count > 4 && seed == 1 && print.system == words[4]);
      } catch (const std::exception& error) {
        print("error", error.what());
      }
    }
  }
}
