// SPDX-License-Identifier: Apache-2.0
// Defaults of the options, and sessions whose ids are coded by a prior that one side or both have.
#include <doctest/doctest.h>

#include <specverify/codec/prior_table.hpp>
#include <specverify/codec/token_prior.hpp>
#include <specverify/session/options.hpp>

#include <session/both_ways.hpp>
#include <support/forge.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <type_traits>

#include "unit/session/pair.hpp"

namespace sv = specverify;
using namespace specverify_test;
using sv::errc, sv::status, sv::part;

TEST_CASE("session options: what is not said is the session of the papers") {
  const sv::edge_options edge;
  const sv::cloud_options cloud;
  static_assert(std::is_aggregate_v<sv::edge_options> && std::is_aggregate_v<sv::cloud_options>);
  CHECK(edge.mode == sv::session_mode::draft);
  CHECK(edge.rule == sv::wire_rule::token);
  CHECK(edge.bonus);
  CHECK_FALSE(edge.draw_from_row);
  CHECK(edge.retry_timeout == 0);
  CHECK(edge.on_link_loss == sv::link_loss::wait);
  CHECK(edge.check_bits == sv::automatic_check);
  CHECK(cloud.check_bits == sv::automatic_check);
  CHECK(cloud.required == sv::guarantee::lossy);
  CHECK_FALSE(cloud.lazy);
  // what nobody set does not work
  CHECK((edge.secret.is_missing() && cloud.secret.is_missing() && cloud.salt == 0));
  static_assert(std::is_same_v<decltype(edge.secret), sv::session_secret>);
  // both sides let the text grow alike
  CHECK(edge.max_text_length == cloud.max_text_length);
  CHECK(edge.text_chunk == cloud.text_chunk);
}

namespace {

const sv::prior_table& one_table = table_of(pair::vocab_size, 1);
const sv::prior_table& other_table = table_of(pair::vocab_size, 2);

//! Sessions that send only ids.
pair_options only_ids(const sv::prior_table* prior = nullptr, std::vector<const sv::prior_table*> priors = {}) {
  pair_options o;
  o.format = sv::law_format::token_only;
  o.rule = sv::wire_rule::greedy;
  o.noise = sv::noise_kind::philox;
  o.draft_length = 4;
  o.budget = 40;
  o.prior = prior;
  o.priors = std::move(priors);
  return o;
}

//! A whole session over the wire: its text, and what each side sent.
struct outcome {
  std::vector<token_id> text;
  std::vector<bytes> up, down;
  sv::id_code edge_ids{}, cloud_ids{};
};
template <class Skip>
outcome outcome_of(basic_pair<Skip>& p) {
  outcome made;
  bytes question = p.start();
  CHECK(p.edge->agreed_id_code() == sv::id_code::plain);  // no handshake yet
  CHECK(p.cloud->agreed_id_code() == sv::id_code::plain);
  while (!question.empty()) {
    made.up.push_back(question);
    bytes next;
    for (const bytes& answer : p.answers(question)) {
      made.down.push_back(answer);
      if (const bytes said = p.hear(answer); !said.empty()) next = said;
    }
    question = next;
  }
  CHECK(p.edge->state() == sv::edge_state::finished);
  made.text = p.text();
  made.edge_ids = p.edge->agreed_id_code();
  made.cloud_ids = p.cloud->agreed_id_code();
  return made;
}
outcome outcome_of(const pair_options& o) {
  pair p(o);
  return outcome_of(p);
}
bool has_prior(const bytes& hello) { return sv::prior_of(sv::decode_hello(hello).value()).has_value(); }

}  // namespace

