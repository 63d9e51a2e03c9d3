// SPDX-License-Identifier: Apache-2.0
//! Makes a reading of a row: the row's distribution, ready to sample and to test drafts against.
//!
//! A reading combines the execution policy, the row, the transform and the row statistics, so a caller cannot combine
//! the wrong ones. Only `read_row` and its variants make readings.
//! Symbols:    p(v) = e_v / Z, the distribution of the row under the transform (row/digest.hpp); T = temperature; W =
//!             sum of the integer weights; q(v) = count / resolution, the probability of v under the drafter.
//! Guarantees: a trivially copyable view of at most 280 bytes, never empty; no allocation, noexcept. It is valid until
//!             the engine overwrites the row, the arrays of the transform are freed, or the workspace is rewound below
//!             the reading. Only a rewind is detected: `expired` is then true, and every member that can fail, except
//!             `again`, returns reading_expired. Only one thread at a time may use a reading, because members cache
//!             missing results in the workspace. If the read computed Z, W and the block sums, nothing is missing, and
//!             threads can share the reading. On an error nothing is written, except by `fp16_counts`.
//! Sums:       the block sums are the sums of coarse weights of each block of ids, which draws use. If you will not
//!             draw from a row, set `read_request::sums` = false, which halves the time of the read. If a member needs
//!             the sums later, it reads the row once more and returns the same bits.
//! Kinds:      one-hot rows (T < 1e-6) use no random number. Truncated rows use the exact Z and the exact rule of
//!             row/sample.hpp. Rows of probabilities allow no bias, and T must be 1 or below 1e-6.
//! Cost:       O(1) expected for a test and O(V / 1024) for a draw, but O(V) if the row must be read again. The other
//!             members state their cost.
//! See:        docs/algorithms/reading.md, tests/unit/row/reading_test.cpp, benchmarks/bench_reading.cpp
#ifndef SPECVERIFY_ROW_READING_HPP
#define SPECVERIFY_ROW_READING_HPP

#include <specverify/core/uniforms.hpp>
#include <specverify/row/acceptance.hpp>
#include <specverify/row/detail/digest.hpp>
#include <specverify/row/fp16_row.hpp>
#include <specverify/row/log_probability.hpp>
#include <specverify/row/race.hpp>
#include <specverify/row/residual.hpp>
#include <specverify/row/sample.hpp>
#include <specverify/row/softmax.hpp>
#include <specverify/row/summary.hpp>

#include <span>
#include <type_traits>

SPECVERIFY_TYPES_BEGIN
struct tempered_hits;
struct tempered_intervals;
struct probability_bounds;
SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {
struct batch_reader;  // row/parallel.hpp
struct block_reader;  // row/blocks.hpp
}  // namespace detail

//! A reading under one policy. Every member that can fail, except `again`, may return reading_expired besides the
//! errors named below. If an engine claimed the sums of blocks (row/blocks.hpp), `accept`, `sample` and `residual` may
//! also return blocks_disagree, and `sample` and `residual` may return row_has_nan.
template <execution_policy Policy, class Scalar>
class row_reading : public row_summary {
 public:
  //! Tests a drafted token (row/acceptance.hpp): whether uniform * count / resolution < p(token).
  //! Errors: token_out_of_range, invalid_resolution (0, or below count), invalid_argument (uniform outside [0, 1)).
  [[nodiscard]] SPECVERIFY_INLINE result<acceptance> accept(drafted_token drafted, double uniform) const noexcept {
    if (expired()) return detail::row_error(errc::reading_expired);
    return detail::accept(opened(), drafted, uniform);
  }
  template <class Source>
  [[nodiscard]] SPECVERIFY_INLINE result<acceptance> accept(drafted_token drafted,
                                                            const uniform_stream<Source>& stream) const noexcept {
    return accept(drafted, stream.uniform());
  }

  //! Draws a token from p (row/sample.hpp). Reads trials 0, 1, ... of the stream, or none if the row is one-hot.
  //! Errors: row_is_empty.
  template <class Source>
  [[nodiscard]] result<sampled_token> sample(const uniform_stream<Source>& stream,
                                             draw_options options = {}) const noexcept {
    if (expired()) return detail::row_error(errc::reading_expired);
    return detail::draw(opened(), stream, options);
  }

  //! Returns the token with the smallest E_v / p_v (row/race.hpp): a draw from p with noise that a peer can also
  //! compute. Any reading returns the same token, but a read with `race_request` makes the call fast. O(V).
  //! Errors: invalid_argument (an unknown kind of noise), row_is_empty.
  [[nodiscard]] result<token_id> race(const coupling_noise& noise, std::uint32_t position) const noexcept {
    if (expired()) return detail::row_error(errc::reading_expired);
    const auto source = detail::open(row_, transform_);
    return detail::race(detail::opened_row{policy_, source, digest_, base_}, noise, position);
  }

