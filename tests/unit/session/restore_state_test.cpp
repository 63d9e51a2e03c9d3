// SPDX-License-Identifier: Apache-2.0
// What a restored session stands for: a journal that one record took the place of, a draft that stands open, journals
// that are refused each by a name of its own, and drafts that are as long as a record may be.
#include <doctest/doctest.h>

#include "forged.hpp"
#include "pair.hpp"

#include <specverify/host/drive.hpp>

#include <session/engine_model.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sv = specverify;
using namespace specverify_test;
using sv::errc;

namespace {

using edge_record = sv::edge_snapshot<sv::no_state>;
using tokens = std::vector<token_id>;

//! Of a session when a record took the place of its journal.
struct stand {
  bytes journal;
  tokens text;
  std::uint32_t round = 0;
};

//! A long session between hosts that write to a new file what takes a journal's place.
class long_session {
 public:
  explicit long_session(sv::law_format format = sv::law_format::sparse_drop_zero)
      : format_(format), edge_engine_(pair::model(true)), cloud_engine_(pair::model(false)) {
    begin_edge();
    begin_cloud();
  }
  void start() {
    REQUIRE(edge->start(std::array<token_id, 3>{4, 5, 6}, 1).ok());
    run_edge();
  }
  //! Questions, and what is answered.
  void exchange() {
    for (const bytes& message : std::exchange(to_cloud_, {})) {
      REQUIRE(cloud->receive(message, 1).ok());
      run_cloud();
    }
    for (const bytes& message : std::exchange(to_edge_, {})) {
      REQUIRE(edge->receive(message, 1).ok());
      run_edge();
    }
  }
  void until(const std::function<bool()>& there) {
    for (int i = 0; i < 500 && !there(); ++i) exchange();
    REQUIRE(there());
  }
  void finish() {
    until([this] { return edge->state() == sv::edge_state::finished; });
  }
  //! A killed process comes back with this file; what was on its way is lost.
  sv::journal_reading restore_edge(const bytes& file) {
    to_cloud_.clear();
    to_edge_.clear();
    begin_edge();
    edge_file = file;
    const auto read = edge->restore(file, 1);
    REQUIRE(read.ok());
    return *read;
  }
  sv::journal_reading restore_cloud(const bytes& file) {
    to_cloud_.clear();
    to_edge_.clear();
    begin_cloud();
    cloud_file = file;
    const auto read = cloud->restore(file);
    REQUIRE(read.ok());
    return *read;
  }
  void run_edge() { run(*edge, edge_engine_, to_cloud_, edge_file, edge_stands); }
  void run_cloud() { run(*cloud, cloud_engine_, to_edge_, cloud_file, cloud_stands); }

  [[nodiscard]] static tokens text_of(const auto& session) { return {session.text().begin(), session.text().end()}; }

  std::optional<sv::edge_session> edge;
  std::optional<sv::cloud_session> cloud;
  bytes edge_file, cloud_file;
  std::vector<stand> edge_stands, cloud_stands;

 private:
  static constexpr sv::fixed_window window{3, 40};
  [[nodiscard]] std::optional<sv::top_k> kept() const {
    return sv::has_support(format_) ? std::optional(sv::top_k{8}) : std::nullopt;
  }
  [[nodiscard]] sv::edge_options edge_options() const {
    sv::edge_options o;
    o.session_id = 7;
    o.secret = secret_of(1);
    o.vocab_size = pair::vocab_size;
    o.format = format_;
    o.max_text_length = 400;
    o.token_budget = 300;
    return o;
  }
  void begin_edge() {
    edge.emplace(std::move(sv::make_edge(edge_options(), kept(), window)).value());
    edge_engine_.clear();
  }
  void begin_cloud() {
    sv::cloud_options o;
    o.secret = secret_of(2);
    o.salt = 1;
    o.vocab_size = pair::vocab_size;
    o.max_text_length = 400;
    o.limits = sv::cloud_session::limits_for(sv::format_of(edge_options(), kept(), window));
    cloud.emplace(std::move(sv::make_cloud(o)).value());
    cloud_engine_.clear();
  }
  template <class Session>
  static void run(Session& session, hash_engine& engine, std::vector<bytes>& sent, bytes& file,
                  std::vector<stand>& stands) {
    engine_model model{engine};
    const auto observe = [&](const sv::session_output& out) {
      if (out.action == sv::session_action::send) sent.emplace_back(out.bytes.begin(), out.bytes.end());
      REQUIRE(out.action != sv::session_action::failed);
      if (out.action != sv::session_action::journal) return;
      if (out.replaces) file.clear();
      file.insert(file.end(), out.bytes.begin(), out.bytes.end());
      CHECK(file.size() < 16384 + 3 * (200 + 8 + 4 * 400 + 600));
      if (out.replaces) stands.push_back({file, text_of(session), session.round()});
    };
    REQUIRE(sv::drive(sv::exec::seq, session, model, observe).ok());
  }

