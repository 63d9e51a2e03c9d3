// SPDX-License-Identifier: Apache-2.0
//! The concept of a source of randomness: a pure map from a counter to 128 bits.
//! See: docs/algorithms/random.md, tests/unit/core/concepts_test.cpp
#ifndef SPECVERIFY_CORE_CONCEPTS_HPP
#define SPECVERIFY_CORE_CONCEPTS_HPP

#include <specverify/core/random.hpp>
#include <specverify/cpp20.hpp>

#include <concepts>

SPECVERIFY_NAMESPACE_BEGIN

//! A pure map: counter -> 128 bits. Calling it twice with one counter gives the same bits. Models: `philox`; in tests a
//! scripted one.
template <class Source>
concept uniform_source = requires(const Source& source, random_counter counter) {
  { source(counter) } noexcept -> std::same_as<random_block>;
};

SPECVERIFY_NAMESPACE_END

#endif
