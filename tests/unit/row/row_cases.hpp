// SPDX-License-Identifier: Apache-2.0
//! Rows, sources and oracles that the tests of the row room share. The oracles use long double and std functions only.
#ifndef SPECVERIFY_TESTS_UNIT_ROW_ROW_CASES_HPP
#define SPECVERIFY_TESTS_UNIT_ROW_ROW_CASES_HPP

#include <specverify/core/concepts.hpp>
#include <specverify/row/reading.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "support/reading_test_access.hpp"

namespace row_cases {

using namespace specverify;

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline double nan_value() { return std::numeric_limits<double>::quiet_NaN(); }

//! While it lives, the processor takes subnormal values for 0, as in a program that was linked with -ffast-math, or
//! keeps them.
class subnormals {
 public:
  explicit subnormals(bool flushed) : before_(state(nullptr)) {
    const std::uint64_t now = flushed ? before_ | bits : before_ & ~bits;
    (void)state(&now);
  }
  ~subnormals() { (void)state(&before_); }
  subnormals(const subnormals&) = delete;
  subnormals& operator=(const subnormals&) = delete;

 private:
  //! The control word, which becomes `next` unless that is null.
  static std::uint64_t state([[maybe_unused]] const std::uint64_t* next) {
#if defined(__x86_64__)
    const unsigned found = __builtin_ia32_stmxcsr();
    if (next != nullptr) __builtin_ia32_ldmxcsr(static_cast<unsigned>(*next));
    return found;
#elif defined(__aarch64__)
    std::uint64_t found = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(found));
    if (next != nullptr) __asm__ volatile("msr fpcr, %0" : : "r"(*next) : "memory");
    return found;
#else
    return 0;
#endif
  }
#if defined(__x86_64__)
  static constexpr std::uint64_t bits = 0x8040;
#else
  static constexpr std::uint64_t bits = std::uint64_t{1} << 24;
#endif
  std::uint64_t before_;
};

//! A small generator of its own.
struct generator {
  std::uint64_t state = 88172645463325252ull;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  double normal() {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum - 6.0;
  }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(next() % bound); }
};

//! Biases of about every twentieth id.
struct sparse_bias {
  std::vector<token_id> ids{};
  std::vector<float> values{};
  sparse_bias(std::uint32_t size, generator& random) {
    for (std::uint32_t id = 0; id < size; id += 1 + random.below(40)) {
      ids.push_back(static_cast<token_id>(id));
      values.push_back(static_cast<float>(random.normal()));
    }
  }
};

