// SPDX-License-Identifier: Apache-2.0
#include <specverify/decision_head/weights.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "head_kit.hpp"
#include "support/alloc_guard.hpp"

namespace sv = specverify;
using head_kit::owned_head;
using file_bytes = std::vector<std::byte>;

namespace {

owned_head sample() {
  owned_head head = head_kit::random_head({sv::hidden_mode::consuming, 5, 3, 4}, 21);
  head.channel.mean = {7.1f, 8.25f, 1e-3f, -0.0f, 0.0275f};
  head.channel.scale = {0.7f, 0.3f, 1e-4f, 1, 0.0225f};
  head.threshold = 0.6875;
  return head;
}

file_bytes written(const owned_head& head) {
  file_bytes file(sv::head_file_size(head.view()));
  REQUIRE(sv::write_head(head.view(), file).ok());
  return file;
}

std::string header_of(const file_bytes& file) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= static_cast<std::uint64_t>(file[i]) << (8 * i);
  return {reinterpret_cast<const char*>(file.data()) + 8, static_cast<std::size_t>(length)};
}

file_bytes with_header(const file_bytes& file, const std::string& header) {
  const std::size_t data = 8 + header_of(file).size();
  file_bytes made(8);
  for (std::size_t i = 0; i < 8; ++i) made[i] = static_cast<std::byte>(header.size() >> (8 * i) & 0xff);
  for (const char c : header) made.push_back(static_cast<std::byte>(c));
  made.insert(made.end(), file.begin() + static_cast<std::ptrdiff_t>(data), file.end());
  return made;
}

//! The file with one piece of its header exchanged.
file_bytes exchanged(const std::string& old_text, const std::string& new_text) {
  const file_bytes file = written(sample());
  std::string header = header_of(file);
  const std::size_t at = header.find(old_text);
  REQUIRE(at != std::string::npos);
  header.replace(at, old_text.size(), new_text);
  return with_header(file, header);
}

sv::status error_of(const file_bytes& file) {
  const auto read = sv::decision_head::make(file);
  CHECK_FALSE(read.ok());
  return read.error();
}

sv::status here(sv::errc code, std::uint32_t where) { return {code, sv::part::decision_head, where}; }

bool same(const sv::head_weights& a, const sv::head_weights& b) {
  const auto equal = [](std::span<const float> x, std::span<const float> y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), 4 * x.size()) == 0;
  };
  return a.shape == b.shape && equal(a.first, b.first) && equal(a.first_bias, b.first_bias) &&
         equal(a.second, b.second) && equal(std::span(&a.second_bias, 1), std::span(&b.second_bias, 1)) &&
         equal(a.channel.mean, b.channel.mean) && equal(a.channel.scale, b.channel.scale) &&
         std::bit_cast<std::uint64_t>(a.threshold) == std::bit_cast<std::uint64_t>(b.threshold);
}

}  // namespace

TEST_CASE("weights: a written head reads back bit for bit, and is written again the same") {
  for (const std::uint32_t width : {1u, 4u, 33u}) {
    for (const std::uint32_t target_size : {0u, 3u}) {
      owned_head head = head_kit::random_head({sv::hidden_mode::predicting, 7, target_size, width}, width);
      head.channel = sample().channel;
      head.threshold = 0.1 + width;
      head.first[0] = -0.0f;
      head.second_bias = 1e-42f;
      const file_bytes file = written(head);
      const auto read = sv::decision_head::make(file);
      REQUIRE(read.ok());
      CHECK(same(read.value().view(), head.view()));
      file_bytes again(sv::head_file_size(read.value().view()));
      REQUIRE(sv::write_head(read.value().view(), again).ok());
      CHECK(again == file);
      CHECK((file.size() - 4 * sv::parameter_count(head.shape)) % 8 == 0);
    }
  }
}

TEST_CASE("weights: the header is what a safetensors reader expects") {
  CHECK(
      header_of(written(sample())) ==
      R"({"__metadata__":{"format":"specverify.decision_head.1","mode":"consuming","drafter_size":"5","target_size":"3","width":"4",)"
      R"("channel_mean":"7.1 8.25 0.001 -0 0.0275","channel_scale":"0.7 0.3 1e-04 1 0.0225","threshold":"0.6875"},)"
      R"("first":{"dtype":"F32","shape":[4,13],"data_offsets":[0,208]},"first_bias":{"dtype":"F32","shape":[4],"data_offsets":[208,224]},)"
      R"("second":{"dtype":"F32","shape":[4],"data_offsets":[224,240]},"second_bias":{"dtype":"F32","shape":[1],"data_offsets":[240,244]}})"
      "   ");
}

