// SPDX-License-Identifier: Apache-2.0
// Round times on a link: full and selective upload of hidden vectors, and the throughput of a hybrid model.
#include <specverify/link/latency.hpp>

int main() {
  using namespace specverify;
  channel_state link;
  link.uplink_rate = link.downlink_rate = 20e6;
  link.round_trip = 0.005;
  const wisv_format format;
  const std::uint32_t length = 16, mismatches = 2;
  const double full = wisv_full_exchange_time(format, length, link);
  const double selective = wisv_selective_exchange_time(format, length, mismatches, link);
  // 14 vectors saved against a break-even of about 3: the second exchange pays.
  const bool pays = length - mismatches > second_exchange_break_even(format, link);
  if (pays != (selective < full)) return 1;
  const round_times times;  // 25.6 ms per draft, 104.6 ms per verification
  throughput_meter meter;
  for (int round = 0; round < 4; ++round)
    meter.add(1, round == 0 ? hlm_upload_time(times, 736000, link) : times.draft_time);
  if (!(meter.value() < meter.value(throughput_estimator::mean_of_rounds))) return 2;
  const compute_engine server{150e12, 0.5, 696e9, 0};  // reading the weights alone takes more than 20 ms
  return compute_time(token_flops(llama_3_1_8b, 200), server, weight_bytes(llama_3_1_8b)) > 0.02 ? 0 : 3;
}
