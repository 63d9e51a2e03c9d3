// SPDX-License-Identifier: Apache-2.0
//! Measures how the time of a round is divided between the library, the engines and everything else.
#ifndef SPECVERIFY_APPS_ROWS_WORK_CLOCK_HPP
#define SPECVERIFY_APPS_ROWS_WORK_CLOCK_HPP

#include <chrono>
#include <utility>

namespace recorded {

//! Seconds that the library and the engines took in a round.
struct round_time {
  double library = 0, engine = 0;
  [[nodiscard]] double both() const { return library + engine; }
};

enum class worker : unsigned char { library, engine, other };

//! Adds the time of one thread to the worker that is active. At first `other` is active, whose time is not counted.
class work_clock {
 public:
  //! Makes a worker active for the lifetime of this object. Afterwards the earlier worker is active again.
  class shift {
   public:
    shift(work_clock& clock, worker next) : clock_(clock), before_(clock.change(next)) {}
    shift(const shift&) = delete;
    shift& operator=(const shift&) = delete;
    ~shift() { clock_.change(before_); }

   private:
    work_clock& clock_;
    worker before_;
  };

  //! Calls `work` while `one` is active.
  template <class Work>
  void of(worker one, const Work& work) {
    const shift here(*this, one);
    work();
  }
  //! Returns the time since the last restart.
  [[nodiscard]] const round_time& passed() const { return passed_; }
  void restart() { passed_ = {}; }

 private:
  using clock = std::chrono::steady_clock;
  worker change(worker next) {
    const clock::time_point now = clock::now();
    const double seconds = std::chrono::duration<double>(now - since_).count();
    since_ = now;
    if (worker_ == worker::library) passed_.library += seconds;
    if (worker_ == worker::engine) passed_.engine += seconds;
    return std::exchange(worker_, next);
  }

  round_time passed_{};
  clock::time_point since_ = clock::now();
  worker worker_ = worker::other;
};

}  // namespace recorded

#endif
