// SPDX-License-Identifier: Apache-2.0
//! Writes the parts of docs/lab.md that a run decides: the coverage of the papers' claims, the other comparisons, the
//! figures that ran, and the pictures. Each part stands between `<!-- printed: NAME -->` and `<!-- end -->`. A run of
//! some figures replaces only their rows.
#ifndef SPECVERIFY_APPS_LAB_PAGE_HPP
#define SPECVERIFY_APPS_LAB_PAGE_HPP

#include "report.hpp"

#include <map>

namespace lab {

//! What the page says about the run.
struct page_facts {
  std::string commit;      //!< of the sources
  std::string machine;     //!< instruction set for which the models were compiled
  std::string arithmetic;  //!< hash of the models' states; equal if the numbers are
  std::uint64_t seed = 0;
};

//! Returns the instruction set for which this program was compiled.
[[nodiscard]] constexpr std::string_view instruction_set() {
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "AArch64";
#else
  return "another instruction set";
#endif
}

namespace detail {

using row = std::vector<std::string>;

[[nodiscard]] inline std::string page_line(const row& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : cell) line += c == '|' ? std::string("\\|") : c == '\n' ? std::string(" ") : std::string(1, c);
    line += " |";
  }
  return line;
}

//! Returns the first cells of a line that `page_line` wrote. Two lines with the same key are about the same thing.
[[nodiscard]] inline std::string key_of(const std::string& line, std::size_t cells) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < cells && end != std::string::npos; ++i) end = line.find(" | ", end + 1);
  return line.substr(0, end);
}

//! Returns the place of the part `name` in the page: from after the first mark to before the last.
[[nodiscard]] inline std::pair<std::size_t, std::size_t> part_of(const std::string& page, const std::string& name) {
  const std::string mark = "<!-- printed: " + name + " -->\n";
  const std::size_t begin = page.find(mark);
  const std::size_t end = begin == std::string::npos ? begin : page.find("<!-- end -->", begin);
  if (end == std::string::npos) throw std::runtime_error("the page has no part '" + name + "' between its two marks");
  return {begin + mark.size(), end};
}

//! Returns the rows of the tables of a part, without heads, by key.
[[nodiscard]] inline std::map<std::string, std::string> rows_of(const std::string& page, const std::string& name,
                                                                std::size_t cells) {
  const auto [begin, end] = part_of(page, name);
  std::map<std::string, std::string> rows;
  std::istringstream in(page.substr(begin, end - begin));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| ")) rows[key_of(line, cells)] = line;
  }
  return rows;
}

[[nodiscard]] inline row claim_row(const claim& c, finding found, const std::string& ours, const std::string& why,
                                   const std::string& figure) {
  const std::string header(c.header);
  return {std::string(c.statement) + " (" + std::string(c.place) + ")",
          std::string(c.value),
          ours,
          std::string(text_of(found)),
          why,
          figure.empty() ? "none" : "`" + figure + "`",
          "[" + header + "](../include/specverify/" + header + ".hpp)"};
}

//! Returns the rows of the claims that this run decides, one after another in the order of `claims`; the others are
//! empty. Throws if a claim has two answers.
[[nodiscard]] inline std::vector<std::string> claim_lines(const std::vector<reported_paper>& papers) {
  std::vector<std::string> lines(std::size(claims));
  const auto put = [&](std::size_t at, finding found, const std::string& ours, const std::string& why,
                       const std::string& figure) {
    if (!lines[at].empty()) throw std::logic_error("two answers to the claim " + std::string(claims[at].id));
    lines[at] = page_line(claim_row(claims[at], found, ours, why, figure));
  };
  for (const reported_paper& p : papers) {
    for (const claim_not_run& c : p.about.not_run) put(c.id.place(), finding::not_run, "-", c.why, "");
    for (const figure& f : p.figures) {
      for (const claim_answer& a : f.answers) put(a.claim, a.found, a.ours, a.why, f.name);
    }
  }
  return lines;
}

[[nodiscard]] inline std::string page_head(const row& names) {
  std::string rule = "|";
  for (std::size_t i = 0; i < names.size(); ++i) rule += "---|";
  return page_line(names) + "\n" + rule + "\n";
}

