// SPDX-License-Identifier: Apache-2.0
// Edge, cloud, a lossy link and a virtual clock in one process; a ledger of what was injected, kept without looking
// into the sessions.
//
// A message suffers at most one fault, drawn when it arrives. Accounting (docs/session.md, "How faults are counted"):
//   drop 1 (a deadline passes), duplicate 1 (the copy), reorder 2 (a deadline passes, and the message arrives late,
//   right after the next undamaged one of its direction), truncate 1, flip 1; a process killed while it works on a
//   question 1 (a deadline passes); a message that reaches a cloud which lost its session 1; damage that nobody answers
//   at once 1 more (a deadline passes); a refusal that is of no use 1 more; an answer to a copy, or to a late question,
//   1 more where it is of no use, and it suffers no fault. `masked` takes back what a kill or a broken connection made
//   unobservable.
#ifndef SPECVERIFY_TESTS_SESSION_SIMULATION_HPP
#define SPECVERIFY_TESTS_SESSION_SIMULATION_HPP

#include <specverify/policy/skip.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <session/hash_model.hpp>
#include <support/forge.hpp>
#include <support/secret_of.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace specverify_test {

namespace sv = specverify;

enum class fault : std::uint8_t { none, drop, duplicate, reorder, truncate, flip };

struct fault_rates {
  double drop = 0, duplicate = 0, reorder = 0, truncate = 0, flip = 0;
  double kill_edge = 0, kill_cloud = 0;  // before each output and each delivery
  double without_journal = 0;            // share of the kills after which the journal is gone
  double reconnect = 0;                  // before each delivery: what is under way is lost, and the edge comes back
  double jump = 0;                       // before each step: the edge's clock jumps ahead; a new life has any clock
  double lie = 0;                        // of each message: a bit is changed under a checksum that is right again
};

struct ledger {
  std::uint64_t drop = 0, duplicate = 0, reorder = 0, truncate = 0, flip = 0;
  std::uint64_t kill_edge = 0, kill_edge_blank = 0, kill_cloud = 0, kill_cloud_blank = 0;
  std::uint64_t lost_work = 0;  // a question died with the process that worked on it
  std::uint64_t unknown = 0;    // questions to a cloud that lost its session
  std::uint64_t waited = 0;     // damage that was not answered at once
  std::uint64_t again = 0;      // answers to copies and to late questions, of no use
  std::uint64_t reconnect = 0;
  std::uint64_t jump = 0, lie = 0;  // not in the equation
  std::uint64_t masked = 0;
  std::uint64_t duplicates = 0, stale = 0, corrupt = 0, truncated = 0, timeouts = 0;  // what the sessions counted

  [[nodiscard]] std::uint64_t injected() const {
    return drop + duplicate + 2 * reorder + truncate + flip + lost_work + unknown + waited + again - masked;
  }
  [[nodiscard]] std::uint64_t counted() const { return duplicates + stale + corrupt + truncated + timeouts; }
  void add(const sv::session_statistics& s) {
    duplicates += s.duplicates;
    stale += s.stale;
    corrupt += s.corrupt;
    truncated += s.truncated;
    timeouts += s.timeouts;
  }
  void add(const ledger& o) {
    drop += o.drop, duplicate += o.duplicate, reorder += o.reorder, truncate += o.truncate, flip += o.flip;
    kill_edge += o.kill_edge, kill_edge_blank += o.kill_edge_blank, kill_cloud += o.kill_cloud,
        kill_cloud_blank += o.kill_cloud_blank;
    lost_work += o.lost_work, unknown += o.unknown, waited += o.waited, again += o.again, reconnect += o.reconnect,
        masked += o.masked;
    jump += o.jump, lie += o.lie;
    duplicates += o.duplicates, stale += o.stale, corrupt += o.corrupt, truncated += o.truncated,
        timeouts += o.timeouts;
  }
};

//! With SPECVERIFY_WRITE_OUT, bytes of journals and messages go to the system, as from a host: valgrind then names
//! those that nobody wrote (written_bytes_test.sh). SPECVERIFY_WRITE_OUT=planted: with one such byte.
inline void write_out(std::span<const std::byte> written) {
  static const char* const wanted = std::getenv("SPECVERIFY_WRITE_OUT");
  if (wanted == nullptr) return;
  static const int file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::unique_ptr<std::byte[]> copy(new std::byte[written.size() + 1]);
  std::copy(written.begin(), written.end(), copy.get());
  const bool planted = std::string_view(wanted) == "planted";
  (void)!::write(file, copy.get(), written.size() + (planted ? 1 : 0));
}

