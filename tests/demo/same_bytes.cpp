// SPDX-License-Identifier: Apache-2.0
// Writes every text of every system of the demo within one process, and prints all that went over the link, the rounds,
// the texts and what the sessions counted, as lines `SYSTEM SEED WHAT NUMBER HEX`. scripts/compare bytes compiles it
// against two commits and compares what they print. So it uses the demo's two hosts, and of their sessions what no wire
// format changes. usage: driver HEAD POLICY STATE_FOLDER [PLANTED: the line that is changed, without its HEX]
#include "cloud_host.hpp"
#include "edge_host.hpp"
#include "systems.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using bytes = std::vector<std::byte>;

//! What differs between the seeds apart from the draws: the link, whether it breaks, and what the edge does then.
struct scenario {
  const char* prompt;
  double uplink_bits_per_second;
  const char* on_link_loss;
  std::uint32_t lost_after;  //!< messages of rounds before the link is lost once; 0: never
  const char* protocol;      //!< of the system that leaves it open
};
constexpr scenario scenarios[] = {
    {"Q: Tom has 31 coins. He loses 5 and gives 12 to Ruth. How many are left?\nA:", 350e3, "wait", 0, "round-trip"},
    {"And it came to pass in those days, that", 4e6, "wait", 5, "lazy"},
    {"In the beginning", 20e3, "local", 6, "sh"}};

struct printer {
  std::string system;
  std::size_t seed;
  std::string planted;

  void operator()(std::string_view what, std::size_t number, std::span<const std::byte> value) const {
    std::string line = system + ' ' + std::to_string(seed) + ' ' + std::string(what) + ' ' + std::to_string(number);
    std::byte changed{line == planted};
    line += ' ';
    for (const std::byte byte : value) {
      const auto shown = std::to_integer<unsigned>(byte ^ std::exchange(changed, std::byte{0}));
      line += "0123456789abcdef"[shown >> 4];
      line += "0123456789abcdef"[shown & 15];
    }
    std::puts(line.c_str());
  }
  void operator()(std::string_view what, const std::string& text, std::size_t number = 0) const {
    (*this)(what, number, std::as_bytes(std::span(text)));
  }
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

std::string line_of(std::initializer_list<std::uint64_t> numbers) {
  std::string made;
  for (const std::uint64_t number : numbers) made += std::to_string(number) + ' ';
  return made;
}
std::string line_of(const specverify::round_record& of) {
  return line_of({of.resolution, of.drafted, of.accepted, of.emitted, of.skipped, of.clamped, of.support_sum});
}
std::string line_of(const specverify::decided_round& of) {
  return line_of({of.drafted, of.accepted, of.mismatches, of.scored, specverify::score_units(of.accepted_score)});
}

//! What a session shows while it runs, however its host holds it.
struct shown {
  specverify::session_statistics counted{};
  std::vector<specverify::token_id> text{};
  std::uint32_t round = 0;  //!< the last one that was decided
  std::string of_round{};
};
template <class Session>
shown shown_by(const Session& session) {
  if constexpr (requires { session->statistics(); }) {
    return shown_by(*session);
  } else {
    const auto& last = session.last_round();
    return {session.statistics(), {session.text().begin(), session.text().end()}, last.round, line_of(last)};
  }
}
//! A host's session is private; an explicit instantiation may name it.
template <class Host, auto Session>
struct opened {
  friend shown shown_of(const Host& host) { return shown_by(host.*Session); }
};
shown shown_of(const edge_cloud::edge_host& host);
shown shown_of(const edge_cloud::cloud_host& host);
template struct opened<edge_cloud::edge_host, &edge_cloud::edge_host::session_>;
template struct opened<edge_cloud::cloud_host, &edge_cloud::cloud_host::session_>;

//! A side's rounds, one by one; its text in the end, and the counters that no wire format and no way back after a fault
//! changes.
template <class Host>
class noted_side {
 public:
  noted_side(const printer& print, std::string side, const Host& host)
      : print_(print), side_(std::move(side)), host_(host) {}

