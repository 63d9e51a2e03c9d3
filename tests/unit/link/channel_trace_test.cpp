// SPDX-License-Identifier: Apache-2.0
#include <specverify/link/channel.hpp>
#include <specverify/link/channel_trace.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <clocale>
#include <cstring>
#include <string>
#include <vector>

#include "support/alloc_guard.hpp"

using namespace specverify;

namespace {

constexpr philox source{{{2026, 11}}};
const std::string first_line =
    "uplink_bits_per_second,downlink_bits_per_second,uplink_loss,downlink_loss,round_trip_seconds,state\n";

std::string written(const std::vector<channel_state>& states) {
  std::string text(max_channel_trace_bytes(states.size()), '\0');
  const auto size = write_channel_trace(states, text);
  REQUIRE(size.ok());
  text.resize(size->size());
  return text;
}

std::vector<channel_state> read(const std::string& text) {
  std::vector<channel_state> states(max_channel_trace_steps(text));
  const auto steps = read_channel_trace(text, states);
  REQUIRE(steps.ok());
  states.resize(steps->size());
  return states;
}

status refusal(const std::string& text, std::size_t room = 16) {
  std::vector<channel_state> states(room);
  const auto steps = read_channel_trace(text, states);
  return steps.ok() ? status{} : steps.error();
}

bool same_bits(const channel_state& a, const channel_state& b) {
  const double left[] = {a.uplink_rate, a.downlink_rate, a.uplink_loss, a.downlink_loss, a.round_trip};
  const double right[] = {b.uplink_rate, b.downlink_rate, b.uplink_loss, b.downlink_loss, b.round_trip};
  return std::memcmp(left, right, sizeof left) == 0 && a.index == b.index;
}
bool same_bits(const std::vector<channel_state>& a, const std::vector<channel_state>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) same = same_bits(a[i], b[i]);
  return same;
}

template <class Model>
std::vector<channel_state> rounds_of(const Model& model, std::size_t count) {
  std::vector<channel_state> states(count);
  record(model, source, std::span<channel_state>(states));
  return states;
}

}  // namespace

TEST_CASE("a channel trace as text: one line names the columns, every other one is a step") {
  CHECK(written({{350e3, 4e6, 0, 1e-3, 0.05, 0}, {1.5, unlimited_rate, 0.25, 0, 0, 7}}) ==
        first_line + "350000,4e+06,0,0.001,0.05,0\n1.5,1.0715086071862673e+301,0.25,0,0,7\n");
  // other ways to write the same numbers
  CHECK(same_bits(read(first_line + "3.5e5,4000000,0,1E-3,0.050,0\n"), {{350e3, 4e6, 0, 1e-3, 0.05, 0}}));
}

TEST_CASE("a channel trace reads back bit for bit, from models and at the ends of every range") {
  fading_options fading;
  fading.uplink_loss = 1.0 / 3;
  fading.round_trip = 0.1;
  CHECK(same_bits(read(written(rounds_of(markov_channel::make(qs_paper_link()).value(), 100))),
                  rounds_of(markov_channel::make(qs_paper_link()).value(), 100)));
  CHECK(same_bits(read(written(rounds_of(rayleigh_channel::make(fading).value(), 500))),
                  rounds_of(rayleigh_channel::make(fading).value(), 500)));

  const double least = 0x1p-1022, below_one = std::bit_cast<double>(std::bit_cast<std::uint64_t>(1.0) - 1);
  // 2.225073858507202e-308, as many digits as there can be
  const double longest = std::bit_cast<double>(std::uint64_t{0x0010000000000001});
  const std::vector<channel_state> ends{{least, unlimited_rate, 0, below_one, 0x1p64, 0xFFFFFFFFu},
                                        {longest, least, least, longest, longest, 0}};
  for (const channel_state& state : ends) REQUIRE(check(state).ok());
  CHECK(same_bits(read(written(ends)), ends));

  // Any bits that are a state without subnormals.
  std::vector<channel_state> any;
  for (std::uint32_t i = 0; any.size() < 2000; ++i) {
    const random_block low = source({i, 0, 0, purpose::channel}), high = source({i, 1, 0, purpose::channel});
    const auto bits = [](std::uint64_t u, double limit) {
      return std::bit_cast<double>((u | 1ull << 52) % (std::bit_cast<std::uint64_t>(limit) + 1));
    };
    const auto word = [](const random_block& block, std::size_t half) {
      return std::uint64_t{block.word[2 * half]} << 32 | block.word[2 * half + 1];
    };
    const channel_state state{bits(word(low, 0), unlimited_rate), bits(word(low, 1), unlimited_rate),
                              bits(word(high, 0), below_one),     below_one,
                              bits(word(high, 1), 0x1p64),        low.word[0]};
    const double smallest = std::min({state.uplink_rate, state.downlink_rate, state.uplink_loss, state.round_trip});
    if (check(state).ok() && smallest >= least) any.push_back(state);
  }
  CHECK(same_bits(read(written(any)), any));
}

