// SPDX-License-Identifier: Apache-2.0
// What every operation on a row decides, as numbers that another build must give too.
// usage: row_outputs write seq|simd|planted SMALL WIDE EACH FILE
//          the outputs of every EACH-th row; planted: the first one has another last value
//        row_outputs compare FILE OTHER
//          "N rows compared, D differing"; exit code 1 with a difference
// Rows: SMALL of 1 to 4099 ids, WIDE of 128 256; hard ones among both; logits as float, double, fp16 and bf16, with and
// without a stride, and probabilities. Every build makes the same rows.
#include <specverify/quantize/draft_law.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/row/integer_weights.hpp>
#include <specverify/sparsify/threshold.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../support/hard_rows.hpp"

using namespace specverify;

namespace {

constexpr std::uint32_t wide_size = 128256;
constexpr std::uint32_t kinds = hard_rows::kinds + 5;  // one of two values, four of normal numbers
constexpr const char* names[] = {"reading",  "weights",   "survivors", "tokens",
                                 "verdicts", "residuals", "laws",      "disagreements"};
constexpr std::size_t parts = std::size(names);
using outputs = std::array<std::uint64_t, parts>;

struct generator {
  std::uint64_t state;
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(next() % bound); }
  //! Close to a normal number of variance 1: four 16-bit integers, exactly.
  float normal() {
    const std::uint64_t bits = next();
    std::int32_t sum = -2 * 65536;
    for (int i = 0; i < 4; ++i) sum += static_cast<std::int32_t>((bits >> (16 * i)) & 0xFFFFu);
    return static_cast<float>(sum) * 0x1.bp-16f;
  }
};

float value_of(std::uint32_t kind, std::uint32_t id, std::uint32_t size, float normal) {
  if (kind < hard_rows::kinds) return hard_rows::value_of(kind, id, size, normal);
  if (kind == hard_rows::kinds)
    return id % 2 == 0 ? 0x1.0p-100f * normal : -std::numeric_limits<float>::max();  // as good as two values
  return std::ldexp(normal, static_cast<int>(kind - hard_rows::kinds) - 1);
}

class mixer {
 public:
  void add(std::uint64_t value) { state_ = (state_ ^ value) * 0x100000001B3u + (state_ >> 29); }
  template <class Element>
  void add(std::span<const Element> values) {
    add(std::uint64_t{values.size()});
    for (const Element value : values) add(static_cast<std::uint64_t>(value));
  }
  void add(const status& why) { add(static_cast<std::uint64_t>(why.code) << 32 | why.where); }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325u;
};

//! How a row is read: a temperature, and for some rows a mask, biases or a cut.
struct reader {
  row_transform transform;
  std::vector<std::uint64_t> mask;
  std::vector<token_id> bias_ids;
  std::vector<float> bias_values;
};

reader reader_for(std::uint32_t size, generator& random) {
  constexpr double temperatures[] = {1.0, 0.75, 0.0, 0.0625, 2.0, 1.0, 16.0, 0.5, 0x1.0p160};
  reader made;
  made.transform.temperature = temperatures[random.below(std::size(temperatures))];
  if (random.below(7) == 0) {
    for (std::uint32_t i = 0; i < size / 64 + 1; ++i) made.mask.push_back(random.next() | random.next());
    made.mask[0] |= 1;
  }
  if (random.below(11) == 0) {
    for (std::uint32_t id = random.below(40); id < size; id += 1 + random.below(80)) {
      made.bias_ids.push_back(static_cast<token_id>(id));
      made.bias_values.push_back(random.normal());
    }
  }
  if (random.below(13) == 0) made.transform.truncation = {1 + random.below(50), 0.9375, 0.015625, {}};
  return made;
}

enum class form { logits, strided, probabilities, doubles, halves, brains };

struct row_case {
  std::vector<float> values;
  form stored = form::logits;
  reader read;
  generator random;
};

//! Squares of the values that are finite, divided by their sum; the first one takes half.
void make_probabilities(row_case& one) {
  double sum = 0;
  for (float& value : one.values) {
    value = value > -1e30f && value < 1e30f ? value * value : 0.0f;
    sum += static_cast<double>(value);
  }
  if (!(sum > 1e-30)) one.values[0] = static_cast<float>(sum = 1);
  for (float& value : one.values) value = static_cast<float>(static_cast<double>(value) / sum * 0.5);
  one.values[0] += 0.5f;
  one.read.transform.temperature = one.read.transform.temperature > 0 ? 1.0 : 0.0;
  one.read.bias_ids.clear();
  one.read.bias_values.clear();
}

