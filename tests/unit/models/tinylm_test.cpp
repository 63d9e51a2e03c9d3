// SPDX-License-Identifier: Apache-2.0
// The bundled pair: files, tokenizer, forward pass against the NumPy reference, rows that do not depend on the batch.
// Built by models/tinylm/CMakeLists.txt; elsewhere this file is empty.
#ifdef SPECVERIFY_TINYLM_DIRECTORY

#include "../../../models/tinylm/tinylm.hpp"
#include "embedded_pair.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tinylm::sequence;
using tinylm::token_id;
using rows = std::vector<float>;

std::vector<token_id> sample_ids(std::size_t count) {
  auto ids = models().vocabulary.encode(
      "Q: Tom has 31 coins. He loses 5 and gives 12 to Ruth. How many are left?\nA: First, there are 31-5=26 coins. So "
      "26-12=14");
  while (ids.size() < count) ids.push_back(static_cast<token_id>(ids.size() * 7919 % 4096));
  ids.resize(count);
  return ids;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

rows one_by_one(const std::shared_ptr<const tinylm::weights>& model, std::span<const token_id> ids) {
  sequence tokens(model);
  rows all(ids.size() * model->vocab);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    REQUIRE(tokens.feed(ids.subspan(i, 1), std::span(all).subspan(i * model->vocab, model->vocab)).empty());
  }
  return all;
}

class reader {
 public:
  explicit reader(tinylm::byte_string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] bool done() const { return at_ == bytes_.size(); }
  template <class Value>
  std::vector<Value> take(std::size_t count) {
    REQUIRE(count * sizeof(Value) <= bytes_.size() - at_);
    std::vector<Value> values(count);
    std::memcpy(values.data(), bytes_.data() + at_, count * sizeof(Value));
    at_ += count * sizeof(Value);
    return values;
  }

 private:
  tinylm::byte_string bytes_;
  std::size_t at_ = 0;
};

float largest_difference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

std::string with_byte(std::string text, std::size_t at, char c) {
  text[at] = c;
  return text;
}

// A safetensors file from a header and as many data bytes.
std::string file_of(const std::string& header, std::size_t data) {
  std::string text(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(header.size() >> (8 * i) & 255);
  return text + header + std::string(data, '\0');
}

std::string parse_error(const std::string& text) {
  const tinylm::byte_string bytes(text.begin(), text.end());
  return tinylm::parse_safetensors(bytes).error;
}

}  // namespace

