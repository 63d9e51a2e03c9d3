// SPDX-License-Identifier: Apache-2.0
// Without timers, over a transport that loses nothing while it stands and delivers copies at any time, to one side or
// both: drafts, streams, the semantic rule with hidden states on request, at once or one by one. The cloud's engine
// works while messages arrive. In half of the runs connections end, and edges lose their journals. Nobody waits for
// ever, and the text is that of the run without copies; an edge that forgot a text which nobody has whole says so. 40
// runs of each kind, 2 000 with SPECVERIFY_LONG=1.
#include <session/schedules.hpp>
#include <session/without_timers.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

using namespace specverify;
using namespace specverify_test;

namespace {

enum class kind_of_run : std::uint8_t { draft, stream, semantic, one_by_one };

struct run_options {
  kind_of_run kind = kind_of_run::draft;
  bool up = false, down = false;  // where copies arrive
  bool lives = false;             // connections end, and lives of the edge
};

pair_options pair_options_of(const run_options& of, std::uint32_t chunk) {
  pair_options o = without_timers();
  o.budget = 40;
  o.edge_chunk = o.cloud_chunk = chunk;
  if (of.kind == kind_of_run::stream) o.mode = session_mode::stream;
  if (of.kind == kind_of_run::semantic || of.kind == kind_of_run::one_by_one) {
    o.rule = wire_rule::semantic;
    o.format = law_format::token_only;
    o.draft_length = 6;
    o.attachments.hidden = hidden_format::int8;
    o.attachments.hidden_size = 6;
    o.lazy = of.kind == kind_of_run::one_by_one;
  }
  return o;
}

const std::vector<token_id>& prompt() {
  static const std::vector<token_id> ids{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return ids;
}

class run_with_copies {
 public:
  run_with_copies(const run_options& of, std::uint64_t seed)
      : of_(of), dice_(seed), p_(pair_options_of(of, dice_.chance(0.5) ? 2 : 256)) {}

  //! What went wrong, or nothing.
  std::string run() {
    (void)p_.edge->start(prompt(), p_.now);
    edge_speaks();
    for (int step = 0; step < 5000; ++step) {
      if (p_.edge->state() == edge_state::finished) return "";
      if (p_.edge->state() == edge_state::failed) return why_failed();
      if (!something_happens() && !goes_on()) return "both sides wait for ever";
    }
    return "the session does not end";
  }
  [[nodiscard]] std::vector<token_id> text() const { return p_.text(); }
  [[nodiscard]] bool is_whole() const { return p_.edge->state() == edge_state::finished; }
  [[nodiscard]] const pair_options& options() const { return p_.options; }
  int copies = 0;

 private:
  [[nodiscard]] std::string why_failed() const {
    const errc why = p_.edge_failure ? p_.edge_failure->code : errc::ok;
    return why == errc::unknown_session && forgot_ ? "" : std::string("failed: ") + name(why);
  }
  void edge_speaks() {
    for (bytes& message : p_.run_edge()) {
      said_up_.push_back(message);
      up_.push_back(std::move(message));
    }
  }
  void cloud_speaks() {
    p_.hold_rows = true;
    for (bytes& message : p_.run_cloud()) {
      said_down_.push_back(message);
      down_.push_back(std::move(message));
    }
  }
  void hear_up(const bytes& message) {
    (void)p_.cloud->receive(message, p_.now);
    cloud_speaks();
  }
  void hear_down(const bytes& message) {
    (void)p_.edge->receive(message, p_.now);
    edge_speaks();
  }
  bool something_happens() {
    if (of_.up && copies < 12 && dice_.chance(0.05)) return copy(said_up_, &run_with_copies::hear_up);
    if (of_.down && copies < 12 && dice_.chance(0.05)) return copy(said_down_, &run_with_copies::hear_down);
    if (!of_.lives || lives_ == 3 || !dice_.chance(0.02)) return false;
    ++lives_;
    p_.now += 10;
    up_.clear();
    down_.clear();
    if (dice_.chance(0.5)) {
      (void)p_.edge->reconnect(p_.now);
    } else {
      forgot_ = true;
      p_.new_edge();
      (void)p_.edge->recover(static_cast<std::uint32_t>(prompt().size()), p_.now);
    }
    edge_speaks();
    return true;
  }
  bool copy(const std::vector<bytes>& said, void (run_with_copies::*hear)(const bytes&)) {
    if (said.empty()) return false;
    ++copies;
    (this->*hear)(bytes(said[dice_.below(said.size())]));
    return true;
  }
  //! One message, or the rows of an engine. False: nothing is under way.
  bool goes_on() {
    const bool works = p_.cloud->wants_rows();
    if (up_.empty() && down_.empty() && !works) return false;
    const std::uint64_t which = dice_.below(3);
    if (works && (which == 0 || (up_.empty() && down_.empty()))) {
      (void)p_.cloud->supply_rows(exec::seq, row_span_provider<float>(p_.cloud_engine.rows(), p_.transforms), p_.now);
      cloud_speaks();
      return true;
    }
    if (up_.empty() && down_.empty()) return true;
    const bool upward = down_.empty() || (!up_.empty() && which == 1);
    std::deque<bytes>& from = upward ? up_ : down_;
    const bytes message = std::move(from.front());
    from.pop_front();
    if (upward) {
      hear_up(message);
    } else {
      hear_down(message);
    }
    return true;
  }

  run_options of_;
  dice dice_;
  pair p_;
  std::deque<bytes> up_{}, down_{};
  std::vector<bytes> said_up_{}, said_down_{};
  int lives_ = 0;
  bool forgot_ = false;
};

std::vector<token_id> text_without_copies(const run_options& of) {
  run_with_copies run({of.kind, false, false, false}, 1);
  CHECK(run.run().empty());
  return run.text();
}

//! Runs of one kind. Returns how many copies arrived.
int runs_of(const run_options& of) {
  const std::vector<token_id> whole = text_without_copies(of);
  int copies = 0;
  for (std::uint64_t seed = 1; seed <= schedules(40, 2000); ++seed) {
    run_with_copies run(of, seed);
    const std::string trouble = run.run();
    INFO("kind ", static_cast<int>(of.kind), " up ", of.up, " down ", of.down, " lives ", of.lives, " seed ", seed);
    CHECK(trouble == "");
    if (run.is_whole()) CHECK(run.text() == whole);
    copies += run.copies;
  }
  return copies;
}

}  // namespace

TEST_CASE("NET-5 copies of any message at any time: nobody waits for ever without timers, and the text is the same") {
  for (const auto kind : {kind_of_run::draft, kind_of_run::stream, kind_of_run::semantic, kind_of_run::one_by_one}) {
    for (const bool lives : {false, true}) {
      CHECK(runs_of({kind, true, false, lives}) > 0);
      CHECK(runs_of({kind, false, true, lives}) > 0);
      CHECK(runs_of({kind, true, true, lives}) > 0);
    }
  }
}
