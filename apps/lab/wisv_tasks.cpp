// SPDX-License-Identifier: Apache-2.0
// Runs scorers of mismatches on tasks.
#include "wisv_tasks.hpp"

namespace lab {
namespace {

constexpr std::array<std::string_view, 5> colour_words{"red", "blue", "green", "white", "black"};

//! Returns the colour that a text names first, or "".
std::string first_colour(const std::string& text) {
  std::string word;
  for (const char c : text + " ") {
    if ('a' <= c && c <= 'z') {
      word += c;
      continue;
    }
    if (std::find(colour_words.begin(), colour_words.end(), word) != colour_words.end()) return word;
    word.clear();
  }
  return {};
}

std::vector<task_problem> read_colours(const lab_context& context, const std::string& set, std::size_t count) {
  const std::string path = context.settings().data + "/colours_" + set + ".txt";
  std::ifstream file(path);
  std::vector<task_problem> made;
  for (std::string line; made.size() < count && std::getline(file, line);) {
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == std::string::npos)
      throw std::runtime_error(path + ": line " + std::to_string(made.size() + 1) +
                               " must be an answer, a question and a beginning, with tabs between them");
    std::vector<token_id> ids = context.vocabulary().encode(
        tinylm::problem_prompt(line.substr(first + 1, second - first - 1)) + " " + line.substr(second + 1));
    ids.insert(ids.begin(), tinylm::tokenizer::end_token);
    made.push_back({std::move(ids), line.substr(0, first)});
  }
  if (made.size() < count) throw std::runtime_error(path + " has only " + std::to_string(made.size()) + " lines");
  return made;
}

//! A setting, and the results on all problems.
struct scored_run {
  std::size_t who = 0, link = 0;  //!< link: index in task_links
  double threshold = 0;
  std::uint32_t window = main_length;
  scored_set set = {};
};

semantic_settings settings_of(const contender& one, const scored_run& run, std::uint64_t seed) {
  semantic_settings made;
  made.draft_length = run.window;
  made.head = one.head;
  if (one.rule) made.score = one.rule->score, made.reads_claims = one.rule->claim_bits > 0;
  made.threshold = run.threshold;
  made.seed = seed;
  made.channel = [link = grid_links()[task_links[run.link]]](std::uint32_t) { return link; };
  return made;
}

void run_settings(lab_context& context, const scored_task& task, const std::vector<task_problem>& problems,
                  const std::vector<contender>& contenders, std::vector<scored_run>& runs) {
  for (scored_run& run : runs) run.set.resize(problems.size());
  context.for_each(problems.size(), [&](lab_worker&, std::size_t i) {
    problem_models models(context.pair());
    const auto solved = [&](std::span<const token_id> text) {
      const std::string found = task.answer_of(context.vocabulary().decode(text));
      return !found.empty() && found == problems[i].answer;
    };
    for (scored_run& run : runs)
      run.set[i] = score_text(models, problems[i].prompt, solved,
                              settings_of(contenders[run.who], run, context.seed("wisv_scorer") + i));
  });
}

[[nodiscard]] double upload_bits(const semantic_costs& costs, const contender& one, bool full,
                                 const semantic_round& r) {
  using namespace specverify;
  if (one.sees_link() && full) return static_cast<double>(wisv_full_upload_bits(costs.format, r.drafted));
  const double ids =
      static_cast<double>(wisv_token_upload_bits(costs.format, r.drafted)) + r.drafted * costs.claim_bits;
  return one.sees_link() && r.mismatches > 0
             ? ids + static_cast<double>(wisv_selected_upload_bits(costs.format, r.mismatches))
             : ids;
}

//! Computes the costs of a set on a link.
scored_result cost_of(const contender& one, const scored_set& set, std::size_t link, bool full) {
  semantic_costs costs;
  costs.claim_bits = one.rule ? one.rule->claim_bits : 0;
  const specverify::channel_state state = grid_links()[task_links[link]];
  const auto protocol = full ? specverify::hidden_protocol::full : specverify::hidden_protocol::selective;
  scored_result made;
  for (const scored_problem& p : set) {
    made.solved.push_back(p.solved ? 1 : 0);
    made.seconds.push_back(one.sees_link() ? costs.semantic(protocol, p.rounds, state) : costs.greedy(p.rounds, state));
    made.tokens.push_back(emitted_of(p.rounds));
    made.alone.push_back(costs.alone(made.tokens.back(), state));
    made.rounds.push_back(static_cast<double>(p.rounds.size()));
    double bits = 0;
    for (const semantic_round& r : p.rounds) bits += upload_bits(costs, one, full, r);
    made.bits.push_back(bits);
  }
  return made;
}

//! Chooses the largest candidate of each contender that loses at most `accepted_loss` on both links, or the smallest.
void choose_thresholds(lab_context& context, const scored_task& task, const std::vector<task_problem>& problems,
                       std::vector<contender>& contenders) {
  std::vector<scored_run> runs;
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    for (const double threshold : contenders[k].thresholds) {
      for (std::size_t link = 0; link < (contenders[k].sees_link() ? 2u : 1u); ++link)
        runs.push_back({k, link, threshold});
    }
  }
  run_settings(context, task, problems, contenders, runs);
  const double greedy = accuracy_of(runs.front().set);
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    contender& one = contenders[k];
    one.found = false, one.chosen = one.thresholds.front();
    for (const double threshold : one.thresholds) {
      const bool kept = std::all_of(runs.begin(), runs.end(), [&](const scored_run& run) {
        return run.who != k || run.threshold != threshold || accuracy_of(run.set) >= greedy - accepted_loss - 1e-12;
      });
      if (kept) one.chosen = threshold, one.found = true;
    }
  }
}

}  // namespace

