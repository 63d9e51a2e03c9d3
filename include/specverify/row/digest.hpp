// SPDX-License-Identifier: Apache-2.0
//! The digest: what one row of logits or probabilities says about sampling, accepting, selecting and quantizing.
//!
//! Symbols:    z_v = transformed logit (bias and mask applied), e_v = e^((z_v - reference) / T) (rows of probabilities:
//!             e_v = p_v), Z = sum of e_v, W = total_weight = sum of integer weights (row/integer_weights.hpp), law
//!             p(v) = e_v / Z.
//! Guarantees: O(V); no allocation; noexcept; the digest is a trivially copyable value of scalars and offsets into the
//!             caller's workspace, valid while that workspace and the row live. Lane and block sums, survivors, W and
//!             argmax: bit-exact (sums: unless -ffast-math). lower <= Z <= upper always; upper / lower <= 1.0617, and =
//!             1 + 2^-14 for probabilities.
//! Shape:      the coarse sums use 16 lanes by 1024 ids: lane j of block b adds w(v), v = 1024 b + j mod 16, ascending,
//!             in float; a block sum is the tree j + 8, j + 4, j + 2, j + 1 of its lanes in double; blocks add serially
//!             in double. w(v) is kernel::coarse_exponential under `reference` = the largest z among the first 16 ids
//!             of every block, or the row's maximum where that is more than 60 T higher.
//! Deviates:   a truncated row (row_transform::truncation) keeps its ids and e_v in the workspace, and Z is exact. Ids
//!             whose integer weight is 0 (below 2^-32 of the largest) are never survivors and never survive a
//!             truncation.
//! See:        docs/algorithms/digest.md, kernel/scalar/digest.hpp, tests/unit/row/digest_test.cpp,
//!             benchmarks/bench_digest.cpp
#ifndef SPECVERIFY_ROW_DIGEST_HPP
#define SPECVERIFY_ROW_DIGEST_HPP

#include <specverify/core/execution.hpp>
#include <specverify/core/views.hpp>
#include <specverify/core/workspace.hpp>
#include <specverify/row/transform.hpp>

#include <span>

SPECVERIFY_TYPES_BEGIN

//! What to gather beyond the coarse sums.
struct read_request {
  //! gather at least this many of the largest entries (integer weight descending, id ascending)
  std::uint32_t survivors = 0;
  //! [0, 1]; gather every id with w_v >= this * W; 0: off. Implies integer_total
  double minimum_probability = 0;
  bool integer_total = false;                   //!< compute W
  bool exact_normaliser = false;                //!< compute Z in double; else only its bracket
  std::span<const double> temperature_nodes{};  //!< reserved: must be empty (errc::unsupported)
  //! compute the standard deviation of the logits; one more read, rows of logits only
  bool standard_deviation = false;
};

struct row_digest {
  row_kind kind = row_kind::logits;
  bool one_hot = false;             //!< the temperature was below 1e-6: the law is a point mass at argmax
  bool truncated = false;           //!< the law lives on kept_ids
  bool survivors_complete = false;  //!< every id of positive integer weight is among the survivors
  std::uint32_t valid_size = 0;     //!< ids of the row
  token_id argmax = no_token;       //!< ties to the smaller id
  double temperature = 1;
  double maximum = 0;       //!< z of argmax
  double reference = 0;     //!< of the exponents e_v
  double coarse_total = 0;  //!< sum of w(v)
  double lower = 0;         //!< lower <= Z
  double upper = 0;         //!< Z <= upper
  double normaliser = 0;    //!< Z, or 0 when only the bracket was asked for
  //! population standard deviation of the z above -infinity, before temperature and truncation; 0 when not asked for
  double standard_deviation = 0;
  double minimum_probability = 0;      //!< ids from here on are all among the survivors (0: no such promise)
  std::uint64_t total_weight = 0;      //!< W, or 0 when not asked for
  workspace_slice lane_sums{};         //!< float, 16 a block of 1024 ids
  workspace_slice block_sums{};        //!< double, one a block of 1024 ids
  workspace_slice survivor_ids{};      //!< token_id, ascending
  workspace_slice survivor_weights{};  //!< uint32 integer weights of survivor_ids, positive
  workspace_slice kept_ids{};          //!< truncated rows: token_id, ascending
  workspace_slice kept_weights{};      //!< truncated rows: double e_v
  workspace_slice mark{};              //!< one reading_mark
};
static_assert(std::is_trivially_copyable_v<row_digest>);

SPECVERIFY_TYPES_END

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {
[[nodiscard]] constexpr std::size_t digest_bytes(std::uint32_t vocab_size, const row_transform& transform,
                                                 const read_request& request) noexcept;
template <class Policy, class Scalar>
[[nodiscard]] status build_digest(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  const read_request& request, workspace& space, row_digest& out) noexcept;
}  // namespace detail

//! Bytes of workspace that `digest` takes. Pure; O(1).
[[nodiscard]] constexpr std::size_t digest_workspace_size(std::uint32_t vocab_size, const row_transform& transform,
                                                          const read_request& request) noexcept {
  return detail::digest_bytes(vocab_size, transform, request);
}

//! Reads a row and fills `out`. On error `out` stays as it was and the workspace gives back what was taken.
//! Errors: empty_vocabulary, null_span, vocabulary_too_large, invalid_argument (stride 0, minimum_probability outside
//!         [0, 1]), invalid_temperature, size_mismatch, invalid_bias, token_out_of_range (a bias id), mask_size,
//!         invalid_truncation, unsupported (nodes; a bias on probabilities, or their spread), workspace_too_small;
//!         row_has_nan, row_has_positive_infinity, row_is_negative, row_is_empty, row_not_normalised (|sum - 1| >
//!         4e-3), `where` = id. The stored values of masked and padded ids are never read.
template <execution_policy Policy, class Scalar>
[[nodiscard]] status digest(Policy policy, row_view<Scalar> row, const row_transform& transform,
                            const read_request& request, workspace& space, row_digest& out) noexcept {
  const std::size_t mark = space.mark();
  row_digest built;
  const status outcome = detail::build_digest(policy, row, transform, request, space, built);
  if (outcome.ok()) {
    out = built;
  } else {
    space.rewind(mark);
  }
  return outcome;
}

//! One digest per row; a row in error leaves the others as they are. Spans of transforms, requests and workspaces have
//! one entry per row. Returns size_mismatch when the spans differ in length, else ok: the rows' own outcomes are in
//! `statuses`.
template <execution_policy Policy, class Scalar>
[[nodiscard]] status digest_batch(Policy policy, std::span<const row_view<Scalar>> rows,
                                  std::span<const row_transform> transforms, std::span<const read_request> requests,
                                  std::span<workspace> spaces, std::span<row_digest> digests,
                                  std::span<status> statuses) noexcept {
  const std::size_t count = rows.size();
  if (transforms.size() != count || requests.size() != count || spaces.size() != count || digests.size() != count ||
      statuses.size() != count) {
    return {errc::size_mismatch, part::row, 0};
  }
  for (std::size_t i = 0; i < count; ++i)
    statuses[i] = digest(policy, rows[i], transforms[i], requests[i], spaces[i], digests[i]);
  return {};
}

SPECVERIFY_NAMESPACE_END

#include <specverify/row/detail/digest.hpp>

#endif
