// SPDX-License-Identifier: Apache-2.0
//! Defines the exception that reports why an edge's session cannot continue.
#ifndef EDGE_CLOUD_SESSION_FAILURE_HPP
#define EDGE_CLOUD_SESSION_FAILURE_HPP

#include <specverify/core/status.hpp>

#include <stdexcept>
#include <string>

namespace edge_cloud {

class session_failure : public std::runtime_error {
 public:
  //! `refusal` is the cloud's reason, or ok if the session failed at the edge.
  session_failure(const std::string& said, specverify::status refusal) : std::runtime_error(said), refusal_(refusal) {}
  [[nodiscard]] specverify::status refusal() const noexcept { return refusal_; }

 private:
  specverify::status refusal_;
};

}  // namespace edge_cloud

#endif