scored_task word_task(lab_context& context) {
  const auto problems = [&context](const std::string& set, std::size_t count) {
    std::vector<task_problem> made;
    for (lab_problem& one : context.problems(set, count))
      made.push_back({std::move(one.prompt), std::to_string(one.answer)});
    return made;
  };
  const auto answer = [](const std::string& text) {
    const auto found = tinylm::solution_answer(text);
    return found ? std::to_string(*found) : std::string();
  };
  return {"word problems",
          problems,
          answer,
          context.scaled<std::size_t>(1000, 20),
          context.scaled<std::size_t>(1200, 30),
          context.scaled<std::size_t>(300, 10)};
}

scored_task colour_task(lab_context& context) {
  const auto problems = [&context](const std::string& set, std::size_t count) {
    return read_colours(context, set, count);
  };
  return {"colours",
          problems,
          first_colour,
          context.scaled<std::size_t>(400, 20),
          context.scaled<std::size_t>(800, 30),
          context.scaled<std::size_t>(400, 20)};
}

std::vector<std::array<scored_result, 2>> tune_contenders(lab_context& context, const scored_task& task,
                                                          std::vector<contender>& contenders) {
  const std::vector<task_problem> problems = task.problems("tune", task.tuning);
  choose_thresholds(context, task, problems, contenders);
  std::vector<scored_run> runs;
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    for (const std::uint32_t window : task_windows) {
      for (std::size_t link = 0; link < (contenders[k].sees_link() ? 2u : 1u); ++link)
        runs.push_back({k, link, contenders[k].chosen, window});
    }
  }
  run_settings(context, task, problems, contenders, runs);
  std::vector<std::array<scored_result, 2>> made(contenders.size());
  for (const scored_run& run : runs) {
    contender& one = contenders[run.who];
    for (std::size_t link = 0; link < 2; ++link) {
      if (one.sees_link() && link != run.link) continue;
      for (const bool full : {true, false}) {
        scored_result result = cost_of(one, run.set, link, full);
        scored_result& best = made[run.who][link];
        if (!best.seconds.empty() && mean_of(best.seconds) <= mean_of(result.seconds)) continue;
        best = std::move(result);
        one.window[link] = run.window, one.full[link] = full;
      }
    }
  }
  return made;
}

std::vector<std::array<scored_result, 2>> test_contenders(lab_context& context, const scored_task& task,
                                                          const std::vector<contender>& contenders) {
  std::vector<scored_run> runs;
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    for (std::size_t link = 0; link < 2; ++link)
      runs.push_back({k, link, contenders[k].chosen, contenders[k].window[link]});
  }
  run_settings(context, task, task.problems("test", task.testing), contenders, runs);
  std::vector<std::array<scored_result, 2>> made(contenders.size());
  for (const scored_run& run : runs) {
    const contender& one = contenders[run.who];
    made[run.who][run.link] = cost_of(one, run.set, run.link, one.full[run.link]);
  }
  return made;
}

