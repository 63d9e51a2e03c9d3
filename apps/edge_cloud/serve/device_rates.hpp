// SPDX-License-Identifier: Apache-2.0
//! Counts the load that each device causes per second: handshakes, and bytes written to the disk.
#ifndef EDGE_CLOUD_SERVE_DEVICE_RATES_HPP
#define EDGE_CLOUD_SERVE_DEVICE_RATES_HPP

#include "serve_limits.hpp"

#include <unordered_map>

namespace edge_cloud {

class device_rates {
 public:
  explicit device_rates(const serve_limits& limits) : limits_(limits) {}

  //! Counts a new connection or a hello of a device. Returns none, or the limit that the device exceeds. Times are in
  //! microseconds.
  [[nodiscard]] refusal handshake(std::uint64_t device, std::uint64_t now) {
    counts& found = of(device, now);
    return exceeds(refusal::handshakes_of_device, ++found.handshakes, limits_.handshakes_of_device)
               ? refusal::handshakes_of_device
               : refusal::none;
  }
  void wrote(std::uint64_t device, std::uint64_t bytes, std::uint64_t now) { of(device, now).written += bytes; }
  //! Returns none, or the limit that the device has reached. In this case, messages of the device are refused until the
  //! next second.
  [[nodiscard]] refusal message(std::uint64_t device, std::uint64_t now) {
    return exceeds(refusal::written_of_device, of(device, now).written, limits_.written_of_device)
               ? refusal::written_of_device
               : refusal::none;
  }
  //! Deletes counts that are older than a second.
  void sweep(std::uint64_t now) {
    std::erase_if(devices_, [now](const auto& each) { return each.second.second != now / 1'000'000; });
  }

 private:
  struct counts {
    std::uint64_t second = 0, handshakes = 0, written = 0;
  };
  [[nodiscard]] counts& of(std::uint64_t device, std::uint64_t now) {
    counts& found = devices_[device];
    if (found.second != now / 1'000'000) found = {now / 1'000'000, 0, 0};
    return found;
  }

  const serve_limits& limits_;
  std::unordered_map<std::uint64_t, counts> devices_;
};

}  // namespace edge_cloud

#endif
