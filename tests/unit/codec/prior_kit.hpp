// SPDX-License-Identifier: Apache-2.0
// Files of prior tables made by hand, and texts that repeat themselves.
#ifndef SPECVERIFY_TESTS_UNIT_CODEC_PRIOR_KIT_HPP
#define SPECVERIFY_TESTS_UNIT_CODEC_PRIOR_KIT_HPP

#include <specverify/codec/prior_table.hpp>

#include <cstdlib>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace specverify_test {

using namespace specverify;

//! What a file says. Lists: ids that are followed (the last id alone, or the two last), then follower and byte.
struct prior_content {
  std::vector<std::uint8_t> weights;
  std::map<std::vector<token_id>, std::map<token_id, std::uint8_t>> one, two;
  std::array<std::array<std::uint8_t, prior_sources>, prior_source_sets> mixing{};
};

inline std::vector<std::byte> prior_file(const prior_content& content) {
  std::vector<std::byte> file;
  const auto put = [&](std::uint64_t value, unsigned bytes) {
    for (; bytes > 0; --bytes, value >>= 8) file.push_back(static_cast<std::byte>(value & 255u));
  };
  const unsigned id_bytes = content.weights.size() <= 65536 ? 2 : 3;
  for (const char letter : {'S', 'V', 'P', 'R'}) put(static_cast<unsigned char>(letter), 1);
  put(1, 4);
  put(content.weights.size(), 4);
  put(content.one.size(), 4);
  put(content.two.size(), 4);
  for (std::size_t set = 1; set < prior_source_sets; ++set) {
    for (const std::uint8_t mixing : content.mixing[set]) put(mixing, 1);
  }
  for (const std::uint8_t weight : content.weights) put(weight, 1);
  for (const auto* lists : {&content.one, &content.two}) {
    for (const auto& [context, followers] : *lists) {
      for (const token_id id : context) put(static_cast<std::uint32_t>(id), id_bytes);
      put(followers.size(), 1);
      for (const auto& [id, share] : followers) {
        put(static_cast<std::uint32_t>(id), id_bytes);
        put(share, 1);
      }
    }
  }
  return file;
}

inline prior_table read_prior(const prior_content& content) {
  auto read = prior_table::read(prior_file(content), static_cast<std::uint32_t>(content.weights.size()));
  if (!read) std::abort();
  return std::move(*read);
}

//! A table of V ids with lists after many of them.
inline prior_content random_prior(std::mt19937_64& random, std::uint32_t vocab_size) {
  prior_content made;
  const auto id = [&] { return static_cast<token_id>(random() % vocab_size); };
  for (std::uint32_t i = 0; i < vocab_size; ++i) made.weights.push_back(static_cast<std::uint8_t>(random() % 90));
  for (std::size_t set = 1; set < prior_source_sets; ++set) {
    for (std::size_t source = 0; source < prior_sources; ++source) {
      if ((set >> source & 1u) != 0) made.mixing[set][source] = static_cast<std::uint8_t>(random() % 61);
    }
  }
  for (std::uint32_t i = 0; i < vocab_size; ++i) {
    auto& one = made.one[{id()}];
    for (std::uint64_t n = 1 + random() % 5; n > 0; --n) one[id()] = static_cast<std::uint8_t>(random() % 256);
    auto& two = made.two[{id(), id()}];
    for (std::uint64_t n = 1 + random() % 3; n > 0; --n) two[id()] = static_cast<std::uint8_t>(random() % 256);
  }
  return made;
}

inline std::size_t below(std::mt19937_64& random, std::size_t limit) {
  return static_cast<std::size_t>(random() % limit);
}

inline std::vector<token_id> random_text(std::mt19937_64& random, std::uint32_t vocab_size, std::size_t size) {
  std::vector<token_id> text;
  while (text.size() < size) {
    const bool repeats = text.size() > 4 && random() % 2 == 0;
    const std::size_t from = repeats ? below(random, text.size()) : 0;
    for (std::size_t i = 0; i < 3 && text.size() < size; ++i)
      text.push_back(repeats ? text[(from + i) % text.size()] : static_cast<token_id>(random() % vocab_size));
  }
  return text;
}

}  // namespace specverify_test

#endif
