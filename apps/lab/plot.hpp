// SPDX-License-Identifier: Apache-2.0
//! Writes the files of a figure: always CSV, and SVG by gnuplot if it is installed. A system has the same colour in all
//! figures; ceilings and the papers' values are grey. Colours and text have a contrast of at least 3:1 on white and on
//! #0d1117, because a picture has no background of its own (scripts/plot_check).
#ifndef SPECVERIFY_APPS_LAB_PLOT_HPP
#define SPECVERIFY_APPS_LAB_PLOT_HPP

#include "figure.hpp"

#include <map>
#include <sstream>

namespace lab {

namespace detail {

inline constexpr const char* grey = "#767676";
inline constexpr const char* palette[] = {"#1f7fb5", "#c8702a", "#3d8b3d", "#8a5fb8", "#d04a60", "#1f9090",
                                          "#968000", "#d060a0", "#a0714f", "#5a78d8", "#6a8f1a", "#b04fb0"};

//! A system by a part of the label, and a colour: a place in `palette`, or -1 for grey. The first that fits counts.
struct system_colour {
  std::string_view part;
  int colour;
};
inline constexpr system_colour system_colours[] = {
    {"paper", -1},      {"CU-HLM online", 4}, {"CU-HLM offline", 3},
    {"CU-HLM", 3},      {"U-HLM", 0},         {"uncertainty alone", 0},
    {"Rand-HLM", 6},    {"coin", 6},          {"LLM alone", -1},
    {"SLM alone", -1},  {"LLM only", -1},     {"SLM only", -1},
    {"target", -1},     {"bound", -1},        {"ceiling", -1},
    {"alpha", -1},      {"HLM", 1},           {"S-Q", 7},
    {"DQN", 3},         {"heuristic", 0},     {"best static", 6},
    {"(4, 240)", 2},    {"(3, 240)", 5},      {"(3, 12)", 8},
    {"logarithmic", 5}, {"linear", 2},        {"K = 2", 9},
    {"K = 8", 0},       {"K = 32", 6},        {"K = 128", 4},
    {"eta = 0", 1},     {"WISV", 0},          {"FH", 0},
    {"SH", 4},          {"lazy", 3},          {"greedy", 6},
    {"reject", 8},
};

//! Returns the place of a label's system in `system_colours`, or its size.
[[nodiscard]] constexpr std::size_t system_of(std::string_view label) {
  std::size_t i = 0;
  while (i < std::size(system_colours) && label.find(system_colours[i].part) == std::string_view::npos) ++i;
  return i;
}

//! Chooses the colours of one figure: the colours of systems, then for other labels what is left, in order.
//! A label has one colour in all panels, and two labels of one panel share a colour only if there are too many.
class figure_colours {
 public:
  explicit figure_colours(const figure& f) {
    std::vector<std::size_t> uses(std::size(palette));
    for (const bool named : {true, false}) {
      for (const panel& p : f.panels) {
        for (const curve& c : p.curves) {
          const std::size_t system = system_of(c.label);
          if ((system < std::size(system_colours)) != named || chosen_.count(c.label) > 0) continue;
          int colour = named ? system_colours[system].colour : 0;
          // Two variants of a system, or a label without a system: the colour that is used least.
          if (!named || (colour >= 0 && uses[static_cast<std::size_t>(colour)] > 0))
            colour = static_cast<int>(std::min_element(uses.begin(), uses.end()) - uses.begin());
          if (colour >= 0) ++uses[static_cast<std::size_t>(colour)];
          chosen_[c.label] = colour;
        }
      }
    }
  }
  [[nodiscard]] bool is_grey(const std::string& label) const { return chosen_.at(label) < 0; }
  [[nodiscard]] std::string of(const std::string& label) const {
    return is_grey(label) ? grey : palette[chosen_.at(label)];
  }

