// SPDX-License-Identifier: Apache-2.0
// Writes the decisions of every operation on a row as numbers, which another build must reproduce.
// usage: row_outputs write SMALL WIDE EACH THREADS FILE   the outputs of every EACH-th row
//        row_outputs planted SMALL WIDE EACH THREADS FILE   the same, with another last value in the first row
//        row_outputs compare FILE OTHER
//          "N rows compared, D differing"; exit code 1 with a difference
// Rows: SMALL rows of 1 to 4099 ids, WIDE rows of about 128 256, and every difficult row; logits as float, double, fp16
// and bf16, with and without a stride, and probabilities. Every build makes the same rows.
// SPECVERIFY_OUTPUTS_POLICY: the policy whose outputs are written.
#include <specverify/decision_head/mlp.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/row/blocks.hpp>
#include <specverify/row/integer_weights.hpp>
#include <specverify/row/parallel.hpp>
#include <specverify/sparsify/threshold.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>
#include <specverify/verify/semantic.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "row_case.hpp"

namespace row_outputs {

//! Returns a number as a float; only for float and 16-bit types.
template <class Scalar>
float float_of(Scalar value) {
  if constexpr (std::is_same_v<Scalar, float>) {
    return value;
  } else if constexpr (std::is_same_v<Scalar, bfloat16_bits>) {
    const std::uint32_t bits = std::uint32_t{value.bits} << 16;
    float made;
    std::memcpy(&made, &bits, sizeof(made));
    return made;
  } else {
    const std::uint32_t exponent = (value.bits >> 10) & 31u, mantissa = value.bits & 1023u;
    const float sign = (value.bits & 0x8000u) != 0 ? -1.0f : 1.0f;
    if (exponent == 31) return sign * std::numeric_limits<float>::infinity();
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
    return sign * std::ldexp(static_cast<float>(mantissa + 1024u), static_cast<int>(exponent) - 25);
  }
}

//! Logits after bias and mask.
template <class Scalar>
std::vector<float> transformed(const std::vector<Scalar>& row, std::uint32_t stride, const row_transform& transform) {
  std::vector<float> made(row.size() / stride);
  for (std::size_t v = 0; v < made.size(); ++v) made[v] = float_of(row[v * stride]);
  for (std::size_t i = 0; i < transform.bias_ids.size(); ++i)
    made[static_cast<std::size_t>(transform.bias_ids[i])] += transform.bias_values[i];
  for (std::size_t v = 0; v < made.size() && !transform.mask_words.empty(); ++v) {
    if ((transform.mask_words[v / 64] >> (v % 64) & 1u) == 0) made[v] = -std::numeric_limits<float>::infinity();
  }
  return made;
}

struct claims {
  std::vector<float> maxima, sums;
  row_blocks view;

  claims(const std::vector<float>& logits, double temperature, std::uint32_t block_size) {
    for (std::size_t first = 0; first < logits.size(); first += block_size) {
      const std::size_t end = std::min<std::size_t>(logits.size(), first + block_size);
      float maximum = -std::numeric_limits<float>::infinity();
      for (std::size_t v = first; v < end; ++v) maximum = std::max(maximum, logits[v]);  // ignores NaN
      double sum = 0;
      for (std::size_t v = first; v < end && std::isfinite(maximum); ++v) {
        const double below = static_cast<double>(logits[v]) - static_cast<double>(maximum);
        if (below <= 0 && temperature > 0) sum += std::exp(below / temperature);
      }
      maxima.push_back(maximum);
      sums.push_back(sum > 0 ? static_cast<float>(sum) : 1.0f);
    }
    view = {block_size, maxima, sums, 0x1.0p-10};
  }
  claims(const claims&) = delete;
  claims& operator=(const claims&) = delete;
};

constexpr std::uint32_t head_positions = 5;
//! The logits of two builds differ by less than this (decision_head/mlp.hpp).
constexpr double head_margin = 1e-4;

//! Returns multiples of 2^-bits up to `largest`, a power of 2.
inline std::vector<float> multiples(std::size_t size, int bits, float largest, generator& random) {
  const std::uint32_t most = std::uint32_t{1} << bits;
  std::vector<float> made(size);
  for (float& value : made)
    value = std::ldexp(largest * (static_cast<float>(random.below(2 * most + 1)) - static_cast<float>(most)), -bits);
  return made;
}

struct exact_head {
  head_shape shape{hidden_mode::predicting, 41, 75, 27};
  std::vector<float> first, first_bias, second;

