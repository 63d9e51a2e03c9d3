// SPDX-License-Identifier: Apache-2.0
// Measures the bundled pair: held-out problems solved greedily, overlap of the two distributions, size and speed.
// usage: tinylm_report [--directory FOLDER] [--prose FILE] [--problems N] [--show N]. FILE must hold one paragraph of
// held-out prose per line. Exit code 0: every figure is inside the bounds; 1: a figure is not; 2: usage or files.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include "../../apps/standard_output.hpp"
#include "tinylm.hpp"

namespace {

using tinylm::token_id;
using clock_type = std::chrono::steady_clock;

struct options {
  std::string directory = tinylm::default_directory();
  std::string prose;
  std::size_t problems = 500;
  std::size_t show = 0;
};

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

struct solved {
  std::size_t right = 0, tokens = 0;
};

solved solve(const tinylm::model_pair& pair, const std::shared_ptr<const tinylm::weights>& model,
             const std::vector<tinylm::problem>& problems, std::size_t show) {
  std::atomic<std::size_t> next{0}, right{0}, tokens{0};
  std::vector<std::string> shown(show);
  const auto work = [&] {
    for (std::size_t i = next++; i < problems.size(); i = next++) {
      const auto ids =
          tinylm::continue_greedily(model, tinylm::problem_ids(pair.vocabulary, problems[i].question), 110);
      const std::string text = pair.vocabulary.decode(ids);
      tokens += ids.size();
      const auto answer = tinylm::solution_answer(text);
      if (answer && *answer == problems[i].answer) ++right;
      if (i < show)
        shown[i] = tinylm::problem_prompt(problems[i].question) + text +
                   "(right: " + std::to_string(problems[i].answer) + ")\n";
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) workers.emplace_back(work);
  workers.clear();
  for (const std::string& text : shown) std::printf("%s\n", text.c_str());
  return {right, tokens};
}

void to_law(std::span<float> row) {
  float top = row[0];
  for (const float z : row) top = std::max(top, z);
  double sum = 0;
  for (float& z : row) sum += z = std::exp(z - top);
  for (float& z : row) z = static_cast<float>(z / sum);
}

struct overlap {
  double one_minus_tv = 0, target_nll = 0, drafter_nll = 0;
  std::size_t positions = 0;
};

// Sums over every position of the texts. Each text is fed after <|end|> and truncated to the context.
overlap compare(const tinylm::model_pair& pair, const std::vector<std::vector<token_id>>& texts, std::size_t skip) {
  overlap sum;
  const std::size_t vocab = pair.target->vocab;
  std::vector<float> p, q;
  for (const auto& text : texts) {
    const std::span ids(text.data(), std::min(text.size(), pair.target->context));
    tinylm::sequence target(pair.target), drafter(pair.drafter);
    p.resize(ids.size() * vocab);
    q.resize(p.size());
    if (!target.feed(ids, p).empty() || !drafter.feed(ids, q).empty()) continue;
    for (std::size_t t = skip; t + 1 < ids.size(); ++t) {
      const std::span a = std::span(p).subspan(t * vocab, vocab), b = std::span(q).subspan(t * vocab, vocab);
      to_law(a);
      to_law(b);
      for (std::size_t i = 0; i < vocab; ++i) sum.one_minus_tv += std::min(a[i], b[i]);
      const auto next = static_cast<std::size_t>(ids[t + 1]);
      sum.target_nll -= std::log(static_cast<double>(a[next]) + 1e-30);
      sum.drafter_nll -= std::log(static_cast<double>(b[next]) + 1e-30);
      ++sum.positions;
    }
  }
  return sum;
}

double milliseconds_per_token(const std::shared_ptr<const tinylm::weights>& model, std::size_t together) {
  std::vector<token_id> ids(together, 300);
  std::vector<float> rows(together * model->vocab);
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    tinylm::sequence tokens(model);
    const auto begin = clock_type::now();
    std::size_t fed = 0;
    for (; fed + together <= 128; fed += together) {
      if (!tokens.feed(ids, rows).empty()) return best;
    }
    best = std::min(best, 1000 * seconds_since(begin) / static_cast<double>(fed));
  }
  return best;
}

bool line(const char* name, double value, const char* unit, double low, double high) {
  const bool inside = value >= low && value <= high;
  std::printf("%-46s %9.3f %-10s %s [%g, %g]\n", name, value, unit, inside ? "ok    " : "OUTSIDE", low, high);
  return inside;
}

}  // namespace

