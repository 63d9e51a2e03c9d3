// SPDX-License-Identifier: Apache-2.0
//! Prints the demo's table of results, one row per system.
#ifndef EDGE_CLOUD_TABLE_HPP
#define EDGE_CLOUD_TABLE_HPP

#include "pace.hpp"
#include "run_report.hpp"
#include "systems.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

namespace edge_cloud {

[[nodiscard]] inline specverify::system_shape shape_of(const run_report& report) {
  return chosen_system(report.system).shape();
}

//! Columns that apply to only some systems. A table without such a system omits them.
struct own_column {
  const char* head[2];
  bool (*applies)(const run_report&);
  double (*value)(const run_report&);
  int digits;
};
inline constexpr std::array<own_column, 10> own_columns{{
    {{"drafts", "/round"},
     [](const run_report& r) { return shape_of(r).plans_rounds; },
     [](const run_report& r) { return r.drafts_per_round(); },
     2},
    {{"mean", "l"},
     [](const run_report& r) { return shape_of(r).format.attachments.resolution_with_draft; },
     [](const run_report& r) { return r.mean_resolution(); },
     0},
    {{"mean", "K"},
     [](const run_report& r) { return shape_of(r).chooses_support; },
     [](const run_report& r) { return r.mean_support(); },
     1},
    {{"by the", "edge"},
     [](const run_report& r) { return shape_of(r).gates; },
     [](const run_report& r) { return r.skipped_share(); },
     3},
    {{"un-", "important"},
     [](const run_report& r) { return chosen_system(r.system).info().needs_attention; },
     [](const run_report& r) { return r.unimportant_share(); },
     3},
    {{"written", "ahead"},
     [](const run_report& r) { return r.written_ahead > 0; },
     [](const run_report& r) { return static_cast<double>(r.written_ahead); },
     0},
    {{"mis-", "matches"},
     [](const run_report& r) { return chosen_system(r.system).info().needs_head; },
     [](const run_report& r) { return static_cast<double>(r.mismatches); },
     0},
    {{"of them", "stood"},
     [](const run_report& r) { return chosen_system(r.system).info().needs_head; },
     [](const run_report& r) { return r.accepted_mismatch_share(); },
     3},
    {{"second", "uploads"},
     [](const run_report& r) { return r.supply_bytes > 0; },
     [](const run_report& r) { return static_cast<double>(r.supply_bytes); },
     0},
    {{"texts", "by FH"},
     [](const run_report& r) { return leaves_protocol_open(chosen_system(r.system)); },
     [](const run_report& r) { return r.share_with_states(); },
     2},
}};

//! Mean milliseconds per pass over all reports.
struct mean_passes {
  double edge = 0, cloud = 0;
};
[[nodiscard]] inline mean_passes passes_of(std::span<const run_report> reports) {
  run_report all;
  for (const run_report& row : reports) all.add(row);
  const auto milliseconds = [](double seconds, std::uint64_t passes) {
    return passes > 0 ? seconds / static_cast<double>(passes) * 1e3 : 0;
  };
  return {milliseconds(all.edge_compute, all.edge_passes), milliseconds(all.cloud_compute, all.cloud_passes)};
}

//! Warns if passes took over 5 % longer than `pace` sets, because the measured speeds then belong to slower models.
inline void print_pace_warning(std::FILE* out, const mean_passes& took, std::string_view pace) {
  constexpr double tolerance = 1.05;
  const double edge = paced(pace, paper_edge_pass) * 1e3, cloud = paced(pace, paper_cloud_pass) * 1e3;
  if (edge <= 0 || (took.edge <= tolerance * edge && took.cloud <= tolerance * cloud)) return;
  std::fprintf(out,
               "WARNING: the pace was not held. A draft pass took %.1f ms, not %.1f, and a target pass %.1f ms, not "
               "%.1f:\nthe measured column is that of slower models. The modelled one is not affected.\n",
               took.edge, edge, took.cloud, cloud);
}

//! Explains the two speed columns of this run.
inline void print_footnote(std::FILE* out, std::span<const run_report> reports, std::string_view pace) {
  const mean_passes took = passes_of(reports);
  print_pace_warning(out, took, pace);
  std::fprintf(out,
               "\nmeasured: on this machine, with the bundled models %s: %.1f ms per draft pass, %.1f ms per target "
               "pass.\n",
               pace == "none" ? "at full speed" : "slowed to the passes of larger models", took.edge, took.cloud);
  std::fprintf(out,
               "modelled: the same rounds and link times with exactly %.1f ms per draft pass and %.1f ms per target "
               "pass,\nthe times of HLM's authors. Uplink bits and bytes count every byte that entered the link, "
               "including length\nprefixes, headers and hello.\ntext: exact, the target's distribution; argmax, the "
               "target's most probable tokens; lossy, neither.\n",
               paper_edge_pass * 1e3, paper_cloud_pass * 1e3);
}

//! Prints the head and the rows of the table.
inline void print_rows(std::FILE* out, std::span<const run_report> reports) {
  std::vector<own_column> own;
  for (const own_column& column : own_columns) {
    if (std::any_of(reports.begin(), reports.end(), column.applies)) own.push_back(column);
  }
  std::size_t longest = 28;
  for (const run_report& row : reports) longest = std::max(longest, chosen_system(row.system).text().size());
  const int width = static_cast<int>(longest);
  const auto head = [&](int line) {
    for (const own_column& column : own) std::fprintf(out, " %8s", column.head[line]);
    std::fputc('\n', out);
  };
  std::fprintf(out, "\n%-*s %-6s %8s %8s %7s %7s %7s %10s %9s %9s", width, "", "", "tokens/s", "tokens/s", "", "tokens",
               "accept-", "uplink bit", "bytes", "bytes");
  head(0);
  std::fprintf(out, "%-*s %-6s %8s %8s %7s %7s %7s %10s %9s %9s", width, "system", "text", "measured", "modelled",
               "rounds", "/round", "ance", "/token", "up", "down");
  head(1);
  for (const run_report& row : reports) {
    char acceptance[16] = "-";
    if (row.drafted > 0) std::snprintf(acceptance, sizeof acceptance, "%.3f", row.acceptance());
    const chosen_system system(row.system);
    std::fprintf(out, "%-*s %-6s %8.2f %8.2f %7llu %7.2f %7s %10.1f %9llu %9llu", width, system.text().c_str(),
                 text_of(system.info()), row.tokens_per_second(),
                 row.modelled_tokens_per_second(paper_edge_pass, paper_cloud_pass),
                 static_cast<unsigned long long>(row.rounds), row.tokens_per_round(), acceptance,
                 row.uplink_bits_per_token(), static_cast<unsigned long long>(row.bytes_up),
                 static_cast<unsigned long long>(row.bytes_down));
    for (const own_column& column : own) {
      if (column.applies(row)) {
        std::fprintf(out, " %8.*f", column.digits, column.value(row));
      } else {
        std::fprintf(out, " %8s", "-");
      }
    }
    std::fputc('\n', out);
  }
}

//! `pace`: pace of the models, as in the run settings.
inline void print_table(std::FILE* out, std::span<const run_report> reports, std::string_view pace) {
  print_rows(out, reports);
  print_footnote(out, reports, pace);
}

}  // namespace edge_cloud

#endif