namespace {

//! Scores of the contenders for the mismatches of one problem, and the search's labels.
struct rated_problem {
  std::vector<std::vector<double>> scores;  //!< [contender][mismatch]
  std::vector<bool> important;
};

//! Scores the mismatch of `draft` after `prefix`, with the drafts that would follow it.
void rate_mismatch(problem_models& models, std::span<const token_id> prefix, token_id draft,
                   const std::vector<contender>& contenders, rated_problem& rated) {
  constexpr token_id end = tinylm::tokenizer::end_token;
  models.drafter.rollback(0), models.target.rollback(0);
  models.drafter.feed(prefix, 1);
  scored_mismatch m;
  m.drafted = draft;
  m.drafter_probability = detail::probability_of(models.drafter.logits(0), draft);
  m.uniform = 1;  // the least divergence that accepts for sure
  std::vector<float> state;
  detail::travel(models.drafter.hidden(0), state);
  std::vector<token_id> text(prefix.begin(), prefix.end());
  text.push_back(draft);
  while (text.back() != end && text.size() <= prefix.size() + look_ahead) {
    models.drafter.feed(std::span(text).last(1), 1);
    text.push_back(argmax_of(models.drafter.logits(0)));
  }
  const auto rows = static_cast<std::uint32_t>(text.size() - prefix.size());
  models.target.feed(std::span(text).first(text.size() - 1), rows);
  m.expected = argmax_of(models.target.logits(0));
  m.text_ends = text.back() == end;
  while (m.agreed + 1 < rows && argmax_of(models.target.logits(m.agreed + 1)) == text[prefix.size() + m.agreed + 1])
    ++m.agreed;
  m.differs_next = m.agreed + 1 < rows;
  m.target = models.target.logits(0);
  const specverify::channel_vector c = detail::reported(grid_links()[good]);
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    const contender& one = contenders[k];
    double score = 0.5;
    if (one.rule) score = one.rule->score(m);
    if (one.head != nullptr) {
      score = demand(specverify::head_score(*one.head, specverify::drafter_input::hidden_state, state,
                                            models.target.hidden(0), specverify::standardise(c, one.head->channel)),
                     "head_score");
    }
    rated.scores[k].push_back(score);
  }
}

}  // namespace

std::vector<estimate> rate_contenders(lab_context& context, const scored_task& task,
                                      const std::vector<contender>& contenders) {
  const std::vector<task_problem> problems = task.problems("test", task.rated);
  const std::size_t longest = context.pair().target->context - 6 - look_ahead;
  std::vector<rated_problem> rated(problems.size());
  context.for_each(problems.size(), [&](lab_worker&, std::size_t i) {
    problem_models models(context.pair());
    live_model drafter(context.pair().drafter), target(context.pair().target);
    rated[i].scores.resize(contenders.size());
    const auto answer = [&](std::span<const token_id> text) {
      return task.answer_of(context.vocabulary().decode(text));
    };
    const auto observe = [&](std::span<const token_id> prefix, token_id draft) {
      rate_mismatch(models, prefix, draft, contenders, rated[i]);
    };
    const mismatch_set found = collect_episode(drafter, target, problems[i].prompt, static_cast<std::uint32_t>(i),
                                               tinylm::tokenizer::end_token, longest, answer, observe);
    rated[i].important.assign(found.important.begin(), found.important.end());
  });
  std::vector<estimate> made;
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    const auto area = [&](std::span<const std::size_t> places) {
      std::vector<double> scores;
      std::vector<bool> important;
      for (const std::size_t i : places) {
        scores.insert(scores.end(), rated[i].scores[k].begin(), rated[i].scores[k].end());
        important.insert(important.end(), rated[i].important.begin(), rated[i].important.end());
      }
      return area_under_curve(scores, important);
    };
    made.push_back(bootstrap(rated.size(), context.seed("wisv_rated"), area, 400));
  }
  return made;
}

}  // namespace lab
