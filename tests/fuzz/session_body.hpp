// SPDX-License-Identifier: Apache-2.0
//! The body of the session's fuzz target. The input is a script for an edge and a cloud. Messages can arrive as they
//! are, twice, cut, flipped, or rewritten with a good check at the receiver's own place (so that they reach the code
//! behind the check). A peer can lie consistently (`liar`), deadlines can pass, the connection can be lost, processes
//! can restart with or without journals, and the host can end the text. The first two bytes choose a system and a
//! variant.
//! Demanded: a side commits only tokens of the vocabulary; texts stay within the limit; the session feeds and cuts the
//! engine as the cache allows; after each input the outputs end; an edge drafts in no stream; no side refuses its own
//! journal.
#ifndef SPECVERIFY_TESTS_FUZZ_SESSION_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_SESSION_BODY_HPP

#include <specverify/codec/message.hpp>
#include <specverify/codec/prefix_hash.hpp>
#include <specverify/host/drive.hpp>
#include <specverify/policy/skip.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <session/hash_model.hpp>
#include <support/secret_of.hpp>

#include "fuzz/message_fuzz.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace specverify_fuzz {

using namespace specverify;

//! A peer that lies consistently: it claims more text after the receiver's, with the right hash, in any round, and
//! delivers that text piece by piece. The checks cannot show the lie, because they fit.
class liar {
 public:
  //! The receiver's state. `nonce`: of the last hello, if the receiver is an edge that awaits an answer.
  struct target {
    std::uint64_t session_id = 0;
    std::uint32_t nonce = 0, round = 0, agreed = 0;
    std::span<const token_id> text{};
  };

  //! Notes a message of the receiver's true peer: a hello, because a liar repeats the terms.
  void hear(std::span<const std::byte> message) {
    const auto read = decode_hello(message);
    if (!read) return;
    hello_ = *read;
    digest_ = last_verdict(*read).digest;
    hello_.fields = {};
    has_hello_ = true;
  }

  //! Returns one message to the receiver. `next` gives the script's bytes.
  template <class Next>
  [[nodiscard]] std::vector<std::byte> message(const target& to, const wire_format& format, Next next) {
    std::vector<std::byte> out(1024);
    const std::size_t written = write(to, format, next, out);
    out.resize(written);
    return out;
  }

 private:
  template <class Next>
  std::size_t write(const target& to, const wire_format& format, Next next, std::span<std::byte> out) {
    const unsigned what = next();
    if (what % 8 < 3 && has_hello_) return greet(to, next, out);
    const auto size = [](const auto& written) { return written.ok() ? written->size() : 0; };
    wire_place at = place(to, to.agreed, to.round);
    if (what % 8 < 6) {  // text behind the last piece or the receiver's text; in the claimed or the receiver's round
      const std::span<const token_id> rest = rest_of(to, next);
      if ((what & 16) != 0 || sent_ < to.agreed || sent_ > text_.size()) sent_ = to.agreed;
      const std::span<const token_id> left = std::span<const token_id>(text_).subspan(sent_);
      const auto piece = left.first(std::min<std::size_t>(left.size(), 1 + next() % hello_.text_chunk));
      at = place(to, sent_, (what & 8) != 0 || rest.empty() ? round_ : to.round);
      sent_ += static_cast<std::uint32_t>(piece.size());
      return size(encode_text(at, format, hello_.text_chunk, piece, out));
    }
    if (what % 8 == 6) {
      const auto drafted = static_cast<std::uint32_t>(next() % (format.max_draft_length + 1));
      const auto accepted = static_cast<std::uint32_t>(next() % (drafted + 1));
      const token_id added = token(format, next());
      const auto stop = static_cast<std::uint8_t>(next() % feedback_stop_count);
      return size(encode_feedback(at, format, drafted, {accepted, added, 1, stop}, out));
    }
    return size(encode_stop({static_cast<stop_cause>(next() % 5), to.agreed, at.prefix_hash}, out));
  }

