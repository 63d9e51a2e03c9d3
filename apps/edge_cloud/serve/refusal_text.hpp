// SPDX-License-Identifier: Apache-2.0
//! A refusal in the user's words: of the host by its own table, of the library with what to do about it.
#ifndef EDGE_CLOUD_SERVE_REFUSAL_TEXT_HPP
#define EDGE_CLOUD_SERVE_REFUSAL_TEXT_HPP

#include <specverify/core/status.hpp>

#include "serve_limits.hpp"

#include <optional>
#include <string>

namespace edge_cloud {

//! The server's own refusal. None where the code is the library's: an engine's error has the host as its reporter too.
[[nodiscard]] std::optional<refusal> host_refusal(specverify::status why);

//! `(NAME): SENTENCE`, for the device that hears it.
[[nodiscard]] std::string told_to_device(specverify::status why);
[[nodiscard]] std::string told_to_device(refusal why);
//! The same from the server's side, for its log.
[[nodiscard]] std::string told_in_log(specverify::status why);

}  // namespace edge_cloud

#endif
