// SPDX-License-Identifier: Apache-2.0
//! Holds one figure or table of the lab: curves, a table, comparisons with the paper, and checks that must pass.
//! Figures are always written as CSV; gnuplot draws the curves as SVG if it is installed.
#ifndef SPECVERIFY_APPS_LAB_FIGURE_HPP
#define SPECVERIFY_APPS_LAB_FIGURE_HPP

#include "claims.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lab {

struct curve {
  std::string label;
  std::vector<double> x, y;
  std::vector<double> low, high;  //!< lower and upper limits of the error band; may be empty
  bool points = false;            //!< whether to draw points instead of a line

  void add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
  void add(double at, double value, double from, double to) {
    add(at, value);
    low.push_back(from);
    high.push_back(to);
  }
};

//! Curves over common axes. A figure may have several panels, drawn side by side.
struct panel {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<std::string> x_names;  //!< names for x = 0, 1, 2, ...: drawn as groups of bars
  std::deque<curve> curves;          //!< a deque, because the result of `add` must stay valid

  curve& add(std::string label) {
    curves.push_back({std::move(label), {}, {}, {}, {}, false});
    return curves.back();
  }
};

struct table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

//! The paper's value and our value, with the reason why they differ.
struct comparison {
  std::string what, paper, ours, why;
};

//! What a figure says about a claim of its paper.
struct claim_answer {
  std::size_t claim = 0;  //!< place in `claims`
  finding found = finding::not_run;
  std::string ours;  //!< our value, with its interval
  std::string why;   //!< reason for a difference, or for not running
};

//! A statement that must be true. The program's exit code is 0 only if all checks pass.
struct check {
  std::string what;
  bool holds = false;
  std::string detail;
};

struct figure {
  std::string name;  //!< base name of the figure's files
  std::string title;
  std::string about;  //!< one or two sentences: setting and how to read the figure
  std::deque<panel> panels;
  std::deque<table> tables;
  std::vector<comparison> comparisons;
  std::vector<claim_answer> answers;
  std::vector<check> checks;
  double seconds = 0;      //!< set by the lab
  double cpu_seconds = 0;  //!< set by the lab: of all threads
  bool drawn = false;

  panel& add_panel(std::string heading, std::string x_label, std::string y_label) {
    panels.push_back({std::move(heading), std::move(x_label), std::move(y_label), false, false, {}, {}});
    return panels.back();
  }
  table& add_table(std::string heading, std::vector<std::string> columns) {
    tables.push_back({std::move(heading), std::move(columns), {}});
    return tables.back();
  }
  //! Adds a comparison. None of the four strings may be empty, because the reader needs to know why the numbers differ.
  void compare(std::string what, std::string paper, std::string ours, std::string why) {
    if (what.empty() || paper.empty() || ours.empty() || why.empty())
      throw std::logic_error(name + ": the comparison '" + what + "' lacks a part");
    comparisons.push_back({std::move(what), std::move(paper), std::move(ours), std::move(why)});
  }
  //! Answers a claim of the paper with our value. One claim has one answer in a run of all figures. Neither text may be
  //! empty; both must be computed from the run, or be true for any numbers.
  void answer(claim_id id, finding found, std::string ours, std::string why) {
    if (ours.empty() || why.empty())
      throw std::logic_error(name + ": the answer to " + std::string(id->id) + " lacks a part");
    answers.push_back({id.place(), found, std::move(ours), std::move(why)});
  }
  //! Answers by comparing our interval with the printed value, whose unit it must have (`compared`).
  void answer(claim_id id, const estimate& measured, std::string ours, std::string why) {
    if (std::isnan(id->low)) throw std::logic_error(name + ": " + std::string(id->id) + " has no printed number");
    answer(id, compared(measured, id->low, id->high), std::move(ours), std::move(why));
  }
  void require(std::string what, bool holds, std::string detail = {}) {
    checks.push_back({std::move(what), holds, std::move(detail)});
  }
  [[nodiscard]] bool holds() const {
    for (const check& c : checks) {
      if (!c.holds) return false;
    }
    return true;
  }
};

