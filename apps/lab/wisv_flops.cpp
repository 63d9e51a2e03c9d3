// SPDX-License-Identifier: Apache-2.0
// Computes WISV's pass times by operations (equations (11) to (17)) next to the line of Table I, and the target
// alone. Needs no model.
#include "unit/link/wisv_table.hpp"
#include "wisv_figures.hpp"

namespace lab {
namespace {

constexpr double mean_seen = 200;  //!< tokens before a window: a prompt of 100 and half of an answer of 209
constexpr specverify::compute_engine a40{149.7e12, 0.4, specverify::unlimited_rate, 0};
constexpr specverify::compute_engine a40_with_memory{149.7e12, 0.4, 696e9, 0};
constexpr specverify::compute_engine orin_with_memory{10.6e12, 0.4, 204.8e9, 0};

//! Models of the computing time of a round.
struct pass_models {
  specverify::fitted_times line{};
  double device_rate = 0;  //!< operations/s of the device that reproduce the row of L = 10

  [[nodiscard]] double by_line(std::uint32_t length) const { return length * line.per_token; }
  [[nodiscard]] static double target_operations(std::uint32_t length) {
    return specverify::window_flops(specverify::llama_3_1_8b, mean_seen, length);
  }
  [[nodiscard]] double by_operations(std::uint32_t length) const {
    return specverify::window_flops(specverify::llama_3_2_1b, mean_seen, length) / device_rate +
           specverify::compute_time(target_operations(length), a40);
  }
  //! Both models read all weights: the device for every draft, the server once a window.
  [[nodiscard]] static double by_memory(std::uint32_t length) {
    double sum = specverify::compute_time(target_operations(length), a40_with_memory,
                                          specverify::weight_bytes(specverify::llama_3_1_8b));
    for (std::uint32_t i = 0; i < length; ++i) {
      sum += specverify::compute_time(specverify::token_flops(specverify::llama_3_2_1b, mean_seen + i),
                                      orin_with_memory, specverify::weight_bytes(specverify::llama_3_2_1b));
    }
    return sum;
  }
};

//! Returns the seconds of a greedy round at 500 Mbit/s as printed, without the round trip.
double printed_round(const specverify_test::wisv_row& row) { return row.fast.latency / row.fast.rounds - 0.05; }

pass_models fit_models() {
  pass_models made;
  std::vector<std::uint32_t> lengths;
  std::vector<double> seconds;
  for (const specverify_test::wisv_row& row : specverify_test::wisv_table) {
    if (row.method != specverify_test::wisv_method::greedy) continue;
    lengths.push_back(row.draft_length);
    seconds.push_back(row.fast.latency / row.fast.rounds);
  }
  made.line = demand(specverify::fit_round_times(lengths, seconds), "fit_round_times");
  const std::uint32_t shortest = lengths.front();
  made.device_rate = specverify::window_flops(specverify::llama_3_2_1b, mean_seen, shortest) /
                     (printed_round(specverify_test::wisv_table[0]) -
                      specverify::compute_time(pass_models::target_operations(shortest), a40));
  return made;
}

void compare_models(const pass_models& models, figure& f) {
  panel& p = f.add_panel("computing time of a round", "L", "s");
  for (const char* name : {"Table I, greedy", "line through Table I", "by operations", "with memory"}) p.add(name);
  table& t = f.add_table("computing time of a greedy round, 500 Mbit/s, in seconds",
                         {"L", "printed", "line", "error %", "by operations", "error %", "with memory"});
  double worst = 0, worst_line = 0;
  for (const specverify_test::wisv_row& row : specverify_test::wisv_table) {
    if (row.method != specverify_test::wisv_method::greedy) continue;
    const std::uint32_t length = row.draft_length;
    const double printed = printed_round(row), line = models.by_line(length) + models.line.fixed - 0.05,
                 operations = models.by_operations(length), memory = pass_models::by_memory(length);
    const double values[] = {printed, line, operations, memory};
    for (std::size_t k = 0; k < std::size(values); ++k) p.curves[k].add(length, values[k]);
    t.rows.push_back({std::to_string(length), number(printed), number(line), number(100 * (line / printed - 1), 2),
                      number(operations), number(100 * (operations / printed - 1), 2), number(memory)});
    worst = std::max(worst, std::fabs(operations / printed - 1));
    worst_line = std::max(worst_line, std::fabs(line / printed - 1));
  }
  const double drafter = specverify::token_flops(specverify::llama_3_2_1b, mean_seen);
  f.answer("wisv.flops", met_if(worst < 0.01),
           "with a device of " + number(models.device_rate / 1e9, 3) +
               " Goperations/s, taken from the row of L = 10, the other rows follow within " + number(100 * worst, 2) +
               " %; the line within " + number(100 * worst_line, 2) + " %",
           "the paper names no throughput: this device needs " + number(1e3 * drafter / models.device_rate, 3) +
               " ms a draft where the memory of an AGX Orin would allow " +
               number(1e3 * (pass_models::by_memory(11) - pass_models::by_memory(10)), 3) + " ms; the server takes " +
               number(1e3 * specverify::compute_time(pass_models::target_operations(1), a40), 2) +
               " ms a token, so the round's time is the drafter's");
  f.require("by operations, every greedy row of Table I follows within 1 %", worst < 0.01,
            number(100 * worst, 3) + " %");
}

//! Compares Table I with a server that writes the whole answer.
void compare_alone(figure& f) {
  panel& p = f.add_panel("latency of an answer with the same hardware, 500 Mbit/s, 50 ms", "L", "s");
  for (const char* name :
       {"greedy, Table I", "WISV, Table I", "greedy, with memory", "WISV, with memory", "target alone, with memory"})
    p.add(name);
  table& t = f.add_table("latency of an answer in seconds, 500 Mbit/s, 50 ms",
                         {"L", "greedy, printed", "WISV, printed", "greedy, with memory", "WISV, with memory",
                          "target alone, with memory", "target alone, by operations"});
  const specverify::wisv_format format;
  const specverify::channel_state link = grid_links()[2];
  double best = 1e9, alone = 0;
  const auto with_memory = [&](const specverify_test::wisv_cell& cell, std::uint32_t length, std::uint64_t bits) {
    return cell.rounds *
           (pass_models::by_memory(length) + specverify::exchange_time(static_cast<double>(bits), 0, link));
  };
  for (std::size_t at = 0; at < std::size(specverify_test::wisv_table); at += 3) {
    const specverify_test::wisv_row &greedy = specverify_test::wisv_table[at],
                                    &wisv = specverify_test::wisv_table[at + 2];
    const std::uint32_t length = greedy.draft_length;
    const double tokens = greedy.fast.rounds * greedy.fast.tokens_per_round;
    alone = semantic_costs{}.alone(tokens, link);
    const double operations =
        tokens * specverify::compute_time(pass_models::target_operations(1), a40) + link.round_trip;
    const double values[] = {greedy.fast.latency, wisv.fast.latency,
                             with_memory(greedy.fast, length, specverify::wisv_token_upload_bits(format, length)),
                             with_memory(wisv.fast, length, specverify::wisv_full_upload_bits(format, length)), alone};
    std::vector<std::string> row{std::to_string(length)};
    for (std::size_t k = 0; k < std::size(values); ++k) {
      p.curves[k].add(length, values[k]);
      row.push_back(number(values[k]));
      if (k < 4) best = std::min(best, values[k]);
    }
    row.push_back(number(operations));
    t.rows.push_back(row);
  }
  f.compare("the target alone", "not in the paper",
            number(alone) + " s an answer against " + number(best) + " s for the best row of the two methods",
            alone < best ? "on this hardware the server alone is faster than every window, and by operations alone, as "
                           "the paper counts, much faster; splitting then pays only for a loaded server"
                         : "the split is faster on this hardware");
}

}  // namespace

void run_wisv_flops(lab_context&, figure& f) {
  f.about =
      "Computing time of a round by operations (Llama-3.2-1B drafts, Llama-3.1-8B verifies, " + number(mean_seen) +
      " tokens before the window). By operations: the server is an A40 at 40 % of 149.7 Toperations/s, and the one "
      "unknown, the device's rate, is found from the row of L = 10. With memory: each pass also reads its weights, at "
      "696 GB/s on the server and 204.8 GB/s on an AGX Orin; rounds are the paper's. Target alone: the server writes "
      "the answer and sends it down, without a device.";
  compare_models(fit_models(), f);
  compare_alone(f);
}

}  // namespace lab
