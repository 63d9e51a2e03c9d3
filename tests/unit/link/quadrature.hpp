// SPDX-License-Identifier: Apache-2.0
//! The oracle of the link tests: Gauss-Legendre panels, each `ratio` times as long as the one before, in the variable
//! itself.
#ifndef SPECVERIFY_TESTS_UNIT_LINK_QUADRATURE_HPP
#define SPECVERIFY_TESTS_UNIT_LINK_QUADRATURE_HPP

namespace specverify_test {

template <class Function>
double integrate(const Function& function, double low, double high, double ratio = 1.05) {
  constexpr double node[] = {0, 0.5384693101056831, 0.9061798459386640},
                   weight[] = {0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
  double sum = 0, from = low;
  for (double width = 1e-5; from < high; width *= ratio) {
    const double to = from + width < high ? from + width : high, half = (to - from) / 2, middle = from + half;
    sum += half * weight[0] * function(middle);
    for (int i = 1; i < 3; ++i)
      sum += half * weight[i] * (function(middle - half * node[i]) + function(middle + half * node[i]));
    from = to;
  }
  return sum;
}

}  // namespace specverify_test

#endif
