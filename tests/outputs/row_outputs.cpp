// SPDX-License-Identifier: Apache-2.0
// What every operation on a row decides, as numbers that another build must give too.
// usage: row_outputs write SMALL WIDE EACH THREADS FILE   the outputs of every EACH-th row
//        row_outputs planted SMALL WIDE EACH THREADS FILE   and the first one has another last value
//        row_outputs compare FILE OTHER
//          "N rows compared, D differing"; exit code 1 with a difference
// Rows: SMALL of 1 to 4099 ids, WIDE of about 128 256, and every hard one; logits as float, double, fp16 and bf16, with
// and without a stride, and probabilities. Every build makes the same rows.
// SPECVERIFY_OUTPUTS_POLICY: the policy whose outputs are written.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "examined_row.hpp"

#ifndef SPECVERIFY_OUTPUTS_POLICY
#define SPECVERIFY_OUTPUTS_POLICY specverify::exec::simd
#endif

using namespace row_outputs;

namespace {

struct selection {
  std::uint32_t small, wide, each;
  bool planted = false;
};

row_case case_of(const selection& rows, std::uint32_t number) {
  if (number < rows.small + rows.wide) return any_row(number, number >= rows.small);
  return hard_row(number - rows.small - rows.wide);
}

int write(const selection& rows, const thread_pool& pool, const char* path) {
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) return 2;
  std::vector<std::byte> memory;
  std::size_t written = 0;
  for (std::uint32_t number = 0; number < rows.small + rows.wide + hard_count; number += rows.each) {
    row_case one = case_of(rows, number);
    if (rows.planted && number == 0) one.values.back() += 0.25f;
    const outputs found = outputs_of(SPECVERIFY_OUTPUTS_POLICY, pool, one, memory);
    written += std::fwrite(found.data(), sizeof(found), 1, file);
  }
  return std::fclose(file) == 0 && written > 0 ? 0 : 2;
}

std::vector<outputs> read(const char* path) {
  std::vector<outputs> rows;
  outputs one;
  if (std::FILE* const file = std::fopen(path, "rb")) {
    while (std::fread(one.data(), sizeof(one), 1, file) == 1) rows.push_back(one);
    std::fclose(file);
  }
  return rows;
}

int compare(const char* path, const char* other) {
  const std::vector<outputs> a = read(path), b = read(other);
  if (a.empty() || a.size() != b.size()) {
    std::printf("%zu rows in one file, %zu in the other\n", a.size(), b.size());
    return 1;
  }
  std::size_t differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    for (std::size_t part = 0; part < parts && differing < 8; ++part) {
      if (a[i][part] != b[i][part]) std::printf("  place %zu: other %s\n", i, names[part]);
    }
    ++differing;
  }
  std::printf("%zu rows compared, %zu differing\n", a.size(), differing);
  return differing == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** given) {
  const std::string what = count > 1 ? given[1] : "";
  if (what == "compare" && count == 4) return compare(given[2], given[3]);
  if ((what != "write" && what != "planted") || count != 7) {
    std::fprintf(stderr, "usage: row_outputs write|planted SMALL WIDE EACH THREADS FILE | compare FILE OTHER\n");
    return 2;
  }
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::strtoul(given[i], nullptr, 10)); };
  const selection rows{number(2), number(3), number(4) > 0 ? number(4) : 1, what == "planted"};
  return write(rows, {number(5) > 0 ? number(5) : 1}, given[6]);
}
