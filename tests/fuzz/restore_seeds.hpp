// SPDX-License-Identifier: Apache-2.0
//! Seeds of the fuzz targets of `restore`: journals that sessions wrote, each with a script for the steps after it, and
//! the facts that a seed's name states about the journal. This file describes only the events, so if a seed is made
//! anew, it has the present layout.
#ifndef SPECVERIFY_TESTS_FUZZ_RESTORE_SEEDS_HPP
#define SPECVERIFY_TESTS_FUZZ_RESTORE_SEEDS_HPP

#include "fuzz/restore_body.hpp"

#include <string>
#include <utility>
#include <vector>

namespace specverify_fuzz {

using journal_bytes_of = std::vector<std::byte>;

//! Facts about a journal, for a side with the options of the system `choice`.
struct journal_facts {
  bool restored = false;
  bool continues = false;   //!< text behind the prompt, and no end
  bool open_draft = false;  //!< an edge's draft of the round that is open
  bool one_record = false;
  bool cut_back = false;  //!< a record begins before the text ends
  bool streams = false;
};

//! Returns the size in bytes of the whole record at the front.
[[nodiscard]] inline std::size_t first_record(std::span<const std::byte> journal) {
  return detail::journal_head_bytes + detail::journal_check_bytes +
         static_cast<std::size_t>(specverify::numeric::load_le(journal.data() + 4, 4));
}

//! Returns true if a record begins before the text of the records before it ends. If a record is damaged, returns
//! false.
[[nodiscard]] inline bool is_cut_back(std::span<const std::byte> journal) {
  for (std::uint32_t length = 0; journal.size() >= detail::journal_head_bytes;) {
    const auto payload = detail::open_record(journal);
    if (!payload || payload->empty()) return false;
    const auto number = [&](std::size_t at) {
      return static_cast<std::uint32_t>(specverify::numeric::load_le(journal.data() + at, 4));
    };
    if (number(8) < length) return true;
    length = number(8) + number(12);
    journal = journal.subspan(first_record(journal));
  }
  return false;
}

//! Drops the last record if it holds a draft alone, as if the file had gone back in time.
[[nodiscard]] inline journal_bytes_of without_last_draft(std::span<const std::byte> journal) {
  std::size_t at = 0, last = 0;
  while (at < journal.size()) {
    last = at;
    at += first_record(journal.subspan(at));
  }
  const bool alone = at > 0 && specverify::numeric::load_le(journal.data() + last + detail::journal_head_bytes, 4) == 0;
  return {journal.begin(), journal.begin() + static_cast<std::ptrdiff_t>(alone ? last : at)};
}

template <class Snapshot>
void read_facts(std::span<const std::byte> journal, journal_facts& facts) {
  std::vector<token_id> text(64);
  const auto read = read_journal<Snapshot>(journal, text);
  if (!read || !read->last) return;
  const Snapshot& last = *read->last;
  facts.one_record = read->found.records == 1;
  facts.continues = last.length > last.prompt_length && last.stop == stop_reason::none;
  facts.streams = last.terms.mode == session_mode::stream;
  detail::kept_draft draft;
  facts.open_draft = read->draft.size() >= detail::snapshot_bytes<detail::kept_draft>() &&
                     detail::load_snapshot(draft, read->draft.data()) && draft.round == last.round &&
                     draft.length == last.length && draft.drafts > 0;
}

template <class Skip>
journal_facts facts_of(side restored, unsigned choice, std::span<const std::byte> journal) {
  journal_facts facts;
  const std::byte word{static_cast<unsigned char>(choice)};  // of the variant 0
  session_script<Skip> script({&word, 1});
  facts.restored = restored == side::edge ? script.restart_edge_from(journal) : script.restart_cloud_from(journal);
  facts.cut_back = is_cut_back(journal);
  restored == side::edge ? read_facts<edge_of_restore>(journal, facts) : read_facts<cloud_snapshot>(journal, facts);
  return facts;
}
[[nodiscard]] inline journal_facts facts_of(side restored, unsigned choice, std::span<const std::byte> journal) {
  return skips(choice) ? facts_of<random_skip>(restored, choice, journal)
                       : facts_of<always_send>(restored, choice, journal);
}

//! The facts that a seed's name states.
enum class seed_kind { system, open_draft, compacted, cut_back, middle_of_stream };
[[nodiscard]] inline const char* name_of(seed_kind kind) {
  switch (kind) {
    case seed_kind::open_draft:
      return "open_draft";
    case seed_kind::compacted:
      return "compacted";
    case seed_kind::cut_back:
      return "cut_back";
    case seed_kind::middle_of_stream:
      return "middle_of_stream";
    default:
      return "system";
  }
}
[[nodiscard]] inline bool holds(seed_kind kind, const journal_facts& facts) {
  switch (kind) {
    case seed_kind::open_draft:
      return facts.restored && facts.continues && facts.open_draft && !facts.one_record;
    case seed_kind::compacted:
      return facts.restored && facts.continues && facts.one_record;
    case seed_kind::cut_back:
      return facts.restored && facts.continues && facts.cut_back;
    case seed_kind::middle_of_stream:
      return facts.restored && facts.continues && facts.streams && !facts.one_record;
    default:
      return facts.restored;
  }
}

//! Adds this many messages of each direction, in turn.
inline void add_exchanges(std::vector<std::byte>& script, int count) {
  for (int i = 0; i < count; ++i) {
    script.push_back(std::byte{0});
    script.push_back(std::byte{1});
  }
}
inline constexpr std::byte to_cloud{0};                          // a word of session_script
inline constexpr unsigned stream_bit = 0x80, greedy_bit = 0x40;  // bits of its first one

//! Takes journals of one side after each step of a life that leads to such a seed, until one fits.
template <class Skip>
class seed_maker {
 public:
  seed_maker(side restored, unsigned choice, seed_kind kind) : restored_(restored), choice_(choice), kind_(kind) {}