struct simulation_options {
  std::uint64_t seed = 1;
  std::uint64_t session_id = 1;
  std::uint64_t salt = 1;  // of the first cloud; later ones count on
  std::uint32_t vocab_size = 40;
  std::uint32_t tokens = 64;
  std::uint32_t prompt_length = 5;
  std::uint32_t draft_length = 4;
  sv::law_format format = sv::law_format::sparse_drop_zero;
  sv::wire_rule rule = sv::wire_rule::token;
  sv::session_mode mode = sv::session_mode::draft;
  bool bonus = true;
  bool draw_from_row = false;
  std::uint32_t max_skipped = 0;
  sv::hidden_format hidden = sv::hidden_format::none;
  bool with_draft = false;  // hidden states travel with each draft
  bool lazy = false;
  double threshold = 0.5;
  sv::link_loss on_link_loss = sv::link_loss::wait;
  std::uint32_t loss_after = 0;
  fault_rates rates{};
  // of the logits of each life of an engine: hash_engine
  float edge_jitter = 0, cloud_jitter = 0;
  sv::draft_journaling journal_drafts = sv::draft_journaling::automatic;
  std::uint64_t draw = 0;     // another one: other secrets, the same models
  std::uint64_t kill_at = 0;  // one kill, at this moment of either side, counted from 1; 0: none
  std::uint64_t step_limit = 200000;
  bool trace = false;  // tells the story of the run on stderr
};

//! The drafter of a schedule, or its target.
[[nodiscard]] inline hash_model model_of(const simulation_options& options, bool drafter) {
  hash_model m;
  m.vocab_size = options.vocab_size;
  m.seed = 1000 + options.session_id;
  if (drafter) m.agreement = 0.8F, m.own = 5 + options.session_id;
  return m;
}

template <class Skip, class Sparsifier = sv::top_k>
class basic_simulation {
 public:
  static constexpr std::size_t hidden_size = 6;

  explicit basic_simulation(const simulation_options& options, const Skip& skip = {},
                            const Sparsifier& sparsifier = {8})
      : options_(options),
        skip_(skip),
        sparsifier_(sparsifier),
        dice_(options.seed),
        edge_engine_(model(true), options.edge_jitter),
        cloud_engine_(model(false), options.cloud_jitter),
        next_salt_(options.salt) {
    prompt_.resize(options.prompt_length);
    for (std::uint32_t i = 0; i < options.prompt_length; ++i)
      prompt_[i] = static_cast<token_id>(mix(options.session_id * 77 + i) % options.vocab_size);
  }

  //! Runs the session to its end. False: `trouble()` says what went wrong.
  bool run() {
    make_cloud();
    restart_edge();
    std::uint64_t steps = 0;
    while (goes_on() && (edge_->state() != sv::edge_state::finished || !up_.empty() || !down_.empty())) {
      if (++steps > options_.step_limit) return fail("the session does not end");
      if (!step()) return fail("nothing is under way and no deadline is set");
    }
    if (!held_up_.bytes.empty()) ++ledger_.masked;  // of a life whose journal was whole: the next one asked nothing
    release(held_down_, false);
    if (!trouble_.empty()) return false;
    ledger_.add(edge_->statistics());
    ledger_.add(cloud_->statistics());
    return true;
  }

  [[nodiscard]] const std::vector<token_id>& text() const { return told_; }
  //! Of the cloud that wrote the first record.
  [[nodiscard]] std::uint64_t salt() const { return salt_; }
  //! Tokens that a run without faults under that salt has as well: those committed before a cloud lost its journal.
  [[nodiscard]] std::size_t same_until() const { return std::min(same_until_, told_.size()); }
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  //! Why a side failed, in a schedule with lies; ok: none did.
  [[nodiscard]] sv::status reason() const { return reason_; }
  [[nodiscard]] const ledger& counts() const { return ledger_; }
  [[nodiscard]] std::uint64_t scored() const { return scored_; }
  [[nodiscard]] const sv::edge_session& edge() const { return *edge_; }
  [[nodiscard]] const sv::cloud_session& cloud() const { return *cloud_; }
  [[nodiscard]] const std::vector<token_id>& prompt() const { return prompt_; }
  [[nodiscard]] hash_model model(bool drafter) const { return model_of(options_, drafter); }

