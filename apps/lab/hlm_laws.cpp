// SPDX-License-Identifier: Apache-2.0
// Computes what compression does to the laws of uploaded tokens: probability and residual mass over the rank, bias
// against total variation, and the bounds of the total variation over the number of entries.
#include "hlm_figures.hpp"
#include "hlm_record.hpp"

#include <array>

namespace lab {
namespace {

constexpr std::array<std::uint32_t, 13> law_sizes{1, 2, 4, 8, 16, 30, 64, 128, 256, 512, 1024, 2048, 4000};

//! Sums over uploaded tokens at one number of entries k. Symbols as in sparsify/vocabulary_budget.hpp: p and q are the
//! residual laws without and with compression, U = N(k) / TV(x, y), and the third bound replaces TV(x, y) by what the
//! device knows.
struct size_sums {
  double tokens = 0, variation = 0, bias = 0, bound = 0, local_bound = 0;
  double above_bound = 0;     //!< tokens with TV(p, q) > U
  double above_local = 0;     //!< tokens with TV(p, q) above the device's bound
  double local_below = 0;     //!< tokens whose device's bound is below U, which it should bound
  double identity_error = 0;  //!< largest | bias - 2 TV(x, y) TV(p, q) |
  detail::moments pairs{};    //!< bias against TV(p, q)

  void add(const size_sums& s) {
    tokens += s.tokens, variation += s.variation, bias += s.bias, bound += s.bound, local_bound += s.local_bound;
    above_bound += s.above_bound, above_local += s.above_local, local_below += s.local_below;
    identity_error = std::max(identity_error, s.identity_error);
    pairs.add(s.pairs);
  }
};

struct law_sums {
  std::vector<double> by_rank;  //!< sum over all drafted tokens of the probability at each rank
  double drafted = 0, unbiased_error = 0;
  std::array<size_sums, law_sizes.size()> sizes{};

  void add(const law_sums& s) {
    by_rank.resize(std::max(by_rank.size(), s.by_rank.size()));
    for (std::size_t i = 0; i < s.by_rank.size(); ++i) by_rank[i] += s.by_rank[i];
    drafted += s.drafted;
    unbiased_error = std::max(unbiased_error, s.unbiased_error);
    for (std::size_t k = 0; k < sizes.size(); ++k) sizes[k].add(s.sizes[k]);
  }
};

//! Both laws of one token, in descending order of the drafter's.
struct ranked_laws {
  std::vector<double> x, y, p;
  double variation = 0;  //!< TV(x, y)
};

[[nodiscard]] ranked_laws ranked(const hlm_view& view) {
  const std::vector<double> x = law_of(view.drafter, hlm_temperature), y = law_of(view.target, hlm_temperature);
  std::vector<std::uint32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return x[a] > x[b]; });
  ranked_laws made;
  for (const std::uint32_t v : order) {
    made.x.push_back(x[v]);
    made.y.push_back(y[v]);
    made.p.push_back(std::max(0.0, y[v] - x[v]));
    made.variation += made.p.back();
  }
  for (double& v : made.p) v = made.variation > 0 ? v / made.variation : 0;
  return made;
}

//! Returns the largest difference between the law of HLM's token and y. HLM keeps a token with probability min(1, y /
//! x), and draws from p otherwise.
[[nodiscard]] double hlm_law_error(const ranked_laws& laws) {
  double worst = 0;
  for (std::size_t v = 0; v < laws.x.size(); ++v) {
    const double made = std::min(laws.x[v], laws.y[v]) + laws.variation * laws.p[v];
    worst = std::max(worst, std::fabs(made - laws.y[v]));
  }
  return worst;
}

//! Adds one uploaded token whose k largest entries are sent. `local` = the device's estimate of TV(x, y).
void add_size(size_sums& sums, const ranked_laws& laws, std::uint32_t k, double local) {
  const std::size_t vocab_size = laws.x.size();
  double rest = 0, distortion = 0, total = 0;
  for (std::size_t i = k; i < vocab_size; ++i) rest += laws.x[i];
  const double each = rest / static_cast<double>(vocab_size - k);
  const auto residual = [&](std::size_t i) { return std::max(0.0, laws.y[i] - (i < k ? laws.x[i] : each)); };
  for (std::size_t i = 0; i < vocab_size; ++i) total += residual(i);
  for (std::size_t i = k; i < vocab_size; ++i) distortion += std::fabs(laws.x[i] - each);
  double variation = 0, bias = 0;
  for (std::size_t i = 0; i < vocab_size; ++i) {
    const double q = total > 0 ? residual(i) / total : laws.p[i];
    variation += std::fabs(laws.p[i] - q) / 2;
    bias += std::fabs(std::min(laws.x[i], laws.y[i]) + laws.variation * q - laws.y[i]);
  }
  const double bound = distortion / laws.variation, local_bound = distortion / local;
  sums.tokens += 1;
  sums.variation += variation;
  sums.bias += bias;
  sums.bound += bound;
  sums.local_bound += local_bound;
  sums.above_bound += variation > bound + 1e-9 ? 1 : 0;
  sums.above_local += variation > local_bound + 1e-9 ? 1 : 0;
  sums.local_below += local_bound < bound - 1e-9 ? 1 : 0;
  sums.identity_error = std::max(sums.identity_error, std::fabs(bias - 2 * laws.variation * variation));
  sums.pairs.add(variation, bias);
}

