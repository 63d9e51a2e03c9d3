// SPDX-License-Identifier: Apache-2.0
// A device with arbitrary behaviour, and a cloud that is killed at any output: the cloud's text must still have the
// target's distribution. The device wants texts that begin with token 0 and remembers everything it has received. It
// breaks connections, returns with less text, with its own text or rounds, and drafts again for rounds that it has
// seen. V = 3, texts of 4 tokens, `required` is unconditional, and all 81 texts are counted. 20 000 sessions, 200 000
// with SPECVERIFY_LONG=1.
#include <specverify/host/drive.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/testing/chi_square.hpp>

#include <session/hash_model.hpp>
#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

using namespace specverify;
using namespace specverify_test;

namespace {

using bytes = std::vector<std::byte>;
using ids = std::vector<token_id>;

constexpr std::uint32_t vocab_size = 3, tokens = 4, texts = 81, most_drafts = 3, chunk = 8;

//! Returns the distribution of the token after `text`, which begins with a prompt of one token.
std::array<double, vocab_size> law_after(std::span<const token_id> text) {
  constexpr std::array<std::array<double, vocab_size>, 5> laws{
      {{.5, .3, .2}, {.2, .5, .3}, {.4, .4, .2}, {.6, .1, .3}, {.1, .2, .7}}};
  std::size_t which = 7 * (text.size() - 1);
  for (std::size_t i = 1; i < text.size(); ++i) which += static_cast<std::size_t>(text[i]) * (i + 1);
  return laws[which % laws.size()];
}

struct target_model {
  ids text{};
  std::vector<std::array<float, vocab_size>> rows{};

  status feed(std::uint32_t position, std::span<const token_id> fed, std::uint32_t wanted) {
    text.resize(position);
    rows.clear();
    for (const token_id id : fed) {
      text.push_back(id);
      const auto law = law_after(text);
      rows.emplace_back();
      for (std::size_t v = 0; v < vocab_size; ++v) rows.back()[v] = static_cast<float>(std::log(law[v]));
    }
    rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(wanted));
    return {};
  }
  [[nodiscard]] row_view<float> row(std::uint32_t i) const { return logits_row<float>(rows[i]); }
  void truncate(std::uint32_t length) { text.resize(std::min<std::size_t>(text.size(), length)); }
};

edge_options device_options() {
  edge_options made{.session_id = 1, .secret = secret_of(1), .vocab_size = vocab_size};
  made.format = law_format::token_only;
  made.token_budget = tokens;
  made.max_text_length = 16;
  made.text_chunk = chunk;
  made.check_bits = 8;
  return made;
}

//! Returns the hello of an honest edge.
hello_message honest_hello() {
  auto edge = std::move(make_edge(device_options(), fixed_window{most_drafts})).value();
  REQUIRE(edge.start(std::array<token_id, 1>{0}, 1).ok());
  bytes hello;
  (void)take_outputs(edge, [&](const session_output& out) {
    if (out.action == session_action::send) hello.assign(out.bytes.begin(), out.bytes.end());
  });
  hello_message made = decode_hello(hello).value();
  made.fields = {};
  return made;
}

class hostile_session {
 public:
  hostile_session(const hello_message& terms, std::uint64_t seed) : terms_(terms), salt_(seed), chance_(seed) {
    begin_cloud();
  }

  //! Returns the text that the cloud commits in the end.
  ids run() {
    for (int step = 0; step < 2000; ++step) {
      if (cloud_->length() == tokens + 1) return {cloud_->text().begin(), cloud_->text().end()};
      if (cloud_->state() == cloud_state::failed) begin_cloud();  // the device sent what no edge sends
      killed_at_ = chance_.chance(0.4)    ? behind_message
                   : chance_.chance(0.25) ? static_cast<int>(chance_.below(6))
                                          : never;
      is_dead_ = false;
      const bool unhappy = is_unwanted(seen_) && chance_.chance(0.5);
      if (!in_step_ || unhappy || chance_.chance(0.15)) {
        shake_hands(unhappy);
      } else {
        send_draft();
      }
      if (text_.size() > seen_.size()) seen_ = text_;
      if (is_unwanted(seen_)) unwanted_ = seen_[1];
      if (is_dead_) begin_cloud();
    }
    FAIL("no end");
    return {};
  }
  //! Number of times that the cloud had forgotten text it had sent.
  int forgotten = 0;

 private:
  static constexpr int never = -1, behind_message = 1000;

