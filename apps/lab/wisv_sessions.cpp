// SPDX-License-Identifier: Apache-2.0
// Compares WISV's protocols for hidden states: by the rules alone, and by the two sessions with real messages.
#include "wisv_figures.hpp"

namespace lab {

//! Compares FH, SH and lazy over the same changing link with the acceptance rules only, without sessions.
void run_wisv_protocols(lab_context& context, figure& f) {
  wisv_study& study = study_of(context);
  const auto& r = study.tests();
  f.about =
      "L = 32; in each round the link is poor (20 Mbit/s, 50 ms) or good (500 Mbit/s, 5 ms), the same for all "
      "protocols; " +
      std::to_string(r.problems) + " held-out problems.";
  static constexpr std::array<const char*, 3> names{"FH", "SH", "lazy"};
  table& t = f.add_table("protocols",
                         {"protocol", "right %", "tokens per round", "rounds", "vectors a round", "requests a round"});
  bool same = true;
  for (std::size_t k = 0; k < 3; ++k) {
    const scored_set& set = r.by_protocol[k];
    const double all = mean_of(rounds_of(set));
    t.rows.push_back({names[k], detail::points(accuracy_of(set), 4), number(tokens_per_round(set)), number(all),
                      number(mean_of(sums_of(set, &semantic_round::uploaded)) / all),
                      number(mean_of(sums_of(set, &semantic_round::exchanges)) / all)});
    for (std::size_t i = 0; i < set.size(); ++i) {
      const scored_problem &a = r.by_protocol[0][i], &b = set[i];
      same = same && a.text == b.text && a.rounds.size() == b.rounds.size();
      for (std::size_t j = 0; same && j < a.rounds.size(); ++j)
        same = a.rounds[j].accepted == b.rounds[j].accepted && a.rounds[j].emitted == b.rounds[j].emitted;
    }
  }
  f.require("FH, SH and lazy write the same tokens in the same rounds, by the rules", same);
}

namespace {

struct session_variant {
  const char* name;
  bool with_draft, lazy;
  wisv_study::head_name head;
  bool split;
};
constexpr std::array<session_variant, 5> session_variants{
    {{"FH", true, false, wisv_study::full_head, false},
     {"SH", false, false, wisv_study::full_head, false},
     {"lazy", false, true, wisv_study::full_head, false},
     {"SH, width 16", false, false, wisv_study::narrow_head, false},
     {"SH, width 16, split", false, false, wisv_study::narrow_head, true}}};

using variant_runs = std::array<std::vector<run_result>, session_variants.size()>;

run_result run_variant(lab_context& context, wisv_study& study, const session_variant& v, problem_models& models,
                       const lab_problem& problem, std::size_t i) {
  const specverify::head_weights& head = study.weights(v.head);
  run_options options;
  options.prompt = problem.prompt;
  options.tokens = static_cast<std::uint32_t>(250 - problem.prompt.size());
  options.temperature = 0;
  options.session_id = context.seed("wisv_sessions") + i;
  options.threshold = study.tunings()[v.head].chosen;
  options.lazy = v.lazy;
  auto system = specverify::wisv({.hidden_size = v.split ? head.shape.width : models.drafter.hidden_size(),
                                  .with_draft = v.with_draft,
                                  .max_draft_length = main_length});
  if (v.split) {
    system.attachments.hidden = specverify::hidden_format::int8;
    options.project = [&head](std::span<const float> state, std::span<float> part) {
      demand(specverify::device_part(head, state, part), "device_part");
    };
  }
  options.channel = study.changing_link(i);
  options.score = [&head, given = v.split ? specverify::drafter_input::device_part
                                          : specverify::drafter_input::hidden_state](const score_request& asked) {
    const auto c = demand(specverify::channel_features(asked.channel), "channel_features");
    return demand(
        specverify::head_score(head, given, asked.drafter, asked.target, specverify::standardise(c, head.channel)),
        "head_score");
  };
  return run_virtually(options, models.drafter, models.target, system);
}

//! Returns the checksum of a run's continuation, as `score_text` computes it.
std::uint64_t sum_of_text(const std::vector<token_id>& text) {
  checksum sum;
  sum.add(text.data(), text.size() * sizeof(token_id));
  return sum.value();
}

void list_sessions(lab_context& context, const variant_runs& runs, const std::vector<lab_problem>& problems,
                   const scored_set& rules, figure& f) {
  table& t = f.add_table(
      "protocols", {"protocol", "right %", "tokens per round", "rounds", "bytes up a round", "bytes down a round"});
  const std::size_t count = problems.size();
  bool session_same = true;
  std::size_t as_rules = 0, split_same = 0;
  for (std::size_t k = 0; k < session_variants.size(); ++k) {
    double solved = 0, tokens = 0, rounds = 0, up = 0, down = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const run_result &one = runs[k][i], &first = runs[k < 3 ? 0 : k][i];
      if (k == 4) split_same += one.tokens == runs[3][i].tokens ? 1u : 0u;
      session_same = session_same && one.tokens == first.tokens && one.rounds.size() == first.rounds.size();
      for (std::size_t j = 0; session_same && j < one.rounds.size(); ++j)
        session_same = one.rounds[j].accepted == first.rounds[j].accepted;
      std::vector<token_id> text = one.tokens;
      if (!text.empty() && text.back() == tinylm::tokenizer::end_token) text.pop_back();
      if (k == 0) as_rules += sum_of_text(text) == rules[i].text ? 1u : 0u;
      solved += context.solves(problems[i], text) ? 1 : 0;
      tokens += static_cast<double>(one.emitted()), rounds += static_cast<double>(one.rounds.size());
      up += static_cast<double>(one.bytes_up()), down += static_cast<double>(one.bytes_down());
    }
    const auto of = static_cast<double>(count);
    t.rows.push_back({session_variants[k].name, detail::points(solved / of, 4), number(tokens / rounds),
                      number(rounds / of), number(up / rounds), number(down / rounds)});
  }
  f.require("FH, SH and lazy write the same tokens in the same rounds, by the sessions", session_same);
  f.require("the sessions write the same as the rules by themselves, on every problem", as_rules == count,
            std::to_string(as_rules) + " of " + std::to_string(count));
  f.add_table("texts of the sessions", {"problems", "as the rules write them"})
      .rows.push_back({std::to_string(count), std::to_string(as_rules)});
  f.require("the split head writes the same as the whole head of its width on at least 99 % of the problems",
            split_same * 100 >= count * 99, std::to_string(split_same) + " of " + std::to_string(count));
}

}  // namespace

void run_wisv_sessions(lab_context& context, figure& f) {
  wisv_study& study = study_of(context);
  const auto& r = study.tests();
  const std::size_t count = context.scaled<std::size_t>(200, 8);
  f.about = "L = 32 and the changing link of the protocols, by the two sessions, " + std::to_string(count) +
            " problems: hidden vectors of 96 half floats, ids and a channel report; bytes are those on the wire. "
            "Last two rows: the head of width 16 with whole states, or split: the device's part as 16 int8 numbers "
            "and a scale.";
  const std::vector<lab_problem> problems = context.problems("test", count);
  variant_runs runs;
  for (auto& one : runs) one.resize(count);
  context.for_each(count, [&](lab_worker&, std::size_t i) {
    problem_models models(context.pair());
    for (std::size_t k = 0; k < session_variants.size(); ++k)
      runs[k][i] = run_variant(context, study, session_variants[k], models, problems[i], i);
  });
  list_sessions(context, runs, problems, r.by_protocol[0], f);
}

}  // namespace lab
