// SPDX-License-Identifier: Apache-2.0
// Lives after an accident: journals lose their last records, as after a power cut, or all of them, an engine fails and
// both sides are restored, connections end, a cloud comes back behind a connection that stands. One side at least
// always remembers what was told to the host. Half of the schedules have no timers (retry_timeout = 0) and connections
// that lose nothing while they stand. Copies of old messages arrive in all of them, at sides that have failed, too, and
// a life of the edge that has ended may speak on while the next one does. Half of the clouds have an engine that works
// while messages arrive. Nobody waits for ever, committed text stays, both sides end with the same text; only where two
// lives spoke at a time may the end be a name. 400 schedules, 40 000 with SPECVERIFY_LONG=1.
#include <doctest/doctest.h>

#include <specverify/host/drive.hpp>

#include <session/engine_model.hpp>
#include <session/schedules.hpp>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

using namespace specverify_test;

namespace {

using bytes = std::vector<std::byte>;

//! What happened, so that a schedule without some kind of event is noticed.
struct events {
  std::uint64_t broken = 0, edge_kills = 0, cloud_kills = 0, cut_back = 0, gone = 0, engines = 0, copies = 0, held = 0;
  std::uint64_t stands = 0, to_failed = 0, stale = 0, named = 0;
};

//! A process that can end: its session, its engine, and the records that it has written.
template <class Session>
struct process {
  std::unique_ptr<Session> session{};
  hash_engine engine;
  std::vector<bytes> records{};
  std::vector<bytes> sent{};  // under way to the other side
  sv::status failed{};
  bool holds = false;  // rows that the session has not been given yet

  [[nodiscard]] bytes journal() const {
    bytes all;
    for (const bytes& record : records) all.insert(all.end(), record.begin(), record.end());
    return all;
  }
};

class life_after_life {
 public:
  life_after_life(const simulation_options& options, bool timed, events& seen)
      : o_(options),
        timed_(timed),
        seen_(seen),
        dice_(options.seed),
        edge_{{}, hash_engine(model_of(options, true), options.edge_jitter)},
        cloud_{{}, hash_engine(model_of(options, false), options.cloud_jitter)} {
    for (std::uint32_t i = 0; i < o_.prompt_length; ++i)
      prompt_.push_back(static_cast<token_id>(mix(o_.session_id * 77 + i) % o_.vocab_size));
  }

  //! The text is whole at both sides. False: `trouble` says what is not.
  bool run() {
    begin_cloud();
    begin_edge();
    for (int steps = 0; trouble.empty(); ++steps) {
      if (named_) return ++seen_.named, true;
      if (steps > 20000) return fail("the session does not end");
      if (holds_rows() && ((edge_.sent.empty() && cloud_.sent.empty()) || dice_.chance(0.3))) {
        supply_held_rows();
        continue;
      }
      if (edge_.sent.empty() && cloud_.sent.empty()) {
        stale_.reset();
        if (edge_.session->state() == sv::edge_state::finished) return is_whole();
        if (!edge_.failed.ok() || !cloud_.failed.ok()) {
          renew_failed();
        } else if (!time_passes()) {
          return fail("both sides wait for ever");
        }
        continue;
      }
      if (!something_happens()) deliver();
    }
    return false;
  }

  std::string trouble{};

 private:
  bool fail(const std::string& what) {
    if (trouble.empty()) trouble = what;
    return false;
  }
  [[nodiscard]] std::size_t told_until() const { return prompt_.size() + told_.size(); }
  bool is_whole() {
    const auto edge = edge_.session->text(), cloud = cloud_.session->text();
    // A cloud whose journal lost the end, which the edge had told its host, has no other text.
    const auto same = edge.first(cloud_forgot_ ? std::min(edge.size(), cloud.size()) : edge.size());
    if (!std::ranges::equal(same, cloud)) return fail("the texts differ");
    if (told_.size() != o_.tokens || !std::ranges::equal(edge.subspan(prompt_.size()), told_))
      return fail("the host was told another text");
    return true;
  }

