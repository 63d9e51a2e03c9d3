// SPDX-License-Identifier: Apache-2.0
#include <specverify/link/energy.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

using namespace specverify;

TEST_CASE("E25 energy of a round, term by term: the paper names no model") {
  constexpr power_options power{2, 3, 5, 7, 0.125};
  constexpr energy_times times{1, 10, 100, 1000};
  static_assert(round_energy(power, times, false) == 2.125);
  static_assert(round_energy(power, times, true) == 2.125 + 30 + 500 + 7000);
  static_assert(energy_saving(3, 4) == 0.25 && energy_saving(5, 4) == -0.25 && energy_saving(0, 4) == 1 &&
                energy_saving(1, 0) == 0);
}

TEST_CASE("E24 measuring a token costs nothing by default, else M softmaxes of the device, sent or not") {
  const round_times free_of_charge, charged = with_uncertainty(free_of_charge, 20, 0.5e-3);
  CHECK(charged.draft_time - free_of_charge.draft_time == doctest::Approx(0.01).epsilon(1e-12));
  CHECK(charged.verify_time == free_of_charge.verify_time);
  power_options power;
  CHECK(power.uncertainty_energy == 0);
  const energy_times without = round_energy_times(free_of_charge, 4600, 15, {}),
                     with = round_energy_times(charged, 4600, 15, {});
  for (const bool uploaded : {false, true}) {
    const double more = round_energy(power, with, uploaded) - round_energy(power, without, uploaded);
    CHECK(more == doctest::Approx(10 * 20 * 0.5e-3).epsilon(1e-9));  // 10 W
    power_options lump = power;
    lump.uncertainty_energy = 0.1;
    CHECK(round_energy(lump, without, uploaded) == doctest::Approx(round_energy(power, with, uploaded)).epsilon(1e-12));
  }
}

TEST_CASE("times of a round come from the link") {
  const channel_state link{1e3, 4e3, 0.5, 0.75, 0.05, 0};
  const energy_times times = round_energy_times({0.25, 0.5}, 100, 100, link);
  CHECK(times.draft == 0.25);
  CHECK(times.verify == 0.5);
  CHECK(std::fabs(times.uplink - 0.2) <= 1e-15);
  CHECK(std::fabs(times.downlink - 0.1) <= 1e-15);
}

TEST_CASE("powers out of range") {
  const double not_a_number = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000});
  CHECK(check(power_options{}).ok());
  CHECK(check(power_options{0, 0, 0, 0, 0}).ok());
  for (const double bad : {-1.0, not_a_number, std::bit_cast<double>(std::uint64_t{0x7FF0000000000000})}) {
    CHECK(check(power_options{bad, 0, 0, 0, 0}) == status{errc::invalid_gain, part::link, 0});
    CHECK(check(power_options{0, bad, 0, 0, 0}) == status{errc::invalid_gain, part::link, 1});
    CHECK(check(power_options{0, 0, bad, 0, 0}) == status{errc::invalid_gain, part::link, 2});
    CHECK(check(power_options{0, 0, 0, bad, 0}) == status{errc::invalid_gain, part::link, 3});
    CHECK(check(power_options{0, 0, 0, 0, bad}) == status{errc::invalid_gain, part::link, 4});
  }
}

TEST_CASE("more uploads, more bits, a slower link: never less energy") {
  const power_options power;
  const round_times times;
  const hlm_format format;
  const philox source{{{5, 1}}};
  fading_options options;
  options.mean_snr = 0.1;
  options.downlink_rate = 1e6;
  const rayleigh_channel channel = rayleigh_channel::make(options).value();
  // A fixed trace: a round uploads when its score is above a threshold; lower thresholds upload more.
  double before = -1;
  std::uint64_t uploads_before = 0;
  double reference = 0;
  for (int threshold = 20; threshold >= 0; --threshold) {
    energy_meter meter;
    for (std::uint32_t step = 0; step < 400; ++step) {
      const bool uploaded = static_cast<int>(step * 8 % 21) >= threshold;
      const energy_times spent = round_energy_times(times, static_cast<double>(hlm_compressed_bits(format, 30)), 15,
                                                    channel.state(source, step, {}));
      meter.add(round_energy(power, spent, uploaded), uploaded);
    }
    CHECK(meter.rounds == 400);
    CHECK(meter.uploads >= uploads_before);
    CHECK(meter.energy > before);
    before = meter.energy;
    uploads_before = meter.uploads;
    reference = meter.energy;
  }
  CHECK(uploads_before == 400);  // all uploaded: HLM
  CHECK(energy_saving(before, reference) == 0);
  double more = -1;
  for (const std::uint32_t support_size : {1u, 30u, 200u, 832u, 32000u}) {
    const double energy =
        round_energy(power,
                     round_energy_times(times, static_cast<double>(hlm_compressed_bits(format, support_size)), 15,
                                        channel.state(source, 3, {})),
                     true);
    CHECK(energy > more);
    more = energy;
  }
  more = -1;
  for (const double rate : {1e9, 1e7, 1e5}) {
    channel_state link;
    link.uplink_rate = rate;
    const double energy = round_energy(power, round_energy_times(times, 1e5, 15, link), true);
    CHECK(energy > more);
    more = energy;
    CHECK(round_energy(power, round_energy_times(times, 1e5, 15, link), false) == power.draft * times.draft_time);
  }
}