  sv::law_format format_;
  hash_engine edge_engine_, cloud_engine_;
  std::vector<bytes> to_cloud_, to_edge_;
};

tokens whole_text() {
  long_session s;
  s.start();
  s.finish();
  return long_session::text_of(*s.edge);
}

template <class Snapshot>
struct forgery {
  const char* what;
  std::function<void(Snapshot&, tokens&)> change;
  sv::status expected;
};

//! A pair a few rounds on.
void play(pair& p, int exchanges = 6) {
  bytes question = p.start();
  for (int i = 0; i < exchanges; ++i) question = p.exchange(question);
}

constexpr sv::status refused(errc code, std::uint32_t where = 0) { return {code, sv::part::session, where}; }

//! Puts the checks of a changed record in order.
void check_again(bytes& record) {
  const std::size_t end = record.size() - 8;
  sv::numeric::store_le(record.data() + 16, sv::numeric::fnv1a(std::span<const std::byte>(record).first(16)), 8);
  sv::numeric::store_le(record.data() + end,
                        sv::numeric::fnv1a(std::span<const std::byte>(record).subspan(24, end - 24)), 8);
}

}  // namespace

TEST_CASE("restore: a journal that one record took the place of stays short, and holds text and round, at both sides") {
  long_session s;
  s.start();
  s.finish();
  REQUIRE(s.edge_stands.size() > 0);
  REQUIRE(s.cloud_stands.size() > 0);
  for (const stand& at : s.edge_stands) {
    REQUIRE(at.text.size() > 3);
    long_session again;
    const sv::journal_reading read = again.restore_edge(at.journal);
    CHECK(read.records == 1);
    CHECK(read.text_length == at.text.size());
    CHECK(read.valid_bytes == at.journal.size());
    const bool edge_has_the_text = long_session::text_of(*again.edge) == at.text;
    CHECK(edge_has_the_text);
    CHECK(again.edge->round() == at.round);
  }
  for (const stand& at : s.cloud_stands) {
    REQUIRE(at.text.size() > 3);
    long_session again;
    const sv::journal_reading read = again.restore_cloud(at.journal);
    CHECK(read.records == 1);
    const bool cloud_has_the_text = long_session::text_of(*again.cloud) == at.text;
    CHECK(cloud_has_the_text);
    CHECK(again.cloud->round() == at.round);
  }
}

TEST_CASE("restore: a session goes on from such a journal to the end of one that was never killed") {
  const tokens whole = whole_text();
  REQUIRE(whole.size() == 303);
  long_session s;
  s.start();
  SUBCASE("the edge") {
    s.until([&] { return !s.edge_stands.empty(); });
    const bytes file = s.edge_stands.back().journal;
    (void)s.restore_edge(file);
    s.run_edge();
  }
  SUBCASE("the cloud") {
    s.until([&] { return !s.cloud_stands.empty(); });
    const bytes file = s.cloud_stands.back().journal;
    (void)s.restore_cloud(file);
    s.run_cloud();
    REQUIRE(s.edge->reconnect(1).ok());  // what it asked is lost
    s.run_edge();
  }
  SUBCASE("both, the edge from an earlier place") {
    s.until([&] { return !s.edge_stands.empty() && !s.cloud_stands.empty(); });
    const bytes edge_file = s.edge_stands.front().journal, cloud_file = s.cloud_stands.back().journal;
    (void)s.restore_cloud(cloud_file);
    s.run_cloud();
    (void)s.restore_edge(edge_file);
    s.run_edge();
  }
  s.finish();
  const bool edge_ends_alike = long_session::text_of(*s.edge) == whole;
  CHECK(edge_ends_alike);
  const bool cloud_ends_alike = long_session::text_of(*s.cloud) == whole;
  CHECK(cloud_ends_alike);
}