TEST_CASE("weights: any order and any white space") {
  const owned_head head = sample();
  const file_bytes file = written(head);
  std::string header = R"( { "second" : {"shape":[ 4 ],"data_offsets":[0 , 16],"dtype":"F32"},
    "first":{"dtype":"F32","shape":[4,13],"data_offsets":[20,228]},	"second_bias":{"dtype":"F32","shape":[1],"data_offsets":[16,20]},
    "__metadata__":{"threshold":"0.6875","mode":"consuming","width":"4","target_size":"3","drafter_size":"5",
      "channel_scale":"0.7 0.3 0.0001 1 0.0225","channel_mean":"7.1 8.25 0.001 -0 0.0275","format":"specverify.decision_head.1"},
    "first_bias":{"dtype":"F32","shape":[4],"data_offsets":[228,244]} } )";
  file_bytes moved = with_header(file, header);
  const std::size_t data = moved.size() - 244;
  const std::byte* from = file.data() + file.size() - 244;
  const auto put = [&](std::size_t to, std::size_t first, std::size_t last) {
    std::copy(from + first, from + last, moved.begin() + static_cast<std::ptrdiff_t>(data + to));
  };
  put(0, 224, 240);
  put(16, 240, 244);
  put(20, 0, 208);
  put(228, 208, 224);
  const auto read = sv::decision_head::make(moved);
  REQUIRE(read.ok());
  CHECK(same(read.value().view(), head.view()));
}

TEST_CASE("weights: each corruption has its named error") {
  using sv::errc;
  const file_bytes file = written(sample());
  CHECK(error_of({}) == here(errc::truncated, 0));
  CHECK(error_of(file_bytes(7)) == here(errc::truncated, 7));
  CHECK(error_of(file_bytes(file.begin(), file.begin() + 100)) == here(errc::truncated, 8));
  CHECK(error_of(file_bytes(file.begin(), file.end() - 1)) == here(errc::truncated, 243));
  file_bytes longer = file;
  longer.push_back(std::byte{0});
  CHECK(error_of(longer) == here(errc::trailing_bytes, 244));
  CHECK(error_of(exchanged("{\"__meta", "[\"__meta")).code == errc::weights_header);
  CHECK(error_of(exchanged("\"dtype\"", "dtype")).code == errc::weights_header);
  CHECK(error_of(exchanged("[240,244]}", "[240,244]")).code == errc::weights_header);
  CHECK(error_of(exchanged("[240,244]}}", "[240,244]}},")).code == errc::weights_header);
  CHECK(error_of(exchanged("[240,244]", "[240,244,244]")).code == errc::weights_header);
  CHECK(error_of(exchanged("[4,13]", "[04,13]")).code == errc::weights_header);
  CHECK(error_of(exchanged("\"second\"", "\"first\"")).code == errc::weights_header);  // twice
  for (const char* again : {R"("dtype":"F32")", R"("shape":[4,13])", R"("data_offsets":[0,208])"}) {
    const bool key_twice =
        error_of(exchanged(R"([0,208])", std::string("[0,208],") + again)).code == errc::weights_header;
    CHECK(key_twice);
  }
  CHECK(error_of(exchanged("{\"__meta", "\xEF\xBB\xBF{\"__meta")) == here(errc::weights_header, 0));
  CHECK(error_of(exchanged("\"5\"", "\"05\"")) == here(errc::weights_metadata, 12));
  CHECK(error_of(exchanged("\"width\"", "\"mode\"")).code == errc::weights_header);
  CHECK(error_of(exchanged("consuming", "consu\\u006ding")).code == errc::weights_header);
  CHECK(error_of(exchanged("\"second\"", "\"third\"")).code == errc::weights_unknown);
  CHECK(error_of(exchanged("\"width\"", "\"height\"")).code == errc::weights_unknown);
  CHECK(error_of(exchanged(R"(,"second_bias":{"dtype":"F32","shape":[1],"data_offsets":[240,244]})", "")) ==
        here(errc::weights_missing, 3));
  CHECK(error_of(exchanged(R"("mode":"consuming",)", "")) == here(errc::weights_missing, 11));
  CHECK(error_of(exchanged("F32", "F16")) == here(errc::weights_shape, 0));
  CHECK(error_of(exchanged("[4,13]", "[13,4]")) == here(errc::weights_shape, 0));
  CHECK(error_of(exchanged("[4],\"data_offsets\":[208", "[4,1],\"data_offsets\":[208")) ==
        here(errc::weights_shape, 1));
  CHECK(error_of(exchanged("[224,240]", "[224,236]")) == here(errc::weights_shape, 2));
  CHECK(error_of(exchanged("[224,240]", "[220,236]")) == here(errc::weights_shape, 2));
  CHECK(error_of(exchanged("[240,244]", "[244,248]")) == here(errc::weights_shape, 3));
  CHECK(error_of(exchanged("[240,244]", "[244,240]")) == here(errc::weights_shape, 3));
  CHECK(error_of(exchanged("head.1", "head.2")) == here(errc::weights_metadata, 10));
  CHECK(error_of(exchanged("consuming", "guessing")) == here(errc::weights_metadata, 11));
  CHECK(error_of(exchanged("\"5\"", "\"0\"")) == here(errc::weights_metadata, 12));
  CHECK(error_of(exchanged("\"5\"", "\"-5\"")) == here(errc::weights_metadata, 12));
  CHECK(error_of(exchanged("\"3\"", "\"65537\"")) == here(errc::weights_metadata, 13));
  CHECK(error_of(exchanged("\"4\"", "\"4 \"")) == here(errc::weights_metadata, 14));
  CHECK(error_of(exchanged("7.1 8.25", "7.1  8.25")) == here(errc::weights_metadata, 15));
  CHECK(error_of(exchanged("7.1 8.25", "nan 8.25")) == here(errc::weights_metadata, 15));
  CHECK(error_of(exchanged("0.7 0.3", "0 0.3")) == here(errc::weights_metadata, 16));
  CHECK(error_of(exchanged(" 0.0225\"", "\"")) == here(errc::weights_metadata, 16));
  CHECK(error_of(exchanged("0.6875", "-0.5")) == here(errc::weights_metadata, 17));
  CHECK(error_of(exchanged("0.6875", "")) == here(errc::weights_metadata, 17));
  CHECK(error_of(exchanged("\"4\"", "\"5\"")) == here(errc::weights_shape, 0));
  file_bytes nan = file;
  nan[nan.size() - 1] = std::byte{0x7F};
  nan[nan.size() - 2] = std::byte{0xC0};
  CHECK(error_of(nan).code == errc::value_not_finite);
}

