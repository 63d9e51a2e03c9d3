// SPDX-License-Identifier: Apache-2.0
//! The present face over the headers of an earlier commit, for scripts that build today's sources against those:
//! `scripts/earlier_face FOLDER` prints the flag that includes this file where FOLDER needs it.
#ifndef SPECVERIFY_TESTS_SUPPORT_EARLIER_HPP
#define SPECVERIFY_TESTS_SUPPORT_EARLIER_HPP

#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/session/presets.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace earlier {

template <class Part>
inline constexpr bool is_sparsifier = sparsifier<Part>;
template <class Part>
inline constexpr bool is_sparsifier<std::optional<Part>> = sparsifier<Part>;

template <int Kind, class Part>
[[nodiscard]] constexpr bool is() noexcept {
  if constexpr (Kind == 0) return is_sparsifier<Part>;
  if constexpr (Kind == 1) return window_policy<Part>;
  return Kind == 2 && skip_policy<Part>;
}
template <int Kind, class Otherwise>
[[nodiscard]] const Otherwise& pick(const Otherwise& otherwise) noexcept {
  return otherwise;
}
template <int Kind, class Otherwise, class First, class... Rest>
[[nodiscard]] const auto& pick(const Otherwise& otherwise, const First& first, const Rest&... rest) noexcept {
  if constexpr (is<Kind, First>()) {
    return first;
  } else {
    return pick<Kind>(otherwise, rest...);
  }
}
template <class Sparsifier, class Window, class Skip>
[[nodiscard]] auto made_of(const edge_options& options, const std::optional<Sparsifier>& kept, const Window& window,
                           const Skip& skip) {
  return basic_edge_session<Sparsifier, Window, Skip>::make(options, kept, window, skip);
}

}  // namespace earlier

template <class... Parts>
[[nodiscard]] auto make_edge(const edge_options& options, const Parts&... parts) {
  return earlier::made_of(options, std::optional(earlier::pick<0>(std::optional<top_k>(), parts...)),
                          earlier::pick<1>(fixed_window(), parts...), earlier::pick<2>(always_send(), parts...));
}
template <class Sparsifier, class Skip>
[[nodiscard]] auto make_edge(const edge_options& options, const preset<Sparsifier, Skip>& system) {
  return make(options, system);
}
[[nodiscard]] inline auto make_cloud(const cloud_options& options) { return cloud_session::make(options); }
template <class Sparsifier, class Skip>
[[nodiscard]] auto make_cloud(const cloud_options& options, const preset<Sparsifier, Skip>& system) {
  cloud_options made = options;
  made.limits = cloud_session::limits_for(system.format_for(options.vocab_size));
  return cloud_session::make(made);
}

SPECVERIFY_NAMESPACE_END

#endif
