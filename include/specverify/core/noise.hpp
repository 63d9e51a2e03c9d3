// SPDX-License-Identifier: Apache-2.0
//! Computes shared noise: a random time E for each position and token id, the same on every machine with the same key.
//!
//! Use it when a device and a cloud must draw with the same random numbers. Each side picks the id v with the smallest
//! E_v / p_v, where p_v is its own probability of v (row/race.hpp). If vLLM or SGLang samples for the cloud, choose the
//! noise kind of that engine, and give the engine the key as its seed.
//! Papers:     Daliri, Musco, Suresh (arXiv 2408.07978). MurmurHash3: Appleby, public domain. Source files: vLLM
//!             0.33.0, v1/worker/gpu/sample/gumbel.py; SGLang 0.5.23, srt/layers/sampler.py.
//! Symbols:    E = the noise, exponentially distributed with mean 1; h = a hash of key, position and id (64 bits for
//!             `philox`); u = the uniform number that an engine computes from its hash.
//! Guarantees: E is never 0 and never infinite. It does not depend on the round, so a device that drafts a position
//!             again gets the same noise. u equals the engine's number bit for bit; E has double precision even if the
//!             engine uses float. constexpr, no allocation, O(1); bit-exact, unless built with -ffast-math.
//! See:        docs/algorithms/noise.md (the formula of each kind), tests/unit/core/noise_test.cpp
#ifndef SPECVERIFY_CORE_NOISE_HPP
#define SPECVERIFY_CORE_NOISE_HPP

#include <specverify/core/random.hpp>
#include <specverify/core/views.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! The function that computes E. `hello` messages contain these numbers, so they never change.
enum class noise_kind : std::uint8_t {
  none = 0,
  philox = 1,     //!< 64 bits of Philox4x32-10 per id
  vllm_fp32 = 2,  //!< vLLM 0.33.0, model runner V2, seeded requests
  vllm_fp64 = 3,  //!< the same engine with its option use_fp64_gumbel
  sglang = 4      //!< SGLang 0.5.23, multinomial_with_seed
};
inline constexpr noise_kind last_noise_kind = noise_kind::sglang;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! Returns 2 atanh(x) = ln((1 + x) / (1 - x)) for 0 <= x <= 1/3, relative error below 2^-50.
[[nodiscard]] SPECVERIFY_HD constexpr double twice_atanh(double x) noexcept {
  const double square = numeric::product(x, x);
  double sum = 0;
  for (int odd = 35; odd > 1; odd -= 2) sum = numeric::product(sum + 1.0 / odd, square);
  return 2.0 * (x + numeric::product(x, sum));
}

//! Returns -ln(x), 2^-65 <= x <= 1, from x = m 2^-k with 1/2 < m <= 1.
[[nodiscard]] SPECVERIFY_HD constexpr double minus_logarithm(double x) noexcept {
  int k = 0;
  for (; x <= 0.5; x *= 2.0) ++k;
  return numeric::product(static_cast<double>(k), 0.69314718055994530942) + twice_atanh((1.0 - x) / (1.0 + x));
}

//! Returns -ln(1 - (bits + 1/2) 2^-64), which is below 45.06.
[[nodiscard]] SPECVERIFY_HD constexpr double exponential_time(std::uint64_t bits) noexcept {
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  if (bits < half) {  // -ln(1 - t) = 2 atanh(t / (2 - t)), t <= 1/2
    const double t = (static_cast<double>(bits) + 0.5) * 0x1.0p-64;
    return twice_atanh(t / (2.0 - t));
  }
  return minus_logarithm((static_cast<double>(~bits) + 0.5) * 0x1.0p-64);
}

