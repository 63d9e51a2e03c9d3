// SPDX-License-Identifier: Apache-2.0
// Runs llama_checks kills: each side is a process with an engine and a journal, and is killed again and again.
//
// A process ends in one of these ways, chosen at random: the parent sends SIGKILL at a random time, usually during
// llama_decode; the process sends SIGKILL to itself after a random output, or while it writes a record; or `feed`
// throws in the middle of the tokens, and the side is created again in the same process. After some kills the parent
// truncates the journal's last record at a random byte, as if a host lost data that it did not sync. The next process
// restores from the file. The link outlives both processes: messages in flight arrive late, and delivery drops them.
#include <specverify/delivery/delivered.hpp>
#include <specverify/host/host.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/presets.hpp>

#include "../uninterrupted.hpp"
#include "chat.hpp"
#include "checks.hpp"
#include "system_run.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <poll.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>

namespace llama_pair {

namespace sv = specverify;
namespace fs = std::filesystem;
namespace {

using clock = std::chrono::steady_clock;
enum class death : std::uint32_t { by_parent, behind_output, inside_record, inside_feed, ways };

//! Shared memory of all processes; it outlives them.
struct seen_by_all {
  std::array<sv::token_id, 1024> text;  // committed text, as the device's host received it
  std::uint32_t length, prompt_length, changed, torn, thrown;
  std::array<std::uint64_t, 2> last_record;  // beginning of the last record in each side's journal
};

struct text_plan {
  const arguments& given;
  std::string prompt;
  std::uint64_t id = 0;
  bool greedily = false;
  fs::path folder;
  std::array<int, 2> sockets{};
  seen_by_all* seen = nullptr;
};

//! The way in which a process ends, unless the text is complete earlier.
struct doom {
  death way = death::by_parent;
  int after = 0;  // milliseconds, outputs, records, feeds
};

//! Sends and receives datagrams between two processes. A datagram is lost if the socket's buffer is full.
class datagram_end {
 public:
  explicit datagram_end(int socket) : socket_(socket) {}
  [[nodiscard]] sv::status send(std::span<const std::byte> message) {
    (void)programs::uninterrupted([&] { return ::send(socket_, message.data(), message.size(), MSG_DONTWAIT); });
    return {};
  }
  [[nodiscard]] sv::result<std::span<const std::byte>> receive(std::optional<sv::session_time> until) {
    const int ready = programs::uninterrupted([&] {
      pollfd waits{socket_, POLLIN, 0};
      const sv::session_time from = now();
      const int left = !until ? -1 : *until > from ? static_cast<int>((*until - from) / 1000) + 1 : 0;
      return ::poll(&waits, 1, left);
    });
    if (ready <= 0) return std::span<const std::byte>{};
    const auto length = ::recv(socket_, heard_.data(), heard_.size(), MSG_DONTWAIT);
    return std::span<const std::byte>(heard_).first(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  }
  [[nodiscard]] sv::session_time now() const {
    return static_cast<sv::session_time>(
        std::chrono::duration_cast<std::chrono::microseconds>(clock::now().time_since_epoch()).count());
  }

 private:
  int socket_;
  std::vector<std::byte> heard_ = std::vector<std::byte>(1 << 18);
};

//! Returns the link of a process, which delivers messages in order, each exactly once.
sv::delivered<datagram_end> link_over(datagram_end& socket, sv::delivery_side side) {
  sv::delivery_options options;
  options.side = side;
  options.salt = sv::salt_from(std::random_device{});
  options.retry_timeout = 300'000;
  options.retry_limit = 1000;
  return std::move(sv::delivered<datagram_end>::make(socket, options)).value();
}

struct thrown_by_engine {};

//! An engine that throws in the middle of a feed.
struct throwing_engine {
  engine& side;
  int left = -1;  // negative: never
  sv::status feed(std::uint32_t position, std::span<const sv::token_id> tokens, std::uint32_t rows) {
    if (left-- == 0) {
      (void)side.feed(position, tokens.first(tokens.size() / 2), 0);
      throw thrown_by_engine{};
    }
    return side.feed(position, tokens, rows);
  }
  sv::row_view<float> row(std::uint32_t i) { return side.row(i); }
  sv::status truncate(std::uint32_t position) { return side.truncate(position); }
};

//! One process of a side: the journal on disk, and the way it ends.
class life {
 public:
  life(const text_plan& plan, std::size_t own, doom end)
      : plan_(plan), own_(own), end_(end), file_(plan.folder / (own == 0 ? "edge" : "cloud")) {}