TEST_CASE("a channel trace: CR LF, a last line without an end, and no other liberties") {
  const channel_state state{1000, 2000, 0, 0, 0.5, 1};
  const std::string step = "1000,2000,0,0,0.5,1";
  const std::string with_returns = first_line.substr(0, first_line.size() - 1) + "\r\n";
  CHECK(same_bits(read(with_returns + step + "\r\n" + step + "\r\n"), {state, state}));
  CHECK(same_bits(read(first_line + step), {state}));
  CHECK(refusal(first_line + step + "\n\n") == status{errc::trace_fields, part::link, 3});
  CHECK(refusal(first_line + step + "\r\r\n") == status{errc::trace_number, part::link, 2});
  for (const char* number :
       {" 1000", "1000 ", "+1000", "0x3e8", "1,000", "1'000", "", "1e", "--1", "1000bit", "nan", "inf", "-inf"}) {
    CAPTURE(number);
    const errc wanted = std::string(number) == "1,000" ? errc::trace_fields : errc::trace_number;
    CHECK(refusal(first_line + number + ",2000,0,0,0.5,1\n") == status{wanted, part::link, 2});
  }
}

TEST_CASE("a channel trace that is none: the error has a name and the line") {
  const std::string good = "1000,2000,0,0,0.5,1\n";
  const auto third = [&](const char* line) { return refusal(first_line + good + line + good); };
  for (const std::string& text : {std::string(), std::string("\n"), good, "x" + first_line,
                                  first_line.substr(0, first_line.size() - 2) + "\n" + good})
    CHECK(refusal(text) == status{errc::trace_header, part::link, 1});
  const status marked = refusal("\xEF\xBB\xBF" + first_line + good);
  const bool mark_is_named = std::string(message(marked.code)).find("byte order mark") != std::string::npos;
  CHECK(mark_is_named);
  CHECK(marked.where == 1);
  CHECK(refusal(first_line) == status{errc::empty_record, part::link, 2});
  CHECK(third("1000,2000,0,0,0.5\n") == status{errc::trace_fields, part::link, 3});
  CHECK(third("1000,2000,0,0,0.5,1,\n") == status{errc::trace_fields, part::link, 3});
  CHECK(third("\n") == status{errc::trace_fields, part::link, 3});
  CHECK(third("1000,2000,0,0,half,1\n") == status{errc::trace_number, part::link, 3});
  CHECK(third("1000,2000,0,0,0.5,1.5\n") == status{errc::trace_number, part::link, 3});
  CHECK(third("1000,2000,0,0,0.5,01\n") == status{errc::trace_number, part::link, 3});
  CHECK(third("1000,2000,0,0,0.5,-1\n") == status{errc::trace_number, part::link, 3});
  CHECK(third("1000,2000,0,0,0.5,4294967296\n") == status{errc::trace_number, part::link, 3});
  for (const char* state : {"1e-310,2000,0,0,0.5,1\n", "1000,1e-310,0,0,0.5,1\n", "1000,2000,1e-310,0,0.5,1\n",
                            "1000,2000,0,1e-310,0.5,1\n", "1000,2000,0,0,1e-310,1\n"})
    CHECK(third(state) == status{errc::trace_number, part::link, 3});
  CHECK(third("1e999,2000,0,0,0.5,1\n") == status{errc::trace_number, part::link, 3});
  for (const char* rate : {"0", "-0", "-1000", "1e302"}) {
    CAPTURE(rate);
    CHECK(third((std::string(rate) + ",2000,0,0,0.5,1\n").c_str()) == status{errc::invalid_rate, part::link, 3});
    CHECK(third(("1000," + std::string(rate) + ",0,0,0.5,1\n").c_str()) == status{errc::invalid_rate, part::link, 3});
  }
  for (const char* loss : {"1", "1.5", "-0.1", "-0"}) {
    CAPTURE(loss);
    CHECK(third(("1000,2000," + std::string(loss) + ",0,0.5,1\n").c_str()) ==
          status{errc::invalid_loss, part::link, 3});
    CHECK(third(("1000,2000,0," + std::string(loss) + ",0.5,1\n").c_str()) ==
          status{errc::invalid_loss, part::link, 3});
  }
  for (const char* time : {"-1", "-0", "1e20"}) {
    CAPTURE(time);
    CHECK(third(("1000,2000,0,0," + std::string(time) + ",1\n").c_str()) ==
          status{errc::invalid_duration, part::link, 3});
  }
  CHECK(refusal(first_line + good + std::string("1000,2000,0,0,0.5\0,1\n", 21)) ==
        status{errc::trace_number, part::link, 3});
}

