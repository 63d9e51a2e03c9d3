// SPDX-License-Identifier: Apache-2.0
// rows-1: what is written is read, and each defect of a file has its name. Built by apps/rows/CMakeLists.txt, and by
// tests/CMakeLists.txt where there are no apps; elsewhere this file is empty.
#ifdef SPECVERIFY_ROWS

#include <specverify/core/random.hpp>

#include "../../../apps/rows/rows_reader.hpp"
#include "../../../apps/rows/rows_writer.hpp"

#include <cstdlib>
#include <functional>
#include <sstream>

#include <unistd.h>

#include <doctest/doctest.h>

namespace {

using recorded::bad_rows;
using recorded::defect;
using recorded::side;

//! A file that goes with the test.
struct temporary_file {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("rows." + std::to_string(::getpid()) + ".safetensors");
  temporary_file() = default;
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() { std::filesystem::remove(path); }
  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  [[nodiscard]] std::string read() const {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
};

const std::vector<std::vector<float>> p_rows{{0.5f, -1.25f, 3, 2, 0.125f}, {1, 1, 1, -20, 7}};
const std::vector<std::vector<float>> q_rows{{0, -2, 2.5f, 2, 1}, {4, 4.5f, -3, 0, -0.5f}};

recorded::rows_plan small_plan() {
  recorded::rows_plan plan{.rows = 2, .vocab_size = 5};
  plan.about = {{"fingerprint", "00"}, {"sha256_p", "ab"}};
  return plan;
}

void write_small(const temporary_file& file, const recorded::rows_plan& plan) {
  recorded::rows_writer out(file.path, plan);
  const std::vector<float> hidden{1, 2, 3}, attention{0.25f, 0.75f};
  for (std::uint32_t i = 0; i < 2; ++i)
    out.add({.token = static_cast<specverify::token_id>(3 + i),
             .position = 7 + i,
             .p = p_rows[i],
             .q = q_rows[i],
             .hidden_p = hidden,
             .hidden_q = std::span(hidden).first(2),
             .attention = std::span(attention).first(1 + i)});
  out.finish();
}

std::vector<float> row_of(const recorded::rows_file& file, side which, std::size_t i) {
  std::vector<float> row(file.vocab_size());
  file.logits(which, i, row);
  return row;
}

//! The file of a header and as many bytes of data; what it is refused for.
std::string refusal_of(const temporary_file& file, const std::string& header, std::size_t data) {
  const std::uint64_t size = header.size();
  std::string bytes(reinterpret_cast<const char*>(&size), 8);
  file.write(bytes + header + std::string(data, '\0'));
  try {
    const recorded::rows_file read(file.path);
    return "none";
  } catch (const bad_rows& why) {
    return std::string(recorded::name_of(why.which()));
  }
}

//! A good header of one row over two tokens in which `old` is `other`; padded as the writer pads.
std::string header_with(const std::string& old, const std::string& other) {
  std::string text =
      R"({"__metadata__":{"format":"rows-1","vocab_size":"2","fingerprint":"00"},)"
      R"("tokens":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},)"
      R"("p":{"dtype":"F32","shape":[1,2],"data_offsets":[4,12]},"q":{"dtype":"F32","shape":[1,2],"data_offsets":[12,20]}})";
  if (!old.empty()) {
    const std::size_t at = text.find(old);
    REQUIRE(at != std::string::npos);
    text.replace(at, old.size(), other);
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

std::string defect_of(const std::function<void()>& act) {
  try {
    act();
    return "none";
  } catch (const bad_rows& why) {
    return std::string(recorded::name_of(why.which()));
  }
}

}  // namespace

TEST_CASE("rows-1: whole rows come back as they were, in place and widened") {
  const temporary_file file;
  recorded::rows_plan plan = small_plan();
  plan.hidden_p = 3;
  plan.hidden_q = 2;
  plan.attention = 4;
  SUBCASE("F32") {}
  SUBCASE("F16, values that halves hold") { plan.logits = recorded::dtype::f16; }
  write_small(file, plan);
  const recorded::rows_file read(file.path);
  CHECK(read.size() == 2);
  CHECK(read.vocab_size() == 5);
  CHECK(read.about().at("format") == "rows-1");
  CHECK(read.about().at("sha256_p") == "ab");
  CHECK(read.tokens()[1] == 4);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(row_of(read, side::target, i) == p_rows[i]);
    CHECK(row_of(read, side::drafter, i) == q_rows[i]);
  }
  CHECK(read.floats("hidden_p", 1)[2] == 3);
  CHECK(read.floats("hidden_q", 1)[1] == 2);
  CHECK(read.floats("attention", 0)[0] == 0.25f);
  CHECK(read.floats("attention", 0)[1] == 0);
  CHECK(read.floats("attention", 1)[1] == 0.75f);
  const bool half = plan.logits == recorded::dtype::f16;
  CHECK(defect_of([&] { (void)read.view<float>(side::target, 1); }) == (half ? "wrong_dtype" : "none"));
  CHECK(defect_of([&] { (void)read.view<specverify::float16_bits>(side::target, 1); }) ==
        (half ? "none" : "wrong_dtype"));
  CHECK(defect_of([&] { (void)row_of(read, side::target, 2); }) == "no_such_row");
}

TEST_CASE("rows-1: rows cut to their top keep these entries and the mass of the rest") {
  const temporary_file file;
  recorded::rows_plan plan = small_plan();
  plan.top = 2;
  write_small(file, plan);
  const recorded::rows_file read(file.path);
  for (const char* name :
       {"p_top_ids", "q_top_ids", "p_top_logits", "q_top_logits", "p_tail_logsumexp", "q_tail_logsumexp"})
    CHECK(read.has(name));
  const auto row = row_of(read, side::target, 1);
  CHECK(row[4] == 7);
  CHECK(row[0] == 1);  // the first of three equal ones
  const double rest = std::log((2 * std::exp(1.0) + std::exp(-20.0)) / 3);
  for (const std::size_t v : {1u, 2u, 3u}) CHECK(row[v] == doctest::Approx(rest).epsilon(1e-6));
  CHECK(defect_of([&] { (void)read.view<float>(side::target, 0); }) == "wrong_dtype");
}

TEST_CASE("rows-1: halves widen exactly and floats go to the nearest one") {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const specverify::float16_bits half{static_cast<std::uint16_t>(bits)};
    const float value = recorded::widened(half);
    if (std::isnan(value)) {
      CHECK_MESSAGE(std::isnan(recorded::widened(recorded::narrowed(value))), bits);
    } else if (recorded::narrowed(value).bits != bits) {
      FAIL("half " << bits << " does not come back");
    }
  }
  for (std::uint32_t bits = 1; bits < 0x7c00u;
       ++bits) {  // between two halves: the nearer one, the even one at the middle
    const float low = recorded::widened({static_cast<std::uint16_t>(bits - 1)}),
                high = recorded::widened({static_cast<std::uint16_t>(bits)}), middle = low + (high - low) / 2;
    const std::uint32_t even = bits % 2 == 0 ? bits : bits - 1;
    if (recorded::narrowed(middle).bits != even) FAIL("the middle below half " << bits);
    if (recorded::narrowed(std::nextafter(middle, 0.0f)).bits != bits - 1) FAIL("below the middle of half " << bits);
    if (recorded::narrowed(std::nextafter(middle, 1e9f)).bits != bits) FAIL("above the middle of half " << bits);
  }
  CHECK(recorded::narrowed(65519.99f).bits == 0x7bff);
  CHECK(recorded::narrowed(65520.0f).bits == 0x7c00);
  CHECK(recorded::narrowed(-1e30f).bits == 0xfc00);
}

TEST_CASE("rows-1: each bad file is refused by name") {
  const temporary_file file;
  const auto refused = [&](const std::string& old, const std::string& other, std::size_t data = 20) {
    return refusal_of(file, header_with(old, other), data);
  };
  CHECK(refused("", "") == "none");
  CHECK(defect_of([] { (void)recorded::rows_file("no such file"); }) == "cannot_open");
  CHECK(defect_of([] { (void)recorded::rows_file("/"); }) == "cannot_open");
  for (const char* bytes : {"", "1234567", "\xff\xff\xff\xff\xff\xff\xff\x7f{}"}) {
    file.write(bytes);
    CHECK(defect_of([&] { (void)recorded::rows_file(file.path); }) == "truncated");
  }
  CHECK(refused("", "", 19) == "truncated");
  CHECK(refusal_of(file, "{\"a\": 1   ", 20) == "bad_header");
  CHECK(refusal_of(file, "[1, 2]  ", 20) == "bad_header");
  CHECK(refused(R"("q":)", R"("p":)") == "bad_header");
  CHECK(refused(R"("vocab_size":"2")", R"("vocab_size":"3","vocab_size":"2")") == "bad_header");
  CHECK(refused(R"("shape":[1],)", R"("shape":[1],"shape":[1],)") == "bad_header");
  const bool p_and_q_exchanged =
      refused(R"([12,20]})", R"([4,12]},"p":{"dtype":"F32","shape":[1,2],"data_offsets":[12,20]})") == "none";
  CHECK_FALSE(p_and_q_exchanged);
  CHECK(refusal_of(file, "\xEF\xBB\xBF" + header_with("", "") + " ", 20) == "bad_header");
  CHECK(refusal_of(file, " " + header_with("", "") + "   ", 20) == "bad_header");
  CHECK(refusal_of(file, header_with("", "") + std::string("\0{..", 4), 20) == "bad_header");
  CHECK(refusal_of(file, header_with("", "") + "{}  ", 20) == "bad_header");
  CHECK(refused(R"("vocab_size":"2")", R"("vocab_size":"02")") == "bad_metadata");
  CHECK(refusal_of(file, header_with("", "") + " ", 20) == "misaligned");
  CHECK(refused("rows-1", "rows-2") == "unknown_format");
  CHECK(refused(R"("format":"rows-1",)", "") == "unknown_format");
  CHECK(refused(R"("vocab_size":"2")", R"("vocab_size":2)") == "bad_metadata");
  CHECK(refused(R"("vocab_size":"2")", R"("vocab_size":"2x")") == "bad_metadata");
  CHECK(refused(R"("vocab_size":"2")", R"("vocab_size":"0")") == "bad_metadata");
  CHECK(refused(R"(,"fingerprint":"00")", "") == "bad_metadata");
  CHECK(refused(R"("shape":[1],)", "") == "bad_tensor");
  CHECK(refused(R"([0,4])", R"([0,-4])") == "bad_tensor");
  CHECK(refused(R"([0,4])", R"([0])") == "bad_tensor");
  CHECK(refused("I32", "F32") == "wrong_dtype");
  CHECK(refused("I32", "I64") == "wrong_dtype");
  CHECK(refused("F32", "I32") == "wrong_dtype");
  CHECK(refused(R"("shape":[1,2])", R"("shape":[2])") == "wrong_shape");
  CHECK(refused(R"("shape":[1,2])", R"("shape":[2,1])") == "wrong_shape");
  CHECK(refused(R"("shape":[1,2])", R"("shape":[1,3])") == "wrong_shape");
  CHECK(refused(R"("shape":[1,2])", R"("shape":[4294967296,4294967298])") == "wrong_shape");
  std::string huge = "[4";  // 2^64 entries, which 64 bits count as none
  for (int i = 1; i < 32; ++i) huge += ",4";
  CHECK(refused(R"(,"q")", R"(,"x":{"dtype":"F32","shape":)" + huge + R"(],"data_offsets":[20,20]},"q")") ==
        "wrong_shape");
  CHECK(refused(R"([4,12])", R"([12,4])") == "wrong_shape");
  CHECK(refused(R"("vocab_size":"2")", R"("vocab_size":"3")") == "wrong_shape");
  CHECK(refused(R"("tokens")", R"("token")") == "missing_tensor");
  CHECK(refused(R"("q":)", R"("r":)") == "missing_tensor");
  CHECK(refused(R"("q":)", R"("p_top_ids":)") == "two_forms");
  CHECK(refused(R"([12,20])", R"([8,16])") == "overlapping_offsets");
  CHECK(refused(R"([12,20])", R"([16,24])", 24) == "gap_between_tensors");
  CHECK(refused("", "", 24) == "trailing_bytes");
  CHECK(refused(R"([4,12])", R"([6,14])", 24) == "misaligned");
}

TEST_CASE("rows-1: tensors of others are left alone, whatever their type, where their offsets fit") {
  const temporary_file file;
  const auto with = [&](const std::string& dtype, const std::string& shape, std::size_t end, std::size_t begin = 20) {
    const std::string range = "[" + std::to_string(begin) + "," + std::to_string(end) + "]";
    const std::string entry = R"({"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + range + "}";
    return refusal_of(file, header_with(R"(,"q")", R"(,"x":)" + entry + R"(,"q")"), std::max<std::size_t>(end, 20));
  };
  CHECK(with(R"("I64")", "[1]", 28) == "none");
  CHECK(with(R"("BF16")", "[3]", 26) == "none");
  CHECK(with(R"("BOOL")", "[3]", 23) == "none");
  CHECK(with(R"("U8")", "[0,5]", 20) == "none");
  CHECK(with(R"("F64")", "[]", 28) == "none");
  CHECK(with(R"("F4")", "[9]", 25) == "none");  // of a width that is not known here
  CHECK(with(R"("I64")", "[1]", 24) == "wrong_shape");
  CHECK(with(R"("I64")", "[2305843009213693952,8]", 20) == "wrong_shape");
  CHECK(with(R"("F4")", "[9]", 25, 21) == "gap_between_tensors");
  CHECK(with(R"("F4")", "[9]", 25, 16) == "overlapping_offsets");
  CHECK(with(R"("F4")", "[9]", 20, 22) == "wrong_shape");
  CHECK(with("4", "[9]", 29) == "bad_tensor");
  CHECK(with(R"("I64")", "[-1]", 28) == "bad_tensor");
  CHECK(refusal_of(file, header_with("[1,2]", "[1,0]"), 20) == "wrong_shape");  // ours have entries
  CHECK(refusal_of(file, header_with("F32", "BF16"), 20) == "wrong_dtype");
}

TEST_CASE("rows-1: values are looked at when they are used") {
  const temporary_file file;
  const auto patched = [&](std::size_t from_end, auto value) {
    std::string bytes = file.read();
    std::memcpy(bytes.data() + bytes.size() - from_end, &value, sizeof value);
    file.write(bytes);
  };
  recorded::rows_plan plan = small_plan();
  SUBCASE("NaN in a row") {
    write_small(file, plan);
    patched(4, std::numeric_limits<float>::quiet_NaN());  // the last entry of q
    const recorded::rows_file read(file.path);
    CHECK(row_of(read, side::drafter, 0) == q_rows[0]);
    CHECK(defect_of([&] { (void)row_of(read, side::drafter, 1); }) == "row_has_nan");
  }
  SUBCASE("NaN in a row of halves") {
    plan.logits = recorded::dtype::f16;
    write_small(file, plan);
    patched(2, std::uint16_t{0x7e00});
    CHECK(defect_of([&] { (void)row_of(recorded::rows_file(file.path), side::drafter, 1); }) == "row_has_nan");
  }
  SUBCASE("an id twice in a top") {
    plan.top = 2;
    write_small(file, plan);
    patched(8 + 16 + 4, std::int32_t{1});  // behind it: its logits, its tail
    CHECK(defect_of([&] { (void)row_of(recorded::rows_file(file.path), side::drafter, 1); }) == "bad_top_ids");
  }
  SUBCASE("an id outside the vocabulary in a top") {
    plan.top = 2;
    write_small(file, plan);
    patched(8 + 16 + 4, std::int32_t{5});
    CHECK(defect_of([&] { (void)row_of(recorded::rows_file(file.path), side::drafter, 1); }) == "bad_top_ids");
  }
  SUBCASE("a token outside the vocabulary") {
    write_small(file, plan);
    patched(2 * 40 + 16, std::int32_t{5});
    CHECK(defect_of([&] { (void)recorded::rows_file(file.path); }) == "token_out_of_range");
  }
}

TEST_CASE("rows-1: a damaged file is read, or refused by name") {
  const temporary_file file;
  for (const std::uint32_t top : {0u, 2u}) {
    recorded::rows_plan plan = small_plan();
    plan.top = top;
    write_small(file, plan);
    const std::string good = file.read();
    std::uint32_t refused = 0;
    const std::uint32_t times = std::getenv("SPECVERIFY_LONG") != nullptr ? 3000 : 300;
    for (std::uint32_t i = 0; i < times; ++i) {
      const auto random = specverify::philox{}({i, top, 0, specverify::purpose::training, 0});
      std::string bytes = good;
      for (std::uint32_t k = 0; k <= random.word[0] % 3; ++k)  // bytes of the header, most often digits
        bytes[8 + random.word[1 + k] % (bytes.size() - 8)] = "0123456789[]{}\",:\xff"[random.word[1 + k] / 1024 % 19];
      if (random.word[0] % 16 == 0) bytes.resize(random.word[1] % bytes.size());
      file.write(bytes);
      try {
        const recorded::rows_file read(file.path);
        for (std::size_t row = 0; row < read.size(); ++row) {
          for (const side which : recorded::both_sides) (void)row_of(read, which, row);
        }
      } catch (const bad_rows&) {
        ++refused;
      }
    }
    CHECK(refused > times / 2);
    CHECK(refused < times);
  }
}

TEST_CASE("rows-1: the writer refuses by name, and leaves no file behind") {
  const temporary_file file;
  const auto fault = [&](recorded::rows_plan plan, recorded::recorded_row row, bool finish = false) {
    return defect_of([&] {
      recorded::rows_writer out(file.path, plan);
      out.add(row);
      if (finish) out.finish();
    });
  };
  recorded::recorded_row row{.token = 1, .position = 0, .p = p_rows[0], .q = q_rows[0]};
  CHECK(fault(small_plan(), row) == "none");
  CHECK(fault(small_plan(), row, true) == "rows_missing");
  recorded::rows_plan half = small_plan();
  half.logits = recorded::dtype::f16;
  std::vector<float> odd = p_rows[0];
  odd[2] = 70000;
  row.p = odd;
  CHECK(fault(small_plan(), row) == "none");
  CHECK(fault(half, row) == "value_too_large");
  odd[2] = -std::numeric_limits<float>::infinity();  // a masked token
  CHECK(fault(half, row) == "none");
  odd[2] = std::numeric_limits<float>::quiet_NaN();
  CHECK(fault(small_plan(), row) == "row_has_nan");
  row.p = p_rows[0];
  row.p = row.p.first(4);
  CHECK(fault(small_plan(), row) == "wrong_shape");
  row.p = p_rows[0];
  row.token = 5;
  CHECK(fault(small_plan(), row) == "token_out_of_range");
  recorded::rows_plan wide = small_plan();
  wide.top = 5;
  CHECK(fault(wide, row) == "wrong_shape");
  wide = small_plan();
  wide.rows = 0;
  CHECK(fault(wide, row) == "wrong_shape");
  CHECK(defect_of([] { recorded::rows_writer("no such folder/file", small_plan()); }) == "cannot_write");
  CHECK_FALSE(std::filesystem::exists(file.path));
  CHECK_FALSE(std::filesystem::exists(file.path.string() + ".part"));
}

#endif
