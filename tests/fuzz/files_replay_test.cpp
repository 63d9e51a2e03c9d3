// SPDX-License-Identifier: Apache-2.0
// Replays the committed inputs of the fuzz targets that read files, and copies of them with changed bytes.
// SPECVERIFY_WRITE_CORPUS=1 writes the seeds anew.
#include <doctest/doctest.h>

#include <string>

#include "fuzz/channel_trace_body.hpp"
#include "fuzz/corpus.hpp"
#include "fuzz/dqn_file_body.hpp"
#include "fuzz/head_file_body.hpp"
#include "fuzz/prior_body.hpp"
#include "unit/codec/prior_kit.hpp"
#include "unit/decision_head/head_kit.hpp"
#if __has_include(<nlohmann/json.hpp>) && defined(__cpp_exceptions)
#include "fuzz/model_file_body.hpp"
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include "fuzz/rows_file_body.hpp"
#endif
#endif

namespace specverify_fuzz {

//! Makes a file in the form of safetensors: the length of a header, the header, filled up with spaces to a multiple of
//! 8, and `size` bytes of small numbers.
inline std::string tensor_file_of(std::string header, std::size_t size) {
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(std::uint64_t{header.size()} >> (8 * i) & 255u);
  file += header;
  for (std::size_t i = 0; i < size; ++i) file += static_cast<char>(i % 4 == 0 ? i / 4 % 3 : 0);
  return file;
}

//! Calls `use(bytes)` for each input of a target's corpus, and `use_changed(bytes)` for `copies` changed copies of each
//! input, which have other bytes or another end. If SPECVERIFY_WRITE_CORPUS=1, writes the seeds first.
template <class Use, class UseChanged>
void replay_corpus(const std::string& target, const std::vector<std::string>& seeds, const Use& use,
                   const UseChanged& use_changed, int copies = 500) {
  for (std::size_t i = 0; i < seeds.size() && writes_corpus(); ++i)
    keep_input(target, "seed" + std::to_string(i), seeds[i]);
  std::uint64_t state = 88172645463325252u;
  const auto below = [&state](std::size_t size) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::size_t>((state >> 32) * size >> 32);
  };
  for (const auto& [name, content] : corpus_of(target)) {
    use(std::span<const std::byte>(content));
    for (int i = 0; i < copies && !content.empty(); ++i) {
      std::vector<std::byte> changed = content;
      for (std::size_t n = below(3); n < 3; ++n) changed[below(changed.size())] = static_cast<std::byte>(below(256));
      if (below(4) == 0) changed.resize(below(changed.size() + 8));
      use_changed(std::span<const std::byte>(changed));
    }
  }
}

struct replayed_files {
  std::size_t files = 0;    //!< inputs of the corpus
  std::size_t read = 0;     //!< of them, files that were read
  std::size_t refused = 0;  //!< changed copies that were not read
};

//! Replays the corpus of a reader. `reads(bytes)` returns whether the bytes are such a file.
template <class Reads>
replayed_files replay_files(const std::string& target, const std::vector<std::string>& seeds, const Reads& reads,
                            int copies = 500) {
  replayed_files seen;
  replay_corpus(
      target, seeds,
      [&](std::span<const std::byte> bytes) {
        ++seen.files;
        seen.read += reads(bytes) ? 1u : 0u;
      },
      [&](std::span<const std::byte> bytes) { seen.refused += reads(bytes) ? 0u : 1u; }, copies);
  return seen;
}

}  // namespace specverify_fuzz

using namespace specverify;

namespace {

constexpr specverify::philox source{{{29, 4}}};

std::string text_of(std::span<const channel_state> states) {
  std::string text(max_channel_trace_bytes(states.size()), '\0');
  const auto size = write_channel_trace(states, text);
  REQUIRE(size.ok());
  text.resize(size->size());
  return text;
}

void write_traces() {
  std::vector<channel_state> states(6);
  const auto seed = [](const char* name, std::string_view text) {
    specverify_fuzz::keep_input("channel_trace", name, text);
  };
  const auto with_steps = [](std::string_view steps) {
    std::string text(channel_trace_columns);
    text.append(steps);  // g++ 12 misreads + with a literal
    return text;
  };
  record(markov_channel::make(qs_paper_link()).value(), source, std::span<channel_state>(states));
  seed("markov", text_of(states));
  fading_options fading;
  fading.uplink_loss = 0.01;
  fading.round_trip = 0.0275;
  record(rayleigh_channel::make(fading).value(), source, std::span<channel_state>(states).first(3));
  seed("rayleigh", text_of(std::span<channel_state>(states).first(3)));
  seed("by_hand", with_steps("\r\n1e6,2.50e+5,0.000,9e-1,1,0\r\n1000,1000,0,0,0,4294967295"));
  seed("header_alone", with_steps({}));
  seed("not_a_number", with_steps("\n1e6,nan,0,0,0,0\n"));
  seed("subnormal", with_steps("\n1e6,1e6,1e-310,0,0,0\n"));
}

}  // namespace

