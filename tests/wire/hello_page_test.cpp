// SPDX-License-Identifier: Apache-2.0
// The table of hello in docs/wire-format.md has the terms that the code visits: byte, name, type and range of each.
#include <doctest/doctest.h>

#include <specverify/codec/message.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "unit/codec/message_kit.hpp"

using namespace specverify;

namespace {

constexpr std::uint32_t vocab_size = 50257;

//! A hello in which no other term narrows the range of a term.
hello_message some_hello() {
  hello_message hello;
  hello.rule = wire_rule::semantic;
  hello.prompt_length = 1;
  hello.format = {law_format::sparse_paper, vocab_size, 100, 0, 8, 1, {16, hidden_format::int8, false, false, 0}};
  return hello;
}

//! 1, 4096 or 2²⁴, the way the page has it. V stands for the vocabulary of `some_hello`.
std::string page_number(std::uint64_t value) {
  if (value < 8192 || (value & (value - 1)) != 0) return std::to_string(value);
  const std::array<const char*, 10> digits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string exponent;
  for (const char digit : std::to_string(std::bit_width(value) - 1)) exponent += digits[std::size_t(digit - '0')];
  return "2" + exponent;
}

struct row {
  std::size_t byte;
  std::string field, range;  //!< the range is empty if other terms bound this one
  unsigned bytes;
};

//! The rows that the visitor gives.
struct row_list {
  std::vector<row> rows{};
  std::size_t byte = detail::terms_at;

  template <class T>
  void operator()(const T&, detail::term, const char* name, const detail::term_range& range) {
    row made{byte, name, {}, sizeof(T)};
    if constexpr (std::is_same_v<T, double>) {
      made.field += ", bits of a double";
      const double most = std::bit_cast<double>(range.most);
      made.range = range.least == 0 ? "[0, " : "(0, ";
      made.range += range.most == detail::bits_of_infinity - 1 ? "∞)"
                    : most == max_temperature                  ? "2¹²⁰]"
                                                               : std::to_string(int(most)) + "]";
    } else {
      made.field += " u" + std::to_string(8 * sizeof(T));
      if (range.most != ~std::uint64_t{0}) {
        made.range = page_number(range.least) + ".." + page_number(range.most);
      } else if (range.least != 0) {
        made.range = "≥ " + page_number(range.least);
      }
    }
    rows.push_back(made);
    byte += sizeof(T);
  }
};

//! The page's rows of hello by their first cell.
std::map<std::string, std::array<std::string, 2>> page() {
  std::map<std::string, std::array<std::string, 2>> rows;
  std::ifstream file("docs/wire-format.md");
  std::string line;
  while (std::getline(file, line) && line.rfind("**hello**", 0) != 0) continue;
  while (std::getline(file, line) && line.rfind("| 139 |", 0) != 0) {
    if (line.rfind("| ", 0) != 0) continue;
    const std::size_t second = line.find(" | ", 2), third = line.find(" | ", second + 3);
    if (third == std::string::npos) continue;
    std::string range = line.substr(third + 3);
    range.erase(range.rfind('|'));
    rows[line.substr(2, second - 2)] = {line.substr(second + 3, third - second - 3), range};
  }
  return rows;
}

//! Whether hello takes a number at a byte.
bool takes(const row& at, std::uint64_t value) {
  std::vector<std::byte> bytes(200);
  const auto written = encode_hello(some_hello(), bytes);
  REQUIRE(written.ok());
  bytes.resize(written->size());
  numeric::store_le(bytes.data() + at.byte, value, at.bytes);
  specverify_test::seal_hello(bytes);
  return decode_hello(bytes).ok();
}

//! The number that a text of the page begins with.
std::optional<std::uint64_t> number_of_page(const std::string& text) {
  const std::string number = text.substr(0, text.find_first_of(" ,;:"));
  if (number == "V") return vocab_size;
  for (unsigned bit = 13; bit < 32; ++bit) {
    if (number == page_number(std::uint64_t{1} << bit)) return std::uint64_t{1} << bit;
  }
  if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoull(number);
}

}  // namespace

TEST_CASE("hello: docs/wire-format.md has every term with its byte, name, type and range") {
  hello_message hello = some_hello();
  row_list terms;
  detail::terms_fields(terms, static_cast<session_terms&>(hello), hello.prompt_length);
  CHECK(terms.byte == detail::hello_bytes);
  const auto rows = page();
  CHECK(rows.size() == terms.rows.size() + 3);  // the head of the table, version and head
  int probed = 0;
  for (const row& each : terms.rows) {
    CAPTURE(each.byte);
    const auto found = rows.find(std::to_string(each.byte));
    REQUIRE(found != rows.end());
    const auto& [field_of_page, range_of_page] = found->second;
    CHECK(field_of_page == each.field);
    const std::string start_of_range = range_of_page.substr(0, each.range.size());
    CHECK(start_of_range == each.range);
    if (!each.range.empty() || range_of_page.empty()) continue;
    const bool page_has_a_range_alone = range_of_page.find_first_of("[(") == 0;
    CHECK_FALSE(page_has_a_range_alone);
    const bool open_above = range_of_page.rfind("≥ ", 0) == 0;
    const std::size_t dots = range_of_page.find("..");
    if (!open_above && dots == std::string::npos) continue;
    const auto least = number_of_page(open_above ? range_of_page.substr(4) : range_of_page.substr(0, dots));
    REQUIRE(least.has_value());
    CHECK(takes(each, *least));
    if (*least > 0) CHECK_FALSE(takes(each, *least - 1));
    if (open_above) continue;
    const auto most = number_of_page(range_of_page.substr(dots + 2));
    REQUIRE(most.has_value());
    CHECK(takes(each, *most));
    CHECK_FALSE(takes(each, *most + 1));
    ++probed;
  }
  CHECK(probed == 7);  // V, resolution, K, M, pad_to, hidden size and S
}