TEST_CASE("prior: the ids of a session are coded by the table that both sides have, and its text is the same") {
  const outcome plain = outcome_of(only_ids());
  for (const auto& tables : {std::vector{&one_table}, std::vector{&other_table, &one_table}}) {
    const outcome coded = outcome_of(only_ids(&one_table, tables));
    CHECK(coded.text == plain.text);
    REQUIRE(coded.up.size() == plain.up.size());
    CHECK(has_prior(coded.up[0]));
    CHECK(has_prior(coded.down[0]));
    CHECK(coded.down[0].size() == plain.down[0].size() + 20);
    CHECK(coded.up != plain.up);
    CHECK(coded.edge_ids == sv::id_code::prior);
    CHECK(coded.cloud_ids == sv::id_code::prior);
    for (std::size_t i = 1; i < coded.down.size(); ++i) CHECK(coded.down[i] == plain.down[i]);
  }
}

TEST_CASE("prior: with noise the drafts are coded by table and noise, and the text is the same") {
  const outcome plain = outcome_of(only_ids()), coded = outcome_of(only_ids(&one_table, {&one_table}));
  pair_options o = only_ids(&one_table, {&one_table});
  o.ids = sv::id_code::noise;
  const outcome noisy = outcome_of(o);
  CHECK(noisy.text == plain.text);
  CHECK(noisy.edge_ids == sv::id_code::noise);
  CHECK(noisy.cloud_ids == sv::id_code::noise);
  REQUIRE(noisy.up.size() == coded.up.size());
  CHECK(noisy.up != coded.up);
  for (std::size_t i = 1; i < noisy.down.size(); ++i) CHECK(noisy.down[i] == plain.down[i]);
  o.cloud_noise = sv::noise_kind::sglang;  // the noise that the cloud chooses counts
  const outcome hashed = outcome_of(o);
  CHECK(hashed.edge_ids == sv::id_code::noise);
  pair_options other = only_ids();
  other.cloud_noise = o.cloud_noise;
  CHECK(hashed.text == outcome_of(other).text);
  o.priors.clear();  // no common table
  CHECK(outcome_of(o).edge_ids == sv::id_code::plain);
  o = only_ids(&one_table, {&one_table});
  o.ids = sv::id_code::plain;
  const outcome named = outcome_of(o);
  CHECK_FALSE(has_prior(named.up[0]));
  CHECK(named.edge_ids == sv::id_code::plain);
}

TEST_CASE("prior: a cloud without room for drafts with noise uses the table alone") {
  pair_options o = only_ids(&one_table, {&one_table});
  o.ids = sv::id_code::noise;
  o.edge_chunk = o.cloud_chunk = 1;
  o.draft_length = 60;
  o.budget = 70;
  sv::wire_format format = pair(o).format();
  REQUIRE(format.ids == sv::id_code::noise);
  format.ids = sv::id_code::prior;
  o.limits = sv::cloud_session::limits_for(format, 1);
  const outcome made = outcome_of(o);
  CHECK(made.edge_ids == sv::id_code::prior);
  CHECK(made.cloud_ids == sv::id_code::prior);
  pair_options alone = o;
  alone.ids = sv::id_code::prior;
  const outcome expected = outcome_of(alone);
  CHECK(made.text == expected.text);
  CHECK(std::equal(made.up.begin() + 1, made.up.end(), expected.up.begin() + 1, expected.up.end()));
}

TEST_CASE("prior: without a common table the ids are plain") {
  const outcome plain = outcome_of(only_ids());
  const auto same_drafts = [&](const outcome& other, bool names_a_table) {
    CHECK(other.text == plain.text);
    CHECK(has_prior(other.up[0]) == names_a_table);
    CHECK_FALSE(has_prior(other.down[0]));
    CHECK(std::equal(other.up.begin() + 1, other.up.end(), plain.up.begin() + 1, plain.up.end()));
    CHECK(other.down == plain.down);
    CHECK(other.edge_ids == sv::id_code::plain);
    CHECK(other.cloud_ids == sv::id_code::plain);
  };
  same_drafts(outcome_of(only_ids(&one_table)), true);
  same_drafts(outcome_of(only_ids(nullptr, {&one_table})), false);
  same_drafts(outcome_of(only_ids(&one_table, {&other_table})), true);
  pair_options narrow = only_ids(&one_table, {&one_table});  // the limits have room for plain drafts alone
  narrow.edge_chunk = narrow.cloud_chunk = 1;
  narrow.draft_length = 60;
  narrow.budget = 70;
  sv::wire_format format = pair(narrow).format();
  format.ids = sv::id_code::plain;
  narrow.limits = sv::cloud_session::limits_for(format, 1);
  const outcome refused = outcome_of(narrow);
  CHECK(has_prior(refused.up[0]));
  CHECK_FALSE(has_prior(refused.down[0]));
}

