// SPDX-License-Identifier: Apache-2.0
// Prints one hash of the laws, messages, journals and texts of six methods of the papers. The hash must be the same for
// every build and machine; otherwise the program exits with 1.
// usage: one_hash          needs nothing but the library: c++ -std=c++20 -Iinclude tests/outputs/one_hash.cpp
//
// The inputs are integers: a logit is a multiple of 2^-7, which is exact in any arithmetic. All hashed results are
// bit-exact by promise, or so far from a tie that every build decides alike (acceptance, and the fp16 values of HLM).
// The hash leaves out CU-HLM's messages, which contain a token's probability in its row, and the edge's journal of
// C-SQS, which contains a state in the form of the memory.
// The methods run again in three other rounding modes, in four threads at once, and on a stack of 128 KiB. A journal
// contains means, which depend on the rounding mode, so it does not count in other modes.
#include <specverify/host/drive.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/presets.hpp>

#include <pthread.h>

#include <array>
#include <bit>
#include <cfenv>
#include <cstdio>
#include <utility>
#include <vector>

using namespace specverify;

namespace {

constexpr std::uint64_t expected = 0xe1a9bb2d05019744;

constexpr std::uint32_t vocab_size = 1100;  // more than a block of 1024, and not a multiple of any vector width
constexpr std::uint32_t tokens = 40;

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

class hash {  // FNV-1a over numbers of 8 bytes, little-endian
 public:
  void add(std::uint64_t number) {
    for (int i = 0; i < 64; i += 8) value_ = (value_ ^ (number >> i & 255u)) * 0x100000001B3u;
  }
  template <class T>
  void add(std::span<const T> values) {
    add(values.size());
    for (const T value : values) add(static_cast<std::uint64_t>(value));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }
  friend bool operator==(const hash&, const hash&) = default;

 private:
  std::uint64_t value_ = 0xCBF29CE484222325u;
};

//! Logits of about 2 log2(1 / u), with u per token, so few tokens are likely. The drafter has them with some error.
void write_row(std::uint64_t prefix, bool drafter, std::span<float> row) {
  for (std::uint32_t v = 0; v < row.size(); ++v) {
    const std::uint64_t bits = mix(prefix ^ mix(v));
    const int zeros = std::countl_zero(bits | 1u);
    const auto behind = static_cast<int>((bits << zeros) >> 57 & 63u);
    const int unknown = drafter ? static_cast<int>(bits & 255u) : 0;
    row[v] = static_cast<float>(4 * (64 * zeros + 63 - behind) - unknown) * 0x1.0p-7F;
  }
}

struct integer_model {
  bool drafter = false;
  std::vector<std::uint64_t> prefixes{17};
  std::vector<float> rows{};

