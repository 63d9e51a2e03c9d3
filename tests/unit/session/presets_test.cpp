// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/reading.hpp>
#include <specverify/session/presets.hpp>

#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <cstdint>

#include "unit/session/pair.hpp"

using namespace specverify;
using namespace specverify_test;

namespace {

constexpr std::uint32_t vocab_size = 1000;

edge_options host_options() {
  edge_options made;
  made.secret = specverify_test::secret_of(7);
  made.vocab_size = vocab_size;
  made.pad_to = 64;
  made.token_budget = 9;
  return made;
}

template <class Sparsifier, class Skip>
void check_sizes(const preset<Sparsifier, Skip>& system, law_format format, std::uint32_t max_draft_length,
                 std::uint32_t resolution, std::uint32_t carried) {
  const wire_format made = system.format_for(vocab_size);
  CHECK(made.format == format);
  CHECK(made.max_draft_length == max_draft_length);
  CHECK(made.resolution == resolution);
  CHECK(made.support_size == carried);
  const auto options = options_with(host_options(), system);
  REQUIRE(options.ok());
  CHECK(check(made).ok());
  CHECK(options.value().pad_to == 64);  // the host's own options stay
  CHECK(options.value().token_budget == 9);
  CHECK(options.value().rule == system.rule);
  CHECK(options.value().bonus == system.bonus);
  CHECK(options.value().draw_from_row == system.draw_from_row);
}

pair_options shared() {
  pair_options options;
  options.format = law_format::token_only;
  options.rule = wire_rule::greedy;
  options.noise = noise_kind::philox;
  options.budget = 40;
  return options;
}

//! The target alone: one race per position, under the key that this cloud derives.
std::vector<token_id> own_race(std::uint64_t salt, std::span<const token_id> prompt, std::uint32_t count,
                               noise_kind kind = noise_kind::philox) {
  const coupling_noise noise{kind, derive_noise_key(secret_of(2), 7, salt)};
  hash_engine engine{pair::model(false)};
  std::vector<token_id> text(prompt.begin(), prompt.end());
  REQUIRE(engine.feed(0, text, 1));
  for (std::uint32_t i = 0; i < count; ++i) {
    std::vector<std::byte> memory(1 << 16);
    workspace scratch{std::span(memory)};
    const auto row = read_row(exec::seq, row_view<float>(engine.rows()[0]), {}, {}, scratch);
    text.push_back(*row->race(noise, static_cast<std::uint32_t>(text.size())));
    REQUIRE(engine.feed(static_cast<std::uint32_t>(text.size() - 1), std::array<token_id, 1>{text.back()}, 1));
  }
  return text;
}

}  // namespace

TEST_CASE("presets: K-SQS, K 16, l 100, L 4 gives format, sparsifier and window") {
  const auto system = k_sqs({.support_size = 16, .resolution = 100, .max_draft_length = 4});
  check_sizes(system, law_format::sparse_drop_zero, 4, 100, 16);
  CHECK(system.sparsifier->support_size == 16);
  check_sizes(k_sqs({.support_size = 8, .paper_code = true}), law_format::sparse_paper, 4, 100, 8);
  const auto made = make_edge(host_options(), system);
  REQUIRE(made.ok());
  CHECK(make_edge(host_options(), k_sqs({.support_size = 64})).ok());  // no default window of K = 16 in the way
  CHECK_FALSE(qs().sparsifier.has_value());                            // nothing to choose
  CHECK(make_edge(host_options(), qs()).ok());
  CHECK(make_edge(host_options(), hlm()).ok());
  CHECK(make_edge(host_options(), greedy()).ok());
  CHECK(make_edge(host_options(), cu_hlm()).ok());
  CHECK(make_edge(host_options(), cu_hlm_online({.support_size = 200})).ok());
}

TEST_CASE("presets: a support that may hold all of a small vocabulary is any support") {
  edge_options small = host_options();
  small.vocab_size = 50;
  CHECK(make_edge(small, k_sqs({.support_size = 200})).ok());
  CHECK(make_edge(small, compressed_hlm()).ok());
  CHECK(make_edge(small, cu_hlm({.support_size = 49})).ok());
}

