// SPDX-License-Identifier: Apache-2.0
//! Provides the resources of every figure: the bundled pair with traces, problems and prose, worker threads, a seed,
//! and progress.
#ifndef SPECVERIFY_APPS_LAB_LAB_CONTEXT_HPP
#define SPECVERIFY_APPS_LAB_LAB_CONTEXT_HPP

#include "models.hpp"
#include "progress.hpp"

#include <atomic>
#include <exception>
#include <optional>
#include <thread>

namespace lab {

struct lab_settings {
  bool quick = false;
  std::uint64_t seed = 20261121;
  unsigned jobs = 2;
  bool trace_files = true;  //!< whether to read traces of earlier runs and to store them for later runs
  std::filesystem::path out = "build/lab";
  std::string models = tinylm::default_directory();
  std::string data = "apps/lab/data";
};

//! A problem: the text to continue, and the answer at the end of a correct continuation.
struct lab_problem {
  std::vector<token_id> prompt;
  int answer = 0;
};

//! Models of one thread, which share the traces with other threads.
struct lab_worker {
  replayed_model drafter;
  replayed_model target;
};

class lab_context {
 public:
  explicit lab_context(lab_settings settings) : settings_(std::move(settings)), pair_(load(settings_.models)) {
    drafter_trace_ = std::make_shared<model_trace>(pair_.drafter);
    target_trace_ = std::make_shared<model_trace>(pair_.target);
  }

  [[nodiscard]] const lab_settings& settings() const { return settings_; }
  [[nodiscard]] bool quick() const { return settings_.quick; }
  //! Returns whether traces may be read from files of earlier runs and written for later runs.
  [[nodiscard]] bool keeps_files() const { return settings_.trace_files; }
  //! Returns `full`, or `quick` under --quick.
  template <class Value>
  [[nodiscard]] Value scaled(Value full, Value quick) const {
    return settings_.quick ? quick : full;
  }
  //! Returns a seed for one purpose of one figure. It is equal in every run with the same --seed.
  [[nodiscard]] std::uint64_t seed(std::string_view purpose) const {
    checksum sum;
    sum.add(purpose.data(), purpose.size());
    return settings_.seed ^ sum.value();
  }
  [[nodiscard]] const std::filesystem::path& out() const { return settings_.out; }

  //! Writes a file that is not a figure, for example trained weights, to the output folder.
  void write(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream file(out() / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file) throw std::runtime_error("cannot write " + (out() / name).string());
  }

  [[nodiscard]] const tinylm::model_pair& pair() const { return pair_; }
  [[nodiscard]] const tinylm::tokenizer& vocabulary() const { return pair_.vocabulary; }
  [[nodiscard]] std::shared_ptr<model_trace> drafter_trace() const { return drafter_trace_; }
  [[nodiscard]] std::shared_ptr<model_trace> target_trace() const { return target_trace_; }

  //! Returns the first `count` problems of a set: "test" (2400), "tune" (1000), "train" (4000). Reported results must
  //! come only from "test".
  [[nodiscard]] std::vector<lab_problem> problems(const std::string& set, std::size_t count) const {
    auto read = tinylm::read_problems(settings_.data + "/" + set + ".txt");
    if (!read.ok()) throw std::runtime_error(read.error);
    if (count > read->size())
      throw std::runtime_error(set + ".txt has only " + std::to_string(read->size()) + " problems");
    std::vector<lab_problem> made;
    for (std::size_t i = 0; i < count; ++i)
      made.push_back({tinylm::problem_ids(pair_.vocabulary, (*read)[i].question), (*read)[i].answer});
    return made;
  }
  //! Returns beginnings of held-out prose, `tokens` tokens long, <|end|> first. There are 240.
  [[nodiscard]] std::vector<std::vector<token_id>> prose(std::size_t count, std::size_t tokens) const {
    std::ifstream file(settings_.data + "/prose.txt");
    std::vector<std::vector<token_id>> made;
    for (std::string line; made.size() < count && std::getline(file, line);) {
      std::vector<token_id> ids = pair_.vocabulary.encode(line);
      ids.insert(ids.begin(), tinylm::tokenizer::end_token);
      if (ids.size() > tokens) ids.resize(tokens);
      made.push_back(std::move(ids));
    }
    if (made.size() < count) throw std::runtime_error("prose.txt has only " + std::to_string(made.size()) + " lines");
    return made;
  }
  //! Returns whether a continuation of the problem's prompt ends with the correct answer.
  [[nodiscard]] bool solves(const lab_problem& problem, std::span<const token_id> continuation) const {
    const auto answer = tinylm::solution_answer(pair_.vocabulary.decode(continuation));
    return answer && *answer == problem.answer;
  }

