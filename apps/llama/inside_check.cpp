// SPDX-License-Identifier: Apache-2.0
// llama_inside MODEL PROMPTS: compares the results of adapters/llama_cpp/inside.hpp on a real graph with other results
// of llama.cpp, and checks properties of attention. Exit code 0: all checks pass. Part `inside` of tests/engine/run.sh.
#include <llama_cpp/inside.hpp>
#include <llama_cpp/model.hpp>

#include "../standard_output.hpp"
#include "engine.hpp"

#include <cstdio>
#include <fstream>

namespace {

namespace sv = specverify;
using watched_model = sv::llama_cpp::with_inside<sv::llama_cpp::model>;
using rows_of = std::vector<std::vector<float>>;

//! A context on loaded weights.
struct opened {
  sv::llama_cpp::inside seen;
  std::unique_ptr<llama_context, decltype(&llama_free)> context{nullptr, llama_free};
  std::optional<watched_model> engine{};
  opened(llama_model* weights, const auto& change) {
    llama_context_params settings = llama_context_default_params();
    settings.n_ctx = 512, settings.n_threads = settings.n_threads_batch = 1;
    seen.watch(settings, weights);
    change(settings);
    context.reset(llama_init_from_model(weights, settings));
    engine.emplace(*sv::llama_cpp::model::make(context.get()), seen);
  }
};

//! Returns the distance of two tables relative to the norm of the first. For attention the first position is left out,
//! because it has most of the weight in every row (`first` = 1).
double distance(const rows_of& one, const rows_of& other, std::size_t first = 1) {
  if (one.size() != other.size()) return 1e9;
  double apart = 0, length = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i].size() != other[i].size()) return 1e9;
    for (std::size_t k = first; k < one[i].size(); ++k) {
      apart += std::pow(one[i][k] - other[i][k], 2);
      length += std::pow(one[i][k], 2);
    }
  }
  return std::sqrt(apart / length);
}

//! Returns the distance between each row, without the last position, and the row before it.
double distance_to_neighbours(const rows_of& rows) {
  rows_of own(rows.begin() + 1, rows.end());
  for (std::vector<float>& row : own) row.pop_back();
  return distance(own, rows_of(rows.begin(), rows.end() - 1));
}

//! Returns states and attention of the last `rows` positions.
std::pair<rows_of, rows_of> seen_by(opened& side, std::uint32_t position, std::span<const sv::token_id> tokens,
                                    std::uint32_t rows) {
  std::pair<rows_of, rows_of> seen;
  if (const sv::status why = side.engine->feed(position, tokens, rows); !why.ok())
    throw std::runtime_error(why.text().c_str());
  for (std::uint32_t i = 0; i < rows; ++i) {
    const auto state = side.engine->hidden(i), weights = side.engine->attention(i);
    seen.first.emplace_back(state.begin(), state.end());
    seen.second.emplace_back(weights.begin(), weights.end());
  }
  return seen;
}

//! Returns the states from llama_get_embeddings_ith, in a context without a callback.
rows_of embeddings_of(llama_model* weights, std::vector<sv::token_id> tokens) {
  llama_context_params settings = llama_context_default_params();
  settings.n_ctx = 512, settings.n_threads = settings.n_threads_batch = 1;
  settings.embeddings = true;
  settings.pooling_type = LLAMA_POOLING_TYPE_NONE;
  settings.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  const std::unique_ptr<llama_context, decltype(&llama_free)> context{llama_init_from_model(weights, settings),
                                                                      llama_free};
  rows_of states;
  const auto count = static_cast<std::int32_t>(tokens.size());
  if (llama_decode(context.get(), llama_batch_get_one(tokens.data(), count)) != 0) return states;
  for (std::int32_t i = 0; i < count; ++i) {
    const float* const state = llama_get_embeddings_ith(context.get(), i);
    states.emplace_back(state, state + llama_model_n_embd(weights));
  }
  return states;
}

struct verdict {
  double embeddings = 0, pieces = 0, one_by_one = 0, sums = 0, before = 0, behind = 1e9, neighbours = 1e9;
  std::size_t rows = 0, wrong_sizes = 0;
};