 private:
  struct packet {
    sv::session_time arrives = 0;
    std::vector<std::byte> bytes;
    std::uint32_t life = 0;         // of the edge process whose question this is, or answers
    std::uint32_t sender_life = 0;  // of the cloud process that sent it
    bool copy = false;
    bool exempt = false;
    bool damaged = false;
    bool late = false;
    bool again = false;  // answers a copy or a late question, or is overtaken by such an answer
  };
  static constexpr sv::session_time flight = 10000;
  static constexpr sv::session_time patience = 100000;
  static constexpr std::uint64_t longest_jump = 100 * patience;

  [[nodiscard]] sv::fixed_window window() const { return {options_.draft_length, 50}; }
  //! None where the laws list no support.
  [[nodiscard]] std::optional<Sparsifier> kept() const {
    if (!sv::has_support(options_.format)) return std::nullopt;
    Sparsifier made = sparsifier_;
    if constexpr (std::is_same_v<Sparsifier, sv::top_k>) {
      if (options_.draw_from_row) made.support_size = 7;  // and the token, in laws of 8
    }
    return made;
  }
  [[nodiscard]] sv::edge_options edge_options() const {
    sv::edge_options o;
    o.session_id = options_.session_id;
    o.secret = secret_of(815 + 2 * options_.draw);
    o.vocab_size = options_.vocab_size;
    o.format = options_.format;
    o.attachments.max_skipped = options_.max_skipped;
    o.attachments.hidden = options_.hidden;
    o.attachments.hidden_size = options_.hidden == sv::hidden_format::none ? 0 : hidden_size;
    o.attachments.hidden_with_draft = options_.with_draft;
    o.attachments.channel_report = options_.hidden != sv::hidden_format::none;
    o.rule = options_.rule;
    o.mode = options_.mode;
    o.bonus = options_.bonus;
    o.draw_from_row = options_.draw_from_row;
    o.threshold = options_.threshold;
    o.on_link_loss = options_.on_link_loss;
    o.loss_after = options_.loss_after;
    o.max_ahead = 9;
    o.max_text_length = 256;
    o.token_budget = options_.tokens;
    o.retry_timeout = patience;
    o.text_chunk = 24;
    o.journal_drafts = options_.journal_drafts;
    return o;
  }
  void make_cloud() {
    sv::cloud_options o;
    o.secret = secret_of(4711 + 2 * options_.draw);
    o.salt = next_salt_++;  // a restored cloud goes on with the journal's
    if (cloud_journal_.empty() && same_until_ == everything) salt_ = o.salt;
    o.vocab_size = options_.vocab_size;
    o.limits = sv::cloud_session::limits_for(sv::format_of(edge_options(), kept(), window()));
    o.max_text_length = 256;
    o.text_chunk = 24;
    o.lazy = options_.lazy;
    auto made = sv::make_cloud(o);
    if (!made.ok()) return void(fail("cloud options"));
    cloud_ = std::make_unique<sv::cloud_session>(std::move(made).value());
    cloud_engine_.clear();
    cloud_floor_ = 0;
  }
  void make_edge() {
    auto made = sv::make_edge(edge_options(), kept(), window(), skip_);
    if (!made.ok()) return void(fail("edge options"));
    edge_ = std::make_unique<sv::edge_session>(std::move(made).value());
    edge_engine_.clear();
    edge_floor_ = 0;
  }
  bool fail(const std::string& what) {
    if (trouble_.empty())
      trouble_ = what + " (schedule " + std::to_string(options_.seed) + ", time " + std::to_string(now_) + ")";
    return false;
  }

  //! A side failed: the end of a schedule with lies, and trouble in one without.
  bool end_by_name(const char* who, sv::status why) {
    if (ledger_.lie == 0)
      return fail(who + (" failed: " + std::string(sv::message(why.code))) + " " + std::to_string(why.where));
    reason_ = why;
    return false;
  }
  [[nodiscard]] bool goes_on() const { return trouble_.empty() && reason_.ok(); }
  //! What the edge takes for the time.
  [[nodiscard]] sv::session_time edge_time() const { return now_ + ahead_; }

