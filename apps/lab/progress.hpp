// SPDX-License-Identifier: Apache-2.0
//! Prints the lab's current figure, its progress and the remaining time: in place on a terminal, otherwise as
//! occasional lines.
#ifndef SPECVERIFY_APPS_LAB_PROGRESS_HPP
#define SPECVERIFY_APPS_LAB_PROGRESS_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>

#include <unistd.h>

namespace lab {

class progress {
 public:
  //! `planned`: expected seconds of all figures together.
  progress(std::FILE* out, std::size_t figures, double planned)
      : out_(out), terminal_(isatty(fileno(out)) == 1), figures_(figures), planned_left_(planned) {}

  void begin_figure(const std::string& name, double planned) {
    const std::lock_guard lock(mutex_);
    ++figure_;
    name_ = name;
    planned_ = planned;
    planned_left_ -= planned;
    begin_ = last_ = clock::now();
    begin_cpu_ = std::clock();
    units_ = 0;
    done_ = 0;
    if (!terminal_) line();
  }

  //! Adds `units` equal steps to the figure.
  void expect(std::size_t units) { units_ += units; }
  //! Counts one finished step. Any thread may call it.
  void step() {
    ++done_;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || std::chrono::duration<double>(clock::now() - last_).count() < (terminal_ ? 0.2 : 10.0)) return;
    last_ = clock::now();
    line();
  }

  //! The time that a figure took: on the clock, and of all threads.
  struct times {
    double seconds = 0, cpu_seconds = 0;
  };
  times end_figure(const std::string& verdict) {
    const std::lock_guard lock(mutex_);
    const double took = elapsed();
    spent_ += took;
    planned_done_ += planned_;
    const double cpu = static_cast<double>(std::clock() - begin_cpu_) / CLOCKS_PER_SEC;
    std::fprintf(out_, "%s[%zu/%zu] %-28s %6.1f s (cpu %6.1f s)  %s\n", terminal_ ? "\r\033[K" : "", figure_, figures_,
                 name_.c_str(), took, cpu, verdict.c_str());
    std::fflush(out_);
    return {took, cpu};
  }

 private:
  using clock = std::chrono::steady_clock;
  [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(clock::now() - begin_).count(); }

  void line() {
    const double share = units_ > 0 ? std::min(1.0, static_cast<double>(done_) / static_cast<double>(units_)) : 0.0;
    // Slowness of this machine relative to the plan, from the finished figures; 1 before the first.
    const double slowness = planned_done_ > 1 ? spent_ / planned_done_ : 1.0;
    const double of_plan = std::max(0.0, slowness * planned_ - elapsed());
    const double here = share > 0.05 ? elapsed() / share - elapsed() : of_plan;
    std::fprintf(out_, "%s[%zu/%zu] %-28s %3.0f %%  %s left%s", terminal_ ? "\r\033[K" : "", figure_, figures_,
                 name_.c_str(), 100 * share, time_text(here + slowness * planned_left_).c_str(), terminal_ ? "" : "\n");
    std::fflush(out_);
  }
  static std::string time_text(double seconds) {
    char text[48];
    const auto whole = static_cast<unsigned>(std::max(0.0, seconds) + 0.5);
    if (whole >= 60) {
      std::snprintf(text, sizeof text, "%u min %02u s", whole / 60, whole % 60);
    } else {
      std::snprintf(text, sizeof text, "%u s", whole);
    }
    return text;
  }

  std::FILE* out_;
  bool terminal_;
  std::size_t figures_;
  std::size_t figure_ = 0;
  std::string name_;
  double planned_ = 0, planned_left_, planned_done_ = 0, spent_ = 0;
  clock::time_point begin_{}, last_{};
  std::clock_t begin_cpu_ = 0;
  std::atomic<std::size_t> units_{0}, done_{0};
  std::mutex mutex_;
};

}  // namespace lab

#endif
