// SPDX-License-Identifier: Apache-2.0
//! Defines the concept of a random source: a type with a pure function that maps a counter to 128 random bits.
//! See:        docs/algorithms/random.md, tests/unit/core/concepts_test.cpp
#ifndef SPECVERIFY_CORE_CONCEPTS_HPP
#define SPECVERIFY_CORE_CONCEPTS_HPP

#include <specverify/core/random.hpp>
#include <specverify/cpp20.hpp>

#include <concepts>

SPECVERIFY_NAMESPACE_BEGIN

//! A pure function from a counter to 128 bits: it must return the same bits whenever it is called with the same
//! counter. `philox` satisfies this concept; tests use scripted sources.
template <class Source>
concept uniform_source = requires(const Source& source, random_counter counter) {
  { source(counter) } noexcept -> std::same_as<random_block>;
};

SPECVERIFY_NAMESPACE_END

#endif