TEST_CASE("T29 fuzz replay: channel traces") {
  if (specverify_fuzz::writes_corpus()) write_traces();
  constexpr char marks[] = "0123456789.,-+eE \r\n\tnaif";
  std::size_t files = 0, traces = 0, changed_traces = 0, refused = 0;
  std::uint32_t drawn = 0;
  const auto draw = [&](std::size_t below) {
    return source({drawn++, 0, 0, purpose::channel}).word[0] % static_cast<std::uint32_t>(below);
  };
  for (const auto& [name, bytes] : specverify_fuzz::corpus_of("channel_trace")) {
    const std::string content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    traces += specverify_fuzz::channel_trace_input(content) ? 1u : 0u;
    ++files;
    for (int i = 0; i < 500; ++i) {
      std::string changed = content;
      const std::size_t body = channel_trace_columns.size();  // half of the changes leave the first line alone
      for (std::uint32_t n = draw(3); n < 3; ++n) {
        const std::size_t first = i % 2 == 0 && changed.size() > body ? body : 0;
        changed[first + draw(changed.size() - first)] = marks[draw(sizeof marks - 1)];
      }
      if (draw(4) == 0) changed.resize(1 + draw(changed.size()));
      (specverify_fuzz::channel_trace_input(changed) ? changed_traces : refused) += 1;
    }
  }
  CHECK(traces >= 3);
  CHECK(changed_traces > 50);
  CHECK(refused > 100 * files);
}

namespace {

void write_heads() {
  for (const std::uint32_t size : {1u, 3u}) {
    head_kit::owned_head head = head_kit::random_head({specverify::hidden_mode::predicting, size, size - 1, 2}, size);
    head.channel.mean = {7.5f, 7.5f, 0.001f, 0.001f, 0.0275f};
    std::vector<std::byte> file(specverify::head_file_size(head.view()));
    REQUIRE(specverify::write_head(head.view(), file).ok());
    specverify_fuzz::keep_input("head_file", "size" + std::to_string(size), file);
  }
}

}  // namespace

TEST_CASE("T29 fuzz replay: weight files of a decision head") {
  if (specverify_fuzz::writes_corpus()) write_heads();
  std::size_t files = 0, heads = 0, refused = 0;
  head_kit::generator draw(3);
  for (const auto& [name, content] : specverify_fuzz::corpus_of("head_file")) {
    heads += specverify_fuzz::head_file_input(content) ? 1u : 0u;
    ++files;
    for (int i = 0; i < 500 && !content.empty(); ++i) {
      std::vector<std::byte> changed = content;
      for (std::uint32_t n = draw.below(3); n < 3; ++n)
        changed[draw.below(static_cast<std::uint32_t>(changed.size()))] = static_cast<std::byte>(draw.below(256));
      if (draw.below(4) == 0) changed.resize(draw.below(static_cast<std::uint32_t>(changed.size())));
      refused += specverify_fuzz::head_file_input(changed) ? 0u : 1u;
    }
  }
  CHECK(heads >= 2);
  CHECK(refused > 100 * files);
}

namespace {

// A table of V random weights and lists, and a code of 64 ids.
std::string prior_seed(std::uint32_t vocab_size, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  const specverify_test::prior_content content = specverify_test::random_prior(random, vocab_size);
  const std::vector<std::byte> file = specverify_test::prior_file(content);
  const prior_table table = specverify_test::read_prior(content);
  std::vector<std::byte> code(300);
  range_encoder coder(code);
  const std::vector<token_id> text = specverify_test::random_text(random, vocab_size, 64);
  REQUIRE(encode_ids(coder, table, text, 0).ok());
  code.resize(coder.finish());
  std::string made{static_cast<char>(vocab_size - 1), static_cast<char>(file.size() & 255u),
                   static_cast<char>(file.size() >> 8)};
  for (const std::span<const std::byte> bytes : {std::span<const std::byte>(file), std::span<const std::byte>(code)}) {
    for (const std::byte b : bytes) made += static_cast<char>(b);
  }
  return made;
}

}  // namespace

