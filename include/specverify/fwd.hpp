// SPDX-License-Identifier: Apache-2.0
//! Forward declarations of types that hosts hold by reference or pointer.
#ifndef SPECVERIFY_FWD_HPP
#define SPECVERIFY_FWD_HPP

#include <specverify/config.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

enum class errc : std::uint16_t;
struct status;
template <class Value>
class result;
template <class Scalar>
class row_view;
class workspace;
struct random_counter;
struct random_block;
struct row_transform;
struct row_digest;
struct support;
struct law;
class draft;
class received_draft;
struct claimed_draft;
struct mismatched_draft;
struct verdict;
struct verify_request;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

struct philox;
struct token_rule;
struct greedy_rule;
template <class Draft>
class basic_draft_block;
class cloud_session;

SPECVERIFY_NAMESPACE_END

#endif
