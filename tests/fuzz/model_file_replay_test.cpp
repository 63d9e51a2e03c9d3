// SPDX-License-Identifier: Apache-2.0
// Replays the committed safetensors files of the fuzz target, and copies of them with changed bytes.
#if __has_include(<nlohmann/json.hpp>) && defined(__cpp_exceptions)

#include <doctest/doctest.h>

#include "fuzz/model_file_body.hpp"
#include "fuzz/tensor_seeds.hpp"

TEST_CASE("T29 fuzz replay: safetensors files of a model") {
  const std::vector<std::string> seeds{
      specverify_fuzz::tensor_file_of(R"({"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})", 12),
      specverify_fuzz::tensor_file_of(R"({"__metadata__":{"made":"by hand"},)"
                                      R"("b":{"dtype":"F32","shape":[3],"data_offsets":[4,16]},)"
                                      R"("a":{"dtype":"F16","shape":[1,2,1],"data_offsets":[0,4]}})",
                                      16)};
  std::size_t files = 0, read = 0, refused = 0;
  specverify_fuzz::replay_corpus(
      "model_file", seeds,
      [&](std::span<const std::byte> bytes) {
        ++files;
        read += specverify_fuzz::model_file_input(bytes) ? 1u : 0u;
      },
      [&](std::span<const std::byte> bytes) { refused += specverify_fuzz::model_file_input(bytes) ? 0u : 1u; });
  CHECK(read >= 2);
  CHECK(refused > 100 * files);
}

#endif