TEST_CASE("T29 fuzz replay: tables of weights for ids, and codes by them") {
  const std::vector<std::string> seeds{prior_seed(1, 1), prior_seed(7, 2), prior_seed(60, 3)};
  std::size_t files = 0, good = 0, refused = 0, bad_codes = 0;
  specverify_fuzz::replay_corpus(
      "prior", seeds,
      [&](std::span<const std::byte> bytes) {
        ++files;
        good += specverify_fuzz::prior_input(bytes) == 2 ? 1u : 0u;
      },
      [&](std::span<const std::byte> bytes) {
        const int outcome = specverify_fuzz::prior_input(bytes);
        refused += outcome == 0 ? 1u : 0u;
        bad_codes += outcome == 1 ? 1u : 0u;
      });
  CHECK(good >= 3);
  CHECK(refused > 100 * files);
  CHECK(bad_codes > 20);
}

TEST_CASE("T29 fuzz replay: weight files of a window network") {
  // a good file; one with another weight, without and with its checksum; one that ends early; no such file
  const std::vector<std::string> seeds{"\x01", std::string("\x01\x50\0\0\0\x22", 6),
                                       std::string("\x81\x50\0\0\0\x22", 6), std::string("\x81\xff\xff\0\x7f\x22", 6),
                                       std::string("\x80SVDQN01", 8)};
  const auto [files, read, refused] = specverify_fuzz::replay_files("dqn_file", seeds, specverify_fuzz::dqn_file_input,
                                                                    100);  // each is a file of 207 kB
  CHECK(read >= 2);
  CHECK(refused > 10 * files);
}

#if __has_include(<nlohmann/json.hpp>) && defined(__cpp_exceptions)
TEST_CASE("T29 fuzz replay: safetensors files of a model") {
  const std::vector<std::string> seeds{
      specverify_fuzz::tensor_file_of(R"({"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})", 12),
      specverify_fuzz::tensor_file_of(R"({"__metadata__":{"made":"by hand"},)"
                                      R"("b":{"dtype":"F32","shape":[3],"data_offsets":[4,16]},)"
                                      R"("a":{"dtype":"F16","shape":[1,2,1],"data_offsets":[0,4]}})",
                                      16)};
  const auto [files, read, refused] =
      specverify_fuzz::replay_files("model_file", seeds, specverify_fuzz::model_file_input);
  CHECK(read >= 2);
  CHECK(refused > 100 * files);
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
namespace {

std::vector<std::string> rows_seeds() {
  const std::string about = R"({"__metadata__":{"format":"rows-1","vocab_size":"4","fingerprint":"0"},)",
                    tokens = R"("tokens":{"dtype":"I32","shape":[2],"data_offsets":[0,8]},)";
  return {
      specverify_fuzz::tensor_file_of(about + tokens + R"("p":{"dtype":"F32","shape":[2,4],"data_offsets":[8,40]},)" +
                                          R"("q":{"dtype":"F16","shape":[2,4],"data_offsets":[40,56]}})",
                                      56),
      specverify_fuzz::tensor_file_of(about + tokens + R"("p":{"dtype":"F16","shape":[2,4],"data_offsets":[8,24]},)" +
                                          R"("q_top_ids":{"dtype":"I32","shape":[2,2],"data_offsets":[24,40]},)" +
                                          R"("q_top_logits":{"dtype":"F32","shape":[2,2],"data_offsets":[40,56]},)" +
                                          R"("q_tail_logsumexp":{"dtype":"F32","shape":[2],"data_offsets":[56,64]},)" +
                                          R"("hidden_p":{"dtype":"F32","shape":[2,3],"data_offsets":[64,88]},)" +
                                          R"("positions":{"dtype":"I32","shape":[2],"data_offsets":[88,96]}})",
                                      96)};
}

}  // namespace

TEST_CASE("T29 fuzz replay: files of recorded rows") {
  const auto [files, read, refused] =
      specverify_fuzz::replay_files("rows_file", rows_seeds(), specverify_fuzz::rows_file_input);
  CHECK(read >= 2);
  CHECK(refused > 100 * files);
}
#endif
#endif
