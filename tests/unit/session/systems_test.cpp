// SPDX-License-Identifier: Apache-2.0
#include <specverify/host/drive.hpp>
#include <specverify/session/presets.hpp>
#include <specverify/session/systems.hpp>

#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <specverify/policy/dqn.hpp>

using namespace specverify;

namespace {

constexpr std::uint32_t vocab_size = 1000;

edge_options device() {
  edge_options made;
  made.secret = specverify_test::secret_of(7);
  made.vocab_size = vocab_size;
  return made;
}
cloud_options server() {
  cloud_options made;
  made.secret = specverify_test::secret_of(8);
  made.salt = 3;
  made.vocab_size = vocab_size;
  return made;
}

//! What has no default, set to the least there is.
std::vector<setting> required(const system_info& system) {
  std::vector<setting> made;
  for (const setting_info& one : system.settings)
    if (one.must_be_given()) made.push_back({one.name, one.least});
  return made;
}

status refusal(std::string_view system, std::vector<setting> settings) {
  return make_edge(device(), system, settings).error();
}

}  // namespace

TEST_CASE("systems: names are different, in any spelling, and the error lists them all") {
  const std::string all(system_names());
  CHECK(all.starts_with("target, qs, "));
  CHECK(std::string_view(message(errc::unknown_system)).ends_with(all));
  CHECK(systems().size() == 17);
  for (const system_info& one : systems()) {
    CAPTURE(one.name);
    CHECK(one.sentence.size() > 10);
    CHECK(find_system(one.name)->name == one.name);
    for (const system_info& other : systems()) CHECK(same_name(one.name, other.name) == (&one == &other));
  }
  CHECK(find_system("cuhlmonline")->name == "cu-hlm-online");
  CHECK(find_system("sqs").error() == status{errc::unknown_system, part::session, 0});
  CHECK(make_edge(device(), "").error().code == errc::unknown_system);
  CHECK(make_cloud(server(), "sqs").error().code == errc::unknown_system);
  const auto use = [](const auto&) -> result<bool> { return true; };
  CHECK(with_system<result<bool>>("sqs", {}, use).error().code == errc::unknown_system);
}

TEST_CASE("systems: each makes an edge and a cloud with what must be given") {
  const auto network = std::make_unique<dqn_weights>();
  for (const system_info& one : systems()) {
    CAPTURE(one.name);
    const std::vector<setting> given = required(one);
    CHECK(make_edge(device(), one.name, given, network.get()).error() == status{});
    CHECK(make_cloud(server(), one.name, given).error() == status{});
    const auto shape = shape_of(one.name, given, vocab_size);
    REQUIRE(shape.ok());
    CHECK(check(shape->format).ok());
    CHECK(shape->strength == one.strength);
    if (given.empty()) continue;
    CHECK(make_edge(device(), one.name).error().code == errc::setting_missing);
    CHECK(one.settings[make_edge(device(), one.name).error().where].must_be_given());
  }
  CHECK(make_edge(device(), "qs-dqn").error().code == errc::network_missing);
}

TEST_CASE("systems: a name is its preset") {
  const auto same = [](std::string_view name, std::vector<setting> settings, const auto& preset) {
    CAPTURE(name);
    const auto shape = shape_of(name, settings, vocab_size);
    REQUIRE(shape.ok());
    CHECK(shape->format == preset.format_for(vocab_size));
    CHECK(shape->rule == preset.rule);
    CHECK(shape->mode == preset.mode);
    CHECK(shape->bonus == preset.bonus);
    CHECK(shape->draw_from_row == preset.draw_from_row);
    const auto use = [&](const auto& made) -> result<bool> {
      return std::is_same_v<decltype(made), decltype(preset)> && made.format_for(vocab_size) == shape->format;
    };
    CHECK(*with_system<result<bool>>(name, settings, use));
  };
  same("target", {}, target_alone());
  same("qs", {}, qs());
  same("qs", {{"resolution", 60}, {"max_draft_length", 7}}, qs({60, 7}));
  same("k-sqs", {{"support_size", 8}, {"paper_code", 1}}, k_sqs({.support_size = 8, .paper_code = true}));
  same("c-sqs", {{"support_size", 64}}, c_sqs({.max_support_size = 64}));
  same("hlm", {{"max_draft_length", 3}, {"bonus", 0}}, hlm({3, false}));
  same("sd-reject", {}, hlm({8}));
  same("compressed-hlm", {{"support_size", 9}}, compressed_hlm({.max_support_size = 9}));
  same("rand-hlm", {}, rand_hlm());
  same("u-hlm", {}, u_hlm());
  same("ui", {}, ui());
  same("cu-hlm", {{"resolution", 99}}, cu_hlm({.resolution = 99}));
  same("cu-hlm-online", {{"support_size", 200}}, cu_hlm_online({.support_size = 200}));
  same("greedy", {{"max_draft_length", 3}}, greedy(3));
  same("wisv", {{"hidden_size", 96}, {"with_draft", 1}}, wisv({.hidden_size = 96, .with_draft = true}));
  // The last of two counts, and a setting's name has no spelling either.
  same("qs", {{"resolution", 60}, {"re-so_lution", 90}}, qs({.resolution = 90}));
}