//! Formats a number with `digits` significant digits for tables.
[[nodiscard]] inline std::string number(double value, int digits = 4) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}
//! Formats "0.42 [0.40, 0.44]".
[[nodiscard]] inline std::string interval(double value, double low, double high, int digits = 3) {
  return number(value, digits) + " [" + number(low, digits) + ", " + number(high, digits) + "]";
}

namespace detail {

[[nodiscard]] inline std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

//! Quotes text for a gnuplot string in single quotes, without enhanced mode.
[[nodiscard]] inline std::string plot_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += c;
  }
  return quoted + "'";
}

//! Writes one block per curve to one file; gnuplot selects blocks by number.
inline void write_plot_data(const figure& f, const std::filesystem::path& file) {
  std::ofstream out(file);
  out.precision(10);
  for (const panel& p : f.panels) {
    for (const curve& c : p.curves) {
      for (std::size_t i = 0; i < c.x.size(); ++i) {
        if (!std::isfinite(c.y[i])) continue;
        out << c.x[i] << '\t' << c.y[i] << '\t' << (i < c.low.size() ? c.low[i] : c.y[i]) << '\t'
            << (i < c.high.size() ? c.high[i] : c.y[i]) << '\n';
      }
      if (c.x.empty()) out << "0\tNaN\tNaN\tNaN\n";
      out << "\n\n";
    }
  }
}

inline void write_plot_script(const figure& f, const std::filesystem::path& data, const std::filesystem::path& picture,
                              const std::filesystem::path& file) {
  static constexpr const char* colours[] = {"#0b6e99", "#c8702a", "#4a9a4a", "#7a4fa3", "#a8324a",
                                            "#444444", "#1f9e9e", "#b8a100", "#d060a0", "#7f7f7f"};
  std::ofstream out(file);
  const std::size_t columns = f.panels.size() == 4 ? 2 : std::min<std::size_t>(f.panels.size(), 3),
                    lines = (f.panels.size() + columns - 1) / columns;
  std::size_t most_curves = 1;
  for (const panel& p : f.panels) most_curves = std::max(most_curves, p.curves.size());
  out << "set terminal svg size " << 80 + 480 * columns << ',' << 20 + (340 + 18 * ((most_curves + 1) / 2)) * lines
      << " font 'sans-serif,13' background '#ffffff' noenhanced\n"
      << "set output " << plot_text(picture.string()) << "\ndata = " << plot_text(data.string()) << "\n"
      << "set datafile separator '\\t'\nset border 3 lc rgb '#666666'\nset tics nomirror out\nset format '%g'\nset "
         "grid lc rgb '#e4e4e4' lt 1\n"
      << "set multiplot layout " << lines << ',' << columns << "\n";
  std::size_t block = 0;
  for (const panel& p : f.panels) {
    const bool bars = !p.x_names.empty();
    out << "unset logscale\nset xtics auto\nset key below maxcols 2 samplen 1.5 font ',11'\n"
        << "set title " << plot_text(p.title) << "\nset xlabel " << plot_text(p.x_label) << " offset 0,0.5\nset ylabel "
        << plot_text(p.y_label) << "\n";
    if (p.log_x) out << "set logscale x\n";
    if (p.log_y) out << "set logscale y\n";
    bool below_zero = false;  // the axis begins at 0 unless a bar is below 0
    for (const curve& c : p.curves) {
      for (std::size_t i = 0; i < c.y.size(); ++i)
        below_zero = below_zero || c.y[i] < 0 || (i < c.low.size() && c.low[i] < 0);
    }
    if (!p.log_y) out << (bars && !below_zero ? "set yrange [0:*]\n" : "set yrange [*:*]\n");
    if (p.log_y) out << "set yrange [*:*]\n";
    out << "set xrange [*:*] noextend\nset offsets graph 0.03, graph 0.03, graph 0.05, graph 0\n";
    if (bars) {
      out << "set xtics (";
      for (std::size_t i = 0; i < p.x_names.size(); ++i)
        out << (i > 0 ? ", " : "") << plot_text(p.x_names[i]) << ' ' << i;
      out << ") scale 0 font ',11'" << (p.x_names.size() > 4 ? " rotate by -25" : " norotate")
          << "\nset style fill solid 0.85 noborder\n";
    } else {
      out << "set xtics norotate font ',13'\n";
    }
    if (bars && p.curves.size() == 1) out << "unset key\n";
    out << "plot ";
    for (std::size_t i = 0; i < p.curves.size(); ++i, ++block) {
      const curve& c = p.curves[i];
      const std::string from = "data index " + std::to_string(block) + " using ";
      const std::string look = std::string(" lc rgb '") + colours[i % std::size(colours)] + "'";
      const std::string title = " title " + plot_text(c.label);
      out << (i > 0 ? ", \\\n     " : "");
      if (bars) {
        const double width = 0.8 / static_cast<double>(p.curves.size()),
                     shift = -0.4 + width * (static_cast<double>(i) + 0.5);
        const std::string at = "($1+(" + std::to_string(shift) + "))";
        out << from << at << ":2:(" << 0.92 * width << ") with boxes" << look << title;
        if (!c.low.empty())
          out << ", \\\n     " << from << at << ":3:(0):($4-$3) with vectors nohead lw 1.5 lc rgb '#333333' notitle";
        continue;
      }
      if (!c.low.empty() && !c.points)
        out << from << "1:3:4 with filledcurves fs transparent solid 0.18 noborder" << look << " notitle, \\\n     ";
      if (c.points) {
        out << from << (c.low.empty() ? "1:2 with points pt 7 ps 0.5" : "1:2:3:4 with yerrorbars pt 7 ps 0.5") << look
            << title;
      } else {
        out << from << "1:2 with linespoints lw 2 pt 7 ps 0.4" << look << title;
      }
    }
    out << "\n";
  }
  out << "unset multiplot\n";
}

}  // namespace detail

