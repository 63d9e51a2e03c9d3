// SPDX-License-Identifier: Apache-2.0
// How the lab compares systems of the HLM family at equal uploads. Built by apps/lab/CMakeLists.txt; elsewhere this
// file is empty.
#if defined(SPECVERIFY_TINYLM_DIRECTORY)

#include "../../../apps/lab/hlm_outcomes.hpp"

#include <vector>

#include <doctest/doctest.h>

namespace {

//! Two texts of 10 tokens, of which the first `sent` are sent.
lab::hlm_outcome outcome_of(int sent, const std::vector<double>& solved) {
  lab::hlm_outcome made;
  made.solved = solved;
  made.texts.resize(solved.size());
  for (lab::hlm_text& text : made.texts) {
    text.steps.resize(10);
    for (int i = 0; i < sent; ++i) text.steps[static_cast<std::size_t>(i)].sent = true;
  }
  return made;
}

}  // namespace

TEST_CASE("lab: between two shares of uploads a family solves the mixture of its neighbours, problem by problem") {
  const lab::hlm_outcome none = outcome_of(0, {0, 0}), some = outcome_of(4, {1, 0}), all = outcome_of(10, {1, 1});
  const std::vector<const lab::hlm_outcome*> family{&all, &none, &some};  // in any order
  const auto solved_at = [&](double share) { return lab::solved_by(family, lab::mixture_at(family, share)); };
  CHECK(solved_at(0.4) == std::vector<double>{1, 0});
  CHECK(solved_at(0.2)[0] == doctest::Approx(0.5));
  CHECK(solved_at(0.2)[1] == 0);
  CHECK(solved_at(0.7)[0] == 1);
  CHECK(solved_at(0.7)[1] == doctest::Approx(0.5));
  CHECK(solved_at(0) == none.solved);
  CHECK(solved_at(1) == all.solved);
}

TEST_CASE("lab: a mixture sends the share that was asked for, also of texts of other lengths") {
  lab::hlm_outcome none = outcome_of(0, {0, 0}), some = outcome_of(4, {1, 0});
  for (lab::hlm_text& text : none.texts) text.steps.resize(40);  // skipping made these texts longer
  const std::vector<const lab::hlm_outcome*> family{&some, &none};
  for (const double share : {0.05, 0.2, 0.35})
    CHECK(lab::upload_share(family, lab::mixture_at(family, share)) == doctest::Approx(share));
  CHECK(lab::upload_share(family, lab::mixture_at(family, 0.9)) == doctest::Approx(0.4));  // as much as it can
  CHECK(lab::mixture_at(family, 0.2).part > 0.5);  // 0.5 would send 4 of 50 tokens
}

TEST_CASE("lab: a threshold is chosen by the share of problem tokens that it sends") {
  lab::hlm_record record;
  for (int i = 0; i < 20; ++i) {  // u = 0, .05, ..., .95 on problems; prose is all unsure and does not count
    record.text.push_back(0);
    record.uncertainty.push_back(i / 20.0);
    record.problem_tokens.push_back(1);
    record.text.push_back(1);
    record.uncertainty.push_back(1.0);
    record.problem_tokens.push_back(0);
  }
  CHECK(lab::threshold_for(record, 0.25) == 0.7);  // .75 to .95 are above it
  CHECK(lab::threshold_for(record, 0.5) == 0.45);
  CHECK(lab::threshold_for(record, 0) == 0.95);
  CHECK(lab::threshold_for(record, 1) == 0);  // u = 0 is never sent
}

#endif
