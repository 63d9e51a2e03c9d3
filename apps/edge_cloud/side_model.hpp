// SPDX-License-Identifier: Apache-2.0
//! One side's half of the embedded pair: the shared vocabulary and this side's own weights.
#ifndef EDGE_CLOUD_SIDE_MODEL_HPP
#define EDGE_CLOUD_SIDE_MODEL_HPP

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
  specverify::vocabulary_fingerprint fingerprint;  //!< hello refuses two models that do not speak of the same tokens
  std::shared_ptr<const tinylm::weights> weights;
  std::uint32_t vocab_size = 0;
  std::uint32_t hidden_size = 0;  //!< numbers of a hidden state
  std::uint32_t context = 0;      //!< tokens that a text may have
  double pass_seconds = 0;        //!< the least that a forward pass takes
};

//! `file` is drafter.safetensors or target.safetensors.
[[nodiscard]] side_model load_side(const std::filesystem::path& folder, const std::string& file);

}  // namespace edge_cloud

#endif