//! Returns the table of coverage: new rows where this run decides, and the rows of `old` elsewhere.
[[nodiscard]] inline std::string coverage_part(const std::vector<reported_paper>& papers, const std::string& page) {
  const std::map<std::string, std::string> old = rows_of(page, "coverage", 1);
  std::vector<std::string> lines = claim_lines(papers);
  std::map<std::string, std::size_t> counts;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) {
      lines[i] = page_line(claim_row(claims[i], finding::not_run, "-", "no run has written an answer here", ""));
      if (const auto kept = old.find(key_of(lines[i], 1)); kept != old.end()) lines[i] = kept->second;
    }
    for (const auto v : {finding::met, finding::in_sign, finding::not_met, finding::shown_false, finding::not_run})
      counts[std::string(text_of(v))] += lines[i].find(" | " + std::string(text_of(v)) + " | ") != std::string::npos;
  }
  std::string out = std::to_string(lines.size()) + " claims:";
  for (const auto v : {finding::met, finding::in_sign, finding::not_met, finding::shown_false, finding::not_run})
    out += (v == finding::met ? " " : ", ") + std::to_string(counts[std::string(text_of(v))]) + " " +
           std::string(text_of(v));
  out += ".\n";
  for (const reported_paper& p : papers) {
    bool begun = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (claims[i].paper() != p.about.name) continue;
      if (!begun) {
        out += "\n**" + p.about.title + "** (arXiv " + p.about.arxiv + ")\n\n" +
               page_head({"claim", "paper", "ours", "verdict", "reason", "figure", "header"});
      }
      begun = true;
      out += lines[i] + "\n";
    }
  }
  return out;
}

//! Returns a table with rows of all figures: new ones for figures that ran, old ones for the others. The first cell of
//! a row must be the figure's name.
template <class Rows>
[[nodiscard]] std::string figures_part(const std::vector<reported_paper>& papers, const std::string& page,
                                       const std::string& name, const row& head, Rows rows) {
  const auto [begin, end] = part_of(page, name);
  const std::string before = page.substr(begin, end - begin);
  std::string out = page_head(head);
  for (const reported_paper& p : papers) {
    for (const planned_figure& planned : p.about.figures) {
      const auto ran =
          std::find_if(p.figures.begin(), p.figures.end(), [&](const figure& f) { return f.name == planned.name; });
      if (ran != p.figures.end()) {
        for (const row& cells : rows(*ran)) out += page_line(cells) + "\n";
        continue;
      }
      std::istringstream in(before);
      for (std::string line; std::getline(in, line);) {
        if (line.starts_with("| `" + planned.name + "` |")) out += line + "\n";
      }
    }
  }
  return out;
}

[[nodiscard]] inline std::vector<row> comparison_rows(const figure& f) {
  std::vector<row> rows;
  for (const comparison& c : f.comparisons) rows.push_back({"`" + f.name + "`", c.what, c.paper, c.ours, c.why});
  return rows;
}

inline void replace_part(std::string& page, const std::string& name, const std::string& text) {
  const auto [begin, end] = part_of(page, name);
  page.replace(begin, end - begin, "\n" + text + "\n");
}

[[nodiscard]] inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

//! Copies the pictures that the page shows (results/lab_NAME.svg) and this run drew.
inline void copy_pictures(const std::vector<reported_paper>& papers, const std::string& page,
                          const std::filesystem::path& from, const std::filesystem::path& to) {
  for (const reported_paper& p : papers) {
    for (const figure& f : p.figures) {
      const std::string name = "lab_" + f.name + ".svg";
      if (!f.drawn || page.find("(results/" + name + ")") == std::string::npos) continue;
      std::filesystem::copy_file(from / (f.name + ".svg"), to / name,
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }
}

//! Returns the numbers of a text, each with an interval if "[low, high]" follows.
[[nodiscard]] inline std::vector<estimate> numbers_of(const std::string& text) {
  std::vector<estimate> found;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < text.size();) {
    const bool sign = text[i] == '-' && i + 1 < text.size() && digit(text[i + 1]);
    if (!digit(text[i]) && !sign) {
      ++i;
      continue;
    }
    char* end = nullptr;
    const double value = std::strtod(text.c_str() + i, &end);
    i = static_cast<std::size_t>(end - text.c_str());
    estimate e{value, value, value};
    double low = 0, high = 0;
    int used = 0;
    const std::size_t bracket = text.find('[', i);
    if (bracket != std::string::npos && bracket - i <= 3 &&
        std::sscanf(text.c_str() + bracket, "[%lf, %lf]%n", &low, &high, &used) == 2 && used > 0) {
      e = {value, low, high};
      i = bracket + static_cast<std::size_t>(used);
    }
    found.push_back(e);
  }
  return found;
}

//! Returns whether every value of `now` is inside the interval that `before` prints for it.
[[nodiscard]] inline bool moves_inside(const std::string& before, const std::string& now) {
  const std::vector<estimate> old = numbers_of(before), fresh = numbers_of(now);
  if (old.size() != fresh.size()) return false;
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (fresh[i].value < old[i].low || fresh[i].value > old[i].high) return false;
  }
  return true;
}

}  // namespace detail

