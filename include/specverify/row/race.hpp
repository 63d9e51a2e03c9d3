// SPDX-License-Identifier: Apache-2.0
//! Draws from a row's distribution by an exponential race: the token with the smallest E_v / p_v wins.
//!
//! Use it when two machines should draw the same token: with the same noise E and similar rows they usually do.
//! Paper:      arXiv 2408.07978 (shared Gumbel noise); the argmax of ln p_v - ln E_v is the Gumbel-max trick.
//! Symbols:    E_v = exponential noise of id v (core/noise.hpp), e_v and p(v) = e_v / Z as in row/digest.hpp. Z does
//!             not change the winner, so no sum is computed.
//! Guarantees: the token is the winner over all ids, whatever entries the reading lists, for every policy and vector
//!             level. Ties go to the smaller id. If the noise is random, the token has the distribution p, up to
//!             rounding (2^-50) and the resolution of the noise (2^-64 per id; 2^-32 or 2^-53 for an engine's noise).
//!             Bit-exact, unless built with -ffast-math. O(V); no allocation; noexcept.
//! See:        docs/algorithms/race.md, kernel/scalar/noise.hpp, tests/unit/row/race_test.cpp,
//!             benchmarks/bench_race.cpp
#ifndef SPECVERIFY_ROW_RACE_HPP
#define SPECVERIFY_ROW_RACE_HPP

#include <specverify/core/noise.hpp>
#include <specverify/row/detail/normaliser.hpp>

#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! Returns the request for a `read_row` before a race: no sums, and enough top entries that few other ids can win.
[[nodiscard]] constexpr read_request race_request(std::uint32_t vocab_size) noexcept {
  read_request wanted;
  wanted.top_entries = vocab_size <= 65536 ? 64 : 256;
  wanted.sums = false;
  return wanted;
}

namespace detail {

//! Finds the id with the smallest time E_v / e_v among the ids that have entered.
class race_leader {
 public:
  race_leader(const coupling_noise& noise, std::uint32_t position) noexcept : noise_(noise), position_(position) {}

  //! `high`: the noise word of the id (`coupling_noise::high_words`).
  void enter(std::uint32_t id, double weight, std::uint32_t high) noexcept {
    if (!(weight > 0.0) || high > bar(weight)) return;
    const double time = noise_.time_of(position_, id, high) / weight;
    if (token_ != no_token && (time > time_ || (!(time < time_) && id > static_cast<std::uint32_t>(token_)))) return;
    time_ = time;
    token_ = static_cast<token_id>(id);
  }
  //! Returns the largest noise word (`high`) with which an id of this weight, or of a smaller weight, can still win.
  [[nodiscard]] std::uint32_t bar(double weight) const noexcept {
    constexpr double all = 4294967295.0;
    if (token_ == no_token) return 0xFFFFFFFFu;
    const double words = numeric::product(weight * time_, 0x1.00001p32);  // E >= high * 2^-32; rounded up
    return words < all ? static_cast<std::uint32_t>(words) : 0xFFFFFFFFu;
  }
  //! Errors: row_is_empty (no id raced).
  [[nodiscard]] result<token_id> winner() const noexcept {
    if (token_ == no_token) return row_error(errc::row_is_empty);
    return token_;
  }

 private:
  const coupling_noise& noise_;
  std::uint32_t position_;
  token_id token_ = no_token;
  double time_ = 0;
};

//! Lets the listed ids race. Neighbouring ids share a block of noise.
template <class Weight>
[[nodiscard]] inline race_leader race_listed(const coupling_noise& noise, std::uint32_t position,
                                             std::span<const token_id> ids, const Weight& weight) noexcept {
  race_leader leader(noise, position);
  random_block words;
  std::uint32_t group = 0xFFFFFFFFu;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::uint32_t>(ids[i]);
    if (id / 4 != group) words = noise.high_words(position, group = id / 4);
    leader.enter(id, weight(i), words.word[id % 4]);
  }
  return leader;
}

//! Implements `row_reading::race`. Errors: invalid_argument (an unknown kind of noise), row_is_empty.
template <class Policy, class Scalar>
[[nodiscard]] inline result<token_id> race(const opened_row<Policy, Scalar>& row, const coupling_noise& noise,
                                           std::uint32_t position) noexcept {
  const row_digest& digest = row.digest;
  if (!is_noise(noise.kind)) return row_error(errc::invalid_argument);
  if (digest.one_hot) [[unlikely]]
    return digest.argmax;
  if (digest.truncated) {
    const auto weights = row.base.template at<double>(digest.kept_weights);
    const race_leader leader = race_listed(noise, position, row.base.template at<token_id>(digest.kept_ids),
                                           [&](std::size_t i) { return weights[i]; });
    return leader.winner();
  }
  kernel::exact_weight exact = exact_of(digest);
  exact.reference = digest.maximum;  // the same weights with and without sums
  const auto weight_of = [&](token_id id) { return exact(row.value(id)); };
  const auto ids = row.base.template at<token_id>(digest.top_ids);
  const std::span<const token_id> listed = ids.empty() ? std::span<const token_id>(&digest.argmax, 1) : ids;
  race_leader leader = race_listed(noise, position, listed, [&](std::size_t i) { return weight_of(listed[i]); });

  // `most` bounds the weights of all other ids. An integer weight is off by at most one unit (2^-31 of the largest),
  // and integer weights have the same order as the row's values.
  double most = exact(digest.maximum);
  if (!ids.empty()) {
    std::uint32_t least = kernel::weight_one;
    for (const std::uint32_t weight : row.base.template at<std::uint32_t>(digest.top_weights))
      least = weight < least ? weight : least;
    const double units = digest.top_complete ? 2.0 : static_cast<double>(least) + 2.0 + 0x1.0p-20 * least;
    const double bound = numeric::product(most * units, 0x1.0p-31);
    most = bound < most ? bound : most;
  }
  kernel::noise_hit hits[kernel::noise_run];
  for (std::uint32_t from = 0; from < digest.valid_size; from += kernel::noise_run) {
    const std::uint32_t left = digest.valid_size - from, count = left < kernel::noise_run ? left : kernel::noise_run;
    const std::uint32_t found =
        kernel::list_small_noise(row.policy, noise, position, from, count, leader.bar(most), hits);
    for (std::uint32_t i = 0; i < found; ++i)
      leader.enter(hits[i].id, weight_of(static_cast<token_id>(hits[i].id)), hits[i].high);
  }
  return leader.winner();
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
