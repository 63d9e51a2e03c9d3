// SPDX-License-Identifier: Apache-2.0
// One schedule: two hosts with journals, and a link between them, under random faults. One step takes one output,
// supplies one row, or lets one message arrive; a process may die between any two steps. It checks rules that must
// always hold: committed text does not change, announced text is on disk, text that no engine decided is marked as the
// edge's, and nobody waits forever.
#ifndef SPECVERIFY_TESTS_SESSION_SIMULATION_HPP
#define SPECVERIFY_TESTS_SESSION_SIMULATION_HPP

#include <session/simulated_link.hpp>
#include <session/simulated_system.hpp>
#include <support/forge.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace specverify_test {

//! Behaviour of a dishonest cloud.
enum class lie : std::uint8_t {
  none,
  silent,   //!< sends nothing
  forgets,  //!< forgets everything with each message
  bits,     //!< changes a bit in some honest messages, under a correct checksum
  own_text  //!< returns with more text than it had, and with a later round
};

//! Settings of one run.
struct schedule {
  std::uint64_t seed = 1;
  link_kind link = link_kind::pipe;
  lie liar = lie::none;
  std::uint32_t faults = 0;                 // kills, and early connections or deadlines
  bool cuts = false;                        // whether some kills cost a part of the journal
  double noise = 0, copies = 0;             // datagram_faults
  float edge_jitter = 0, cloud_jitter = 0;  // noise of logits after each restart: hash_engine
  std::uint64_t stop_at = 0;                // the edge's host wants no more text after this many steps
  std::uint64_t kill_at = 0;                // one more kill, of either side, after this many steps
  bool trace = false;                       // whether to print the run on stderr
};

//! If SPECVERIFY_WRITE_OUT is set, bytes of journals and messages go to the system, as from a host, so that valgrind
//! can report uninitialized bytes (written_bytes_test.sh). SPECVERIFY_WRITE_OUT=planted adds one such byte.
inline void write_out(std::span<const std::byte> written) {
  static const char* const wanted = std::getenv("SPECVERIFY_WRITE_OUT");
  if (wanted == nullptr) return;
  static const int file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::unique_ptr<std::byte[]> copy(new std::byte[written.size() + 1]);
  std::copy(written.begin(), written.end(), copy.get());
  const bool planted = std::string_view(wanted) == "planted";
  (void)!::write(file, copy.get(), written.size() + (planted ? 1 : 0));
}

//! A process with its engine, its disk, and the outputs that its host has received.
template <class Session>
struct simulated_host {
  std::optional<Session> session{};  // none: the process is dead
  hash_engine engine;
  std::vector<bytes> disk{};        // records
  std::vector<token_id> told{};     // committed text, with the prompt
  sv::session_statistics before{};  // of earlier processes
  std::uint64_t sent = 0;           // messages
  std::uint32_t floor = 0;          // keep_from of the last feed: no truncation below
  bool was_cut = false, over = false, has_rows = false;
  std::optional<sv::status> failure{};

  [[nodiscard]] bool is_drained() const { return session && !session->has_outputs(); }
  [[nodiscard]] bytes journal() const {
    bytes all;
    for (const bytes& record : disk) all.insert(all.end(), record.begin(), record.end());
    return all;
  }
  //! Returns the text that the journal holds.
  [[nodiscard]] std::vector<token_id> held() const {
    std::vector<token_id> text;
    for (const bytes& record : disk) {
      const auto payload = sv::detail::open_record(record);
      if (!payload || payload->empty()) continue;  // torn
      const auto word = [](const std::byte* at) { return static_cast<std::uint32_t>(sv::numeric::load_le(at, 4)); };
      const std::uint32_t first = word(record.data() + 8), count = word(record.data() + 12);
      text.resize(first + count);
      for (std::uint32_t i = 0; i < count; ++i)
        text[first + i] = static_cast<token_id>(word(payload->data() + 4 + 4 * std::size_t{i}));
    }
    return text;
  }
};

//! Events of a simulation, for comparison with the sides' statistics.
struct simulation_counts {
  std::uint64_t kills = 0, cuts = 0, jumps = 0, lies = 0, handed_over = 0, stops = 0;
  std::uint64_t starts = 0, restarts = 0;         // edge processes with a handshake; restored processes
  std::uint64_t disconnects = 0, reconnects = 0;  // reported by the edge's host
  std::uint64_t ticks = 0, again = 0;             // deadlines; handshakes because the cloud had none
  std::uint64_t messages = 0, unsent = 0;         // taken from the sessions; lost with a process
  std::uint64_t up = 0, down = 0, hellos = 0;     // received by the sessions