  // Processes and their ends.
  void restart_edge() {
    ++life_;
    ++now_;  // a clock moves on between two processes
    if (options_.rates.jump > 0) ahead_ = dice_.below(longest_jump);
    make_edge();
    shown_ = told_;
    if (edge_journal_.empty()) {
      if (begun_) {
        expect(edge_->recover(options_.prompt_length, edge_time()).ok(), "recover");
      } else {
        expect(edge_->start(prompt_, edge_time()).ok(), "start");
      }
    } else {
      if (const auto read = edge_->restore(edge_journal_, edge_time()); !read.ok())
        fail("restore of the edge: " + std::string(sv::name(read.error().code)));
      expect(redraws_ || told_.empty() || edge_->text().size() >= told_.size() + options_.prompt_length,
             "the restored text is shorter than what the host was told");
    }
    drain_edge();
  }
  //! The one kill of `kill_at`.
  [[nodiscard]] bool is_the_moment() { return options_.kill_at != 0 && ++moments_ == options_.kill_at; }
  //! Kills the edge with the chance of the schedule; true when that happened (the process is another one afterwards).
  bool maybe_kill_edge(double exposure = 1) {
    if (!dice_.chance(exposure * options_.rates.kill_edge) && !is_the_moment()) return false;
    const bool cloud_can_help = cloud_->state() == sv::cloud_state::ready ||
                                cloud_->state() == sv::cloud_state::finished ||
                                cloud_->state() == sv::cloud_state::streaming;
    const bool blank = begun_ && cloud_can_help && !cloud_blank_ && dice_.chance(options_.rates.without_journal);
    ++(blank ? ledger_.kill_edge_blank : ledger_.kill_edge);
    tell("edge", "KILL", blank ? 1 : 0, dead_ ? 1 : 0);
    ledger_.add(edge_->statistics());
    if (dead_) ++ledger_.masked;  // its timer will not ring
    dead_ = false;
    if (!held_down_.bytes.empty()) ++ledger_.masked;  // nobody is there for the late one
    held_down_ = {};
    if (blank) edge_journal_.clear();
    redraws_ = redraws_ || (blank && options_.max_skipped > 0);
    if (blank && options_.max_skipped > 0 &&
        // other ones, where they were drawn as tokens written ahead, or rows do not repeat
        (options_.on_link_loss == sv::link_loss::continue_local || options_.edge_jitter > 0)) {
      const std::uint32_t heard = std::max(cloud_->length(), options_.prompt_length) - options_.prompt_length;
      told_.resize(std::min<std::size_t>(told_.size(), heard));  // this host takes back what the cloud has not heard of
    }
    restart_edge();
    return true;
  }
  bool maybe_kill_cloud() {
    if (!dice_.chance(options_.rates.kill_cloud) && !is_the_moment()) return false;
    const bool edge_has_text = begun_ && !edge_journal_.empty() && edge_->length() >= options_.prompt_length &&
                               edge_->state() != sv::edge_state::fetching_text;
    const bool blank = edge_has_text && dice_.chance(options_.rates.without_journal);
    ++(blank ? ledger_.kill_cloud_blank : ledger_.kill_cloud);
    tell("cloud", "KILL", blank ? 1 : 0);
    ledger_.add(cloud_->statistics());
    if (blank) {
      cloud_journal_.clear();
      same_until_ = std::min(same_until_, told_.size());
      if (!held_down_.bytes.empty()) ++ledger_.masked;
      held_down_ = {};
    }
    ++cloud_life_;
    make_cloud();
    cloud_blank_ = cloud_journal_.empty();
    if (cloud_blank_) return true;
    if (const auto read = cloud_->restore(cloud_journal_); !read.ok())
      fail("restore of the cloud: " + std::string(sv::name(read.error().code)));
    return true;
  }
  //! The connection breaks and stands again: the edge asks at once, and no deadline passes.
  bool maybe_reconnect() {
    if (!dice_.chance(options_.rates.reconnect) || edge_->state() == sv::edge_state::finished) return false;
    ++ledger_.reconnect;
    tell("edge", "RECONNECT", dead_ ? 1 : 0);
    if (dead_) ++ledger_.masked;
    dead_ = false;
    for (packet* held : {&held_up_, &held_down_}) {
      if (!held->bytes.empty()) ++ledger_.masked;
      *held = {};
    }
    up_.clear();
    down_.clear();
    expect(edge_->reconnect(edge_time()).ok(), "reconnect");
    drain_edge();
    return true;
  }
  void tell(const char* who, const char* what, std::uint64_t a = 0, std::uint64_t b = 0) const {
    if (!options_.trace) return;
    std::fprintf(stderr, "%8llu %s %s %llu %llu | edge s%d e%u r%u n%u | cloud s%d e%u r%u n%u\n",
                 static_cast<unsigned long long>(now_), who, what, static_cast<unsigned long long>(a),
                 static_cast<unsigned long long>(b), static_cast<int>(edge_->state()), edge_->epoch(), edge_->round(),
                 edge_->length(), static_cast<int>(cloud_->state()), cloud_->epoch(), cloud_->round(),
                 cloud_->length());
  }
  void expect(bool condition, const char* what) {
    if (!condition) fail(what);
  }

