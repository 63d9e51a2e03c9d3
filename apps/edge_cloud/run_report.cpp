// SPDX-License-Identifier: Apache-2.0
#include "run_report.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace edge_cloud {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(run_report, system, tokens, text, arrival, rounds, drafted, evaluated, accepted,
                                   resolution_sum, support_sum, bytes_up, bytes_down, edge_passes, cloud_passes,
                                   edge_compute, cloud_compute, residual_tokens, skipped, skipped_uncertain,
                                   written_ahead, mismatches, accepted_mismatches, draft_bytes, supply_bytes, texts,
                                   texts_with_states, resumes, scored_rounds)

void save(const run_report& report, const std::filesystem::path& file) {
  // A text can end inside a UTF-8 character. The bytes of such a character are replaced here, but the tokens stay
  // exact.
  std::ofstream(file) << nlohmann::json(report).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

run_report load_report(const std::filesystem::path& file) {
  return nlohmann::json::parse(std::ifstream(file)).get<run_report>();
}

}  // namespace edge_cloud
