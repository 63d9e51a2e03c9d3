// SPDX-License-Identifier: Apache-2.0
//! Computes the total weight W of a row only as precisely as needed: first bounds from the read, then bounds from sums
//! in float, and finally the exact sum.
#ifndef SPECVERIFY_ROW_DETAIL_TOTAL_HPP
#define SPECVERIFY_ROW_DETAIL_TOTAL_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/row/detail/long_list.hpp>
#include <specverify/row/detail/normaliser.hpp>
#include <specverify/row/detail/order.hpp>
#include <specverify/row/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

struct proposal;

//! A mark together with the row that it belongs to, so that the row can be read again. This object is in the workspace,
//! and only `mark_row` may initialize it.
template <class Policy, class Scalar>
struct marked_row {
  reading_mark mark;
  kernel::row_source<Scalar> source;
  double maximum;
  double reference;
  double temperature;
  Policy policy;
  bool quick;               // whether a sum in float may tighten the bounds
  bool rounded;             // whether sums of rounded powers may tighten the bounds
  normaliser_bounds known;  // bounds on Z from the read
  row_digest full;          // the digest with the sums that the read left out, once they are computed
  // proposes a token from claimed blocks; a pointer, so that code without such rows need not compile it
  proposal (*propose)(Policy, const kernel::row_source<Scalar>&, const row_digest&, workspace_base, double) noexcept;

  static void narrow(reading_mark& mark, bool exactly) noexcept {
    auto& self = reinterpret_cast<marked_row&>(mark);
    if (mark.most == 0) {  // set the bounds from the read
      if (mark.close > 0.0) self.bound(quick_bounds(mark));
      return self.bound(self.known);
    }
    if (mark.least == mark.most) return;
    const double inverse = 1.0 / self.temperature, width = static_cast<double>(mark.most - mark.least),
                 least = static_cast<double>(mark.least);
    if (!exactly && self.quick && width > 2 * kernel::quick_error * least) {
      self.quick = false;
      const kernel::exact_weight weight{self.reference, inverse, self.source.probabilities};
      if (take_quick_sum(mark, self.policy, self.source, weight)) return self.bound(quick_bounds(mark));
    }
    if (!exactly && self.rounded && width > 2 * kernel::rounded_power_error * least) {
      self.quick = self.rounded = false;
      const auto range = kernel::rounded_total(self.policy, self.source, {self.maximum, inverse, false});
      if (range.most > 0 && kernel::is_finite(range.most)) return self.within(range.least, range.most);
    }
    mark.least = mark.most =
        sum_weights(self.policy, self.source, weights_of(self.source, self.maximum, self.temperature));
    mark.summed = true;
  }
  //! Tightens least <= W <= most. A weight differs from its real value e by at most 1/2 + 2^-26 e, or by at most 1 for
  //! probabilities.
  [[gnu::noinline]] void bound(normaliser_bounds of) noexcept {
    constexpr double slack = 0x1p-25;
    const double one = static_cast<double>(kernel::weight_one), size = static_cast<double>(source.size);
    const double unit = source.probabilities ? one / maximum : one * numeric::exp((reference - maximum) / temperature);
    const double off = source.probabilities ? size + 1 : 0.5 * size + 1;
    const double least = of.lower * unit * (1 - slack) - off, most = of.upper * unit * (1 + slack) + off;
    within(least, most);
  }
  void within(double least, double most) noexcept {
    const double one = static_cast<double>(kernel::weight_one), all = one * static_cast<double>(source.size);
    const auto low =
        least > one ? static_cast<std::uint64_t>(least < all ? least : all) : std::uint64_t{kernel::weight_one};
    const auto high = most < all ? static_cast<std::uint64_t>(most) + 1 : static_cast<std::uint64_t>(all);
    const bool apart = mark.most != 0 && (low > mark.most || high < mark.least);  // a claim was wrong
    mark.least = low > mark.least || apart ? low : mark.least;
    mark.most = mark.most == 0 || high < mark.most || apart ? high : mark.most;
  }
};

//! Initializes `mark`, which has marked_row_size bytes, so that W of the row can be computed. `know_bounds` must be
//! called before other uses. `quick_total`: a sum in float taken with the digest, or 0.
template <class Policy, class Scalar>
[[gnu::noinline]] inline void mark_row(reading_mark& mark, Policy policy, const kernel::row_source<Scalar>& source,
                                       const row_digest& digest, double quick_total) noexcept {
  using marked = marked_row<Policy, Scalar>;
  static_assert(sizeof(marked) <= marked_row_size && std::is_trivially_copyable_v<marked>);
  auto& self = reinterpret_cast<marked&>(mark);
  self.source = source;
  self.maximum = digest.maximum;
  self.reference = digest.reference;
  self.temperature = digest.temperature;
  self.policy = policy;
  self.quick = !source.probabilities && !keep_quick_sum(mark, quick_total);
  self.rounded = !source.probabilities;
  self.known = {digest.lower, digest.upper};
  self.propose = nullptr;
  self.full.lane_sums = {};
  mark.narrow = &marked::narrow;
}

//! Returns the bounds on W. If the top entries include every positive weight, both bounds are the sum of these weights.
[[nodiscard]] inline weight_bounds bounds_of(const row_digest& digest, workspace_base base, reading_mark& mark,
                                             std::uint64_t stamp) noexcept {
  if (mark.stamp != stamp) return {};
  if (digest.total_weight > 0) return {digest.total_weight, digest.total_weight};
  if (digest.top_complete && (mark.most == 0 || mark.least != mark.most)) {
    const auto weights = base.at<std::uint32_t>(digest.top_weights);
    mark.least = mark.most = mass_from(weights.data(), static_cast<std::uint32_t>(weights.size()), 0);
  }
  know_bounds(mark);
  return {mark.least, mark.most};
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