// MurmurHash3 (32 bits) of a seed, a position and an id, 16 bytes in all. Call `murmur_step` for each word, then
// `murmur_end`.
[[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t murmur_step(std::uint32_t hash, std::uint32_t word) noexcept {
  word *= 0xCC9E2D51u;
  word = (word << 15 | word >> 17) * 0x1B873593u;
  hash ^= word;
  return (hash << 13 | hash >> 19) * 5u + 0xE6546B64u;
}
[[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t murmur_end(std::uint32_t hash) noexcept {
  hash ^= 16u;
  hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
  hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
  return hash ^ hash >> 16;
}

// The engines' uniform numbers and times.

//! Returns vLLM's u in float, 2^-33 <= u <= 1.
[[nodiscard]] SPECVERIFY_HD constexpr float vllm_uniform(std::uint32_t hash) noexcept {
  return static_cast<float>((static_cast<double>(hash) + 0.5) * 0x1.0p-32);
}
//! Returns the engine's approximation of -ln(1 - u): eight terms of the series below 1/4, and at most 24 ln 2.
[[nodiscard]] SPECVERIFY_HD constexpr double vllm_time(float uniform) noexcept {
  const auto u = static_cast<double>(uniform);
  if (u < 0.25) {
    double sum = 0;
    for (int power = 8; power >= 1; --power) sum = 1.0 / power + numeric::product(u, sum);
    return numeric::product(u, sum);
  }
  const double rest = 1.0 - u;
  return minus_logarithm(rest < 0x1.0p-24 ? 0x1.0p-24 : rest);
}
//! Returns vLLM's u in double for two hashes, 2^-54 <= u < 1; the time is -ln(u).
[[nodiscard]] SPECVERIFY_HD constexpr double vllm_wide_uniform(std::uint32_t high, std::uint32_t low) noexcept {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 11;
  const double u = (static_cast<double>(bits) + 0.5) * 0x1.0p-53;
  return u < 1.0 ? u : 1.0 - 0x1.0p-53;
}
//! Returns SGLang's u, 0 <= u <= 1.
[[nodiscard]] SPECVERIFY_HD constexpr double sglang_uniform(std::uint32_t hash) noexcept {
  return static_cast<double>(hash) / 4294967295.0;
}
//! Returns -ln(u), at least 2^-32 and at most the largest double, which are the engine's limits.
[[nodiscard]] SPECVERIFY_HD constexpr double sglang_time(double u) noexcept {
  if (!(u > 0)) return 0x1.fffffffffffffp+1023;
  const double time = minus_logarithm(u);
  return time < 0x1.0p-32 ? 0x1.0p-32 : time;
}

}  // namespace detail

//! Returns whether times of this kind can be computed.
[[nodiscard]] SPECVERIFY_HD constexpr bool is_noise(noise_kind kind) noexcept {
  return kind != noise_kind::none && kind <= last_noise_kind;
}

//! The noise of one session. Functions that return times require `is_noise(kind)`.
struct coupling_noise {
  noise_kind kind = noise_kind::philox;
  std::uint64_t key = 0;  //!< the bits of the engine's seed, which is a signed integer

  //! Returns one word for each of the ids 4 * `group` .. 4 * `group` + 3. E of an id is at least its word times 2^-32
  //! (1 - 2^-23), so a large word excludes a small E. philox: the words are the high halves of h.
  [[nodiscard]] SPECVERIFY_HD constexpr random_block high_words(std::uint32_t position,
                                                                std::uint32_t group) const noexcept {
    if (!hashes()) return words(position, group);
    const std::uint32_t start = hash_start(position);
    random_block made;
    for (std::uint32_t i = 0; i < 4; ++i) made.word[i] = hash_word(start, 4 * group + i);
    return made;
  }
  //! Returns E of an id, given its word from `high_words`.
  [[nodiscard]] SPECVERIFY_HD constexpr double time_of(std::uint32_t position, std::uint32_t id,
                                                       std::uint32_t word) const noexcept {
    if (kind == noise_kind::vllm_fp32) return detail::vllm_time(detail::vllm_uniform(word));
    if (kind == noise_kind::vllm_fp64)
      return detail::minus_logarithm(detail::vllm_wide_uniform(~word, low_hash(position, id)));
    if (kind == noise_kind::sglang) return detail::sglang_time(detail::sglang_uniform(~word));
    const std::uint32_t low = words(position, id / 4 | std::uint32_t{1} << 31).word[id % 4];
    return detail::exponential_time(std::uint64_t{word} << 32 | low);
  }
  //! Returns E of an id, 0 <= id < 2^31.
  [[nodiscard]] SPECVERIFY_HD constexpr double time(std::uint32_t position, token_id id) const noexcept {
    const auto index = static_cast<std::uint32_t>(id);
    return time_of(position, index, high_words(position, index / 4).word[index % 4]);
  }
  [[nodiscard]] SPECVERIFY_HD constexpr philox_key philox_words() const noexcept {
    return {{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}};
  }
  //! Returns whether the kind is an engine's. A pass over many ids can then compute the words with one call of
  //! `hash_start` and one call of `hash_word` per id.
  [[nodiscard]] SPECVERIFY_HD constexpr bool hashes() const noexcept {
    return kind >= noise_kind::vllm_fp32 && kind <= noise_kind::sglang;
  }
  [[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t hash_start(std::uint32_t position) const noexcept {
    return hash_of_place(position, kind == noise_kind::vllm_fp64 ? 0x9E3779B9u : 0u);
  }
  [[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t hash_word(std::uint32_t start, std::uint32_t id) const noexcept {
    const std::uint32_t hash = detail::murmur_end(detail::murmur_step(start, id));
    return kind == noise_kind::vllm_fp32 ? hash : ~hash;
  }

  friend SPECVERIFY_INLINE constexpr bool operator==(const coupling_noise& a, const coupling_noise& b) noexcept {
    return a.kind == b.kind && a.key == b.key;
  }

 private:
  [[nodiscard]] SPECVERIFY_HD constexpr random_block words(std::uint32_t position, std::uint32_t lane) const noexcept {
    return philox4x32(position, 0, lane, static_cast<std::uint32_t>(purpose::coupling_noise), philox_words());
  }
  //! Returns the second hash of vllm_fp64.
  [[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t low_hash(std::uint32_t position,
                                                               std::uint32_t id) const noexcept {
    return detail::murmur_end(detail::murmur_step(hash_of_place(position, 0), id));
  }
  //! The engines hash the position of the last input token, which is one less than the position of the drawn token.
  [[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t hash_of_place(std::uint32_t position,
                                                                    std::uint32_t domain) const noexcept {
    const philox_key seed = philox_words();
    const std::uint32_t of_seed = detail::murmur_step(detail::murmur_step(domain, seed.word[0]), seed.word[1]);
    return detail::murmur_step(of_seed, position - 1);
  }
};

SPECVERIFY_NAMESPACE_END

#endif