  exact_head() {
    generator random{17};
    first = multiples(shape.width * shape.input_size(), 14, 0.25f, random);
    first_bias = multiples(shape.width, 14, 0.25f, random);
    second = multiples(shape.width, 10, 1.0f, random);
  }
  [[nodiscard]] head_weights view() const { return {shape, first, first_bias, second, 0.125f, {}, 0.5}; }
};

//! The states of a few positions.
struct head_states {
  std::vector<float> drafter, target;
  channel_vector channel{};

  head_states(const head_shape& shape, generator& random)
      : drafter(multiples(head_positions * shape.drafter_size, 13, 1.0f, random)),
        target(multiples(head_positions * shape.target_size, 13, 1.0f, random)) {
    const std::vector<float> said = multiples(channel.size(), 13, 1.0f, random);
    for (std::size_t i = 0; i < channel.size(); ++i) channel[i] = said[i];
  }
};

//! Returns g of one position. Every step is exact.
inline double exact_logit(const exact_head& head, const head_states& states, std::uint32_t position) {
  const head_shape& shape = head.shape;
  std::vector<float> inputs;
  const auto add = [&](std::span<const float> more) { inputs.insert(inputs.end(), more.begin(), more.end()); };
  add(std::span(states.drafter).subspan(position * shape.drafter_size, shape.drafter_size));
  add(std::span(states.target).subspan(position * shape.target_size, shape.target_size));
  add(states.channel);
  double logit = 0.125;
  for (std::size_t k = 0; k < shape.width; ++k) {
    double unit = static_cast<double>(head.first_bias[k]);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      unit += static_cast<double>(head.first[k * inputs.size() + i]) * static_cast<double>(inputs[i]);
    if (unit > 0) logit += static_cast<double>(head.second[k]) * unit;
  }
  return logit;
}

inline constexpr const char* names[] = {"readings", "weights",       "top_entries", "tokens", "verdicts", "residuals",
                                        "laws",     "disagreements", "means",       "claims", "heads"};
constexpr std::size_t parts = std::size(names);
enum part_name : std::size_t {
  in_readings,
  in_weights,
  in_top_entries,
  in_tokens,
  in_verdicts,
  in_residuals,
  in_laws,
  in_disagreements,
  in_means,
  in_claims,
  in_heads
};
using outputs = std::array<std::uint64_t, parts>;

//! Thread i modulo the number of threads reads row i of a batch.
struct thread_pool {
  std::uint32_t threads = 1;
  template <class Body>
  void operator()(std::uint32_t count, const Body& body) const {
    const auto work = [&](std::uint32_t thread) {
      for (std::uint32_t i = thread; i < count; i += threads) body(i);
    };
    std::vector<std::thread> others;
    for (std::uint32_t t = 1; t < threads; ++t) others.emplace_back(work, t);
    work(0);
    for (std::thread& one : others) one.join();
  }
};

class mixer {
 public:
  void add(std::uint64_t value) { state_ = (state_ ^ value) * 0x100000001B3u + (state_ >> 29); }
  template <class Element>
  void add(std::span<const Element> values) {
    add(std::uint64_t{values.size()});
    for (const Element value : values) add(static_cast<std::uint64_t>(value));
  }
  void add(const status& why) {
    if (why.code == errc::workspace_too_small) std::abort();  // the program provides enough memory
    add(static_cast<std::uint64_t>(why.code) << 32 | why.where);
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325u;
};

//! The outputs of one row.
template <class Policy, class Scalar>
class examined_row {
 public:
  examined_row(Policy policy, const thread_pool& pool, row_case& one, std::vector<std::byte>& memory)
      : policy_(policy), pool_(pool), one_(one) {
    transform_ = one.read.transform;
    transform_.mask_words = one.read.mask;
    transform_.bias_ids = one.read.bias_ids;
    transform_.bias_values = one.read.bias_values;
    stride_ = one.stored == form::strided ? 3 : 1;
    values_.resize(one.values.size() * stride_, stored_as<Scalar>(1e30f));  // entries in between are not read
    for (std::size_t i = 0; i < one.values.size(); ++i) values_[i * stride_] = stored_as<Scalar>(one.values[i]);
    memory.resize(std::size_t{1} << 25);
    scratch_ = workspace(std::span(memory));
  }

