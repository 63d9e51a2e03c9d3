// SPDX-License-Identifier: Apache-2.0
// Replays the committed weight files of the fuzz target, and copies of them with changed bytes.
// SPECVERIFY_WRITE_CORPUS=1 writes the seeds anew.
#include <doctest/doctest.h>

#include "fuzz/corpus.hpp"
#include "fuzz/head_file_body.hpp"
#include "unit/decision_head/head_kit.hpp"

#include <string>

namespace {

void write_seeds() {
  for (const std::uint32_t size : {1u, 3u}) {
    head_kit::owned_head head = head_kit::random_head({specverify::hidden_mode::predicting, size, size - 1, 2}, size);
    head.channel.mean = {7.5f, 7.5f, 0.001f, 0.001f, 0.0275f};
    std::vector<std::byte> file(specverify::head_file_size(head.view()));
    REQUIRE(specverify::write_head(head.view(), file).ok());
    specverify_fuzz::keep_input("head_file", "size" + std::to_string(size), file);
  }
}

}  // namespace

TEST_CASE("T29 fuzz replay: weight files of a decision head") {
  if (specverify_fuzz::writes_corpus()) write_seeds();
  std::size_t files = 0, heads = 0, refused = 0;
  head_kit::generator draw(3);
  for (const auto& [name, content] : specverify_fuzz::corpus_of("head_file")) {
    heads += specverify_fuzz::head_file_input(content) ? 1u : 0u;
    ++files;
    for (int i = 0; i < 500 && !content.empty(); ++i) {
      std::vector<std::byte> changed = content;
      for (std::uint32_t n = draw.below(3); n < 3; ++n)
        changed[draw.below(static_cast<std::uint32_t>(changed.size()))] = static_cast<std::byte>(draw.below(256));
      if (draw.below(4) == 0) changed.resize(draw.below(static_cast<std::uint32_t>(changed.size())));
      refused += specverify_fuzz::head_file_input(changed) ? 0u : 1u;
    }
  }
  CHECK(heads >= 2);
  CHECK(refused > 100 * files);
}