  simulation_counts& operator+=(const simulation_counts& o) {
    for (const auto count :
         {&simulation_counts::kills, &simulation_counts::cuts, &simulation_counts::jumps, &simulation_counts::lies,
          &simulation_counts::handed_over, &simulation_counts::stops, &simulation_counts::starts,
          &simulation_counts::restarts, &simulation_counts::disconnects, &simulation_counts::reconnects,
          &simulation_counts::ticks, &simulation_counts::again, &simulation_counts::messages,
          &simulation_counts::unsent, &simulation_counts::up, &simulation_counts::down, &simulation_counts::hellos})
      this->*count += o.*count;
    return *this;
  }
};

class simulation {
 public:
  simulation(const simulated_system& system, const schedule& with)
      : system_(system),
        with_(with),
        chance_(with.seed),
        edge_{{}, hash_engine(system.drafter, with.edge_jitter)},
        cloud_{{}, hash_engine(system.target, with.cloud_jitter)} {
    const bool delivers = with.link == link_kind::datagrams || with.link == link_kind::copies;
    if (delivers) {
      const datagram_faults suffers{with.noise, with.copies, with.link == link_kind::datagrams};
      link_ = std::make_unique<datagram_link>(suffers, chance_);
    } else {
      link_ = std::make_unique<message_link>(with.link == link_kind::pipe, chance_);
    }
    system_.device.retry_timeout = has_timers() ? 24 * datagram_link::patience : 0;
    edge_.told = cloud_.told = system.prompt;
  }

  //! Runs the session to its end. Returns false on an error; `trouble()` describes it.
  bool run() {
    begin_edge();
    begin_cloud();
    for (std::uint64_t step = 1; trouble_.empty(); ++step) {
      if (is_over()) break;
      if (step > 60000) fail("no end");
      if (step == with_.kill_at) {
        kill_one();
      } else if (with_.stop_at != 0 && step >= with_.stop_at && may_stop()) {
        stop();
      } else if (faults_ < with_.faults && chance_.chance(0.04)) {
        fault();
      } else if (!act() && !time_passes()) {
        fail("both sides wait for ever");
      }
      notice_break();
    }
    if (trouble_.empty()) check_end();
    return trouble_.empty();
  }

  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  //! Returns ok if the text is complete and both sides have reported that.
  [[nodiscard]] sv::status reason() const {
    const sv::status why = edge_.failure.value_or(sv::status{});
    return why.code == sv::errc::refused_by_peer ? edge_.session->refusal() : why;
  }
  //! Returns the text after the prompt, as the edge's host received it.
  [[nodiscard]] std::vector<token_id> text() const {
    return {edge_.told.begin() + static_cast<std::ptrdiff_t>(system_.prompt.size()), edge_.told.end()};
  }
  //! Returns whether the edge's host ended the text, even if it was complete by then.
  [[nodiscard]] bool was_stopped() const { return counts_.stops > 0; }
  [[nodiscard]] bool was_cut() const { return edge_.was_cut || cloud_.was_cut; }
  //! Returns whether a process that has restarted had no table for the code of ids.
  [[nodiscard]] bool lost_a_table() const { return lost_a_table_; }
  [[nodiscard]] const simulation_counts& counts() const { return counts_; }
  [[nodiscard]] const link_counts& link() const { return link_->counts; }
  [[nodiscard]] sv::session_statistics edge_statistics() const { return all(edge_); }
  [[nodiscard]] sv::session_statistics cloud_statistics() const { return all(cloud_); }
  [[nodiscard]] learnt learned() const { return system_.read_learnt(edge_.journal()); }

