// SPDX-License-Identifier: Apache-2.0
//! Writes the report page of the lab: every figure with its plot, tables, comparisons with the paper, and checks.
#ifndef SPECVERIFY_APPS_LAB_REPORT_HPP
#define SPECVERIFY_APPS_LAB_REPORT_HPP

#include "papers.hpp"
#include "plot.hpp"

#include <ctime>
#include <sstream>

namespace lab {

//! A paper and the figures that this run computed.
struct reported_paper {
  paper about;
  std::vector<figure> figures;
};

struct report_facts {
  bool quick = false;
  std::uint64_t seed = 0;
  unsigned jobs = 1;
  double seconds = 0;
};

namespace detail {

[[nodiscard]] inline std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

inline void write_row(std::ostream& out, const char* cell, const std::vector<std::string>& cells) {
  out << "<tr>";
  for (const std::string& text : cells) out << '<' << cell << '>' << escaped(text) << "</" << cell << '>';
  out << "</tr>\n";
}

//! Embeds the picture, so that the page is one file. The figure's name makes ids inside the picture unique.
inline void write_picture(std::ostream& out, const figure& f, const std::filesystem::path& folder) {
  std::ifstream file(folder / (f.name + ".svg"));
  std::stringstream read;
  read << file.rdbuf();
  std::string svg = read.str();
  svg.erase(0, std::min(svg.size(), svg.find("<svg")));
  const auto replace_all = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = svg.find(from); at != std::string::npos; at = svg.find(from, at + to.size()))
      svg.replace(at, from.size(), to);
  };
  replace_all("gnuplot_", f.name + "_");
  replace_all("gpDot", f.name + "_gpDot");
  replace_all("gpPt", f.name + "_gpPt");
  out << "<div class=picture>" << svg << "</div>\n";
}

inline void write_figure(std::ostream& out, const figure& f, const std::filesystem::path& folder) {
  out << "<h3 id='" << f.name << "'>" << escaped(f.title) << "</h3>\n<p>" << escaped(f.about) << "</p>\n";
  if (f.drawn) write_picture(out, f, folder);
  for (const table& t : f.tables) {
    out << "<table><caption>" << escaped(t.title) << "</caption>\n";
    write_row(out, "th", t.columns);
    for (const auto& row : t.rows) write_row(out, "td", row);
    out << "</table>\n";
  }
  if (!f.answers.empty()) {
    out << "<table class=wide><caption>Claims of the paper</caption>\n";
    write_row(out, "th", {"claim", "paper", "ours", "verdict", "reason"});
    for (const claim_answer& a : f.answers) {
      const claim& c = claims[a.claim];
      write_row(out, "td",
                {std::string(c.statement) + " (" + std::string(c.place) + ")", std::string(c.value), a.ours,
                 std::string(text_of(a.found)), a.why});
    }
    out << "</table>\n";
  }
  if (!f.comparisons.empty()) {
    out << "<table class=wide><caption>Paper and ours</caption>\n";
    write_row(out, "th", {"", "paper", "ours", "differences and reasons"});
    for (const comparison& c : f.comparisons) write_row(out, "td", {c.what, c.paper, c.ours, c.why});
    out << "</table>\n";
  }
  if (!f.checks.empty()) {
    out << "<ul class=checks>\n";
    for (const check& c : f.checks) {
      out << "<li class=" << (c.holds ? "holds>holds: " : "fails>FAILS: ") << escaped(c.what)
          << (c.detail.empty() ? "" : " (" + escaped(c.detail) + ")") << "</li>\n";
    }
    out << "</ul>\n";
  }
  out << "<p class=small>" << number(f.seconds, 3) << " s, " << number(f.cpu_seconds, 3) << " CPU seconds";
  if (!f.panels.empty()) out << " · <a href='" << f.name << ".csv'>" << f.name << ".csv</a>";
  for (std::size_t k = 0; k < f.tables.size(); ++k) {
    const std::string name = f.name + ".table" + (k > 0 ? std::to_string(k + 1) : "") + ".csv";
    out << " · <a href='" << name << "'>" << name << "</a>";
  }
  if (!f.panels.empty() && !f.drawn) out << " · no plot: gnuplot is not installed or failed";
  out << "</p>\n";
}

}  // namespace detail