  outputs examine() {
    const auto best = argmax(policy_, view(), transform_);
    mix(in_readings).add(best.error());
    if (best) {
      mix(in_readings).add(static_cast<std::uint64_t>(best->token));
      mix(in_readings).add(number_bits(best->margin));
    }
    weigh();
    read_batch();
    if (best) compress();
    read_claims();
    score(best ? best->token : static_cast<token_id>(0));
    outputs found{};
    for (std::size_t i = 0; i < parts; ++i) found[i] = mixers_[i].value();
    return found;
  }

 private:
  using reading = row_reading<Policy, Scalar>;

  //! Treats both zeros as one number.
  static std::uint64_t number_bits(double value) {
    if (value == 0.0) return 0;
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  }
  mixer& mix(part_name part) { return mixers_[part]; }
  [[nodiscard]] bool logits() const { return one_.stored != form::probabilities; }
  [[nodiscard]] row_view<Scalar> view() const {
    const auto size = static_cast<std::uint32_t>(one_.values.size());
    return {logits() ? row_kind::logits : row_kind::probabilities, values_.data(), size, size, stride_};
  }

  void weigh() {
    if (transform_.truncation.active()) return;
    weights_.resize(one_.values.size());
    const auto total = integer_weights(policy_, view(), transform_, std::span<std::uint32_t>(weights_));
    mix(in_weights).add(total.error());
    if (!total) return;
    mix(in_weights).add(*total);
    mix(in_weights).add(std::span<const std::uint32_t>(weights_));
  }

  //! Reads the row, and again at another temperature, on the threads of the pool.
  void read_batch() {
    constexpr std::uint32_t top_entries[] = {1, 8, 64, 300, 1024};
    read_request request;
    request.top_entries = top_entries[one_.random.below(5)];
    request.integer_total = true;
    if (one_.random.below(4) == 0) request.minimum_probability = 0x1.0p-10;
    const std::array<row_view<Scalar>, 2> rows{view(), view()};
    std::array<row_transform, 2> transforms{transform_, transform_};
    if (logits()) transforms[1].temperature = 1.25;
    std::array<result<reading>, 2> read{status{errc::busy}, status{errc::busy}};
    const workspace_scope scope(scratch_);
    const auto all =
        read_rows(exec::parallel(pool_, policy_), row_batch<Scalar>{rows, transforms}, request, read, scratch_);
    mix(in_readings).add(all.error());
    for (const result<reading>& row : read) {
      mix(in_readings).add(row.error());
      if (row) look_at(*row);
    }
    if (!read[0]) return;
    decide(*read[0]);
    if (logits()) doubt(*read[0]);
  }

  void look_at(const reading& row) {
    mix(in_readings).add(static_cast<std::uint64_t>(row.argmax()));
    mix(in_readings).add(number_bits(row.maximum()));
    mix(in_readings).add(row.total_weight());
    mix(in_readings).add(row.is_one_hot() ? 1 : 0);
    mix(in_top_entries).add(row.top_ids());
    mix(in_top_entries).add(row.top_weights());
    mix(in_top_entries).add(row.top_complete() ? 1 : 0);
  }