  //! Draws a token from norm((scale * p - q)+), where q is the distribution `subtracted` (row/residual.hpp). Reads the
  //! stream as `sample` does.
  //! Errors: invalid_argument (a scale outside (0, 1]), invalid_resolution, residual_unavailable (p has no mass).
  template <subtracted_law Law, class Source>
  [[nodiscard]] result<residual_token> residual(const Law& subtracted, const uniform_stream<Source>& stream,
                                                residual_options options = {}) const noexcept {
    if (expired()) return detail::row_error(errc::reading_expired);
    return detail::draw_residual(opened(), subtracted, stream, options);
  }

  //! Returns ln p(token), -infinity if p is 0 (row/log_probability.hpp). O(V) at the first call. Errors:
  //! token_out_of_range.
  [[nodiscard]] result<double> log_probability(token_id token) const noexcept {
    if (expired()) return detail::row_error(errc::reading_expired);
    return detail::log_probability(opened(), token);
  }

  //! Returns the probability that a token drawn from `drawn_from` is accepted: the sum of min(p, q). For a point mass
  //! at x this is p(x). Ids outside the row count as p = 0. O(size), or O(vocab_size) for a distribution with a tail,
  //! plus O(V) at the first call.
  template <class Law>
  [[nodiscard]] result<double> acceptance_probability(const Law& drawn_from) const noexcept {
    if (expired()) return detail::row_error(errc::reading_expired);
    return detail::acceptance_probability(opened(), drawn_from);
  }

  //! Writes the ids with a positive fp16 probability, ascending, and the counts in units of 2^-24 (row/fp16_row.hpp).
  //! O(V).
  //! Errors: size_mismatch (spans of different lengths), support_too_large (the spans are too short: `where` = ids
  //!         needed), empty_support (no probability reaches 2^-25). On an error the spans have unspecified contents.
  [[nodiscard]] result<fp16_row> fp16_counts(std::span<token_id> ids, std::span<std::uint32_t> counts) const noexcept {
    if (expired()) return detail::row_error(errc::reading_expired);
    return detail::count_fp16(opened(), ids, counts);
  }

  //! Writes p(v) for every id, as float or double (row/softmax.hpp). O(V).
  //! Errors: unsupported (a truncation), output_too_small.
  template <class Out>
  [[nodiscard]] status softmax(std::span<Out> out) const noexcept {
    if (expired()) return detail::row_error(errc::reading_expired);
    return specverify::softmax(policy_, row_, transform_, out);
  }

  //! Reads the same row again, with a different transform or request. Does not use the old workspace, so it also works
  //! on an expired reading. O(V). Errors: as for `read_row`.
  [[nodiscard]] result<row_reading> again(const row_transform& transform, const read_request& request,
                                          workspace& scratch) const noexcept;

  [[nodiscard]] Policy policy() const noexcept { return policy_; }
  [[nodiscard]] row_view<Scalar> row() const noexcept { return row_; }
  [[nodiscard]] const row_transform& transform() const noexcept { return transform_; }

 private:
  friend reading_access;
  row_reading(const row_summary& summary, Policy policy, row_view<Scalar> row, const row_transform& transform) noexcept
      : row_summary(summary), policy_(policy), row_(row), transform_(transform) {}
  [[nodiscard]] SPECVERIFY_INLINE detail::opened_row<Policy, Scalar> opened() const noexcept {
    const auto source = detail::open(row_, transform_);
    if (digest_.leaves_sums()) [[unlikely]]
      return {policy_, source, detail::with_sums(policy_, source, digest_, base_), base_};
    return {policy_, source, digest_, base_};
  }

  [[no_unique_address]] Policy policy_;
  row_view<Scalar> row_;
  row_transform transform_;
};

//! Passkey for readings: only the friends of this class, which are functions and types of row/, can make a reading from
//! a digest or access the digest of a reading.
class reading_access {
  template <execution_policy Policy, class Scalar>
  friend result<row_reading<Policy, Scalar>> read_row(Policy policy, row_view<Scalar> row,
                                                      const row_transform& transform, const read_request& request,
                                                      workspace& scratch) noexcept;
  friend detail::batch_reader;
  friend detail::block_reader;
  template <class Policy, class Scalar>
  friend result<tempered_hits> tempered_draws(const row_reading<Policy, Scalar>& row, token_id token,
                                              std::span<const double> temperatures,
                                              std::span<const double> drawn) noexcept;
  template <class Policy, class Scalar>
  friend result<std::span<double>> tempered_probabilities(const row_reading<Policy, Scalar>& row, token_id token,
                                                          std::span<const double> temperatures,
                                                          std::span<double> out) noexcept;
  template <class Policy, class Scalar>
  friend result<tempered_intervals> tempered_bounds(const row_reading<Policy, Scalar>& row, token_id token,
                                                    std::span<const double> temperatures, double width,
                                                    std::span<probability_bounds> out) noexcept;
  friend struct reading_test_access;  // tests/support: digests made by hand

