// SPDX-License-Identifier: Apache-2.0
// The rows of eight sessions, read by two threads of the engine.
#include <specverify/row/parallel.hpp>

#include <thread>
#include <vector>

int main() {
  using namespace specverify;
  constexpr std::uint32_t sessions = 8, vocab_size = 1000;
  std::vector<float> logits(sessions * vocab_size, 0.0f);
  std::vector<row_view<float>> rows;
  for (std::uint32_t s = 0; s < sessions; ++s) {
    logits[s * vocab_size + 100 + s] = 5.0f;
    rows.push_back(logits_row(logits.data() + s * vocab_size, vocab_size));
  }
  const auto pool = [](std::uint32_t count, const auto& body) {  // yours calls its own threads
    std::thread other([&] {
      for (std::uint32_t i = 1; i < count; i += 2) body(i);
    });
    for (std::uint32_t i = 0; i < count; i += 2) body(i);
    other.join();
  };
  const std::vector<row_transform> transforms(1);  // one for all, or one a row
  std::vector<std::byte> memory(read_rows_workspace_size(sessions, vocab_size, {}, {}));
  workspace scratch{std::span(memory)};
  std::vector<result<row_reading<exec::simd_policy, float>>> readings(sessions, status{errc::not_read});
  const auto read = read_rows(exec::parallel(pool), row_batch<float>{rows, transforms}, {}, readings, scratch);
  if (!read) return 1;
  for (std::uint32_t s = 0; s < sessions; ++s) {
    if (!readings[s] || readings[s]->argmax() != static_cast<token_id>(100 + s)) return 2;
  }
  return 0;
}
