// SPDX-License-Identifier: Apache-2.0
// Exports the functions that functions.def lists. Each function calls the version for the CPU's instruction-set level.
#include "convert.hpp"
#include "levels.hpp"

#include <tuple>

using namespace specverify_c;

SPECVERIFY_LEVEL_TABLES(level_calls, specverify_c_levels);

namespace {

[[nodiscard]] const level_calls& calls() noexcept {
  static const level_calls& found = specverify_c_levels_at(sv::cpu_level());
  return found;
}

template <class Function>
struct signature;
template <class Result, class... Arguments>
struct signature<Result(Arguments...)> {
  using result = Result;
  template <std::size_t Index>
  using argument = std::tuple_element_t<Index, std::tuple<Arguments...>>;
};

// Returns the result of a call whose handle is null.
template <class Result>
[[nodiscard]] Result nothing() noexcept {
  Result made{};
  if constexpr (std::is_same_v<Result, specverify_status>) made = no_data;
  return made;
}

}  // namespace

// Parameters and arguments of a function, for each number of arguments.
#define SPECVERIFY_C_TYPE(name, index) signature<decltype(specverify_##name)>::argument<index>
#define SPECVERIFY_C_TAKES_1(name) SPECVERIFY_C_TYPE(name, 0) a
#define SPECVERIFY_C_TAKES_2(name) SPECVERIFY_C_TAKES_1(name), SPECVERIFY_C_TYPE(name, 1) b
#define SPECVERIFY_C_TAKES_3(name) SPECVERIFY_C_TAKES_2(name), SPECVERIFY_C_TYPE(name, 2) c
#define SPECVERIFY_C_TAKES_4(name) SPECVERIFY_C_TAKES_3(name), SPECVERIFY_C_TYPE(name, 3) d
#define SPECVERIFY_C_TAKES_5(name) SPECVERIFY_C_TAKES_4(name), SPECVERIFY_C_TYPE(name, 4) e
#define SPECVERIFY_C_TAKES_6(name) SPECVERIFY_C_TAKES_5(name), SPECVERIFY_C_TYPE(name, 5) f
#define SPECVERIFY_C_GIVES_1 a
#define SPECVERIFY_C_GIVES_2 a, b
#define SPECVERIFY_C_GIVES_3 a, b, c
#define SPECVERIFY_C_GIVES_4 a, b, c, d
#define SPECVERIFY_C_GIVES_5 a, b, c, d, e
#define SPECVERIFY_C_GIVES_6 a, b, c, d, e, f

#define SPECVERIFY_C_EXPORT(count, name, check)                                                        \
  signature<decltype(specverify_##name)>::result specverify_##name(SPECVERIFY_C_TAKES_##count(name)) { \
    check return calls().name(SPECVERIFY_C_GIVES_##count);                                             \
  }
#define SPECVERIFY_C_CALL(count, name) SPECVERIFY_C_EXPORT(count, name, )
#define SPECVERIFY_C_HANDLE(count, name) \
  SPECVERIFY_C_EXPORT(count, name, if (a == nullptr) return nothing<signature<decltype(specverify_##name)>::result>();)
#include "functions.def"
