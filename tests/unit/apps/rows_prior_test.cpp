// SPDX-License-Identifier: Apache-2.0
// The trainer of tables of id weights: the committed table is what it makes of the committed texts, and a table from
// other texts predicts new ones. Tables that cannot be read are refused by name.
#include <doctest/doctest.h>

#include "../../../apps/demand.hpp"
#include "../../../apps/rows/prior_texts.hpp"
#include "../../../apps/rows/train_prior.hpp"
#include "../../../apps/standard_output.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <stdexcept>

#include <unistd.h>

namespace {

namespace sv = specverify;
constexpr std::uint32_t vocab_size = 4096;

std::vector<priors::id_text> committed_texts() { return priors::read_ids("models/tinylm/train/prior.ids", vocab_size); }

std::vector<std::byte> bytes_of(const char* name) {
  std::ifstream in(name, std::ios::binary);
  std::vector<std::byte> bytes;
  for (std::istreambuf_iterator<char> at(in), end; at != end; ++at) bytes.push_back(static_cast<std::byte>(*at));
  return bytes;
}

std::string failure_of(const auto& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

//! A file of ids that goes with the test.
struct ids_file {
  std::string name = (std::filesystem::temp_directory_path() / ("prior." + std::to_string(::getpid()))).string();
  explicit ids_file(const char* content) { std::ofstream(name) << content; }
  ids_file(const ids_file&) = delete;
  ids_file& operator=(const ids_file&) = delete;
  ~ids_file() { std::filesystem::remove(name); }
};

}  // namespace

TEST_CASE("prior trainer: the committed table comes from the committed texts, byte for byte") {
  priors::texts texts;
  for (const priors::id_text& text : committed_texts()) texts.push_back(text.ids);
  const std::vector<std::byte> made = priors::train(texts, {vocab_size, 16384});
  CHECK(made == bytes_of("models/tinylm/model/prior.table"));
  CHECK(made.size() <= 16384);
}

TEST_CASE("prior trainer: a table from some texts saves the bits of others, and lists save more than weights") {
  priors::texts seen;
  std::vector<priors::id_text> others;
  const std::vector<priors::id_text> all = committed_texts();
  REQUIRE(all.size() == 200);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i / 2 % 4 < 3) {  // problems and prose take turns
      seen.push_back(all[i].ids);
    } else {
      others.push_back(all[i]);
    }
  }
  const auto bits = [&](std::size_t max_bytes) {
    const std::vector<std::byte> file = priors::train(seen, {vocab_size, max_bytes});
    CHECK(file.size() <= max_bytes);
    const priors::measured_bits sum = priors::bits_of(programs::read_prior(file, vocab_size, "table"), others);
    CHECK(sum.ids == 50 * 128);
    const auto ids = static_cast<double>(sum.ids);
    return std::array{sum.weights / ids, sum.table / ids};
  };
  const auto large = bits(16384), weights = bits(80 + vocab_size);
  MESSAGE("bits per id: weights " << large[0] << ", table " << large[1] << ", no lists " << weights[1]);
  CHECK(large[0] < 9.1);
  CHECK(large[1] < 7.6);
  CHECK(weights[1] < weights[0]);  // the text itself still tells something
  CHECK(large[1] < weights[1] - 1);
}

TEST_CASE("prior trainer: one long text is enough, and its lists count") {
  std::vector<sv::token_id> all;
  for (const priors::id_text& text : committed_texts()) all.insert(all.end(), text.ids.begin(), text.ids.end());
  const std::size_t half = all.size() / 2;
  const std::vector<std::byte> file =
      priors::train({std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(half))}, {vocab_size, 16384});
  const priors::measured_bits sum =
      priors::bits_of(programs::read_prior(file, vocab_size, "table"), std::vector<priors::id_text>{{all, half}});
  CHECK(sum.table < sum.weights - static_cast<double>(sum.ids));  // a bit per id
}