row_case make_case(std::uint32_t number, bool wide) {
  row_case made{{}, form::logits, {}, {number * 0x2545F4914F6CDD1Du + (wide ? 1u : 0u)}};
  const std::uint32_t size = wide ? wide_size - made.random.below(40) : 1 + made.random.below(4099);
  const std::uint32_t kind = made.random.below(kinds);
  for (std::uint32_t i = 0; i < size; ++i) made.values.push_back(value_of(kind, i, size, made.random.normal()));
  made.read = reader_for(size, made.random);
  constexpr form forms[] = {form::strided, form::probabilities, form::doubles, form::halves, form::brains};
  const std::uint32_t chosen = made.random.below(12);
  if (chosen < std::size(forms)) made.stored = forms[chosen];
  if (made.stored == form::probabilities) make_probabilities(made);
  return made;
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

//! The same, or near it: half precision without subnormal numbers.
template <class Scalar>
Scalar stored_as(float value) {
  if constexpr (std::is_same_v<Scalar, bfloat16_bits>) {
    return {static_cast<std::uint16_t>(bits_of(value) >> 16)};
  } else if constexpr (std::is_same_v<Scalar, float16_bits>) {
    const std::uint32_t bits = bits_of(value), exponent = (bits >> 23) & 255u, sign = (bits >> 16) & 0x8000u;
    if (exponent > 142) return {static_cast<std::uint16_t>(sign | (value < -1e38f ? 0x7C00u : 0x7BFFu))};
    if (exponent < 113) return {static_cast<std::uint16_t>(sign)};
    return {static_cast<std::uint16_t>(sign | ((exponent - 112) << 10) | ((bits >> 13) & 1023u))};
  } else {
    return static_cast<Scalar>(value);
  }
}

//! The outputs of one row.
template <class Policy, class Scalar>
class examined_row {
 public:
  examined_row(Policy policy, row_case& one, std::vector<std::byte>& memory) : policy_(policy), one_(one) {
    transform_ = one.read.transform;
    transform_.mask_words = one.read.mask;
    transform_.bias_ids = one.read.bias_ids;
    transform_.bias_values = one.read.bias_values;
    stride_ = one.stored == form::strided ? 3 : 1;
    values_.resize(one.values.size() * stride_, stored_as<Scalar>(1e30f));  // what stands between is not read
    for (std::size_t i = 0; i < one.values.size(); ++i) values_[i * stride_] = stored_as<Scalar>(one.values[i]);
    memory.resize(std::size_t{1} << 24);
    scratch_ = workspace(std::span(memory));
  }

  outputs examine() {
    const auto best = argmax(policy_, view(), transform_);
    mix(0).add(best.error());
    if (best) {
      mix(0).add(static_cast<std::uint64_t>(best->token));
      mix(0).add(number_bits(best->margin));
    }
    weigh();
    constexpr std::uint32_t survivors[] = {1, 8, 64, 300, 1024};
    read_request request;
    request.survivors = survivors[one_.random.below(5)];
    request.integer_total = true;
    if (one_.random.below(4) == 0) request.minimum_probability = 0x1.0p-10;
    const auto row = read_row(policy_, view(), transform_, request, scratch_);
    mix(0).add(row.error());
    if (row) {
      look_at(*row);
      decide(*row);
      compress();
    }
    outputs found{};
    for (std::size_t i = 0; i < parts; ++i) found[i] = mixers_[i].value();
    return found;
  }

 private:
  //! Zeros of either sign are one number.
  static std::uint64_t number_bits(double value) {
    if (value == 0.0) return 0;
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  }
  mixer& mix(std::size_t part) { return mixers_[part]; }
  [[nodiscard]] row_view<Scalar> view() const {
    const auto size = static_cast<std::uint32_t>(one_.values.size());
    const row_kind kind = one_.stored == form::probabilities ? row_kind::probabilities : row_kind::logits;
    return {kind, values_.data(), size, size, stride_};
  }

  void weigh() {
    if (transform_.truncation.active()) return;
    weights_.resize(one_.values.size());
    const auto total = integer_weights(policy_, view(), transform_, std::span<std::uint32_t>(weights_));
    mix(1).add(total.error());
    if (total) mix(1).add(*total);
    mix(1).add(std::span<const std::uint32_t>(weights_));
  }

  void look_at(const row_reading<Policy, Scalar>& row) {
    mix(0).add(static_cast<std::uint64_t>(row.argmax()));
    mix(0).add(number_bits(row.maximum()));
    mix(0).add(row.total_weight());
    mix(0).add(row.is_one_hot() ? 1 : 0);
    mix(2).add(row.survivor_ids());
    mix(2).add(row.survivor_weights());
    mix(2).add(row.survivors_complete() ? 1 : 0);
  }

  void decide(const row_reading<Policy, Scalar>& row) {
    const std::uint32_t size = row.vocab_size();
    for (std::uint32_t position = 0; position < 4; ++position) {
      const uniforms random{philox{{7, 11}}, position, 3};
      const auto drawn = row.sample(random.at(purpose::draft_draw));
      mix(3).add(drawn.error());
      const token_id other = static_cast<token_id>(one_.random.below(size));
      const token_id token = drawn && position % 2 == 0 ? drawn->token : other;
      if (drawn) mix(3).add(static_cast<std::uint64_t>(drawn->token) << 32 | drawn->trials);
      const std::uint32_t count = 1 + one_.random.below(100);
      const auto verdict = row.accept({token, count, 100}, random.at(purpose::acceptance));
      mix(4).add(verdict.error());
      if (verdict) mix(4).add(verdict->accepted ? 1 : 0);
      const std::array<token_id, 2> ids{static_cast<token_id>(0), static_cast<token_id>(size - 1)};
      const std::array<std::uint32_t, 2> counts{100 - count, count};
      if (size < 2) continue;
      const law drafted{ids.data(), counts.data(), 2, 0, 100, size};
      const auto next = row.residual(drafted, random.at(purpose::residual_draw));
      mix(5).add(next.error());
      if (next) mix(5).add(static_cast<std::uint64_t>(next->token));
    }
    const perturbation_options options;
    const auto doubt = temperature_perturbation(row, row.argmax(), options, uniforms{philox{{5, 6}}, 0, 1});
    mix(7).add(doubt.error());
    if (doubt) mix(7).add(doubt->disagreements);
  }

  template <class Sparsifier>
  void compress_with(const Sparsifier& sparsifier, law_format format) {
    const draft_law_options options{.format = format, .resolution = 100};
    const workspace_scope scope(scratch_);
    const read_request wanted =
        draft_law_request(static_cast<std::uint32_t>(one_.values.size()), sparsifier, {}, options);
    const auto row = read_row(policy_, view(), transform_, wanted, scratch_);
    mix(6).add(row.error());
    if (!row) return;
    const auto made = make_draft_law(*row, sparsifier, {}, options, scratch_);
    mix(6).add(made.error());
    if (!made) return;
    mix(6).add(std::span(made->drafted.ids, made->drafted.size));
    mix(6).add(std::span(made->drafted.counts, made->drafted.size));
  }
  void compress() {
    compress_with(top_k{32}, law_format::sparse_drop_zero);
    compress_with(threshold{0x1.0p-7}, law_format::sparse_drop_zero);
    compress_with(top_k{8}, law_format::dense_lattice);
  }

  Policy policy_;
  row_case& one_;
  std::uint32_t stride_ = 1;
  std::vector<Scalar> values_;
  row_transform transform_;
  workspace scratch_;
  std::vector<std::uint32_t> weights_;
  std::array<mixer, parts> mixers_{};
};

template <class Policy>
outputs outputs_of(Policy policy, row_case& one, std::vector<std::byte>& memory) {
  switch (one.stored) {
    case form::doubles:
      return examined_row<Policy, double>(policy, one, memory).examine();
    case form::halves:
      return examined_row<Policy, float16_bits>(policy, one, memory).examine();
    case form::brains:
      return examined_row<Policy, bfloat16_bits>(policy, one, memory).examine();
    case form::logits:
    case form::strided:
    case form::probabilities:
      break;
  }
  return examined_row<Policy, float>(policy, one, memory).examine();
}

struct selection {
  std::uint32_t small, wide, each;
  bool planted = false;
};

template <class Policy>
int write(Policy policy, const selection& rows, const char* path) {
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) return 2;
  std::vector<std::byte> memory;
  std::size_t written = 0;
  for (std::uint32_t number = 0; number < rows.small + rows.wide; number += rows.each) {
    row_case one = make_case(number, number >= rows.small);
    if (rows.planted && number == 0) one.values.back() += 0.25f;
    const outputs found = outputs_of(policy, one, memory);
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
  if (what != "write" || count != 7) {
    std::fprintf(stderr, "usage: row_outputs write seq|simd|planted SMALL WIDE EACH FILE | compare FILE OTHER\n");
    return 2;
  }
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::strtoul(given[i], nullptr, 10)); };
  const std::string policy = given[2];
  const selection rows{number(3), number(4), number(5) > 0 ? number(5) : 1, policy == "planted"};
  return policy == "simd" ? write(exec::simd, rows, given[6]) : write(exec::seq, rows, given[6]);
}