TEST_CASE("systems: what a list says of a system") {
  const auto of = [](const char* name) { return *find_system(name); };
  CHECK(of("k-sqs").strength == guarantee::honest_drafter);
  CHECK(of("target").strength == guarantee::unconditional);
  CHECK(of("u-hlm").strength == guarantee::lossy);
  CHECK(of("wisv").strength == guarantee::lossy);
  CHECK(of("greedy").greedy);
  CHECK_FALSE(of("k-sqs").greedy);
  CHECK(of("ui").needs_attention);
  CHECK_FALSE(of("u-hlm").needs_attention);
  CHECK(of("wisv").needs_head);
  CHECK(of("wisv").needs_hidden_states);
  CHECK_FALSE(of("greedy").needs_head);
  CHECK(of("qs-dqn").needs_network);
  CHECK_FALSE(of("qs-adaptive").needs_network);
  const auto shape = [](const char* name, std::vector<setting> set) { return *shape_of(name, set, vocab_size); };
  CHECK(shape("u-hlm", {}).gates);
  CHECK(shape("u-hlm", {}).needs_uncertainty);
  CHECK_FALSE(shape("rand-hlm", {}).needs_uncertainty);
  CHECK(shape("qs-adaptive", {}).plans_rounds);
  CHECK(shape("qs-adaptive", {}).format.attachments.resolution_with_draft);
  CHECK(shape("qs-adaptive", {}).format.max_draft_length == 12);
  CHECK_FALSE(shape("k-sqs", {}).plans_rounds);
  CHECK(shape("k-sqs", {{"round_bits", 1000}}).plans_rounds);
  CHECK_FALSE(shape("k-sqs", {}).chooses_support);
  CHECK(shape("c-sqs", {{"support_size", 9}}).chooses_support);
}

TEST_CASE("systems: a setting is checked before anything is made") {
  CHECK(refusal("qs", {{"resolution", 60}, {"support_size", 3}}) == status{errc::unknown_setting, part::session, 1});
  const auto outside = [](std::string_view system, setting one) {
    CAPTURE(one.value);
    CHECK(refusal(system, {one}) == status{errc::setting_out_of_range, part::session, 0});
  };
  for (const double value : {0.0, -1.0, 1.5, 65537.0, 1e300, std::nan(""), std::numeric_limits<double>::infinity()})
    outside("qs", {"resolution", value});
  for (const double value : {0.5, 2.0, -1.0}) outside("k-sqs", {"paper_code", value});
  for (const double value : {-0.1, 1.1}) outside("u-hlm", {"threshold", value});
  CHECK(refusal("u-hlm", {{"threshold", 0}}) == status{});
  CHECK(refusal("qs", {{"resolution", 65536}}) == status{});
  for (const system_info& one : systems()) {
    for (const setting_info& known : one.settings) {
      CAPTURE(one.name);
      CAPTURE(known.name);
      CHECK(known.least < known.most);
      CHECK(known.usual <= known.most);
      for (const double value : {known.least, known.most}) {
        std::vector<setting> given = required(one);
        given.push_back({known.name, value});
        CHECK(shape_of(one.name, given, vocab_size).ok());
      }
      CHECK(shape_of(one.name, std::vector<setting>{{known.name, known.most * 2 + 1}}, vocab_size).error().code ==
            errc::setting_out_of_range);
    }
  }
}

TEST_CASE("systems: a cloud serves edges that pad, and takes limits and a text_chunk beyond what the system needs") {
  const auto greeted = [](std::uint32_t pad_to, const cloud_limits& limits) {
    edge_options padded = device();
    padded.pad_to = pad_to;
    cloud_options roomy = server();
    roomy.limits = limits;
    auto edge = make_edge(padded, "k-sqs");
    auto cloud = make_cloud(roomy, "k-sqs");
    REQUIRE((edge.ok() && cloud.ok()));
    REQUIRE(edge->start(std::vector<token_id>{1}, 1).ok());
    std::vector<std::byte> hello;
    (void)take_outputs(*edge, [&](const session_output& out) {
      if (out.action == session_action::send) hello.assign(out.bytes.begin(), out.bytes.end());
    });
    return cloud->receive(hello, 1);
  };
  for (const std::uint32_t pad_to : {1u, 256u, 4096u, 16384u}) CHECK(greeted(pad_to, {}).ok());
  CHECK(greeted(16385, {}) == status{errc::beyond_limit, part::session, cloud_options::at_max_message_bytes});
  CHECK(greeted(16385, {.max_message_bytes = 32770}).ok());
  CHECK(greeted(1, {.max_draft_length = 3, .max_law_entries = 1, .max_message_bytes = 1}).ok());
  cloud_options chunky = server();
  chunky.text_chunk = 30000;
  CHECK(make_cloud(chunky, qs()).ok());
  const wire_format format = qs().format_for(vocab_size);
  CHECK(cloud_session::limits_for(format, 30000).max_message_bytes >= longest_message(format, 30000));
}

TEST_CASE("systems: options that say what the system says are refused") {
  edge_options twice = device();
  twice.format = law_format::fp16_row;
  CHECK(make_edge(twice, "qs").error().where == preset_at_format);
  CHECK(make_cloud(server(), u_hlm()).ok());
  edge_options streamed = device();
  streamed.mode = session_mode::stream;  // a host's own wish stays
  CHECK(options_with(streamed, qs())->mode == session_mode::stream);
  CHECK(options_with(device(), target_alone())->mode == session_mode::stream);
}