TEST_CASE("tinylm: SHA-256 of the published examples") {
  const auto hash = [](std::string_view text) {
    return tinylm::hexadecimal(
        tinylm::sha256(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size())));
  };
  CHECK(hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST_CASE("tinylm: half precision") {
  CHECK(tinylm::half_to_float(0x3c00) == 1.0f);
  CHECK(tinylm::half_to_float(0xc000) == -2.0f);
  CHECK(tinylm::half_to_float(0x7bff) == 65504.0f);
  CHECK(tinylm::half_to_float(0x0001) == 0x1p-24f);
  CHECK(tinylm::half_to_float(0x83ff) == -1023 * 0x1p-24f);
  CHECK(tinylm::half_to_float(0x0400) == 0x1p-14f);
}

TEST_CASE("tinylm: the tokenizer splits digits, joins words with one space and gives back every byte") {
  const auto& vocabulary = models().vocabulary;
  CHECK(vocabulary.vocab_size() == 4096);
  CHECK(vocabulary.encode("").empty());
  CHECK(vocabulary.encode("407") == std::vector<token_id>{'4', '0', '7'});
  CHECK(vocabulary.encode("a1") == std::vector<token_id>{'a', '1'});
  const auto spaced = vocabulary.encode("has 12");
  REQUIRE(spaced.size() >= 3);
  CHECK(std::vector<token_id>(spaced.end() - 3, spaced.end()) == std::vector<token_id>{' ', '1', '2'});
  CHECK(vocabulary.encode(" the").size() == 1);
  std::string all;
  for (int round = 0; round < 3; ++round) {
    for (int c = 0; c < 256; ++c) all += static_cast<char>(c * (2 * round + 1) % 256);
    all += "  word   1 2  \n\n\n";
  }
  const auto ids = vocabulary.encode(all);
  CHECK(vocabulary.decode(ids) == all);
  for (const token_id id : ids) {
    const auto text = vocabulary.text_of(id);
    CHECK((text.size() == 1 || text.find_first_of("0123456789") == std::string_view::npos));
  }
  CHECK(vocabulary.text_of(-1).empty());
  CHECK(vocabulary.text_of(4096).empty());
}

TEST_CASE("tinylm: a broken vocabulary file is refused") {
  const auto bytes = tinylm::read_file(tinylm::default_directory() + "/vocab.bpe");
  REQUIRE(bytes.ok());
  CHECK(tinylm::tokenizer::parse(*bytes).ok());
  CHECK(tinylm::tokenizer::parse(std::span(*bytes).first(11)).error == "vocabulary: wrong magic");
  CHECK(tinylm::tokenizer::parse(std::span(*bytes).first(bytes->size() - 1)).error == "vocabulary: wrong length");
  auto changed = *bytes;
  changed[13] = 0xff;
  CHECK(tinylm::tokenizer::parse(changed).error == "vocabulary: merge of an unknown id");
  changed = *bytes;
  std::copy_n(changed.begin() + 12, 4, changed.begin() + 16);
  CHECK(tinylm::tokenizer::parse(changed).error == "vocabulary: merge given twice");
}

TEST_CASE("tinylm: tokens, logits, hidden state and attention row equal the NumPy reference to 1e-4") {
  const auto bytes = tinylm::read_checked(tinylm::default_directory(), "golden.bin");
  REQUIRE_MESSAGE(bytes.ok(), bytes.error);
  reader golden(*bytes);
  CHECK(golden.take<char>(8) == std::vector<char>{'T', 'L', 'M', 'G', 'O', 'L', 'D', '1'});
  for (const auto& model : {models().target, models().drafter}) {
    for (int prompt = 0; prompt < 3; ++prompt) {
      const auto sizes = golden.take<std::uint32_t>(2);
      const auto text = golden.take<char>(sizes[0]);
      const auto ids = golden.take<token_id>(sizes[1]);
      auto encoded = models().vocabulary.encode(std::string_view(text.data(), text.size()));
      encoded.insert(encoded.begin(), tinylm::tokenizer::end_token);
      CHECK(encoded == ids);
      sequence tokens(model);
      rows all(ids.size() * model->vocab);
      REQUIRE(tokens.feed(ids, all).empty());
      const std::size_t last = ids.size() - 1;
      CHECK(largest_difference(std::span(all).first(model->vocab), golden.take<float>(model->vocab)) <= 1e-4f);
      CHECK(largest_difference(std::span(all).last(model->vocab), golden.take<float>(model->vocab)) <= 1e-4f);
      CHECK(largest_difference(tokens.hidden_row(last), golden.take<float>(model->dim)) <= 1e-4f);
      CHECK(largest_difference(tokens.attention_row(last), golden.take<float>(ids.size())) <= 1e-5f);
    }
  }
  CHECK(golden.done());
}

#if defined(__unix__)
TEST_CASE("tinylm: the forward pass equals the NumPy reference, run now where there is NumPy") {
  if (std::system("python3 -c 'import numpy' >/dev/null 2>&1") != 0) return;
  const std::string folder = tinylm::default_directory();
  for (const char* name : {"target", "drafter"}) {
    const auto ids = sample_ids(90);
    std::string command =
        "python3 '" + folder + "/../train/reference.py' logits '" + folder + "/" + name + ".safetensors'";
    for (const token_id id : ids) command.append(1, ' ').append(std::to_string(id));
    std::FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    rows expected;
    for (double value = 0; std::fscanf(pipe, "%lf", &value) == 1;) expected.push_back(static_cast<float>(value));
    CHECK(pclose(pipe) == 0);
    const auto& model = name[0] == 't' ? models().target : models().drafter;
    sequence tokens(model);
    rows last(model->vocab);
    REQUIRE(tokens.feed(ids, last).empty());
    CHECK(largest_difference(last, expected) <= 1e-4f);
  }
}
#endif

TEST_CASE("tinylm: a position's logits are the same bits in batches of every size") {
  for (const auto& model : {models().target, models().drafter}) {
    const auto ids = sample_ids(97);
    const rows expected = one_by_one(model, ids);
    for (const std::size_t size : {2u, 3u, 4u, 5u, 7u, 8u, 17u, 64u, 97u}) {
      CAPTURE(size);
      sequence tokens(model);
      rows all(expected.size());
      for (std::size_t i = 0; i < ids.size(); i += size) {
        const std::size_t count = std::min(size, ids.size() - i);
        REQUIRE(
            tokens
                .feed(std::span(ids).subspan(i, count), std::span(all).subspan(i * model->vocab, count * model->vocab))
                .empty());
      }
      CHECK(same_bits(all, expected));
    }
    sequence tokens(model);
    rows tail(3 * model->vocab);
    REQUIRE(tokens.feed(ids, tail).empty());
    CHECK(same_bits(tail, std::span(expected).last(tail.size())));
  }
}

TEST_CASE("tinylm: a position's logits are the same bits beside other sequences") {
  for (const auto& model : {models().target, models().drafter}) {
    const auto ids = sample_ids(60);
    const rows expected = one_by_one(model, ids);
    std::vector<token_id> other(ids.rbegin(), ids.rend());
    const rows other_expected = one_by_one(model, other);
    sequence a(model), b(model), c(model);
    rows unused(5 * model->vocab);
    REQUIRE(b.feed(std::span(other).first(5), unused).empty());
    std::size_t b_at = 5;
    for (const std::size_t size : {1u, 6u, 13u, 40u}) {
      const std::size_t at = a.size();
      rows a_rows(size * model->vocab), b_rows(3 * model->vocab), c_rows(0);
      const tinylm::feed_request together[] = {{&c, std::span(ids).first(2), c_rows},
                                               {&a, std::span(ids).subspan(at, size), a_rows},
                                               {&b, std::span(other).subspan(b_at, 7), b_rows}};
      REQUIRE(sequence::feed_together(together).empty());
      CHECK(same_bits(a_rows, std::span(expected).subspan(at * model->vocab, a_rows.size())));
      b_at += 7;
      CHECK(same_bits(b_rows, std::span(other_expected).subspan((b_at - 3) * model->vocab, b_rows.size())));
    }
  }
}

TEST_CASE("tinylm: after a rollback the same bits come again") {
  for (const auto& model : {models().target, models().drafter}) {
    const auto ids = sample_ids(50);
    const rows expected = one_by_one(model, ids);
    sequence tokens(model);
    rows some(11 * model->vocab);
    REQUIRE(tokens.feed(std::span(ids).first(20), {}).empty());
    const std::vector<token_id> wrong = {5, 4095, 300, 17, 1000, 2, 3, 4, 5, 6, 7};
    REQUIRE(tokens.feed(wrong, some).empty());
    CHECK(tokens.size() == 31);
    tokens.rollback(14);
    CHECK(tokens.size() == 14);
    tokens.rollback(40);
    CHECK(tokens.size() == 14);
    for (std::size_t at = 14; at < 47; at += 11) {
      REQUIRE(tokens.feed(std::span(ids).subspan(at, 11), some).empty());
      CHECK(same_bits(some, std::span(expected).subspan(at * model->vocab, some.size())));
    }
  }
}

TEST_CASE("tinylm: attention rows are laws over the positions so far") {
  sequence tokens(models().target);
  const auto ids = sample_ids(37);
  REQUIRE(tokens.feed(std::span(ids).first(30), {}).empty());
  REQUIRE(tokens.feed(std::span(ids).subspan(30), {}).empty());
  for (std::size_t i = 0; i < 7; ++i) {
    const auto row = tokens.attention_row(i);
    CHECK(row.size() == 31 + i);
    double sum = 0;
    for (const float a : row) {
      CHECK(a >= 0.0f);
      sum += static_cast<double>(a);
    }
    CHECK(sum == doctest::Approx(1.0).epsilon(1e-5));
    CHECK(tokens.hidden_row(i).size() == 128);
  }
}

TEST_CASE("tinylm: a feed that cannot be done says why and changes nothing") {
  const auto& model = models().drafter;
  sequence tokens(model);
  const std::vector<token_id> good = {1, 2, 3};
  rows three(3 * model->vocab);
  REQUIRE(tokens.feed(good, three).empty());
  rows fourth(model->vocab);
  const std::vector<token_id> above = {7, 4096}, below = {-1};
  CHECK(tokens.feed(above, {}) == "feed: id 4096 is outside the vocabulary");
  CHECK(tokens.feed(below, {}) == "feed: id -1 is outside the vocabulary");
  CHECK(tokens.feed(std::span(good).first(1), std::span(three).first(5)) == "feed: rows do not fit the ids");
  CHECK(tokens.feed(std::span(good).first(1), three) == "feed: rows do not fit the ids");
  CHECK(tokens.feed(std::vector<token_id>(254, 1), {}) == "feed: more than 256 tokens in a sequence");
  const tinylm::feed_request twice[] = {{&tokens, good, {}}, {&tokens, good, {}}};
  CHECK(sequence::feed_together(twice) == "feed: a sequence given twice");
  sequence other(models().target);
  const tinylm::feed_request mixed[] = {{&tokens, good, {}}, {&other, good, {}}};
  CHECK(sequence::feed_together(mixed) == "feed: sequences of different models");
  CHECK(tokens.size() == 3);
  CHECK(tokens.feed(std::vector<token_id>(253, 1), {}).empty());
  CHECK(tokens.size() == tokens.capacity());
}

TEST_CASE("tinylm: a safetensors file is read strictly") {
  const std::string entry = R"({"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})";
  CHECK(parse_error(file_of(entry, 12)).empty());
  CHECK(parse_error("1234567") == "safetensors: shorter than its header length");
  CHECK(parse_error(with_byte(file_of(entry, 12), 7, '\x80')) == "safetensors: header length beyond the file");
  CHECK(parse_error(file_of("[1]", 0)) == "safetensors: bad header: it does not begin with {");
  CHECK(parse_error(file_of("\xEF\xBB\xBF{}", 0)) == "safetensors: bad header: it does not begin with {");
  CHECK(parse_error(file_of(std::string("{}\0x", 4), 0)) == "safetensors: bad header: it holds a NUL byte");
  CHECK(parse_error(file_of(R"({"__metadata__":{"a":"1","a":"2"}})", 0)) ==
        "safetensors: bad header: the key \"a\" stands in one object twice");
  CHECK(parse_error(file_of(R"({"":{},"":{}})", 0)) ==
        "safetensors: bad header: the key \"\" stands in one object twice");
  CHECK(parse_error(file_of("{\"a\":", 0)) == "safetensors: bad header: it is no JSON object");
  CHECK(parse_error(file_of(entry, 13)) == "safetensors: bytes after the last tensor");
  CHECK(parse_error(file_of(entry, 11)) == "safetensors: a has a shape beyond the file");
  CHECK(parse_error(file_of(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8)) ==
        "safetensors: a is neither F16 nor F32");
  CHECK(parse_error(file_of(R"({"a":{"dtype":"F16","shape":[-2],"data_offsets":[0,4]}})", 4)) ==
        "safetensors: a has a bad shape");
  CHECK(parse_error(file_of(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[4,0]}})", 4)) ==
        "safetensors: a has data_offsets that do not fit its shape or the file");
  CHECK(parse_error(file_of(R"({"a":{"dtype":"F16","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,4]}})",
                            4)) == "safetensors: a has a shape beyond the file");
  CHECK(parse_error(file_of(R"({"a":{"dtype":"F16","shape":[2]}})", 4)) ==
        "safetensors: a lacks dtype, shape or data_offsets");
  CHECK(
      parse_error(file_of(
          R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"F16","shape":[2],"data_offsets":[2,6]}})",
          6)) == "safetensors: tensors overlap or leave a gap");
  const auto bytes = tinylm::read_file(tinylm::default_directory() + "/drafter.safetensors");
  REQUIRE(bytes.ok());
  for (std::size_t size = 0; size < bytes->size(); size += size < 3000 ? 13 : 40009) {
    CHECK_FALSE(tinylm::parse_safetensors(std::span(*bytes).first(size)).ok());
  }
}