namespace {

//! To a draft that the cloud has not heard, with text behind the prompt.
template <class Pair>
bytes to_open_draft(Pair& p) {
  bytes question = p.start();
  const auto is_there = [&] {
    const bool alone = p.edge->length() > p.edge->agreed_length();
    return kind_of(question) == sv::message_kind::draft && p.edge->agreed_length() > 7 &&
           alone == (p.options.attachments.max_skipped > 0);
  };
  for (int i = 0; i < 30 && !question.empty() && !is_there(); ++i) question = p.exchange(question);
  REQUIRE(is_there());
  return question;
}

template <class Pair>
void check_open_draft(const pair_options& options, auto gate) {
  Pair undisturbed(options, gate), p(options, gate);
  undisturbed.finish(undisturbed.start());
  const bytes draft = to_open_draft(p);
  const std::uint32_t round = p.edge->round(), agreed = p.edge->agreed_length();
  const tokens text = p.text();
  for (int lives = 0; lives < 3; ++lives) {
    p.new_edge();
    p.story.clear();
    REQUIRE(p.edge->restore(p.edge_journal, 1).ok());
    CHECK(p.text() == text);
    CHECK(p.edge->round() == round);
    CHECK(p.edge->agreed_length() == agreed);
    const bytes hello = pair::only(p.run_edge());
    CHECK(p.story.find("tentative") < p.story.find("send"));
    CHECK(p.story.find("journal") == std::string::npos);
    const bytes sent = p.hear(p.answer(hello));
    const bool open_draft_is_sent_again = sent == draft;
    CHECK(open_draft_is_sent_again);
    CHECK(p.edge->statistics().fed_tokens == 0);
  }
  p.finish(draft);
  CHECK_FALSE(p.edge_failure.has_value());
  const bool goes_on_to_the_same_end = p.text() == undisturbed.text();
  CHECK(goes_on_to_the_same_end);
}

pair_options with_hidden_states() {
  pair_options o;
  o.rule = sv::wire_rule::semantic;
  o.format = sv::law_format::token_only;
  o.attachments.hidden = sv::hidden_format::int8;
  o.attachments.hidden_size = 6;
  o.attachments.channel_report = true;
  return o;
}

}  // namespace

TEST_CASE("restore: an open draft is sent again from the journal, in one life after another") {
  SUBCASE("with laws") { check_open_draft<pair>({}, sv::always_send{}); }
  SUBCASE("with hidden states on request") { check_open_draft<pair>(with_hidden_states(), sv::always_send{}); }
  SUBCASE("behind tokens that the edge committed alone") {
    pair_options o;
    o.attachments.max_skipped = 3;
    check_open_draft<basic_pair<sv::random_skip>>(o, sv::random_skip{0.5});
  }
}

