// SPDX-License-Identifier: Apache-2.0
// Generates the texts of QS's quality figure (qs_quality.hpp).
#include <specverify/policy/model_window.hpp>
#include <specverify/verify/mismatched.hpp>

#include "qs_quality.hpp"
#include "qs_texts.hpp"
#include "virtual_run.hpp"

namespace lab {

namespace {

//! Returns the distribution of an emitted token if a draft from `drawn` (d) is tested as if it came from `claimed`:
//! d(v) a(v) + P(reject) res(v), where a is the acceptance probability and res the residual.
std::vector<double> emitted_law(const std::vector<double>& drawn, const std::vector<double>& claimed,
                                const std::vector<double>& p) {
  std::vector<double> out(p.size()), residual(p.size());
  double rejected = 0, mass = 0;
  for (std::size_t v = 0; v < p.size(); ++v) {
    const double accept = claimed[v] > 0 ? std::min(1.0, p[v] / claimed[v]) : p[v] > 0 ? 1.0 : 0.0;
    out[v] = drawn[v] * accept;
    rejected += drawn[v] * (1 - accept);
    mass += residual[v] = std::max(0.0, p[v] - claimed[v]);
  }
  for (std::size_t v = 0; v < p.size(); ++v) out[v] += mass > 1e-12 ? rejected * residual[v] / mass : rejected * p[v];
  return out;
}

std::vector<double> law_of_writer(const qs_writer& writer, dense_quantizer& quantize, std::span<const float> drafter,
                                  const std::vector<double>& p, double temperature) {
  if (writer.how == qs_kind::target) return p;
  std::vector<double> q = law_of(drafter, temperature);
  if (writer.how == qs_kind::drafter) return q;
  const std::vector<double> coarse = quantize(drafter, temperature, writer.resolution);
  return emitted_law(writer.in_session() ? coarse : q, coarse, p);
}

struct qs_written {
  bool solved = false;
  double entropy = 0, distance = 0;  //!< sums over the text
  double tokens = 0;
  place_counts in_own, in_target;  //!< only of writers that draft
};

//! Draws one token of sample-then-quantize (S-Q): the token is drawn from q, sent with the quantized distribution, and
//! verified against it by the library's rule.
token_id sample_then_quantize(lab_worker& worker, const dense_quantizer& quantizer, double temperature,
                              const std::vector<double>& q, const specverify::philox& source, std::uint32_t t,
                              std::vector<std::byte>& memory) {
  using namespace specverify;
  const row_transform transform{.temperature = temperature};
  const auto token = static_cast<token_id>(token_at(q, decision_uniform(source({t, t, 0, purpose::draft_draw, 0}))));
  const mismatched_draft drafts[] = {{token, quantizer.sent()}};
  const row_view<float> rows[] = {row_of(worker.target, 0)};
  memory.resize(std::max(memory.size(), verify_workspace_size(worker.target.vocab_size(), transform, 1)));
  workspace scratch{std::span<std::byte>(memory)};
  verify_request request;
  request.remaining_budget = 1;
  const auto said =
      lossy_token_rule{}.verify(exec::simd, std::span<const mismatched_draft>(drafts),
                                row_span_provider<float>(rows, std::span<const row_transform>(&transform, 1)),
                                uniforms{source, t, t}, request, scratch);
  detail::require(said.error());
  return said->accepted == 1 ? token : said->next_token;
}

//! One text: the problem, the writer, the temperature, and numbers for the draws.
struct qs_task {
  const lab_problem& problem;
  const qs_writer& writer;
  double temperature;
  std::uint32_t index, setting;