  void decide(const reading& row) {
    for (std::uint32_t position = 0; position < 4; ++position)
      draw(row, position, mix(in_tokens), mix(in_verdicts), mix(in_residuals));
  }
  //! Draws a token, tests this or another token, and draws a residual, at one position.
  void draw(const reading& row, std::uint32_t position, mixer& tokens, mixer& verdicts, mixer& residuals) {
    const std::uint32_t size = row.vocab_size();
    const uniforms random{philox{{7, 11}}, position, 3};
    const auto drawn = row.sample(random.at(purpose::draft_draw));
    tokens.add(drawn.error());
    const token_id other = static_cast<token_id>(one_.random.below(size));
    const token_id token = drawn && position % 2 == 0 ? drawn->token : other;
    if (drawn) tokens.add(static_cast<std::uint64_t>(drawn->token) << 32 | drawn->trials);
    const std::uint32_t count = 1 + one_.random.below(100);
    const auto verdict = row.accept({token, count, 100}, random.at(purpose::acceptance));
    verdicts.add(verdict.error());
    if (verdict) verdicts.add(verdict->accepted ? 1 : 0);
    if (size < 2) return;
    const std::array<token_id, 2> ids{static_cast<token_id>(0), static_cast<token_id>(size - 1)};
    const std::array<std::uint32_t, 2> counts{100 - count, count};
    const auto next = row.residual(law{ids.data(), counts.data(), 2, 0, 100, size}, random.at(purpose::residual_draw));
    residuals.add(next.error());
    if (next) residuals.add(static_cast<std::uint64_t>(next->token));
  }

  //! Measures the uncertainty of a token by draws, by draws from a row that was read for them, and by the mean.
  void doubt(const reading& row) {
    const perturbation_options options;
    const uniforms random{philox{{5, 6}}, 0, 1};
    const token_id token =
        one_.random.below(2) == 0 ? row.argmax() : static_cast<token_id>(one_.random.below(row.vocab_size()));
    const auto add = [&](const result<disagreement>& found) {
      mix(in_disagreements).add(found.error());
      if (found) mix(in_disagreements).add(found->disagreements);
    };
    add(temperature_perturbation(row, token, options, random));
    const bool serves = serves_perturbation(row, options);
    mix(in_disagreements).add(serves ? 1 : 0);
    if (!serves) {
      const workspace_scope scope(scratch_);
      const auto better = read_for_perturbation(row, options, scratch_);
      mix(in_disagreements).add(better.error());
      if (better) add(temperature_perturbation(*better, token, options, random));
    }
    doubt_by_mean(row, token);
    ask_tempered(row, token);
  }

  //! Compares the mean with a few limits, by bounds, and exactly if these do not decide. A host would do the same.
  void doubt_by_mean(const reading& row, token_id token) {
    const perturbation_options options{.samples = 6};
    const auto mean = expected_disagreement(row, token, options);
    const auto bounds = expected_disagreement_within(row, token, options, 0x1.0p-6);
    mix(in_means).add(mean.error());
    mix(in_means).add(bounds.error());
    if (!mean || !bounds) return;
    mix(in_means).add(bounds->lower <= *mean + 1e-11 && *mean <= bounds->upper + 1e-11 ? 1 : 0);
    for (const double limit : {0.0151, 0.2503, 0.7331, 0.9907}) {
      const bool open = bounds->lower <= limit && limit < bounds->upper;
      mix(in_means).add((open ? *mean : bounds->lower) > limit ? 1 : 0);
      mix(in_means).add(*mean > limit ? 1 : 0);
    }
  }

  void ask_tempered(const reading& row, token_id token) {
    constexpr std::array<double, 4> temperatures{0.0, 0.3125, 1.1875, 7.0};
    constexpr std::array<double, 4> limits{0.0703, 0.5701, 0.0007, 0.1907};
    std::array<double, 4> probabilities{};
    std::array<probability_bounds, 4> bounds{};
    const auto hits = tempered_draws(row, token, temperatures, limits);
    const auto found = tempered_probabilities(row, token, temperatures, probabilities);
    const auto reads = tempered_bounds(row, token, temperatures, 0x1.0p-8, bounds);
    mix(in_means).add(hits.error());
    mix(in_means).add(found.error());
    mix(in_means).add(reads.error());
    if (!hits || !found || !reads) return;
    mix(in_means).add(hits->hits);
    for (std::size_t m = 0; m < temperatures.size(); ++m) {
      mix(in_means).add(limits[m] < probabilities[m] ? 1 : 0);
      const double slack = 1e-12 * probabilities[m];
      const bool within = bounds[m].lower <= probabilities[m] + slack && probabilities[m] <= bounds[m].upper + slack;
      mix(in_means).add(within ? 1 : 0);
    }
  }

