// SPDX-License-Identifier: Apache-2.0
//! Includes the headers that an engine needs to draft and to verify. None of them allocates memory.
//!
//! Messages, sessions and types that own memory are in `specverify/all.hpp`. The test kit (testing/) is in neither
//! header. If you need only one module, include the headers of this module; for example, `verify/token.hpp` is enough
//! to verify.
#ifndef SPECVERIFY_SPECVERIFY_HPP
#define SPECVERIFY_SPECVERIFY_HPP

#include <specverify/cpp20.hpp>

#include <specverify/config.hpp>

// errors, views, workspaces, randomness
#include <specverify/core/concepts.hpp>
#include <specverify/core/execution.hpp>
#include <specverify/core/random.hpp>
#include <specverify/core/secret.hpp>
#include <specverify/core/status.hpp>
#include <specverify/core/uniforms.hpp>
#include <specverify/core/views.hpp>
#include <specverify/core/workspace.hpp>

// operations on whole rows
#include <specverify/row/acceptance.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/row/digest.hpp>
#include <specverify/row/fp16_row.hpp>
#include <specverify/row/integer_weights.hpp>
#include <specverify/row/log_probability.hpp>
#include <specverify/row/log_sum_exp.hpp>
#include <specverify/row/parallel.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/row/residual.hpp>
#include <specverify/row/sample.hpp>
#include <specverify/row/softmax.hpp>
#include <specverify/row/transform.hpp>

// supports, distributions, draft tokens
#include <specverify/distribution/draft.hpp>
#include <specverify/distribution/fp16_law.hpp>
#include <specverify/distribution/law.hpp>
#include <specverify/distribution/make_law.hpp>
#include <specverify/distribution/support.hpp>

#include <specverify/sparsify/compressed_law.hpp>
#include <specverify/sparsify/concepts.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/min_p.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>
#include <specverify/sparsify/threshold.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/sparsify/top_n_sigma.hpp>
#include <specverify/sparsify/top_p.hpp>
#include <specverify/sparsify/vocabulary_budget.hpp>

#include <specverify/quantize/concepts.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/quantize/drop_zero.hpp>
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>

// verdicts
#include <specverify/verify/concepts.hpp>
#include <specverify/verify/expected_length.hpp>
#include <specverify/verify/greedy.hpp>
#include <specverify/verify/mismatched.hpp>
#include <specverify/verify/semantic.hpp>
#include <specverify/verify/token.hpp>
#include <specverify/verify/verdict.hpp>

#endif