  //! Makes a hello that claims some of the liar's text.
  template <class Next>
  std::size_t greet(const target& to, Next next, std::span<std::byte> out) {
    (void)rest_of(to, next);
    const auto all = static_cast<std::uint32_t>(text_.size());
    const std::uint32_t length = next() % 3 == 0 ? next() % (all + 1) : all;
    round_ = round_near(to.round, next());
    sent_ = to.agreed;
    hello_message hello = hello_;
    hello.session_id = to.session_id;
    hello.nonce = to.nonce;
    hello.round = round_;
    hello.length = length;
    hello.prefix_hash = place(to, length, round_).prefix_hash;
    if (next() % 4 == 0) hello.prompt_length = std::min(length, 1u);
    hello_fields fields;
    const auto stop = static_cast<std::uint8_t>(next() % 4), accepted = static_cast<std::uint8_t>(next() % 4);
    if (next() % 2 == 0) fields.add({next() % 2 == 0 ? to.round : round_, accepted, 1, stop, digest_});
    hello.fields = fields.bytes();
    const auto written = encode_hello(hello, out);
    return written.ok() ? written->size() : 0;
  }

  [[nodiscard]] static std::uint32_t round_near(std::uint32_t round, unsigned choice) {
    const std::array<std::uint32_t, 8> rounds{round, round + 1, round == 0 ? 0 : round - 1, round + choice / 8, 1,
                                              0,     1u << 31,  (1u << 31) - choice / 8 % 4};
    return rounds[choice % rounds.size()];
  }

  //! Returns a place in the liar's text.
  [[nodiscard]] wire_place place(const target& to, std::uint32_t length, std::uint32_t round) const {
    const std::span<const token_id> text = length <= to.text.size() ? to.text : std::span<const token_id>(text_);
    return {prefix_hash(text.first(length)), round};
  }

  [[nodiscard]] static token_id token(const wire_format& format, unsigned choice) {
    return static_cast<token_id>(choice % format.vocab_size);
  }

  //! Returns the liar's text behind the receiver's. If the receiver has gone another way, makes another text.
  template <class Next>
  [[nodiscard]] std::span<const token_id> rest_of(const target& to, Next next) {
    const std::span<const token_id> known = to.text.first(to.agreed);
    const bool goes_on = text_.size() > known.size() && std::equal(known.begin(), known.end(), text_.begin());
    if (!goes_on) {
      text_.assign(known.begin(), known.end());
      for (unsigned more = 1 + next() % 12; more > 0; --more) text_.push_back(static_cast<token_id>(next() % 12));
    }
    return std::span<const token_id>(text_).subspan(known.size());
  }

  hello_message hello_{};
  std::vector<token_id> text_;
  std::uint32_t round_ = 0, digest_ = 0;
  std::uint32_t sent_ = 0;  // tokens of the text before the next piece
  bool has_hello_ = false;
};

inline constexpr unsigned script_formats = 9;  // formats that a script chooses from
inline constexpr std::size_t bytes_of_a_lie = 24;

//! Bits of a variant.
inline constexpr unsigned edge_lists_stops = 1, cloud_lists_stops = 2, drafts_from_row = 4, needs_verified_text = 8,
                          has_no_timers = 16;
inline constexpr unsigned host_stops = 0xD8;      //!< a step; one more: with the other cause
inline constexpr unsigned link_is_lost = 2 * 19;  //!< a step; one more: the cloud is not told

//! A window that gives the same plan every round, but says that l may change.
struct changing_window : fixed_window {
  [[nodiscard]] plan_range range() const noexcept { return {max_draft_length, 1, resolution}; }
};

