// SPDX-License-Identifier: Apache-2.0
//! Loads the bundled pair (target and drafter with one vocabulary) from a folder, and checks the files by SHA-256.
//!
//!     auto pair = tinylm::load_pair(tinylm::default_directory());
//!     if (!pair.ok()) { /* pair.error says which file and why */ }
//!     tinylm::sequence target(pair->target), drafter(pair->drafter);
//!     std::vector<float> rows(ids.size() * target.vocab_size());
//!     std::string error = target.feed(ids, rows);   // logits of every id fed
//!     target.rollback(target.size() - 3);           // forget the last three
#ifndef SPECVERIFY_MODELS_TINYLM_TINYLM_HPP
#define SPECVERIFY_MODELS_TINYLM_TINYLM_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "directory.hpp"
#include "files.hpp"
#include "problems.hpp"
#include "safetensors.hpp"
#include "tokenizer.hpp"
#include "transformer.hpp"

namespace tinylm {

struct model_pair {
  tokenizer vocabulary;
  std::array<std::uint8_t, 16> vocabulary_fingerprint;  //!< first half of the vocabulary file's SHA-256
  std::shared_ptr<const weights> target;
  std::shared_ptr<const weights> drafter;
};

//! Reads directory/name and checks it against the file's line in directory/SHA256SUMS.
[[nodiscard]] outcome<byte_string> read_checked(const std::string& directory, const std::string& name);

[[nodiscard]] outcome<std::shared_ptr<const weights>> load_weights(const std::string& directory,
                                                                   const std::string& name);

[[nodiscard]] outcome<model_pair> load_pair(const std::string& directory);

//! Returns <|end|> and the prompt of a problem, as ids.
[[nodiscard]] std::vector<token_id> problem_ids(const tokenizer& vocabulary, std::string_view question);

//! Returns the most probable continuation, up to <|end|>, `limit` tokens or the end of the context, without <|end|>.
[[nodiscard]] std::vector<token_id> continue_greedily(const std::shared_ptr<const weights>& model,
                                                      std::span<const token_id> prompt, std::size_t limit);

}  // namespace tinylm

#endif  // SPECVERIFY_MODELS_TINYLM_TINYLM_HPP
