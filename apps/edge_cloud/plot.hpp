// SPDX-License-Identifier: Apache-2.0
//! Draws the results of the demo with gnuplot: speed, uplink cost, and growth of the texts.
#ifndef EDGE_CLOUD_PLOT_HPP
#define EDGE_CLOUD_PLOT_HPP

#include "table.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace edge_cloud {

namespace detail {

inline void write_data(std::span<const run_report> reports, const std::filesystem::path& file) {
  std::ofstream out(file);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const run_report& row = reports[i];
    out << i << '\t' << chosen_system(row.system).text() << '\t' << row.tokens_per_second() << '\t'
        << row.modelled_tokens_per_second(paper_edge_pass, paper_cloud_pass) << '\t' << row.uplink_bits_per_token()
        << '\n';
  }
  for (const run_report& row : reports) {  // one indexed block per system
    out << "\n\n";
    for (std::size_t i = 0; i < row.arrival.size(); ++i) out << row.arrival[i] << '\t' << i + 1 << '\n';
  }
}

inline void write_script(std::span<const run_report> reports, const std::filesystem::path& data,
                         const std::filesystem::path& picture, const std::filesystem::path& file) {
  std::ofstream out(file);
  out << "set terminal svg size 1500,430 font 'sans-serif,13' background '#ffffff'\n"
      << "set output '" << picture.string() << "'\n"
      << "data = '" << data.string() << "'\n"
      << R"(set datafile separator "\t"
set multiplot
set style fill solid 0.85 noborder
set border 3 lc rgb '#666666'
set tics nomirror out
set yrange [)"
      << static_cast<double>(reports.size()) - 0.4 << R"(:-0.6]
set xrange [0:*]
set grid xtics lc rgb '#e4e4e4' lt 1
set size 0.40,1
set origin 0,0
set key below
set title 'tokens per second'
set lmargin 31
set bmargin 5
plot data index 0 using (0):($1-0.18):(0):3:($1-0.34):($1-0.02):ytic(2) with boxxyerror lc rgb '#0b6e99' title 'measured', \
     data index 0 using (0):($1+0.18):(0):4:($1+0.02):($1+0.34) with boxxyerror lc rgb '#9cc9dc' title "modelled, larger models"
set title 'uplink bits per token'
set size 0.27,1
set origin 0.42,0
set lmargin 2
set rmargin 8
set bmargin 5
unset ytics
unset key
set xrange [*:*]
set logscale x  # where no length starts at 0: points, not bars
set offsets graph 0.05, graph 0.15, 0, 0
plot data index 0 using 5:1 with points pt 7 ps 1.2 lc rgb '#c8702a', \
     data index 0 using 5:1:(sprintf('  %.0f', $5)) with labels left
unset logscale
unset offsets
set title 'tokens after so many seconds'
set size 0.30,1
set origin 0.70,0
set lmargin 6
set rmargin 2
set ytics
set yrange [0:*]
set key inside top left vertical maxrows 5
plot )";
  static constexpr const char* colours[] = {"#444444", "#c8702a", "#7a4fa3", "#4a9a4a", "#0b6e99"};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    out << (i > 0 ? ", \\\n     " : "") << "data index " << i + 1 << " using 1:2 with steps lw 2 lc rgb '"
        << colours[i % std::size(colours)] << "' title '" << reports[i].system << "'";
  }
  out << "\nunset multiplot\n";
}

}  // namespace detail

//! Writes demo.svg into `folder` and returns its path, or an empty path if gnuplot is missing. The data and the script
//! are always written.
[[nodiscard]] inline std::filesystem::path draw_plot(std::span<const run_report> reports,
                                                     const std::filesystem::path& folder) {
  const std::filesystem::path data = folder / "demo.tsv", script = folder / "demo.gnuplot",
                              picture = folder / "demo.svg";
  detail::write_data(reports, data);
  detail::write_script(reports, data, picture, script);
  const std::string command = "gnuplot '" + script.string() + "' 2>'" + (folder / "gnuplot.log").string() + "'";
  return std::system(command.c_str()) == 0 ? picture : std::filesystem::path{};
}

}  // namespace edge_cloud

#endif