  [[nodiscard]] std::vector<std::byte> load() const {
    std::vector<std::byte> all(fs::exists(file_) ? fs::file_size(file_) : 0);
    std::ifstream(file_, std::ios::binary).read(reinterpret_cast<char*>(all.data()), std::streamsize(all.size()));
    return all;
  }
  //! Truncates the journal to the complete records. Returns false if there is no complete record, which means that
  //! nothing was sent yet.
  [[nodiscard]] bool goes_on(const sv::result<sv::journal_reading>& restored) const {
    const bool fresh = !restored && (restored.error().code == sv::errc::unknown_session ||
                                     restored.error().code == sv::errc::truncated);
    if (!restored && !fresh) throw failure_of(restored.error(), {});
    if (restored && restored->torn) ++plan_.seen->torn;
    if (fs::exists(file_)) fs::resize_file(file_, fresh ? 0 : restored->valid_bytes);
    return !fresh;
  }
  void hear(const sv::session_output& out) {
    if (out.action == sv::session_action::journal) write(out);
    if (out.action == sv::session_action::committed && own_ == 0) note(out);
    if (end_.way == death::behind_output && end_.after-- == 0) (void)::raise(SIGKILL);
  }

 private:
  void write(const sv::session_output& out) {
    const fs::path to = file_.string() + (out.replaces ? ".new" : "");
    std::ofstream file(to, std::ios::binary | (out.replaces ? std::ios::trunc : std::ios::app));
    plan_.seen->last_record[own_] = out.replaces ? 0 : fs::file_size(file_);
    const bool ends = end_.way == death::inside_record && end_.after-- == 0;
    const std::size_t bytes =
        ends ? out.bytes.size() * static_cast<std::size_t>(plan_.id % 7 + 1) / 9 : out.bytes.size();
    file.write(reinterpret_cast<const char*>(out.bytes.data()), std::streamsize(bytes)).flush();
    if (ends) (void)::raise(SIGKILL);
    if (out.replaces) fs::rename(to, file_);
  }
  //! Checks that a token that was committed before a restart is committed unchanged after it.
  void note(const sv::session_output& out) {
    seen_by_all& seen = *plan_.seen;
    for (std::uint32_t i = 0; i < out.tokens.size(); ++i) {
      const std::uint32_t at = out.position + i - seen.prompt_length;
      if (at < seen.length) {
        seen.changed += seen.text[at] != out.tokens[i] ? 1u : 0u;
      } else {
        seen.text[at] = out.tokens[i];
        seen.length = at + 1;
      }
    }
  }

  const text_plan& plan_;
  std::size_t own_;
  doom end_;
  fs::path file_;
};

void live_at_edge(const text_plan& plan, engine& side, doom end) {
  life own(plan, 0, end);
  datagram_end socket(plan.sockets[0]);
  auto link = link_over(socket, sv::delivery_side::client);
  auto options = edge_options_of(side, plan.id, plan.given.tokens, plan.greedily);
  options.retry_timeout = 3'000'000;
  options.retry_limit = 1000;
  auto edge = plan.greedily ? sv::make_edge(options, sv::greedy(4)) : sv::make_edge(options, sv::k_sqs());
  if (!edge) throw failure_of(edge.error(), {});
  const auto prompt = prompt_of(side, {{"user", plan.prompt}}, true);
  plan.seen->prompt_length = static_cast<std::uint32_t>(prompt.size());
  const bool goes_on = own.goes_on(edge->restore(own.load(), link.now()));
  const sv::status began = goes_on ? sv::status{} : edge->start(prompt, link.now());
  if (!began.ok()) throw failure_of(began, {});
  throwing_engine drafter{side, end.way == death::inside_feed ? end.after : -1};
  const auto text = sv::generate(*edge, drafter, link, [&](const sv::session_output& out) { own.hear(out); });
  if (!text) throw failure_of(text.error(), edge->refusal());
  const auto heard = std::span<const sv::token_id>(plan.seen->text).first(plan.seen->length);
  plan.seen->changed += std::equal(text->begin(), text->end(), heard.begin(), heard.end()) ? 0u : 1u;
}

void live_at_cloud(const text_plan& plan, engine& side, doom end) {
  life own(plan, 1, end);
  datagram_end socket(plan.sockets[1]);
  auto link = link_over(socket, sv::delivery_side::server);
  auto cloud = sv::make_cloud(cloud_options_of(side, plan.id, plan.greedily));
  if (!cloud) throw failure_of(cloud.error(), {});
  (void)own.goes_on(cloud->restore(own.load()));
  throwing_engine target{side, end.way == death::inside_feed ? end.after : -1};
  const auto hear = [&](const sv::session_output& out) { own.hear(out); };
  if (const sv::status why = sv::serve(*cloud, target, link, hear); !why.ok()) throw failure_of(why, cloud->refusal());
}

//! Starts a process of a side. The exit code is 0 if the text is complete. If the engine throws, the side is created
//! again.
pid_t begin_life(const text_plan& plan, std::size_t own, doom end) {
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the child ends when the program ends
  int code = 0;
  try {
    engine side(own == 0 ? plan.given.small_file : plan.given.large_file, check_context, 1);
    for (bool again = true; again;) {
      again = false;
      try {
        own == 0 ? live_at_edge(plan, side, end) : live_at_cloud(plan, side, end);
      } catch (const thrown_by_engine&) {
        ++plan.seen->thrown;
        end = {};
        again = true;
      }
    }
  } catch (const std::exception& why) {
    std::fprintf(stderr, "%s: %s\n", own == 0 ? "edge" : "cloud", why.what());
    code = 1;
  }
  std::_Exit(code);
}

struct tally {
  std::uint32_t kills = 0, cuts = 0, texts = 0, failed = 0;
};

//! Runs one text until the device has the whole text.
class killed_text {
 public:
  killed_text(const text_plan& plan, std::mt19937& chance, tally& counted)
      : plan_(plan), chance_(chance), counted_(counted) {}