  //! Calls work(worker, i) for i in [0, count) on all threads. `work` must write its result to index i, because the
  //! order of completion varies.
  template <class Work>
  void for_each(std::size_t count, Work work) {
    if (progress_) progress_->expect(count);
    while (workers_.size() < settings_.jobs) {
      workers_.push_back(
          std::make_unique<lab_worker>(lab_worker{replayed_model(drafter_trace_), replayed_model(target_trace_)}));
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr trouble;
    std::mutex mutex;
    const auto run = [&](lab_worker& worker) {
      try {
        for (std::size_t i = next++; i < count; i = next++) {
          work(worker, i);
          step();
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!trouble) trouble = std::current_exception();
        next = count;
      }
    };
    std::vector<std::jthread> threads;
    for (unsigned j = 1; j < settings_.jobs; ++j) threads.emplace_back([&, j] { run(*workers_[j]); });
    run(*workers_[0]);
    threads.clear();
    if (trouble) std::rethrow_exception(trouble);
  }
  //! Reports the progress of work outside for_each. Announce the number of steps first, then report each finished step.
  void expect(std::size_t steps) {
    if (progress_) progress_->expect(steps);
  }
  void step() {
    if (progress_) progress_->step();
  }

  //! Returns the counters of the target's or the drafter's forward passes so far, summed over all workers.
  [[nodiscard]] model_counters counted(bool target) const {
    model_counters sum;
    for (const auto& worker : workers_) {
      const model_counters& c = (target ? worker->target : worker->drafter).counters();
      sum.passes += c.passes;
      sum.positions += c.positions;
      sum.recorded += c.recorded;
      sum.seconds += c.seconds;
    }
    return sum;
  }

  //! Loads traces of earlier runs. A file that is damaged or was made by other models is reported and ignored.
  void load_traces(std::FILE* log) {
    for (const auto& [trace, name] : {std::pair{drafter_trace_, "drafter.trace"}, {target_trace_, "target.trace"}}) {
      const auto path = settings_.out / name;
      if (!std::filesystem::exists(path)) continue;
      const std::string error = trace->load(path);
      if (!error.empty()) {
        std::fprintf(log, "%s; recording anew\n", error.c_str());
      } else {
        std::fprintf(log, "%s: %zu states recorded earlier\n", path.string().c_str(), trace->sizes().states);
      }
    }
  }
  void save_traces(std::FILE* log) const {
    for (const auto& [trace, name] : {std::pair{drafter_trace_, "drafter.trace"}, {target_trace_, "target.trace"}}) {
      if (trace->sizes().states == 0) continue;
      if (const std::string error = trace->save(settings_.out / name); !error.empty())
        std::fprintf(log, "%s\n", error.c_str());
    }
  }

  void report_to(progress* listener) { progress_ = listener; }

 private:
  static tinylm::model_pair load(const std::string& folder) {
    auto pair = tinylm::load_pair(folder);
    if (!pair.ok()) throw std::runtime_error(pair.error);
    return std::move(*pair);
  }

  lab_settings settings_;
  tinylm::model_pair pair_;
  std::shared_ptr<model_trace> drafter_trace_, target_trace_;
  std::vector<std::unique_ptr<lab_worker>> workers_;
  progress* progress_ = nullptr;
};

}  // namespace lab

#endif