//! Returns the ids of the claims that no figure of this run answers and that are not said to be left out.
[[nodiscard]] inline std::vector<std::string> unanswered(const std::vector<reported_paper>& papers) {
  const std::vector<std::string> lines = detail::claim_lines(papers);
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) ids.emplace_back(claims[i].id);
  }
  return ids;
}

//! Replaces the printed parts of the page `file`, and copies the pictures from `folder` to `results` next to it.
inline void write_page(const std::vector<reported_paper>& papers, const page_facts& facts,
                       const std::filesystem::path& file, const std::filesystem::path& folder) {
  std::string page = detail::read_text(file);
  const std::string coverage = detail::coverage_part(papers, page);
  const std::string others = detail::figures_part(
      papers, page, "comparisons", {"figure", "what", "paper", "ours", "reason"}, detail::comparison_rows);
  const std::string ran = detail::figures_part(
      papers, page, "figures",
      {"figure", "checks", "seconds", "CPU seconds", "commit", "machine", "arithmetic", "seed"}, [&](const figure& f) {
        return std::vector<detail::row>{{"`" + f.name + "`", std::to_string(f.checks.size()), number(f.seconds, 3),
                                         number(f.cpu_seconds, 3), facts.commit, facts.machine, facts.arithmetic,
                                         std::to_string(facts.seed)}};
      });
  detail::replace_part(page, "coverage", coverage);
  detail::replace_part(page, "comparisons", others);
  detail::replace_part(page, "figures", ran);
  detail::copy_pictures(papers, page, folder, file.parent_path() / "results");
  std::ofstream(file, std::ios::binary) << page;
}

//! Compares the page's rows about the figures that ran with what this run prints, and the claims that are not run of
//! papers whose figures all ran. Returns the rows that differ, new and old. A row must be equal byte for byte; but
//! where the page's figure was run with other arithmetic, a value may move inside the printed interval.
[[nodiscard]] inline std::vector<std::string> page_differences(const std::vector<reported_paper>& papers,
                                                               const page_facts& facts,
                                                               const std::filesystem::path& file) {
  const std::string page = detail::read_text(file);
  const auto old_claims = detail::rows_of(page, "coverage", 1), others = detail::rows_of(page, "comparisons", 2),
             ran = detail::rows_of(page, "figures", 1);
  std::vector<std::string> differences;
  const auto compare = [&](const std::map<std::string, std::string>& old, const std::string& line, std::size_t cells,
                           bool exact) {
    const auto found = old.find(detail::key_of(line, cells));
    if (found == old.end()) {
      differences.push_back("not on the page: " + line);
    } else if (found->second != line && (exact || !detail::moves_inside(found->second, line))) {
      differences.push_back("page: " + found->second + "\nnow:  " + line);
    }
  };
  const std::vector<std::string> lines = detail::claim_lines(papers);
  for (const reported_paper& p : papers) {
    if (p.figures.size() == p.about.figures.size()) {  // all figures of the paper ran
      for (const claim_not_run& c : p.about.not_run) compare(old_claims, lines[c.id.place()], 1, true);
    }
    for (const figure& f : p.figures) {
      const auto row = ran.find("| `" + f.name + "`");
      const bool exact = row == ran.end() || row->second.find(" " + facts.arithmetic + " ") != std::string::npos;
      if (row == ran.end()) differences.push_back("not on the page: the run of " + f.name);
      for (const claim_answer& a : f.answers) compare(old_claims, lines[a.claim], 1, exact);
      for (const detail::row& cells : detail::comparison_rows(f)) compare(others, detail::page_line(cells), 2, exact);
    }
  }
  return differences;
}

}  // namespace lab

#endif