  // Outputs. True: the process was killed on the way.
  bool drain_edge() {
    while (goes_on()) {
      if (maybe_kill_edge()) return true;
      const sv::session_output out = edge_->next();
      tell("edge", sv::name(out.action), out.position, out.bytes.size());
      switch (out.action) {
        case sv::session_action::none:
          return false;
        case sv::session_action::journal:
          if (out.replaces) edge_journal_.clear();
          write_out(out.bytes);
          edge_journal_.insert(edge_journal_.end(), out.bytes.begin(), out.bytes.end());
          begun_ = true;
          break;
        case sv::session_action::send: {
          write_out(out.bytes);
          ++edge_sent_;
          note_contexts();
          packet sent{std::max(now_ + flight, last_up_), {out.bytes.begin(), out.bytes.end()}, life_};
          last_up_ = sent.arrives;
          const auto header = sv::peek_header(out.bytes);
          sent.exempt = header && header->kind == sv::message_kind::refuse;
          if (!sent.exempt) dead_ = false;
          up_.push_back(std::move(sent));
          break;
        }
        case sv::session_action::evaluate:
          expect(out.position >= edge_floor_, "the edge feeds below keep_from");
          edge_floor_ = edge_->keep_from();
          if (!edge_engine_.feed(out.position, out.tokens, out.rows)) return fail("the edge feeds its engine wrongly");
          if (maybe_kill_edge()) return true;
          expect(edge_->next().action == sv::session_action::none, "evaluate is the last output");
          {
            const std::array<float, hidden_size> hidden = hidden_of<hidden_size>(edge_engine_.knows());
            const std::array<float, 12> attention = attention_of(edge_engine_.knows());
            (void)edge_->supply_row(sv::exec::seq, edge_engine_.rows()[0], {}, {hidden, attention}, edge_time());
          }
          break;
        case sv::session_action::rollback:
          expect(out.position >= edge_floor_, "the edge cuts below keep_from");
          if (!edge_engine_.cut(out.position)) return fail("the edge cuts its engine wrongly");
          break;
        case sv::session_action::committed:
          hear(out);
          break;
        case sv::session_action::failed:
          return end_by_name("the edge", out.reason);
        case sv::session_action::tentative:
          show(out);
          break;
        case sv::session_action::retracted:
          shown_.resize(std::min<std::size_t>(shown_.size(), out.position - options_.prompt_length));
          break;
        case sv::session_action::score:
        case sv::session_action::finished:
          break;
      }
    }
    return false;
  }
  //! What a reader sees: tokens come in order and are never exchanged without being taken back first.
  void show(const sv::session_output& out) {
    if (out.position > shown_.size() + options_.prompt_length) return void(fail("a gap in the text shown"));
    for (std::size_t i = 0; i < out.tokens.size(); ++i) {
      const std::size_t at = out.position + i - options_.prompt_length;
      if (at == shown_.size()) shown_.push_back(out.tokens[i]);
      if (shown_[at] != out.tokens[i]) return void(fail("a token that was shown was exchanged"));
    }
  }
  void hear(const sv::session_output& out) {
    show(out);
    if (out.position > told_.size() + options_.prompt_length) return void(fail("a gap in the committed text"));
    for (std::size_t i = 0; i < out.tokens.size(); ++i) {
      const std::size_t at = out.position + i - options_.prompt_length;
      if (at < told_.size()) {
        if (told_[at] != out.tokens[i]) return void(fail("committed text was changed"));
      } else {
        told_.push_back(out.tokens[i]);
      }
    }
    if (out.position + out.tokens.size() >= told_.size() + options_.prompt_length) redraws_ = false;
  }
  void score(const sv::session_output& out) {
    const std::size_t each = out.rows == 0 ? 0 : out.bytes.size() / out.rows;
    std::vector<double> scores;
    for (std::uint32_t i = 0; scores.size() < out.rows && i < 64 * out.positions.size(); ++i) {
      if ((out.positions[i / 64] >> (i % 64) & 1u) == 0) continue;
      scores.push_back(
          score_of(out.bytes.subspan(each * scores.size(), each), cloud_engine_.knows(out.position + i - 1)));
    }
    scored_ += scores.size();
    (void)cloud_->supply_scores(scores, now_);
  }
  //! `life`: whose question is being worked on; `live`: it is the question that the edge waits for.
  bool drain_cloud(std::uint32_t life, bool live) {
    bool answered = false;
    const auto killed = [&] {
      if (!maybe_kill_cloud()) return false;
      if (live && life == life_ && !answered) {
        ++ledger_.lost_work;
        dead_ = true;
      }
      return true;
    };
    while (goes_on()) {
      if (killed()) return true;
      const sv::session_output out = cloud_->next();
      tell("cloud", sv::name(out.action), out.position, out.bytes.size());
      switch (out.action) {
        case sv::session_action::none:
          return false;
        case sv::session_action::journal:
          if (out.replaces) cloud_journal_.clear();
          write_out(out.bytes);
          cloud_journal_.insert(cloud_journal_.end(), out.bytes.begin(), out.bytes.end());
          break;
        case sv::session_action::send: {
          answered = true;
          write_out(out.bytes);
          ++cloud_sent_;
          note_contexts();
          packet sent{std::max(now_ + flight, last_down_), {out.bytes.begin(), out.bytes.end()}, life, cloud_life_};
          last_down_ = sent.arrives;
          if (life == life_) down_.push_back(std::move(sent));  // a dead process has no address
          break;
        }
        case sv::session_action::evaluate:
          expect(out.position >= cloud_floor_, "the cloud feeds below keep_from");
          cloud_floor_ = cloud_->keep_from();
          if (!cloud_engine_.feed(out.position, out.tokens, out.rows))
            return fail("the cloud feeds its engine wrongly");
          if (killed()) return true;
          expect(cloud_->next().action == sv::session_action::none, "evaluate is the last output");
          (void)cloud_->supply_rows(sv::exec::seq, sv::row_span_provider<float>(cloud_engine_.rows(), transform_),
                                    now_);
          break;
        case sv::session_action::score:
          if (killed()) return true;
          score(out);
          break;
        case sv::session_action::rollback:
          expect(out.position >= cloud_floor_, "the cloud cuts below keep_from");
          if (!cloud_engine_.cut(out.position)) return fail("the cloud cuts its engine wrongly");
          break;
        case sv::session_action::failed:
          return end_by_name("the cloud", out.reason);
        default:
          break;
      }
    }
    return false;
  }

