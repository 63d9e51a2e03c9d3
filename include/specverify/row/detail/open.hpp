// SPDX-License-Identifier: Apache-2.0
//! Checks a row and its transform, and opens them for the kernels.
#ifndef SPECVERIFY_ROW_DETAIL_OPEN_HPP
#define SPECVERIFY_ROW_DETAIL_OPEN_HPP

#include <specverify/cpp20.hpp>
#include <specverify/kernel/kernels.hpp>
#include <specverify/row/transform.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr double normalisation_tolerance = 4e-3;

//! Out of line and cold, so that the usual path contains no code for errors.
[[nodiscard, gnu::cold, gnu::noinline]] constexpr status row_error(errc code, std::uint32_t where = 0) noexcept {
  return {code, part::row, where};
}

//! Checks a row and its transform, without reading the row's values.
template <class Scalar>
[[nodiscard, gnu::noinline]] inline status check_arguments(row_view<Scalar> row,
                                                           const row_transform& transform) noexcept {
  if (row.valid_size() == 0) return row_error(errc::empty_vocabulary);
  if (!row.has_data()) return row_error(errc::null_span);
  if (!row.is_aligned() || !is_aligned(transform.bias_ids.data()) || !is_aligned(transform.bias_values.data()) ||
      !is_aligned(transform.mask_words.data()))
    return row_error(errc::misaligned);
  if (row.valid_size() > max_vocab_size) return row_error(errc::vocabulary_too_large);
  if (row.stride() == 0) return row_error(errc::invalid_argument);
  if (const status why = check(transform); !why.ok()) return why;
  const double temperature = transform.temperature;
  if (row.kind() == row_kind::probabilities) {
    if (!transform.greedy() && (temperature < 1.0 || temperature > 1.0)) return row_error(errc::invalid_temperature);
    if (!transform.bias_ids.empty()) return row_error(errc::unsupported);
  }
  if (transform.bias_ids.size() != transform.bias_values.size()) return row_error(errc::size_mismatch);
  token_id previous = -1;
  for (std::size_t i = 0; i < transform.bias_ids.size(); ++i) {
    const auto where = static_cast<std::uint32_t>(i);
    const token_id id = transform.bias_ids[i];
    if (id < 0 || static_cast<std::uint32_t>(id) >= row.size()) return row_error(errc::token_out_of_range, where);
    const float value = transform.bias_values[i];
    if (id <= previous || kernel::is_nan(value) || kernel::is_positive_infinity(value))
      return row_error(errc::invalid_bias, where);
    previous = id;
  }
  if (!transform.mask_words.empty() && transform.mask_words.size() * 64 < row.valid_size())
    return row_error(errc::mask_size);
  return {};
}

//! While an object of this class exists, subnormal values of a row keep their order, even if the program was linked
//! with -ffast-math and flushes them to 0.
class kept_subnormals {
 public:
  SPECVERIFY_INLINE kept_subnormals() noexcept : before_(control()) {
    if ((before_ & flushes) != 0) [[unlikely]]
      set_control(before_ & ~flushes);
  }
  SPECVERIFY_INLINE ~kept_subnormals() {
    if ((before_ & flushes) != 0) [[unlikely]]
      set_control(before_);
  }
  kept_subnormals(const kept_subnormals&) = delete;
  kept_subnormals& operator=(const kept_subnormals&) = delete;

 private:
#if defined(__x86_64__) && defined(__GNUC__)
  using word = std::uint32_t;
  static constexpr word flushes = 0x8040;  // flush results, and flush operands
  [[nodiscard]] static SPECVERIFY_INLINE word control() noexcept {
    word found = 0;
    __asm__ volatile("stmxcsr %0" : "=m"(found));
    return found;
  }
  static SPECVERIFY_INLINE void set_control(word next) noexcept {
    __asm__ volatile("ldmxcsr %0" : : "m"(next) : "memory");
  }
#elif defined(__aarch64__) && defined(__GNUC__)
  using word = std::uint64_t;
  static constexpr word flushes = word{1} << 24;
  [[nodiscard]] static SPECVERIFY_INLINE word control() noexcept {
    word found = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(found));
    return found;
  }
  static SPECVERIFY_INLINE void set_control(word next) noexcept {
    __asm__ volatile("msr fpcr, %0" : : "r"(next) : "memory");
  }