inline std::uint16_t half_bits_of(double value) {  // exact for the values used here, else truncated
  const float narrow = static_cast<float>(value);
  std::uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const int exponent = static_cast<int>((bits >> 23) & 255) - 127;
  if (exponent == 128) return static_cast<std::uint16_t>(sign | 0x7C00u | ((bits & 0x7FFFFFu) != 0 ? 0x200u : 0u));
  if (exponent > 15) return static_cast<std::uint16_t>(sign | 0x7BFFu);
  if (exponent < -24) return static_cast<std::uint16_t>(sign);
  if (exponent < -14) return static_cast<std::uint16_t>(sign | (((bits & 0x7FFFFFu) | 0x800000u) >> (-exponent - 1)));
  return static_cast<std::uint16_t>(sign | (static_cast<std::uint32_t>(exponent + 15) << 10) | ((bits >> 13) & 1023u));
}
inline std::uint16_t brain_bits_of(double value) {
  const float narrow = static_cast<float>(value);
  std::uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  return static_cast<std::uint16_t>((bits >> 16) | ((bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x40u : 0u));
}

template <class Scalar>
Scalar scalar_of(double value) {
  if constexpr (std::is_same_v<Scalar, float16_bits>) {
    return {half_bits_of(value)};
  } else if constexpr (std::is_same_v<Scalar, bfloat16_bits>) {
    return {brain_bits_of(value)};
  } else {
    return static_cast<Scalar>(value);
  }
}

//! What the bits mean, by ldexp.
inline double meaning(float value) { return value; }
inline double meaning(double value) { return value; }
inline double meaning(bfloat16_bits value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
  float wide;
  std::memcpy(&wide, &bits, 4);
  return wide;
}
inline double meaning(float16_bits value) {
  const double sign = (value.bits & 0x8000u) != 0 ? -1.0 : 1.0;
  const int exponent = (value.bits >> 10) & 31;
  const int mantissa = value.bits & 1023;
  if (exponent == 31) return mantissa != 0 ? nan_value() : sign * infinity;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

template <class Scalar>
std::vector<Scalar> row_of(const std::vector<double>& values) {
  std::vector<Scalar> row;
  for (const double value : values) row.push_back(scalar_of<Scalar>(value));
  return row;
}

template <class Scalar>
row_view<Scalar> logits(const std::vector<Scalar>& row) {
  return {row_kind::logits, row.data(), static_cast<std::uint32_t>(row.size())};
}
template <class Scalar>
row_view<Scalar> probabilities(const std::vector<Scalar>& row) {
  return {row_kind::probabilities, row.data(), static_cast<std::uint32_t>(row.size())};
}

inline std::vector<double> normal_logits(std::uint32_t size, std::uint64_t seed, double spread = 3.0) {
  generator random{seed * 2654435761u + 12345u};
  std::vector<double> values(size);
  for (double& value : values) value = static_cast<float>(random.normal() * spread);
  return values;
}

//! Logits after bias and mask, as the library should see them: the sum is rounded to the working type.
template <class Scalar>
std::vector<double> transformed(const std::vector<Scalar>& row, const row_transform& transform,
                                row_kind kind = row_kind::logits) {
  std::vector<double> values;
  for (const Scalar& value : row) values.push_back(meaning(value));
  for (std::size_t i = 0; i < transform.bias_ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(transform.bias_ids[i]);
    const double sum = values[id] + transform.bias_values[i];
    values[id] = std::is_same_v<Scalar, double> ? sum : static_cast<double>(static_cast<float>(sum));
  }
  for (std::size_t id = 0; id < values.size(); ++id) {
    if (!transform.mask_words.empty() && ((transform.mask_words[id / 64] >> (id % 64)) & 1u) == 0) {
      values[id] = kind == row_kind::logits ? -infinity : 0.0;
    }
  }
  return values;
}

//! The law of transformed logits, before truncation.
inline std::vector<long double> law_of(const std::vector<double>& values, double temperature) {
  const double maximum = *std::max_element(values.begin(), values.end());
  std::vector<long double> law;
  long double sum = 0;
  for (const double value : values) {
    if (value < std::numeric_limits<double>::lowest() / 2) {  // -infinity, also where -ffast-math denies it
      law.push_back(0);
      continue;
    }
    law.push_back(std::exp((static_cast<long double>(value) - static_cast<long double>(maximum)) /
                           static_cast<long double>(temperature)));
    sum += law.back();
  }
  for (long double& entry : law) entry /= sum;
  return law;
}

inline double total_variation(const std::vector<double>& a, const std::vector<long double>& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::fabs(static_cast<long double>(a[i]) - b[i]);
  return static_cast<double>(sum / 2);
}

//! A reading with its memory, and its digest where there is one.
template <class Policy, class Scalar>
struct held_digest {
  std::vector<std::byte> memory;
  workspace space;
  status outcome;
  row_digest value;
  result<row_reading<Policy, Scalar>> reading = status{errc::not_read};

  const row_reading<Policy, Scalar>* operator->() const noexcept { return &reading.value(); }
};

template <class Policy, class Scalar>
held_digest<Policy, Scalar> make_digest(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                        const read_request& request = {}) {
  held_digest<Policy, Scalar> made;
  made.memory.resize(digest_workspace_size(row.valid_size(), transform, request));
  made.space = workspace(std::span<std::byte>(made.memory));
  made.reading = read_row(policy, row, transform, request, made.space);
  made.outcome = made.reading.error();
  if (made.reading.ok()) made.value = reading_test_access::digest(made.reading.value());
  return made;
}

//! The value of a result into `out`, which stays as it was without one.
template <class Value>
status take(Value& out, const result<Value>& made) noexcept {
  if (made.ok()) out = *made;
  return made.error();
}

template <class Check>
void for_each_policy(const Check& check) {
  check(exec::seq);
  check(exec::simd);
}

//! Gives set 53-bit integers: lane t of the counter reads entry t; past the end a fixed pair.
struct scripted {
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> second;
  random_block operator()(random_counter counter) const noexcept {
    const std::uint64_t a = counter.lane < first.size() ? first[counter.lane] << 11 : 0;
    const std::uint64_t b = counter.lane < second.size() ? second[counter.lane] << 11 : 0;
    return {{static_cast<std::uint32_t>(a >> 32), static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b >> 32),
             static_cast<std::uint32_t>(b)}};
  }
};

inline constexpr std::uint64_t unit = std::uint64_t{1} << 53;

//! Smallest u in [low, 2^53] with outcome(u) != outcome(low); the outcome is piecewise constant and does not come back.
template <class Outcome>
std::uint64_t next_change(std::uint64_t low, const Outcome& outcome) {
  const auto start = outcome(low);
  if (outcome(unit - 1) == start) return unit;
  std::uint64_t high = unit - 1;
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    (outcome(middle) == start ? low : high) = middle;
  }
  return high;
}