  // The link.
  bool step() {
    const bool from_edge = !up_.empty() && (down_.empty() || up_.front().arrives <= down_.front().arrives);
    const bool from_cloud = !from_edge && !down_.empty();
    if (options_.rates.jump > 0 && dice_.chance(options_.rates.jump)) {
      ++ledger_.jump;
      ahead_ += dice_.below(longest_jump);
    }
    auto deadline = edge_->deadline();
    if (deadline.has_value()) deadline = *deadline - std::min(*deadline, ahead_);
    const sv::session_time next = from_edge    ? up_.front().arrives
                                  : from_cloud ? down_.front().arrives
                                               : ~sv::session_time{0};
    if (deadline.has_value() && *deadline <= next) {
      now_ = std::max(now_, *deadline);
      if (maybe_kill_edge(10)) return true;  // a deadline is ten flights long
      const std::uint64_t before = edge_->statistics().timeouts;
      (void)edge_->tick(edge_time());
      if (edge_->statistics().timeouts != before) dead_ = false;  // noticed
      drain_edge();
      return true;
    }
    if (!from_edge && !from_cloud) return false;
    now_ = std::max(now_, next);
    if (maybe_kill_cloud() || maybe_reconnect()) return true;
    packet p = std::move(from_edge ? up_.front() : down_.front());
    (from_edge ? up_ : down_).pop_front();
    if (!from_edge && p.life != life_) return true;
    arrive(std::move(p), from_edge);
    return true;
  }