#else
  using word = std::uint32_t;
  static constexpr word flushes = 0;
  [[nodiscard]] static SPECVERIFY_INLINE word control() noexcept { return 0; }
  static SPECVERIFY_INLINE void set_control(word) noexcept {}
#endif
  word before_;
};

//! Opens a row and its transform for kernels. The caller must have checked both (`check_arguments`).
template <class Scalar>
[[nodiscard]] inline kernel::row_source<Scalar> open(row_view<Scalar> row, const row_transform& transform) noexcept {
  kernel::row_source<Scalar> source;
  source.data = row_access::data(row);
  source.bias_ids = transform.bias_ids.data();
  source.bias_values = transform.bias_values.data();
  source.bias_count = static_cast<std::uint32_t>(transform.bias_ids.size());
  source.mask = transform.mask_words.empty() ? nullptr : transform.mask_words.data();
  source.size = row.valid_size();
  source.stride = row.stride();
  source.probabilities = row.kind() == row_kind::probabilities;
  return source;
}

//! Bounds lower <= Z <= upper, relative to a digest's reference.
struct normaliser_bounds {
  double lower = 0;
  double upper = 0;
};

//! Finds the error of a row and the id of the entry. Called only after a fast check failed.
template <class Scalar>
[[nodiscard, gnu::cold]] inline status find_error(const kernel::row_source<Scalar>& source) noexcept {
  using work = kernel::working<Scalar>;
  bool any = false;
  for (std::uint32_t id = 0; id < source.size; ++id) {
    if (kernel::is_nan(source.value(id))) return row_error(errc::row_has_nan, id);
  }
  for (std::uint32_t id = 0; id < source.size; ++id) {
    const work value = source.value(id);
    if (source.probabilities) {
      if (value < work{0}) return row_error(errc::row_is_negative, id);
      if (kernel::is_positive_infinity(value)) return row_error(errc::row_not_normalised, id);
      any = any || value > work{0};
    } else {
      if (kernel::is_positive_infinity(value)) return row_error(errc::row_has_positive_infinity, id);
      any = any || !kernel::is_negative_infinity(value);
    }
  }
  return any ? status{} : row_error(errc::row_is_empty);
}

//! Converts the result of one read to a status.
template <class Scalar>
[[nodiscard]] inline status check_values(const kernel::row_source<Scalar>& source,
                                         const kernel::row_extremes<kernel::working<Scalar>>& found) noexcept {
  const bool empty = source.probabilities && !(found.maximum > 0);
  if (!found.has_nan && !(source.probabilities && found.has_negative) && kernel::is_finite(found.maximum) && !empty)
    return {};
  const status why = find_error(source);
  return why.ok() && empty ? row_error(errc::row_is_empty) : why;
}

//! Also checks `total`, the sum of a row of probabilities. If there is a mask, this sum covers only the allowed ids and
//! may therefore be below 1.
template <class Scalar>
[[nodiscard, gnu::noinline]] inline status check_values(const kernel::row_source<Scalar>& source,
                                                        const kernel::row_extremes<kernel::working<Scalar>>& found,
                                                        double total) noexcept {
  if (const status why = check_values(source, found); !why.ok() || !source.probabilities) return why;
  const double least = source.mask == nullptr ? 1.0 - normalisation_tolerance : 0.0;
  if (!kernel::is_finite(total) || total < least || total > 1.0 + normalisation_tolerance)
    return row_error(errc::row_not_normalised);
  return {};
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