[[nodiscard]] law_sums sums_of_text(lab_worker& worker, const std::vector<token_id>& prompt, std::uint32_t tokens,
                                    std::uint64_t seed, const specverify::uncertainty_gate& gate,
                                    const specverify::linear_fit& fit) {
  law_sums made;
  const auto observe = [&](const hlm_step& step, const hlm_view& view) {
    const ranked_laws laws = ranked(view);
    made.by_rank.resize(laws.x.size());
    for (std::size_t i = 0; i < laws.x.size(); ++i) made.by_rank[i] += laws.x[i];
    made.drafted += 1;
    made.unbiased_error = std::max(made.unbiased_error, hlm_law_error(laws));
    specverify::skip_observation seen;
    seen.samples = step.samples;
    seen.disagreements = step.disagreements;
    if (!gate.send(seen) || laws.variation < 1e-6) return;
    const double drafted = law_of(view.drafter, hlm_temperature)[static_cast<std::size_t>(step.drafted)],
                 rejected = specverify::expected_rejection(fit, step.uncertainty());
    const double local = specverify::online_budget(drafted, rejected, {.distortion = 1});
    for (std::size_t k = 0; k < law_sizes.size(); ++k) add_size(made.sizes[k], laws, law_sizes[k], local);
  };
  const hlm_system system{"HLM", specverify::u_hlm({-1.0})};
  (void)write_hlm_text(worker, prompt, system, hlm_temperature, tokens, seed, true, observe);
  return made;
}

struct law_study {
  std::vector<law_sums> texts;
  law_sums all;
  double threshold = 0;
  estimate correlation_of_means{}, correlation_of_tokens{};

  [[nodiscard]] double residual(std::uint32_t k) const {
    double rest = 0;
    for (std::size_t i = k; i < all.by_rank.size(); ++i) rest += all.by_rank[i];
    return rest / all.drafted;
  }
};

[[nodiscard]] law_study measure_laws(lab_context& context) {
  const hlm_study& record = hlm_study_of(context);
  const auto problems = context.problems("test", context.scaled<std::size_t>(110, 8));
  const auto openings = context.prose(context.scaled<std::size_t>(60, 4), 16);
  const std::uint64_t seed = context.seed("hlm_test");  // the texts of hlm_uncertainty
  law_study study;
  study.threshold = threshold_for(record.tune, 0.252);
  study.texts.resize(problems.size() + openings.size());
  context.for_each(study.texts.size(), [&](lab_worker& worker, std::size_t i) {
    const bool problem = i < problems.size();
    study.texts[i] =
        sums_of_text(worker, problem ? problems[i].prompt : openings[i - problems.size()],
                     problem ? hlm_problem_tokens : hlm_prose_tokens, seed + i, {study.threshold}, record.fit);
  });
  for (const law_sums& text : study.texts) study.all.add(text);
  const auto over_texts = [&](const auto& of) {
    return bootstrap(study.texts.size(), context.seed("hlm_laws"), of, 400);
  };
  study.correlation_of_means = over_texts([&](std::span<const std::size_t> places) {
    std::vector<double> bias, variation;
    for (std::size_t k = 0; k < law_sizes.size(); ++k) {
      size_sums sums;
      for (const std::size_t t : places) sums.add(study.texts[t].sizes[k]);
      bias.push_back(sums.bias / std::max(1.0, sums.tokens));
      variation.push_back(sums.variation / std::max(1.0, sums.tokens));
    }
    return correlation(bias, variation);
  });
  study.correlation_of_tokens = over_texts([&](std::span<const std::size_t> places) {
    detail::moments pairs;
    for (const std::size_t t : places) {
      for (const size_sums& sums : study.texts[t].sizes) pairs.add(sums.pairs);
    }
    return pairs.correlation();
  });
  return study;
}

