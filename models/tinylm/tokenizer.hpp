// SPDX-License-Identifier: Apache-2.0
//! Splits a text into tokens by byte-level BPE. Ids 0..255 are the bytes, 256 is <|end|>, and 257 + k is merge k.
//! Digits are always single tokens.
//!
//! Pieces, left to right: a digit; a run of letters (A-Z, a-z, bytes >= 0x80) with one space before it if there is one;
//! otherwise a run of one repeated byte, but a run of spaces leaves the last space to the next word. Inside a piece the
//! merge with the smallest number is applied first, at the leftmost occurrence. train/tokenizer.py has the same rule in
//! Python.
#ifndef SPECVERIFY_MODELS_TINYLM_TOKENIZER_HPP
#define SPECVERIFY_MODELS_TINYLM_TOKENIZER_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "outcome.hpp"

namespace tinylm {

using token_id = std::int32_t;

class tokenizer {
 public:
  static constexpr token_id end_token = 256;
  static constexpr token_id first_merge = 257;

  //! `bytes` must hold "TLMBPE1\n", the number of merges (32 bits), and two 16-bit ids per merge, little-endian.
  [[nodiscard]] static outcome<tokenizer> parse(std::span<const std::uint8_t> bytes);

  [[nodiscard]] std::size_t vocab_size() const { return text_of_.size(); }

  //! Returns the bytes of one token. They are empty for <|end|> and for ids outside the vocabulary.
  [[nodiscard]] std::string_view text_of(token_id id) const {
    return id >= 0 && static_cast<std::size_t>(id) < text_of_.size()
               ? std::string_view(text_of_[static_cast<std::size_t>(id)])
               : std::string_view();
  }

  [[nodiscard]] std::string decode(std::span<const token_id> ids) const;

  [[nodiscard]] std::vector<token_id> encode(std::string_view text) const;

 private:
  tokenizer() = default;

  void encode_piece(std::string_view piece, std::vector<token_id>& out) const;

  std::vector<std::string> text_of_;
  std::unordered_map<std::uint32_t, token_id> merge_of_;
};

}  // namespace tinylm

#endif  // SPECVERIFY_MODELS_TINYLM_TOKENIZER_HPP
