// SPDX-License-Identifier: Apache-2.0
//! Headers of other libraries that the tests and the library include, compiled once for the mutants and for
//! tests/compile_fail.
#ifndef SPECVERIFY_TESTS_SUPPORT_FOREIGN_HPP
#define SPECVERIFY_TESTS_SUPPORT_FOREIGN_HPP

#include <doctest/doctest.h>

#if __has_include(<xsimd/xsimd.hpp>)
#include <xsimd/xsimd.hpp>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <complex>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#endif