  status feed(std::uint32_t position, std::span<const token_id> fed, std::uint32_t wanted) {
    truncate(position);
    for (const token_id token : fed) prefixes.push_back(mix(prefixes.back() ^ static_cast<std::uint64_t>(token)));
    rows.resize(std::size_t{wanted} * vocab_size);
    for (std::size_t i = 0; i < wanted; ++i)
      write_row(prefixes[prefixes.size() - wanted + i], drafter, std::span(rows).subspan(i * vocab_size, vocab_size));
    return {};
  }
  [[nodiscard]] row_view<float> row(std::uint32_t i) const {
    return logits_row(std::span<const float>(rows).subspan(std::size_t{i} * vocab_size, vocab_size));
  }
  void truncate(std::uint32_t position) { prefixes.resize(position + 1); }
};

struct made {
  const char* name = "";
  hash laws{}, messages{}, journals{}, text{};
  std::uint64_t accepted = 0;
  bool complete = false;
};

//! The laws of a method for rows at temperatures from 1/4 to 5/4; the texts have only one temperature.
template <class Preset>
status add_laws(const Preset& system, hash& laws) {
  const auto kept = *system.sparsifier;
  auto state = kept.initial_state();
  const draft_law_options options{system.format, system.window.resolution};
  std::vector<float> row(vocab_size);
  for (std::uint32_t n = 0; n < tokens; ++n) {
    write_row(mix(n), true, row);
    const row_transform transform{.temperature = 0.25 * (1 + n % 5)};
    const read_request wanted = draft_law_request(vocab_size, kept, state, options);
    std::vector<std::byte> memory(digest_workspace_size(vocab_size, transform, wanted) +
                                  draft_law_workspace_size(vocab_size, kept, state, options));
    workspace scratch{memory};
    const auto read = read_row(exec::simd, logits_row(std::span<const float>(row)), transform, wanted, scratch);
    if (!read) return read.error();
    const auto law = make_draft_law(*read, kept, state, options, scratch);
    if (!law) return law.error();
    laws.add(std::span(law->drafted.ids, law->drafted.size));
    laws.add(std::span(law->drafted.counts, law->drafted.size));
    laws.add(law->drafted.tail_count);
    state = kept.advance(state, law->kept);
  }
  return {};
}

template <class Preset>
made run(const char* name, std::uint64_t number, Preset system, session_mode mode = session_mode::draft) {
  made found{name};
  edge_options device{.session_id = number, .secret = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3")};
  device.vocab_size = vocab_size;
  device.transform.temperature = 0.75;
  device.token_budget = tokens;
  device.mode = mode;
  cloud_options server{.secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9"), .salt = 815};
  server.vocab_size = vocab_size;
  server.limits = cloud_session::limits_for(system.format_for(vocab_size));
  auto edge = make_edge(device, system);
  auto cloud = make_cloud(server);
  if (!edge || !cloud || !edge->start(std::array<token_id, 2>{1, 2}, 0).ok()) return found;
  integer_model drafter{.drafter = true}, target;
  std::vector<std::vector<std::byte>> up, down;  // messages in flight
  const auto heard_by = [&](bool journal_counts, std::vector<std::vector<std::byte>>& sent) {
    return [&, journal_counts](const session_output& out) {
      if (out.action == session_action::journal && journal_counts) found.journals.add(out.bytes);
      if (out.action != session_action::send) return;
      found.messages.add(out.bytes);
      sent.emplace_back(out.bytes.begin(), out.bytes.end());
    };
  };
  using sparsifier_state = typename std::remove_cvref_t<decltype(*system.sparsifier)>::state_type;
  const auto at_edge = heard_by(std::is_empty_v<sparsifier_state>, up);
  const auto at_cloud = heard_by(true, down);
  for (bool ok = drive(*edge, drafter, at_edge).ok(); ok && !up.empty();) {
    for (const auto& message : std::exchange(up, {}))
      ok = ok && deliver(*cloud, message, 0).ok() && drive(*cloud, target, at_cloud).ok();
    for (const auto& message : std::exchange(down, {}))
      ok = ok && deliver(*edge, message, 0).ok() && drive(*edge, drafter, at_edge).ok();
  }
  found.text.add(edge->text());
  found.accepted = edge->statistics().accepted;
  found.complete = edge->state() == edge_state::finished && edge->length() == 2 + tokens;
  if (!system.sparsifier) system.sparsifier.emplace();
  if (mode == session_mode::draft) found.complete &= add_laws(system, found.laws).ok();
  return found;
}

//! Draws from CU-HLM's laws, with 30 entries and a uniform tail, without a skip policy and without x_d in messages.
preset<> hlm_of_entries() {
  preset<> system;
  system.format = law_format::top_k_tail;
  system.window = {1, 255};
  system.sparsifier = top_k{30};
  system.bonus = false;
  return system;
}

using results = std::array<made, 6>;

results run_all() {
  return {run("target", 1, hlm(), session_mode::stream),
          run("HLM", 2, hlm({.max_draft_length = 2})),
          run("QS", 3, qs()),
          run("K-SQS", 4, k_sqs()),
          run("C-SQS", 5, c_sqs({.max_support_size = vocab_size})),
          run("HLM, k entries", 6, hlm_of_entries())};
}

//! Compares a later run with the first one. Journals are compared only in the same rounding mode.
bool is_same(const char* when, const results& first, const results& found, bool with_journals = true) {
  bool same = true;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const made &a = first[i], &b = found[i];
    const auto compare = [&](const char* what, const hash& one, const hash& other) {
      if (one == other) return;
      std::printf("%s: other %s of %s\n", when, what, a.name);
      same = false;
    };
    compare("laws", a.laws, b.laws);
    compare("messages", a.messages, b.messages);
    if (with_journals) compare("journals", a.journals, b.journals);
    compare("text", a.text, b.text);
  }
  return same;
}

bool is_same_in_every_rounding_mode(const results& first) {
  struct {
    const char* name;
    int mode;
  } constexpr modes[] = {
#if defined(FE_UPWARD)
    {"rounding up", FE_UPWARD},
#endif
#if defined(FE_DOWNWARD)
    {"rounding down", FE_DOWNWARD},
#endif
#if defined(FE_TOWARDZERO)
    {"rounding to zero", FE_TOWARDZERO},
#endif
    {"rounding to nearest", FE_TONEAREST}
  };
  bool same = true;
  for (const auto& each : modes) {
    if (std::fesetround(each.mode) != 0) continue;  // this machine lacks the mode
    const results found = run_all();
    std::fesetround(FE_TONEAREST);
    same &= is_same(each.name, first, found, each.mode == FE_TONEAREST);
  }
  return same;
}

bool is_same_in_threads(const char* when, const results& first, std::size_t threads, std::size_t stack) {
  std::array<results, 4> found{};
  std::array<pthread_t, 4> ids{};
  pthread_attr_t attributes;
  bool same = pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, stack) == 0;
  const auto run_one = [](void* out) -> void* {
    *static_cast<results*>(out) = run_all();
    return nullptr;
  };
  std::size_t begun = 0;
  while (begun < threads && pthread_create(&ids[begun], &attributes, run_one, &found[begun]) == 0) ++begun;
  for (std::size_t i = 0; i < begun; ++i) pthread_join(ids[i], nullptr);
  pthread_attr_destroy(&attributes);
  for (std::size_t i = 0; i < threads; ++i) same &= is_same(when, first, found[i]);
  return same;
}

}  // namespace

int main() {
  const results first = run_all();
  hash all;
  bool good = true;
  for (const made& one : first) {
    for (const hash* part : {&one.laws, &one.messages, &one.journals, &one.text}) all.add(part->value());
    good &= one.complete;
    const auto shown = [](const hash& part) { return static_cast<unsigned long long>(part.value()); };
    std::printf("%-16s laws %016llx  messages %016llx  journals %016llx  text %016llx  %d drafts stood%s\n", one.name,
                shown(one.laws), shown(one.messages), shown(one.journals), shown(one.text),
                static_cast<int>(one.accepted), one.complete ? "" : "  not complete");
  }
  good &= is_same_in_every_rounding_mode(first);
  good &= is_same_in_threads("four threads", first, 4, std::size_t{8} << 20);
  good &= is_same_in_threads("a stack of 128 KiB", first, 1, std::size_t{128} << 10);
  std::printf("one hash: %016llx", static_cast<unsigned long long>(all.value()));
  if (all.value() != expected) std::printf(", expected %016llx", static_cast<unsigned long long>(expected));
  std::printf("\n");
  return good && all.value() == expected ? 0 : 1;
}
