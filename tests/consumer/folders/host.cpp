// SPDX-License-Identifier: Apache-2.0
// The least that shows where the headers are.
#include <specverify/core/siphash.hpp>

int main() {}
