// SPDX-License-Identifier: Apache-2.0
// llama_checks: what `./run engine --test` runs on a real engine, both sides in one thread, messages hand to hand.
//   llama_checks greedy DRAFTER TARGET PROMPTS TOKENS     texts against the target alone, near ties listed
//   llama_checks rows DRAFTER TARGET PROMPTS TOKENS OUT   K-SQS at T = 1: rows of each tested draft, how many stood
//   llama_checks kills DRAFTER TARGET PROMPTS TOKENS      100 kills of either side at random moments
//   llama_checks share DRAFTER TARGET PROMPTS TOKENS      the library's share of a round's processor time
#include <specverify/codec/message.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/drive.hpp>
#include <specverify/session/presets.hpp>

#include "chat.hpp"
#include "system_run.hpp"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <random>

namespace {

namespace sv = specverify;
using namespace llama_pair;
using bytes = std::vector<std::byte>;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

//! An engine whose passes are counted in processor time.
struct timed_engine {
  engine& side;
  double seconds = 0;
  sv::status feed(std::uint32_t position, std::span<const sv::token_id> tokens, std::uint32_t rows) {
    const double begin = cpu_seconds();
    const sv::status why = side.feed(position, tokens, rows);
    seconds += cpu_seconds() - begin;
    return why;
  }
  sv::row_view<float> row(std::uint32_t i) { return side.row(i); }
  sv::status truncate(std::uint32_t position) { return side.truncate(position); }
};

//! One side: its session, its engine, its journal, and what it spent outside its engine.
template <class Session>
struct one_side {
  timed_engine engine_of;
  std::optional<Session> session{};
  bytes journal{}, message{};
  double working = 0, delivering = 0;
  int outputs_left = -1;  // until it is killed; negative: it lives

  //! False: it was killed on the way.
  bool work(const auto& hear) {
    static constexpr sv::status killed{sv::errc::link_lost, sv::part::host, 77};
    const double begin = cpu_seconds(), fed = engine_of.seconds;
    const sv::status why = sv::drive(*session, engine_of, [&](const sv::session_output& out) -> sv::status {
      if (out.action == sv::session_action::journal) {
        if (out.replaces) journal.clear();
        journal.insert(journal.end(), out.bytes.begin(), out.bytes.end());
      }
      if (out.action == sv::session_action::send) message.assign(out.bytes.begin(), out.bytes.end());
      if (out.action == sv::session_action::committed) hear(out);
      return outputs_left >= 0 && outputs_left-- == 0 ? killed : sv::status{};
    });
    working += cpu_seconds() - begin - (engine_of.seconds - fed);
    if (why == killed) return false;
    if (!why.ok()) throw failure_of(why, session->refusal());
    return true;
  }
  void hear_from(bytes& sent, sv::session_time now) {
    const double begin = cpu_seconds();
    (void)sv::deliver(*session, std::exchange(sent, {}), now);
    delivering += cpu_seconds() - begin;
  }
};

struct evaluated {
  std::uint32_t position = 0;  // of the drafted token, from the first behind the prompt
};

struct both_sides {
  engine &small, &large;
  bool greedily = false;
  std::uint32_t tokens = 64;
  std::uint64_t session_id = 1;
  std::vector<sv::token_id> prompt{};
  one_side<sv::edge_session> edge{{small}};
  one_side<sv::cloud_session> cloud{{large}};
  sv::session_time time = 0;
  std::vector<sv::token_id> committed{};
  std::vector<evaluated> tested{};
  std::uint64_t changed = 0, tested_before = 0;

