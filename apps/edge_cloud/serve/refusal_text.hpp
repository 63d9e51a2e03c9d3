// SPDX-License-Identifier: Apache-2.0
//! Describes a refusal in the user's words: the server's own refusals from a table, the library's with advice.
#ifndef EDGE_CLOUD_SERVE_REFUSAL_TEXT_HPP
#define EDGE_CLOUD_SERVE_REFUSAL_TEXT_HPP

#include <specverify/core/status.hpp>

#include "serve_limits.hpp"

#include <optional>
#include <string>

namespace edge_cloud {

//! Returns the server's own refusal, or nothing if the code is the library's. Engine errors have the host as reporter,
//! too.
[[nodiscard]] std::optional<refusal> host_refusal(specverify::status why);

//! Return `(NAME): SENTENCE`, for the device that receives the refusal.
[[nodiscard]] std::string told_to_device(specverify::status why);
[[nodiscard]] std::string told_to_device(refusal why);
//! Returns the same form for the server's log.
[[nodiscard]] std::string told_in_log(specverify::status why);

}  // namespace edge_cloud

#endif