//! Writes NAME.csv (curves, long form), NAME.table<k>.csv, and NAME.svg if gnuplot is installed.
inline void write_files(figure& f, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "plot");
  for (const panel& p : f.panels) {
    if (p.curves.empty()) throw std::logic_error(f.name + ": the panel '" + p.title + "' has no curve");
    if (p.log_y && !p.x_names.empty())
      throw std::logic_error(f.name + ": the panel '" + p.title + "' has bars on a log axis");
  }
  if (!f.panels.empty()) {
    std::ofstream out(folder / (f.name + ".csv"));
    out.precision(10);
    out << "panel,curve,x,y,low,high\n";
    for (const panel& p : f.panels) {
      for (const curve& c : p.curves) {
        for (std::size_t i = 0; i < c.x.size(); ++i) {
          const auto at = static_cast<std::size_t>(c.x[i]);
          const bool named = at < p.x_names.size();
          out << detail::csv_cell(p.title) << ',' << detail::csv_cell(c.label) << ','
              << (named ? detail::csv_cell(p.x_names[at]) : number(c.x[i], 10)) << ',' << c.y[i] << ',';
          if (i < c.low.size() && i < c.high.size()) {
            out << c.low[i] << ',' << c.high[i] << '\n';
          } else {
            out << ",\n";
          }
        }
      }
    }
  }
  for (std::size_t k = 0; k < f.tables.size(); ++k) {
    std::ofstream out(folder / (f.name + ".table" + (k > 0 ? std::to_string(k + 1) : "") + ".csv"));
    const auto line = [&](const std::vector<std::string>& cells) {
      for (std::size_t i = 0; i < cells.size(); ++i) out << (i > 0 ? "," : "") << detail::csv_cell(cells[i]);
      out << '\n';
    };
    line(f.tables[k].columns);
    for (const auto& row : f.tables[k].rows) line(row);
  }
  if (f.panels.empty()) return;
  const auto data = folder / "plot" / (f.name + ".tsv"), script = folder / "plot" / (f.name + ".gnuplot"),
             picture = folder / (f.name + ".svg");
  detail::write_plot_data(f, data);
  detail::write_plot_script(f, data, picture, script);
  const std::string command =
      "gnuplot '" + script.string() + "' 2>'" + (folder / "plot" / (f.name + ".log")).string() + "'";
  f.drawn = std::system(command.c_str()) == 0;
  if (!f.drawn) std::filesystem::remove(picture);
}

}  // namespace lab

#endif