TEST_CASE("presets: every system has a format that check accepts") {
  check_sizes(qs({.resolution = 720, .max_draft_length = 12}), law_format::dense_lattice, 12, 720, 0);
  check_sizes(hlm(), law_format::fp16_row, 1, 0, 0);
  check_sizes(rand_hlm(), law_format::fp16_row, 1, 0, 0);
  check_sizes(u_hlm({.threshold = 0.3}), law_format::fp16_row, 1, 0, 0);
  check_sizes(ui(), law_format::fp16_row, 1, 0, 0);
  check_sizes(cu_hlm({.support_size = 30}), law_format::top_k_tail, 1, 255, 31);
  check_sizes(cu_hlm_online({.support_size = 200}), law_format::top_k_tail, 1, 255, 201);
  check_sizes(compressed_hlm({.max_support_size = 300}), law_format::top_k_tail, 1, 255, 300);
  check_sizes(greedy(6), law_format::token_only, 6, 0, 0);
  check_sizes(wisv({.hidden_size = 96, .with_draft = true}), law_format::token_only, 8, 0, 0);
  CHECK(u_hlm({.threshold = 0.3}).skip.threshold == 0.3);
  CHECK(u_hlm().attachments.max_skipped == preset_max_skipped);
  CHECK_FALSE(u_hlm().bonus);
  CHECK_FALSE(compressed_hlm().bonus);
  CHECK(hlm().bonus);
  CHECK(cu_hlm().draw_from_row);
  CHECK_FALSE(compressed_hlm().draw_from_row);
  CHECK(cu_hlm().format_for(32000).attachments.drafted_probability);
  CHECK_FALSE(compressed_hlm().format_for(32000).attachments.drafted_probability);
  CHECK(cu_hlm_online({.support_size = 200}).sparsifier->max_support_size == 200);
  CHECK(greedy().rule == wire_rule::greedy);
  CHECK(wisv({.hidden_size = 96}).rule == wire_rule::semantic);
  CHECK_FALSE(wisv({.hidden_size = 96}).attachments.hidden_with_draft);
  CHECK(options_with(host_options(), wisv({.hidden_size = 96})).value().attachments.channel_report);
}

TEST_CASE("presets: C-SQS needs a cap, and a cap of V announces no limit") {
  CHECK(make_edge(host_options(), c_sqs({})).error() == status{errc::invalid_argument, part::sparsify, 5});
  CHECK(c_sqs({.max_support_size = 256}).format_for(vocab_size).support_size == 256);
  CHECK(c_sqs({.max_support_size = vocab_size}).format_for(vocab_size).support_size == 0);
  CHECK(c_sqs({.max_support_size = vocab_size}).sparsifier->max_support_size == vocab_size);
  CHECK(c_sqs({.max_support_size = 9, .threshold = {.target = 0.25}}).sparsifier->target == 0.25);
  CHECK(make_edge(host_options(), c_sqs({.max_support_size = 256})).ok());
}

TEST_CASE("presets: format_of says what hello of the edge announces, padding included") {
  const auto made = format_of(host_options(), k_sqs());
  REQUIRE(made.ok());
  wire_format unpadded = *made;
  CHECK(unpadded.pad_to == 64);
  unpadded.pad_to = 1;
  CHECK(unpadded == k_sqs().format_for(vocab_size));
  edge_options twice = host_options();
  twice.bonus = false;
  CHECK(format_of(twice, k_sqs()).error().where == preset_at_bonus);
}

TEST_CASE("presets: gates come along") {
  CHECK(make_edge(host_options(), u_hlm()).ok());
  CHECK(make_edge(host_options(), u_hlm({.threshold = 0.5, .perturbation = {0, 2.0}})).error() ==
        status{errc::invalid_argument, part::policy, 1});
}

TEST_CASE("presets: options that say what the preset says are refused by name") {
  const auto refused = [](const edge_options& options) {
    const auto why = options_with(options, k_sqs()).error();
    CHECK(why.code == errc::invalid_argument);
    CHECK(why.reporter == part::session);
    return why.where;
  };
  edge_options twice = host_options();
  twice.format = law_format::fp16_row;
  CHECK(refused(twice) == preset_at_format);
  twice = host_options();
  twice.attachments.max_skipped = 4;
  CHECK(refused(twice) == preset_at_format);
  twice = host_options();
  twice.rule = wire_rule::greedy;
  CHECK(refused(twice) == preset_at_rule);
  twice = host_options();
  twice.bonus = false;
  CHECK(refused(twice) == preset_at_bonus);
  twice = host_options();
  twice.draw_from_row = true;
  CHECK(refused(twice) == preset_at_draw_from_row);
  CHECK(make_edge(twice, k_sqs()).error().where == preset_at_draw_from_row);
}

TEST_CASE("shared noise: the session's text is the target's own race") {
  std::uint64_t accepted = 0, drafted = 0;
  for (std::uint64_t salt = 1; salt < 9; ++salt) {
    pair_options options = shared();
    options.salt = salt;
    pair p(options);
    p.finish(p.start());
    const std::vector<token_id> text = p.text();
    CHECK(text == own_race(salt, std::span(text).first(text.size() - 40), 40));
    accepted += p.edge->statistics().accepted;
    drafted += p.edge->statistics().drafted;
  }
  CHECK(5 * accepted > 2 * drafted);
}