TEST_CASE("weights: no cut and no changed byte of the header makes the reader leave the file") {
  const file_bytes file = written(sample());
  const std::size_t end = 8 + header_of(file).size();
  for (std::size_t size = 0; size < file.size(); ++size) {
    const file_bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_FALSE(sv::decision_head::make(cut).ok());
  }
  std::size_t refused = 0;
  for (std::size_t at = 0; at < end; ++at) {
    for (const int change : {0x01, 0x10, 0x80}) {
      file_bytes changed = file;
      changed[at] ^= static_cast<std::byte>(change);
      const auto read = sv::decision_head::make(changed);
      refused += read.ok() ? 0u : 1u;
    }
  }
  CHECK(refused > 2 * end);  // what is left are digits of the metadata
}

TEST_CASE("weights: writing checks the head, needs the space it says, and allocates nothing") {
  const owned_head head = sample();
  const sv::head_weights view = head.view();
  file_bytes file(sv::head_file_size(view) - 1);
  CHECK(sv::write_head(view, file).error() ==
        here(sv::errc::output_too_small, static_cast<std::uint32_t>(file.size() + 1)));
  file.resize(file.size() + 1);
  const specverify_test::alloc_guard guard;
  const bool done = sv::write_head(view, file).ok();
  CHECK(guard.count() == 0);
  CHECK(done);
  owned_head broken = head;
  broken.second.pop_back();
  CHECK(sv::write_head(broken.view(), file).error() == here(sv::errc::size_mismatch, 12));
  CHECK(sv::decision_head::make(broken.view()).error() == here(sv::errc::size_mismatch, 12));
}

TEST_CASE("weights: a copy owns its arrays; its threshold can be moved") {
  auto made = sv::decision_head::make(sample().view());
  REQUIRE(made.ok());
  CHECK(same(made.value().view(), sample().view()));
  CHECK(made.value().set_threshold(0.25).ok());
  CHECK(made.value().view().threshold == 0.25);
  CHECK(made.value().set_threshold(-1).code == sv::errc::invalid_argument);
  const sv::decision_head copy = made.value();
  CHECK(copy.view().first.data() != made.value().view().first.data());
}