TEST_CASE("SEC-1 restore: damage has a name of its own, at both sides") {
  pair p;
  play(p);
  const auto edge_takes = [](const bytes& journal) { return pair().edge->restore(journal, 1).error(); };
  const auto cloud_takes = [](const bytes& journal) { return pair().cloud->restore(journal).error(); };
  const bytes edge = forged<edge_record>(p.edge_journal, [](auto&, auto&) {});
  const bytes cloud = forged<sv::cloud_snapshot>(p.cloud_journal, [](auto&, auto&) {});
  const auto both = [&](auto change) {
    bytes of_edge = edge, of_cloud = cloud;
    change(of_edge);
    change(of_cloud);
    return std::array{edge_takes(of_edge), cloud_takes(of_cloud)};
  };
  const auto each = [](errc code) { return std::array{refused(code), refused(code)}; };
  // The same record once more, changed: what is wrong is named by its place.
  const auto both_at_second = [&](auto change) {
    return both([&](bytes& journal) {
      bytes second = journal;
      change(second);
      journal.insert(journal.end(), second.begin(), second.end());
    });
  };
  const auto at_second = [&](errc code) {
    return std::array{refused(code, static_cast<std::uint32_t>(edge.size())),
                      refused(code, static_cast<std::uint32_t>(cloud.size()))};
  };
  CHECK(both([](bytes&) {}) == std::array{sv::status{}, sv::status{}});
  CHECK(both([](bytes& journal) { journal.clear(); }) == each(errc::unknown_session));
  CHECK(both([](bytes& journal) { journal.resize(23); }) == each(errc::truncated));
  CHECK(both([](bytes& journal) { journal.pop_back(); }) == each(errc::truncated));
  CHECK(both([](bytes& record) { sv::numeric::store_le(record.data() + 24, 0, 4), check_again(record); }) ==
        each(errc::journal_corrupt));  // no snapshot
  CHECK(both_at_second([](bytes&) {}) == std::array{sv::status{}, sv::status{}});
  CHECK(both_at_second([](bytes& record) { record.pop_back(); }) == std::array{sv::status{}, sv::status{}});
  CHECK(both_at_second([](bytes& record) { record[30] ^= std::byte{1}; }) == at_second(errc::journal_corrupt));
  CHECK(both_at_second([](bytes& record) { record[8] ^= std::byte{1}; }) == at_second(errc::journal_corrupt));
  CHECK(both_at_second([](bytes& record) { record[0] ^= std::byte{1}, check_again(record); }) ==
        at_second(errc::journal_corrupt));
  CHECK(both_at_second([](bytes& record) { record[3] = std::byte{3}, check_again(record); }) ==
        at_second(errc::unsupported));
  CHECK(both_at_second([](bytes& record) { record[3] = std::byte{'J'}, check_again(record); }) ==
        at_second(errc::unsupported));
  CHECK(both_at_second([](bytes& record) { record[8] = std::byte{99}, check_again(record); }) ==
        at_second(errc::journal_corrupt));  // behind the text
  CHECK(both_at_second([](bytes& record) { record[12] ^= std::byte{64}, check_again(record); }) ==
        at_second(errc::journal_corrupt));  // more ids than bytes
}

TEST_CASE("SEC-1 restore: an edge's open draft that is no draft is damage; that of another round is left") {
  pair p;
  const bytes draft = to_open_draft(p);
  tokens text(200);
  const auto read = sv::read_journal<edge_record>(p.edge_journal, text);
  REQUIRE(read.ok());
  REQUIRE_FALSE(read->draft.empty());
  const auto takes = [&](auto change) {
    std::vector<std::byte> kept(read->draft.begin(), read->draft.end());
    change(kept);
    std::array<std::byte, sv::detail::snapshot_bytes<edge_record>()> snapshot;
    sv::detail::store_snapshot(*read->last, snapshot.data());
    bytes record(sv::detail::journal_bytes(read->text.size(), snapshot.size(), kept.size()));
    REQUIRE(sv::detail::write_journal_bytes({0, read->text, snapshot, kept}, record).ok());
    pair again;
    const sv::status why = again.edge->restore(record, 1).error();
    if (why.ok()) (void)again.run_edge();
    return std::pair{why, again.story.find("tentative") != std::string::npos};
  };
  const auto number = [](std::size_t at, std::uint32_t value) {
    return [at, value](bytes& kept) { sv::numeric::store_le(kept.data() + at, value, 4); };
  };
  const std::pair<sv::status, bool> taken{{}, true}, left{{}, false}, corrupt{refused(errc::journal_corrupt), false};
  CHECK(takes([](bytes&) {}) == taken);
  CHECK(takes(number(0, 999)) == left);       // its round
  CHECK(takes(number(4, 9)) == left);         // its length
  CHECK(takes(number(8, 4)) == corrupt);      // more drafts than L
  CHECK(takes(number(8, 1)) == corrupt);      // fewer than it has
  CHECK(takes(number(16, 2)) == corrupt);     // states beyond the last
  CHECK(takes(number(24, 9999)) == corrupt);  // a body that is longer than the record
  CHECK(takes(number(36, 30)) == corrupt);    // a token outside the vocabulary
  const auto body = [](const bytes& kept) { return 36 + 4 * sv::numeric::load_le(kept.data() + 8, 4); };
  CHECK(takes([&](bytes& kept) { kept[static_cast<std::size_t>(body(kept))] ^= std::byte{1}; }) ==
        corrupt);                         // no draft
  const auto longer = [&](bytes& kept) {  // than any message
    sv::numeric::store_le(kept.data() + 24, sv::numeric::load_le(kept.data() + 24, 4) + 8000, 4);
    kept.insert(kept.begin() + static_cast<std::ptrdiff_t>(body(kept)) + 1, 8000, std::byte{0});
  };
  CHECK(takes(longer) == corrupt);
  CHECK(takes([](bytes& kept) { kept.resize(20); }) == corrupt);
  CHECK(takes([](bytes& kept) { kept.pop_back(); }) == corrupt);
}