  [[nodiscard]] std::uint32_t stream() const { return index + 100000u * setting; }  // no two texts share draws
};

constexpr std::uint32_t qs_quality_tokens = 110;

//! Writes a text with the library's sessions and real messages.
std::vector<token_id> session_text(const qs_quality_run& run, lab_worker& worker, const qs_task& task) {
  run_options options;
  options.prompt = task.problem.prompt;
  options.tokens = qs_quality_tokens;
  options.temperature = task.temperature;
  options.session_id = run.context.seed(run.purpose) + task.stream();
  const auto write = [&](const auto& system) {
    return run_virtually(options, worker.drafter, worker.target, system).tokens;
  };
  if (!task.writer.dynamic()) return write(specverify::qs({task.writer.resolution, 4}));
  options.channel = drawn_from(run.link, options.session_id);
  if (task.writer.how == qs_kind::heuristic)
    return write(specverify::with_window(specverify::qs(), specverify::model_window{}));
  const auto window = specverify::dqn_window::make(run.network);
  detail::require(window.error());
  return write(specverify::with_window(specverify::qs(), window.value()));
}

//! Counts the written token in the distribution of the writer and in the target's. Tokens are ordered by the difference
//! between the distributions of S-Q and the target, because this order detects S-Q with the fewest tokens.
void count_token(qs_written& made, const std::vector<double>& own, const std::vector<double>& other,
                 const std::vector<double>& p, std::size_t token, double u) {
  std::vector<double> lean(p.size());
  for (std::size_t v = 0; v < p.size(); ++v) lean[v] = other[v] + p[v] > 0 ? (other[v] - p[v]) / (other[v] + p[v]) : 0;
  made.in_own.add(place_in(own, lean, token, u));
  made.in_target.add(place_in(p, lean, token, u));
}

qs_written write_text(const qs_quality_run& run, lab_worker& worker, const qs_task& task) {
  const qs_writer& writer = task.writer;
  const std::uint64_t seed = run.context.seed(run.purpose);
  const auto high = static_cast<std::uint32_t>(seed >> 32);
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), high}}},
      of_text{{{static_cast<std::uint32_t>(seed) + task.stream(), high}}};
  const auto uniform_at = [&](std::uint32_t t, std::uint32_t of) {
    return specverify::decision_uniform(source({t, task.index, of, specverify::purpose::training, 6}));
  };
  std::vector<token_id> text;
  if (writer.in_session()) text = session_text(run, worker, task);
  qs_written made;
  dense_quantizer quantize;
  std::vector<std::byte> memory;
  worker.drafter.rollback(0);
  worker.target.rollback(0);
  std::vector<token_id> next = task.problem.prompt;
  for (std::uint32_t t = 0; t < (writer.in_session() ? text.size() : qs_quality_tokens); ++t) {
    worker.target.feed(next, 1);
    const bool drafts = writer.how != qs_kind::target;
    if (drafts) worker.drafter.feed(next, 1);
    const std::span<const float> row = drafts ? worker.drafter.logits(0) : std::span<const float>{};
    const std::vector<double> p = law_of(worker.target.logits(0), task.temperature);
    const std::vector<double> out = law_of_writer(writer, quantize, row, p, task.temperature);
    made.distance += total_variation(out, p);
    made.entropy += entropy_of(out);
    made.tokens += 1;
    if (writer.samples_first()) {
      text.push_back(
          sample_then_quantize(worker, quantize, task.temperature, law_of(row, task.temperature), of_text, t, memory));
    } else if (!writer.in_session()) {
      text.push_back(static_cast<token_id>(token_at(out, uniform_at(t, 0))));
    }
    if (writer.samples_first() || writer.in_session()) {
      const std::vector<double> q = law_of(row, task.temperature);
      const std::vector<double> other =
          writer.samples_first() ? out : emitted_law(q, quantize(row, task.temperature, writer.resolution), p);
      count_token(made, out, other, p, static_cast<std::size_t>(text[t]), uniform_at(t, 1 + task.setting));
    }
    if (text[t] == tinylm::tokenizer::end_token) break;
    next.assign(1, text[t]);
  }
  made.solved = run.context.solves(task.problem, text);
  return made;
}

}  // namespace

qs_quality_cells measure_quality(const qs_quality_run& run, const std::vector<lab_problem>& problems,
                                 std::span<const double> temperatures, std::span<const std::size_t> chosen) {
  const std::size_t settings = temperatures.size() * chosen.size();
  std::vector<qs_written> all(problems.size() * settings);
  run.context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    for (std::size_t s = 0; s < settings; ++s) {
      const std::size_t k = s / chosen.size(), w = chosen[s % chosen.size()];
      const qs_task task{problems[i], qs_writers[w], temperatures[k], static_cast<std::uint32_t>(i),
                         static_cast<std::uint32_t>(k * qs_writers.size() + w)};
      all[i * settings + s] = write_text(run, worker, task);
    }
  });
  qs_quality_cells cells(temperatures.size(), std::vector<qs_quality_cell>(qs_writers.size()));
  for (std::size_t i = 0; i < problems.size(); ++i) {
    for (std::size_t s = 0; s < settings; ++s) {
      const qs_written& one = all[i * settings + s];
      qs_quality_cell& cell = cells[s / chosen.size()][chosen[s % chosen.size()]];
      cell.right.push_back(one.solved ? 1 : 0);
      cell.distance += one.distance;
      cell.entropy += one.entropy;
      cell.tokens += one.tokens;
      cell.own.add(one.in_own);
      cell.in_target.add(one.in_target);
    }
  }
  return cells;
}

}  // namespace lab
