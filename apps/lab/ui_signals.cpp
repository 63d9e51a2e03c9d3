// SPDX-License-Identifier: Apache-2.0
// Measures what importance adds to uncertainty: the correlation, how well each predicts a rejection, and whether
// important tokens are those on which the answer depends.
#include "ui_figures.hpp"
#include "ui_moments.hpp"

#include <array>

namespace lab {
namespace {

constexpr double orthogonal_within = 0.1;  //!< stated before: a correlation inside it is called orthogonal

//! Tokens of all texts, with the signals.
struct signal_tokens {
  hlm_record record;                            //!< text, uncertainty, rejection
  std::vector<double> weight3, weight11;        //!< k-th largest attention weight
  std::vector<double> sharpness3, sharpness11;  //!< `sharpness_of`
  std::vector<bool> digit;                      //!< whether the text's token holds a digit
  //! whether the target's log-probability of the answer falls by at least ln 2 if the token is replaced
  std::vector<bool> meaning;
  std::vector<std::size_t> replaced;  //!< tokens for which `meaning` is known, in order
  double mean_drop = 0;
};

[[nodiscard]] double kth_weight(std::vector<float> weights, std::size_t k) {
  if (weights.size() < k) return 0;
  std::sort(weights.begin(), weights.end(), std::greater<>());
  return static_cast<double>(weights[k - 1]);
}

//! Returns the place of the first token of the answer, after the last '#', or the length of the text.
[[nodiscard]] std::size_t answer_of(const tinylm::tokenizer& vocabulary, std::span<const token_id> tokens) {
  for (std::size_t i = tokens.size(); i > 0; --i) {
    if (vocabulary.decode(tokens.subspan(i - 1, 1)).find('#') != std::string::npos) return i;
  }
  return tokens.size();
}

//! Returns the log-probability of ids[from, ...) after what the model has read before ids[0].
[[nodiscard]] double log_likelihood(live_model& model, std::span<const token_id> ids, std::size_t from) {
  const auto rows = static_cast<std::uint32_t>(ids.size() - from);
  model.feed(ids.first(ids.size() - 1), rows);
  double sum = 0;
  for (std::uint32_t i = 0; i < rows; ++i)
    sum += std::log(std::max(1e-12, law_of(model.logits(i), 1)[static_cast<std::size_t>(ids[from + i])]));
  return sum;
}

//! Returns, for each token before the answer, how much the answer's log-probability falls if the drafter's most
//! probable other token stands there.
[[nodiscard]] std::vector<double> drops_of(lab_context& context, std::span<const token_id> prompt,
                                           const ui_text& text) {
  std::vector<token_id> ids(prompt.begin(), prompt.end()), tokens;
  for (const ui_moment& m : text) {
    if (m.committed != tinylm::tokenizer::end_token) tokens.push_back(m.committed);
  }
  const std::size_t answer = answer_of(context.vocabulary(), tokens), begin = prompt.size();
  if (answer == 0 || answer >= tokens.size()) return {};
  ids.insert(ids.end(), tokens.begin(), tokens.end());
  live_model drafter(context.pair().drafter), target(context.pair().target);
  drafter.feed(std::span(ids).first(begin + answer - 1), static_cast<std::uint32_t>(answer));
  std::vector<double> drops(answer);
  target.feed(std::span(ids).first(begin - 1), 0);
  const double whole = log_likelihood(target, std::span(ids).subspan(begin - 1), answer + 1);
  for (std::size_t t = 0; t < answer; ++t) {
    const std::span<const float> row = drafter.logits(static_cast<std::uint32_t>(t));
    std::vector<float> other(row.begin(), row.end());
    other[static_cast<std::size_t>(tokens[t])] = -1e30f;
    std::vector<token_id> changed(ids.begin() + static_cast<std::ptrdiff_t>(begin + t), ids.end());
    changed[0] = static_cast<token_id>(std::max_element(other.begin(), other.end()) - other.begin());
    target.rollback(static_cast<std::uint32_t>(begin + t));
    drops[t] = whole - log_likelihood(target, changed, answer - t);
    target.rollback(static_cast<std::uint32_t>(begin + t));
    target.feed(std::span(ids).subspan(begin + t, 1), 0);
  }
  return drops;
}

[[nodiscard]] signal_tokens measure_signals(lab_context& context) {
  const auto problems = context.problems("test", context.scaled<std::size_t>(80, 8));
  const std::vector<ui_text> texts = record_ui(context, problems, context.seed("ui_trace"));  // the texts of ui_trace
  const std::size_t replacing = context.scaled<std::size_t>(40, 4);
  std::vector<std::vector<double>> drops(texts.size());
  context.for_each(std::min(replacing, texts.size()),
                   [&](lab_worker&, std::size_t i) { drops[i] = drops_of(context, problems[i].prompt, texts[i]); });
  signal_tokens made;
  made.record.texts = static_cast<std::uint32_t>(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t t = 0; t < texts[i].size(); ++t) {
      const ui_moment& m = texts[i][t];
      made.record.text.push_back(static_cast<std::uint32_t>(i));
      made.record.uncertainty.push_back(m.uncertainty());
      made.record.rejection.push_back(m.rejection);
      made.record.rejected.push_back(!m.accepted);
      made.weight3.push_back(kth_weight(m.attention, 3));
      made.weight11.push_back(kth_weight(m.attention, 11));
      made.sharpness3.push_back(sharpness_of(m.attention, 3));
      made.sharpness11.push_back(sharpness_of(m.attention, 11));
      const token_id committed[] = {m.committed};
      made.digit.push_back(context.vocabulary().decode(committed).find_first_of("0123456789") != std::string::npos);
      if (t < drops[i].size()) {
        made.replaced.push_back(made.record.size() - 1);
        made.mean_drop += drops[i][t];
      }
      made.meaning.push_back(t < drops[i].size() && drops[i][t] >= std::log(2.0));
    }
  }
  made.mean_drop /= std::max<double>(1, static_cast<double>(made.replaced.size()));
  return made;
}

//! Returns the AUC over some tokens, with an interval over texts.
[[nodiscard]] estimate auc_over_texts(const hlm_record& r, std::span<const double> score,
                                      const std::vector<bool>& positive, std::span<const std::size_t> tokens,
                                      std::uint64_t seed) {
  std::vector<std::vector<std::size_t>> of_text(r.texts);
  for (const std::size_t i : tokens) of_text[r.text[i]].push_back(i);
  return bootstrap(
      r.texts, seed,
      [&](std::span<const std::size_t> places) {
        std::vector<double> scores;
        std::vector<bool> hits;
        for (const std::size_t t : places) {
          for (const std::size_t i : of_text[t]) scores.push_back(score[i]), hits.push_back(positive[i]);
        }
        return area_under_curve(scores, hits);
      },
      200);
}

void draw_signals(figure& f, const signal_tokens& tokens) {
  const auto draw = [&](const std::string& heading, const std::string& axis, std::span<const double> of) {
    panel& p = f.add_panel(heading, "sharpness of the attention row, k = 3", axis);
    const detail::binned bins = detail::quantile_bins(tokens.sharpness3, of);
    curve& c = p.add("mean of tokens");
    c.points = true;
    for (std::size_t i = 0; i < bins.x.size(); ++i) c.add(bins.x[i], bins.y[i], bins.low[i], bins.high[i]);
  };
  draw("Uncertainty against importance", "u", tokens.record.uncertainty);
  draw("Rejection against importance", "rejection probability", tokens.record.rejection);
}

void say_signals(figure& f, const signal_tokens& tokens, std::uint64_t seed) {
  const hlm_record& r = tokens.record;
  std::vector<std::size_t> all(r.size()), uncertain;
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t i = 0; i < r.size(); ++i) {
    if (r.uncertainty[i] > ui_threshold) uncertain.push_back(i);
  }
  table& t = f.add_table("What the signals say of a token [95 %]",
                         {"signal", "correlation with u", "AUC of rejections", "the same, u > 0.2", "AUC of digits",
                          "AUC of tokens that matter"});
  const std::pair<const char*, std::span<const double>> signals[] = {{"uncertainty u", r.uncertainty},
                                                                     {"3rd largest weight", tokens.weight3},
                                                                     {"11th largest weight", tokens.weight11},
                                                                     {"sharpness, k = 3", tokens.sharpness3},
                                                                     {"sharpness, k = 11", tokens.sharpness11}};
  estimate weight, sharp_meaning, sharp_uncertain;
  for (const auto& [label, values] : signals) {
    const std::span<const double> score = values;
    const estimate with_u = detail::correlation_over_texts(r, score, r.uncertainty, seed);
    const auto auc = [&](const std::vector<bool>& positive, std::span<const std::size_t> of) {
      return auc_over_texts(r, score, positive, of, seed);
    };
    const estimate among = auc(r.rejected, uncertain), meaning = auc(tokens.meaning, tokens.replaced);
    if (score.data() == tokens.weight3.data()) weight = with_u;
    if (score.data() == tokens.sharpness3.data()) sharp_meaning = meaning, sharp_uncertain = among;
    t.rows.push_back({label, detail::interval_text(with_u), detail::interval_text(auc(r.rejected, all)),
                      detail::interval_text(among), detail::interval_text(auc(tokens.digit, all)),
                      detail::interval_text(meaning)});
  }
  f.about =
      std::to_string(r.size()) + " tokens of " + std::to_string(r.texts) +
      " problems that the target verified. Sharpness: by how many standard deviations the k-th largest weight is "
      "below the largest; the rule as written passes rows whose sharpness is below gamma, the paper's words pass "
      "sharp ones. A token matters if the target's probability of the answer is at least halved when the drafter's "
      "most probable other token stands in its place (" +
      std::to_string(tokens.replaced.size()) + " tokens; mean loss " + number(tokens.mean_drop, 3) + " nats).";
  const bool inside = weight.low >= -orthogonal_within && weight.high <= orthogonal_within;
  f.answer("ui.orthogonal", weight,
           "correlation of u with the 3rd largest weight " + detail::interval_text(weight) +
               (inside ? ", within 0.1" : ", not within 0.1"),
           "sharper rows go with rejections among uncertain tokens by an AUC of " +
               detail::interval_text(sharp_uncertain) + " (0.5: no information)");
  f.answer("ui.meaning", met_if(sharp_meaning.low > 0.5),
           "sharp rows find tokens that matter with an AUC of " + detail::interval_text(sharp_meaning),
           sharp_meaning.low > 0.5 ? "so the words of the paper hold for the complement of its formula"
           : sharp_meaning.high < 0.5
               ? "so flat rows mark the tokens that matter, as the formula has it, and the words "
                 "of the paper do not hold"
               : "so neither the formula nor the words are shown");
}

}  // namespace

void run_ui_signals(lab_context& context, figure& f) {
  const signal_tokens tokens = measure_signals(context);
  draw_signals(f, tokens);
  say_signals(f, tokens, context.seed("ui_signals"));
  const double digits = static_cast<double>(std::count(tokens.digit.begin(), tokens.digit.end(), true));
  f.require("some tokens hold digits, some do not", digits > 0 && digits < static_cast<double>(tokens.record.size()),
            number(digits));
  f.require("replacing a token lowers the probability of the answer on average", tokens.mean_drop > 0,
            number(tokens.mean_drop, 3));
}

}  // namespace lab
