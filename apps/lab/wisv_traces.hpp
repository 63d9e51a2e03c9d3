// SPDX-License-Identifier: Apache-2.0
//! Labels the mismatches of greedy drafts by their effect on the answer, with the search of AutoJudge (arXiv
//! 2504.20039), and stores them in a file.
//!
//! The target's own greedy text is the first reference. Its mismatches are tried from left to right: the draft replaces
//! the reference's token and the target continues. If the answer stays, the new text becomes the reference and the
//! mismatch is unimportant. Otherwise the reference stays and the mismatch is important. The hidden state of a position
//! is the state whose logits predict this position's token.
#ifndef SPECVERIFY_APPS_LAB_WISV_TRACES_HPP
#define SPECVERIFY_APPS_LAB_WISV_TRACES_HPP

#include <specverify/core/execution.hpp>
#include <specverify/row/argmax.hpp>

#include "lab_context.hpp"

namespace lab {

//! Mismatches in order of episode and position, with one row of hidden states each.
struct mismatch_set {
  std::uint32_t drafter_size = 0, target_size = 0;
  std::uint32_t episodes = 0;                    //!< searched episodes, with or without mismatches
  std::vector<std::uint32_t> episode, position;  //!< position: index in the continuation, from 0
  std::vector<token_id> drafted, expected;       //!< the drafter's token and the target's
  std::vector<std::uint8_t> important;           //!< 1: keeping the draft changes the answer
  std::vector<float> drafter_states, target_states;

  [[nodiscard]] std::size_t size() const { return episode.size(); }
  //! Returns the end of the episode that begins at `first`.
  [[nodiscard]] std::size_t episode_end(std::size_t first) const {
    return static_cast<std::size_t>(std::find_if(episode.begin() + static_cast<std::ptrdiff_t>(first), episode.end(),
                                                 [&](std::uint32_t other) { return other != episode[first]; }) -
                                    episode.begin());
  }
  [[nodiscard]] std::size_t important_count() const {
    return static_cast<std::size_t>(std::count(important.begin(), important.end(), std::uint8_t{1}));
  }