template <class Skip>
class session_script {
 public:
  explicit session_script(std::span<const std::byte> script)
      : script_(script), edge_engine_(model(4)), cloud_engine_(model(0)) {
    const unsigned choice = byte();
    variant_ = byte();
    static constexpr std::array<wire_format, 9> formats{
        {{law_format::sparse_drop_zero, vocab_size, 10, 4, 3, 1},
         {law_format::sparse_paper, vocab_size, 10, 4, 3, 1},
         {law_format::dense_lattice, vocab_size, 12, 0, 2, 1},
         {law_format::fp16_row, vocab_size, 0, 0, 2, 4},
         {law_format::token_only, vocab_size, 0, 0, 4, 1},
         {law_format::token_only, vocab_size, 0, 0, 4, 1, {3, hidden_format::int8, true, true, 0}},
         {law_format::token_only, vocab_size, 0, 0, 4, 1, {3, hidden_format::float16, false, true, 0}},
         // From here on the edge commits tokens alone.
         {law_format::sparse_drop_zero, vocab_size, 10, 4, 3, 1, {0, hidden_format::none, false, false, 3, true}},
         {law_format::top_k_tail, vocab_size, 10, 4, 1, 1, {0, hidden_format::none, false, true, 2}}}};
    static_assert(formats.size() == script_formats);
    format_ = formats[choice % formats.size()];
    if ((variant_ & drafts_from_row) != 0 && format_.format == law_format::top_k_tail)
      format_.attachments.drafted_probability = true, format_.support_size = 5;  // the token itself is one more
    mode_ = choice & 0x80 ? session_mode::stream : session_mode::draft;
    rule_ = format_.attachments.hidden_size != 0 ? wire_rule::semantic
            : choice & 0x40                      ? wire_rule::greedy
                                                 : wire_rule::token;
    lazy_ = (choice & 0x20) != 0;
    new_cloud();
    new_edge();
    const std::array<token_id, 2> prompt{3, 1};
    (void)edge_->start(prompt, now_);
    drain();
  }

  [[nodiscard]] std::span<const std::byte> edge_journal() const { return edge_journal_; }
  [[nodiscard]] std::span<const std::byte> cloud_journal() const { return cloud_journal_; }
  //! Returns the first reason why a side refused its own journal, or ok if it never did.
  [[nodiscard]] status refused_by_edge() const { return refused_by_edge_; }
  [[nodiscard]] status refused_by_cloud() const { return refused_by_cloud_; }
  [[nodiscard]] std::uint64_t lives() const { return lives_; }
  //! Returns how the text ended for the edge's host, or none if it has not ended.
  [[nodiscard]] stop_reason end() const { return end_; }
  [[nodiscard]] bool streams() const { return mode_ == session_mode::stream; }
  //! Returns the counters of this life of the cloud.
  [[nodiscard]] const session_statistics& at_cloud() const { return cloud_->statistics(); }

  //! Restarts a side from these bytes, whatever they are. If they are refused, it goes on without them, as a host
  //! would. Returns true if they were taken.
  bool restart_edge_from(std::span<const std::byte> journal) {
    new_edge();
    const auto read = edge_->restore(journal, now_);
    check_restored(read, edge_->state() == edge_state::idle);
    edge_journal_.assign(journal.begin(), journal.begin() + static_cast<std::ptrdiff_t>(read ? read->valid_bytes : 0));
    if (!read) (void)edge_->recover(2, now_);
    drain();
    return read.ok();
  }
  bool restart_cloud_from(std::span<const std::byte> journal) {
    new_cloud();
    const auto read = cloud_->restore(journal);
    check_restored(read, cloud_->state() == cloud_state::blank);
    cloud_journal_.assign(journal.begin(), journal.begin() + static_cast<std::ptrdiff_t>(read ? read->valid_bytes : 0));
    drain();
    return read.ok();
  }

  void go_on(std::span<const std::byte> script) {
    script_ = script;
    run();
  }

  void run() {
    for (int steps = 0; !script_.empty() && steps < 400; ++steps) {
      const unsigned what = byte();
      std::deque<std::vector<std::byte>>& queue = what & 1 ? to_edge_ : to_cloud_;
      switch ((what >> 1) % 10) {
        case 0:
        case 1:
          if (!queue.empty()) take(what, [](auto&) {});
          break;
        case 2:  // twice
          if (queue.empty()) break;
          queue.push_front(queue.front());
          take(what, [](auto&) {});
          break;
        case 3:
          take(what, [this](auto& m) { m.resize(m.empty() ? 0 : byte() % m.size()); });
          break;
        case 4:
          take(what, [this](auto& m) {
            const unsigned bit = byte() | (byte() << 8);
            if (!m.empty()) m[bit / 8 % m.size()] ^= static_cast<std::byte>(1u << (bit % 8));
          });
          break;
        case 5:
          take(what, [this, what](auto& m) { forge(m, what); });
          break;
        case 6:
          hand_over(what, lie(what));
          break;
        case 7:  // later, or never
          if (queue.size() > 1) queue.push_back(queue.front());
          if (!queue.empty()) queue.pop_front();
          break;
        case 8:
          if (what >= host_stops) {
            (void)edge_->stop(what & 1 ? stop_cause::finished : stop_cause::cancelled, now_);
            drain();
            break;
          }
          now_ += 1000;
          (void)edge_->tick(now_);
          drain();
          break;
        default:
          what % 40 >= link_is_lost ? lose_link(what) : restart(what);
          break;
      }
    }
  }

