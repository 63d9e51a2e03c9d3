// SPDX-License-Identifier: Apache-2.0
// Runs llama_checks share: measures the time of each part of a K-SQS round, which are draft, encode, decode, verify,
// and the engines.
//
// Both sides and both engines work in this one thread. The clock is read between the steps, but never inside them, and
// the cost of a reading is subtracted. Feeding, finding rows and truncation count as the engine's time. Storing
// messages and journals is the host's work and counts for neither. The first round of a text is left out, because it
// includes the prompt.
//
// The clock between steps must not need a system call, because a call slows down the step after it. The thread's CPU
// time needs a call, so it is read only once per round. If it differs from the clock, the thread waited, and the round
// is left out. Therefore the result is CPU time, except for waits too short to detect.
#include <specverify/host/drive.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/presets.hpp>

#include "chat.hpp"
#include "checks.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

namespace llama_pair {

namespace sv = specverify;
namespace {

using bytes = std::vector<std::byte>;

//! Maximum share of CPU time in the median text; docs/llama.md breaks the time down.
constexpr double most_share = 0.0015;
constexpr std::size_t texts_timed = 8;
constexpr int above_the_bound = 3;  // exit code

double seconds_of(clockid_t which) {
  timespec now{};
  ::clock_gettime(which, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
double seconds() { return seconds_of(CLOCK_MONOTONIC); }

//! Detects whether the thread had to wait.
class presence {
 public:
  [[nodiscard]] bool always() const {
    const double ran = seconds_of(CLOCK_THREAD_CPUTIME_ID) - ran_, passed = seconds() - from_;
    return passed - ran < 50e-6;
  }

 private:
  double from_ = seconds(), ran_ = seconds_of(CLOCK_THREAD_CPUTIME_ID);
};

//! Returns the seconds that one reading of the clock takes: the median of many.
double seconds_of_a_reading() {
  std::array<double, 1001> each;
  double last = seconds();
  for (double& one : each) {
    const double now = seconds();
    one = now - last;
    last = now;
  }
  std::nth_element(each.begin(), each.begin() + 500, each.end());
  return each[500];
}

//! Measures consecutive stretches of time. An engine that reads its weights evicts the clock's code from all caches, so
//! the next reading is slow, and a part of that time would count for the next step. Therefore the clock is read once
//! more.
class stop_watch {
 public:
  void begin() {
    (void)seconds();
    last_ = seconds();
  }
  //! Adds the time since the last reading.
  double lap(double& sum) {
    const double passed = std::max(0.0, seconds() - last_ - own_);
    sum += passed;
    begin();
    return passed;
  }

 private:
  double own_ = seconds_of_a_reading(), last_ = 0;
};

struct steps {
  double inner_rows = 0, last_rows = 0;  // on the device: supplies of a row, and of the last row of a block
  std::uint64_t inner = 0, last = 0;
  double decode = 0, verify = 0, verdict = 0, outputs = 0;
  double drafter = 0, target = 0, host = 0;
  std::uint64_t rounds = 0, left_out = 0;

  //! Returns the time to encode messages. The last row of a block is drafted like the other rows, so its extra time is
  //! the time of the message.
  [[nodiscard]] double encode() const {
    const double row = inner > 0 ? inner_rows / static_cast<double>(inner) : 0;
    return last_rows - static_cast<double>(last) * row;
  }
  [[nodiscard]] double draft() const { return inner_rows + last_rows - encode(); }
  [[nodiscard]] double library() const { return inner_rows + last_rows + decode + verify + verdict + outputs; }
  [[nodiscard]] double all() const { return library() + drafter + target; }
  void add(const steps& more) {
    for (const auto part : {&steps::inner_rows, &steps::last_rows, &steps::decode, &steps::verify, &steps::verdict,
                            &steps::outputs, &steps::drafter, &steps::target, &steps::host})
      this->*part += more.*part;
    for (const auto part : {&steps::inner, &steps::last, &steps::rounds, &steps::left_out}) this->*part += more.*part;
  }
};

//! An engine that finds all rows when it is fed, so `row` costs nothing.
class found_rows {
 public:
  explicit found_rows(engine& side) : side_(side) {}

  sv::status feed(std::uint32_t position, std::span<const sv::token_id> tokens, std::uint32_t rows) {
    const sv::status why = side_.feed(position, tokens, rows);
    rows_.clear();
    for (std::uint32_t i = 0; why.ok() && i < rows; ++i) rows_.push_back(side_.logits(i, rows));
    return why;
  }
  [[nodiscard]] sv::row_view<float> row(std::uint32_t i) const { return sv::logits_row(rows_[i]); }
  [[nodiscard]] sv::status truncate(std::uint32_t position) { return side_.truncate(position); }

 private:
  engine& side_;
  std::vector<std::span<const float>> rows_;
};

//! A text whose sides are driven step by step.
class timed_text {
 public:
  timed_text(engine& small, engine& large, std::uint64_t id, std::uint32_t tokens, std::span<const sv::token_id> prompt)
      : small_(small), large_(large) {
    auto edge = sv::make_edge(edge_options_of(small, id, tokens, false), sv::k_sqs());
    auto cloud = sv::make_cloud(cloud_options_of(large, id, false));
    if (!edge || !cloud) throw failure_of(edge ? cloud.error() : edge.error(), {});
    edge_.emplace(*std::move(edge));
    cloud_.emplace(*std::move(cloud));
    if (const sv::status why = edge_->start(prompt, 0); !why.ok()) throw failure_of(why, {});
  }
  //! Adds every round except the first round and rounds in which the thread waited.
  void write(steps& counted) {
    for (sv::session_time now = 1; edge_->state() != sv::edge_state::finished; ++now) {
      const std::uint64_t before = edge_->statistics().rounds;
      steps round;
      const presence here;
      work_at_edge(round);
      if (edge_->state() == sv::edge_state::finished) return;
      for (const bytes& message : std::exchange(up_, {})) {
        watch_.begin();
        (void)sv::deliver(*cloud_, message, now);
        watch_.lap(round.decode);
        work_at_cloud(round);
      }
      for (const bytes& message : std::exchange(down_, {})) {
        watch_.begin();
        (void)sv::deliver(*edge_, message, now);
        watch_.lap(round.verdict);
      }
      round.rounds = edge_->statistics().rounds - before;
      if (before == 0) continue;
      if (here.always()) {
        counted.add(round);
      } else {
        counted.left_out += round.rounds;
      }
    }
  }

 private:
  //! Takes a session's outputs, and truncates the engine if they ask for it.
  template <class Session>
  sv::session_work hear(Session& session, found_rows& side, std::vector<bytes>& sent, steps& sum, double& passes) {
    watch_.begin();
    const sv::session_work work = sv::take_outputs(session, [&](const sv::session_output& out) -> sv::status {
      const bool cuts = out.action == sv::session_action::rollback, sends = out.action == sv::session_action::send;
      if (!cuts && !sends && out.action != sv::session_action::journal) return {};
      watch_.lap(sum.outputs);
      if (cuts) {
        const sv::status why = side.truncate(out.position);
        watch_.lap(passes);
        return why;
      }
      if (sends) sent.emplace_back();
      (sends ? sent.back() : journal_).assign(out.bytes.begin(), out.bytes.end());
      watch_.lap(sum.host);
      return {};
    });
    watch_.lap(sum.outputs);
    check(work.reason, session);
    return work;
  }
  //! Feeds an engine and supplies the rows. Returns the seconds of the supply.
  template <class Session>
  double answer(Session& session, found_rows& side, const sv::session_work& work, double& passes) {
    const sv::session_output& asked = work.asked;
    check(side.feed(asked.position, asked.tokens, asked.rows), session);
    watch_.lap(passes);
    const sv::status why = sv::supply(session, side, 0);
    double passed = 0;
    watch_.lap(passed);
    check(why, session);
    return passed;
  }
  void work_at_edge(steps& sum) {
    for (;;) {
      const sv::session_work work = hear(*edge_, small_, up_, sum, sum.drafter);
      if (work.wait != sv::session_wait::rows) return;
      const double passed = answer(*edge_, small_, work, sum.drafter);
      const bool last = edge_->state() != sv::edge_state::drafting;
      (last ? sum.last_rows : sum.inner_rows) += passed;
      (last ? sum.last : sum.inner) += 1;
    }
  }
  void work_at_cloud(steps& sum) {
    for (;;) {
      const sv::session_work work = hear(*cloud_, large_, down_, sum, sum.target);
      if (work.wait != sv::session_wait::rows) return;
      sum.verify += answer(*cloud_, large_, work, sum.target);
    }
  }
  template <class Session>
  static void check(sv::status why, const Session& session) {
    if (!why.ok()) throw failure_of(why, session.refusal());
  }

  found_rows small_, large_;
  std::optional<sv::edge_session> edge_;
  std::optional<sv::cloud_session> cloud_;
  stop_watch watch_;
  std::vector<bytes> up_, down_;  // messages in flight
  bytes journal_;
};

}  // namespace

int check_share(engine& small, engine& large, const arguments& given) {
  steps sum;
  std::size_t texts = 0;
  std::vector<double> shares;  // one share per text; other work on the machine makes some shares large
  for (const std::string& prompt : lines_of(given.prompts_file)) {
    steps one;
    const std::uint64_t id = 5001 + texts;
    timed_text(small, large, id, given.tokens, prompt_of(small, {{"user", prompt}}, true)).write(one);
    sum.add(one);
    if (one.rounds > 0) shares.push_back(one.library() / one.all());
    if (++texts == texts_timed) break;
  }
  if (sum.rounds + sum.left_out == 0) {
    std::fprintf(stderr, "share: no prompt gave a text of two rounds\n");
    return 1;
  }
  if (sum.rounds < sum.left_out || shares.empty()) {
    std::fprintf(stderr, "share: the thread waited in %llu rounds of %llu, because other programs need its core\n",
                 static_cast<unsigned long long>(sum.left_out),
                 static_cast<unsigned long long>(sum.rounds + sum.left_out));
    return 1;
  }
  std::sort(shares.begin(), shares.end());
  const double n = static_cast<double>(sum.rounds), median = shares[shares.size() / 2];
  const auto us = [n](double seconds) { return seconds / n * 1e6; };
  std::printf(
      "share: library %.0f us of %.1f ms a round, %.3f %% (median of %zu texts %.3f %%): draft %.1f us, encode %.1f "
      "us, decode %.1f us, verify and answer %.1f us, verdict %.1f us, outputs %.1f us\n"
      "share: engines %.1f ms, the drafter %.1f ms of them; host's copies %.1f us, not counted (%llu rounds, %llu left "
      "out, K-SQS)\n",
      us(sum.library()), us(sum.all()) * 1e-3, 100 * sum.library() / sum.all(), shares.size(), 100 * median,
      us(sum.draft()), us(sum.encode()), us(sum.decode), us(sum.verify), us(sum.verdict), us(sum.outputs),
      us(sum.drafter + sum.target) * 1e-3, us(sum.drafter) * 1e-3, us(sum.host),
      static_cast<unsigned long long>(sum.rounds), static_cast<unsigned long long>(sum.left_out));
  return median <= most_share ? 0 : above_the_bound;
}

}  // namespace llama_pair
