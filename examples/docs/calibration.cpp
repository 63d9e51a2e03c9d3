// SPDX-License-Identifier: Apache-2.0
// From a record of (uncertainty, rejection) to a threshold, and what skipping below it risks.
#include <specverify/uncertainty/calibration.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<double, 5> uncertainty{0.0, 0.25, 0.5, 0.75, 1.0}, rejection{0.0, 0.1, 0.35, 0.6, 0.7};
  const result<linear_fit> fit = fit_linear(uncertainty, rejection);
  if (!fit.ok() || fit.value().slope < 0.75 || fit.value().slope > 0.77) return 1;
  const double rejectable = 0.55;  // share of drafted tokens that the target holds less likely than the drafter
  const result<uncertainty_thresholds> found = thresholds(fit.value(), rejectable);
  if (!found.ok() || found.value().risk_averse > found.value().risk_prone) return 2;
  const std::array<double, 5> mass{0.4, 0.2, 0.1, 0.1, 0.2};  // P(u = j / 4)
  const double risked = risk(fit.value(), found.value().risk_prone, mass);
  if (risked > risk_bound(fit.value(), found.value().risk_prone, mass)) return 3;
  return disagreement_limit(0.8, 20) == 16 ? 0 : 4;  // 17 of 20 are more than 0.8
}
