// SPDX-License-Identifier: Apache-2.0
//! Defines the version of the library. The build files read the version from this header.
#ifndef SPECVERIFY_VERSION_HPP
#define SPECVERIFY_VERSION_HPP

#define SPECVERIFY_VERSION_MAJOR 0
#define SPECVERIFY_VERSION_MINOR 1
#define SPECVERIFY_VERSION_PATCH 0

#endif