  template <class Sparsifier>
  void compress_with(const Sparsifier& sparsifier, law_format format) {
    const draft_law_options options{.format = format, .resolution = 100};
    const workspace_scope scope(scratch_);
    const read_request wanted =
        draft_law_request(static_cast<std::uint32_t>(one_.values.size()), sparsifier, {}, options);
    const auto row = read_row(policy_, view(), transform_, wanted, scratch_);
    mix(in_laws).add(row.error());
    if (!row) return;
    const auto made = make_draft_law(*row, sparsifier, {}, options, scratch_);
    mix(in_laws).add(made.error());
    if (!made) return;
    mix(in_laws).add(std::span(made->drafted.ids, made->drafted.size));
    mix(in_laws).add(std::span(made->drafted.counts, made->drafted.size));
  }
  void compress() {
    compress_with(top_k{32}, law_format::sparse_drop_zero);
    compress_with(threshold{0x1.0p-7}, law_format::sparse_drop_zero);
    compress_with(top_k{8}, law_format::dense_lattice);
  }

  //! Reads rows from claims about blocks. One claim in ten has an error.
  void read_claims() {
    if constexpr (!std::is_same_v<Scalar, double>) {
      const auto block_size = static_cast<std::uint32_t>(64u << one_.random.below(5));
      claims said(transformed(values_, stride_, transform_), transform_.temperature, block_size);
      const std::size_t wrong = one_.random.below(static_cast<std::uint32_t>(said.sums.size()));
      const std::uint32_t what = one_.random.below(20);
      if (what == 0) said.maxima[wrong] += 0.5f;
      if (what == 1) said.sums[wrong] *= 1.25f;
      mix(in_claims).add(check_blocks(policy_, view(), transform_, said.view));
      constexpr std::uint32_t top_entries[] = {0, 8, 64};
      read_request request;
      request.top_entries = top_entries[one_.random.below(3)];
      const workspace_scope scope(scratch_);
      const auto row = read_row_from_blocks(policy_, view(), transform_, request, said.view, scratch_);
      mix(in_claims).add(row.error());
      if (!row) return;
      mix(in_claims).add(static_cast<std::uint64_t>(row->argmax()));
      mix(in_claims).add(number_bits(row->maximum()));
      mix(in_claims).add(row->top_ids());
      mix(in_claims).add(row->top_weights());
      mix(in_claims).add(row->top_complete() ? 1 : 0);
      for (std::uint32_t position = 4; position < 7; ++position)
        draw(*row, position, mix(in_claims), mix(in_claims), mix(in_claims));
    }
  }

  //! The semantic rule on the row as the target of a block, with the scores of a decision head.
  void score(token_id best) {
    static const exact_head head;
    const head_states states(head.shape, one_.random);
    const double threshold = threshold_of_sixteenths(1 + one_.random.below(15));
    const double bar = std::log(threshold / (1.0 - threshold));
    std::array<double, head_positions> scores{};
    const head_weights weights = head.view();
    const auto scored =
        head_scores(weights, drafter_input::hidden_state, states.drafter, states.target, states.channel, scores);
    mix(in_heads).add(scored.error());
    bool close = false;
    for (std::uint32_t i = 0; i < head_positions; ++i) {
      const double exact = exact_logit(head, states, i);
      const bool open = std::fabs(exact - bar) < head_margin;
      close = close || open;
      mix(in_heads).add(open ? 2 : scores[i] >= threshold ? 1 : 0);
      mix(in_heads).add(std::fabs(scores[i] - sigmoid(exact)) < head_margin ? 1 : 0);
    }
    mix(in_heads).add(close ? 1 : 0);
    if (!close)
      verify_block(best, {weights, drafter_input::hidden_state, states.drafter, states.target, states.channel},
                   threshold);
  }

  void verify_block(token_id best, const head_scorer& scorer, double threshold) {
    const auto size = static_cast<std::uint32_t>(one_.values.size());
    std::array<claimed_draft, head_positions> drafts{};
    for (claimed_draft& one : drafts)
      one = {one_.random.below(3) == 0 ? best : static_cast<token_id>(one_.random.below(size)), 1, 2};
    std::array<row_view<Scalar>, head_positions + 1> rows;
    rows.fill(view());
    const std::array<row_transform, 1> transforms{transform_};
    const row_span_provider<Scalar> provider{rows, transforms};
    const semantic_rule<head_scorer> rule{scorer, threshold};
    const uniforms random{philox{{3, 4}}, 0, 1};
    const auto said = rule.verify(policy_, std::span<const claimed_draft>(drafts), provider, random, {}, scratch_);
    mix(in_heads).add(said.error());
    if (!said) return;
    mix(in_heads).add(static_cast<std::uint64_t>(said->next_token));
    for (const std::uint32_t number : {said->accepted, said->commit_length, said->counters.near_ties,
                                       said->counters.mismatches, said->counters.accepted_mismatches})
      mix(in_heads).add(number);
  }

