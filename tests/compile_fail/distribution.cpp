// SPDX-License-Identifier: Apache-2.0
// Code that must not compile: drafts, uniforms and statuses.

// === draft_by_hand
//! A draft binds a token to the law it was drawn from: only draw() makes one (COR-1).
// expect: private
#include <specverify/distribution/draft.hpp>

specverify::draft drawn(const specverify::law& from) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::draft(3, from);
#else
  return specverify::draw(from, specverify::uniforms{specverify::philox{}, 0, 0}.at(specverify::purpose::draft_draw));
#endif
}

// === draft_is_no_received_draft
//! The four token types do not turn into each other (COR-3).
// expect: could not convert|no viable conversion|no known conversion
#include <specverify/distribution/draft.hpp>

specverify::token_id verified(specverify::received_draft received) { return received.token(); }

specverify::token_id token_of(const specverify::draft& drawn, const specverify::received_draft& received) {
#ifdef SPECVERIFY_MUST_FAIL
  return verified(received) + verified(drawn);
#else
  return verified(received) + drawn.token();
#endif
}

// === generator_with_state
//! Randomness is a pure map from a counter: a generator that steps is no uniform_source (COR-4).
// expect: constraint
#include <specverify/distribution/draft.hpp>

struct stepping_generator {
  specverify::random_block next{};
  specverify::random_block operator()() noexcept { return next; }
};

specverify::token_id drawn(const specverify::law& from) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::draw(from, specverify::uniforms{stepping_generator{}, 0, 0}.at(specverify::purpose::draft_draw))
      .token();
#else
  return specverify::draw(from, specverify::uniforms{specverify::philox{}, 0, 0}.at(specverify::purpose::draft_draw))
      .token();
#endif
}

// === lossy_draft
//! A token drawn from another law than it claims is lossy by name: the lossless rule does not take it (COR-1, COR-11).
// expect: constraint
#include <specverify/verify/token.hpp>

template <class Draft>
specverify::result<specverify::verdict> verified(std::span<const Draft> drafts,
                                                 const specverify::row_span_provider<float>& rows,
                                                 specverify::workspace& scratch) {
  return specverify::token_rule{}.verify(specverify::exec::seq, drafts, rows, specverify::uniforms<>{}, {}, scratch);
}

specverify::result<specverify::verdict> run(const specverify::row_span_provider<float>& rows,
                                            specverify::workspace& scratch) {
#ifdef SPECVERIFY_MUST_FAIL
  return verified(std::span<const specverify::mismatched_draft>(), rows, scratch);
#else
  return verified(std::span<const specverify::received_draft>(), rows, scratch);
#endif
}

// === received_draft_by_hand
//! A received draft is made by the decoder alone, which has checked its law.
// expect: private
#include <specverify/distribution/draft.hpp>

specverify::token_id token_of(const specverify::law& from, const specverify::received_draft& received) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::received_draft(3, from).token();
#else
  return from.size > 0 ? received.token() : specverify::no_token;
#endif
}

// === status_ignored
//! A status that nobody looks at is a warning, in our builds an error.
// expect: unused-result|nodiscard
#include <specverify/distribution/law.hpp>

void checked(const specverify::law& given) {
#ifdef SPECVERIFY_MUST_FAIL
  check(given);
#else
  static_cast<void>(check(given));
#endif
}

// === uniforms_of_a_generator
//! Uniforms hold a pure map: a generator that steps has a state and is none (COR-4).
// expect: constraint
#include <specverify/core/uniforms.hpp>

struct stepping_generator {
  specverify::random_block next{};
  specverify::random_block operator()(specverify::random_counter) noexcept { return next; }
};

double first_uniform() {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::uniforms{stepping_generator{}, 0u, 0u}.at(specverify::purpose::acceptance).uniform();
#else
  return specverify::uniforms{specverify::philox{}, 0u, 0u}.at(specverify::purpose::acceptance).uniform();
#endif
}