 private:
  static constexpr std::uint32_t vocab_size = 12;
  static constexpr std::uint32_t max_length = 40;

  static specverify_test::hash_model model(std::uint64_t own) {
    specverify_test::hash_model m;
    m.vocab_size = vocab_size;
    m.own = own;
    if (own != 0) m.agreement = 0.7F;
    return m;
  }
  unsigned byte() {
    if (script_.empty()) return 0;
    const auto value = std::to_integer<unsigned>(script_[0]);
    script_ = script_.subspan(1);
    return value;
  }
  void new_edge() {
    edge_options o;
    o.session_id = 7;
    o.secret = specverify_test::secret_of(1);
    o.vocab_size = vocab_size;
    o.format = format_.format;
    o.attachments = format_.attachments;
    o.pad_to = format_.pad_to;
    o.mode = mode_;
    o.rule = rule_;
    o.max_text_length = max_length;
    o.retry_timeout = (variant_ & has_no_timers) != 0 ? 0 : 1000;
    o.retry_limit = 20;
    o.check_bits = format_.check_bits;
    o.text_chunk = 5;
    o.token_budget = 30;
    o.draw_from_row = format_.attachments.drafted_probability;
    if ((variant_ & edge_lists_stops) != 0) o.stop_tokens = stops_;
    o.bonus = !lazy_;
    if (lazy_) o.on_link_loss = link_loss::continue_local, o.max_ahead = 5;
    const std::optional<top_k> kept = has_support(format_.format) ? std::optional(top_k{4}) : std::nullopt;
    const fixed_window window{format_.max_draft_length, format_.resolution};
    auto made = format_.attachments.resolution_with_draft ? make_edge(o, kept, changing_window{window}, Skip{})
                                                          : make_edge(o, kept, window, Skip{});
    edge_.emplace(std::move(made).value());
    edge_engine_.clear();
  }
  void new_cloud() {
    cloud_options o;
    o.secret = specverify_test::secret_of(2);
    o.salt = 1;
    o.vocab_size = vocab_size;
    o.limits = cloud_session::limits_for(format_);
    o.max_text_length = max_length;
    o.text_chunk = 5;
    o.lazy = lazy_;
    o.check_bits = format_.check_bits;
    if ((variant_ & cloud_lists_stops) != 0) o.stop_tokens = stops_;
    o.required = needs_verified() ? guarantee::unconditional : guarantee::lossy;
    cloud_.emplace(std::move(make_cloud(o)).value());
    cloud_engine_.clear();
  }

  //! Returns true if a format and a rule are strong enough.
  [[nodiscard]] bool needs_verified() const {
    return (variant_ & needs_verified_text) != 0 && detail::strength_of(format_, rule_) == guarantee::unconditional;
  }

  template <class Change>
  void take(unsigned what, Change change) {
    std::deque<std::vector<std::byte>>& queue = what & 1 ? to_edge_ : to_cloud_;
    std::vector<std::byte> message;
    if (!queue.empty()) {
      message = std::move(queue.front());
      queue.pop_front();
    }
    change(message);
    hand_over(what, message);
  }
  void hand_over(unsigned what, const std::vector<std::byte>& message) {
    const std::vector<std::byte> copy(message.begin(), message.end());  // a copy of exactly this size
    if (what & 1) {
      (void)edge_->receive(copy, now_);
    } else {
      (void)cloud_->receive(copy, now_);
    }
    drain();
  }

