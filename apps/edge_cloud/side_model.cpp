// SPDX-License-Identifier: Apache-2.0
#include "side_model.hpp"

#include "../prior_file.hpp"
#include "tinylm/tinylm.hpp"

#include <stdexcept>
#include <utility>

namespace edge_cloud {

namespace {

specverify::vocabulary_fingerprint fingerprint_of(const tinylm::tokenizer& vocabulary) {
  specverify::fingerprint_builder builder;
  for (std::size_t i = 0; i < vocabulary.vocab_size(); ++i) {
    const auto id = static_cast<specverify::token_id>(i);
    const bool special = id == tinylm::tokenizer::end_token;
    const auto kind = special    ? specverify::token_class::special
                      : id < 256 ? specverify::token_class::byte
                                 : specverify::token_class::text;
    if (!builder.add(id, vocabulary.text_of(id), kind).ok()) throw std::logic_error("a vocabulary in order");
  }
  return builder.finish();
}

}  // namespace

side_model load_side(const std::filesystem::path& folder, const std::string& file, const std::filesystem::path& prior) {
  const auto bytes = tinylm::read_checked(folder.string(), "vocab.bpe");
  if (!bytes.ok()) throw std::runtime_error(bytes.error);
  auto vocabulary = tinylm::tokenizer::parse(*bytes);
  if (!vocabulary.ok()) throw std::runtime_error(vocabulary.error);
  auto weights = tinylm::load_weights(folder.string(), file);
  if (!weights.ok()) throw std::runtime_error(weights.error);
  const specverify::vocabulary_fingerprint fingerprint = fingerprint_of(*vocabulary);
  const auto vocab_size = static_cast<std::uint32_t>(vocabulary->vocab_size());
  const auto hidden_size = static_cast<std::uint32_t>((*weights)->dim),
             context = static_cast<std::uint32_t>((*weights)->context);
  side_model made{std::move(*vocabulary), fingerprint, std::move(*weights), vocab_size, hidden_size, context};
  if (!prior.empty())
    made.prior = std::make_shared<const specverify::prior_table>(programs::read_prior_file(prior, vocab_size));
  return made;
}

}  // namespace edge_cloud
