// SPDX-License-Identifier: Apache-2.0
// A device hands over text of its own to a cloud that requires `unconditional`. In every state it may claim more than
// the cloud has, under good checks. It may send pieces and ends that nobody waits for, and it can draft as it likes. If
// it sends something that no edge sends, the cloud's process ends, and the next one has its journal. Each session must
// reach its last token, and the law of all texts must be the target's.
#include <specverify/codec/message.hpp>
#include <specverify/host/drive.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/testing/chi_square.hpp>

#include <session/hash_model.hpp>
#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

using namespace specverify;

namespace {

constexpr std::uint32_t vocab_size = 3, prompt_length = 1, whole = prompt_length + 4;
constexpr std::array<std::array<double, vocab_size>, vocab_size> law_behind{
    {{0.2, 0.5, 0.3}, {0.6, 0.1, 0.3}, {0.25, 0.25, 0.5}}};  // of the token after 0, 1, 2
constexpr token_id prompt = 1;
constexpr wire_format format{.format = law_format::token_only, .vocab_size = vocab_size, .max_draft_length = 3};

const std::array<std::array<float, vocab_size>, vocab_size> logits = [] {
  std::array<std::array<float, vocab_size>, vocab_size> made{};
  for (std::size_t before = 0; before < vocab_size; ++before)
    for (std::size_t v = 0; v < vocab_size; ++v) made[before][v] = static_cast<float>(std::log(law_behind[before][v]));
  return made;
}();

cloud_options options_of(std::uint64_t salt) {
  cloud_options o{.secret = specverify_test::secret_of(2), .salt = salt, .vocab_size = vocab_size};
  o.limits = cloud_session::limits_for(format);
  o.max_text_length = whole;
  o.text_chunk = 4;
  o.required = guarantee::unconditional;
  o.check_bits = format.check_bits;
  return o;
}

//! One count for each state of a cloud.
using counts = std::array<std::uint64_t, static_cast<std::size_t>(cloud_state::failed) + 1>;

//! The text that a device claims to have, and the round.
struct claim {
  std::vector<token_id> text{};
  std::uint32_t round = 1;
};

class hostile_session {
 public:
  hostile_session(std::uint64_t number, counts& refused_in)
      : salt_(number), dice_(number), streams_(number % 4 == 0), refused_in_(refused_in) {
    open();
  }

  //! Returns the text, once the device has said stop.
  const std::vector<token_id>& run() {
    for (int steps = 0; steps < 1000 && cloud_->length() < whole; ++steps) {
      if (dice_.below(2) == 0) lie();
      go_on();
    }
    for (int steps = 0; steps < 20 && cloud_->state() != cloud_state::finished; ++steps) go_on();
    if (dice_.below(4) == 0) lie();
    text_.assign(cloud_->text().begin(), cloud_->text().end());
    return text_;
  }

 private:
  //! Starts the cloud's process anew, from its journal if there is one.
  void open() {
    cloud_.emplace(std::move(make_cloud(options_of(salt_))).value());
    if (journal_.empty()) return;
    REQUIRE(cloud_->restore(journal_).ok());
    drain();
  }

  void drain() {
    const session_work work = take_outputs(*cloud_, [this](const session_output& out) {
      if (out.action != session_action::journal) return;
      if (out.replaces) journal_.clear();
      journal_.insert(journal_.end(), out.bytes.begin(), out.bytes.end());
    });
    if (work.wait != session_wait::rows) return;
    rows_.clear();
    for (const token_id before : work.asked.tokens.last(work.asked.rows))
      rows_.push_back(logits_row<float>(logits[static_cast<std::size_t>(before)]));
  }
  status say(const result<std::span<std::byte>>& written) {
    REQUIRE(written.ok());
    const status heard = cloud_->receive(*written, 1);
    drain();
    return heard;
  }

  [[nodiscard]] wire_place place() const { return {prefix_hash(cloud_->text()), cloud_->round()}; }

  //! Returns the tokens of a text that the cloud does not have yet.
  [[nodiscard]] std::span<const token_id> rest_of(std::span<const token_id> text) const {
    text = text.subspan(std::min<std::size_t>(text.size(), cloud_->length()));
    return text.first(std::min<std::size_t>(text.size(), 4));
  }

  //! Sends a hello with this many tokens of a text.
  void greet(const claim& made, std::uint32_t length) {
    hello_message hello;
    hello.session_id = 7;
    hello.nonce = ++nonce_;
    hello.round = made.round;
    hello.length = length;
    hello.prefix_hash = prefix_hash(std::span<const token_id>(made.text).first(length));
    hello.format = format;
    hello.strength = guarantee::unconditional;
    hello.rule = wire_rule::token;
    hello.threshold = 0;
    hello.mode = streams_ ? session_mode::stream : session_mode::draft;
    hello.prompt_length = prompt_length;
    hello.token_budget = whole - prompt_length;
    hello.text_chunk = 4;
    const cloud_state before = cloud_->state();
    const status heard = say(encode_hello(hello, message_));
    if (heard.ok()) claimed_.assign(made.text.begin(), made.text.begin() + length);
    if (heard.code == errc::unverified_text) ++refused_in_[static_cast<std::size_t>(before)];
  }

