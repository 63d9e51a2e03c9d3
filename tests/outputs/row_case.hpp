// SPDX-License-Identifier: Apache-2.0
//! The rows that every build reads. They are equal in every build, because they consist of integers and exact products.
#ifndef SPECVERIFY_TESTS_OUTPUTS_ROW_CASE_HPP
#define SPECVERIFY_TESTS_OUTPUTS_ROW_CASE_HPP

#include <specverify/row/transform.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "../support/hard_rows.hpp"

namespace row_outputs {

using namespace specverify;

constexpr std::uint32_t wide_size = 128256;
constexpr std::uint32_t kinds = hard_rows::kinds + 5;  // one of two values, four of normal numbers

struct generator {
  std::uint64_t state;
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(next() % bound); }
  //! Returns almost a normal number of variance 1, as an exact sum of four 16-bit integers.
  float normal() {
    const std::uint64_t bits = next();
    std::int32_t sum = -2 * 65536;
    for (int i = 0; i < 4; ++i) sum += static_cast<std::int32_t>((bits >> (16 * i)) & 0xFFFFu);
    return static_cast<float>(sum) * 0x1.bp-16f;
  }
};

inline float value_of(std::uint32_t kind, std::uint32_t id, std::uint32_t size, float normal) {
  if (kind < hard_rows::kinds) return hard_rows::value_of(kind, id, size, normal);
  if (kind == hard_rows::kinds)
    return id % 2 == 0 ? 0x1.0p-100f * normal : -std::numeric_limits<float>::max();  // as good as two values
  return std::ldexp(normal, static_cast<int>(kind - hard_rows::kinds) - 1);
}

//! The transform of a row: a temperature, and for some rows a mask, biases or a truncation.
struct reader {
  row_transform transform;
  std::vector<std::uint64_t> mask;
  std::vector<token_id> bias_ids;
  std::vector<float> bias_values;
};

inline reader reader_for(std::uint32_t size, generator& random) {
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

//! Squares of the finite values, divided by their sum; the first one gets half.
inline void make_probabilities(row_case& one) {
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

//! One in forty rows of logits has an invalid value.
inline void spoil(row_case& one) {
  if (one.random.below(40) != 0) return;
  const std::uint32_t at = one.random.below(static_cast<std::uint32_t>(one.values.size()));
  const bool none = one.random.below(2) == 0;
  one.values[at] = none ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
}

inline row_case row_of(std::uint32_t kind, std::uint32_t size, generator random) {
  row_case made{{}, form::logits, {}, random};
  made.values.reserve(size);
  for (std::uint32_t i = 0; i < size; ++i) made.values.push_back(value_of(kind, i, size, made.random.normal()));
  return made;
}

//! A row of 1 to 4099 ids, or of the size of a large vocabulary; of any kind, stored and read in any way.
inline row_case any_row(std::uint32_t number, bool wide) {
  generator random{number * 0x2545F4914F6CDD1Du + (wide ? 1u : 0u)};
  const std::uint32_t size = wide ? wide_size - random.below(40) : 1 + random.below(4099);
  const std::uint32_t kind = random.below(kinds);
  row_case made = row_of(kind, size, random);
  made.read = reader_for(size, made.random);
  constexpr form forms[] = {form::strided, form::probabilities, form::doubles, form::halves, form::brains};
  const std::uint32_t chosen = made.random.below(12);
  if (chosen < std::size(forms)) made.stored = forms[chosen];
  if (made.stored == form::probabilities) {
    make_probabilities(made);
  } else {
    spoil(made);
  }
  return made;
}

//! Every kind in every size, plain and with a transform. Ten rows per kind, so that each tenth has every kind.
constexpr std::uint32_t hard_count = 10 * kinds;
inline row_case hard_row(std::uint32_t number) {
  constexpr std::uint32_t sizes[] = {64, 1000, 4099, 32000, wide_size};
  const std::uint32_t kind = number / 10, variant = (number + kind) % 10, size = sizes[variant % std::size(sizes)];
  row_case made = row_of(kind, size, {number * 0x9E3779B97F4A7C15u + 2});
  if (variant >= std::size(sizes)) made.read = reader_for(size, made.random);
  return made;
}

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

//! Returns the nearest half-precision number that is not subnormal.
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

}  // namespace row_outputs

#endif