TEST_CASE("a channel trace: room that is too small, and what an error leaves behind") {
  const std::string good = "1000,2000,0,0,0.5,1\n";
  CHECK(refusal(first_line + good + good, 2).ok());
  CHECK(refusal(first_line + good + good, 1) == status{errc::output_too_small, part::link, 3});
  CHECK(refusal(first_line + good, 0) == status{errc::output_too_small, part::link, 2});
  CHECK(read_channel_trace(first_line + good, std::span<channel_state>{}).error() ==
        status{errc::output_too_small, part::link, 2});

  std::array<channel_state, 3> out{};
  out[1].index = out[2].index = 99;
  CHECK(!read_channel_trace(first_line + good + "1000,2000,0,0,-1,1\n", out).ok());
  CHECK(same_bits(out[0], {1000, 2000, 0, 0, 0.5, 1}));
  CHECK((out[1].index == 99 && out[2].index == 99));

  const std::array<channel_state, 2> states{{{1000, 2000, 0, 0, 0.5, 1}, {1000, 2000, 0, 0, 0.5, 1}}};
  std::string text(first_line.size() + 2 * good.size(), '?');
  CHECK(write_channel_trace(states, text).value() == text);
  CHECK(text == first_line + good + good);
  for (std::size_t size = 0; size < text.size(); ++size) {
    std::vector<char> less(size);
    const std::uint32_t line = size < first_line.size() ? 1 : size < first_line.size() + good.size() ? 2 : 3;
    CHECK(write_channel_trace(states, less).error() == status{errc::output_too_small, part::link, line});
  }
}

TEST_CASE("a channel trace is not written from states that could not be read") {
  std::array<char, 512> text{};
  CHECK(write_channel_trace({}, text).error() == status{errc::empty_record, part::link, 1});
  std::array<channel_state, 3> states{};
  states[2].uplink_loss = 1;
  CHECK(write_channel_trace(states, text).error() == status{errc::invalid_loss, part::link, 4});
  states[1].round_trip = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000});
  CHECK(write_channel_trace(states, text).error() == status{errc::invalid_duration, part::link, 3});
  // subnormal: some processors take it for zero
  states[0].downlink_rate = std::bit_cast<double>(std::uint64_t{0x000FFFFFFFFFFFFF});
  CHECK(write_channel_trace(states, text).error() == status{errc::trace_number, part::link, 2});
}

TEST_CASE("a channel trace is the same in every locale, and nothing is allocated") {
  const std::vector<channel_state> states = rounds_of(rayleigh_channel::make({}).value(), 50);
  const std::string plain = written(states);
  for (const char* name : {"de_DE.UTF-8", "C.UTF-8"}) {  // a decimal comma where there is such a locale
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    CHECK(written(states) == plain);
    CHECK(same_bits(read(plain), states));
  }
  std::setlocale(LC_ALL, "C");

  std::string text(max_channel_trace_bytes(states.size()), '\0');
  std::vector<channel_state> back(states.size());
  const specverify_test::alloc_guard guard;
  const auto size = write_channel_trace(states, text);
  const auto steps = read_channel_trace(*size, back);
  CHECK(guard.count() == 0);
  CHECK((steps.ok() && steps->size() == states.size()));
  CHECK(same_bits(back, states));
}
