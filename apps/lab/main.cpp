// SPDX-License-Identifier: Apache-2.0
// Reruns the papers' experiments: figures as CSV and SVG, and one page that compares the papers' results with ours.
// Exit code: 0 if every check passes; 1 if a check fails or the output cannot be printed; 2 for wrong usage or files;
// 70 for any other failure.
#include "../standard_output.hpp"
#include "page.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cinttypes>

namespace {

bool chosen(const lab::paper& p, const lab::planned_figure& f, const std::vector<std::string>& only) {
  return only.empty() || std::find(only.begin(), only.end(), p.name) != only.end() ||
         std::find(only.begin(), only.end(), f.name) != only.end();
}

void list(const std::vector<lab::paper>& papers) {
  for (const lab::paper& p : papers) {
    std::printf("%-6s %s%s\n", p.name.c_str(), p.title.c_str(),
                p.arxiv.empty() ? "" : (" (arXiv " + p.arxiv + ")").c_str());
    for (const lab::planned_figure& f : p.figures)
      std::printf("         %-26s %4.0f s, quick %3.0f s  %s\n", f.name.c_str(), f.seconds, f.quick_seconds,
                  f.title.c_str());
  }
}

}  // namespace

static int run(int argc, char** argv) try {
  lab::lab_settings settings;
  std::vector<std::string> only;
  bool only_list = false;
  std::string page, page_check, commit = "unknown";
  CLI::App app{"Repeats the papers' experiments with the bundled models."};
  app.add_flag("--quick", settings.quick,
               "use fewer problems: takes less than two minutes, but confidence intervals are wider");
  app.add_option("--only", only, "comma-separated papers or figures to run; default: all (names: --list)")
      ->delimiter(',');
  app.add_option("--out", settings.out, "folder for the figures, the recorded rows and the report")
      ->capture_default_str()
      ->take_last();
  app.add_option("--seed", settings.seed, "random seed")->capture_default_str();
  app.add_option("--jobs", settings.jobs, "number of threads; the results do not depend on this number")
      ->capture_default_str()
      ->take_last()
      ->check(CLI::Range(1, 64));
  app.add_option("--models", settings.models, "folder with the bundled models; default: the models of the source tree")
      ->check(CLI::ExistingDirectory);
  app.add_option("--data", settings.data, "folder with the problem sets and the prose texts")
      ->capture_default_str()
      ->check(CLI::ExistingDirectory);
  app.add_flag("!--no-trace-files", settings.trace_files,
               "do not read recorded rows of earlier runs from trace files, and do not write such files");
  app.add_option("--page", page,
                 "page to update (docs/lab.md): replaces the results and pictures of the figures that ran")
      ->check(CLI::ExistingFile);
  app.add_option("--page-check", page_check,
                 "fail if the results on this page differ from the results of the figures that ran")
      ->check(CLI::ExistingFile);
  app.add_option("--commit", commit, "commit of the sources, for the page")->take_last();
  app.add_flag("--list", only_list, "list papers and figures, then exit");
  CLI11_PARSE(app, argc, argv);

  const std::vector<lab::paper> papers = lab::all_papers();
  if (only_list) return list(papers), 0;
  for (const std::string& name : only) {
    const bool known = std::any_of(papers.begin(), papers.end(), [&](const lab::paper& p) {
      return p.name == name || std::any_of(p.figures.begin(), p.figures.end(),
                                           [&](const lab::planned_figure& f) { return f.name == name; });
    });
    if (!known) return std::fprintf(stderr, "no paper or figure is named %s; see --list\n", name.c_str()), 2;
  }
  if (settings.quick && !(page + page_check).empty())
    return std::fprintf(stderr, "the page has results of whole figures: omit --quick\n"), 2;
  std::filesystem::create_directories(settings.out);
  lab::lab_context context(settings);
  if (settings.trace_files) context.load_traces(stdout);

  std::size_t count = 0;
  double planned = 0;
  for (const lab::paper& p : papers) {
    for (const lab::planned_figure& f : p.figures) {
      if (!chosen(p, f, only)) continue;
      ++count;
      planned += settings.quick ? f.quick_seconds : f.seconds;
    }
  }
  lab::progress progress(stdout, count, planned);
  context.report_to(&progress);
  std::vector<lab::reported_paper> done;
  lab::report_facts facts{settings.quick, settings.seed, settings.jobs, 0};
  std::vector<std::string> broken;
  for (const lab::paper& p : papers) {
    done.push_back({p, {}});
    for (const lab::planned_figure& f : p.figures) {
      if (!chosen(p, f, only)) continue;
      lab::figure& made = done.back().figures.emplace_back();
      made.name = f.name;
      made.title = f.title;
      progress.begin_figure(f.name, settings.quick ? f.quick_seconds : f.seconds);
      f.run(context, made);
      write_files(made, settings.out);
      const auto took = progress.end_figure(made.holds() ? "ok" : "A CHECK FAILS");
      made.seconds = took.seconds;
      made.cpu_seconds = took.cpu_seconds;
      facts.seconds += made.seconds;
      for (const lab::check& c : made.checks) {
        if (!c.holds) broken.push_back(f.name + ": " + c.what + (c.detail.empty() ? "" : " (" + c.detail + ")"));
      }
      write_report(done, facts, settings.out);
    }
  }
  if (settings.trace_files) context.save_traces(stdout);
  if (only.empty()) {
    for (const std::string& id : lab::unanswered(done)) broken.push_back("no figure answers the claim " + id);
  }
  char arithmetic[24];
  std::snprintf(arithmetic, sizeof arithmetic, "%016" PRIx64,
                context.drafter_trace()->arithmetic() ^ context.target_trace()->arithmetic());
  const lab::page_facts about{commit, std::string(lab::instruction_set()), arithmetic, settings.seed};
  if (!page_check.empty()) {
    for (std::string& line : page_differences(done, about, page_check)) broken.push_back(std::move(line));
  }
  if (!page.empty()) write_page(done, about, page, settings.out);
  for (const std::string& line : broken) std::printf("FAILS  %s\n", line.c_str());
  std::printf("%zu figures, %.0f s, %zu checks fail; report: %s\n", count, facts.seconds, broken.size(),
              (settings.out / "report.html").string().c_str());
  return broken.empty() ? 0 : 1;
} catch (const std::exception& error) {
  return programs::exit_code_of("lab", error);
}

int main(int argc, char** argv) {
  return programs::with_output("lab", [&] { return run(argc, argv); });
}