 private:
  bool fail(const std::string& what) {
    if (trouble_.empty()) trouble_ = what;
    return false;
  }
  void expect(bool condition, const char* what) {
    if (!condition) fail(what);
  }
  template <class Session>
  [[nodiscard]] static sv::session_statistics all(const simulated_host<Session>& host) {
    sv::session_statistics made = host.before;
    if (host.session) sv::merge(made, host.session->statistics());
    return made;
  }
  void tell(const char* who, const char* what, std::uint64_t a = 0, std::uint64_t b = 0) const {
    if (!with_.trace) return;
    const auto print = [](const char* name, const auto& host) {
      if (!host.session) return std::fprintf(stderr, " | %s dead", name);
      return std::fprintf(stderr, " | %s s%d r%u n%u", name, static_cast<int>(host.session->state()),
                          host.session->round(), host.session->length());
    };
    std::fprintf(stderr, "%8llu %s %s %llu %llu", static_cast<unsigned long long>(now_), who, what,
                 static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
    print("edge", edge_);
    print("cloud", cloud_);
    std::fputc('\n', stderr);
  }

  [[nodiscard]] bool has_timers() const {
    return with_.link == link_kind::broker || with_.link == link_kind::datagrams;
  }
  //! Returns the time of the edge's clock.
  [[nodiscard]] sv::session_time edge_time() const { return now_ + ahead_; }

  // Processes.
  void begin_edge() {
    tell("edge", "BEGINS", edge_.disk.size());
    sv::edge_options o = system_.device;
    o.salt = chance_.next();  // other nonces after a restart
    if (loses_table(edge_)) {
      o.prior = nullptr;
      o.ids = sv::id_code::plain;
    }
    auto made = system_.make_edge(o);
    if (!made.ok()) return void(fail("edge options"));
    edge_.session.emplace(std::move(made).value());
    edge_.engine.clear();
    edge_.floor = 0;
    edge_.failure.reset();
    edge_.has_rows = edge_.over = offline_ = lacked_text_ = false;
    if (link_->may_connect(cloud_.session.has_value())) link_->connect(now_);
    const auto read = edge_.session->restore(edge_.journal(), edge_time());
    counts_.restarts += read.ok() || edge_.sent > 0 ? 1u : 0u;
    edge_.over = edge_.session->state() == sv::edge_state::finished;  // before the host got it
    counts_.starts += edge_.over ? 0u : 1u;
    if (read.ok()) restored(edge_, "edge", read->valid_bytes);
    shown_ = system_.prompt;
    if (read.ok()) return shown_.assign(edge_.session->text().begin(), edge_.session->text().end());
    const sv::errc why = read.error().code;
    if (why != sv::errc::unknown_session && why != sv::errc::truncated)
      return void(fail("restore of the edge: " + std::string(sv::name(why))));
    edge_.disk.clear();
    const auto length = static_cast<std::uint32_t>(system_.prompt.size());
    const sv::status begun = edge_.sent > 0 ? edge_.session->recover(length, edge_time())
                                            : edge_.session->start(system_.prompt, edge_time());
    expect(begun.ok(), "start or recover");
  }
  void begin_cloud() {
    tell("cloud", "BEGINS", cloud_.disk.size());
    sv::cloud_options o = system_.service;
    o.salt += cloud_.disk.empty() ? emptied_ : 1000 + counts_.kills;  // a restored cloud keeps the journal's salt
    if (loses_table(cloud_)) o.priors = {};
    auto made = sv::make_cloud(o);
    if (!made.ok()) return void(fail("cloud options"));
    cloud_.session.emplace(std::move(made).value());
    cloud_.engine.clear();
    cloud_.floor = 0;
    cloud_.has_rows = cloud_.over = wants_scores_ = tells_cloud_ = false;
    cloud_.failure.reset();
    if (cloud_.disk.empty()) return;
    const auto read = cloud_.session->restore(cloud_.journal());
    counts_.restarts += read.ok() ? 1u : 0u;
    if (read.ok()) return restored(cloud_, "cloud", read->valid_bytes);
    if (read.error().code != sv::errc::truncated && with_.liar == lie::none)
      fail("restore of the cloud: " + std::string(sv::name(read.error().code)));
    cloud_.disk.clear();
  }
  //! Returns whether a process that has restarted has no table for the code of ids, which its predecessor may have had.
  template <class Session>
  [[nodiscard]] bool loses_table(const simulated_host<Session>& host) {
    const bool loses = !host.disk.empty() && mix(with_.seed + counts_.kills) % 3 == 0;
    lost_a_table_ = lost_a_table_ || loses;
    return loses;
  }
  //! A restored side has its text again. The host truncates a torn record.
  template <class Session>
  void restored(simulated_host<Session>& host, const char* who, std::size_t valid) {
    if (host.journal().size() > valid) host.disk.pop_back();
    commit(host, who, 0, host.session->text());
  }
  template <class Session>
  void kill(simulated_host<Session>& host, side which, bool cut) {
    tell(which == side::edge ? "edge" : "cloud", "DIES", cut ? 1 : 0);
    counts_.kills += 1;
    if (!host.was_cut && with_.liar == lie::none && (which == side::cloud || edge_.sent > 0)) {
      const std::vector<token_id> held = host.held();
      const std::size_t known = std::max(held.size(), system_.prompt.size());  // the prompt is the host's
      const std::size_t common = std::min(held.size(), host.told.size());
      const bool has_told = host.told.size() <= known && is_prefix(std::span(host.told).first(common), held);
      expect(has_told, "told what is not journaled");
    }
    drop_outputs(host);
    host.before = all(host);
    host.session.reset();
    if (cut && !host.disk.empty()) cut_journal(host, which);
    if (which == side::cloud) verified_.erase(verified_.lower_bound(host.held().size()), verified_.end());
    link_->die(which);
  }
  template <class Session>
  void drop_outputs(simulated_host<Session>& host) {
    for (sv::session_output out = host.session->next(); out.action != sv::session_action::none;
         out = host.session->next())
      counts_.unsent += out.action == sv::session_action::send ? 1u : 0u;
  }
  //! Cuts a journal to any prefix: whole records, and perhaps a part of one more.
  template <class Session>
  void cut_journal(simulated_host<Session>& host, side which) {
    counts_.cuts += 1;
    host.was_cut = true;
    const std::size_t kept = chance_.chance(0.5) ? host.disk.size() - 1 : chance_.below(host.disk.size() + 1);
    const std::size_t torn = kept < host.disk.size() && chance_.chance(0.5) ? chance_.below(host.disk[kept].size()) : 0;
    if (torn > 0) {
      host.disk[kept].resize(torn);
      host.disk.resize(kept + 1);
    } else {
      host.disk.resize(kept);
    }
    emptied_ += which == side::cloud && kept == 0 ? 1u : 0u;
    forget(edge_);
    forget(cloud_);
  }
  //! Announced text of a side whose journal was cut counts only as far as an honest journal still has it.
  template <class Session>
  void forget(simulated_host<Session>& host) {
    if (!host.was_cut) return;
    std::size_t keep = system_.prompt.size();
    for (const bool of_cloud : {false, true}) {
      if (of_cloud && with_.liar != lie::none) continue;
      const std::vector<token_id> held = of_cloud ? cloud_.held() : edge_.held();
      const auto [mine, its] = std::mismatch(host.told.begin(), host.told.end(), held.begin(), held.end());
      keep = std::max(keep, static_cast<std::size_t>(mine - host.told.begin()));
    }
    if (keep < host.told.size()) host.told.resize(keep);
  }

  // Possible next events.
  enum class action : std::uint8_t {
    begin_edge,
    drain_edge,
    supply_edge,
    tick_edge,
    disconnect,
    reconnect,
    begin_cloud,
    drain_cloud,
    supply_cloud,
    score,
    disconnect_cloud,
    arrive_up,
    arrive_down
  };
  [[nodiscard]] std::vector<action> possible() const {
    std::vector<action> can;
    const auto add = [&can](bool possible, action what, int weight = 1) {
      if (possible) can.insert(can.end(), static_cast<std::size_t>(weight), what);
    };
    const bool edge_drained = edge_.is_drained(), cloud_drained = cloud_.is_drained(), lives = !edge_.over;
    add(!edge_.session, action::begin_edge);
    add(edge_.session && !edge_drained && link_->takes(side::edge), action::drain_edge, 2);
    add(edge_drained && edge_.has_rows && edge_.session->wants_rows(), action::supply_edge);
    const bool hears = edge_drained && lives && !is_writing_ahead();
    add(hears && edge_.session->deadline() && *edge_.session->deadline() <= edge_time(), action::tick_edge);
    add(hears && !offline_ && !link_->stands(), action::disconnect);
    add(hears && offline_ && link_->may_connect(cloud_.session.has_value()), action::reconnect);
    add(!cloud_.session, action::begin_cloud);
    add(cloud_.session && !cloud_drained && link_->takes(side::cloud), action::drain_cloud, 2);
    add(cloud_drained && cloud_.has_rows && cloud_.session->wants_rows(), action::supply_cloud);
    add(cloud_drained && wants_scores_ && cloud_.session->wants_scores(), action::score);
    add(cloud_.session && tells_cloud_, action::disconnect_cloud);
    const bool delivers = with_.link == link_kind::datagrams || with_.link == link_kind::copies;
    add(cloud_.session && (cloud_drained || delivers) && link_->carries_to(side::cloud), action::arrive_up);
    add(edge_.session && (edge_drained || delivers) && link_->carries_to(side::edge), action::arrive_down);
    return can;
  }
  bool act() {
    const std::vector<action> can = possible();
    if (can.empty()) return false;
    switch (can[chance_.below(can.size())]) {
      case action::begin_edge:
        begin_edge();
        break;
      case action::drain_edge:
        drain_edge();
        break;
      case action::supply_edge:
        supply_edge();
        break;
      case action::tick_edge:
        counts_.ticks += 1;
        tell("edge", "TICK");
        (void)edge_.session->tick(edge_time());
        break;
      case action::disconnect:
        counts_.disconnects += 1;
        tell("edge", "DISCONNECT");
        expect(edge_.session->disconnect(edge_time()).ok(), "disconnect");
        offline_ = true;
        break;
      case action::reconnect:
        link_->connect(now_);
        tell("edge", "RECONNECT");
        reconnect();
        break;
      case action::begin_cloud:
        begin_cloud();
        break;
      case action::drain_cloud:
        drain_cloud();
        break;
      case action::supply_cloud:
        supply_cloud();
        break;
      case action::score:
        supply_scores();
        break;
      case action::disconnect_cloud:
        tell("cloud", "DISCONNECT");
        cloud_.session->disconnect();
        tells_cloud_ = false;
        break;
      case action::arrive_up:
        if (const auto message = link_->arrive(side::cloud, cloud_.is_drained(), now_)) hear_at_cloud(*message);
        break;
      case action::arrive_down:
        if (const auto message = link_->arrive(side::edge, edge_.is_drained() && !is_writing_ahead(), now_))
          hear_at_edge(*message);
        break;
    }
    return true;
  }
  //! The cloud's host may notice a lost connection.
  void notice_break() {
    if (link_->counts.broken == broken_) return;
    broken_ = link_->counts.broken;
    tells_cloud_ = chance_.chance(0.5);
  }
  //! Returns whether a requested row may be written ahead; the session then receives nothing else.
  [[nodiscard]] bool is_writing_ahead() const {
    return system_.device.on_link_loss == sv::link_loss::continue_local && edge_.session->wants_rows();
  }

  void reconnect() {
    counts_.reconnects += 1;
    const sv::errc why = edge_.session->reconnect(edge_time()).code;
    expect(why == sv::errc::ok || (why == sv::errc::peer_timeout && with_.liar != lie::none), "reconnect");
    offline_ = false;
  }

  [[nodiscard]] bool may_stop() const { return counts_.stops == 0 && edge_.is_drained() && !edge_.over; }
  void stop() {
    counts_.stops += 1;
    tell("edge", "STOP");
    expect(edge_.session->stop(sv::stop_cause::cancelled, edge_time()).ok(), "stop");
    edge_.has_rows = false;
  }

  // Messages.
  void hear_at_edge(const bytes& message) {
    if (offline_ || edge_.over) return;  // the host has closed the connection
    counts_.down += 1;
    const std::uint64_t before = edge_.session->statistics().handshakes;
    const sv::status used = edge_.session->receive(message, edge_time());
    tell("edge", sv::name(used.code), std::to_integer<unsigned>(message[0]) & 15u, message.size());
    expect(used.code != sv::errc::busy, "the edge is busy");
    counts_.again += edge_.session->statistics().handshakes - before;
  }
  void hear_at_cloud(const bytes& message) {
    const bool fills = cloud_.session->state() == sv::cloud_state::filling;
    const std::size_t first = cloud_.session->length();
    const std::uint32_t round = cloud_.session->round();
    counts_.up += 1;
    counts_.hellos += is_hello(message) ? 1u : 0u;
    tells_cloud_ = tells_cloud_ && !is_hello(message);  // its host would close the new connection
    if (const auto name = sv::name_of(message)) answered_ = *name;
    const sv::status used = cloud_.session->receive(message, now_);
    tell("cloud", sv::name(used.code), std::to_integer<unsigned>(message[0]) & 15u, message.size());
    expect(used.code != sv::errc::busy, "the cloud is busy");
    if (with_.liar == lie::none) expect(cloud_.session->round() >= round, "the round of the cloud went back");
    if (!fills) note_verified(first);
  }
  //! New text here was decided by the engine.
  void note_verified(std::size_t first) {
    const std::span<const token_id> text = cloud_.session->text();
    for (std::size_t at = first; at < text.size(); ++at) verified_[at] = text[at];
  }

  [[nodiscard]] static bool is_draft(std::span<const std::byte> message) {
    return sv::kind_of(message).value() == sv::message_kind::draft;
  }
  //! Returns whether the journal ends with an open draft, if it must.
  [[nodiscard]] bool keeps_draft() const {
    if (system_.device.journal_drafts != sv::draft_journaling::always) return true;
    if (edge_.disk.empty()) return false;
    const bytes& last = edge_.disk.back();
    const auto payload = sv::detail::open_record(last);
    const auto word = [](const std::byte* at) { return static_cast<std::size_t>(sv::numeric::load_le(at, 4)); };
    return payload && payload->size() > 4 + 4 * word(last.data() + 12) + word(payload->data());
  }

  // Outputs, one at a time.
  void drain_edge() {
    const sv::session_output out = edge_.session->next();
    tell("edge", sv::name(out.action), out.position, out.bytes.size());
    switch (out.action) {
      case sv::session_action::send:
        edge_.sent += 1;
        counts_.messages += 1;
        write_out(out.bytes);
        expect(!is_draft(out.bytes) || keeps_draft(), "a draft is sent that is not journaled");
        if (!offline_) link_->send(side::edge, out.bytes, now_);
        break;
      case sv::session_action::committed:
        show(out);
        commit(edge_, "edge", out.position, out.tokens);
        break;
      case sv::session_action::tentative:
        show(out);
        break;
      case sv::session_action::retracted:
        shown_.resize(std::min<std::size_t>(shown_.size(), out.position));
        break;
      default:
        take(edge_, out);
    }
    if (edge_.is_drained() && !is_writing_ahead()) link_->drained(side::edge, now_);
  }
  void drain_cloud() {
    const sv::session_output out = cloud_.session->next();
    tell("cloud", sv::name(out.action), out.position, out.bytes.size());
    switch (out.action) {
      case sv::session_action::send:
        counts_.messages += 1;
        write_out(out.bytes);
        lacked_text_ = lacked_text_ || cloud_.session->state() <= sv::cloud_state::filling;
        say(out.bytes);
        break;
      case sv::session_action::committed:
        check_authority(out);
        commit(cloud_, "cloud", out.position, out.tokens);
        break;
      case sv::session_action::score:
        asked_ = {out.positions.begin(), out.positions.end()};
        vectors_.assign(out.bytes.begin(), out.bytes.end());
        score_position_ = out.position;
        score_rows_ = out.rows;
        wants_scores_ = true;
        break;
      default:
        take(cloud_, out);
    }
    if (!cloud_.is_drained()) return;
    link_->drained(side::cloud, now_);
    if (with_.liar == lie::forgets) {
      cloud_.before = all(cloud_);
      cloud_.disk.clear();
      begin_cloud();
    }
  }
  template <class Session>
  void take(simulated_host<Session>& host, const sv::session_output& out) {
    switch (out.action) {
      case sv::session_action::journal:
        write_out(out.bytes);
        if (out.replaces) host.disk.clear();
        host.disk.emplace_back(out.bytes.begin(), out.bytes.end());
        break;
      case sv::session_action::evaluate:
        expect(out.position >= host.floor, "a session feeds below keep_from");
        host.floor = host.session->keep_from();
        expect(host.engine.feed(out.position, out.tokens, out.rows), "a session feeds its engine wrongly");
        host.has_rows = true;
        break;
      case sv::session_action::rollback:
        expect(out.position >= host.floor, "a session cuts below keep_from");
        expect(host.engine.cut(out.position), "a session cuts its engine wrongly");
        break;
      case sv::session_action::failed:
        host.failure = out.reason;
        host.over = true;
        break;
      case sv::session_action::finished:
        host.over = true;
        break;
      default:
        break;
    }
  }
  //! Handles text that is announced as final.
  template <class Session>
  void commit(simulated_host<Session>& host, const char* who, std::size_t position, std::span<const token_id> tokens) {
    if (&host.told == &cloud_.told && with_.liar != lie::none) return;
    if (position > host.told.size()) return void(fail(std::string(who) + ": a gap in the committed text"));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (position + i == host.told.size()) host.told.push_back(tokens[i]);
      if (host.told[position + i] != tokens[i]) return void(fail(std::string(who) + ": committed text was changed"));
    }
  }
  //! Handles text that a reader sees: tokens come in order, and a token is replaced only after it is retracted.
  void show(const sv::session_output& out) {
    if (out.position > shown_.size()) return void(fail("a gap in the text shown"));
    for (std::size_t i = 0; i < out.tokens.size(); ++i) {
      const std::size_t at = out.position + i;
      if (at == shown_.size()) shown_.push_back(out.tokens[i]);
      if (shown_[at] != out.tokens[i]) return void(fail("a token that was shown was exchanged"));
    }
  }
  //! Text that the engine did not decide must be marked as the edge's, and is never allowed under `unconditional`.
  void check_authority(const sv::session_output& out) {
    if (with_.liar != lie::none) return;
    for (std::size_t i = 0; i < out.tokens.size(); ++i) {
      const std::size_t at = out.position + i;
      const auto known = verified_.find(at);
      if (at < system_.prompt.size() || (known != verified_.end() && known->second == out.tokens[i])) continue;
      counts_.handed_over += 1;
      expect(out.authority == sv::token_authority::edge, "text of an edge is told as verified");
      expect(system_.service.required != sv::guarantee::unconditional, "unverified text was taken");
    }
  }
  void supply_edge() {
    edge_.has_rows = false;
    const std::array<float, hidden_size> hidden = hidden_of<hidden_size>(edge_.engine.knows());
    const std::array<float, 12> attention = attention_of(edge_.engine.knows());
    const std::size_t numbers = system_.device.attachments.hidden_size;
    (void)edge_.session->supply_row(sv::exec::seq, edge_.engine.rows()[0], {},
                                    {std::span<const float>(hidden).first(numbers), attention}, edge_time());
  }
  void supply_cloud() {
    cloud_.has_rows = false;
    const std::size_t first = cloud_.session->length();
    const std::array<sv::row_transform, 1> transform{};
    (void)cloud_.session->supply_rows(sv::exec::seq, sv::row_span_provider<float>(cloud_.engine.rows(), transform),
                                      now_);
    note_verified(first);
  }
  void supply_scores() {
    wants_scores_ = false;
    const std::size_t first = cloud_.session->length();
    const std::span<const std::byte> vectors(vectors_);
    const std::size_t each = score_rows_ == 0 ? 0 : vectors.size() / score_rows_;
    std::vector<double> scores;
    for (std::uint32_t i = 0; scores.size() < score_rows_ && i < 64 * asked_.size(); ++i) {
      if ((asked_[i / 64] >> (i % 64) & 1u) == 0) continue;
      const std::span<const std::byte> vector = vectors.subspan(each * scores.size(), each);
      scores.push_back(score_of(vector, cloud_.engine.knows(score_position_ + i - 1)));
    }
    (void)cloud_.session->supply_scores(scores, now_);
    note_verified(first);
  }
  //! Sends a message of the cloud, honest or not.
  void say(std::span<const std::byte> message) {
    if (with_.liar == lie::silent) return;
    bytes said(message.begin(), message.end());
    if (with_.liar == lie::bits && chance_.chance(0.15))
      counts_.lies += forge(said, answered_, chance_.below(8 * said.size())) ? 1u : 0u;
    link_->send(side::cloud, said, now_);
  }