  void append(const mismatch_set& more) {
    const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    drafter_size = more.drafter_size, target_size = more.target_size;
    episodes += more.episodes;
    add(episode, more.episode), add(position, more.position), add(drafted, more.drafted), add(expected, more.expected),
        add(important, more.important);
    add(drafter_states, more.drafter_states), add(target_states, more.target_states);
  }
  friend bool operator==(const mismatch_set&, const mismatch_set&) = default;
};

[[nodiscard]] inline token_id argmax_of(std::span<const float> logits) {
  const auto best = specverify::argmax(specverify::exec::simd, specverify::logits_row(logits), {});
  if (!best) throw std::runtime_error("a bad row");
  return best->token;
}

namespace detail {

//! A text of the target, with the predicting states of all positions in the continuation and of the position after the
//! end.
struct scored_text {
  std::vector<token_id> tokens;  //!< prompt and continuation, without the end token
  std::vector<std::vector<float>> states;
};

//! Continues text.tokens greedily. The target may have read a part of the text.
template <language_model Target>
void continue_text(Target& target, token_id end, std::size_t max_length, scored_text& text) {
  while (true) {
    target.feed(std::span<const token_id>(text.tokens).subspan(target.size()), 1);
    text.states.emplace_back(target.hidden(0).begin(), target.hidden(0).end());
    const token_id next = argmax_of(target.logits(0));
    if (next == end || text.tokens.size() == max_length) return;
    text.tokens.push_back(next);
  }
}

}  // namespace detail

//! Observes no mismatch.
struct no_observer {
  void operator()(std::span<const token_id>, token_id) const {}
};

//! Searches one episode. `outcome_of(continuation)` returns a task's result for a text; results are compared with ==.
//! `observe(prefix, draft)` gets each mismatch before it is tried. The caches of both models are overwritten.
template <language_model Drafter, language_model Target, class Outcome, class Observer = no_observer>
[[nodiscard]] mismatch_set collect_episode(Drafter& drafter, Target& target, std::span<const token_id> prompt,
                                           std::uint32_t episode, token_id end, std::size_t max_length,
                                           Outcome outcome_of, Observer observe = {}) {
  mismatch_set made{drafter.hidden_size(), target.hidden_size(), 1, {}, {}, {}, {}, {}, {}, {}};
  const auto outcome = [&](const detail::scored_text& text) {
    return outcome_of(std::span<const token_id>(text.tokens).subspan(prompt.size()));
  };
  drafter.rollback(0);
  target.rollback(0);
  detail::scored_text reference{{prompt.begin(), prompt.end()}, {}};
  detail::continue_text(target, end, max_length, reference);
  const auto expected_outcome = outcome(reference);
  for (std::size_t at = prompt.size(); at <= reference.tokens.size() && at < max_length; ++at) {
    const std::size_t place = at - prompt.size();
    drafter.feed(std::span<const token_id>(reference.tokens).subspan(drafter.size(), at - drafter.size()), 1);
    const token_id draft = argmax_of(drafter.logits(0)),
                   token = at < reference.tokens.size() ? reference.tokens[at] : end;
    if (draft == token) continue;
    observe(std::span<const token_id>(reference.tokens).first(at), draft);
    detail::scored_text trial{
        {reference.tokens.begin(), reference.tokens.begin() + static_cast<std::ptrdiff_t>(at)},
        {reference.states.begin(), reference.states.begin() + static_cast<std::ptrdiff_t>(place + 1)}};
    target.rollback(static_cast<std::uint32_t>(at));
    if (draft != end) {
      trial.tokens.push_back(draft);
      detail::continue_text(target, end, max_length, trial);
    }
    const bool important = !(outcome(trial) == expected_outcome);
    made.episode.push_back(episode);
    made.position.push_back(static_cast<std::uint32_t>(place));
    made.drafted.push_back(draft);
    made.expected.push_back(token);
    made.important.push_back(important ? 1 : 0);
    made.drafter_states.insert(made.drafter_states.end(), drafter.hidden(0).begin(), drafter.hidden(0).end());
    made.target_states.insert(made.target_states.end(), reference.states[place].begin(), reference.states[place].end());
    if (important) {
      target.rollback(static_cast<std::uint32_t>(at));  // the prefix of the reference stays in the cache
    } else {
      reference = std::move(trial);
    }
  }
  return made;
}

//! Returns a fingerprint of the models whose hidden states a file holds, from the models' tables and the states of a
//! short text.
[[nodiscard]] inline std::uint64_t fingerprint_of(const tinylm::model_pair& pair) {
  checksum sum;
  for (const auto& weights : {pair.drafter, pair.target}) {
    live_model model(weights);
    const std::vector<token_id> text =
        tinylm::problem_ids(pair.vocabulary, "Tom has 31 coins and finds 12. How many coins does Tom have?");
    model.feed(text, 1);
    sum.add(model.hidden(0).data(), model.hidden(0).size_bytes());
    sum.add(weights->embed.data(), weights->embed.size() * sizeof(float));
  }
  return sum.value();
}

//! File: "SVMISMA1", fingerprint, episodes, mismatches, sizes, the arrays one after another, checksum; little-endian.
[[nodiscard]] inline bool save_mismatches(const mismatch_set& set, std::uint64_t fingerprint,
                                          const std::filesystem::path& path) {
  const std::filesystem::path fresh = path.string() + ".new";
  std::ofstream file(fresh, std::ios::binary);
  checksum sum;
  const auto write = [&](const auto& values) {
    sum.add(values.data(), values.size() * sizeof values[0]);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof values[0]));
  };
  write(std::string("SVMISMA1"));
  write(std::vector<std::uint64_t>{fingerprint, set.episodes, set.size(), set.drafter_size, set.target_size});
  write(set.episode), write(set.position), write(set.drafted), write(set.expected), write(set.important);
  write(set.drafter_states), write(set.target_states);
  const std::vector<std::uint64_t> total{sum.value()};
  write(total);
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(fresh, path, error);
  return file && !error;
}