TEST_CASE("SEC-1 restore: a cloud names what it does not serve as it does for a hello; the rest is journal_corrupt") {
  using record = sv::cloud_snapshot;
  using options = sv::cloud_options;
  pair p;
  play(p);
  const sv::status corrupt = refused(errc::journal_corrupt);
  const auto beyond = [](std::uint32_t where) { return refused(errc::beyond_limit, where); };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<forgery<record>> forgeries{
      {"vocab_size", [](record& s, auto&) { s.terms.format.vocab_size = 31; },
       refused(errc::vocabulary_mismatch, options::at_vocab_size)},
      {"fingerprint", [](record& s, auto&) { s.terms.fingerprint_high = 1; }, refused(errc::fingerprint_mismatch)},
      {"draft length", [](record& s, auto&) { s.terms.format.max_draft_length = 4; },
       beyond(options::at_max_draft_length)},
      {"law entries", [](record& s, auto&) { s.terms.format.support_size = 9; }, beyond(options::at_max_law_entries)},
      {"skipped", [](record& s, auto&) { s.terms.format.attachments.max_skipped = 1; },
       beyond(options::at_max_skipped)},
      {"hidden",
       [](record& s, auto&) {
         s.terms.format.attachments.hidden_size = 8, s.terms.format.attachments.hidden = sv::hidden_format::int8;
       },
       beyond(options::at_max_hidden_bytes)},
      {"padding", [](record& s, auto&) { s.terms.format.pad_to = 4096; }, beyond(options::at_max_message_bytes)},
      {"text_chunk", [](record& s, auto&) { s.terms.text_chunk = 257; }, beyond(options::at_text_chunk)},
      {"truncation", [](record& s, auto&) { s.terms.truncation.top_k = 5; }, beyond(options::at_truncation)},
      {"prompt", [](record& s, auto&) { s.prompt_length = 101; }, beyond(options::at_max_text_length)},
      {"budget", [](record& s, auto&) { s.terms.token_budget = 98; }, beyond(options::at_max_text_length)},
      // From here on what no message can have made, whatever the options are.
      {"no prompt", [](record& s, auto&) { s.prompt_length = 0; }, corrupt},
      {"a prompt that is not there", [](record& s, auto&) { s.prompt_length = s.length + 1; }, corrupt},
      {"text within the prompt",
       [](record& s, auto& text) {
         text.resize(1);
         s.length = 1, s.target.length = 0, s.last.round = 0;
         s.prefix_hash = sv::prefix_hash(text);
       },
       corrupt},
      {"text beyond the budget", [](record& s, auto&) { s.terms.token_budget = s.length - s.prompt_length - 1; },
       corrupt},
      {"a target beyond the budget",
       [](record& s, auto&) { s.target.length = s.prompt_length + s.terms.token_budget + 1; }, corrupt},
      {"token_and_count", [](record& s, auto&) { s.terms.format.format = sv::law_format::token_and_count; }, corrupt},
      {"no text_chunk", [](record& s, auto&) { s.terms.text_chunk = 0; }, corrupt},
      {"prefix hash", [](record& s, auto&) { s.prefix_hash ^= 1; }, corrupt},
      {"length", [](record& s, auto&) { s.length -= 1; }, corrupt},
      {"a token", [](record& s, auto& text) { text[1] = 30, s.prefix_hash = sv::prefix_hash(text); }, corrupt},
      {"salt", [](record& s, auto&) { s.salt = 0; }, corrupt},
      {"temperature", [nan](record& s, auto&) { s.terms.temperature = nan; }, corrupt},
      {"threshold", [](record& s, auto&) { s.terms.threshold = 0.5; }, corrupt},  // of a rule without one
      {"top_p", [](record& s, auto&) { s.terms.truncation.top_p = 0; }, corrupt},
      {"min_p", [nan](record& s, auto&) { s.terms.truncation.min_p = nan; }, corrupt},
      {"round", [](record& s, auto&) { s.round = 0; }, corrupt},
      {"a verdict of a later round", [](record& s, auto&) { s.last.round = s.round + 1; }, corrupt},
      {"accepted beyond all drafts", [](record& s, auto&) { s.last.accepted = 4; }, corrupt},
      {"source of a verdict", [](record& s, auto&) { s.last.source = 200; }, corrupt},
  };
  for (const forgery<record>& each : forgeries) {
    const std::string forged_member(each.what);
    CAPTURE(forged_member);
    pair again;
    const sv::status refusal = again.cloud->restore(forged<record>(p.cloud_journal, each.change)).error();
    CHECK(refusal == each.expected);
    CHECK(again.cloud->state() == sv::cloud_state::blank);
  }
  pair_options few, strong;
  few.cloud_max_length = 8;
  strong.required = sv::guarantee::unconditional;
  CHECK(pair(few).cloud->restore(p.cloud_journal).error().code == errc::output_too_small);
  CHECK(pair(strong).cloud->restore(p.cloud_journal).error() == refused(errc::guarantee_too_weak));
}