TEST_CASE(
    "prior: drafts behind skipped tokens, and drafts with hidden states, are coded after all tokens before them") {
  pair_options o = only_ids(&one_table, {&one_table});
  o.rule = sv::wire_rule::token;
  o.noise = sv::noise_kind::none;
  o.attachments.max_skipped = 5;
  basic_pair<sv::random_skip> coded(o, sv::random_skip{0.4});
  o.priors.clear();
  basic_pair<sv::random_skip> plain(o, sv::random_skip{0.4});
  const outcome made = outcome_of(coded), expected = outcome_of(plain);
  CHECK(made.text == expected.text);
  CHECK(coded.edge->statistics().skipped > 5);
  CHECK(made.up != expected.up);
  for (const bool with_draft : {true, false}) {
    pair_options semantic = only_ids(&one_table, {&one_table});
    semantic.rule = sv::wire_rule::semantic;
    semantic.noise = sv::noise_kind::none;
    semantic.attachments = {6, sv::hidden_format::int8, with_draft, true, 0};
    const outcome all = outcome_of(semantic);
    semantic.prior = nullptr;
    CHECK(all.text == outcome_of(semantic).text);
  }
}

TEST_CASE("prior: a journaled draft is sent again in the code of its new connection") {
  const outcome plain = outcome_of(only_ids());
  for (const bool first : {true, false}) {  // whether the first cloud, or the second, has the table
    for (int draft = 1; draft < 5; ++draft) {
      pair_options o = only_ids(&one_table, first ? std::vector{&one_table} : std::vector<const sv::prior_table*>{});
      if (draft % 2 == 0) o.ids = sv::id_code::noise;
      pair p(o);
      bytes question = p.start();
      for (int i = 0; i < draft; ++i) question = p.exchange(question);
      REQUIRE(kind_of(question) == sv::message_kind::draft);
      p.options.priors = first ? std::vector<const sv::prior_table*>{} : std::vector{&one_table};
      p.new_cloud();
      REQUIRE(p.cloud->restore(p.cloud_journal).ok());
      const bytes journal = p.edge_journal;
      p.new_edge();
      REQUIRE(p.edge->restore(journal, ++p.now).ok());
      CHECK(p.edge->agreed_id_code() == sv::id_code::plain);
      const bytes again = p.exchange(pair::only(p.run_edge()));
      CHECK(again != question);  // the same drafts
      CHECK((p.edge->agreed_id_code() == sv::id_code::plain) == first);
      CHECK(p.edge->agreed_id_code() == p.cloud->agreed_id_code());
      CHECK(p.edge->statistics().restarts == 1);
      p.finish(again);
      CHECK(p.text() == plain.text);
      CHECK(cloud_text(p) == plain.text);
    }
  }
}

TEST_CASE("prior: an answer that names a table that the edge did not name is an error") {
  for (const bool has_table : {true, false}) {
    pair p(only_ids(has_table ? &one_table : nullptr));
    const bytes answer = p.answer(p.start());
    sv::hello_message said = sv::decode_hello(answer).value();
    bytes fields(said.fields.begin(), said.fields.end());
    sv::hello_fields named;
    named.add(other_table.fingerprint(), sv::id_code::prior);
    fields.insert(fields.end(), named.bytes().begin(), named.bytes().end());
    said.fields = fields;
    said.format.ids = sv::id_code::prior;
    bytes forged(300);
    forged.resize(sv::encode_hello(said, forged).value().size());
    CHECK(p.edge->receive(forged, p.now) == status{errc::options_disagree, part::session, sv::edge_options::at_prior});
    CHECK(p.edge->state() == sv::edge_state::failed);
  }
}