 private:
  std::map<std::string, int> chosen_;
};

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

//! Returns the range of a linear axis: the data with a margin, but not below 0 if no value is, and not above what the
//! axis can hold: 100 for per cent, 1 for shares and probabilities.
[[nodiscard]] inline std::string axis_range(double least, double most, const std::string& label, bool from_zero) {
  if (!(least <= most)) return "[*:*]";
  const double pad = 0.05 * (most > least ? most - least : std::max(1.0, std::fabs(most)));
  double low = least - pad, high = most + pad;
  if (least >= 0) low = from_zero ? 0 : std::max(0.0, low);
  const auto says = [&](const char* word) { return label.find(word) != std::string::npos; };
  const double limit = says("%") ? 100 : says("share") || says("probability") || says("solved") ? 1 : 0;
  if (limit > 0 && most <= limit) high = std::min(high, limit);
  std::ostringstream text;
  text << '[' << low << ':' << high << ']';
  return text.str();
}

//! Pixels of the parts of a panel. The legend is right of the axes.
inline constexpr double panel_height = 385, axis_width = 90, axis_height = 310, title_height = 44, graph_width = 400;

[[nodiscard]] inline double legend_width(const panel& p) {
  std::size_t longest = 0;
  for (const curve& c : p.curves) longest = std::max(longest, c.label.size());
  return p.curves.size() < 2 ? 20 : 62 + 6.6 * static_cast<double>(longest);
}

class plot_script {
 public:
  plot_script(const figure& f, const std::filesystem::path& data, const std::filesystem::path& picture,
              const std::filesystem::path& file)
      : colours_(f), out_(file) {
    const std::size_t columns = std::min<std::size_t>(f.panels.size(), 2);
    std::vector<double> widths(columns, 0);
    for (std::size_t i = 0; i < f.panels.size(); ++i)
      widths[i % columns] = std::max(widths[i % columns], axis_width + graph_width + legend_width(f.panels[i]));
    for (const double w : widths) width_ += w;
    height_ = panel_height * static_cast<double>((f.panels.size() + columns - 1) / columns);
    out_ << "set terminal svg size " << width_ << ',' << height_ << " font 'sans-serif,13' noenhanced\nset output "
         << plot_text(picture.string()) << "\ndata = " << plot_text(data.string())
         << "\nset datafile separator '\\t'\nset border 3 lc rgb '" << grey
         << "'\nset tics nomirror out textcolor rgb '" << grey
         << "'\nset format '%g'\nset grid lc rgb '#c0808080' lt 1\nset pointintervalbox 0\nset multiplot\n";
    for (std::size_t i = 0; i < f.panels.size(); ++i) {
      double left = 0;
      for (std::size_t k = 0; k < i % columns; ++k) left += widths[k];
      draw(f.panels[i], left, panel_height * static_cast<double>(i / columns));
    }
    out_ << "unset multiplot\n";
  }

 private:
  void draw(const panel& p, double left, double top) {
    place(p, left, top);
    axes(p);
    out_ << "plot ";
    const char* between = "";
    int dash = 1;  // grey lines differ by dashes
    for (const curve& c : p.curves) {
      out_ << between;
      between = ", \\\n     ";
      draw(p, c, colours_.is_grey(c.label) ? ++dash : 1);
      ++block_;
      ++curve_;
    }
    curve_ = 0;
    out_ << "\n";
  }

  void place(const panel& p, double left, double top) {
    const auto across = [&](double x) { return x / width_; };
    const auto up = [&](double y) { return 1 - y / height_; };
    out_ << "unset logscale\nset lmargin at screen " << across(left + axis_width) << "\nset rmargin at screen "
         << across(left + axis_width + graph_width) << "\nset tmargin at screen " << up(top + title_height)
         << "\nset bmargin at screen " << up(top + axis_height) << "\n";
    if (p.curves.size() < 2) {
      out_ << "unset key\n";
    } else {
      out_ << "set key at screen " << across(left + axis_width + graph_width + 12) << ',' << up(top + title_height)
           << " left top vertical maxcols 1 Left reverse samplen 1.5 spacing 1.1 font ',11' textcolor rgb '" << grey
           << "'\n";
    }
    const std::string colour = std::string(" textcolor rgb '") + grey + "'\n";
    out_ << "set title " << plot_text(p.title) << colour << "set xlabel " << plot_text(p.x_label) << colour
         << "set ylabel " << plot_text(p.y_label) << colour;
  }

