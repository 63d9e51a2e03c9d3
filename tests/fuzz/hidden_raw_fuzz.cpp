// SPDX-License-Identifier: Apache-2.0
#include "fuzz/message_fuzz.hpp"

SPECVERIFY_FUZZ_RAW(hidden)