  // Processes.
  void begin_cloud() {
    sv::cloud_options o;
    o.secret = secret_of(4711);
    o.salt = ++salt_;
    o.vocab_size = o_.vocab_size;
    o.text_chunk = 24;
    auto made = sv::make_cloud(o);
    if (!made.ok()) return void(fail("cloud options"));
    cloud_.session = std::make_unique<sv::cloud_session>(std::move(made).value());
    cloud_.engine.clear();
    cloud_.failed = {};
    cloud_.holds = false;
    if (cloud_.records.empty()) return;
    if (const auto read = cloud_.session->restore(cloud_.journal()); !read.ok())
      fail("restore of the cloud: " + std::string(sv::name(read.error().code)));
    run_cloud();
  }
  void begin_edge() {
    sv::edge_options o;
    o.session_id = o_.session_id;
    o.secret = secret_of(815);
    o.vocab_size = o_.vocab_size;
    o.format = o_.format;
    o.rule = o_.rule;
    o.mode = o_.mode;
    o.token_budget = o_.tokens;
    o.text_chunk = 24;
    o.journal_drafts = o_.journal_drafts;
    o.retry_timeout = timed_ ? 100 : 0;
    auto made = sv::make_edge(o);
    if (!made.ok()) return void(fail("edge options"));
    edge_.session = std::make_unique<sv::edge_session>(std::move(made).value());
    edge_.engine.clear();
    edge_.failed = {};
    sv::status begun;
    if (!edge_.records.empty()) {
      const auto read = edge_.session->restore(edge_.journal(), now_);
      begun = read.ok() ? sv::status{} : read.error();
    } else if (started_) {
      begun = edge_.session->recover(o_.prompt_length, now_++);
    } else {
      begun = edge_.session->start(prompt_, now_);
      started_ = true;
    }
    if (!begun.ok()) return void(fail("the edge does not begin: " + std::string(sv::name(begun.code))));
    run_edge();
  }
  //! The process ends, and its journal loses what it may lose.
  template <class Session>
  void forget_records(process<Session>& of, bool may) {
    if (!may || dice_.chance(0.3)) return;
    if (dice_.chance(0.2)) {
      ++seen_.gone;
      of.records.clear();
      return;
    }
    // The first record stands from the start of the session, which the other side may not know of.
    const std::size_t lost =
        std::min<std::size_t>(dice_.below(16), of.records.size() - std::min<std::size_t>(of.records.size(), 1));
    seen_.cut_back += lost > 0 ? 1 : 0;
    of.records.resize(of.records.size() - lost);
  }
  void kill_edge() {
    ++seen_.edge_kills;
    if (dice_.chance(0.3) && edge_.failed.ok()) {
      stale_ = std::move(edge_);
      edge_ = {{}, hash_engine(model_of(o_, true), o_.edge_jitter)};
      edge_.records = stale_->records;
    }
    const auto state = cloud_.session->state();
    const bool remembered = (state == sv::cloud_state::ready || state == sv::cloud_state::streaming ||
                             state == sv::cloud_state::finished) &&
                            cloud_.session->length() >= told_until();
    forget_records(edge_, remembered);
    edge_.sent.clear();
    cloud_.sent.clear();
    begin_edge();
  }
  //! Whether nobody notices that a cloud died and came back: no question dies with it, or a timer asks it again.
  [[nodiscard]] bool connection_may_stand() const {
    return timed_ || (o_.mode == sv::session_mode::draft && !cloud_.holds && cloud_.failed.ok());
  }
  void kill_cloud() {
    ++seen_.cloud_kills;
    if (connection_may_stand() && dice_.chance(0.3)) {
      ++seen_.stands;
      begin_cloud();
      return;
    }
    const bool fetches =
        edge_.session->state() == sv::edge_state::fetching_text;  // and has written nothing of that down
    const bool remembered = edge_.failed.ok() && !fetches && edge_.session->agreed_length() >= told_until() &&
                            edge_.session->agreed_length() > prompt_.size();
    const std::size_t records = cloud_.records.size();
    forget_records(cloud_, remembered);
    if (cloud_.records.size() < records) cloud_forgot_ = true;
    break_connection();
    begin_cloud();
    reconnect();
  }
  void break_connection() {
    stale_.reset();
    edge_.sent.clear();
    cloud_.sent.clear();
  }
  void reconnect() {
    if (!trouble.empty() || !edge_.failed.ok()) return;
    (void)edge_.session->reconnect(now_);
    run_edge();
  }
  //! Both were told; the host restores what failed.
  void renew_failed() {
    break_connection();
    const bool edge_too = !edge_.failed.ok();
    if (!cloud_.failed.ok()) begin_cloud();
    if (edge_too) {
      begin_edge();
    } else {
      reconnect();
    }
  }