  //! Registers a digest whose arrays were just taken from `scratch`, so that a rewind expires its reading.
  [[nodiscard]] static row_summary summary(const row_digest& digest, workspace& scratch) noexcept {
    std::uint64_t content = digest.top_ids.count;
    const auto mix = [&content](std::uint64_t part) { content = (content ^ part) * 0xFF51AFD7ED558CCDu; };
    mix((std::uint64_t{digest.kept_ids.count} << 32) | static_cast<std::uint32_t>(digest.argmax));
    mix(kernel::bits_as<std::uint64_t>(digest.coarse_total));
    mix(kernel::bits_as<std::uint64_t>(digest.maximum));
    return {digest, scratch.base(), scratch.enter(digest.mark, content)};
  }
  template <class Policy, class Scalar>
  [[nodiscard]] static row_reading<Policy, Scalar> reading(const row_summary& summary, Policy policy,
                                                           row_view<Scalar> row,
                                                           const row_transform& transform) noexcept {
    return {summary, policy, row, transform};
  }
  [[nodiscard]] static const row_digest& digest(const row_summary& row) noexcept { return row.digest_; }
  template <class Policy, class Scalar>
  [[nodiscard]] static auto open(const row_reading<Policy, Scalar>& row) noexcept {
    return row.opened();
  }
};

//! Reads a row under a transform. At most `digest_workspace_size` bytes of `scratch` stay taken, because the reading
//! refers to them; on an error they are released. The stored values of masked and padded ids have no effect. O(V).
//! Errors: empty_vocabulary, null_span, misaligned (the row, a bias or a mask), vocabulary_too_large, invalid_argument
//!         (stride 0, minimum_probability outside [0, 1]), invalid_temperature, size_mismatch, invalid_bias,
//!         token_out_of_range (a bias id), mask_size, invalid_truncation, unsupported (a bias on probabilities, or
//!         their deviation), workspace_too_small; row_has_nan, row_has_positive_infinity, row_is_negative,
//!         row_is_empty, row_not_normalised (an infinite entry, or |sum - 1| > 4e-3; under a mask only if the sum of
//!         the allowed ids > 1 + 4e-3). `where` = the id, or the index of the bias.
template <execution_policy Policy, class Scalar>
[[nodiscard]] result<row_reading<Policy, Scalar>> read_row(Policy policy, row_view<Scalar> row,
                                                           const row_transform& transform, const read_request& request,
                                                           workspace& scratch) noexcept {
  const std::size_t mark = scratch.mark();
  row_digest digest;
  if (const status why = detail::build_digest(policy, row, transform, request, digest, scratch); !why.ok()) {
    scratch.rewind(mark);
    return why;
  }
  return reading_access::reading(reading_access::summary(digest, scratch), policy, row, transform);
}

//! Rows to read together, with either one transform for all rows or one per row.
template <class Scalar>
struct row_batch {
  std::span<const row_view<Scalar>> rows{};
  std::span<const row_transform> transforms{};

  //! Returns the transform of row i.
  [[nodiscard]] constexpr const row_transform& transform(std::size_t i) const noexcept {
    return transforms[transforms.size() == 1 ? 0 : i];
  }
};

namespace detail {

template <class Scalar>
[[nodiscard]] constexpr status check_batch(const row_batch<Scalar>& batch, std::size_t room) noexcept {
  const std::size_t count = batch.rows.size(), given = batch.transforms.size();
  if (given != count && given != 1) return row_error(errc::size_mismatch, static_cast<std::uint32_t>(given));
  if (room < count) return row_error(errc::output_too_small, static_cast<std::uint32_t>(count));
  return {};
}

}  // namespace detail

//! Reads every row of a batch. Writes the readings to the front of `out` and returns that part. If a row has an error,
//! its entry is the status, and the row takes no space in `scratch`; the other rows are still read. O(rows * V).
//! Errors: size_mismatch (the number of transforms is neither 1 nor the number of rows), output_too_small. On an error
//!         nothing is read.
template <execution_policy Policy, class Scalar>
[[nodiscard]] result<std::span<result<row_reading<Policy, Scalar>>>> read_rows(
    Policy policy, const row_batch<Scalar>& batch, const read_request& request,
    std::type_identity_t<std::span<result<row_reading<Policy, Scalar>>>> out, workspace& scratch) noexcept {
  if (const status why = detail::check_batch(batch, out.size()); !why.ok()) return why;
  for (std::size_t i = 0; i < batch.rows.size(); ++i)
    out[i] = read_row(policy, batch.rows[i], batch.transform(i), request, scratch);
  return out.first(batch.rows.size());
}

template <execution_policy Policy, class Scalar>
result<row_reading<Policy, Scalar>> row_reading<Policy, Scalar>::again(const row_transform& transform,
                                                                       const read_request& request,
                                                                       workspace& scratch) const noexcept {
  return read_row(policy_, row_, transform, request, scratch);
}

SPECVERIFY_NAMESPACE_END

#endif
