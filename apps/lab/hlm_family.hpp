// SPDX-License-Identifier: Apache-2.0
//! Runs the systems of the HLM family on the same problems.
#ifndef SPECVERIFY_APPS_LAB_HLM_FAMILY_HPP
#define SPECVERIFY_APPS_LAB_HLM_FAMILY_HPP

#include <specverify/link/fading.hpp>
#include <specverify/link/latency.hpp>

#include "hlm_outcomes.hpp"

namespace lab {

//! Places of the systems in the study.
enum family_member : std::uint8_t { slm, hlm, rand_hlm, u_hlm, offline, online, sent_law, u_hlm_of_paper };

struct family_study {
  std::vector<hlm_system> systems;
  std::vector<hlm_outcome> outcomes;
  std::vector<double> alone;  //!< problems that the target solves alone
  double threshold = 0;       //!< chosen on tune
  estimate offline_size{};    //!< k*
  std::size_t tuning = 0;     //!< texts behind k*
  specverify::hlm_format ours{}, papers{};
  std::uint64_t seed = 0;

  [[nodiscard]] const hlm_outcome& of(family_member member) const { return outcomes[member]; }
  //! Returns the share of HLM's solved problems, paired by problem, as in Table I.
  [[nodiscard]] estimate of_hlm(family_member member) const {
    const estimate difference = paired_difference(of(member).solved, of(hlm).solved, seed);
    const double base = mean_of(of(hlm).solved);
    if (of(member).solved == of(hlm).solved && base > 0)  // no pair differs: the exact bound
      return {1, 1 + difference.low / base, 1 + difference.high / base};
    const std::vector<double> ones(alone.size(), 1.0);
    const estimate e = ratio_change(of(member).solved, ones, of(hlm).solved, ones, seed);
    return {1 + e.value, 1 + e.low, 1 + e.high};
  }
  //! Returns the bits of each upload as the paper counts them. A whole law costs as in the paper.
  [[nodiscard]] std::vector<double> upload_bits(family_member member) const {
    std::vector<double> bits;
    for (const hlm_text& text : of(member).texts) {
      for (const hlm_step& step : text.steps) {
        if (!step.sent) continue;
        bits.push_back(static_cast<double>(step.support_size == ours.vocab_size
                                               ? specverify::hlm_full_bits(papers)
                                               : specverify::hlm_compressed_bits(papers, step.support_size)));
      }
    }
    return bits;
  }
  //! Returns tokens per second over a Rayleigh link: the exact mean of the round's time.
  [[nodiscard]] double speed(family_member member, double decibel) const {
    specverify::fading_options link;
    link.mean_snr = specverify::from_decibel(decibel);
    const double per_bit = specverify::rayleigh_channel::make(link).value().mean_seconds_per_bit();
    return 1 / specverify::hlm_mean_round_time({}, of(member).upload_share(), mean_of(upload_bits(member)) * per_bit);
  }
};

[[nodiscard]] family_study measure_family(lab_context& context);

//! Returns whether two sessions write the texts that the figures write: Algorithm 1 with resynchronization.
[[nodiscard]] bool sessions_agree(lab_context& context, double threshold);

}  // namespace lab

#endif