void draw_laws(figure& f, const law_study& study) {
  panel& ranks = f.add_panel("Probability over the rank", "rank", "mean probability");
  panel& residuals = f.add_panel("Residual mass", "entries k", "mean mass of all other tokens");
  panel& biases = f.add_panel("Bias against total variation", "TV(p, q)", "bias");
  panel& bounds = f.add_panel("Total variation and its bounds", "entries k", "mean");
  ranks.log_x = ranks.log_y = residuals.log_x = residuals.log_y = bounds.log_x = bounds.log_y = true;
  curve &rank = ranks.add("drafter"), &residual = residuals.add("drafter"), &bias = biases.add("mean at one k"),
        &variation = bounds.add("TV(p, q)"), &bound = bounds.add("U"), &local = bounds.add("the device's bound of U");
  for (std::uint32_t r = 1; r <= study.all.by_rank.size(); r *= 2)
    rank.add(r, study.all.by_rank[r - 1] / study.all.drafted);
  bias.points = true;
  table& t = f.add_table("By the number of entries, uploaded tokens",
                         {"k", "residual mass, all tokens", "TV(p, q)", "bias", "U", "the device's bound", "TV above U",
                          "TV above the device's bound", "the device's bound below U"});
  for (std::size_t k = 0; k < law_sizes.size(); ++k) {
    const size_sums& s = study.all.sizes[k];
    const double n = std::max(1.0, s.tokens);
    residual.add(law_sizes[k], study.residual(law_sizes[k]));
    bias.add(s.variation / n, s.bias / n);
    variation.add(law_sizes[k], s.variation / n);
    bound.add(law_sizes[k], s.bound / n);
    local.add(law_sizes[k], s.local_bound / n);
    t.rows.push_back({std::to_string(law_sizes[k]), number(study.residual(law_sizes[k]), 3), number(s.variation / n, 3),
                      number(s.bias / n, 3), number(s.bound / n, 3), number(s.local_bound / n, 3),
                      number(100 * s.above_bound / n, 3) + " %", number(100 * s.above_local / n, 3) + " %",
                      number(100 * s.local_below / n, 3) + " %"});
  }
}

void say_laws(figure& f, const law_study& study) {
  size_sums all;
  bool bounded = true, under_local = true;
  for (const size_sums& s : study.all.sizes) {
    all.add(s);
    bounded = bounded && s.above_bound <= 0;
    under_local = under_local && s.variation <= s.local_bound;
  }
  const auto share = [&](double count) { return number(100 * count / std::max(1.0, all.tokens), 3) + " %"; };
  const double uploaded = study.all.sizes[0].tokens;
  f.about = number(study.all.drafted, 7) + " drafted tokens of " + std::to_string(study.texts.size()) +
            " texts. Compression is shown for the " + number(uploaded, 7) + " tokens with u above " +
            number(study.threshold) +
            ". p and q are the laws from which a rejected token is drawn anew, without and with compression; bias is "
            "(17) of the paper, in [0, 2]; U = N(k) / TV(x, y). The device's bound uses x_d, the fitted rejection "
            "probability, and the sharpness 2, because the paper gives none.";
  const double of_4 = 1 - study.residual(4);
  f.answer("hlm.rank", met_if(of_4 >= 0.5),
           "the most probable token has " + number(100 * study.all.by_rank[0] / study.all.drafted, 3) +
               " % on average, the 4 most probable " + number(100 * of_4, 3) + " %, the 30 most probable " +
               number(100 * (1 - study.residual(30)), 3) + " %",
           "met if 0.1 % of the " + std::to_string(study.all.by_rank.size()) +
               " tokens have at least half of the mass; the paper has a drawing alone");
  f.answer("hlm.bias", study.correlation_of_means,
           detail::interval_text(study.correlation_of_means) + " of means over k, " +
               detail::interval_text(study.correlation_of_tokens) + " of tokens",
           "bias = 2 TV(x, y) TV(p, q) exactly, so the correlation measures only how much TV(x, y) varies; the paper "
           "does not specify what it averages over");
  f.answer("hlm.variation", met_if(bounded && under_local),
           "TV(p, q) is above U for " + share(all.above_bound) +
               " of tokens and sizes, and above the device's bound for " + share(all.above_local),
           "U is " + number(all.bound / all.variation, 3) + " times TV(p, q) on average, the device's bound " +
               number(all.local_bound / all.variation, 3) + " times");
  f.answer("hlm.proposition1", met_if(bounded), "TV(p, q) is above U for " + share(all.above_bound),
           "proved in the paper; " + number(all.tokens, 7) + " pairs of a token and a size");
  f.answer("hlm.proposition2", all.local_below > 0 ? finding::shown_false : finding::met,
           "the device's bound is below U for " + share(all.local_below) + " of tokens and sizes",
           "the proof bounds an approximation of U: the softplus is above max(0, z), so its denominator is too large "
           "(erratum E18)");
  f.answer("hlm.unbiased", met_if(study.all.unbiased_error < 1e-12),
           "the law of HLM's token differs from the target's by at most " + number(study.all.unbiased_error, 1),
           "computed from both laws of " + number(study.all.drafted, 7) + " tokens, in double");
  f.require("bias is 2 TV(x, y) TV(p, q)", all.identity_error < 1e-9, number(all.identity_error, 1));
  f.require("U is never below the total variation that it bounds", bounded);
  f.require("the law of HLM's token is the target's", study.all.unbiased_error < 1e-12);
}

}  // namespace

void run_hlm_laws(lab_context& context, figure& f) {
  const law_study study = measure_laws(context);
  draw_laws(f, study);
  say_laws(f, study);
}

}  // namespace lab