  //! Returns the next message of a peer that lies consistently. It takes `bytes_of_a_lie` of the script.
  std::vector<std::byte> lie(unsigned what) {
    std::span<const std::byte> said = script_.first(std::min(script_.size(), bytes_of_a_lie));
    script_ = script_.subspan(said.size());
    const auto next = [&said] {
      const unsigned value = said.empty() ? 0 : std::to_integer<unsigned>(said[0]);
      said = said.subspan(std::min<std::size_t>(said.size(), 1));
      return value;
    };
    if (what & 1)
      return false_cloud_.message({7, edge_name_.nonce, edge_->round(), edge_->agreed_length(), edge_->text()}, format_,
                                  next);
    return false_edge_.message({7, edge_name_.nonce + 1, cloud_->round(), cloud_->length(), cloud_->text()}, format_,
                               next);
  }

  //! Writes script bytes into a message, or makes one up, and adds a check that the receiver takes.
  void forge(std::vector<std::byte>& m, unsigned what) {
    if (m.empty() || byte() % 4 == 0) {
      m.assign(1 + byte() % 72, std::byte{0});
      for (std::byte& written : m) written = static_cast<std::byte>(byte());
      m[0] = (m[0] & std::byte{0xf0}) | static_cast<std::byte>(1 + byte() % 9);
    } else {
      for (unsigned changes = byte() % 4; changes > 0; --changes) {
        const std::size_t at = byte() % m.size();
        m[at] = static_cast<std::byte>(byte());
      }
    }
    const auto kind = static_cast<message_kind>(std::to_integer<unsigned>(m[0]) & 15u);
    if (kind == message_kind::hello || kind == message_kind::refuse) {
      if (m.size() < message_header_bytes) return;
      detail::hello_head head{edge_name_};
      if (kind == message_kind::hello && m.size() >= detail::terms_at)
        head = detail::load_head(m, detail::hello_head_at);
      detail::end_headed(kind, head, m.size(), m);
      return;
    }
    wire_place mine{prefix_hash(cloud_->text()), cloud_->round()};
    if (what & 1) mine = {prefix_hash(edge_->text().first(edge_->agreed_length())), edge_->round()};
    const std::size_t check = detail::check_bytes(format_);
    if (kind != message_kind::stop && m.size() > check)
      specverify::numeric::store_le(m.data() + m.size() - check, detail::check_of(mine, kind), 1);
  }

  //! Drops all messages on the way. Then the edge's host connects again, but a cloud may not hear about the loss.
  void lose_link(unsigned what) {
    to_edge_.clear();
    to_cloud_.clear();
    if ((what & 1) == 0) cloud_->disconnect();
    (void)edge_->disconnect(now_);
    drain();
    (void)edge_->reconnect(now_);
    drain();
  }

  void restart(unsigned what) {
    if (what & 0x40) {
      if (what & 1) {
        edge_journal_.clear();
      } else {
        cloud_journal_.clear();
      }
    }
    now_ += 1;
    lives_ += 1;
    if (what & 1) {
      new_edge();
      if (edge_journal_.empty()) {
        (void)edge_->recover(2, now_);
      } else {
        note_own(edge_->restore(edge_journal_, now_).error(), refused_by_edge_);
        if (edge_->state() == edge_state::idle) edge_journal_.clear();
      }
    } else {
      new_cloud();
      if (!cloud_journal_.empty()) note_own(cloud_->restore(cloud_journal_).error(), refused_by_cloud_);
      if (cloud_->state() == cloud_state::blank) cloud_journal_.clear();
    }
    drain();
  }
  static void note_own(status why, status& first) {
    if (first.ok()) first = why;
  }

  static void check_restored(const result<journal_reading>& read, bool untouched) {
    if (read) return;
    demand(detail::is_known(read.error().code), "restore fails without a name");
    demand(untouched, "a journal was refused, and the session is not as it was made");
  }
  void check_text(std::span<const token_id> text) const {
    demand(text.size() <= max_length, "a text beyond its limit");
    for (const token_id token : text)
      demand(token >= 0 && static_cast<std::uint32_t>(token) < vocab_size, "a token outside the vocabulary");
  }
  void drain() {
    (void)drive(exec::seq, *edge_, drafter_,
                [&, hear = observer(to_cloud_, edge_journal_, false_edge_)](const session_output& out) mutable {
                  if (out.action == session_action::finished) end_ = out.stop;
                  if (out.action != session_action::send) return hear(out);
                  if (const auto name = name_of(out.bytes)) edge_name_ = *name;
                  hear(out);
                });
    (void)drive(exec::seq, *cloud_, target_, observer(to_edge_, cloud_journal_, false_cloud_));
    check_text(edge_->text());
    check_text(cloud_->text());
    demand(edge_->state() <= edge_state::failed, "an edge in no state");
    const bool drafts = edge_->state() == edge_state::drafting || edge_->state() == edge_state::waiting;
    demand(!streams() || !drafts, "an edge that drafts in a stream");
    demand(cloud_->state() <= cloud_state::failed, "a cloud in no state");
    while (to_edge_.size() > 64) to_edge_.pop_front();
    while (to_cloud_.size() > 64) to_cloud_.pop_front();
  }