  [[nodiscard]] fault draw(const packet& p, bool upward) {
    if (p.life != life_ || p.exempt) return fault::none;
    const double roll = static_cast<double>(dice_.next() >> 11) * 0x1.0p-53;
    const fault_rates& r = options_.rates;
    double sum = r.drop;
    if (roll < sum) return fault::drop;
    if (roll < (sum += r.duplicate)) return fault::duplicate;
    if (roll < (sum += r.reorder))
      return (upward ? held_up_ : held_down_).bytes.empty() && (upward || p.sender_life == cloud_life_) ? fault::reorder
                                                                                                        : fault::none;
    if (upward && cloud_blank_) return fault::none;  // it could not tell damage from a foreign session
    if (roll < (sum += r.truncate)) return fault::truncate;
    if (roll < (sum += r.flip)) return fault::flip;
    return fault::none;
  }

  void maybe_lie(packet& p) {
    if (options_.rates.lie == 0) return;
    if (dice_.chance(options_.rates.lie) && forge(p.bytes, contexts_, dice_.below(8 * p.bytes.size()))) ++ledger_.lie;
  }
  //! What a message that is sent now may be under.
  void note_contexts() {
    if (options_.rates.lie == 0) return;
    const auto note = [&](std::uint32_t epoch, std::uint32_t round, std::span<const token_id> text) {
      contexts_.push_back({options_.session_id, epoch, 0, 0, 0, 0});
      contexts_.push_back(
          {options_.session_id, epoch, round, static_cast<std::uint32_t>(text.size()), sv::prefix_hash(text), 0});
    };
    note(edge_->epoch(), edge_->round(), edge_->text().first(edge_->agreed_length()));
    note(cloud_->epoch(), cloud_->round(), cloud_->text());
  }
  void arrive(packet p, bool upward) {
    packet& held = upward ? held_up_ : held_down_;
    maybe_lie(p);
    const fault what = draw(p, upward);
    switch (what) {
      case fault::drop:
        ++ledger_.drop;
        dead_ = true;
        return;
      case fault::reorder:
        ++ledger_.reorder;
        dead_ = true;
        p.copy = p.late = true;
        held = std::move(p);
        return;
      case fault::truncate:
        ++ledger_.truncate;
        p.bytes.resize(1 + dice_.below(p.bytes.size() - 1));
        p.damaged = true;
        deliver(p, upward);
        return;
      case fault::flip: {
        ++ledger_.flip;
        const std::uint64_t bit = dice_.below(8 * p.bytes.size());
        p.bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
        p.damaged = true;
        deliver(p, upward);
        return;
      }
      case fault::duplicate:
      case fault::none:
        break;
    }
    bool killed = deliver(p, upward);
    if (what == fault::duplicate) {
      ++ledger_.duplicate;
      p.copy = true;
      if (killed) {
        ++ledger_.masked;
      } else {
        killed = deliver(p, upward);
      }
    }
    if (held.bytes.empty() || p.exempt) return;
    if (killed) {
      ++ledger_.masked;
      held = {};
    } else {
      release(held, upward);
    }
  }
  void release(packet& held, bool upward) {
    if (held.bytes.empty()) return;
    const packet late = std::move(held);
    held = {};
    deliver(late, upward);
  }
  //! True: the receiver was killed while it worked on the message.
  bool deliver(const packet& p, bool upward) {
    if (!goes_on()) return false;
    if (!upward) {
      const std::uint64_t sent = edge_sent_;
      const sv::status used = edge_->receive(p.bytes, edge_time());
      tell("edge hears", sv::name(used.code), static_cast<std::uint64_t>(p.bytes[0]), p.copy ? 1 : 0);
      if (p.late && used.ok() && dead_) {  // it is the answer, as nothing else came since the deadline
        dead_ = false;
        ledger_.masked += 2;
      }
      const bool refusal = !p.damaged && !p.copy && refuses_damage(p.bytes);
      if (refusal && !used.ok()) ++ledger_.waited;  // of no use: counted where it arrives
      if (p.again) note_again(used.ok());
      if (drain_edge()) return true;
      note_wait((p.damaged || refusal) && edge_sent_ == sent);
      return false;
    }
    if (cloud_blank_) {
      const auto header = sv::peek_header(p.bytes);
      const bool hello = header && header->kind == sv::message_kind::hello;
      if (!hello && !p.copy && (!p.exempt || p.again)) ++ledger_.unknown;
    }
    const std::uint64_t sent = cloud_sent_;
    const std::size_t under_way = down_.size();
    const sv::status used = cloud_->receive(p.bytes, now_);
    tell("cloud hears", sv::name(used.code), static_cast<std::uint64_t>(p.bytes[0]), p.copy ? 1 : 0);
    if (cloud_->state() != sv::cloud_state::blank) cloud_blank_ = false;
    const bool killed = drain_cloud(p.life, !p.copy && !p.exempt);
    for (std::size_t i = under_way; (p.copy || p.again) && i < down_.size(); ++i)
      down_[i].again = down_[i].exempt = true;
    if (killed) return true;
    note_wait(p.damaged && p.life == life_ && cloud_sent_ == sent);
    return false;
  }
  //! An answer to a copy, or to a late question, arrived. Where it is the answer, what is under way comes too late.
  void note_again(bool used) {
    if (!used) return void(++ledger_.again);
    if (dead_) ++ledger_.masked;
    dead_ = false;
    for (packet& late : up_) late.again = late.exempt = true;
    for (packet& late : down_) late.again = late.exempt = true;
  }
  //! Damage that nobody answers at once: the edge's deadline will.
  void note_wait(bool unanswered) {
    if (!unanswered || dead_) return;
    ++ledger_.waited;
    dead_ = true;
  }
  [[nodiscard]] bool refuses_damage(const std::vector<std::byte>& message) const {
    sv::wire_context session{};
    session.session_id = options_.session_id;
    for (const sv::wire_context& context : {sv::wire_context{}, session}) {
      const auto refusal = sv::decode_refuse(context, message);
      if (refusal)
        return !sv::detail::ends_session(refusal->reason.code) && refusal->reason.code != sv::errc::unknown_session;
    }
    return false;
  }

