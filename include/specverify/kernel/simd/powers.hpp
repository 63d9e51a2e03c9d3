// SPDX-License-Identifier: Apache-2.0
//! Computes powers of two in float for packs (pack.hpp).
#ifndef SPECVERIFY_KERNEL_SIMD_POWERS_HPP
#define SPECVERIFY_KERNEL_SIMD_POWERS_HPP

#include <specverify/kernel/simd/pack.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! A power 2^y as the product of two packs. For -126 <= y <= 126, the relative error of the product is below 5e-7.
//! For smaller y, the product is at most 2^-126. If `powers_show_specials`, larger y give at least 2^125 or infinity,
//! and a NaN gives a NaN; otherwise these results are unspecified.
struct power_parts {
  pack<float> scale;
  pack<float> fraction;
};

#if defined(__AVX512DQ__) && SPECVERIFY_NANS_COMPARE

inline constexpr bool powers_show_specials = true;

//! While an object of this class exists, results below the smallest normal float are 0, so a product of powers needs no
//! microcode assist.
class flushed_denormals {
 public:
  SPECVERIFY_INLINE flushed_denormals() noexcept : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8000u); }
  SPECVERIFY_INLINE ~flushed_denormals() { _mm_setcsr(before_); }
  flushed_denormals(const flushed_denormals&) = delete;
  flushed_denormals& operator=(const flushed_denormals&) = delete;

 private:
  unsigned before_;
};

using zeroed_denormals = flushed_denormals;

//! Multiplies one of sixteen steps per octave, held in one register, by a polynomial of degree 2.
class power_table {
 public:
  static constexpr bool flushes = true;  // very small exponents give 0
  static constexpr bool has_lines = false;
  SPECVERIFY_INLINE explicit power_table(float factor = 1) noexcept : factor_(factor) {}
  [[nodiscard]] SPECVERIFY_INLINE power_parts operator()(const pack<float>& y) const noexcept {
    const __m512 rest = _mm512_reduce_ps(y, 0x41);  // y - floor(16 y) / 16
    const __m512 step = _mm512_add_round_ps(y, _mm512_set1_ps(0x1.8p19f), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    const __m512 table = _mm512_permutexvar_ps(_mm512_castps_si512(step), table_);
    __m512 sum =
        _mm512_fmadd_ps(_mm512_set1_ps(0x1.f6bep-3f * factor_), rest, _mm512_set1_ps(0x1.62d412p-1f * factor_));
    sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(0x1.000008p+0f * factor_));
    return {pack<float>(_mm512_scalef_ps(table, y)), pack<float>(sum)};
  }

 private:
  float factor_;
  __m512 table_ =
      _mm512_setr_ps(0x1.0p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f,
                     0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
                     0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f);
};

#elif defined(__AVX2__) && defined(__FMA__) && !defined(__AVX512F__) && SPECVERIFY_NANS_COMPARE

inline constexpr bool powers_show_specials = true;
struct flushed_denormals {};

//! While an object of this class exists, floats below the smallest normal float are treated as 0, even when they are
//! read.
class zeroed_denormals {
 public:
  SPECVERIFY_INLINE zeroed_denormals() noexcept : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }
  SPECVERIFY_INLINE ~zeroed_denormals() { _mm_setcsr(before_); }
  zeroed_denormals(const zeroed_denormals&) = delete;
  zeroed_denormals& operator=(const zeroed_denormals&) = delete;

 private:
  unsigned before_;
};

