// SPDX-License-Identifier: Apache-2.0
//! Reads and writes channel states as text (a trace), so that one run can record a link and another can replay it.
//!
//! Format:     CSV. The first line names the columns and units (`channel_trace_columns`); each other line is one step.
//!             Numbers are the shortest decimals that read back as the same value. Lines end with LF. The reader also
//!             accepts CR LF, and a last line without a line end.
//! Guarantees: bit-exact on every platform and in every locale: the reader returns the states that the writer was
//!             given. Every state passes check(channel_state). No allocation, no exceptions.
//! Cost:       O(characters).
//! See:        docs/algorithms/channel_trace.md, tests/unit/link/channel_trace_test.cpp
#ifndef SPECVERIFY_LINK_CHANNEL_TRACE_HPP
#define SPECVERIFY_LINK_CHANNEL_TRACE_HPP

#include <specverify/core/detail/decimal.hpp>
#include <specverify/core/numeric.hpp>
#include <specverify/link/channel_state.hpp>

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! The first line of a trace: bit/s, bit/s, packet error rates in [0, 1), s, number of the state.
inline constexpr std::string_view channel_trace_columns =
    "uplink_bits_per_second,downlink_bits_per_second,uplink_loss,downlink_loss,round_trip_seconds,state";

//! Returns an upper bound on the bytes that `write_channel_trace` writes: the first line, and per step five doubles of
//! at most 24 characters, an index of at most 10, and separators.
[[nodiscard]] constexpr std::size_t max_channel_trace_bytes(std::size_t steps) noexcept {
  return static_cast<std::size_t>((saturating(steps) * (5 * 24 + 10 + 6) + channel_trace_columns.size() + 1).value);
}

//! Returns an upper bound on the steps that `read_channel_trace` reads: the number of line ends. O(characters).
[[nodiscard]] constexpr std::size_t max_channel_trace_steps(std::string_view text) noexcept {
  std::size_t count = 0;
  for (const char c : text) count += c == '\n' ? 1u : 0u;
  return count;
}

namespace detail {

//! Checks that a state is in range and without subnormal numbers, because CPUs that flush them would write zeros.
[[nodiscard]] constexpr errc check_traced(const channel_state& state) noexcept {
  if (const status why = check(state); !why.ok()) return why.code;
  for (const double value :
       {state.uplink_rate, state.downlink_rate, state.uplink_loss, state.downlink_loss, state.round_trip}) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
    if (bits != 0 && bits >> 52 == 0) return errc::trace_number;
  }
  return errc::ok;
}

//! Returns an error whose `where` is the number of the line, counted from 1, but at most 2^32 - 1.
[[nodiscard]] constexpr status trace_error(errc code, std::size_t line) noexcept {
  return link_error(code, static_cast<std::uint32_t>(line < 0xFFFFFFFFu ? line : 0xFFFFFFFFu));
}

//! Writes text into a span. The writing functions return false if the text does not fit.
class trace_writer {
 public:
  explicit constexpr trace_writer(std::span<char> out) noexcept : out_(out) {}
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

  [[nodiscard]] constexpr bool text(std::string_view what) noexcept {
    if (what.size() > out_.size() - size_) return false;
    for (const char c : what) out_[size_++] = c;
    return true;
  }
  template <class Number>
  [[nodiscard]] bool number(Number value, char after) noexcept {
    char digits[32];
    const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits - 1, value);
    *end.ptr = after;
    return text({digits, static_cast<std::size_t>(end.ptr - digits) + 1});
  }
  [[nodiscard]] bool step(const channel_state& state) noexcept {
    return number(state.uplink_rate, ',') && number(state.downlink_rate, ',') && number(state.uplink_loss, ',') &&
           number(state.downlink_loss, ',') && number(state.round_trip, ',') && number(state.index, '\n');
  }

 private:
  std::span<char> out_;
  std::size_t size_ = 0;
};

//! A text that is read from the front.
class trace_reader {
 public:
  explicit constexpr trace_reader(std::string_view text) noexcept : rest_(text) {}

