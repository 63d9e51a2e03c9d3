// SPDX-License-Identifier: Apache-2.0
#include <specverify/link/payload.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace specverify;

TEST_CASE("E2 QS: bits of a round, the law charged for each of its L tokens") {
  CHECK(qs_uplink_bits(1, 50272, 240) == 2209);
  CHECK(qs_uplink_bits(1, 50272, 720) == 5467);
  CHECK(qs_uplink_bits(4, 50272, 240) == 4 * 2209);
  CHECK(qs_uplink_bits(12, 50272, 12) == 12 * (159 + 16));
  CHECK(qs_uplink_bits(0, 50272, 240) == 0);
  CHECK(qs_uplink_bits(4, 50272, 240, bit_accounting::wire) == 4 * 2209 + 5);  // 22 actions
  CHECK(qs_uplink_bits(4, 50272, 240, bit_accounting::wire, 1) == 4 * 2209);
}

TEST_CASE("E3 feedback: L + 1 outcomes and a token") {
  // D = ceil(log2(L + 1)) + ceil(log2 V): one draft has two outcomes, four have five.
  const std::uint32_t lengths[] = {0, 1, 2, 3, 4, 7, 8, 12, 15, 16, 64}, bits[] = {0, 1, 2, 2, 3, 3, 4, 4, 4, 5, 7};
  for (int i = 0; i < 11; ++i) {
    CHECK(downlink_bits(lengths[i], 50272) == bits[i] + 16);
    CHECK(wisv_feedback_bits({}, lengths[i]) == bits[i] + 17);
  }
}

TEST_CASE("E8 SQS: bits of a token, with and without the drafted one") {
  CHECK(std::fabs(k_sqs_token_bits(50257, 16, 100) - 266.67) <= 0.005);
  CHECK(std::fabs(c_sqs_token_bits(50257, 16, 100) - 283.06) <= 0.005);
  CHECK(std::fabs(k_sqs_token_bits(50257, 16, 100, bit_accounting::wire) - 270.67) <= 0.005);
  CHECK(std::fabs(c_sqs_token_bits(50257, 17, 100, bit_accounting::wire) - c_sqs_token_bits(50257, 17, 100) - 5) <=
        1e-12);
  CHECK(k_sqs_token_bits(50257, 1, 100, bit_accounting::wire) == k_sqs_token_bits(50257, 1, 100));
}

TEST_CASE("T13 T14 HLM: 92 kB, and the compressed sizes") {
  constexpr hlm_format format;
  static_assert(hlm_entry_bits(format) == 23);
  static_assert(hlm_full_bits(format) == 736000);  // 92 kB
  static_assert(hlm_compressed_bits(format, 30) == 690 && hlm_compressed_bits(format, 832) == 19136 &&
                hlm_compressed_bits(format, 200) == 4600);
  CHECK(std::fabs(690.0 / 736000 - 0.00094) <= 5e-6);
  CHECK(19136.0 / 736000 == doctest::Approx(0.026).epsilon(1e-12));
  CHECK(hlm_compressed_bits(format, 32000) == hlm_full_bits(format));
}

TEST_CASE("E23 HLM: what an upload holds on the wire, ids counted by default") {
  constexpr hlm_format format;
  constexpr std::uint64_t length_field = 10;  // 0 .. 512 skipped
  CHECK(hlm_uplink_bits(format, {}) == 736000 + 15 + length_field);
  CHECK(hlm_uplink_bits(format, {}, bit_accounting::paper) == 736000);
  CHECK(hlm_uplink_bits(format, {30, false, true, 0}) == 690 + 5 + length_field);
  CHECK(hlm_uplink_bits(format, {30, false, false, 0}) == 690 + 23 + length_field);
  CHECK(hlm_uplink_bits(format, {30, true, true, 0}) == 690 + 5 + 15 + length_field);
  CHECK(hlm_uplink_bits(format, {30, true, false, 7}) == 690 + 23 + 15 + 7 * 15 + length_field);
  CHECK(hlm_uplink_bits(format, {30, true, false, 7}, bit_accounting::paper) == 690);
  CHECK(hlm_downlink_bits(format) == 15);
  CHECK(hlm_downlink_bits(format, bit_accounting::paper) == 0);
}

