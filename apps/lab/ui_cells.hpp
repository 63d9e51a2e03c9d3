// SPDX-License-Identifier: Apache-2.0
//! Runs the cells of the k x gamma grid, uncertainty alone and a coin on the same problems, and computes the energy.
#ifndef SPECVERIFY_APPS_LAB_UI_CELLS_HPP
#define SPECVERIFY_APPS_LAB_UI_CELLS_HPP

#include <specverify/link/energy.hpp>
#include <specverify/link/fading.hpp>
#include <specverify/link/payload.hpp>

#include "hlm_outcomes.hpp"
#include "ui_figures.hpp"

namespace lab {

//! Results of one system. Savings are shares of HLM's energy.
struct ui_point {
  std::string label;
  estimate solved{}, share{}, reject{}, saved{};
  double device_saved = 0;
  bool inverted = false;
  std::uint32_t k = 0;  //!< 0: not a cell of the grid
  double gamma = 0;
  estimate over_alone{}, over_coin{};  //!< problems more than uncertainty alone, and than a coin, at equal uploads
};

struct cell_study {
  std::vector<hlm_system> systems;
  std::vector<hlm_outcome> outcomes;
  std::vector<ui_point> points;
  std::vector<std::size_t> gates, coins;  //!< members of the two families; HLM and SLM belong to both
  std::vector<std::uint32_t> ks;
  std::vector<double> gammas;
  std::size_t alone = 0, at_default = 0;  //!< u_th = 0.2 and 0.8
  std::uint64_t seed = 0;

  [[nodiscard]] const ui_point& cell(std::uint32_t k, double gamma, bool inverted = false) const {
    for (const ui_point& p : points) {
      if (p.k == k && p.inverted == inverted && std::fabs(p.gamma - gamma) < 1e-9) return p;
    }
    throw std::logic_error("no such cell");
  }
  [[nodiscard]] std::vector<const hlm_outcome*> family(const std::vector<std::size_t>& members) const {
    std::vector<const hlm_outcome*> made;
    for (const std::size_t s : members) made.push_back(&outcomes[s]);
    return made;
  }
  //! Returns the problems that `p` solves more than uncertainty alone at u_th = 0.2, which uploads more.
  [[nodiscard]] estimate over_all_uncertain(const ui_point& p) const {
    return paired_difference(outcomes[static_cast<std::size_t>(&p - points.data())].solved, outcomes[alone].solved,
                             seed, 400);
  }
};

//! Energy of a round over a Rayleigh link at 10 dB, in J. Every upload is a full law, counted as in the paper.
struct round_energies {
  double skipped = 0, uploaded = 0;
  [[nodiscard]] double saved(double upload_share) const {
    return 1 - ((1 - upload_share) * skipped + upload_share * uploaded) / uploaded;
  }
};
[[nodiscard]] inline double ui_upload_time() {
  specverify::fading_options link;
  link.mean_snr = specverify::from_decibel(10);
  return static_cast<double>(specverify::hlm_full_bits({})) *
         specverify::rayleigh_channel::make(link).value().mean_seconds_per_bit();
}
[[nodiscard]] inline round_energies energies_at(const specverify::power_options& power) {
  const specverify::round_times compute;
  const specverify::energy_times times{compute.draft_time, ui_upload_time(), 0, compute.verify_time};
  return {specverify::round_energy(power, times, false), specverify::round_energy(power, times, true)};
}
[[nodiscard]] inline round_energies energies_with_server(double watts) {
  specverify::power_options power;
  power.verify = watts;
  return energies_at(power);
}

[[nodiscard]] cell_study measure_cells(lab_context& context);

}  // namespace lab

#endif