TEST_CASE("prior trainer: lists go first to what is certain, and a text that repeats itself is trusted") {
  // 0 1 2 3 0 1 2 3 ...: each id has one follower.
  priors::texts texts(10);
  for (auto& text : texts) {
    for (int i = 0; i < 60; ++i) text.push_back(i % 4);
  }
  const std::vector<std::byte> file = priors::train(texts, {70000, 80 + 70000 + 4 * 8});  // four lists of one follower
  const sv::prior_table table = programs::read_prior(file, 70000, "table");
  for (int id = 0; id < 4; ++id) {
    REQUIRE(table.after(id).size() == 1);
    CHECK(table.after(id)[0].id == (id + 1) % 4);
  }
  const priors::measured_bits sum = priors::bits_of(table, std::vector<priors::id_text>{{texts[0], 8}});
  CHECK(sum.ids == 52);
  CHECK(sum.table < 0.3 * 52);
}

TEST_CASE("prior trainer: bad texts and sizes have a reason") {
  CHECK(failure_of([] { priors::train({{1, 2, 5}}, {5, 16384}); }) == "id 5 is not below the vocabulary size");
  CHECK(failure_of([] { priors::train({{1, -1}}, {5, 16384}); }) == "id -1 is not below the vocabulary size");
  CHECK(failure_of([] { priors::train({{}}, {5, 16384}); }) == "the texts have no ids");
  CHECK(failure_of([] { priors::train({{1}}, {5, 84}); }) == "the table needs at least 85 bytes");
  CHECK(failure_of([] {
          priors::train(priors::texts(4, {1, 2}), {5, 16384});
        }) == "five texts are needed, or one of more than 1024 ids");
  CHECK(failure_of([] { priors::read_ids("nowhere", 5); }) == "cannot read nowhere");
  {
    const ids_file good("1 2 | 3\n\n4\n");
    const auto texts = priors::read_ids(good.name, 5);
    REQUIRE(texts.size() == 2);
    CHECK((texts[0].ids == std::vector<sv::token_id>{1, 2, 3} && texts[0].given == 2));
    CHECK((texts[1].ids == std::vector<sv::token_id>{4} && texts[1].given == 0));
  }
  for (const char* word : {"5", "2x", "-1", "05", "99999999999999999999"}) {
    const ids_file wrong((std::string("0\n1 ") + word + '\n').c_str());
    CHECK(failure_of([&] { priors::read_ids(wrong.name, 5); }) ==
          wrong.name + ", line 2: " + word + " is no id below 5");
  }
}

TEST_CASE("programs: wrong usage and files end with 2, all other exceptions with 70") {
  CHECK(programs::exit_code_of("test", std::runtime_error("a file")) == 2);
  CHECK(programs::exit_code_of("test", std::filesystem::filesystem_error("a folder", {})) == 2);
  CHECK(programs::exit_code_of("test", std::invalid_argument("an option")) == 2);
  CHECK(programs::exit_code_of("test", std::logic_error("a defect")) == 70);
  CHECK(programs::exit_code_of("test", std::bad_alloc()) == 70);
  const sv::status refused{sv::errc::invalid_argument, sv::part::session, 0};
  CHECK_THROWS_AS(programs::demand(refused, "an edge"), std::logic_error);
}

TEST_CASE("prior file: a table that cannot be read is refused by name") {
  const auto refusal = [](const char* file, std::uint32_t vocab_size) -> std::string {
    try {
      static_cast<void>(programs::read_prior_file(file, vocab_size));
    } catch (const std::runtime_error& why) {
      return why.what();
    }
    return {};
  };
  constexpr char table[] = "models/tinylm/model/prior.table";
  CHECK(refusal(table, 4096).empty());
  CHECK(refusal(table, 4095).find("prior.table: prior_vocabulary") != std::string::npos);
  CHECK(refusal("models/tinylm/model/vocab.bpe", 4096).find("vocab.bpe: prior_header") != std::string::npos);
  CHECK(refusal("models/tinylm/model/none.table", 4096) == "cannot read models/tinylm/model/none.table");
  CHECK(refusal("models/tinylm/model", 4096) == "cannot read models/tinylm/model");
}
