// SPDX-License-Identifier: Apache-2.0
//! Times the cloud's half of a round of 8 drafts without the model: it decodes the message, verifies the rows with the
//! residual or bonus token, and encodes the verdict. The drafts come from distributions near the target's. Counters:
//! `floors` is the time divided by the time of plain sums of the rows read, `digests` is the time of verification
//! divided by the time of reading the same rows without a decision, and `..._%` are shares of a step.
#include "support/steps.hpp"

namespace {

using namespace bench_steps;

enum part : std::size_t { decode, verify, bytes };
constexpr std::array<const char*, 3> parts{"decode", "verify", "bytes"};
constexpr std::uint32_t messages_held = 64;

template <class Sparsifier>
class cloud {
 public:
  explicit cloud(const Sparsifier& sparsifier)
      : memory_(verify_workspace_size(vocab_size, {}, length)),
        decode_memory_(decode_draft_workspace_size(edge<Sparsifier>::format())) {
    edge<Sparsifier> device(sparsifier, false);
    watch off(false);
    for (std::uint32_t i = 0; i < messages_held; ++i) {
      const auto message = device.round(i, off);
      messages_.emplace_back(message.begin(), message.end());
    }
    for (const auto& row : models().target) rows_.push_back(view(row));
  }

  bool round(std::uint32_t number, watch& spent) {
    const wire_format format = edge<Sparsifier>::format();
    spent.start();
    workspace decode_scratch{std::span(decode_memory_)};
    const auto& message = messages_[number % messages_held];
    if (!decode_draft({}, format, message, block_, decode_scratch)) return false;
    spent.end_of(decode);
    workspace scratch{std::span(memory_)};
    const auto said =
        token_rule{}.verify(exec::simd, block_.drafts(), row_span_provider<float>(rows_of(number), transform_),
                            uniforms{philox{{3, 4}}, number * length, number}, {}, scratch);
    if (!said) return false;
    spent.end_of(verify);
    const feedback_message answer{said->accepted, said->next_token, static_cast<std::uint8_t>(said->source),
                                  static_cast<std::uint8_t>(said->stop)};
    if (!encode_feedback({}, format, length, answer, answer_)) return false;
    spent.end_of(bytes);
    accepted_ += said->accepted;
    rows_read_ += said->accepted + 1;
    again_ += said->counters.exact_normalisers;
    return true;
  }

  //! Reads the same number of rows, but makes no decision.
  void digests(std::uint32_t number, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      workspace scratch{std::span(memory_)};
      benchmark::DoNotOptimize(read_row(exec::simd, rows_of(number)[i], {}, {}, scratch).ok());
    }
  }
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] std::uint64_t rows_read() const { return rows_read_; }
  [[nodiscard]] std::uint64_t read_again() const { return again_; }

 private:
  [[nodiscard]] std::span<const row_view<float>> rows_of(std::uint32_t number) const {
    return std::span(rows_).subspan(number % rounds_held * (length + 1), length + 1);
  }

  std::vector<std::byte> memory_, decode_memory_;
  std::vector<std::vector<std::byte>> messages_;
  std::vector<row_view<float>> rows_;
  std::array<row_transform, 1> transform_{};
  received_draft_block block_ = std::move(received_draft_block::make({length, length * 256}).value());
  std::array<std::byte, 64> answer_{};
  std::uint64_t accepted_ = 0, rows_read_ = 0, again_ = 0;
};

template <class Sparsifier>
void step(benchmark::State& state, Sparsifier sparsifier) {
  cloud<Sparsifier> server(sparsifier);
  const double floor = floor_us();
  watch off(false), on(true);
  std::uint32_t number = 0;
  double timed = 0, timed_rows = 0;
  for (auto _ : state) {
    const std::uint64_t before = server.rows_read();
    const double start = thread_seconds();
    if (!server.round(number, off)) state.SkipWithError("round");
    timed += thread_seconds() - start;
    timed_rows += static_cast<double>(server.rows_read() - before);
    ++number;
  }
  std::vector<std::uint32_t> counts;
  const std::uint32_t first = number;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t before = server.rows_read();
    if (!server.round(number++, on)) state.SkipWithError("round");
    counts.push_back(static_cast<std::uint32_t>(server.rows_read() - before));
  }
  const double start = thread_seconds();
  for (std::uint32_t i = 0; i < counts.size(); ++i) server.digests(first + i, counts[i]);
  const double row_time = thread_seconds() - start;
  state.counters["accepted"] = static_cast<double>(server.accepted()) / number;
  state.counters["rows"] = static_cast<double>(server.rows_read()) / number;
  state.counters["read_again"] = static_cast<double>(server.read_again()) / number;
  state.counters["floors"] = 1e6 * timed / (timed_rows * floor);
  state.counters["digests"] = on.spent(verify) / row_time;
  on.report(state, parts);
}

}  // namespace

BENCHMARK_CAPTURE(step, k_sqs, k_sqs())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(step, c_sqs, c_sqs())->Unit(benchmark::kMicrosecond);
