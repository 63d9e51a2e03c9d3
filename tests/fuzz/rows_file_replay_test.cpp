// SPDX-License-Identifier: Apache-2.0
// Replays the committed files of recorded rows of the fuzz target, and copies of them with changed bytes.
#if __has_include(<nlohmann/json.hpp>) && defined(__cpp_exceptions) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#include <doctest/doctest.h>

#include "fuzz/rows_file_body.hpp"
#include "fuzz/tensor_seeds.hpp"

namespace {

std::vector<std::string> seeds() {
  const std::string about = R"({"__metadata__":{"format":"rows-1","vocab_size":"4","fingerprint":"0"},)",
                    tokens = R"("tokens":{"dtype":"I32","shape":[2],"data_offsets":[0,8]},)";
  return {
      specverify_fuzz::tensor_file_of(about + tokens + R"("p":{"dtype":"F32","shape":[2,4],"data_offsets":[8,40]},)" +
                                          R"("q":{"dtype":"F16","shape":[2,4],"data_offsets":[40,56]}})",
                                      56),
      specverify_fuzz::tensor_file_of(about + tokens + R"("p":{"dtype":"F16","shape":[2,4],"data_offsets":[8,24]},)" +
                                          R"("q_top_ids":{"dtype":"I32","shape":[2,2],"data_offsets":[24,40]},)" +
                                          R"("q_top_logits":{"dtype":"F32","shape":[2,2],"data_offsets":[40,56]},)" +
                                          R"("q_tail_logsumexp":{"dtype":"F32","shape":[2],"data_offsets":[56,64]},)" +
                                          R"("hidden_p":{"dtype":"F32","shape":[2,3],"data_offsets":[64,88]},)" +
                                          R"("positions":{"dtype":"I32","shape":[2],"data_offsets":[88,96]}})",
                                      96)};
}

}  // namespace

TEST_CASE("T29 fuzz replay: files of recorded rows") {
  std::size_t files = 0, read = 0, refused = 0;
  specverify_fuzz::replay_corpus(
      "rows_file", seeds(),
      [&](std::span<const std::byte> bytes) {
        ++files;
        read += specverify_fuzz::rows_file_input(bytes) ? 1u : 0u;
      },
      [&](std::span<const std::byte> bytes) { refused += specverify_fuzz::rows_file_input(bytes) ? 0u : 1u; });
  CHECK(read >= 2);
  CHECK(refused > 100 * files);
}

#endif
