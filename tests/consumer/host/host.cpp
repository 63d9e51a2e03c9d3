// SPDX-License-Identifier: Apache-2.0
//! The smallest program of another project: it draws one token from a law and checks which parts of the library it was
//! given.
#include <specverify/core/random.hpp>
#include <specverify/core/status.hpp>

#include <cstdio>

#if defined(EXPECT_PLAIN) && SPECVERIFY_WITH_XSIMD
#error "specverify::plain uses xsimd"
#endif

int main() {
  const specverify::philox source{{{1, 2}}};
  const auto token = specverify::uniform_integer(source, {}, 1000);
  std::printf("specverify %d.%d.%d, token %llu\n", SPECVERIFY_VERSION_MAJOR, SPECVERIFY_VERSION_MINOR,
              SPECVERIFY_VERSION_PATCH, static_cast<unsigned long long>(token));
  return token < 1000 ? 0 : 1;
}