TEST_CASE("prior: an answer with another code than the edge asked for is an error") {
  pair p(only_ids(&one_table, {&one_table}));
  const bytes answer = p.answer(p.start());
  sv::hello_message said = sv::decode_hello(answer).value();
  bytes fields(said.fields.begin(), said.fields.end());
  fields.back() = static_cast<std::byte>(sv::id_code::noise);
  said.fields = fields;
  said.format.ids = sv::id_code::noise;
  bytes forged(300);
  forged.resize(sv::encode_hello(said, forged).value().size());
  CHECK(p.edge->receive(forged, p.now) == status{errc::options_disagree, part::session, sv::edge_options::at_prior});
}

TEST_CASE("prior: tables that cannot serve a session are refused when it is made") {
  const sv::prior_table& wide = table_of(pair::vocab_size + 1, 1);
  sv::edge_options edge = pair(only_ids()).edge_options();
  const auto edge_error = [&] { return sv::make_edge(edge).error(); };
  edge.prior = &wide;
  CHECK(edge_error() == status{errc::vocabulary_mismatch, part::session, edge.at_prior});
  edge.prior = &one_table;
  CHECK(edge_error().ok());
  edge.ids = static_cast<sv::id_code>(3);
  CHECK(edge_error() == status{errc::invalid_argument, part::session, edge.at_ids});
  edge.ids = sv::id_code::noise;
  CHECK(edge_error().ok());
  edge.prior = nullptr;
  CHECK(edge_error() == status{errc::invalid_argument, part::session, edge.at_ids});
  edge.prior = &one_table;
  edge.noise = sv::noise_kind::none;
  CHECK(edge_error() == status{errc::invalid_argument, part::session, edge.at_ids});
  edge.ids = sv::id_code::prior;
  edge.rule = sv::wire_rule::token;
  edge.format = sv::law_format::sparse_drop_zero;
  CHECK(edge_error() == status{errc::invalid_argument, part::session, edge.at_prior});
  sv::cloud_options cloud{.secret = secret_of(2), .salt = 1, .vocab_size = pair::vocab_size};
  const auto cloud_error = [&](std::vector<const sv::prior_table*> tables) {
    cloud.priors = tables;
    return sv::make_cloud(cloud).error();
  };
  CHECK(cloud_error({&one_table, &wide}) == status{errc::vocabulary_mismatch, part::session, cloud.at_priors});
  CHECK(cloud_error({&one_table, nullptr}) == status{errc::invalid_argument, part::session, cloud.at_priors});
  CHECK(cloud_error({&one_table, &other_table}).ok());
}

TEST_CASE("prior: a changed draft gives other drafts or a named error, and never another text") {
  pair_options o = only_ids(&one_table, {&one_table});
  const outcome honest = outcome_of(o);
  int refused = 0, taken = 0;
  std::set<errc> named;
  for (std::size_t bit = 4; bit < 8 * 12; ++bit) {
    o.ids = bit % 2 == 0 ? sv::id_code::prior : sv::id_code::noise;
    pair p(o);
    bytes draft = p.exchange(p.exchange(p.start()));
    if (!forge(draft, p.named, bit)) continue;
    const status why = p.cloud->receive(draft, p.now);
    static_cast<void>(p.run_cloud());
    named.insert(why.code);
    const std::vector<token_id> text = cloud_text(p);
    CHECK(std::equal(text.begin(), text.end(), honest.text.begin()));
    CHECK((p.cloud->state() == sv::cloud_state::failed) == (!why.ok() && why.code != errc::checksum_mismatch));
    refused += why.ok() ? 0 : 1;
    taken += why.ok() ? 1 : 0;
  }
  MESSAGE(refused << " refused, " << taken << " taken");
  CHECK(refused > 0);
  CHECK(taken > 0);
  named.erase(errc::ok);
  for (const errc code : named)
    CHECK((code == errc::not_canonical || code == errc::trailing_bytes || code == errc::truncated ||
           code == errc::padding_not_zero || code == errc::checksum_mismatch));
}
