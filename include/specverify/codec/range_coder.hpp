// SPDX-License-Identifier: Apache-2.0
//! Provides an integer range coder, which encodes and decodes symbols whose probabilities are ratios of integers.
//!
//! Use it to encode data of your own; codec/message.hpp encodes whole messages. The code is at most about 8 bits longer
//! than the information in the symbols.
//! Paper:      G. N. N. Martin, Range encoding (1979); carries are added to bytes that are already written.
//! Symbols:    information of a step = log2(total / width) bits.
//! Guarantees: O(1) per step (carries amortized). A step loses less than 2^-15 bits for totals up to 2^40 (`bit`,
//!             `noes`: 2^16), and less than 2^-7 bits up to 2^48 (2^24). Apart from these losses, the code has less
//!             than information / 8 + 1.001 bytes.
//!             No allocation, noexcept; bit-exact. The decoder reads nothing outside its span; bytes after the end
//!             count as zeros. A decoder of n bytes fails after at most n + 24 bytes of information, unless every
//!             further symbol has index 0, so a short string cannot claim many steps. `finish` accepts exactly the
//!             strings that an encoder writes and reports as decodable.
//! See:        docs/algorithms/range_coder.md, docs/wire-format.md, tests/unit/codec/range_coder_test.cpp
#ifndef SPECVERIFY_CODEC_RANGE_CODER_HPP
#define SPECVERIFY_CODEC_RANGE_CODER_HPP

#include <specverify/codec/detail/bytes.hpp>
#include <specverify/cpp20.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Number of zero bytes that a decoder may read after the end of the string. It fails after more, unless every further
//! symbol has index 0. An encoder needs more with a probability of about 2^-128.
inline constexpr std::size_t max_bytes_ahead = 16;

namespace detail {
//! Returns the part of a range for "yes", whose probability is ones / total.
[[nodiscard]] SPECVERIFY_INLINE std::uint64_t yes_part(std::uint64_t range, std::uint64_t ones,
                                                       std::uint64_t total) noexcept {
  return (range >> 32) * ((ones << 32) / total);
}
}  // namespace detail

//! Writes to the front of a span, and may also write to bytes after the code. If the span is too small, the encoder
//! keeps counting, so an empty span gives the exact length.
class range_encoder {
 public:
  explicit range_encoder(std::span<std::byte> out) noexcept
      : out_(out), words_end_(out.size() < 8 ? 0 : out.size() - 7) {}

  //! Encodes one of `total` equally likely symbols. total in [1, 2^48], symbol < total.
  void uniform(std::uint64_t symbol, std::uint64_t total) noexcept { interval(symbol, 1, total); }

  //! Encodes the part [first, first + width) of [0, total). total in [1, 2^48], width > 0, first + width <= total.
  void interval(std::uint64_t first, std::uint64_t width, std::uint64_t total) noexcept {
    SPECVERIFY_ASSERT(total > 0 && total <= (std::uint64_t{1} << 48), "total outside its range");
    SPECVERIFY_ASSERT(width > 0 && width <= total && first <= total - width, "interval outside its range");
    const std::uint64_t unit = range_ / total;
    narrow(unit * first, unit * width);
  }

  //! Encodes "yes" (`one`) or "no". The probability of "yes" is ones / total. 0 < ones < total <= 2^32.
  void bit(bool one, std::uint64_t ones, std::uint64_t total) noexcept {
    SPECVERIFY_ASSERT(ones > 0 && ones < total && total <= (std::uint64_t{1} << 32), "odds outside their range");
    const std::uint64_t split = detail::yes_part(range_, ones, total);
    one ? narrow(0, split) : narrow(split, range_ - split);
  }
  //! Encodes "no" `count` times; the probability of "yes" is ones / total, then ones / (total - 1), and so on. count <=
  //! total - ones. Writes the same bytes as `bit`.
  void noes(std::uint32_t count, std::uint32_t ones, std::uint32_t total) noexcept {
    SPECVERIFY_ASSERT(ones > 0 && count <= total - ones, "odds outside their range");
    std::uint64_t low = low_, range = range_;
    for (; count > 0 && total > ones; --count, --total) {
      const std::uint64_t split = detail::yes_part(range, ones, total);
      low += split;
      if (low < split) carry();
      range -= split;
      if (range >> 56 != 0) continue;
      low_ = low;
      settle(range);
      low = low_;
      range = range_;
    }
    low_ = low;
    range_ = range;
  }

  //! Encodes the part [first, first + width) of [0, 2^40); width > 0.
  void part(std::uint64_t first, std::uint64_t width) noexcept {
    SPECVERIFY_ASSERT(width > 0 && first + width <= (std::uint64_t{1} << 40), "part outside its range");
    const std::uint64_t unit = range_ >> 40;
    narrow(unit * first, unit * width);
  }