  [[nodiscard]] static bool is_unwanted(const ids& text) { return text.size() > 1 && text[1] != 0; }
  [[nodiscard]] static ids first(const ids& text, std::size_t length) {
    return {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length)};
  }
  [[nodiscard]] token_id any_token() { return static_cast<token_id>(chance_.below(vocab_size)); }

  void begin_cloud() {
    cloud_options o{.secret = secret_of(2), .salt = salt_, .vocab_size = vocab_size};
    o.limits = cloud_session::limits_for(terms_.format, chunk);
    o.max_text_length = 16;
    o.text_chunk = chunk;
    o.check_bits = 8;
    o.required = guarantee::unconditional;
    cloud_.emplace(std::move(make_cloud(o)).value());
    engine_.text.clear();
    in_step_ = false;
    if (disk_.empty()) return;
    REQUIRE(cloud_->restore(disk_).ok());
    (void)take([](const session_output&) {});
  }
  //! Takes outputs until the cloud is killed. Returns true if it needs rows, after feeding the engine.
  template <class OnOutput>
  bool take(const OnOutput& on_output) {
    const status killed{errc::engine_failed, part::host, 0};
    const bool dies_when_heard = killed_at_ == behind_message;
    const session_work work = take_outputs(*cloud_, [&](const session_output& out) -> status {
      if (killed_at_-- == 0) return killed;
      if (out.action == session_action::journal) disk_.insert(disk_.end(), out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::rollback) engine_.truncate(out.position);
      on_output(out);
      return dies_when_heard && out.action == session_action::send ? killed : status{};
    });
    is_dead_ = is_dead_ || (work.wait == session_wait::over && work.reason == killed);
    if (is_dead_ || work.wait != session_wait::rows) return false;
    return engine_.feed(work.asked.position, work.asked.tokens, work.asked.rows).ok();
  }
  bool hear(std::vector<bytes>& said) {
    return take([&](const session_output& out) {
      if (out.action == session_action::send) said.emplace_back(out.bytes.begin(), out.bytes.end());
    });
  }
  void say(const result<std::span<std::byte>>& message) {
    REQUIRE(message.ok());
    (void)cloud_->receive(*message, 1);
  }
  void say_hello(const ids& claimed, std::uint32_t round) {
    hello_message hello = terms_;
    hello.nonce = static_cast<std::uint32_t>(chance_.next());
    hello.round = round;
    hello.length = static_cast<std::uint32_t>(claimed.size());
    hello.prefix_hash = prefix_hash(claimed);
    say(encode_hello(hello, space_));
  }

  //! Sends hello with all the text that the device has seen, with less, or with text of its own after it, and with a
  //! round of its choice.
  void shake_hands(bool unhappy) {
    std::size_t shown = unhappy ? 1 : seen_.size();
    if (!unhappy && chance_.chance(0.5)) shown = 1 + chance_.below(shown);
    ids claimed = first(seen_, shown);
    const bool has_own = chance_.chance(0.2) && shown <= tokens;
    if (has_own) claimed.resize(shown + 1 + chance_.below(tokens + 1 - shown), shown == 1 ? 0 : any_token());
    say_hello(claimed, std::array<std::uint32_t, 4>{1, 1, round_, 9}[chance_.below(4)]);
    std::vector<bytes> said;
    (void)hear(said);
    in_step_ = false;
    text_ = first(seen_, shown);
    for (const bytes& message : said) {
      const message_kind kind = specverify::kind_of(message).value();
      if (kind == message_kind::hello) {
        follow(decode_hello(message).value(), claimed);
      } else if (kind == message_kind::text) {
        take_text(message);
      } else if (kind == message_kind::refuse && !has_own) {
        ++forgotten;
        seen_ = text_ = {0};
      }
    }
  }
  void follow(const hello_message& its, const ids& claimed) {
    round_ = its.round;
    text_ = claimed;
    wanted_ = its.length;
    in_step_ = its.length <= claimed.size();
    if (its.length >= claimed.size() || is_dead_) return;
    const ids known = first(claimed, its.length);
    say(encode_text({prefix_hash(known), round_}, terms_.format, chunk, std::span(claimed).subspan(its.length),
                    space_));
    std::vector<bytes> none;
    (void)hear(none);
  }
  void take_text(const bytes& message) {
    std::array<token_id, chunk> storage{};
    const auto more = decode_text({prefix_hash(text_), round_}, terms_.format, chunk, message, storage);
    REQUIRE(more.ok());
    text_.insert(text_.end(), more->begin(), more->end());
    in_step_ = text_.size() == wanted_;
  }

  //! Returns the tokens that the device wants: 0 first, then the likeliest token or any. If the first token is open and
  //! the device has seen one before, it drafts that token, because with equal random numbers it would be rejected and 0
  //! would be likely.
  [[nodiscard]] ids wish() {
    if (unwanted_ && text_.size() == 1 && chance_.chance(0.7)) return {*unwanted_};
    ids wished = text_;
    const std::size_t room = tokens - std::min<std::size_t>(text_.size(), tokens);
    for (std::size_t i = std::min<std::size_t>(chance_.below(most_drafts + 1), room); i > 0; --i) {
      const auto law = law_after(wished);
      const auto likeliest = static_cast<token_id>(std::max_element(law.begin(), law.end()) - law.begin());
      const bool wants = chance_.chance(0.7) && wished.size() < 3;
      wished.push_back(wants ? 0 : chance_.chance(0.5) ? likeliest : any_token());
    }
    wished.erase(wished.begin(), wished.begin() + static_cast<std::ptrdiff_t>(text_.size()));
    return wished;
  }
  void send_draft() {
    const ids drafted = wish();
    std::vector<claimed_draft> claims;
    for (const token_id id : drafted) claims.push_back({id});
    say(encode_claims({prefix_hash(text_), round_}, terms_.format, claims, space_));
    const int kill = std::exchange(killed_at_, never);
    std::vector<bytes> said;
    if (hear(said)) {
      is_dead_ = chance_.chance(0.1);  // while the engine works
      if (is_dead_) return;
      if (chance_.chance(0.2)) say_hello(text_, 1);  // a second connection meanwhile
      (void)supply(exec::seq, *cloud_, engine_, 1);
      killed_at_ = kill;
      (void)hear(said);
    }
    for (const bytes& message : said) {
      const message_kind kind = specverify::kind_of(message).value();
      if (kind == message_kind::feedback) take_verdict(drafted, message);
      if (kind == message_kind::hello) follow(decode_hello(message).value(), text_);
      if (kind == message_kind::text) take_text(message);
      if (kind == message_kind::refuse) in_step_ = false;
    }
  }
  void take_verdict(const ids& drafted, const bytes& message) {
    const auto verdict = decode_feedback({prefix_hash(text_), round_}, terms_.format,
                                         static_cast<std::uint32_t>(drafted.size()), message);
    REQUIRE(verdict.ok());
    text_.insert(text_.end(), drafted.begin(), drafted.begin() + verdict->accepted);
    if (verdict->next_token != no_token) text_.push_back(verdict->next_token);
    ++round_;
  }

  const hello_message& terms_;
  std::uint64_t salt_;
  dice chance_;
  bytes disk_{};  // the cloud's disk
  std::optional<cloud_session> cloud_{};
  target_model engine_{};
  ids seen_{0}, text_{0};                 // the longest text that the device has seen; its current text
  std::uint32_t round_ = 1, wanted_ = 0;  // wanted_: length in the cloud's hello
  std::optional<token_id> unwanted_{};    // a first token that it got instead of 0
  bool in_step_ = false, is_dead_ = false;
  int killed_at_ = never;  // of the outputs to come
  std::array<std::byte, 512> space_{};
};

