// SPDX-License-Identifier: Apache-2.0
// Computes accuracy and payload over the number of entries sent. In the paper's order the token is drawn before
// compression; in the lossless order it is drawn from the sent distribution.
#include "hlm_figures.hpp"
#include "hlm_outcomes.hpp"

#include <array>

namespace lab {
namespace {

constexpr std::size_t paper_order = 0, lossless_order = 1;

//! Outcomes of both orders for each number of entries, and of the full law.
struct entry_study {
  std::vector<std::uint32_t> sizes;
  std::vector<hlm_outcome> outcomes;  //!< [order * sizes + size], then the full law
  //! problems lost with k entries relative to the full law, paired by problem
  std::array<std::vector<estimate>, 2> lost{};
  specverify::hlm_format format{};
  std::uint64_t seed = 0;

  [[nodiscard]] const hlm_outcome& full() const { return outcomes.back(); }
  [[nodiscard]] const hlm_outcome& at(std::size_t order, std::size_t size) const {
    return size == sizes.size() ? full() : outcomes[order * sizes.size() + size];
  }
  //! Returns the smallest k from which on every size is equivalent to the full law.
  [[nodiscard]] std::string sufficient(std::size_t order) const {
    std::size_t from = sizes.size();
    while (from > 0 && against(reversed(lost[order][from - 1])) == "equivalent") --from;
    return from == sizes.size() ? std::string("no k tried") : "k >= " + std::to_string(sizes[from]);
  }
};

[[nodiscard]] entry_study measure_entries(lab_context& context) {
  entry_study study;
  study.sizes =
      context.quick() ? std::vector<std::uint32_t>{1, 16, 256} : std::vector<std::uint32_t>{1, 2, 4, 16, 64, 256, 1024};
  study.seed = context.seed("hlm_size");
  study.format.vocab_size = static_cast<std::uint32_t>(context.pair().drafter->vocab);
  std::vector<hlm_system> systems;
  for (const bool lossless : {false, true}) {
    for (const std::uint32_t k : study.sizes)
      systems.push_back({"", all_sent(lossless ? drawn_from_sent({k}) : specverify::cu_hlm({k}))});
  }
  systems.push_back({"full law", hlm_of_paper()});
  const auto problems = context.problems("test", context.scaled<std::size_t>(240, 12));
  study.outcomes = run_hlm_systems(context, systems, problems, study.seed);
  for (const std::size_t order : {paper_order, lossless_order}) {
    for (std::size_t i = 0; i < study.sizes.size(); ++i)
      study.lost[order].push_back(paired_difference(study.full().solved, study.at(order, i).solved, study.seed));
  }
  return study;
}

void draw_entries(figure& f, const entry_study& study) {
  panel& accuracy = f.add_panel("Accuracy", "entries k", "problems solved");
  panel& acceptance = f.add_panel("Rejections", "entries k", "share of uploads");
  panel& payload = f.add_panel("Payload", "entries k", "bits a token");
  accuracy.log_x = acceptance.log_x = payload.log_x = payload.log_y = true;
  table& t = f.add_table("By the number of entries", {"order", "k", "solved [95 %]", "rejected", "bits, paper",
                                                      "bits, with everything a receiver needs"});
  for (const std::size_t order : {paper_order, lossless_order}) {
    const std::string label =
        order == lossless_order ? "drawn from the law that is sent" : "drawn from the whole law (paper)";
    curve &a = accuracy.add(label), &b = acceptance.add(label), &c = payload.add(label);
    for (std::size_t i = 0; i <= study.sizes.size(); ++i) {
      const hlm_outcome& one = study.at(order, i);
      const std::uint32_t k = i == study.sizes.size() ? study.format.vocab_size : study.sizes[i];
      const estimate solved = mean_estimate(one.solved, study.seed);
      const double paper_bits = one.bits(study.format, specverify::bit_accounting::paper, false),
                   wire_bits = one.bits(study.format, specverify::bit_accounting::wire, false);
      a.add(k, solved.value, solved.low, solved.high);
      b.add(k, one.reject_rate());
      c.add(k, paper_bits);
      t.rows.push_back({label, std::to_string(k), detail::interval_text(solved), number(one.reject_rate(), 3),
                        number(paper_bits), number(wire_bits)});
    }
  }
  table& losses = f.add_table("Problems lost compared with the full law, paired [95 %]",
                              {"k", "drawn from the whole law (paper)", "", "drawn from the law that is sent", ""});
  for (std::size_t i = 0; i < study.sizes.size(); ++i) {
    const estimate &paper = study.lost[paper_order][i], &lossless = study.lost[lossless_order][i];
    losses.rows.push_back({std::to_string(study.sizes[i]), detail::interval_text(paper), against(reversed(paper)),
                           detail::interval_text(lossless), against(reversed(lossless))});
  }
}

void say_entries(figure& f, const entry_study& study) {
  f.about =
      "Every token is sent, with the k largest entries of its law; the rest of the mass is uniform on all "
      "other tokens. In the paper's order the token is drawn from the whole law, and only a rejection uses the "
      "compressed law (lossy). If the token is drawn from the compressed law, the text follows the target's "
      "distribution at any k. Equivalent: the interval of the difference is within 3 points of the problems.";
  const double full_rejects = study.full().reject_rate(), least_rejects = study.at(lossless_order, 0).reject_rate();
  const estimate& at_one = study.lost[paper_order][0];
  f.answer("hlm.size", at_one.low > 0 ? finding::met : finding::in_sign,
           "the payload is k entries; at k = 1 " + detail::interval_text(at_one) + " fewer problems (" +
               against(reversed(at_one)) + "); " + study.sufficient(paper_order) + " of " +
               std::to_string(study.format.vocab_size) + " is equivalent to the full law (" +
               std::to_string(study.full().solved.size()) + " problems)",
           "only rejected tokens, " + number(100 * full_rejects, 3) +
               " % of the uploads here, are drawn by the compressed law, so this task cannot show more growth; k* is a "
               "bound on the law, not on a task");
  f.compare("price of the lossless order", "-",
            "rejected of uploads at k = 1: " + number(least_rejects, 3) + " against " + number(full_rejects, 3) +
                " with the full law; problems: " + study.sufficient(lossless_order) + " is equivalent",
            "a draft drawn from the sent law is as far from the target as that law: it costs rejections, but not "
            "quality");
}

void check_entries(lab_context& context, figure& f, const entry_study& study) {
  f.require("in the lossless order rejections fall with k to those of the full law, within 2 points", [&] {
    double before = 1;
    for (std::size_t i = 0; i <= study.sizes.size(); ++i) {
      const double now = study.at(lossless_order, i).reject_rate();
      if (now > before + context.scaled(0.02, 0.08)) return false;
      before = now;
    }
    return true;
  }());
  f.require("in the paper's order no k loses more than 10 points of problems (--quick: 40)", [&] {
    for (const estimate& e : study.lost[paper_order]) {
      if (e.value > context.scaled(0.1, 0.4)) return false;
    }
    return true;
  }());
  const estimate& gap = study.lost[lossless_order].back();
  f.require(
      "drawn from " + std::to_string(study.sizes.back()) + " entries as many problems are solved as with the full law",
      detail::about_zero(gap), detail::interval_text(gap));
}

}  // namespace

void run_hlm_size(lab_context& context, figure& f) {
  const entry_study study = measure_entries(context);
  draw_entries(f, study);
  say_entries(f, study);
  check_entries(context, f, study);
}

}  // namespace lab