//! Writes all comparisons and all checks as CSV, for other programs.
inline void write_lists(const std::vector<reported_paper>& papers, const std::filesystem::path& folder) {
  std::ofstream comparisons(folder / "comparisons.csv"), checks(folder / "checks.csv");
  const auto line = [](std::ostream& out, std::initializer_list<std::string> cells) {
    const char* between = "";
    for (const std::string& cell : cells) {
      out << between << detail::csv_cell(cell);
      between = ",";
    }
    out << '\n';
  };
  line(comparisons, {"figure", "what", "paper", "ours", "why"});
  line(checks, {"figure", "holds", "what", "detail"});
  for (const reported_paper& p : papers) {
    for (const figure& f : p.figures) {
      for (const comparison& c : f.comparisons) line(comparisons, {f.name, c.what, c.paper, c.ours, c.why});
      for (const check& c : f.checks) line(checks, {f.name, c.holds ? "yes" : "NO", c.what, c.detail});
    }
  }
}

inline void write_report(const std::vector<reported_paper>& papers, const report_facts& facts,
                         const std::filesystem::path& folder) {
  std::ofstream out(folder / "report.html");
  out << R"(<!doctype html>
<html lang=en><head><meta charset=utf-8><title>specverify: the papers' experiments, rerun</title>
<style>
body{font:16px/1.5 sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
h1,h2,h3{line-height:1.2} h2{margin-top:2.5em;border-bottom:1px solid #ccc} h3{margin-top:2em}
table{border-collapse:collapse;margin:1em 0;font-size:14px} caption{text-align:left;font-weight:bold;padding:.3em 0}
th,td{border:1px solid #ddd;padding:.25em .6em;text-align:right} th{background:#f4f4f4} td:first-child,th:first-child{text-align:left}
table.wide td,table.wide th{text-align:left;vertical-align:top}
.picture{overflow-x:auto} .picture svg{max-width:100%;height:auto}
.small{font-size:13px;color:#777} .checks{list-style:none;padding:0;font-size:14px} .holds{color:#2a7a2a} .fails{color:#b00020;font-weight:bold}
</style></head><body>
<h1>The papers' experiments, rerun</h1>
<p>The papers' constants and links, with the repository's own pair of models (0.7 and 1.5 million parameters, 4096 tokens) in place of theirs.
What is a property of a method or of a link can be compared number by number; what is a property of their models cannot, and the
right-hand column says so. Brackets hold 95 % of bootstrap samples. "Met": our interval reaches what the paper prints; "met in sign": only the
direction is the same; "not met": it is the opposite, or the interval holds no change.)";
  if (facts.quick) out << " <b>This is a quick run: few problems, wide intervals.</b>";
  out << "</p>\n<p class=small>seed " << facts.seed << ", " << facts.jobs << " jobs, " << number(facts.seconds, 4)
      << " s in all.</p>\n";
  out << "<table><caption>Contents</caption>\n";
  detail::write_row(out, "th", {"figure", "checks", "seconds"});
  for (const reported_paper& p : papers) {
    for (const figure& f : p.figures) {
      std::size_t good = 0;
      for (const check& c : f.checks) good += c.holds ? 1 : 0;
      out << "<tr><td><a href='#" << f.name << "'>" << detail::escaped(f.title) << "</a></td><td>" << good << " of "
          << f.checks.size() << "</td><td>" << number(f.seconds, 3) << "</td></tr>\n";
    }
  }
  out << "</table>\n";
  for (const reported_paper& p : papers) {
    if (p.figures.empty()) continue;
    out << "<h2>" << detail::escaped(p.about.title) << (p.about.arxiv.empty() ? "" : " (arXiv " + p.about.arxiv + ")")
        << "</h2>\n";
    if (!p.about.remarks.empty()) out << "<p>" << detail::escaped(p.about.remarks) << "</p>\n";
    for (const figure& f : p.figures) detail::write_figure(out, f, folder);
  }
  out << "</body></html>\n";
  write_lists(papers, folder);
}

}  // namespace lab

#endif