  void raise_edge() {
    sv::edge_options options;
    options.session_id = session_id;
    options.secret = sv::secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
    options.vocab_size = small.vocab_size();
    options.token_budget = tokens;
    options.max_text_length = small.context_length() - 8;
    options.fingerprint = small.fingerprint();
    if (!greedily) options.stop_tokens = small.ends();  // greedy texts have all their tokens
    options.retry_timeout = 1000;
    auto made = greedily ? sv::make(options, sv::greedy(4)) : sv::make(options, sv::k_sqs());
    if (!made) throw failure_of(made.error(), {});
    edge.session.emplace(*std::move(made));
    const sv::status restored = edge.journal.empty() ? sv::status{sv::errc::unknown_session, sv::part::session, 0}
                                                     : edge.session->restore(edge.journal, ++time).error();
    const sv::status began = restored.ok() ? restored : edge.session->start(prompt, ++time);
    if (!began.ok()) throw failure_of(began, {});
  }
  void raise_cloud() {
    sv::cloud_options options;
    options.secret = sv::secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");
    options.salt = session_id + 1;
    options.vocab_size = large.vocab_size();
    options.max_text_length = large.context_length() - 8;
    options.fingerprint = large.fingerprint();
    if (!greedily) options.stop_tokens = large.ends();
    auto made = sv::cloud_session::make(options);
    if (!made) throw failure_of(made.error(), {});
    cloud.session.emplace(*std::move(made));
    if (cloud.journal.empty()) return;
    const auto restored = cloud.session->restore(cloud.journal);
    if (!restored) throw failure_of(restored.error(), {});
  }
  void note(const sv::session_output& out) {
    for (std::size_t i = 0, at = out.position - prompt.size(); i < out.tokens.size(); ++i, ++at) {
      if (at < committed.size()) {
        changed += committed[at] != out.tokens[i];
      } else {
        committed.push_back(out.tokens[i]);
      }
    }
    const std::uint64_t now_tested = edge.session->statistics().evaluated;
    for (std::uint64_t i = tested_before; i < now_tested; ++i)
      tested.push_back({static_cast<std::uint32_t>(out.position - prompt.size() + (i - tested_before))});
    tested_before = now_tested;
  }
  //! One message each way. False: a side was killed.
  bool turn() {
    if (!edge.work([&](const sv::session_output& out) { note(out); })) return false;
    if (edge.session->state() == sv::edge_state::finished) return true;
    const bool asked = !edge.message.empty();
    if (asked) cloud.hear_from(edge.message, ++time);
    if (!cloud.work([](const sv::session_output&) {})) return false;
    if (!cloud.message.empty()) {
      edge.hear_from(cloud.message, ++time);
    } else {
      (void)edge.session->tick(time += 2000);
    }
    return true;
  }
  void write() {
    raise_edge();
    raise_cloud();
    while (edge.session->state() != sv::edge_state::finished) (void)turn();
  }
};

struct arguments {
  std::string prompts_file, out;
  std::uint32_t tokens = 0;
};

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

both_sides sides_of(engine& small, engine& large, const std::string& prompt, std::uint32_t tokens, std::uint64_t id) {
  both_sides both{small, large};
  both.tokens = tokens;
  both.session_id = id;
  both.prompt = prompt_of(small, {{"user", prompt}}, true);
  return both;
}

int check_greedy(engine& small, engine& large, const arguments& given) {
  std::size_t compared = 0, same = 0, near = 0, others = 0;
  std::uint64_t id = 0;
  for (const std::string& prompt : lines_of(given.prompts_file)) {
    both_sides both = sides_of(small, large, prompt, given.tokens, ++id);
    both.greedily = true;
    both.write();
    const greedy_comparison found = compare_greedily(large, both.prompt, both.committed);
    compared += both.committed.size();
    same += found.same;
    near += found.near_ties.size();
    others += found.others.size();
    for (const std::size_t at : found.near_ties)
      std::printf("near tie: prompt %d, token %zu\n", static_cast<int>(id), at);
    for (const std::size_t at : found.others)
      std::printf("ANOTHER TOKEN: prompt %d, token %zu\n", static_cast<int>(id), at);
    std::fflush(stdout);
  }
  std::printf("greedy: %zu prompts, %zu of %zu tokens are the target's own; %zu near ties, %zu others\n",
              static_cast<std::size_t>(id), same, compared, near, others);
  return others == 0 && near <= 5 && compared > 0 ? 0 : 1;
}

//! For tests/engine/acceptance.py: V, then for each text the accepted drafts, the tested ones, and their rows.
int write_rows(engine& small, engine& large, const arguments& given) {
  std::ofstream out(given.out, std::ios::binary);
  const auto put = [&out](std::uint32_t number) { out.write(reinterpret_cast<const char*>(&number), 4); };
  put(small.vocab_size());
  std::uint64_t id = 100;
  for (const std::string& prompt : lines_of(given.prompts_file)) {
    both_sides both = sides_of(small, large, prompt, given.tokens, ++id);
    both.write();
    put(static_cast<std::uint32_t>(both.edge.session->statistics().accepted));
    put(static_cast<std::uint32_t>(both.tested.size()));
    std::vector<sv::token_id> text = both.prompt;
    text.insert(text.end(), both.committed.begin(), both.committed.end());
    text.pop_back();
    const auto rows = static_cast<std::uint32_t>(both.committed.size());
    for (engine* side : {&large, &small}) {
      if (const sv::status why = side->feed(0, text, rows); !why.ok()) throw failure_of(why, {});
    }
    for (const evaluated& one : both.tested) {
      for (engine* side : {&large, &small}) {
        const std::span<const float> row = side->logits(one.position, rows);
        out.write(reinterpret_cast<const char*>(row.data()), static_cast<std::streamsize>(row.size_bytes()));
      }
    }
  }
  return out.good() ? 0 : 1;
}

int check_kills(engine& small, engine& large, const arguments& given) {
  int kills = 0;
  std::size_t texts = 0;
  std::uint64_t changed = 0, id = 1000;
  std::mt19937 chance{12};
  const auto prompts = lines_of(given.prompts_file);
  while (kills < 100) {
    both_sides both = sides_of(small, large, prompts[texts % prompts.size()], given.tokens, ++id);
    both.greedily = texts % 4 == 3;
    both.raise_edge();
    both.raise_cloud();
    const auto arm = [&](auto& side) { side.outputs_left = static_cast<int>(chance() % 30); };
    arm(both.edge);
    arm(both.cloud);
    while (both.edge.session->state() != sv::edge_state::finished) {
      if (both.turn()) continue;
      ++kills;
      both.edge.message.clear();
      both.cloud.message.clear();
      if (both.edge.outputs_left < 0) {
        both.raise_edge();
        arm(both.edge);
      } else {
        both.raise_cloud();
        arm(both.cloud);
      }
    }
    changed += both.changed;
    const auto text = both.edge.session->text().subspan(both.prompt.size());
    changed += std::equal(text.begin(), text.end(), both.committed.begin(), both.committed.end()) ? 0u : 1u;
    ++texts;
  }
  std::printf("kills: %d of either side over %zu texts, all finished; %llu committed tokens changed\n", kills, texts,
              static_cast<unsigned long long>(changed));
  return changed == 0 ? 0 : 1;
}

//! What a run may take; the goal, 0.15 %, is not reached yet (docs/llama.md).
constexpr double most_share = 0.004;

int check_share(engine& small, engine& large, const arguments& given) {
  double draft = 0, decode = 0, verify = 0, verdict = 0, engines = 0;
  std::uint64_t rounds = 0, id = 5000;
  for (const std::string& prompt : lines_of(given.prompts_file)) {
    both_sides both = sides_of(small, large, prompt, given.tokens, ++id);
    both.write();
    draft += both.edge.working;
    decode += both.cloud.delivering;
    verify += both.cloud.working;
    verdict += both.edge.delivering;
    engines += both.edge.engine_of.seconds + both.cloud.engine_of.seconds;
    rounds += both.edge.session->statistics().rounds;
    if (id == 5004) break;
  }
  const double library = draft + decode + verify + verdict, n = static_cast<double>(rounds);
  std::printf(
      "share: library %.0f us of %.1f ms a round, %.3f %%: draft and encode %.0f us, decode %.1f us, verify and "
      "answer %.0f us, verdict %.1f us (%llu rounds, K-SQS, processor time)\n",
      library / n * 1e6, (library + engines) / n * 1e3, 100 * library / (library + engines), draft / n * 1e6,
      decode / n * 1e6, verify / n * 1e6, verdict / n * 1e6, static_cast<unsigned long long>(rounds));
  return library / (library + engines) <= most_share ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return std::fprintf(stderr, "usage: the first lines of apps/llama/checks.cpp\n"), 2;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  const std::string mode = argv[1];
  const arguments given{argv[4], argc > 6 ? argv[6] : "", static_cast<std::uint32_t>(std::stoul(argv[5]))};
  try {
    engine small(argv[2], 1024, 1), large(argv[3], 1024, 1);
    if (mode == "greedy") return check_greedy(small, large, given);
    if (mode == "rows") return write_rows(small, large, given);
    if (mode == "kills") return check_kills(small, large, given);
    if (mode == "share") return check_share(small, large, given);
  } catch (const failure& why) {
    std::fprintf(stderr, "%s\n", why.what());
    return static_cast<int>(why.code);
  }
  return 2;
}