  void axes(const panel& p) {
    const bool bars = !p.x_names.empty();
    double least[2] = {1e300, 1e300}, most[2] = {-1e300, -1e300};
    const auto see = [&](int axis, double value) {
      if (!std::isfinite(value)) return;
      least[axis] = std::min(least[axis], value);
      most[axis] = std::max(most[axis], value);
    };
    for (const curve& c : p.curves) {
      for (const double x : c.x) see(0, x);
      for (const auto* values : {&c.y, &c.low, &c.high}) {
        for (const double y : *values) see(1, y);
      }
    }
    out_ << (p.log_x ? "set logscale x\n" : "") << (p.log_y ? "set logscale y\n" : "");
    out_ << "set yrange " << (p.log_y ? "[*:*]" : axis_range(least[1], most[1], p.y_label, bars)) << "\n";
    if (!bars) {
      out_ << "set xtics auto norotate font ',13'\nset xrange "
           << (p.log_x ? "[*:*]" : axis_range(least[0], most[0], p.x_label, false)) << "\n";
      return;
    }
    out_ << "set xrange [-0.5:" << static_cast<double>(p.x_names.size()) - 0.5 << "]\nset xtics (";
    for (std::size_t i = 0; i < p.x_names.size(); ++i)
      out_ << (i > 0 ? ", " : "") << plot_text(p.x_names[i]) << ' ' << i;
    out_ << ") scale 0 font ',11'" << (p.x_names.size() > 4 ? " rotate by -25" : " norotate") << "\n";
  }

  void draw(const panel& p, const curve& c, int dash) {
    const std::string from = "data index " + std::to_string(block_) + " using ";
    const bool bars = !p.x_names.empty();
    const std::string look =
        " lc rgb '" + colours_.of(c.label) + "'" + (dash > 1 && !bars ? " dt " + std::to_string(dash) : "");
    const std::string title = " title " + plot_text(c.label);
    if (bars) {
      const double width = 0.8 / static_cast<double>(p.curves.size()),
                   shift = -0.4 + width * (static_cast<double>(curve_) + 0.5);
      const std::string at = "($1+(" + std::to_string(shift) + "))";
      out_ << from << at << ":2:(" << 0.92 * width << ") with boxes fs transparent solid 0.4 border" << look << look
           << title;
      if (!c.low.empty())
        out_ << ", \\\n     " << from << at << ":3:(0):($4-$3) with vectors nohead lw 2" << look << " notitle";
      return;
    }
    if (!c.low.empty() && !c.points)
      out_ << from << "1:3:4 with filledcurves fs transparent solid 0.18 noborder" << look << " notitle, \\\n     ";
    if (c.points) {
      out_ << from << (c.low.empty() ? "1:2 with points pt 7 ps 0.5" : "1:2:3:4 with yerrorbars pt 7 ps 0.5") << look
           << title;
    } else {
      out_ << from << "1:2 with " << (dash > 1 ? "lines lw 2" : "linespoints lw 2 pt 7 ps 0.4") << look << title;
    }
  }

  figure_colours colours_;
  std::ofstream out_;
  double width_ = 0, height_ = 0;
  std::size_t block_ = 0, curve_ = 0;
};

inline void write_csv(const figure& f, const std::filesystem::path& file) {
  std::ofstream out(file);
  out.precision(10);
  out << "panel,curve,x,y,low,high\n";
  for (const panel& p : f.panels) {
    for (const curve& c : p.curves) {
      for (std::size_t i = 0; i < c.x.size(); ++i) {
        const auto at = static_cast<std::size_t>(c.x[i]);
        const bool named = at < p.x_names.size();
        out << csv_cell(p.title) << ',' << csv_cell(c.label) << ','
            << (named ? csv_cell(p.x_names[at]) : number(c.x[i], 10)) << ',' << c.y[i] << ',';
        if (i < c.low.size() && i < c.high.size()) {
          out << c.low[i] << ',' << c.high[i] << '\n';
        } else {
          out << ",\n";
        }
      }
    }
  }
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
  if (!f.panels.empty()) detail::write_csv(f, folder / (f.name + ".csv"));
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
  detail::plot_script(f, data, picture, script);
  const std::string command =
      "gnuplot '" + script.string() + "' 2>'" + (folder / "plot" / (f.name + ".log")).string() + "'";
  f.drawn = std::system(command.c_str()) == 0;
  if (!f.drawn) std::filesystem::remove(picture);
}

}  // namespace lab

#endif
