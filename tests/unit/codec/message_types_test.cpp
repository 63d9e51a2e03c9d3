// SPDX-License-Identifier: Apache-2.0
// What hello may agree on for draft messages.
#include <specverify/codec/message.hpp>
#include <specverify/codec/message_types.hpp>

#include <doctest/doctest.h>

using namespace specverify;

namespace {

constexpr wire_format some_format{law_format::sparse_drop_zero, 128256, 100, 0, 8, 1};

}  // namespace

TEST_CASE("draft formats: what check refuses") {
  CHECK(check(some_format).ok());
  CHECK(check(wire_format{law_format::fp16_row, 10, 0, 0, 1, 1}).ok());
  CHECK(check(wire_format{law_format::fp16_row, 10, 1, 0, 1, 1}).code == errc::invalid_resolution);
  CHECK(check(wire_format{law_format::token_only, 10, 0, 0, 1, 1}).ok());
  CHECK(check(wire_format{law_format::token_only, 10, 0, 1, 1, 1}).code == errc::invalid_argument);
  CHECK(check(wire_format{law_format::token_and_count, 10, 1u << 31, 0, 1, 1}).ok());
  CHECK(check(wire_format{law_format::token_and_count, 10, 0, 0, 1, 1}).code == errc::invalid_resolution);
  CHECK(check(wire_format{law_format::dense_lattice, 10, 5, 1, 1, 1}).code == errc::invalid_argument);
  CHECK(max_draft_bytes({law_format::dense_lattice, 10, 5, 1, 1, 1}, 1) == 0);
  CHECK(check(wire_format{law_format::top_k_tail, 1u << 24, 256, 40, 1, 1}).ok());
  CHECK(check(wire_format{law_format::top_k_tail, 1u << 24, 257, 40, 1, 1}) ==
        status{errc::invalid_resolution, part::codec, 2});
  CHECK(check(wire_format{law_format::top_k_tail, 10, 0, 4, 1, 1}).code == errc::invalid_resolution);
  CHECK(check(wire_format{law_format::top_k_tail, 10, 255, 11, 1, 1}).code == errc::invalid_argument);
  const auto with = [](const attachment_format& attachments) {
    return check(wire_format{law_format::token_only, 10, 0, 0, 1, 1, attachments});
  };
  wire_format checked = some_format;
  for (unsigned bits = 0; bits < 256; ++bits) {
    checked.check_bits = static_cast<std::uint8_t>(bits);
    CHECK(check(checked) ==
          (bits == 0 || bits == 8 || bits == 16 ? status{} : status{errc::invalid_argument, part::codec, 13}));
  }
  CHECK(with({64, hidden_format::float16, true, true, 5}).ok());
  CHECK(with({(1u << 16) + 1, hidden_format::float16}) == status{errc::invalid_argument, part::codec, 6});
  CHECK(with({64, hidden_format::none}) == status{errc::invalid_argument, part::codec, 7});
  CHECK(with({0, hidden_format::int8}) == status{errc::invalid_argument, part::codec, 7});
  CHECK(with({64, static_cast<hidden_format>(3)}) == status{errc::invalid_argument, part::codec, 7});
  CHECK(with({0, hidden_format::none, true}) == status{errc::invalid_argument, part::codec, 8});
  CHECK(with({0, hidden_format::none, false, false, (1u << 16) + 1}) ==
        status{errc::invalid_argument, part::codec, 10});
}
