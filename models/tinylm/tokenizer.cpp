// SPDX-License-Identifier: Apache-2.0
// Reads the vocabulary, and splits and merges a text.
#include "tokenizer.hpp"

#include <cstring>
#include <utility>

namespace tinylm {

namespace {

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 128;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t piece_length(std::string_view text) {
  const char c = text[0];
  std::size_t j = 1;
  if (is_digit(c)) return 1;
  if (is_letter(c) || (c == ' ' && text.size() > 1 && is_letter(text[1]))) {
    while (j < text.size() && is_letter(text[j])) ++j;
    return j;
  }
  while (j < text.size() && text[j] == c) ++j;
  return c == ' ' && j < text.size() && is_letter(text[j]) ? j - 1 : j;
}

}  // namespace

outcome<tokenizer> tokenizer::parse(std::span<const std::uint8_t> bytes) {
  using bad = outcome<tokenizer>;
  if (bytes.size() < 12 || std::memcmp(bytes.data(), "TLMBPE1\n", 8) != 0)
    return bad::failure("vocabulary: wrong magic");
  const std::uint32_t count = std::uint32_t{bytes[8]} | std::uint32_t{bytes[9]} << 8 | std::uint32_t{bytes[10]} << 16 |
                              std::uint32_t{bytes[11]} << 24;
  if (count > 65536 - first_merge || bytes.size() != 12 + std::size_t{4} * count)
    return bad::failure("vocabulary: wrong length");
  tokenizer made;
  for (int i = 0; i < 256; ++i) made.text_of_.emplace_back(1, static_cast<char>(i));
  made.text_of_.emplace_back();
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint8_t* at = bytes.data() + 12 + std::size_t{4} * k;
    const std::uint32_t left = at[0] | std::uint32_t{at[1]} << 8;
    const std::uint32_t right = at[2] | std::uint32_t{at[3]} << 8;
    const std::uint32_t known = static_cast<std::uint32_t>(first_merge) + k;
    if (left >= known || right >= known || left == end_token || right == end_token)
      return bad::failure("vocabulary: merge of an unknown id");
    if (!made.merge_of_.emplace(left << 16 | right, static_cast<token_id>(known)).second)
      return bad::failure("vocabulary: merge given twice");
    std::string joined = made.text_of_[left] + made.text_of_[right];
    if (joined.size() > 256) return bad::failure("vocabulary: token too long");
    made.text_of_.push_back(std::move(joined));
  }
  return made;
}

std::string tokenizer::decode(std::span<const token_id> ids) const {
  std::string text;
  for (const token_id id : ids) text += text_of(id);
  return text;
}

std::vector<token_id> tokenizer::encode(std::string_view text) const {
  std::vector<token_id> ids;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = piece_length(text.substr(i));
    encode_piece(text.substr(i, length), ids);
    i += length;
  }
  return ids;
}

void tokenizer::encode_piece(std::string_view piece, std::vector<token_id>& out) const {
  const std::size_t begin = out.size();
  for (const char c : piece) out.push_back(static_cast<unsigned char>(c));
  while (out.size() - begin > 1) {
    token_id best = 0;
    std::size_t best_at = 0;
    for (std::size_t k = begin; k + 1 < out.size(); ++k) {
      const auto found =
          merge_of_.find(static_cast<std::uint32_t>(out[k]) << 16 | static_cast<std::uint32_t>(out[k + 1]));
      if (found != merge_of_.end() && (best == 0 || found->second < best)) best = found->second, best_at = k;
    }
    if (best == 0) return;
    out[best_at] = best;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

}  // namespace tinylm