  [[nodiscard]] bool time_passes() {
    const auto deadline = edge_.session->deadline();
    if (!deadline) return false;
    now_ = std::max(now_, *deadline);
    (void)edge_.session->tick(now_);
    run_edge();
    return true;
  }

  //! One of the events that a schedule is made of, or nothing.
  bool something_happens() {
    if (dice_.chance(0.02)) {
      ++seen_.broken;
      break_connection();
      reconnect();
      return true;
    }
    if (dice_.chance(0.03)) return kill_edge(), true;
    if (dice_.chance(0.03)) return kill_cloud(), true;
    if (dice_.chance(0.005)) {
      ++seen_.engines;
      const sv::status why{sv::errc::engine_failed, sv::part::host, 0};
      if (dice_.chance(0.5)) {
        if (cloud_.session->state() == sv::cloud_state::blank || !cloud_.failed.ok()) return false;
        (void)cloud_.session->engine_failed(why);
        run_cloud();
      } else if (edge_.failed.ok()) {
        (void)edge_.session->engine_failed(why);
        run_edge();
      }
      return true;
    }
    if (dice_.chance(0.03)) return copy_arrives(), true;
    if (stale_.has_value() && dice_.chance(0.3)) return stale_life_speaks(), true;
    return false;
  }
  //! A life of the edge that is over for its host, and does not know: it asks on.
  void stale_life_speaks() {
    if (stale_->sent.empty() || dice_.chance(0.1)) return stale_.reset();
    ++seen_.stale;
    stale_spoke_ = true;
    const bytes message = std::move(stale_->sent.front());
    stale_->sent.erase(stale_->sent.begin());
    hear(message, false);
  }
  void copy_arrives() {
    const bool down = dice_.chance(0.5);
    const std::vector<bytes>& old = down ? said_by_cloud_ : said_by_edge_;
    if (old.empty()) return;
    ++seen_.copies;
    hear(bytes(old[dice_.below(old.size())]), down);
  }
  void deliver() {
    const bool down = edge_.sent.empty() || (!cloud_.sent.empty() && dice_.chance(0.5));
    std::vector<bytes>& from = down ? cloud_.sent : edge_.sent;
    const bytes message = std::move(from.front());
    from.erase(from.begin());
    hear(message, down);
  }
  void hear(const bytes& message, bool down) {
    seen_.to_failed += down ? (edge_.failed.ok() ? 0u : 1u) : (cloud_.failed.ok() ? 0u : 1u);
    if (down) {
      (void)edge_.session->receive(message, now_);
      run_edge();
      if (stale_.has_value() && dice_.chance(0.5)) {
        (void)stale_->session->receive(message, now_);
        work(*stale_, said_by_edge_, [](const sv::session_output&) { return true; });
        if (!stale_->failed.ok()) stale_.reset();
      }
    } else {
      (void)cloud_.session->receive(message, now_);
      run_cloud();
    }
  }

