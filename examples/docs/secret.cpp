// SPDX-License-Identifier: Apache-2.0
// Secrets and a salt for two sides, and the keys that come from them.
#include <specverify/core/secret.hpp>

#include <random>

int main() {
  using namespace specverify;
  const session_secret device = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");  // stored by the device
  const session_secret cloud = secret_from(std::random_device{});                     // new; store it where it is kept
  if (device.is_missing() || cloud.is_missing() || device == cloud) return 1;
  if (!secret_from_hex("3f9a51c0").is_missing()) return 2;  // not 32 hex digits: `make` says secret_missing

  const std::uint64_t salt = salt_from(std::random_device{}), later = salt_from(std::random_device{});
  const philox draws{derive_draft_key(device, 17)}, verdicts{derive_verdict_key(cloud, 17, salt)};
  if (draws.key == verdicts.key) return 3;
  // The same session id once more, under another salt: what the first verdicts showed is worth nothing.
  return derive_verdict_key(cloud, 17, later) == verdicts.key ? 4 : 0;
}