  //! Checks that outputs end, however a script goes on.
  [[nodiscard]] static auto observer(std::deque<std::vector<std::byte>>& queue, std::vector<std::byte>& journal,
                                     liar& in_its_name) {
    return [&queue, &journal, &in_its_name, outputs = 0](const session_output& out) mutable {
      demand(++outputs < 2000, "outputs that do not end");
      if (out.action == session_action::send) queue.emplace_back(out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::send) in_its_name.hear(out.bytes);
      if (out.action != session_action::journal) return;
      if (out.replaces) journal.clear();
      journal.insert(journal.end(), out.bytes.begin(), out.bytes.end());
    };
  }

  //! Engines that must agree with the sessions, whatever the peer wrote.
  struct strict_model {
    specverify_test::hash_engine& engine;
    const wire_format& format;
    std::array<float, 3> state{};
    status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
      demand(engine.feed(position, tokens, rows), "a session feeds at a wrong position");
      return {};
    }
    row_view<float> row(std::uint32_t i) const { return engine.rows()[i]; }
    void truncate(std::uint32_t position) { demand(engine.cut(position), "a session cuts what is not there"); }
    std::span<const float> hidden(std::uint32_t) { return state = specverify_test::hidden_of<3>(engine.knows()); }
    status scores(const session_output& asked, std::span<double> out) const {
      demand(asked.rows > 0 && asked.rows <= format.max_draft_length, "scores of nothing are asked for");
      demand(asked.bytes.size() == asked.rows * hidden_bytes(format.attachments),
             "vectors that are not those of the drafts");
      constexpr std::array<double, 4> given{0.1, 0.9, 0.4, 0.6};
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = given[i];
      return {};
    }
  };

  static constexpr std::array<token_id, 2> stops_{5, 9};

  std::span<const std::byte> script_;
  unsigned variant_ = 0;
  wire_format format_{};
  session_mode mode_ = session_mode::draft;
  wire_rule rule_ = wire_rule::token;
  specverify_test::hash_engine edge_engine_, cloud_engine_;
  strict_model drafter_{edge_engine_, format_}, target_{cloud_engine_, format_};
  bool lazy_ = false;  // the other of two settings that a format does not fix
  std::optional<edge_session> edge_;
  std::optional<cloud_session> cloud_;
  std::vector<std::byte> edge_journal_, cloud_journal_;
  std::deque<std::vector<std::byte>> to_edge_, to_cloud_;
  liar false_edge_, false_cloud_;
  hello_name edge_name_{7, 0};  // of the last hello
  status refused_by_edge_{}, refused_by_cloud_{};
  stop_reason end_ = stop_reason::none;
  std::uint64_t lives_ = 0;
  session_time now_ = 1;
};

//! Runs a script. `look` sees the session at the end.
template <class Look>
void session_run(std::span<const std::byte> input, Look look) {
  if (input.empty()) return;
  const auto run = [&](auto script) {
    script.run();
    look(script);
  };
  if (std::to_integer<unsigned>(input[0]) % script_formats < script_formats - 2) {
    run(session_script<always_send>(input));
  } else {
    run(session_script<random_skip>(input));
  }
}

inline void session_input(std::span<const std::byte> input) {
  session_run(input, [](const auto& script) {
    demand(script.refused_by_edge().ok(), "the edge's own journal is refused");
    demand(script.refused_by_cloud().ok(), "the cloud's own journal is refused");
  });
}

}  // namespace specverify_fuzz

#endif