  [[nodiscard]] constexpr bool is_at_end() const noexcept { return rest_.empty(); }
  //! Removes and returns the text before the next `mark`, and removes the mark. Without a mark, returns the whole rest.
  [[nodiscard]] constexpr std::string_view cut_before(char mark) noexcept {
    const std::size_t at = rest_.find(mark);
    const std::string_view before = rest_.substr(0, at);
    rest_ = at == std::string_view::npos ? std::string_view{} : rest_.substr(at + 1);
    return before;
  }
  [[nodiscard]] constexpr std::string_view cut_line() noexcept {
    std::string_view line = cut_before('\n');
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }
  //! Removes and returns the number before the next comma. If it is not a number, sets `is_broken`.
  template <class Number>
  [[nodiscard]] Number cut_number() noexcept {
    const std::optional<Number> number = number_from<Number>(cut_before(','));
    if (!number) broken_ = true;
    return number.value_or(Number{});
  }
  [[nodiscard]] constexpr bool is_broken() const noexcept { return broken_; }

 private:
  std::string_view rest_;
  bool broken_ = false;
};

//! Returns the state of a line; `number` counts lines from 1.
[[nodiscard]] inline result<channel_state> read_step(std::string_view line, std::size_t number) noexcept {
  std::size_t fields = 1;
  for (const char c : line) fields += c == ',' ? 1u : 0u;
  if (fields != 6) return trace_error(errc::trace_fields, number);
  trace_reader reader(line);
  channel_state read;
  read.uplink_rate = reader.cut_number<decltype(read.uplink_rate)>();
  read.downlink_rate = reader.cut_number<decltype(read.downlink_rate)>();
  read.uplink_loss = reader.cut_number<decltype(read.uplink_loss)>();
  read.downlink_loss = reader.cut_number<decltype(read.downlink_loss)>();
  read.round_trip = reader.cut_number<decltype(read.round_trip)>();
  read.index = reader.cut_number<decltype(read.index)>();
  if (reader.is_broken()) return trace_error(errc::trace_number, number);
  if (const errc why = check_traced(read); why != errc::ok) return trace_error(why, number);
  return read;
}

}  // namespace detail

//! Writes `states` as a trace and returns the text, without a terminator. `max_channel_trace_bytes` bytes suffice.
//! Errors (`where` = line from 1; step i, from 0, is line i + 2) empty_record (1), null_span (1), as for
//! check(channel_state), trace_number (a subnormal number), output_too_small.
[[nodiscard]] inline result<std::string_view> write_channel_trace(std::span<const channel_state> states,
                                                                  std::span<char> out) noexcept {
  if (states.empty()) return detail::trace_error(errc::empty_record, 1);
  if (states.data() == nullptr || (out.data() == nullptr && !out.empty()))
    return detail::trace_error(errc::null_span, 1);
  detail::trace_writer writer(out);
  if (!writer.text(channel_trace_columns) || !writer.text("\n")) return detail::trace_error(errc::output_too_small, 1);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (const errc why = detail::check_traced(states[i]); why != errc::ok) return detail::trace_error(why, i + 2);
    if (!writer.step(states[i])) return detail::trace_error(errc::output_too_small, i + 2);
  }
  return std::string_view(out.data(), writer.size());
}

//! Reads a trace into `out` and returns the steps. `max_channel_trace_steps` entries suffice. On an error, only the
//! entries of the lines before the wrong line are written.
//! Errors (`where` = line from 1): byte_order_mark, trace_header (1); empty_record (2: no step); null_span (1);
//! trace_fields; trace_number (not a decimal number, subnormal, or outside the field's type); invalid_rate,
//! invalid_loss, invalid_duration (a minus sign, out of range); output_too_small.
[[nodiscard]] inline result<std::span<channel_state>> read_channel_trace(std::string_view text,
                                                                         std::span<channel_state> out) noexcept {
  detail::trace_reader reader(text);
  if (text.substr(0, 3) == "\xEF\xBB\xBF") return detail::trace_error(errc::byte_order_mark, 1);
  if (reader.cut_line() != channel_trace_columns) return detail::trace_error(errc::trace_header, 1);
  if (reader.is_at_end()) return detail::trace_error(errc::empty_record, 2);
  if (out.data() == nullptr && !out.empty()) return detail::trace_error(errc::null_span, 1);
  std::size_t steps = 0;
  for (; !reader.is_at_end(); ++steps) {
    const result<channel_state> read = detail::read_step(reader.cut_line(), steps + 2);
    if (!read) return read.error();
    if (steps == out.size()) return detail::trace_error(errc::output_too_small, steps + 2);
    out[steps] = *read;
  }
  return out.first(steps);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