  void write() {
    begin(0);
    begin(1);
    const auto limit = clock::now() + std::chrono::minutes(5);  // a text usually takes seconds
    for (bool whole = false; !whole && counted_.failed == 0;) {
      int how = 0;
      const pid_t ended = ::waitpid(-1, &how, WNOHANG);
      if (clock::now() > limit) ++counted_.failed;
      if (ended == 0) {
        for (side& one : sides_)
          if (one.process > 0 && one.end.way == death::by_parent && clock::now() >= one.dies)
            (void)::kill(one.process, SIGKILL);
        ::usleep(1000);
        continue;
      }
      const std::size_t own = ended == sides_[0].process ? 0 : 1;
      if (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL) {
        ++counted_.kills;
        if (chance_() % 3 == 0) cut_last_record(own);
      } else if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) {
        ++counted_.failed;
      } else {
        whole = own == 0;
      }
      sides_[own].process = 0;
      if (!whole) begin(own);  // the cloud may get another request after the end
    }
    for (const side& one : sides_) {
      if (one.process <= 0) continue;
      (void)::kill(one.process, SIGKILL);
      (void)programs::uninterrupted([&] { return ::waitpid(one.process, nullptr, 0); });
    }
    ++counted_.texts;
  }

 private:
  struct side {
    pid_t process = 0;
    doom end{};
    clock::time_point dies{};
  };
  void begin(std::size_t own) {
    side& one = sides_[own];
    one.end.way = static_cast<death>(chance_() % static_cast<std::uint32_t>(death::ways));
    const std::uint32_t most = one.end.way == death::by_parent ? 1500 : one.end.way == death::behind_output ? 30 : 8;
    one.end.after = static_cast<int>(chance_() % most);
    one.dies = clock::now() + std::chrono::milliseconds(one.end.after);
    one.process = begin_life(plan_, own, one.end);
  }
  //! Truncates the last record, like a host that lost unsynced data. A record that replaced all other records is not
  //! truncated.
  void cut_last_record(std::size_t own) {
    const fs::path file = plan_.folder / (own == 0 ? "edge" : "cloud");
    const std::uint64_t from = plan_.seen->last_record[own], size = fs::exists(file) ? fs::file_size(file) : 0;
    if (from == 0 || from >= size) return;
    fs::resize_file(file, from + chance_() % (size - from));
    ++counted_.cuts;
  }

  const text_plan& plan_;
  std::mt19937& chance_;
  tally& counted_;
  std::array<side, 2> sides_{};
};

}  // namespace

int check_kills(const arguments& given) {
  const auto prompts = lines_of(given.prompts_file);
  void* const shared = ::mmap(nullptr, sizeof(seen_by_all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || prompts.empty()) return 1;
  auto* const seen = new (shared) seen_by_all{};
  const fs::path folder = fs::temp_directory_path() / ("llama_kills." + std::to_string(::getpid()));
  std::mt19937 chance{12};
  tally counted;
  while (counted.kills < 100 && counted.failed == 0) {
    text_plan plan{given, prompts[counted.texts % prompts.size()], 1000 + counted.texts, counted.texts % 4 == 3,
                   folder};
    if (::socketpair(AF_UNIX, SOCK_DGRAM, 0, plan.sockets.data()) != 0) return 1;
    fs::create_directories(folder);
    seen->length = 0;
    seen->last_record = {};
    plan.seen = seen;
    killed_text(plan, chance, counted).write();
    for (const int socket : plan.sockets) ::close(socket);
    fs::remove_all(folder);
  }
  std::printf(
      "kills: %u of either side's process over %u texts; after %u of them the last record was cut; %u "
      "restarts found a torn record; %u feeds threw; %u committed tokens changed\n",
      counted.kills, counted.texts, counted.cuts, seen->torn, seen->thrown, seen->changed);
  if (counted.failed != 0) std::printf("A RESTARTED PROCESS FAILED, or its text never arrived\n");
  return counted.failed == 0 && seen->changed == 0 && seen->torn > 0 && seen->thrown > 0 && counted.cuts > 0 ? 0 : 1;
}

}  // namespace llama_pair