  // Time and faults.
  //! Lets time pass if nothing else can happen, or too early. Returns false if no time would help.
  bool time_passes() {
    std::optional<sv::session_time> next = link_->deadline();
    if (edge_.session && edge_.session->deadline()) {
      const sv::session_time of_edge = *edge_.session->deadline() - std::min(*edge_.session->deadline(), ahead_);
      if (of_edge > now_ || !next) next = next ? std::min(*next, of_edge) : of_edge;  // else it waits for room
    }
    if (!next) {  // without timers, the host of a dead process's or a liar's peer ends the connection
      const bool allowed = with_.liar != lie::none || (with_.link == link_kind::copies && faults_ > 0);
      return allowed && link_->break_off();
    }
    now_ = std::max(now_, *next);
    link_->tick(now_);
    return true;
  }
  void kill_one() {
    const bool edge = chance_.chance(0.5);
    const bool cut = with_.cuts && chance_.chance(0.6);
    if (edge && edge_.session) kill(edge_, side::edge, cut);
    if (!edge && cloud_.session) kill(cloud_, side::cloud, cut);
  }
  void fault() {
    faults_ += 1;
    switch (chance_.below(6)) {
      case 0:
        if (edge_.session) kill(edge_, side::edge, with_.cuts && chance_.chance(0.6));
        break;
      case 1:
        if (cloud_.session) kill_cloud();
        break;
      case 2:
        if (edge_.session) kill(edge_, side::edge, with_.cuts && chance_.chance(0.6));
        if (cloud_.session) kill_cloud();
        break;
      case 3:
        counts_.jumps += 1;
        ahead_ += chance_.below(100 * 24 * datagram_link::patience);
        break;
      default:
        if (link_->stands() && !link_->break_off()) (void)time_passes();
    }
  }
  void kill_cloud() {
    kill(cloud_, side::cloud, with_.cuts && chance_.chance(0.6));
    if (with_.liar == lie::own_text) lengthen_journal();
  }
  //! Makes the journal of a consistent liar: more text than it had, perhaps a later round, and correct hashes.
  void lengthen_journal() {
    std::vector<token_id> text(512);
    const auto read = sv::read_journal<sv::cloud_snapshot>(cloud_.journal(), text);
    if (!read || !read->last || read->last->length < read->last->prompt_length) return;
    counts_.lies += 1;
    sv::cloud_snapshot last = *read->last;
    text.resize(last.length);
    const std::size_t limit = system_.prompt.size() + system_.device.token_budget;
    for (std::uint64_t more = chance_.below(4); more > 0 && text.size() < limit; --more)
      text.push_back(static_cast<token_id>(chance_.below(system_.device.vocab_size)));
    last.length = static_cast<std::uint32_t>(text.size());
    last.prefix_hash = sv::prefix_hash(text);
    last.round = std::array{last.round, last.round + 1, sv::detail::last_round}[chance_.below(3)];
    last.target = {};
    std::array<std::byte, sv::detail::snapshot_bytes<sv::cloud_snapshot>()> snapshot;
    sv::detail::store_snapshot(last, snapshot.data());
    bytes record(sv::detail::journal_bytes(text.size(), snapshot.size()));
    expect(sv::detail::write_journal_bytes({0, text, snapshot, {}}, record).ok(), "a forged journal");
    cloud_.disk.assign(1, record);
  }