  simulation_options options_;
  Skip skip_;
  Sparsifier sparsifier_;
  dice dice_;
  hash_engine edge_engine_, cloud_engine_;
  std::array<sv::row_transform, 1> transform_{};
  std::vector<token_id> prompt_;
  std::unique_ptr<sv::edge_session> edge_;
  std::unique_ptr<sv::cloud_session> cloud_;
  std::vector<std::byte> edge_journal_, cloud_journal_;
  std::vector<token_id> shown_;  // what a reader sees, tentative tokens included
  std::vector<token_id> told_;   // what the host was told is committed, without the prompt
  std::deque<packet> up_, down_;
  packet held_up_{}, held_down_{};
  sv::session_time now_ = 1, last_up_ = 0, last_down_ = 0;
  sv::session_time ahead_ = 0;  // the edge's clock is ahead of the link's
  std::vector<sv::wire_context> contexts_;
  sv::status reason_{};
  std::uint32_t life_ = 0, cloud_life_ = 0;
  // the edge lost its journal, and with it tokens that it committed alone: it draws the same ones again
  bool redraws_ = false;
  bool dead_ = false;  // the question that the edge waits for will not be answered
  bool begun_ = false;
  bool cloud_blank_ = true;
  static constexpr std::size_t everything = ~std::size_t{0};
  std::uint64_t next_salt_, salt_ = 0;
  std::size_t same_until_ = everything;
  ledger ledger_{};
  std::uint64_t scored_ = 0;
  std::uint64_t edge_sent_ = 0, cloud_sent_ = 0;    // messages
  std::uint32_t edge_floor_ = 0, cloud_floor_ = 0;  // keep_from of the last feed: nothing is cut below
  std::uint64_t moments_ = 0;                       // outputs, and work of engines, so far
  std::string trouble_;
};

using simulation = basic_simulation<sv::always_send>;

}  // namespace specverify_test

#endif