  // Outputs.
  void run_edge() {
    if (!trouble.empty()) return;
    work(edge_, said_by_edge_, [this](const sv::session_output& out) {
      for (std::size_t i = 0; i < out.tokens.size(); ++i) {
        const std::size_t at = out.position + i - prompt_.size();
        if (at > told_.size()) return fail("a gap in the committed text");
        if (at == told_.size()) told_.push_back(out.tokens[i]);
        if (told_[at] != out.tokens[i]) return fail("committed text was changed");
      }
      return true;
    });
  }
  void run_cloud() {
    if (!trouble.empty()) return;
    work(cloud_, said_by_cloud_, [](const sv::session_output&) { return true; });
  }
  //! The cloud's engine is at work while messages arrive.
  [[nodiscard]] bool holds_rows() const { return cloud_.holds && cloud_.failed.ok() && cloud_.session->wants_rows(); }
  void supply_held_rows() {
    ++seen_.held;
    cloud_.holds = false;
    engine_model engine{cloud_.engine};
    (void)sv::supply(sv::exec::seq, *cloud_.session, engine, now_);
    run_cloud();
  }
  template <class Session, class Commit>
  void work(process<Session>& of, std::vector<bytes>& said, const Commit& commit) {
    engine_model engine{of.engine};
    const bool failed_before = !of.failed.ok();
    const bool holds = std::is_same_v<Session, sv::cloud_session> && o_.seed % 4 < 2;
    const auto take = [&](const sv::session_output& out) {
      const bytes copied(out.bytes.begin(), out.bytes.end());
      if (out.action == sv::session_action::send) {
        of.sent.push_back(copied);
        said.push_back(copied);
      }
      if (out.action == sv::session_action::journal) {
        if (out.replaces) of.records.clear();
        of.records.push_back(copied);
      }
      if (out.action == sv::session_action::committed) commit(out);
      if (out.action == sv::session_action::failed) of.failed = out.reason;
      if (holds && out.action == sv::session_action::rollback) (void)engine.truncate(out.position);
    };
    if (holds) {
      const sv::session_work work = sv::take_outputs(*of.session, take);
      if (work.wait == sv::session_wait::rows) {
        of.holds = true;
        if (!engine.feed(work.asked.position, work.asked.tokens, work.asked.rows).ok()) return void(fail("a feed"));
      }
    }
    const sv::status why = holds ? of.failed : sv::drive(sv::exec::seq, *of.session, engine, take);
    if (of.failed.ok() || failed_before || why.code == sv::errc::engine_failed) return;
    const sv::status told = of.session->refusal();
    if (of.failed.code == sv::errc::refused_by_peer && told.code == sv::errc::engine_failed) return;
    if (stale_spoke_ && of.failed.code == sv::errc::prefix_mismatch) return void(named_ = true);
    fail("a side failed: " + std::string(sv::name(of.failed.code)) + ", refused with " +
         std::string(sv::name(told.code)));
  }

  simulation_options o_;
  bool timed_;
  events& seen_;
  dice dice_;
  process<sv::edge_session> edge_;
  std::optional<process<sv::edge_session>> stale_{};
  process<sv::cloud_session> cloud_;
  std::vector<token_id> prompt_{}, told_{};
  std::vector<bytes> said_by_edge_{}, said_by_cloud_{};
  std::uint64_t salt_ = 0;
  sv::session_time now_ = 0;
  bool started_ = false;
  bool cloud_forgot_ = false;
  bool stale_spoke_ = false;  // two lives of the edge that draft the same round differently may end with a name
  bool named_ = false;
};

simulation_options options_of_lives(std::uint64_t seed) {
  simulation_options o = options_of(mix(seed) % 64);
  o.seed = o.session_id = seed;
  o.edge_jitter = jitters[mix(seed ^ 0xE) % jitters.size()];
  o.cloud_jitter = jitters[mix(seed ^ 0xC) % jitters.size()];
  o.journal_drafts = static_cast<sv::draft_journaling>(mix(seed ^ 0xD) % 3);
  if (mix(seed ^ 0x5) % 8 == 0) o.mode = sv::session_mode::stream;
  return o;
}

}  // namespace

TEST_CASE("NET-5 lives after an accident: nobody waits for ever, with timers or without, and committed text stays") {
  events seen;
  for (std::uint64_t seed = 1; seed <= schedules(400, 40000); ++seed) {
    life_after_life run(options_of_lives(seed), seed % 2 == 0, seen);
    const bool is_whole = run.run();
    INFO("schedule ", seed, ": ", run.trouble);
    CHECK(is_whole);
    if (!is_whole) return;
  }
  CHECK(seen.broken > 0);
  CHECK(seen.edge_kills > 0);
  CHECK(seen.cloud_kills > 0);
  CHECK(seen.cut_back > 0);
  CHECK(seen.gone > 0);
  CHECK(seen.engines > 0);
  CHECK(seen.copies > 0);
  CHECK(seen.held > 0);
  CHECK(seen.stands > 0);
  CHECK(seen.to_failed > 0);
  CHECK(seen.stale > 0);
}