//! Returns the mismatches in the file, or nothing if it is missing or damaged, or if models or number of episodes
//! differ.
[[nodiscard]] inline std::optional<mismatch_set> load_mismatches(std::uint64_t fingerprint, std::uint64_t episodes,
                                                                 const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return std::nullopt;
  checksum sum;
  const auto read = [&](auto& values, std::size_t count) {
    values.resize(count);
    file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof values[0]));
    sum.add(values.data(), count * sizeof values[0]);
  };
  std::string magic;
  std::vector<std::uint64_t> head, total;
  read(magic, 8);
  read(head, 5);
  if (!file || head[2] > bytes || magic != "SVMISMA1" || head[0] != fingerprint || head[1] != episodes ||
      head[3] > 4096 || head[4] > 4096)
    return std::nullopt;
  if (bytes != 8 + 8 * 5 + head[2] * (4 * 4 + 1 + 4 * (head[3] + head[4])) + 8) return std::nullopt;
  mismatch_set set;
  set.episodes = static_cast<std::uint32_t>(head[1]);
  set.drafter_size = static_cast<std::uint32_t>(head[3]), set.target_size = static_cast<std::uint32_t>(head[4]);
  read(set.episode, head[2]), read(set.position, head[2]), read(set.drafted, head[2]), read(set.expected, head[2]),
      read(set.important, head[2]);
  read(set.drafter_states, head[2] * head[3]), read(set.target_states, head[2] * head[4]);
  const std::uint64_t found = sum.value();
  read(total, 1);
  if (!file || total[0] != found) return std::nullopt;
  return set;
}

//! Version of the search. Must change if `collect_episode` or the definition of an answer changes, because older files
//! are then invalid.
inline constexpr std::uint64_t mismatch_search = 1;

//! Returns a fingerprint of everything that the labels of `problems` depend on.
[[nodiscard]] inline std::uint64_t fingerprint_of(const tinylm::model_pair& pair,
                                                  const std::vector<lab_problem>& problems, std::uint32_t longest) {
  checksum sum;
  const std::uint64_t facts[] = {mismatch_search, fingerprint_of(pair), longest};
  sum.add(facts, sizeof facts);
  for (const lab_problem& problem : problems) {
    const std::uint64_t size = problem.prompt.size();
    sum.add(&size, sizeof size);
    sum.add(problem.prompt.data(), problem.prompt.size() * sizeof problem.prompt[0]);
  }
  return sum.value();
}

//! Returns the mismatches of texts that begin with `prompts`. `answer_of(text)` returns a task's answer in a text.
template <class Answer>
[[nodiscard]] mismatch_set search_mismatches(lab_context& context, const std::vector<std::vector<token_id>>& prompts,
                                             Answer answer_of) {
  const std::size_t longest = context.pair().target->context - 6;
  std::vector<mismatch_set> found(prompts.size());
  context.for_each(prompts.size(), [&](lab_worker&, std::size_t i) {
    // No text occurs twice, so a trace would never be used.
    live_model drafter(context.pair().drafter), target(context.pair().target);
    const auto answer = [&](std::span<const token_id> text) { return answer_of(context.vocabulary().decode(text)); };
    found[i] = collect_episode(drafter, target, prompts[i], static_cast<std::uint32_t>(i), tinylm::tokenizer::end_token,
                               longest, answer);
  });
  mismatch_set all;
  for (const mismatch_set& one : found) all.append(one);
  return all;
}

//! Returns the mismatches of the first `count` problems of the training set. They are stored with the traces for later
//! runs.
[[nodiscard]] inline mismatch_set collect_mismatches(lab_context& context, std::size_t count) {
  const std::filesystem::path path = context.out() / "wisv_mismatches.bin";
  const std::vector<lab_problem> problems = context.problems("train", count);
  const auto longest = static_cast<std::uint32_t>(context.pair().target->context - 6);
  const std::uint64_t fingerprint = fingerprint_of(context.pair(), problems, longest);
  if (context.keeps_files()) {
    if (auto kept = load_mismatches(fingerprint, count, path)) return std::move(*kept);
  }
  std::vector<std::vector<token_id>> prompts;
  for (const lab_problem& problem : problems) prompts.push_back(problem.prompt);
  const mismatch_set all =
      search_mismatches(context, prompts, [](const std::string& text) { return tinylm::solution_answer(text); });
  if (context.keeps_files()) (void)save_mismatches(all, fingerprint, path);
  return all;
}

}  // namespace lab

#endif