//! Multiplies one of eight steps per octave, held in one register, by a polynomial of degree 3.
class power_table {
 public:
  static constexpr bool flushes = false;
  static constexpr bool has_lines = true;
  SPECVERIFY_INLINE explicit power_table(float factor = 1) noexcept : factor_(factor) {}
  [[nodiscard]] SPECVERIFY_INLINE power_parts operator()(const pack<float>& y) const noexcept {
    return line(y, 1.0f, 0.0f, -126.0f, 126.0f);
  }
  //! Returns 2^(slope x + shift), with x clamped to [least, most]. A NaN stays a NaN.
  [[nodiscard]] SPECVERIFY_INLINE power_parts line(const pack<float>& x, float slope, float shift, float least,
                                                   float most) const noexcept {
    // a NaN must be the second operand of both instructions
    const __m256 bounded = _mm256_min_ps(_mm256_set1_ps(most), _mm256_max_ps(_mm256_set1_ps(least), x));
    return line(pack<float>(bounded), slope, shift);
  }
  //! Returns 2^(slope x + shift); the shift must be a multiple of 1/8 below 2^19. If the exponent is -127, the product
  //! is 0.
  [[nodiscard]] SPECVERIFY_INLINE power_parts line(const pack<float>& x, float slope, float shift) const noexcept {
    const __m256 rounding = _mm256_set1_ps(0x1.8p20f + shift);
    const __m256 step = _mm256_fmadd_ps(x, _mm256_set1_ps(slope), rounding);
    const __m256 rest = _mm256_fmadd_ps(x, _mm256_set1_ps(slope), _mm256_sub_ps(rounding, step));
    const __m256i bits = _mm256_castps_si256(step);
    const __m256i table = _mm256_castps_si256(_mm256_permutevar8x32_ps(table_, bits));
    __m256 sum =
        _mm256_fmadd_ps(_mm256_set1_ps(0x1.c6a5a2p-5f * factor_), rest, _mm256_set1_ps(0x1.ec0f92p-3f * factor_));
    sum = _mm256_fmadd_ps(sum, rest, _mm256_set1_ps(0x1.62e43p-1f * factor_));
    sum = _mm256_fmadd_ps(sum, rest, _mm256_set1_ps(0x1.0p+0f * factor_));
    return {pack<float>(_mm256_castsi256_ps(_mm256_add_epi32(table, _mm256_slli_epi32(bits, 20)))), pack<float>(sum)};
  }

 private:
  float factor_;
  // 2^(j/8) minus j << 20 in the bits, because the shifted step adds j
  __m256 table_ = _mm256_castsi256_ps(_mm256_setr_epi32(0x3F800000, 0x3F7B95C2, 0x3F7837F0, 0x3F75FED7, 0x3F7504F3,
                                                        0x3F75672A, 0x3F7744FD, 0x3F7AC0C7));
};

#else

inline constexpr bool powers_show_specials = false;
struct flushed_denormals {};
struct zeroed_denormals {};

//! Multiplies the nearest integer power by a polynomial of degree 6.
class power_table {
 public:
  static constexpr bool flushes = false;
  static constexpr bool has_lines = false;
  SPECVERIFY_INLINE explicit power_table(float factor = 1) noexcept : factor_(factor) {}
  [[nodiscard]] SPECVERIFY_INLINE power_parts operator()(const pack<float>& y) const noexcept {
    const pack<float> bounded = smaller(larger(y, pack<float>(-126.0f)), pack<float>(126.0f));
    const pack<std::int32_t> octaves = truncated(bounded + pack<float>(200.5f)) - pack<std::int32_t>(200);
    const pack<float> f = bounded - as_floats(octaves);
    pack<float> sum(0x1.42726ap-13f * factor_);
    sum = sum * f + pack<float>(0x1.5efa94p-10f * factor_);
    sum = sum * f + pack<float>(0x1.3b2c9cp-7f * factor_);
    sum = sum * f + pack<float>(0x1.c6af84p-5f * factor_);
    sum = sum * f + pack<float>(0x1.ebfbe0p-3f * factor_);
    sum = sum * f + pack<float>(0x1.62e430p-1f * factor_);
    sum = sum * f + pack<float>(1.0f * factor_);
    return {float_bits((octaves + pack<std::int32_t>(127)) << 23), sum};
  }

 private:
  float factor_;
};

#endif

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif  // SPECVERIFY_WITH_SIMD
#endif
