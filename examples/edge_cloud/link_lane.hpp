// SPDX-License-Identifier: Apache-2.0
//! One direction of the link as arithmetic on time: when does a frame that is handed over now arrive, if it does?
//! No sleeping and no sockets: a clock says until when the link is busy, so the rate is exact however late a timer fires.
#ifndef EDGE_CLOUD_LINK_LANE_HPP
#define EDGE_CLOUD_LINK_LANE_HPP

#include <specverify/core/random.hpp>

#include "link_settings.hpp"

#include <algorithm>
#include <chrono>

namespace edge_cloud {

using time_point = std::chrono::steady_clock::time_point;

struct passage {
  bool lost = false;
  time_point arrival{};  //!< of the last bit
};

class link_lane {
 public:
  //! `number` tells the lanes of a link apart: they share a seed, not their chance.
  link_lane(lane_settings settings, std::uint64_t seed, std::uint32_t number)
      : settings_(settings), chance_{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}}, number_(number) {}

  [[nodiscard]] passage send(time_point now, std::uint64_t bytes) {
    const auto block = chance_({static_cast<std::uint32_t>(counters_.frames), 0, number_, specverify::purpose::channel});
    const bool lost = specverify::decision_uniform(block, 0) < settings_.loss;
    const double jitter_ms = specverify::decision_uniform(block, 1) * settings_.jitter_ms;

    free_at_ = std::max(free_at_, now) + seconds(static_cast<double>(bytes) * 8 / settings_.bits_per_second);
    last_arrival_ = std::max(last_arrival_, free_at_ + seconds((settings_.delay_ms + jitter_ms) * 1e-3));
    counters_.frames += 1;
    counters_.bytes += bytes;
    counters_.lost += lost ? 1 : 0;
    return {lost, last_arrival_};
  }

  [[nodiscard]] const lane_counters& counters() const noexcept { return counters_; }

 private:
  static time_point::duration seconds(double value) { return std::chrono::duration_cast<time_point::duration>(std::chrono::duration<double>(value)); }

  lane_settings settings_;
  specverify::philox chance_;
  std::uint32_t number_;
  time_point free_at_{};
  time_point last_arrival_{};
  lane_counters counters_;
};

}  // namespace edge_cloud

#endif
