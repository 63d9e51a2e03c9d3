// SPDX-License-Identifier: Apache-2.0
// Committed inputs of the fuzz targets: tests/fuzz/corpus/*.txt have a line `TARGET NAME HEX` per input. scripts/fuzz
// unpacks them for libFuzzer, and adds the file of a finding.
#ifndef SPECVERIFY_TESTS_FUZZ_CORPUS_HPP
#define SPECVERIFY_TESTS_FUZZ_CORPUS_HPP

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace specverify_fuzz {

using corpus = std::map<std::string, std::vector<std::byte>>;

//! Returns true if tests should write the seeds of the targets anew.
inline bool writes_corpus() { return std::getenv("SPECVERIFY_WRITE_CORPUS") != nullptr; }

//! Calls `use(file, target, name, hex)` for each line of the corpora.
template <class Use>
void each_input(const Use& use) {
  for (const auto& file : std::filesystem::directory_iterator("tests/fuzz/corpus")) {
    std::ifstream in(file.path());
    for (std::string target, name, hex; in >> target >> name && std::getline(in, hex);) {
      hex.erase(0, 1);  // the space
      use(file.path(), target, name, hex);
    }
  }
}

//! Returns the inputs of a target by name.
inline corpus corpus_of(const std::string& wanted) {
  constexpr std::string_view digits = "0123456789abcdef";
  corpus inputs;
  each_input([&](const auto&, const std::string& target, const std::string& name, const std::string& hex) {
    if (target != wanted) return;
    std::vector<std::byte>& bytes = inputs[name];
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(digits.find(hex[i]) * 16 + digits.find(hex[i + 1])));
  });
  return inputs;
}

//! Writes one input into the file that has its target, or replaces it.
inline void keep_input(const std::string& wanted, const std::string& label, std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::filesystem::path kept_in = "tests/fuzz/corpus/" + wanted + ".txt";
  each_input([&](const auto& file, const std::string& target, const auto&, const auto&) {
    if (target == wanted) kept_in = file;
  });
  std::map<std::string, std::string> lines;
  each_input([&](const auto& file, const std::string& target, const std::string& name, const std::string& hex) {
    if (file == kept_in) lines[target + ' ' + name] = hex;
  });
  std::string& hex = lines[wanted + ' ' + label];
  hex.clear();
  for (const std::byte b : bytes) {
    hex += digits[std::to_integer<unsigned>(b) >> 4];
    hex += digits[std::to_integer<unsigned>(b) & 15u];
  }
  std::ofstream out(kept_in);
  for (const auto& [names, content] : lines) out << names << ' ' << content << '\n';
}
inline void keep_input(const std::string& target, const std::string& name, std::string_view text) {
  keep_input(target, name, std::as_bytes(std::span(text)));
}

}  // namespace specverify_fuzz

#endif
