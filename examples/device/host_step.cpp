// SPDX-License-Identifier: Apache-2.0
// Runs a whole verification step on CPUs: three requests, their drafts, one call, and the tokens to commit.
//   g++ -std=c++17 -O2 -DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP -Iinclude -isystem THRUST host_step.cpp
#include <specverify/core/secret.hpp>
#include <specverify/device/verify.hpp>

#include <thrust/system/cpp/execution_policy.h>

#include <cstdio>
#include <vector>

using namespace specverify;

int main() {
  constexpr std::uint32_t requests = 3, size = 1000;

  // Drafts of all requests, one after another: 2, none and 3. A draft without a distribution counts as drawn with
  // certainty.
  const std::vector<std::uint32_t> draft_begin{0, 2, 2, 5};
  std::vector<device_draft> drafts;
  for (const token_id token : {7, 9, 7, 400, 7}) drafts.push_back({token, 0, 0, {}});

  // Logits of the target: one row per draft, and one more per request. Here each row has one likely id.
  const std::vector<token_id> likely{7, 9, 5, 11, 7, 8, 9, 10};
  const auto rows = static_cast<std::uint32_t>(likely.size());
  std::vector<float> logits(std::size_t{rows} * size);
  for (std::uint32_t row = 0; row < rows; ++row)
    logits[std::size_t{row} * size + static_cast<std::uint32_t>(likely[row])] = 60;

  // An engine has one temperature per request, as a float. A batch needs one per row, as a double.
  const std::vector<float> engine_temperatures{0.0f, 0.7f, 1.0f};
  std::vector<double> temperatures(rows);
  for (std::uint32_t i = 0; i < requests; ++i)
    for (std::uint32_t row = draft_begin[i] + i; row < draft_begin[i + 1] + i + 1; ++row)
      temperatures[row] = engine_temperatures[i];

  // Random numbers are functions of a key, a position in the text and the number of the round.
  const session_secret secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");  // secret of the server
  std::vector<philox_key> keys;
  for (std::uint32_t i = 0; i < requests; ++i) keys.push_back(derive_verdict_key(secret, i, 77));
  const std::vector<std::uint32_t> positions{120, 64, 9}, numbers{30, 16, 2};

  device_rounds<float> rounds;
  rounds.rows = {logits.data(), size, rows, size};
  rounds.transform.temperatures = temperatures.data();
  rounds.count = requests;
  rounds.drafts = drafts.data();
  rounds.draft_begin = draft_begin.data();
  const device_uniforms<> random{keys.data(), 1, positions.data(), numbers.data()};

  std::vector<device_verdict> verdicts(requests);
  const exec::thrust_on on{thrust::cpp::par};
  const status why = verify_batch(on, device_token_rule{}, rounds, random, {verdicts.data(), nullptr});
  if (!why.ok()) {
    std::printf("refused: error %u\n", static_cast<unsigned>(why.code));
    return 1;
  }

  // Commit the accepted drafts, then one token of the target.
  std::vector<std::vector<token_id>> committed(requests);
  for (std::uint32_t i = 0; i < requests; ++i) {
    const verdict& decided = verdicts[i].decided;
    if (!verdicts[i].why.ok()) return 2;  // an error of only this request
    for (std::uint32_t k = 0; k < decided.accepted; ++k) committed[i].push_back(drafts[draft_begin[i] + k].token);
    if (decided.next_token != no_token) committed[i].push_back(decided.next_token);
    std::printf("request %u:", i);
    for (const token_id token : committed[i]) std::printf(" %d", static_cast<int>(token));
    std::printf("\n");
  }
  return committed == std::vector<std::vector<token_id>>{{7, 9, 5}, {11}, {7, 8}} ? 0 : 3;
}
