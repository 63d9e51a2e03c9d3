// SPDX-License-Identifier: Apache-2.0
// Code that must not compile: rows and readings.

// === policy_of_another_kind
//! The first argument of a row operation is an execution policy; a standard one does not pass.
// expect: constraint
#include <specverify/core/execution.hpp>

template <specverify::execution_policy Policy>
int run(Policy) {
  return 0;
}

struct parallel {};

int run_it() {
#ifdef SPECVERIFY_MUST_FAIL
  return run(parallel{});
#else
  return run(specverify::exec::simd) + run(specverify::exec::seq);
#endif
}

// === reading_by_hand
//! Nobody joins the digest of one row to another row: only read_row makes a reading.
// expect: private
#include <specverify/row/reading.hpp>

using reading = specverify::row_reading<specverify::exec::seq_policy, float>;

reading joined(const reading& of_one, specverify::row_view<float> another) {
#ifdef SPECVERIFY_MUST_FAIL
  return reading(of_one, {}, another, of_one.transform());
#else
  return another.empty() ? of_one : reading(of_one);
#endif
}

// === reading_forged
//! Nobody makes a reading of a digest written by hand: the passkey of readings opens for the functions of the row room.
// expect: private
#include <specverify/row/reading.hpp>

specverify::token_id likeliest(specverify::workspace& scratch) {
  specverify::row_digest written;
  written.argmax = 3;
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::reading_access::summary(written, scratch).argmax();
#else
  return scratch.used() == 0 ? written.argmax : specverify::no_token;
#endif
}

// === reading_in_a_temporary
//! A reading stands in a workspace that outlives the call: a temporary one is refused.
// expect: cannot bind|expects an lvalue|no matching
#include <specverify/row/reading.hpp>

bool readable(specverify::row_view<float> row, std::span<std::byte> memory) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::read_row(specverify::exec::seq, row, {}, {}, specverify::workspace(memory)).ok();
#else
  specverify::workspace scratch(memory);
  return specverify::read_row(specverify::exec::seq, row, {}, {}, scratch).ok();
#endif
}

// === reading_of_another_transform
//! A row that was read with a bias is never sampled without it: the members take no row, transform or digest.
// expect: no matching|no member
#include <specverify/row/reading.hpp>

using reading = specverify::row_reading<specverify::exec::seq_policy, float>;

specverify::result<specverify::sampled_token> drawn(const reading& biased, const specverify::row_transform& plain,
                                                    const specverify::uniform_stream<>& stream) {
#ifdef SPECVERIFY_MUST_FAIL
  return biased.sample(plain, stream);
#else
  return specverify::row_transform(plain).greedy() ? biased.sample(stream, {}) : biased.sample(stream);
#endif
}

// === reading_on_a_device
//! A single row is read on the host: a policy of a device has batches alone.
// expect: constraint|no matching
#include <specverify/row/reading.hpp>

struct device_policy {};

bool readable(specverify::row_view<float> row, specverify::workspace& scratch) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::read_row(device_policy{}, row, {}, {}, scratch).ok();
#else
  return specverify::read_row(specverify::exec::simd, row, {}, {}, scratch).ok() && sizeof(device_policy) > 0;
#endif
}

// === reading_without_a_row
//! There is no empty reading: a result holds one, or the status that says why not.
// expect: no matching|no default|default constructor
#include <specverify/row/reading.hpp>

using reading = specverify::row_reading<specverify::exec::seq_policy, float>;

specverify::token_id argmax_of(const specverify::result<reading>& made) {
#ifdef SPECVERIFY_MUST_FAIL
  const reading none;
  return none.argmax();
#else
  return made ? made->argmax() : specverify::no_token;
#endif
}

// === result_ignored
//! A reading or a token that nobody looks at is a warning, in our builds an error.
// expect: unused-result|nodiscard
#include <specverify/row/reading.hpp>

using reading = specverify::row_reading<specverify::exec::seq_policy, float>;

void drawn(const reading& row, const specverify::uniforms<>& random) {
#ifdef SPECVERIFY_MUST_FAIL
  row.sample(random.at(specverify::purpose::bonus_draw));
#else
  static_cast<void>(row.sample(random.at(specverify::purpose::bonus_draw)));
#endif
}

// === row_opened
//! Nobody but row/, kernel/, device/ and cuda/ looks into a row.
// expect: private
#include <specverify/core/views.hpp>

float first_logit(specverify::row_view<float> row) {
#ifdef SPECVERIFY_MUST_FAIL
  return row.data_[0];
#else
  return static_cast<float>(row.size());
#endif
}

// === sample_of_a_double
//! A draw reads as many numbers as it needs: one double is no stream.
// expect: no matching
#include <specverify/row/reading.hpp>

using reading = specverify::row_reading<specverify::exec::seq_policy, float>;

bool drawn(const reading& row, double uniform) {
#ifdef SPECVERIFY_MUST_FAIL
  return row.sample(uniform).ok();
#else
  return row.accept({.token = 1, .count = 1, .resolution = 2}, uniform).ok();
#endif
}
