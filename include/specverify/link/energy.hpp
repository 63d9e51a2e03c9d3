// SPDX-License-Identifier: Apache-2.0
//! Estimates the energy of a round in J, and the share that skipped uploads save.
//!
//! Paper:      Energy-Efficient Wireless LLM Inference via Uncertainty and Importance-Aware Speculative Decoding (arXiv
//!             2508.12590). The paper's model is not public, so this one is ours.
//! Method:     energy = draft power * draft time + energy of measuring the uncertainty. An upload adds transmit power *
//!             upload time + receive power * download time + verify power * verify time.
//! Guarantees: O(1), constexpr, no allocation, noexcept. The energy never falls if a time or a power grows.
//! Deviates:   waiting costs nothing. The default powers are ours.
//! See:        docs/algorithms/energy.md, tests/unit/link/energy_test.cpp
#ifndef SPECVERIFY_LINK_ENERGY_HPP
#define SPECVERIFY_LINK_ENERGY_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/link/latency.hpp>

#include <cstdint>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! Powers in W, each >= 0. For a battery device that does not pay for the server, set verify = 0.
struct power_options {
  double draft = 10;      //!< power of the device while it computes
  double transmit = 1.5;  //!< power of the device's radio while it sends
  double receive = 1;     //!< power of the device's radio while it receives
  double verify = 250;    //!< power of the server while it computes
  //! energy per round to measure the uncertainty, in J. 0 as in the paper, or if the times already include the
  //! measurement (`with_uncertainty`)
  double uncertainty_energy = 0;
};

//! Times of a round, in s.
struct energy_times {
  double draft = 0;
  double uplink = 0;
  double downlink = 0;
  double verify = 0;
};

//! Sum of the energy of rounds, in J, and the numbers of rounds and uploads.
struct energy_meter {
  double energy = 0;
  std::uint64_t rounds = 0, uploads = 0;

  SPECVERIFY_INLINE constexpr void add(double round_energy, bool uploaded) noexcept {
    energy += round_energy;
    rounds += 1;
    uploads += uploaded ? 1 : 0;
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Checks the powers. Errors (`where` = index of the field, from 0): invalid_gain.
[[nodiscard]] constexpr status check(const power_options& power) noexcept {
  const double fields[] = {power.draft, power.transmit, power.receive, power.verify, power.uncertainty_energy};
  for (std::uint32_t i = 0; i < 5; ++i) {
    if (!numeric::is_within(fields[i], detail::largest_gain)) return detail::link_error(errc::invalid_gain, i);
  }
  return {};
}

//! Returns the times of a round in the HLM family; `link` carries the upload and the response.
[[nodiscard]] constexpr energy_times round_energy_times(const round_times& times, double uplink_bits,
                                                        double downlink_bits, const channel_state& link) noexcept {
  return {times.draft_time, uplink_time(uplink_bits, link), downlink_time(downlink_bits, link), times.verify_time};
}

//! Returns E of a round. A skipped round costs only the energy of the device's computation and of the measurement.
[[nodiscard]] constexpr double round_energy(const power_options& power, const energy_times& times,
                                            bool uploaded) noexcept {
  const double alone = power.draft * times.draft + power.uncertainty_energy;
  return uploaded ? alone + power.transmit * times.uplink + power.receive * times.downlink + power.verify * times.verify
                  : alone;
}

//! Returns the share of energy that is saved, 1 - E / E_reference. It is negative if E is larger than the reference,
//! and 0 for a reference of 0.
[[nodiscard]] constexpr double energy_saving(double energy, double reference) noexcept {
  return reference > 0 ? 1 - energy / reference : 0;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