TEST_CASE("tinylm: weights that do not fit their description are refused") {
  const auto bytes = tinylm::read_file(tinylm::default_directory() + "/drafter.safetensors");
  REQUIRE(bytes.ok());
  const auto file = tinylm::parse_safetensors(*bytes);
  REQUIRE(file.ok());
  auto changed = *file;
  changed.tensors.erase("layers.1.out");
  CHECK(tinylm::weights::make(changed).error == "weights: no tensor layers.1.out");
  changed = *file;
  changed.tensors["norm"].shape = {32, 2};
  CHECK(tinylm::weights::make(changed).error == "weights: tensor norm has the wrong shape");
  changed = *file;
  changed.tensors["extra"] = {{1}, {0.0f}};
  CHECK(tinylm::weights::make(changed).error == "weights: tensors that belong to no layer");
  changed = *file;
  changed.metadata["heads"] = "5";
  CHECK_FALSE(tinylm::weights::make(changed).ok());
  changed.metadata["heads"] = "-1";
  CHECK(tinylm::weights::make(changed).error == "weights: bad number for heads");
  changed.metadata.erase("heads");
  CHECK(tinylm::weights::make(changed).error == "weights: metadata lacks heads");
}

TEST_CASE("tinylm: a missing file and a changed file are named") {
  CHECK(tinylm::load_pair("/nowhere").error == "/nowhere/SHA256SUMS: cannot be opened");
  CHECK(tinylm::read_checked(tinylm::default_directory(), "nothing").error.find("nothing: cannot be opened") !=
        std::string::npos);
  CHECK(tinylm::read_checked(tinylm::default_directory(), "SHA256SUMS").error.find("no line for SHA256SUMS") !=
        std::string::npos);
}