static int run(int count, char** arguments) {
  options chosen;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (i + 1 == count)
      return std::fprintf(stderr,
                          "usage: tinylm_report [--directory FOLDER] [--prose FILE] [--problems N] [--show N]\n"),
             2;
    const std::string value = arguments[++i];
    if (name == "--directory") {
      chosen.directory = value;
    } else if (name == "--prose") {
      chosen.prose = value;
    } else if (name == "--problems") {
      chosen.problems = static_cast<std::size_t>(std::atoi(value.c_str()));
    } else if (name == "--show") {
      chosen.show = static_cast<std::size_t>(std::atoi(value.c_str()));
    } else {
      return std::fprintf(stderr, "unknown option %s\n", arguments[i - 1]), 2;
    }
  }
  const auto pair = tinylm::load_pair(chosen.directory);
  if (!pair.ok()) return std::fprintf(stderr, "%s\n", pair.error.c_str()), 2;
  auto problems = tinylm::read_problems(chosen.directory + "/held_out.txt");
  if (!problems.ok()) return std::fprintf(stderr, "%s\n", problems.error.c_str()), 2;
  if (problems->size() > chosen.problems) problems->resize(chosen.problems);
  chosen.show = std::min(chosen.show, problems->size());

  bool good = true;
  std::printf("vocabulary %zu tokens, fingerprint %s\n", pair->vocabulary.vocab_size(),
              tinylm::hexadecimal(pair->vocabulary_fingerprint).c_str());
  for (const auto& [name, model] : {std::pair{"target", pair->target}, {"drafter", pair->drafter}}) {
    std::size_t parameters = model->vocab * model->dim + model->dim;
    parameters +=
        model->layers.size() * (4 * model->dim * model->dim + 3 * model->dim * model->hidden + 2 * model->dim);
    std::printf("%-8s dim %zu, %zu layers, %zu heads, %zu parameters\n", name, model->dim, model->layers.size(),
                model->heads, parameters);
  }
  const double share = 100.0 / static_cast<double>(problems->size());
  const solved by_target = solve(*pair, pair->target, *problems, chosen.show);
  const solved by_drafter = solve(*pair, pair->drafter, *problems, chosen.show);
  std::printf("held-out problems: %zu\n", problems->size());
  good &= line("target solves greedily", share * static_cast<double>(by_target.right), "%", 85, 100);
  good &= line("drafter solves greedily", share * static_cast<double>(by_drafter.right), "%", 20, 60);

  std::vector<std::vector<token_id>> texts;
  for (std::size_t i = 0; i < std::min<std::size_t>(100, problems->size()); ++i) {
    auto ids = tinylm::problem_ids(pair->vocabulary, (*problems)[i].question);
    const auto more = tinylm::continue_greedily(pair->target, ids, 110);
    ids.insert(ids.end(), more.begin(), more.end());
    texts.push_back(std::move(ids));
  }
  const overlap on_problems = compare(*pair, texts, 35);
  if (on_problems.positions > 0) {
    std::printf("%-46s %9.3f\n", "mean 1-TV, target's solutions",
                on_problems.one_minus_tv / static_cast<double>(on_problems.positions));
  }
  if (chosen.prose.empty()) {
    std::printf("%-46s not measured (no --prose file)\n", "mean 1-TV, held-out prose");
    good = false;
  } else {
    const auto bytes = tinylm::read_file(chosen.prose);
    if (!bytes.ok()) return std::fprintf(stderr, "%s\n", bytes.error.c_str()), 2;
    std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    texts.clear();
    while (!text.empty()) {
      const std::string_view paragraph = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), paragraph.size() + 1));
      auto ids = pair->vocabulary.encode(paragraph);
      ids.insert(ids.begin(), tinylm::tokenizer::end_token);
      texts.push_back(std::move(ids));
    }
    const overlap on_prose = compare(*pair, texts, 0);
    const double positions = static_cast<double>(std::max<std::size_t>(1, on_prose.positions));
    std::printf("held-out prose: %zu paragraphs, %zu positions, perplexity %.1f (target) %.1f (drafter)\n",
                texts.size(), on_prose.positions, std::exp(on_prose.target_nll / positions),
                std::exp(on_prose.drafter_nll / positions));
    good &= line("mean 1-TV at T=1, held-out prose", on_prose.one_minus_tv / positions, "", 0.55, 0.85);
  }
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(chosen.directory)) bytes += entry.file_size();
  good &= line("committed files", static_cast<double>(bytes) / 1e6, "MB", 0, 12);
  std::printf("%-46s %9.3f ms (8 together: %.3f)\n", "target, one token", milliseconds_per_token(pair->target, 1),
              milliseconds_per_token(pair->target, 8));
  std::printf("%-46s %9.3f ms (8 together: %.3f)\n", "drafter, one token", milliseconds_per_token(pair->drafter, 1),
              milliseconds_per_token(pair->drafter, 8));
  return good ? 0 : 1;
}

int main(int count, char** arguments) {
  return programs::with_output("tinylm_report", [&] { return run(count, arguments); });
}
