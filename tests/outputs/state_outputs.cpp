// SPDX-License-Identifier: Apache-2.0
// Prints hashes of the states that a session keeps between rows: sparsifiers, windows, calibrations. Every build must
// print the same lines "name: hash", except for the line `fused`: it contains sums of products that the compiler may
// fuse, and shows whether this build does.
#include <specverify/decision_head/features.hpp>
#include <specverify/policy/dqn.hpp>
#include <specverify/policy/model_window.hpp>
#include <specverify/policy/protocol.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>
#include <specverify/uncertainty/calibration.hpp>
#include <specverify/uncertainty/importance.hpp>
#include <specverify/verify/expected_length.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <vector>

using namespace specverify;

namespace {

struct generator {
  std::uint64_t state = 88172645463325252u;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  std::uint32_t below(std::uint32_t size) { return static_cast<std::uint32_t>((next() >> 32) * size >> 32); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
};

class mixer {
 public:
  void add(std::uint64_t value) { state_ = (state_ ^ value) * 0x100000001B3u + (state_ >> 29); }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void say(const char* name) const { std::printf("%s: %016llx\n", name, static_cast<unsigned long long>(state_)); }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325u;
};

void conformal_states(const char* name, conformal_update update, double step) {
  generator random;
  mixer mixed;
  conformal sparsifier;
  sparsifier.update = update;
  sparsifier.step = step;
  sparsifier.target = 0.0123;
  sparsifier.max_support_size = 64;
  conformal_state state = sparsifier.initial_state();
  for (int n = 0; n < 5000; ++n) {
    const token_id id = 0;
    const std::uint32_t weight = 1000000 + random.below(50000);
    state =
        sparsifier.advance(state, {{&id, 1}, {&weight, 1}, 1000000 + random.below(80000) + std::uint64_t{50000}, 1000});
    mixed.add(state.beta);
    mixed.add(state.dropped);
  }
  mixed.say(name);
}

void vocabulary_budgets() {
  generator random;
  mixer mixed;
  for (int n = 0; n < 2000; ++n) {
    online_vocabulary_budget sparsifier;
    sparsifier.size = {0.05 + random.uniform(), 0.5 + random.uniform()};
    const drawn_token drawn{0, random.below(21), 20};
    mixed.add(sparsifier.rejection_probability(drawn));
    mixed.add(online_budget(random.uniform(), sparsifier.rejection_probability(drawn), sparsifier.size));
  }
  std::vector<std::uint32_t> weights(300);
  for (std::uint32_t& weight : weights) weight = random.below(1u << 31) >> random.below(20);
  std::sort(weights.rbegin(), weights.rend());
  std::vector<std::uint64_t> sums{0};
  for (const std::uint32_t weight : weights) sums.push_back(sums.back() + weight);
  const tail_profile profile(weights, sums, 1000);
  for (std::uint32_t k = 1; k < 300; ++k) mixed.add(profile.distortion(k));
  mixed.say("vocabulary budgets");
}

void windows() {
  generator random;
  mixer observed, charged, modelled, valued;
  observation seen;
  model_window window;
  window.model.vocab_size = 50000;
  window.model.times = {0.0123, 0.0457};
  window.model.link = {1.23e6, 4.56e6, 0.0321};
  auto weights = std::make_unique<dqn_weights>();
  for (float& weight : weights->values) weight = static_cast<float>(random.uniform() - 0.5);
  for (int n = 0; n < 400; ++n) {
    const std::uint32_t drafted = 1 + random.below(12), accepted = random.below(drafted + 1);
    const std::uint32_t resolutions[] = {240, 720, 100};
    for (std::uint32_t i = 0; i < accepted; ++i) record_accepted(seen, static_cast<float>(random.uniform()));
    record_round(seen, drafted, accepted, accepted + 1, 100, resolutions[random.below(3)]);
    for (const resolution_acceptance& known : seen.acceptance) observed.add(static_cast<double>(known.mean));
    const std::uint32_t vocab_size = 1000 + random.below(100000), support_size = 1 + random.below(900),
                        resolution = 1 + random.below(2000);
    for (const position_accounting accounting :
         {position_accounting::top_k, position_accounting::threshold, position_accounting::drop_zero})
      charged.add(position_bits(accounting, vocab_size, support_size, resolution, n % 2 == 0));
    for (const window_action& action : window.grid.all()) modelled.add(modelled_throughput(window.model, seen, action));
    modelled.add(std::uint64_t{window.choose(seen)});
    for (const float value : dqn_evaluate(*weights, features_of(seen))) valued.add(static_cast<double>(value));
  }
  observed.say("acceptance means");
  charged.say("bits of a position");
  modelled.say("modelled throughput");
  valued.say("values of a network");
}

void calibrations() {
  generator random;
  mixer mixed, important;
  for (int n = 0; n < 500; ++n) {
    std::vector<double> u(20), beta(20), mass(21);
    std::vector<std::uint32_t> lengths(20);
    std::vector<float> attention(30);
    for (double& value : u) value = random.uniform();
    for (double& value : beta) value = random.uniform();
    for (double& value : mass) value = random.uniform();
    for (std::uint32_t& length : lengths) length = 1 + random.below(12);
    for (float& weight : attention) weight = static_cast<float>(random.uniform());
    linear_fit fit = *fit_linear(u, beta);
    for (const double value : {fit.slope, fit.intercept, fit.mean_squared_error, fit.r_squared}) mixed.add(value);
    fit.slope = 0.5 + random.uniform();
    mixed.add(expected_rejection(fit, u[0]));
    mixed.add(*threshold_for(fit, beta[0]));
    mixed.add(static_cast<std::uint64_t>(disagreement_limit(u[1], 100)));
    mixed.add(risk(fit, u[2], mass));
    mixed.add(risk_bound(fit, u[2], mass));
    mixed.add(expected_tokens(u));
    const fitted_times times = *fit_round_times(lengths, beta);
    mixed.add(times.per_token);
    mixed.add(times.fixed);
    importance_rule rule;
    rule.gamma = random.uniform();
    important.add(std::uint64_t{*rule.eligible(attention)});
  }
  mixed.say("calibrations");
  important.say("importance");
}

void protocols() {
  generator random;
  mixer means, times, standardised;
  mismatch_history history;
  protocol_model model;
  model.format.hidden_size = 1024;
  model.allow_lazy = true;
  for (int n = 0; n < 400; ++n) {
    const std::uint32_t drafted = 1 + random.below(12), mismatches = random.below(drafted + 1);
    history.record(drafted, mismatches, random.below(mismatches + 1));
    const mismatch_means& known = history.of(drafted);
    for (const double mean : {known.mismatches, known.any, known.evaluated}) means.add(mean);
    const channel_state link{1e6 * (0.1 + random.uniform()), 1e6 * (1 + random.uniform()), 0.1 * random.uniform()};
    for (const hidden_protocol each : {hidden_protocol::full, hidden_protocol::selective, hidden_protocol::lazy})
      times.add(model.extra_time(each, drafted, link, known));
    std::vector<channel_vector> observed(9);
    for (channel_vector& channel : observed)
      for (auto& feature : channel) feature = static_cast<float>(random.uniform());
    const channel_standardisation made = *standardisation_of(observed);
    for (const float scale : made.scale) standardised.add(static_cast<double>(scale));
  }
  means.say("mismatch means");
  times.say("times of protocols");
  standardised.say("channel features");
}

void fused_sums() {
  generator random;
  mixer mixed;
  double sum = 0.1;
  for (int n = 0; n < 5000; ++n) {
    const double a = random.uniform(), b = random.uniform();
    sum += a * b;
    mixed.add(sum);
  }
  mixed.say("fused");
}

}  // namespace

int main() {
  conformal_states("conformal, linear", conformal_update::linear, 0.0371);
  conformal_states("conformal, logarithmic", conformal_update::logarithmic, 2.37);
  vocabulary_budgets();
  windows();
  calibrations();
  protocols();
  fused_sums();
  return 0;
}
