// SPDX-License-Identifier: Apache-2.0
// The committed journals of the fuzz targets of restore, and copies of them that are cut or have changed bytes.
// SPECVERIFY_WRITE_CORPUS=1 writes the seeds (journals of sessions that were served) anew.
#include <doctest/doctest.h>

#include "fuzz/restore_body.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace specverify_fuzz;

namespace {

std::filesystem::path folder_of(side restored) {
  return std::filesystem::path("tests/fuzz/corpus") / (restored == side::edge ? "restore_edge" : "restore_cloud");
}

// Messages travel for so many steps; then a side restarts from its journal, and they travel again.
template <class Skip>
std::vector<std::byte> seed(side restored, unsigned choice, unsigned mended, int steps) {
  std::vector<std::byte> script{static_cast<std::byte>(choice)};
  for (int i = 0; i < steps; ++i) script.push_back(static_cast<std::byte>(i % 2));
  session_script<Skip> session(script);
  session.run();
  const auto journal = restored == side::edge ? session.edge_journal() : session.cloud_journal();
  std::vector<std::byte> made{static_cast<std::byte>(choice), static_cast<std::byte>(mended),
                              static_cast<std::byte>(journal.size() & 255u),
                              static_cast<std::byte>(journal.size() >> 8)};
  made.insert(made.end(), journal.begin(), journal.end());
  made.insert(made.end(), script.begin() + 1, script.end());
  return made;
}

void write_seeds(side restored) {
  std::filesystem::create_directories(folder_of(restored));
  for (unsigned choice = 0; choice < systems + 2; ++choice) {
    const unsigned words = choice < systems ? choice : choice == systems ? 0x80u : 0x40u;  // stream, greedy
    const unsigned mended = choice % 4;
    const auto made = words % systems < systems - 2 ? seed<always_send>(restored, words, mended, 8)
                                                    : seed<random_skip>(restored, words, mended, 8);
    std::ofstream out(folder_of(restored) / ("system" + std::to_string(words)), std::ios::binary);
    out.write(reinterpret_cast<const char*>(made.data()), static_cast<std::streamsize>(made.size()));
  }
}

void replay(side restored) {
  if (std::getenv("SPECVERIFY_WRITE_CORPUS") != nullptr) write_seeds(restored);
  REQUIRE(std::filesystem::exists(folder_of(restored)));
  std::size_t files = 0;
  specverify_test::dice dice(13);
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(restored))) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::vector<char> content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    restore_input(restored, std::as_bytes(std::span<const char>(content)));
    ++files;
    if (content.size() < restore_head) continue;
    content[1] = 0;  // the journal's own checks: nothing is mended
    for (int i = 0; i < 60; ++i) {
      std::vector<char> changed = content;
      for (std::uint64_t n = dice.below(3); n > 0; --n)
        changed[restore_head + dice.below(static_cast<std::uint32_t>(changed.size() - restore_head))] =
            static_cast<char>(dice.next());
      if (dice.below(3) == 0) changed[2] = static_cast<char>(dice.next());
      restore_input(restored, std::as_bytes(std::span<const char>(changed)));
    }
  }
  CHECK(files >= systems);
}

}  // namespace

TEST_CASE("T29 fuzz replay: journals of an edge") { replay(side::edge); }

TEST_CASE("T29 fuzz replay: journals of a cloud") { replay(side::cloud); }