TEST_CASE("SEC-1 restore: a cloud's journal has the guarantee that hello claimed") {
  using record = sv::cloud_snapshot;
  pair p;
  play(p);
  const bytes less = forged<record>(p.cloud_journal, [](record& s, auto&) { s.terms.strength = sv::guarantee::lossy; });
  pair_options honest;
  honest.required = sv::guarantee::honest_drafter;
  CHECK(pair(honest).cloud->restore(p.cloud_journal).ok());
  CHECK(pair(honest).cloud->restore(less).error() == refused(errc::guarantee_too_weak));
}

TEST_CASE("SEC-1 restore: an edge names what its options do not hold") {
  pair p;
  play(p);
  sv::edge_options o = p.edge_options();
  o.max_text_length = 8;
  o.token_budget = 4;
  auto small = sv::make_edge(o, p.kept(), p.window());
  REQUIRE(small.ok());
  CHECK(small->restore(p.edge_journal, 1).error().code == errc::output_too_small);
  CHECK(small->state() == sv::edge_state::idle);
  const bytes alone = forged<edge_record>(p.edge_journal, [](edge_record& s, const tokens& text) {
    s.base_length -= 1;
    s.prefix_hash = sv::prefix_hash(std::span(text).first(s.base_length));
  });
  CHECK(pair().edge->restore(alone, 1).error() == refused(errc::journal_corrupt));
}

TEST_CASE("restore: an edge with another threshold, draw_from_row or text_chunk is refused by the option's name") {
  const auto as_written = [](const bytes& journal) { return journal; };
  const auto restored_from = [](const pair_options& with, auto begin, auto written, auto change) {
    pair p(with);
    sv::edge_options o = p.edge_options();
    begin(o);
    auto first = sv::make_edge(o, p.kept(), p.window());
    REQUIRE(first.ok());
    REQUIRE(first->start(std::array<token_id, 2>{4, 5}, 1).ok());
    const sv::session_output record = first->next();
    REQUIRE(record.action == sv::session_action::journal);
    const bytes journal = written(bytes(record.bytes.begin(), record.bytes.end()));
    change(o);
    auto next = sv::make_edge(o, p.kept(), p.window());
    REQUIRE(next.ok());
    const sv::status why = next->restore(journal, 1).error();
    CHECK(next->state() == (why.ok() ? sv::edge_state::handshaking : sv::edge_state::idle));
    return why;
  };
  const auto restored = [&](const pair_options& with, auto begin, auto change) {
    return restored_from(with, begin, as_written, change);
  };
  using options = sv::edge_options;
  const auto as_it_is = [](options&) {};
  const auto other = [](std::uint32_t where) { return refused(errc::options_disagree, where); };
  pair_options with_rows;
  with_rows.format = sv::law_format::top_k_tail;
  const auto rows = [](options& o) { o.draw_from_row = true; };
  CHECK(restored(with_hidden_states(), as_it_is, as_it_is).ok());
  CHECK(restored(with_hidden_states(), as_it_is, [](options& o) { o.threshold = 0.25; }) ==
        other(options::at_threshold));
  CHECK(restored({}, as_it_is, [](options& o) { o.threshold = 0.25; }).ok());  // no other rule has one
  CHECK(restored({}, as_it_is, [](options& o) { o.text_chunk = 255; }) == other(options::at_text_chunk));
  CHECK(restored(with_rows, rows, as_it_is).ok());
  CHECK(restored(with_rows, as_it_is, rows) == other(options::at_draw_from_row));
  CHECK(restored(with_rows, rows, [](options& o) { o.draw_from_row = false; }) == other(options::at_draw_from_row));
  // of an earlier version, whose drafts came without their probabilities
  const auto earlier = [](const bytes& journal) {
    return forged<edge_record>(
        journal, [](edge_record& s, const tokens&) { s.terms.format.attachments.drafted_probability = false; });
  };
  CHECK(restored_from(with_rows, rows, earlier, as_it_is) == other(options::at_draw_from_row));
}

