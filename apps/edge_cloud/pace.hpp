// SPDX-License-Identifier: Apache-2.0
//! Sets the time of a forward pass in the demo. The bundled models need about a millisecond per pass, which is too
//! fast for drafts to help. Therefore each pass takes at least the time that the papers' authors measured with larger
//! models, unless `--pace none` is given.
#ifndef EDGE_CLOUD_PACE_HPP
#define EDGE_CLOUD_PACE_HPP

#include <string_view>

namespace edge_cloud {

//! Seconds per forward pass of the small and the large model of HLM's authors (arXiv 2505.11788, IV).
inline constexpr double paper_edge_pass = 25.6e-3;
inline constexpr double paper_cloud_pass = 104.6e-3;

//! Returns the minimum seconds of a pass under `pace`: "paper", or "none" for no minimum.
[[nodiscard]] constexpr double paced(std::string_view pace, double paper_pass) {
  return pace == "paper" ? paper_pass : 0;
}

}  // namespace edge_cloud

#endif