TEST_CASE("shared noise: an edge restored without a link writes nothing ahead until hello names the noise") {
  pair_options options = shared();
  options.on_link_loss = link_loss::continue_local;
  pair p(options);
  bytes question = p.start();
  for (int i = 0; i < 4; ++i) question = p.exchange(question);
  const bytes device = p.edge_journal;  // with an open draft
  p.new_edge();
  REQUIRE(p.edge->restore(device, 1).ok());
  p.run_edge();
  REQUIRE(p.edge->disconnect(2).ok());
  p.run_edge();
  for (session_time now = 3; now < 8; ++now) {
    REQUIRE(p.edge->tick(now).ok());
    p.run_edge();
  }
  CHECK(p.edge->state() != edge_state::failed);
  CHECK(p.edge->statistics().written_ahead == 0);
  REQUIRE(p.edge->reconnect(8).ok());
  p.finish(p.hear(p.answer(pair::only(p.run_edge()))));
  const std::vector<token_id> text = p.text();
  CHECK(text == own_race(1, std::span(text).first(text.size() - 40), 40));

  // A link that breaks after the hello: this edge writes ahead, with the noise of the session.
  pair connected(options);
  question = connected.start();
  for (int i = 0; i < 4; ++i) question = connected.exchange(question);
  REQUIRE(connected.edge->disconnect(9).ok());
  for (session_time now = 10; now < 15; ++now) {
    connected.run_edge();
    REQUIRE(connected.edge->tick(now).ok());
  }
  CHECK(connected.edge->statistics().written_ahead > 0);
}

TEST_CASE("shared noise: the cloud chooses the kind, and a restored cloud keeps it") {
  std::uint64_t accepted = 0, drafted = 0;
  for (const noise_kind kind : {noise_kind::philox, noise_kind::vllm_fp32, noise_kind::vllm_fp64, noise_kind::sglang}) {
    for (const noise_kind of_edge : {noise_kind::philox, kind}) {
      pair_options options = shared();
      options.noise = of_edge;
      options.cloud_noise = of_edge == kind ? noise_kind::none : kind;
      pair p(options);
      bytes question = p.start();
      for (int i = 0; i < 4; ++i) question = p.exchange(question);
      CHECK(p.cloud->noise().kind == kind);
      const bytes of_cloud = p.cloud_journal, device = p.edge_journal;
      p.options.cloud_noise = noise_kind::none;  // the journal decides
      p.new_edge();
      p.new_cloud();
      REQUIRE(p.edge->restore(device, 1).ok());
      REQUIRE(p.cloud->restore(of_cloud).ok());
      const bytes answer = p.answer(pair::only(p.run_edge()));
      CHECK(noise_of(*decode_hello(answer)) == p.cloud->noise());
      CHECK(p.cloud->noise().kind == kind);
      p.finish(p.hear(answer));
      const std::vector<token_id> text = p.text();
      CHECK(text == own_race(1, std::span(text).first(text.size() - 40), 40, kind));
      accepted += p.edge->statistics().accepted;
      drafted += p.edge->statistics().drafted;
    }
  }
  CHECK(5 * accepted > 2 * drafted);
}

TEST_CASE("shared noise: unknown kinds, and a side that stops racing, are refused by name") {
  edge_options device = pair(shared()).edge_options();
  device.noise = static_cast<noise_kind>(5);
  CHECK(make_edge(device, std::optional<top_k>{}, fixed_window{3}).error() ==
        status{errc::invalid_argument, part::session, edge_options::at_noise});
  cloud_options service{.secret = secret_of(2), .salt = 1, .vocab_size = 30};
  service.noise = static_cast<noise_kind>(5);
  CHECK(make_cloud(service).error() == status{errc::invalid_argument, part::session, cloud_options::at_noise});

  pair p(shared());
  p.finish(p.start());
  pair_options without = shared();
  without.noise = noise_kind::none;
  pair plain(without);
  CHECK(plain.edge->restore(p.edge_journal, 1).error() ==
        status{errc::options_disagree, part::session, edge_options::at_noise});
  const bytes hello = plain.start();
  without.cloud_noise = noise_kind::sglang;  // only for sessions that race
  pair greedy_text(without);
  static_cast<void>(greedy_text.answer(greedy_text.start()));
  CHECK(greedy_text.cloud->noise().kind == noise_kind::none);
  CHECK(p.cloud->receive(hello, 1) == status{errc::options_disagree, part::session, 0});
  pair racing(shared());
  static_cast<void>(racing.start());
  CHECK(racing.edge->receive(plain.answer(hello), 1) == status{errc::options_disagree, part::session, 0});
}
