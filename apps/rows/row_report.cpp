// SPDX-License-Identifier: Apache-2.0
// Estimates each system on recorded rows, and writes a table, CSV, and a plot of acceptance over bits. Exit code: 0; 1
// if the table cannot be printed; 2 for wrong usage or files; 70 for any other failure.
#include "../standard_output.hpp"
#include "report_files.hpp"

#include <CLI/CLI.hpp>

static int run(int argc, char** argv) try {
  std::vector<std::string> files;
  std::string folder;
  double temperature = 1;
  CLI::App app{"Reports acceptance and message sizes of each paper's method on recorded rows (docs/rows.md)."};
  app.add_option("FILE", files, "files with recorded rows, in the format rows-1")->required();
  app.add_option("--temperature", temperature, "sampling temperature of both models")
      ->capture_default_str()
      ->check(CLI::Range(1e-3, 1e3));
  app.add_option("--out", folder, "folder for rows.csv and rows.svg; default: write no files, only print the table");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::vector<recorded::file_report> all;
  for (const std::string& file : files) {
    try {
      all.push_back(recorded::report_of(file, temperature));
    } catch (const std::exception& error) {
      return std::fprintf(stderr, "row_report: %s: %s\n", file.c_str(), error.what()), 2;
    }
    recorded::print_table(all.back(), stdout);
  }
  std::printf("* the papers' setting. Bits are per drafted token; coded bits are those of real messages.\n");
  if (!folder.empty()) {
    const bool drawn = recorded::write_files(all, folder);
    std::printf("%s/rows.csv%s\n", folder.c_str(), drawn ? (" and " + folder + "/rows.svg").c_str() : "; no plot");
  }
  return 0;
} catch (const std::exception& error) {
  return programs::exit_code_of("row_report", error);
}

int main(int argc, char** argv) {
  return programs::with_output("row_report", [&] { return run(argc, argv); });
}