  //! Ends the code and returns the length in bytes. Must be called once, as the last call.
  [[nodiscard]] std::size_t finish() noexcept {
    constexpr std::uint64_t unit = std::uint64_t{1} << 56;
    if (low_ != 0) {
      const std::uint64_t last = 0 - range_;  // if low > last, the interval reaches 2^64
      if (low_ > last) {
        carry();
      } else {
        put_byte(static_cast<std::uint8_t>((low_ + (unit - 1)) >> 56));
      }
    }
    if (!counting_) {
      while (length_ > 0 && out_[length_ - 1] == std::byte{0}) --length_;
      return length_;
    }
    return length_ -= zeros_;
  }

  //! Returns whether the whole code fits in the span. Call it after `finish`.
  [[nodiscard]] bool fits() const noexcept { return length_ <= out_.size(); }
  //! Returns whether a decoder can follow the code to the end (see max_bytes_ahead). Call it after `finish`.
  [[nodiscard]] bool decodable() const noexcept { return carried_ <= length_ + max_bytes_ahead; }

 private:
  void narrow(std::uint64_t offset, std::uint64_t width) noexcept {
    low_ += offset;
    if (low_ < offset) [[unlikely]]
      carry();
    settle(width);
  }
  // Writes the whole bytes that no later step can change, except by a carry.
  SPECVERIFY_INLINE void settle(std::uint64_t width) noexcept {
    const unsigned bits = static_cast<unsigned>(std::countl_zero(width)) & 56u;
    if (length_ < words_end_) [[likely]] {
      detail::store_eight(out_.data() + length_, low_);
      length_ += bits / 8;
      low_ <<= bits;
    } else {
      for (unsigned left = bits; left > 0; left -= 8, low_ <<= 8) put_byte(static_cast<std::uint8_t>(low_ >> 56));
    }
    range_ = width << bits;
  }
  // Writes one byte; used when the span may be full. From the first such byte on, trailing zero and 0xff bytes are
  // counted as they are written, not read back.
  void put_byte(std::uint8_t byte) noexcept {
    if (!counting_) {
      counting_ = true;
      while (zeros_ < length_ && out_[length_ - 1 - zeros_] == std::byte{0}) ++zeros_;
      while (ones_ < length_ && out_[length_ - 1 - ones_] == std::byte{0xff}) ++ones_;
    }
    if (length_ < out_.size()) out_[length_] = static_cast<std::byte>(byte);
    ++length_;
    zeros_ = byte == 0 ? zeros_ + 1 : 0;
    ones_ = byte == 0xff ? ones_ + 1 : 0;
  }
  // Adds 1 to the number written so far. The first byte cannot overflow because the interval lies below 1.
  void carry() noexcept {
    std::size_t at = carried_ = length_;
    if (!counting_) {
      while (at > 0 && out_[at - 1] == std::byte{0xff}) out_[--at] = std::byte{0};
    } else {
      at -= ones_;
      for (std::size_t i = at; i < length_ && i < out_.size(); ++i) out_[i] = std::byte{0};
      zeros_ = ones_;
      ones_ = 0;
    }
    if (at > 0 && --at < out_.size()) out_[at] = static_cast<std::byte>(std::to_integer<unsigned>(out_[at]) + 1u);
  }

  std::span<std::byte> out_;
  std::size_t words_end_;  // first position at which a word of eight bytes has no space
  std::uint64_t low_ = 0;
  std::uint64_t range_ = ~std::uint64_t{0};
  std::size_t length_ = 0;
  std::size_t carried_ = 0;  // length_ at the last carry: a decoder reads at least this many bytes
  bool counting_ = false;    // set once the end of the span is reached
  std::size_t zeros_ = 0;    // if counting: zero bytes at the end of the output
  std::size_t ones_ = 0;     // if counting: 0xff bytes at the end of the output
};