TEST_CASE("tinylm: a file that differs from its SHA-256 is refused") {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / std::string("tinylm_test_").append(std::to_string(std::random_device{}()));
  fs::create_directory(folder);
  for (const char* name : {"SHA256SUMS", "vocab.bpe", "target.safetensors", "drafter.safetensors"}) {
    fs::copy_file(fs::path(tinylm::default_directory()) / name, folder / name);
  }
  CHECK(tinylm::load_pair(folder.string()).ok());
  std::fstream file(folder / "drafter.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x11');
  file.close();
  CHECK(tinylm::load_pair(folder.string()).error ==
        (folder / "drafter.safetensors").string() + ": SHA-256 differs from SHA256SUMS");
  fs::remove_all(folder);
}

TEST_CASE("tinylm: problems, prompts and answers") {
  const auto problems = tinylm::read_problems(tinylm::default_directory() + "/held_out.txt");
  REQUIRE_MESSAGE(problems.ok(), problems.error);
  CHECK(problems->size() == 500);
  CHECK(tinylm::problem_prompt("Why?") == "Q: Why?\nA:");
  CHECK(tinylm::solution_answer(" So 3+4=7.\n#### 7\n") == 7);
  CHECK(tinylm::solution_answer("#### 12") == 12);
  CHECK(tinylm::solution_answer("#### 1\n#### 23\n") == 23);
  CHECK_FALSE(tinylm::solution_answer("7").has_value());
  CHECK_FALSE(tinylm::solution_answer("#### ").has_value());
  CHECK_FALSE(tinylm::solution_answer("#### 7 or 8").has_value());
  CHECK_FALSE(tinylm::read_problems("/nowhere").ok());
}

#endif  // SPECVERIFY_TINYLM_DIRECTORY
