// SPDX-License-Identifier: Apache-2.0
// Source file for the precompiled headers of the tests (SPECVERIFY_PRECOMPILE).