  Policy policy_;
  const thread_pool& pool_;
  row_case& one_;
  std::uint32_t stride_ = 1;
  std::vector<Scalar> values_;
  row_transform transform_;
  workspace scratch_;
  std::vector<std::uint32_t> weights_;
  std::array<mixer, parts> mixers_{};
};

template <class Policy>
outputs outputs_of(Policy policy, const thread_pool& pool, row_case& one, std::vector<std::byte>& memory) {
  switch (one.stored) {
    case form::doubles:
      return examined_row<Policy, double>(policy, pool, one, memory).examine();
    case form::halves:
      return examined_row<Policy, float16_bits>(policy, pool, one, memory).examine();
    case form::brains:
      return examined_row<Policy, bfloat16_bits>(policy, pool, one, memory).examine();
    case form::logits:
    case form::strided:
    case form::probabilities:
      break;
  }
  return examined_row<Policy, float>(policy, pool, one, memory).examine();
}

}  // namespace row_outputs

#ifndef SPECVERIFY_OUTPUTS_POLICY
#define SPECVERIFY_OUTPUTS_POLICY specverify::exec::simd
#endif

using namespace row_outputs;

namespace {

struct selection {
  std::uint32_t small, wide, each;
  bool planted = false;
};

row_case case_of(const selection& rows, std::uint32_t number) {
  if (number < rows.small + rows.wide) return any_row(number, number >= rows.small);
  return hard_row(number - rows.small - rows.wide);
}

int write(const selection& rows, const thread_pool& pool, const char* path) {
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) return 2;
  std::vector<std::byte> memory;
  std::size_t written = 0;
  for (std::uint32_t number = 0; number < rows.small + rows.wide + hard_count; number += rows.each) {
    row_case one = case_of(rows, number);
    if (rows.planted && number == 0) one.values.back() += 0.25f;
    const outputs found = outputs_of(SPECVERIFY_OUTPUTS_POLICY, pool, one, memory);
    written += std::fwrite(found.data(), sizeof(found), 1, file);
  }
  return std::fclose(file) == 0 && written > 0 ? 0 : 2;
}

std::vector<outputs> read(const char* path) {
  std::vector<outputs> rows;
  outputs one;
  if (std::FILE* const file = std::fopen(path, "rb")) {
    while (std::fread(one.data(), sizeof(one), 1, file) == 1) rows.push_back(one);
    std::fclose(file);
  }
  return rows;
}

int compare(const char* path, const char* other) {
  const std::vector<outputs> a = read(path), b = read(other);
  if (a.empty() || a.size() != b.size()) {
    std::printf("%zu rows in one file, %zu in the other\n", a.size(), b.size());
    return 1;
  }
  std::size_t differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    for (std::size_t part = 0; part < parts && differing < 8; ++part) {
      if (a[i][part] != b[i][part]) std::printf("  place %zu: other %s\n", i, names[part]);
    }
    ++differing;
  }
  std::printf("%zu rows compared, %zu differing\n", a.size(), differing);
  return differing == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** given) {
  const std::string what = count > 1 ? given[1] : "";
  if (what == "compare" && count == 4) return compare(given[2], given[3]);
  if ((what != "write" && what != "planted") || count != 7) {
    std::fprintf(stderr, "usage: row_outputs write|planted SMALL WIDE EACH THREADS FILE | compare FILE OTHER\n");
    return 2;
  }
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::strtoul(given[i], nullptr, 10)); };
  const selection rows{number(2), number(3), number(4) > 0 ? number(4) : 1, what == "planted"};
  return write(rows, {number(5) > 0 ? number(5) : 1}, given[6]);
}
