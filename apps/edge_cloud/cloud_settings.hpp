// SPDX-License-Identifier: Apache-2.0
//! Makes the session of a cloud from the settings of a run.
#ifndef EDGE_CLOUD_CLOUD_SETTINGS_HPP
#define EDGE_CLOUD_CLOUD_SETTINGS_HPP

#include <specverify/session/cloud_session.hpp>

#include "run_settings.hpp"
#include "side_model.hpp"

#include <random>
#include <stdexcept>

namespace edge_cloud {

//! Makes a cloud session without a text. If the run has no salt, the session gets a random salt. Throws if the library
//! rejects the options.
[[nodiscard]] inline specverify::cloud_session make_cloud(const run_settings& run, const side_model& model,
                                                          const specverify::cloud_limits& limits,
                                                          specverify::guarantee required = {}) {
  static constexpr specverify::token_id end[] = {tinylm::tokenizer::end_token};
  specverify::cloud_options options;
  options.secret = specverify::secret_from_hex(run.cloud_secret);
  options.salt = run.salt != 0 ? run.salt : specverify::salt_from(std::random_device{});
  options.vocab_size = model.vocab_size;
  options.limits = limits;
  options.lazy = run.lazy;
  options.fingerprint = model.fingerprint;
  options.max_text_length = model.context;
  options.stop_tokens = end;
  options.required = required;
  const specverify::prior_table* const prior = model.prior.get();
  if (prior != nullptr) options.priors = {&prior, 1};
  auto made = specverify::make_cloud(options);
  if (!made.ok()) throw std::runtime_error(specverify::message(made.error().code));
  return std::move(made).value();
}

}  // namespace edge_cloud

#endif