  //! Returns the cloud's text, or the prompt.
  [[nodiscard]] claim known() const {
    claim made{{cloud_->text().begin(), cloud_->text().end()}, std::max(cloud_->round(), 1u)};
    if (made.text.empty()) made.text.push_back(prompt);
    return made;
  }
  //! Returns that text, continued by tokens that the device would like.
  claim wish() {
    claim made = known();
    while (made.text.size() < whole && dice_.below(8) != 0) made.text.push_back(0);
    return made;
  }

  void lie() {
    const claim made = wish();
    const auto all = static_cast<std::uint32_t>(made.text.size());
    switch (dice_.below(16)) {
      case 0:  // a piece of text that nobody asked for
        (void)say(encode_text(place(), format, 4, rest_of(made.text), message_));
        return;
      case 1:  // the end
        (void)say(encode_stop({stop_cause::budget, all, prefix_hash(std::span<const token_id>(made.text))}, message_));
        return;
      case 2:  // it has failed
        (void)say(encode_refuse({7, nonce_}, {errc::engine_failed, part::host, 0}, message_));
        return;
      case 3:
        open();
        return;
      default:
        greet(made, all);
        return;
    }
  }

  //! Does the next honest step of the session.
  void go_on() {
    if (cloud_->state() == cloud_state::failed) open();
    if (cloud_->wants_rows()) {
      const std::array<row_transform, 1> plain{};
      (void)cloud_->supply_rows(exec::seq, row_span_provider<float>(rows_, plain), 1);
      drain();
      return;
    }
    status heard{errc::no_handshake, part::session, 0};
    switch (cloud_->state()) {
      case cloud_state::blank: {
        constexpr std::array<std::uint32_t, 4> rounds{1, 7, 1u << 31, (1u << 31) - 1};
        greet({{prompt}, rounds[dice_.below(4)]}, prompt_length);
        return;
      }
      case cloud_state::filling:
        heard = say(encode_text(place(), format, 4, rest_of(claimed_), message_));
        break;
      case cloud_state::ready: {
        std::array<claimed_draft, 3> drafts{};
        for (claimed_draft& draft : drafts)
          draft.token = dice_.below(4) == 0 ? static_cast<token_id>(dice_.below(3)) : 0;
        heard = say(encode_claims(place(), format, std::span(drafts).first(dice_.below(4)), message_));
        break;
      }
      case cloud_state::closing:
        heard = say(encode_stop({stop_cause::budget, cloud_->length(), prefix_hash(cloud_->text())}, message_));
        break;
      default:
        break;
    }
    if (heard.code != errc::no_handshake) return;
    const claim here = known();
    greet(here, static_cast<std::uint32_t>(here.text.size()));
  }

  std::uint64_t salt_;
  specverify_test::dice dice_;
  bool streams_;
  counts& refused_in_;
  std::optional<cloud_session> cloud_;
  std::array<std::byte, 256> message_{};
  std::vector<row_view<float>> rows_;
  std::vector<std::byte> journal_;
  std::vector<token_id> claimed_;  // by the last hello that was taken
  std::vector<token_id> text_;
  std::uint32_t nonce_ = 0;
};

}  // namespace

TEST_CASE("SEC-1 unconditional: a device that hands its own text over does not move the law of the texts") {
  constexpr std::uint64_t sessions = 200000;
  std::array<std::uint64_t, 81> seen{};
  std::array<double, 81> law{};
  for (std::size_t text = 0; text < law.size(); ++text) {
    double mass = 1;
    std::size_t before = prompt, digits = text;
    for (int i = 0; i < 4; ++i, digits /= 3) mass *= law_behind[before][digits % 3], before = digits % 3;
    law[text] = mass;
  }
  counts refused_in{};
  std::uint64_t unfinished = 0;
  for (std::uint64_t i = 1; i <= sessions && unfinished < 500; ++i) {
    hostile_session session(i, refused_in);
    const std::vector<token_id>& text = session.run();
    if (text.size() != whole || text[0] != prompt) {
      ++unfinished;
      continue;
    }
    std::size_t cell = 0;
    for (std::size_t at = whole; at-- > prompt_length;) cell = 3 * cell + static_cast<std::size_t>(text[at]);
    ++seen[cell];
  }
  const auto fits = chi_square(seen, law);
  REQUIRE(fits.ok());
  INFO("p-value ", fits->p_value);
  const bool texts_have_the_law = fits->p_value > 1e-4;
  CHECK(texts_have_the_law);
  CHECK(unfinished == 0);
  for (const cloud_state state : {cloud_state::blank, cloud_state::filling, cloud_state::ready, cloud_state::evaluating,
                                  cloud_state::streaming, cloud_state::finished}) {
    CAPTURE(static_cast<int>(state));
    CHECK(refused_in[static_cast<std::size_t>(state)] > 0);
  }
}