  void step() {
    const shown now = shown_of(host_);
    if (std::exchange(round_, now.round) != now.round) print_(side_ + "-round", now.of_round, now.round);
  }
  void end() const {
    static constexpr std::string_view of_the_text[] = {
        "rounds",          "drafted",      "evaluated",           "accepted",
        "emitted",         "skipped",      "skipped_uncertain",   "written_ahead",
        "residual_tokens", "bonus_tokens", "residual_fallbacks",  "budget_clamp",
        "near_ties",       "mismatches",   "accepted_mismatches", "accepted_scores",
        "fed_tokens",      "rollbacks"};
    const auto [counted, text, round, of_round] = shown_of(host_);
    specverify::for_each_counter(counted, [&](std::string_view name, std::uint64_t counter) {
      if (std::ranges::count(of_the_text, name) != 0) print_(side_ + '-' + std::string(name), std::to_string(counter));
    });
    print_(side_ + "-largest_score", std::to_string(counted.largest_score));
    for (std::uint32_t i = 0; i < specverify::statistics_positions; ++i)
      print_(side_ + "-position", line_of({counted.evaluated_at[i], counted.accepted_at[i]}), i);
    print_(side_ + "-text", 0, std::as_bytes(std::span(text)));
  }

 private:
  const printer& print_;
  std::string side_;
  const Host& host_;
  std::uint32_t round_ = 0;
};

class link {
 public:
  link(const printer& print, const char* direction) : print_(print), direction_(direction) {}

  void send(std::span<const std::byte> message) {
    waiting_.emplace_back(message.begin(), message.end());
    const unsigned kind = std::to_integer<unsigned>(message.front()) & 15u;
    sent_[kind] += 1;
    const bool is_hello = kind == static_cast<unsigned>(specverify::message_kind::hello);
    print_(std::string(direction_) + (is_hello ? "-hello" : ""), count_++, message);
  }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  bytes take() {
    bytes message = std::move(waiting_.front());
    waiting_.pop_front();
    return message;
  }
  void clear() { waiting_.clear(); }
  [[nodiscard]] std::size_t sent(specverify::message_kind kind) const { return sent_[static_cast<std::size_t>(kind)]; }

 private:
  const printer& print_;
  const char* direction_;
  std::deque<bytes> waiting_{};
  std::array<std::size_t, 16> sent_{};
  std::size_t count_ = 0;
};

void write_text(edge_cloud::run_settings run, const printer& print, const std::filesystem::path& folder) {
  static const auto small = edge_cloud::load_side(run.models, "drafter.safetensors"),
                    large = edge_cloud::load_side(run.models, "target.safetensors");
  std::filesystem::remove_all(folder);
  link up(print, "up"), down(print, "down");
  run.state = folder / "edge";
  std::filesystem::create_directories(run.state);
  edge_cloud::edge_host edge(run, small, [&](std::span<const std::byte> message) { up.send(message); }, {});
  run.state = folder / "cloud";
  std::filesystem::create_directories(run.state);
  edge_cloud::cloud_host cloud(run, large, [&](std::span<const std::byte> message) { down.send(message); });
  using enum specverify::message_kind;
  // However a connection begins, so many messages are those of rounds, or of a stream.
  const auto of_rounds = [&] {
    return up.sent(draft) + up.sent(supply) + down.sent(request) + down.sent(feedback) + down.sent(text);
  };
  noted_side edge_side(print, "edge", edge);
  noted_side cloud_side(print, "cloud", cloud);
  edge.begin();
  for (std::size_t lose_at = scenarios[print.seed].lost_after; !edge.finished();) {
    if (lose_at > 0 && of_rounds() >= lose_at) {  // what is under way is lost with the link
      lose_at = 0;
      up.clear(), down.clear();
      edge.disconnect();
      for (int i = 0; i < 3; ++i) edge.tick();  // each time it may write a token ahead
      edge.reconnect();
    } else if (!up.empty()) {
      cloud.receive(up.take());
    } else if (!down.empty()) {
      edge.receive(down.take());
    } else if (cloud.has_work()) {
      cloud.work();
    } else {
      throw std::logic_error("both sides wait for each other");
    }
    edge_side.step(), cloud_side.step();
  }
  edge_side.end(), cloud_side.end();
  if (scenarios[print.seed].lost_after == 0)
    print("sent", line_of({up.sent(draft), up.sent(supply), down.sent(request), down.sent(feedback), down.sent(text)}));
  print("edge-journal", 0, contents(folder / "edge" / "journal"));
  print("cloud-journal", 0, contents(folder / "cloud" / "journal"));
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  for (const known_system& named : all_systems()) {
    for (std::size_t seed = 0; seed < std::size(scenarios); ++seed) {
      const printer print{named.name, seed, count > 4 ? words[4] : ""};
      try {
        write_text(settings_of(named, seed, words + 1), print, words[3]);
      } catch (const std::exception& error) {
        print("error", error.what());
      }
    }
  }
}