//! Decodes the symbols that the encoder wrote. The caller must request the same steps with the same arguments in the
//! same order. After the first impossible value the decoder stays in the failed state, but returns values that are in
//! range, so a caller can check once per distribution. The caller must end with `finish`.
class range_decoder {
 public:
  explicit range_decoder(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {
    while (!bytes_.empty() && bytes_.back() == std::byte{0}) bytes_ = bytes_.first(bytes_.size() - 1);
    for (int i = 0; i < 8; ++i) value_ = (value_ << 8) | next();
    if (value_ == range_) fail();
  }

  [[nodiscard]] std::uint64_t uniform(std::uint64_t total) noexcept {
    const std::uint64_t symbol = peek(total);
    take(symbol, 1, total);
    return symbol;
  }

  [[nodiscard]] bool bit(std::uint64_t ones, std::uint64_t total) noexcept {
    SPECVERIFY_ASSERT(ones > 0 && ones < total && total <= (std::uint64_t{1} << 32), "odds outside their range");
    const std::uint64_t split = detail::yes_part(range_, ones, total);
    const bool one = value_ < split;
    one ? narrow(0, split) : narrow(split, range_ - split);
    return one;
  }

  //! Returns how many times `bit` returns "no" before it returns "yes". The probability of "yes" is ones / total, then
  //! ones / (total - 1), and so on; if it reaches 1, the function returns without a further step. 0 < ones <= total.
  [[nodiscard]] std::uint32_t noes(std::uint32_t ones, std::uint32_t total) noexcept {
    SPECVERIFY_ASSERT(ones > 0 && ones <= total, "odds outside their range");
    std::uint64_t value = value_, range = range_;
    std::uint32_t left = total;
    for (; left > ones; --left) {
      const std::uint64_t split = detail::yes_part(range, ones, left);
      if (value < split) {
        value_ = value;
        narrow(0, split);
        return total - left;
      }
      value -= split;
      range -= split;
      if (range >> 56 != 0) continue;
      value_ = value;
      narrow(0, range);
      value = value_;
      range = range_;
    }
    value_ = value;
    range_ = range;
    return total - ones;
  }

  //! Returns the position of the code in [0, total), total in [1, 2^48]. The caller must then call `take` with the
  //! interval that contains the position, and the same total.
  [[nodiscard]] std::uint64_t peek(std::uint64_t total) noexcept {
    SPECVERIFY_ASSERT(total > 0 && total <= (std::uint64_t{1} << 48), "total outside its range");
    const std::uint64_t at = value_ / (range_ / total);
    if (at < total) return at;
    fail();
    return 0;
  }
  void take(std::uint64_t first, std::uint64_t width, std::uint64_t total) noexcept {
    SPECVERIFY_ASSERT(width > 0 && width <= total && first <= total - width, "interval outside its range");
    const std::uint64_t unit = range_ / total;
    narrow(unit * first, unit * width);
  }

  //! Returns the position of the code in [0, 2^40). The caller must then call `take` with the part that contains the
  //! position.
  [[nodiscard]] std::uint64_t peek() noexcept {
    const std::uint64_t at = value_ / (range_ >> 40);
    if (at < (std::uint64_t{1} << 40)) return at;
    fail();
    return 0;
  }
  void take(std::uint64_t first, std::uint64_t width) noexcept {
    const std::uint64_t unit = range_ >> 40;
    narrow(unit * first, unit * width);
  }

  void fail() noexcept {
    failed_ = true;
    value_ = 0;
    range_ = ~std::uint64_t{0};
    position_ = bytes_.size() + 8;
  }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  //! Returns whether every further step takes the first symbol, so that the caller may skip these steps.
  [[nodiscard]] bool rests() const noexcept { return value_ == 0 && position_ >= bytes_.size() + 8; }

  //! Returns the number of bytes that belong to the code; all bytes after them are zeros. Errors: not_canonical (an
  //! encoder ends these steps with other bytes), trailing_bytes; `where` = byte.
  [[nodiscard]] result<std::size_t> finish() const noexcept {
    const std::size_t used = bytes_.size();
    if (failed_) return status{errc::not_canonical, part::codec, static_cast<std::uint32_t>(used)};
    if (used > position_) return status{errc::trailing_bytes, part::codec, static_cast<std::uint32_t>(position_)};
    // The window ends at byte position_. The value has position_ - used zero bytes below the last nonzero byte.
    const std::size_t zeros = position_ - used;
    if (used > 0 && zeros < 8) {
      constexpr std::uint64_t unit = std::uint64_t{1} << 56;
      const std::uint64_t last = std::to_integer<std::uint64_t>(bytes_[used - 1]);
      // Not canonical: a shorter string, or a smaller string of the same length, decodes to the same symbols.
      if (zeros < 7 || value_ >= unit || (256 - last) * unit < range_ - value_) {
        return status{errc::not_canonical, part::codec, static_cast<std::uint32_t>(used)};
      }
    }
    return used;
  }

 private:
  [[nodiscard]] std::uint64_t next() noexcept {
    const std::size_t at = position_++;
    return at < bytes_.size() ? std::to_integer<std::uint64_t>(bytes_[at]) : 0;
  }
  SPECVERIFY_INLINE void narrow(std::uint64_t offset, std::uint64_t width) noexcept {
    value_ -= offset;
    const unsigned bits = static_cast<unsigned>(std::countl_zero(width)) & 56u;
    if (position_ + 8 <= bytes_.size()) {
      const std::uint64_t ahead = detail::load_eight(bytes_.data() + position_);
      value_ = (value_ << bits) | (ahead >> 8 >> (56 - bits));
      position_ += bits / 8;
      range_ = width << bits;
    } else {
      narrow_at_end(width, bits);
    }
  }
  [[gnu::noinline]] void narrow_at_end(std::uint64_t width, unsigned bits) noexcept {
    range_ = width << bits;
    for (; bits > 0; bits -= 8) value_ = (value_ << 8) | next();
    if (value_ != 0 && position_ > bytes_.size() + 8 + max_bytes_ahead) fail();
  }

  std::span<const std::byte> bytes_;  // the code without its trailing zeros
  std::uint64_t value_ = 0;           // the code minus the encoder's low
  std::uint64_t range_ = ~std::uint64_t{0};
  std::size_t position_ = 0;
  bool failed_ = false;
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