  //! Returns the journal. It is empty if none was found.
  [[nodiscard]] journal_bytes_of journal() const {
    for (int size = 1; size < 90; ++size) {
      journal_bytes_of made = after(size);
      if (holds(kind_, facts_of<Skip>(restored_, choice_, made))) return made;
    }
    return {};
  }

 private:
  [[nodiscard]] journal_bytes_of of(const session_script<Skip>& session) const {
    const auto journal = restored_ == side::edge ? session.edge_journal() : session.cloud_journal();
    return {journal.begin(), journal.end()};
  }
  [[nodiscard]] journal_bytes_of after(int size) const {
    std::vector<std::byte> script{static_cast<std::byte>(choice_), std::byte{0}};
    switch (kind_) {
      case seed_kind::compacted:
        if ((choice_ & stream_bit) != 0) return compacted(killed(script, size));
        add_exchanges(script, size + 3);
        return compacted(run(script));
      case seed_kind::cut_back:
        return restored_ == side::edge ? after_fetch(script, size) : after_append(script);
      case seed_kind::middle_of_stream:
        return killed(script, size);
      default:
        add_exchanges(script, kind_ == seed_kind::system ? 4 : size + 3);
        return run(script);
    }
  }
  [[nodiscard]] journal_bytes_of run(const std::vector<std::byte>& script) const {
    session_script<Skip> session(script);
    session.run();
    return of(session);
  }
  //! Returns the record that takes the place of a journal that is too long.
  [[nodiscard]] journal_bytes_of compacted(std::span<const std::byte> journal) const {
    std::vector<token_id> text(64);
    const std::size_t snapshot =
        restored_ == side::edge ? detail::snapshot_bytes<edge_of_restore>() : detail::snapshot_bytes<cloud_snapshot>();
    const auto read = detail::read_journal_bytes(journal, snapshot, text);
    if (!read || !read->last) return {};
    journal_bytes_of made(detail::journal_bytes(read->text.size(), snapshot));
    demand(detail::write_journal_bytes({0, read->text, *read->last, {}}, made).ok(), "a record that is not written");
    return made;
  }
  //! The cloud decides a round with tokens that the edge committed alone. An edge that has forgotten the draft must
  //! hear them again.
  [[nodiscard]] journal_bytes_of after_fetch(std::vector<std::byte>& script, int rounds) const {
    add_exchanges(script, rounds);
    script.push_back(to_cloud);
    session_script<Skip> session(script);
    session.run();
    session.restart_edge_from(without_last_draft(session.edge_journal()));
    std::vector<std::byte> more;
    add_exchanges(more, 5);
    session.go_on(more);
    return of(session);
  }
  //! A host appends the record that should replace the journal. The host's first records are enough.
  [[nodiscard]] journal_bytes_of after_append(std::vector<std::byte>& script) const {
    add_exchanges(script, 4);
    journal_bytes_of journal = run(script);
    const journal_bytes_of all = seed_maker(restored_, choice_, seed_kind::compacted).journal();
    journal.insert(journal.end(), all.begin(), all.end());
    return journal;
  }
  //! A process was killed within a record.
  [[nodiscard]] journal_bytes_of killed(std::vector<std::byte>& script, int bytes) const {
    add_exchanges(script, 4);
    journal_bytes_of journal = run(script);
    journal.resize(std::min(journal.size(), static_cast<std::size_t>(100 * bytes)));
    return journal;
  }

