// SPDX-License-Identifier: Apache-2.0
//! The library's version; the build files read it from here.
#ifndef SPECVERIFY_VERSION_HPP
#define SPECVERIFY_VERSION_HPP

#define SPECVERIFY_VERSION_MAJOR 0
#define SPECVERIFY_VERSION_MINOR 1
#define SPECVERIFY_VERSION_PATCH 0

#endif