  // The end.
  [[nodiscard]] bool is_over() const {
    if (!edge_.session || !edge_.over || !edge_.is_drained()) return false;
    if (!edge_.failure || cloud_.over || with_.liar != lie::none) return true;
    return !link_->carries_to(side::edge) && !link_->carries_to(side::cloud) &&
           (!cloud_.session || cloud_.is_drained());
  }
  [[nodiscard]] static bool is_prefix(std::span<const token_id> of, std::span<const token_id> whole) {
    return of.size() <= whole.size() && std::equal(of.begin(), of.end(), whole.begin());
  }
  void check_end() {
    check_ledger();
    if (edge_.failure) return check_reason();
    const std::span<const token_id> text = edge_.session->text();
    // A host that ends a text does not wait for missing tokens.
    const bool told =
        is_prefix(text, edge_.told) && (text.size() == edge_.told.size() || (was_stopped() && edge_.was_cut));
    expect(told, "the host was told another text");
    if (with_.liar != lie::none) return;
    const std::vector<token_id> theirs =
        cloud_.session ? std::vector<token_id>(cloud_.session->text().begin(), cloud_.session->text().end())
                       : cloud_.held();
    const std::size_t agreed = edge_.session->agreed_length();
    const bool has_all = theirs.size() >= agreed || cloud_.was_cut || was_stopped();
    expect(has_all && is_prefix(text.first(std::min(agreed, theirs.size())), theirs), "the texts differ");
    expect(theirs.size() <= agreed || was_stopped() || system_.device.mode == sv::session_mode::stream,
           "the cloud has more text");
    expect(text.size() - agreed <= system_.device.attachments.max_skipped, "more tokens alone than agreed");
  }

