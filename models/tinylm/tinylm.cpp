// SPDX-License-Identifier: Apache-2.0
// Loads the pair and continues a prompt.
#include "tinylm.hpp"

#include <algorithm>
#include <utility>

namespace tinylm {

outcome<byte_string> read_checked(const std::string& directory, const std::string& name) {
  using bad = outcome<byte_string>;
  const auto sums = read_file(directory + "/SHA256SUMS");
  if (!sums.ok()) return bad::failure(sums.error);
  auto bytes = read_file(directory + "/" + name);
  if (!bytes.ok()) return bytes;
  const std::string_view text(reinterpret_cast<const char*>(sums->data()), sums->size());
  const std::size_t at = text.find("  " + name + "\n");
  if (at == std::string_view::npos || at < 64) return bad::failure(directory + "/SHA256SUMS: no line for " + name);
  if (text.substr(at - 64, 64) != hexadecimal(sha256(*bytes)))
    return bad::failure(directory + "/" + name + ": SHA-256 differs from SHA256SUMS");
  return bytes;
}

outcome<std::shared_ptr<const weights>> load_weights(const std::string& directory, const std::string& name) {
  using bad = outcome<std::shared_ptr<const weights>>;
  const auto bytes = read_checked(directory, name);
  if (!bytes.ok()) return bad::failure(bytes.error);
  const auto file = parse_safetensors(*bytes);
  if (!file.ok()) return bad::failure(directory + "/" + name + ": " + file.error);
  auto made = weights::make(*file);
  return made.ok() ? std::move(made) : bad::failure(directory + "/" + name + ": " + made.error);
}

outcome<model_pair> load_pair(const std::string& directory) {
  using bad = outcome<model_pair>;
  const auto bytes = read_checked(directory, "vocab.bpe");
  if (!bytes.ok()) return bad::failure(bytes.error);
  auto vocabulary = tokenizer::parse(*bytes);
  if (!vocabulary.ok()) return bad::failure(directory + "/vocab.bpe: " + vocabulary.error);
  auto target = load_weights(directory, "target.safetensors");
  if (!target.ok()) return bad::failure(target.error);
  auto drafter = load_weights(directory, "drafter.safetensors");
  if (!drafter.ok()) return bad::failure(drafter.error);
  if ((*target)->vocab != vocabulary->vocab_size() || (*drafter)->vocab != vocabulary->vocab_size()) {
    return bad::failure(directory + ": models and vocabulary differ in size");
  }
  const sha256_hash hash = sha256(*bytes);
  model_pair pair{std::move(*vocabulary), {}, std::move(*target), std::move(*drafter)};
  std::copy_n(hash.begin(), pair.vocabulary_fingerprint.size(), pair.vocabulary_fingerprint.begin());
  return pair;
}

std::vector<token_id> problem_ids(const tokenizer& vocabulary, std::string_view question) {
  std::vector<token_id> ids = vocabulary.encode(problem_prompt(question));
  ids.insert(ids.begin(), tokenizer::end_token);
  return ids;
}

std::vector<token_id> continue_greedily(const std::shared_ptr<const weights>& model, std::span<const token_id> prompt,
                                        std::size_t limit) {
  sequence tokens(model);
  std::vector<float> row(model->vocab);
  std::vector<token_id> out;
  if (prompt.empty() || !tokens.feed(prompt, row).empty()) return out;
  while (out.size() < limit) {
    const auto next = static_cast<token_id>(std::max_element(row.begin(), row.end()) - row.begin());
    if (next == tokenizer::end_token) break;
    out.push_back(next);
    if (!tokens.feed(std::span(&next, 1), row).empty()) break;
  }
  return out;
}

}  // namespace tinylm
