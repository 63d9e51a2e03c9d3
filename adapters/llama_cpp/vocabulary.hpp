// SPDX-License-Identifier: Apache-2.0
//! Reads a llama.cpp vocabulary: the bytes of each token, the fingerprint, and the tokens that end a text.
//!
//! Guarantees: the functions keep no state, and throw only exceptions of std::string and std::vector.
//! See:        docs/llama.md, tests/adapters/llama_model_test.cpp
#ifndef SPECVERIFY_ADAPTERS_LLAMA_CPP_VOCABULARY_HPP
#define SPECVERIFY_ADAPTERS_LLAMA_CPP_VOCABULARY_HPP

#include <specverify/vocabulary/fingerprint.hpp>

#include <llama.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN
namespace llama_cpp {

static_assert(std::is_same_v<llama_token, token_id>);

//! Selects whether a text may contain control tokens. A model reads control tokens as commands; for example,
//! `<|im_end|>` ends a turn. Use `none` for a user's text, so that such a name is plain text. `by_name` is for the
//! parts of a chat template.
enum class control_tokens : bool { none, by_name };

//! Returns the bytes of a token. For a control token they are empty, or the token's name.
[[nodiscard]] inline std::string piece_of(const llama_vocab* vocab, token_id token,
                                          control_tokens control = control_tokens::none) {
  std::string piece(32, '\0');
  const auto read = [&] {
    return llama_token_to_piece(vocab, token, piece.data(), static_cast<std::int32_t>(piece.size()), 0,
                                control == control_tokens::by_name);
  };
  std::int32_t length = read();
  if (length < 0) {
    piece.resize(static_cast<std::size_t>(-length));
    length = read();
  }
  piece.resize(static_cast<std::size_t>((std::max)(length, 0)));
  return piece;
}

//! Returns the ids of a text, or an empty vector if llama.cpp cannot read it. `add_special` adds the tokens that the
//! model expects at the beginning of a text.
[[nodiscard]] inline std::vector<token_id> tokens_of(const llama_vocab* vocab, std::string_view text,
                                                     bool add_special = true,
                                                     control_tokens control = control_tokens::none) {
  std::vector<token_id> ids(text.size() + 2);  // usually at most one token per byte; both ends may get a special token
  const auto read = [&] {
    return llama_tokenize(vocab, text.data(), static_cast<std::int32_t>(text.size()), ids.data(),
                          static_cast<std::int32_t>(ids.size()), add_special, control == control_tokens::by_name);
  };
  std::int32_t length = read();
  if (length < 0 && length != (std::numeric_limits<std::int32_t>::min)()) {  // `-length` ids are needed
    ids.resize(static_cast<std::size_t>(-length));
    length = read();
  }
  ids.resize(static_cast<std::size_t>((std::max)(length, 0)));
  return ids;
}

//! Returns the fingerprint of all pieces and ids. If the fingerprints of the two models differ, the cloud refuses the
//! hello. O(V).
[[nodiscard]] inline vocabulary_fingerprint fingerprint_of(const llama_vocab* vocab) {
  fingerprint_builder builder;
  for (token_id id = 0; id < llama_vocab_n_tokens(vocab); ++id) {
    const unsigned attributes = llama_vocab_get_attr(vocab, id);
    const auto kind = (attributes & LLAMA_TOKEN_ATTR_CONTROL) != 0 ? token_class::special
                      : (attributes & LLAMA_TOKEN_ATTR_BYTE) != 0  ? token_class::byte
                                                                   : token_class::text;
    (void)builder.add(id, piece_of(vocab, id, control_tokens::by_name), kind);  // ids ascend
  }
  return builder.finish();
}

//! Returns the tokens that end a text, for `stop_tokens` in the options of both sides. O(V).
[[nodiscard]] inline std::vector<token_id> stop_tokens_of(const llama_vocab* vocab) {
  std::vector<token_id> ends;
  for (token_id id = 0; id < llama_vocab_n_tokens(vocab); ++id) {
    if (llama_vocab_is_eog(vocab, id)) ends.push_back(id);
  }
  return ends;
}

}  // namespace llama_cpp
SPECVERIFY_NAMESPACE_END

#endif