std::array<double, texts> product_law() {
  std::array<double, texts> made{};
  for (std::size_t cell = 0; cell < texts; ++cell) {
    ids text{0};
    double p = 1;
    for (std::size_t i = 0, rest = cell; i < tokens; ++i, rest /= vocab_size) {
      p *= law_after(text)[rest % vocab_size];
      text.push_back(static_cast<token_id>(rest % vocab_size));
    }
    made[cell] = p;
  }
  return made;
}

}  // namespace

TEST_CASE("T1 NET-5 SEC-1 a hostile device: the text has the target's law, with a cloud killed at any output") {
  const std::uint64_t sessions = std::getenv("SPECVERIFY_LONG") != nullptr ? 200000 : 20000;
  const hello_message terms = honest_hello();
  std::array<std::uint64_t, texts> seen{};
  std::uint64_t wished = 0;
  int forgotten = 0;
  for (std::uint64_t seed = 1; seed <= sessions; ++seed) {
    hostile_session session(terms, seed);
    const ids text = session.run();
    std::size_t cell = 0;
    for (std::size_t i = tokens; i > 0; --i) cell = vocab_size * cell + static_cast<std::size_t>(text[i]);
    seen[cell] += 1;
    wished += text[1] == 0 ? 1u : 0u;
    forgotten += session.forgotten;
  }
  const auto fits = chi_square(seen, product_law());
  REQUIRE(fits.ok());
  INFO("p-value ", fits->p_value, ", P(first = 0) ", static_cast<double>(wished) / static_cast<double>(sessions));
  const bool text_has_the_law = fits->p_value > 1e-4;
  CHECK(text_has_the_law);
  CHECK(forgotten == 0);  // everything that was sent was on disk
}