  side restored_;
  unsigned choice_;
  seed_kind kind_;
};

struct restore_seed {
  seed_kind kind{};
  unsigned choice = 0;
  std::vector<std::byte> bytes{};  //!< an input of the target; empty if there is no such journal
};

[[nodiscard]] inline restore_seed make_seed(side restored, seed_kind kind, unsigned choice) {
  const journal_bytes_of journal = skips(choice) ? seed_maker<random_skip>(restored, choice, kind).journal()
                                                 : seed_maker<always_send>(restored, choice, kind).journal();
  restore_seed made{kind, choice, {}};
  if (journal.empty()) return made;
  const unsigned mended = kind == seed_kind::system ? choice % 4 : mend_checks;
  for (const std::size_t byte : {std::size_t{choice}, std::size_t{mended}, journal.size() & 255u, journal.size() >> 8})
    made.bytes.push_back(static_cast<std::byte>(byte));
  made.bytes.insert(made.bytes.end(), journal.begin(), journal.end());
  add_exchanges(made.bytes, kind == seed_kind::system ? 4 : 16);
  return made;
}

inline std::vector<restore_seed> make_seeds(side restored) {
  constexpr unsigned last = script_formats - 1;
  std::vector<std::pair<seed_kind, unsigned>> wanted;
  for (unsigned choice = 0; choice < script_formats; ++choice) wanted.emplace_back(seed_kind::system, choice);
  for (const unsigned choice : {stream_bit, greedy_bit}) wanted.emplace_back(seed_kind::system, choice);
  for (const unsigned choice : {0u, last, stream_bit}) wanted.emplace_back(seed_kind::compacted, choice);
  if (restored == side::edge) {  // a law, hidden states on request, tokens that the edge commits alone
    for (const unsigned choice : {0u, 6u, last}) wanted.emplace_back(seed_kind::open_draft, choice);
    wanted.emplace_back(seed_kind::cut_back, last);
  } else {
    wanted.emplace_back(seed_kind::cut_back, 0u);
    wanted.emplace_back(seed_kind::middle_of_stream, stream_bit);
  }
  std::vector<restore_seed> made;
  for (const auto& [kind, choice] : wanted) made.push_back(make_seed(restored, kind, choice));
  return made;
}

}  // namespace specverify_fuzz

#endif
