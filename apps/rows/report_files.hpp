// SPDX-License-Identifier: Apache-2.0
//! Writes a report as a table, as CSV, and as a picture drawn by gnuplot.
#ifndef SPECVERIFY_APPS_ROWS_REPORT_FILES_HPP
#define SPECVERIFY_APPS_ROWS_REPORT_FILES_HPP

#include "report.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace recorded {

//! Measurements of one file of rows.
struct file_report {
  std::string name;
  std::size_t rows = 0;
  std::uint32_t vocab_size = 0;
  bool cut = false;  //!< whether some rows were cut to the largest entries
  double temperature = 1;
  std::vector<measured> systems;
};

[[nodiscard]] inline file_report report_of(const std::filesystem::path& path, double temperature) {
  const rows_file file(path);
  return {path.stem().string(), file.size(),
          file.vocab_size(),    !file.has_whole_rows(side::target) || !file.has_whole_rows(side::drafter),
          temperature,          measure_all(file, temperature)};
}

inline void print_table(const file_report& made, std::FILE* out) {
  std::fprintf(out, "%s: %zu rows, V = %u, T = %g%s\n", made.name.c_str(), made.rows, made.vocab_size, made.temperature,
               made.cut ? ", rows cut to top entries: an approximation" : "");
  std::fprintf(out, "%-9s %-31s %8s %12s %12s %12s %12s\n", "system", "setting", "1 - TV", "sum min", "paper bits",
               "ideal bits", "coded bits");
  for (const measured& line : made.systems) {
    std::fprintf(out, "%-9s %-31s %8.4f %12.4f %12.1f %12.1f %12.1f%s\n", line.system.c_str(), line.setting.c_str(),
                 line.overlap, line.acceptance, line.paper_bits, line.ideal_bits, line.coded_bits,
                 line.preset ? " *" : "");
  }
  std::fprintf(out, "\n");
}

//! Throws bad_rows (cannot_write), for example on a full disk.
inline void finish(std::ofstream& out, const std::filesystem::path& file) {
  out.close();
  if (!out) throw bad_rows(defect::cannot_write, file.string());
}

inline void write_csv(std::span<const file_report> all, const std::filesystem::path& file) {
  std::ofstream out(file);
  out.precision(12);
  out << "file,rows,vocab_size,temperature,system,setting,preset,overlap,acceptance,paper_bits,ideal_bits,coded_bits\n";
  for (const file_report& made : all) {
    for (const measured& line : made.systems) {
      out << made.name << ',' << made.rows << ',' << made.vocab_size << ',' << made.temperature << ',' << line.system
          << ',' << line.setting << ',' << line.preset << ',' << line.overlap << ',' << line.acceptance << ','
          << line.paper_bits << ',' << line.ideal_bits << ',' << line.coded_bits << '\n';
    }
  }
  finish(out, file);
}

//! Writes one indexed block per system of a file, with a title line before it.
inline std::vector<std::string> write_plot_data(std::span<const file_report> all, const std::filesystem::path& file) {
  std::ofstream out(file);
  std::vector<std::string> names;
  for (const file_report& made : all) {
    std::string last;
    for (const measured& line : made.systems) {
      if (line.system == "greedy") continue;  // another temperature, so it cannot be compared
      if (line.system != last) {
        if (!names.empty()) out << "\n\n";
        names.push_back(all.size() > 1 ? made.name + ", " + line.system : line.system);
      }
      last = line.system;
      out << line.coded_bits << '\t' << line.acceptance << '\t' << line.setting << '\t' << line.preset << '\n';
    }
  }
  finish(out, file);
  return names;
}

//! Returns text inside single quotes. `quote` replaces each single quote of the text.
[[nodiscard]] inline std::string quoted(const std::string& text, const std::string& quote) {
  std::string made = "'";
  for (const char c : text) made += c == '\'' ? quote : std::string(1, c);
  return made + "'";
}
//! Quotes for a gnuplot script, and for a shell command.
[[nodiscard]] inline std::string plot_text(const std::string& text) { return quoted(text, "''"); }
[[nodiscard]] inline std::string shell_text(const std::string& text) { return quoted(text, R"('\'')"); }

inline void write_plot_script(std::span<const file_report> all, const std::vector<std::string>& names,
                              const std::filesystem::path& folder) {
  static constexpr const char* colours[] = {"#444444", "#c8702a", "#0b6e99", "#4a9a4a", "#7a4fa3"};
  std::ofstream out(folder / "rows.gnuplot");
  out << "set terminal svg size 760,470 font 'sans-serif,13' background '#ffffff' noenhanced\n"
      << "set output " << plot_text((folder / "rows.svg").string()) << "\n"
      << "data = " << plot_text((folder / "rows.tsv").string()) << "\n"
      << R"(set datafile separator "\t"
set border 3 lc rgb '#666666'
set tics nomirror out
set grid lc rgb '#e4e4e4' lt 1
set logscale x
set format x '%.0s%c'
set xlabel 'coded bits of a drafted token'
set ylabel 'acceptance, the sum of min(p, q^)'
set key outside right top samplen 1.5
set offsets graph 0.02, graph 0.06, graph 0.05, graph 0.03
plot )";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string look = std::string(" lc rgb '") + colours[i % std::size(colours)] + "' pt " +
                             std::to_string(7 + 2 * (i / std::size(colours)));
    out << "data index " << i << " using 1:2 with linespoints lw 2 ps 0.7" << look << " title " << plot_text(names[i])
        << ", \\\n     data index " << i << " using 1:($4 == 1 ? $2 : NaN) with points lw 2 ps 1.6" << look
        << " notitle, \\\n     ";
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    out << (i > 0 ? ", \\\n     " : "") << all[i].systems.front().overlap << " with lines dt 2 lc rgb '#888888' title "
        << plot_text(all.size() > 1 ? all[i].name + ", 1 - TV(p, q)" : "1 - TV(p, q)");
  }
  out << "\n";
  finish(out, folder / "rows.gnuplot");
}

//! Writes rows.csv, and rows.svg if gnuplot is installed. Returns whether the picture was drawn.
inline bool write_files(std::span<const file_report> all, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_csv(all, folder / "rows.csv");
  write_plot_script(all, write_plot_data(all, folder / "rows.tsv"), folder);
  const std::string command = "gnuplot " + shell_text((folder / "rows.gnuplot").string()) + " 2>" +
                              shell_text((folder / "gnuplot.log").string());
  return std::system(command.c_str()) == 0;
}

}  // namespace recorded

#endif