TEST_CASE("HLM: formats and uploads out of range") {
  CHECK(check(hlm_format{}).ok());
  CHECK(check(hlm_format{0, 8, 1}) == status{errc::empty_vocabulary, part::link, 0});
  CHECK(check(hlm_format{(1u << 24) + 1, 8, 1}) == status{errc::vocabulary_too_large, part::link, 0});
  CHECK(check(hlm_format{1u << 24, 65, 1}) == status{errc::invalid_argument, part::link, 1});
  CHECK(check(hlm_format{1u << 24, 0, 1}) == status{errc::invalid_argument, part::link, 1});
  CHECK(check(hlm_format{}, {}).ok());
  CHECK(check(hlm_format{}, {0, false, true, 0}) == status{errc::invalid_argument, part::link, 0});
  CHECK(check(hlm_format{}, {32001, false, true, 0}) == status{errc::invalid_argument, part::link, 0});
  CHECK(check(hlm_format{}, {32000, false, false, 0}) == status{errc::invalid_argument, part::link, 2});
  CHECK(check(hlm_format{}, {5, false, false, 513}) == status{errc::invalid_argument, part::link, 3});
  CHECK(check(hlm_format{0, 8, 1}, {}) == status{errc::empty_vocabulary, part::link, 0});
}

TEST_CASE("WISV (3)-(9) and the baselines") {
  constexpr wisv_format format;
  static_assert(wisv_hidden_bits(format) == 32768);
  static_assert(wisv_feedback_bits(format, 32) == 6 + 17);
  static_assert(wisv_full_upload_bits(format, 10) == 10 * (17 + 32768));
  static_assert(wisv_token_upload_bits(format, 10) == 170);
  static_assert(wisv_request_bits(format, 10, 3) == 3 * 4);
  static_assert(wisv_selected_upload_bits(format, 3) == 3 * 32768);
  static_assert(reject_upload_bits(format, 1) == 17 + 2052096);  // 2.0521 Mbit a token
  wisv_format framed = format;
  framed.uplink_overhead = 64;
  framed.downlink_overhead = 32;
  CHECK(wisv_full_upload_bits(framed, 10) == 10 * (17 + 32768) + 64);
  CHECK(wisv_token_upload_bits(framed, 10) == 170 + 64);
  CHECK(wisv_selected_upload_bits(framed, 3) == 3 * 32768 + 64);
  CHECK(reject_upload_bits(framed, 1) == 17 + 2052096 + 64);
  CHECK(wisv_feedback_bits(framed, 32) == 23 + 32);
  CHECK(wisv_request_bits(framed, 10, 3) == 12 + 32);
  // Wire: M and the list, or a bitmap where that is shorter.
  CHECK(wisv_request_bits(format, 64, 1, bit_accounting::wire) == 14);
  CHECK(wisv_request_bits(format, 64, 8, bit_accounting::wire) == 63);
  CHECK(wisv_request_bits(format, 64, 9, bit_accounting::wire) == 64);
  CHECK(wisv_request_bits(framed, 10, 3, bit_accounting::wire) == 10 + 32);
  // The split head: 256 numbers of 8 bits, 16 times less.
  wisv_format split = format;
  split.hidden_size = 256;
  split.element_bits = 8;
  CHECK(wisv_hidden_bits(split) * 16 == wisv_hidden_bits(format));
}

TEST_CASE("WISV: formats out of range") {
  const auto error = [](auto change) {
    wisv_format bad;
    change(bad);
    return check(bad);
  };
  CHECK(check(wisv_format{}).ok());
  CHECK(error([](wisv_format& bad) { bad.vocab_size = 0; }) == status{errc::empty_vocabulary, part::link, 0});
  CHECK(error([](wisv_format& bad) { bad.hidden_size = 0; }) == status{errc::invalid_argument, part::link, 1});
  CHECK(error([](wisv_format& bad) { bad.element_bits = 65; }) == status{errc::invalid_argument, part::link, 2});
  CHECK(error([](wisv_format& bad) { bad.law_value_bits = 0; }) == status{errc::invalid_argument, part::link, 3});
}

TEST_CASE("the largest sizes do not overflow") {
  CHECK(wisv_full_upload_bits({1u << 24, 1u << 24, 64, 64, 0, 0}, 1u << 16) ==
        (std::uint64_t{1} << 46) + (std::uint64_t{24} << 16));
  CHECK(reject_upload_bits({1u << 24, 1, 64, 64, 0, 0}, 1u << 16) ==
        (std::uint64_t{1} << 46) + (std::uint64_t{24} << 16));
  CHECK(hlm_full_bits({1u << 24, 64, 0}) == std::uint64_t{88} << 24);
  CHECK(wisv_selected_upload_bits({1u << 24, 1u << 24, 64, 64, 0, 0}, 1u << 16) == std::uint64_t{1} << 46);
}