  //! The sides' counters must match the events of the simulation.
  void check_ledger() {
    if (edge_.session) drop_outputs(edge_);
    if (cloud_.session) drop_outputs(cloud_);
    const sv::session_statistics edge = all(edge_), cloud = all(cloud_);
    const simulation_counts& c = counts_;
    expect(link_->adds_up(), "the datagrams do not add up");
    expect(edge.messages_up + cloud.messages_down == c.messages + c.unsent, "ledger: messages sent");
    expect(edge.messages_down == c.down && cloud.messages_up == c.up, "ledger: messages heard");
    expect(edge.restarts + cloud.restarts == c.restarts, "ledger: restarts");
    const bool ahead = system_.device.on_link_loss == sv::link_loss::continue_local;  // a tick may be for that
    expect(ahead ? edge.timeouts <= c.ticks : edge.timeouts == c.ticks, "ledger: deadlines");
    expect(
        edge.handshakes == c.starts + c.reconnects + edge.timeouts + c.again || reason().code == sv::errc::peer_timeout,
        "ledger: handshakes");
    expect(cloud.handshakes == c.hellos, "ledger: hellos");
    if (with_.liar == lie::none) expect(edge.corrupt + cloud.corrupt == 0, "ledger: a check did not fit");
  }
  //! Between honest sides a session may fail only if nobody has the text, or nobody may hand it over.
  void check_reason() {
    if (with_.liar != lie::none) return;
    const sv::errc why = reason().code;
    if (why == sv::errc::unknown_session) {
      expect(edge_.was_cut && edge_.session->length() == 0, "unknown_session, and the edge has text");
      expect(lacked_text_, "unknown_session, and the cloud has the text");
    } else if (why == sv::errc::unverified_text) {
      expect(system_.service.required == sv::guarantee::unconditional && cloud_.was_cut,
             "unverified_text without a cut");
      expect(edge_.session->agreed_length() > cloud_.held().size(), "unverified_text, and the cloud has the text");
    } else if (why == sv::errc::session_closed) {
      expect(edge_.was_cut && was_stopped(), "session_closed, and the edge knows of its end");
    } else {
      fail("an end by name between honest sides: " + std::string(sv::name(why)));
    }
  }