struct drawn {
  token_id token = no_token;
  std::uint32_t trials = 0;
  bool fallback = false;
  bool exact = false;
  friend bool operator==(const drawn& a, const drawn& b) {
    return a.token == b.token && a.trials == b.trials && a.exact == b.exact;
  }
};

//! The law of a draw from the shipped entry point: `draw(source, cap)` with scripted numbers, every uniform cut by
//! bisection. Up to 16 ids, which stand in lanes of their own, so a proposal is monotone in its uniform. `propose`
//! gives the same proposals and takes all of them at a second uniform of 0 (a plain sample): it finds where they
//! change.
template <class Draw, class Propose>
std::vector<double> measure_law(std::size_t size, std::uint32_t cap, const Draw& draw, const Propose& propose) {
  std::vector<double> exact(size, 0.0);
  for (std::uint64_t at = 0; at < unit;) {
    const auto outcome = [&](std::uint64_t u) { return draw(scripted{{u}, {0}}, 0u); };
    const std::uint64_t next = next_change(at, outcome);
    exact[static_cast<std::size_t>(outcome(at).token)] += std::ldexp(static_cast<double>(next - at), -53);
    at = next;
  }
  if (cap == 0) return exact;
  std::vector<double> once(size, 0.0);
  double rejected = 0;
  for (std::uint64_t at = 0; at < unit;) {
    const std::uint64_t next = next_change(at, [&](std::uint64_t u) { return propose(scripted{{u, 0}, {0, 0}}, 1u); });
    const double width = std::ldexp(static_cast<double>(next - at), -53);
    const drawn first = draw(scripted{{at, 0}, {0, 0}}, 1u);
    if (first.exact) {
      rejected += width;
    } else {
      const std::uint64_t cut = next_change(0, [&](std::uint64_t u) { return draw(scripted{{at, 0}, {u, 0}}, 1u); });
      const double share = std::ldexp(static_cast<double>(cut), -53);
      once[static_cast<std::size_t>(first.token)] += width * share;
      rejected += width * (1 - share);
    }
    at = next;
  }
  std::vector<double> law(size, 0.0);
  double left = 1;
  for (std::uint32_t trial = 0; trial < cap; ++trial) {
    for (std::size_t i = 0; i < size; ++i) law[i] += left * once[i];
    left *= rejected;
  }
  for (std::size_t i = 0; i < size; ++i) law[i] += left * exact[i];
  return law;
}
template <class Draw>
std::vector<double> measure_law(std::size_t size, std::uint32_t cap, const Draw& draw) {
  return measure_law(size, cap, draw, draw);
}

}  // namespace row_cases

#endif