void compare(llama_model* weights, std::vector<sv::token_id> text, verdict& found) {
  opened whole(weights, [](llama_context_params&) {});
  opened cut(weights, [](llama_context_params& settings) { settings.n_batch = 32, settings.n_ubatch = 7; });
  const auto count = static_cast<std::uint32_t>(text.size());
  const auto [states, attention] = seen_by(whole, 0, text, count);
  found.embeddings = std::max(found.embeddings, distance(states, embeddings_of(weights, text), 0));
  for (std::size_t i = 0; i < attention.size(); ++i) {  // causal: one weight per position, with the sum 1
    double sum = 0;
    for (const float weight : attention[i]) sum += weight;
    found.sums = std::max(found.sums, std::fabs(sum - 1));
    found.wrong_sizes += attention[i].size() != i + 1 ? 1u : 0u;
  }
  const auto of_last = [&](const rows_of& all, std::uint32_t last) { return rows_of(all.end() - last, all.end()); };
  for (const std::uint32_t last : {4u, 20u}) {  // less than the tokens of a chunk, and more
    const auto pieces = seen_by(cut, 0, text, std::min(count, last));
    const double apart = distance(of_last(states, std::min(count, last)), pieces.first, 0);
    found.pieces = std::max({found.pieces, apart, distance(of_last(attention, std::min(count, last)), pieces.second)});
  }
  const std::uint32_t last = std::min(count, 20u);
  rows_of single;
  for (std::uint32_t i = count - last; i < count; ++i)  // after a truncation, one at a time: the cells are reused
    single.push_back(seen_by(whole, i, std::span(text).subspan(i, 1), 1).second[0]);
  found.one_by_one = std::max(found.one_by_one, distance(of_last(attention, last), single));
  const std::uint32_t changed = count / 2;  // another token there must not change earlier rows
  text[changed] = text[changed] == 300 ? 301 : 300;
  const auto other = seen_by(whole, 0, text, count).second;
  const auto part_of = [&](const rows_of& all, std::uint32_t from, std::uint32_t end) {
    return rows_of(all.begin() + from, all.begin() + end);
  };
  found.before = std::max(found.before, distance(part_of(attention, 0, changed), part_of(other, 0, changed)));
  found.behind = std::min(found.behind, distance(part_of(attention, changed, count), part_of(other, changed, count)));
  found.neighbours = std::min(found.neighbours, distance_to_neighbours(of_last(attention, last)));
  found.rows += count;
}

//! Opens a context whose flash attention was switched on again.
sv::status with_flash(llama_model* weights) {
  opened side(weights,
              [](llama_context_params& settings) { settings.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED; });
  return side.engine->feed(0, std::array<sv::token_id, 3>{1, 2, 3}, 1);
}

}  // namespace

static int run(int argc, char** argv) try {
  if (argc != 3) return std::fprintf(stderr, "usage: llama_inside MODEL PROMPTS\n"), 2;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  const std::unique_ptr<llama_model, decltype(&llama_model_free)> weights{
      llama_model_load_from_file(argv[1], llama_model_default_params()), llama_model_free};
  if (!weights) return std::fprintf(stderr, "missing model: %s\n", argv[1]), 10;
  verdict found;
  std::ifstream prompts(argv[2]);
  std::string all;
  for (std::string line; std::getline(prompts, line) && found.rows < 500;) {
    all += line + "\n";
    auto text = sv::llama_cpp::tokens_of(llama_model_get_vocab(weights.get()), all);
    if (text.size() > 8) compare(weights.get(), std::move(text), found);
  }
  const bool named = with_flash(weights.get()).code == sv::errc::options_disagree;
  std::printf(
      "inside: %zu rows of %d numbers. Distances: states from llama_get_embeddings %.1e; a batch in pieces "
      "%.1e; one by one after a cut %.1e; an attention row from the row before it at least %.1e. Sums of "
      "weights differ from 1 by %.1e; %zu rows have another length than their text. Another token changes the "
      "rows before it by %.1e, the rows after it by %.1e. Flash attention is %s.\n",
      found.rows, llama_model_n_embd(weights.get()), found.embeddings, found.pieces, found.one_by_one, found.neighbours,
      found.sums, found.wrong_sizes, found.before, found.behind, named ? "reported" : "NOT REPORTED");
  const bool holds = found.embeddings < 1e-3 && found.pieces < found.neighbours / 4 &&
                     found.one_by_one < found.neighbours / 4 && found.sums < 1e-4 && found.before < found.behind / 4;
  return holds && found.wrong_sizes == 0 && named && found.rows > 100 ? 0 : 1;
} catch (const std::exception& why) {
  return std::fprintf(stderr, "llama_inside: %s\n", why.what()), 1;
}

int main(int argc, char** argv) {
  return programs::with_output("llama_inside", [&] { return run(argc, argv); });
}