TEST_CASE(
    "session: an edge whose cloud was restored with another threshold or text_chunk ends with options_disagree, "
    "whoever says so") {
  const auto meets = [](const pair_options& with, auto change) {
    pair p(with);
    play(p, 3);
    const bytes journal = forged<sv::cloud_snapshot>(p.cloud_journal, change);
    pair anew(with);  // without its journal; the prompt is the same
    REQUIRE(anew.cloud->restore(journal).ok());
    const bytes hello = anew.start();
    const sv::status why = anew.cloud->receive(hello, 1);
    const std::vector<bytes> answers = anew.run_cloud();
    const errc heard = anew.edge->receive(answers.front(), 1).code;
    CHECK((heard == errc::refused_by_peer) == !why.ok());
    if (!why.ok()) CHECK(anew.edge->refusal() == why);
    return why;
  };
  const sv::status disagree = refused(errc::options_disagree);
  CHECK(meets({}, [](auto&, auto&) {}).ok());
  CHECK(meets(with_hidden_states(), [](auto&, auto&) {}).ok());
  CHECK(meets(with_hidden_states(), [](auto& s, auto&) { s.terms.threshold = 0.25; }) == disagree);
  CHECK(meets({}, [](auto& s, auto&) { s.terms.text_chunk = 255; }) == disagree);
  CHECK(meets({}, [](auto& s, auto&) { s.prompt_length -= 1; }) == disagree);
  const auto answered = [](const pair_options& with, auto change) {
    pair p(with);
    const sv::status heard = p.edge->receive(changed_hello(p.answer(p.start()), change), 1);
    CHECK((p.reason(p.run_edge().back()) == heard) == !heard.ok());
    return heard;
  };
  CHECK(answered(with_hidden_states(), [](sv::hello_message& said) { said.threshold = 0.25; }) == disagree);
  CHECK(answered({}, [](sv::hello_message& said) { said.text_chunk = 255; }) == disagree);
  CHECK(answered({}, [](sv::hello_message& said) { said.prompt_length = 2; }) == disagree);
}

TEST_CASE("session: drafts are journaled automatically in records of 4096 bytes, and of not one more") {
  const auto kept_bytes = [](std::uint32_t hidden_size, sv::draft_journaling journaled) {
    pair_options with = with_hidden_states();
    with.attachments.hidden_size = hidden_size;
    with.draft_length = 1;
    pair p(with);
    sv::edge_options o = p.edge_options();
    o.journal_drafts = journaled;
    p.edge.emplace(std::move(sv::make_edge(o, p.kept(), p.window())).value());
    const bytes draft = to_open_draft(p);
    tokens text(200);
    const auto read = sv::read_journal<edge_record>(p.edge_journal, text);
    REQUIRE(read.ok());
    p.edge.emplace(std::move(sv::make_edge(o, p.kept(), p.window())).value());
    p.edge_engine.clear();
    REQUIRE(p.edge->restore(p.edge_journal, 1).ok());
    const bytes sent = p.exchange(pair::only(p.run_edge()));
    CHECK(sent == draft);
    CHECK((p.edge->statistics().fed_tokens == 0) == !read->draft.empty());
    return read->draft.size();
  };
  using enum sv::draft_journaling;
  CHECK(sv::automatic_draft_record == 4096);
  CHECK(kept_bytes(4040, automatic) == 4096);
  CHECK(kept_bytes(4041, automatic) == 0);
  CHECK(kept_bytes(4041, always) == 4097);
  CHECK(kept_bytes(4040, never) == 0);
}