  simulated_system system_;
  schedule with_;
  dice chance_;
  simulated_host<sv::edge_session> edge_;
  simulated_host<sv::cloud_session> cloud_;
  std::unique_ptr<simulated_link> link_{};
  std::vector<token_id> shown_{system_.prompt};  // what a reader sees, with tentative tokens
  std::map<std::size_t, token_id> verified_{};   // tokens that the cloud's engine decided
  std::vector<std::uint64_t> asked_{};           // positions of `score`
  bytes vectors_{};
  std::uint32_t score_position_ = 0, score_rows_ = 0;
  std::uint64_t broken_ = 0;  // number of broken connections
  bool tells_cloud_ = false;
  bool lacked_text_ = false;  // whether the cloud lacked text when it answered this edge process
  bool wants_scores_ = false;
  bool offline_ = false;                  // as reported by the edge's host
  sv::session_time now_ = 1, ahead_ = 0;  // the edge's clock is ahead of the simulation's
  sv::hello_name answered_{};             // the last hello that the cloud received
  std::uint64_t emptied_ = 0;             // a cloud that lost its whole journal draws a new salt
  std::uint32_t faults_ = 0;
  simulation_counts counts_{};
  bool lost_a_table_ = false;
  std::string trouble_{};
};

}  // namespace specverify_test

#endif
