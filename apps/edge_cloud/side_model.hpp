// SPDX-License-Identifier: Apache-2.0
//! Loads one side of the bundled pair: the shared vocabulary and the weights of this side.
#ifndef EDGE_CLOUD_SIDE_MODEL_HPP
#define EDGE_CLOUD_SIDE_MODEL_HPP

#include <specverify/codec/prior_table.hpp>
#include <specverify/vocabulary/fingerprint.hpp>

#include "tinylm/tokenizer.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace tinylm {
class weights;
}

namespace edge_cloud {

struct side_model {
  tinylm::tokenizer vocabulary;
  specverify::vocabulary_fingerprint fingerprint;  //!< the cloud refuses a hello with another fingerprint
  std::shared_ptr<const tinylm::weights> weights;
  std::uint32_t vocab_size = 0;
  std::uint32_t hidden_size = 0;                           //!< numbers in a hidden state
  std::uint32_t context = 0;                               //!< maximum tokens of a text
  double pass_seconds = 0;                                 //!< minimum seconds of a forward pass
  std::shared_ptr<const specverify::prior_table> prior{};  //!< table that codes drafted ids; may be null
};

//! `file` must be drafter.safetensors or target.safetensors. `prior`: file with a table of id weights; may be empty.
//! Throws std::runtime_error if a file is missing, damaged, or belongs to another vocabulary.
[[nodiscard]] side_model load_side(const std::filesystem::path& folder, const std::string& file,
                                   const std::filesystem::path& prior = {});

}  // namespace edge_cloud

#endif
