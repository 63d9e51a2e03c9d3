// SPDX-License-Identifier: Apache-2.0
//! What a server of strangers holds and refuses, without sockets: keys, the pool of engines, and the map of sessions
//! with devices of the demo on the other side.
#include "edge_cloud/edge_host.hpp"
#include "edge_cloud/frame.hpp"
#include "edge_cloud/in_process.hpp"
#include "edge_cloud/serve/device_keys.hpp"
#include "edge_cloud/serve/open_files.hpp"
#include "edge_cloud/serve/refusal_text.hpp"
#include "edge_cloud/serve/serve_settings.hpp"
#include "edge_cloud/serve/served_sessions.hpp"
#include "edge_cloud/serve/state_folder.hpp"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <doctest/doctest.h>

#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

using namespace edge_cloud;

//! What the program waits for to be on the disk, and what a test looks at then.
static std::vector<std::string> synced_paths;
static std::function<void()> look_at_sync;
extern "C" int fsync(int file) {
  std::array<char, 4096> path{};
  const auto size = ::readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path.data(), path.size());
  if (size > 0) synced_paths.emplace_back(path.data(), static_cast<std::size_t>(size));
  if (look_at_sync) look_at_sync();
  return 0;
}

namespace {

namespace fs = std::filesystem;

//! A folder that is gone with the test.
struct scratch_folder {
  fs::path path;
  scratch_folder() {
    std::string name = (fs::temp_directory_path() / "serve_test_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~scratch_folder() { fs::remove_all(path); }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
};

const side_model& small_model() {
  static const side_model model = load_side(tinylm::default_directory(), "drafter.safetensors");
  return model;
}
const side_model& large_model() {
  static const side_model model = load_side(tinylm::default_directory(), "target.safetensors");
  return model;
}

run_settings settings_of(std::uint64_t session_id) {
  run_settings run;
  run.session_id = session_id;
  run.tokens = 12;
  run.salt = 77;
  run.retry_ms = 0;
  run.prompt = "And the LORD spake unto Moses";
  return run;
}

//! The text of a session that nobody disturbs.
std::string text_alone(const run_settings& run) { return run_hosts(run, small_model(), large_model()).edge.text; }

//! Of each connection.
std::map<const visitor*, specverify::hello_name> last_hellos;

//! The server without its sockets. `now` is its clock, in seconds; `micros` are added to it.
struct server {
  scratch_folder folder;
  serve_limits limits;
  run_settings run = settings_of(0);
  std::ostringstream log_text;
  serve_log log{std::make_shared<spdlog::logger>("t", std::make_shared<spdlog::sinks::ostream_sink_st>(log_text))};
  std::optional<engine_pool> engines;
  device_rates rates{limits};
  std::optional<serve_parts> parts;
  std::optional<served_sessions> sessions;
  std::uint64_t now = 1, micros = 0;
  bool strict_restore = false, sync = false;
  specverify::guarantee required = specverify::guarantee::lossy;

  static serve_limits without_rates() {  // the clock of most tests stands still
    serve_limits made;
    made.handshakes_of_device = 1u << 20;
    return made;
  }
  explicit server(serve_limits held = without_rates()) : limits(held) {
    run.state = folder.path;
    start();
  }
  void start() {
    engines.emplace(large_model(), limits.engines);
    parts.emplace(serve_parts{run, large_model(), limits, *engines, rates, strict_restore, required, sync});
    sessions.emplace(*parts, log, clock());
  }
  void restart() {
    sessions.reset();
    start();
  }
  [[nodiscard]] std::uint64_t clock() const { return now * 1'000'000 + micros; }
  refusal receive(const std::shared_ptr<visitor>& from, std::span<const std::byte> message) {
    if (const auto name = specverify::name_of(message)) last_hellos[from.get()] = *name;
    return sessions->receive(from, message, clock());
  }
  [[nodiscard]] bool has_work() const { return sessions->has_work(clock()); }
  void work() { sessions->work(clock()); }
  //! Names of the journals that no session took.
  [[nodiscard]] std::vector<std::string> damaged() const {
    std::vector<std::string> found;
    if (!fs::exists(folder.path / "damaged")) return found;
    for (const auto& file : fs::directory_iterator(folder.path / "damaged"))
      found.push_back(file.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }
  [[nodiscard]] fs::path folder_of(std::uint64_t id) const {
    char name[17];
    std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(id));
    return folder.path / "sessions" / name;
  }
};

//! A connection of some device, and what the server said to it.
struct guest {
  std::shared_ptr<visitor> line = std::make_shared<visitor>();
  std::deque<frame> heard;
  bool closed = false;

  explicit guest(std::uint64_t device) {
    line->device = device;
    line->close = [this] { closed = true; };
    line->send = [this](std::span<const std::byte> message) { heard.emplace_back(message.begin(), message.end()); };
  }
};

//! Why a hello, or what followed it, is refused, where the server's last message says so.
specverify::status refused_as(const guest& from) {
  if (from.heard.empty()) return {};
  const auto read = specverify::decode_refuse(last_hellos[from.line.get()], from.heard.back());
  return read ? read->reason : specverify::status{};
}
//! The server's own reason.
refusal refused(const guest& from) {
  const specverify::status why = refused_as(from);
  return why.reporter == specverify::part::host ? static_cast<refusal>(why.where) : refusal::none;
}

frame frame_of(std::span<const std::byte> message) { return {message.begin(), message.end()}; }

//! A hello of a session that another device, or nobody, has opened. No session of these tests has its terms.
frame hello_of(std::uint64_t session_id) {
  std::array<std::byte, 256> space{};
  specverify::hello_message asked;
  asked.session_id = session_id;
  asked.nonce = 40;
  asked.round = 1;
  asked.prompt_length = asked.length = 1;
  asked.format = {specverify::law_format::token_only, 7, 0, 0, 1};
  return frame_of(specverify::encode_hello(asked, space).value());
}

//! A device that writes one text, and its messages.
struct device {
  run_settings run;
  guest over;
  std::vector<frame> said;
  std::deque<frame> outgoing;
  edge_host host;

  device(std::uint64_t id, run_settings settings)
      : run(std::move(settings)),
        over(id),
        host(run, small_model(),
             [this](std::span<const std::byte> message) {
               outgoing.emplace_back(message.begin(), message.end());
               said.push_back(outgoing.back());
             },
             {}) {}

  //! One message, one way or the other, or one pass of an engine. False: nothing is under way.
  bool step(server& with) {
    if (!outgoing.empty()) {
      const frame message = std::move(outgoing.front());
      outgoing.pop_front();
      REQUIRE(with.receive(over.line, message) == refusal::none);
    } else if (!over.heard.empty()) {
      const frame message = std::move(over.heard.front());
      over.heard.pop_front();
      host.receive(message);
    } else if (with.has_work()) {
      with.work();
    } else {
      return false;
    }
    return true;
  }
  void steps(server& with, int count) {
    while (count-- > 0 && !host.finished() && step(with)) continue;
  }
  void finish(server& with) {
    while (!host.finished()) REQUIRE(step(with));
  }
  [[nodiscard]] std::string text() const { return host.report().text; }
};

std::string thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

const std::string key_a(64, 'a'), key_b(64, 'b');

}  // namespace

TEST_CASE("serve: a device is known by its id and its key alone") {
  const device_keys keys("# devices\n\n 7\t" + key_a + "\r\n18446744073709551615 " + key_b);
  CHECK(keys.size() == 2);
  const device_key a = *key_from_hex(key_a), b = *key_from_hex(key_b);
  CHECK(keys.key_of(7) == a);
  CHECK(keys.key_of(~std::uint64_t{0}) == b);
  CHECK(keys.key_of(8) != a);
  CHECK(keys.key_of(8) != b);
  CHECK(keys.key_of(8) != device_key{});
  CHECK(keys.key_of(8) != device_keys("7 " + key_a).key_of(8));  // nobody can have it
}

TEST_CASE("serve: a list of devices says what is wrong with it") {
  const auto said = [](const std::string& text) { return thrown([&] { device_keys keys(text, "list"); }); };
  CHECK(said("") == "list: names no device; add a line `ID KEY`");
  CHECK(said("7\n") == "list, line 1: a line must have a device id, a space and the key");
  CHECK(said("7 " + key_a + " x\n") == "list, line 1: a line must have a device id, a space and the key");
  const std::string no_number = "list, line 1: a device id must be a decimal number below 2^64 without leading zeros";
  CHECK(said("18446744073709551616 " + key_a) == no_number);
  CHECK(said("05 " + key_a) == no_number);
  CHECK(said("x7 " + key_a + "\n") == no_number);
  CHECK(said("-7 " + key_a) == no_number);
  CHECK(said("#\n7 abc\n") == "list, line 2: a key must have 64 hex digits, not all 0");
  CHECK(said("7 " + std::string(64, '0')) == "list, line 1: a key must have 64 hex digits, not all 0");
  CHECK(said("\xEF\xBB\xBF"
             "7 " +
             key_a) == "list: begins with a byte order mark; save it as UTF-8 without one");
  CHECK(said("\xEF\xBB\xBF# mine\n7 " + key_a).starts_with("list: begins with a byte order mark"));
  CHECK(said(std::string("7\0 ", 3) + key_a) == no_number);
  CHECK(said("7 " + key_a + "\n7 " + key_b + "\n") == "list, line 2: device 7 is listed twice");
}

TEST_CASE("serve: certificates are listed by their devices alone") {
  const device_list list("# mine\n7\n\n 18446744073709551615 \n");
  CHECK(list.has(7));
  CHECK(list.has(~std::uint64_t{0}));
  CHECK(!list.has(8));
  const auto said = [](const std::string& text) { return thrown([&] { device_list made(text, "list"); }); };
  CHECK(said("# 7\n") == "list: names no device; add a line `ID`");
  CHECK(said("7 " + key_a) == "list, line 1: with --tls-client-ca a line must have only a device id");
  CHECK(said("7\nx\n") == "list, line 2: a device id must be a decimal number below 2^64 without leading zeros");
  CHECK(said("7\n7\n") == "list, line 2: device 7 is listed twice");
}

TEST_CASE("serve: files of keys are private, and a missing secret is made") {
  const scratch_folder folder;
  const fs::path file = folder.path / "key";
  CHECK(thrown([&] { (void)load_device_key(file); }) == file.string() + ": there is no such file");
  std::ofstream(file) << key_a << '\n';
  fs::permissions(file, fs::perms::owner_read | fs::perms::group_read);
  CHECK(thrown([&] { (void)load_device_key(file); }) ==
        file.string() + ": others may read it; run: chmod 600 " + file.string());
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  CHECK(load_device_key(file) == *key_from_hex(key_a));
  std::ofstream(file) << "abc\n";
  CHECK(thrown([&] { (void)load_device_key(file); }) == file.string() + ": a key must have 64 hex digits, not all 0");
  CHECK(thrown([&] { (void)secret_from_file(file); }) ==
        file.string() + ": a secret must have 32 hex digits, not all 0");
  std::ofstream(file) << "\xEF\xBB\xBF" << key_a << '\n';
  CHECK(thrown([&] { (void)load_device_key(file); }) ==
        file.string() + ": begins with a byte order mark; save it as UTF-8 without one");
  synced_paths.clear();
  const secret_text made = secret_from_file(folder.path / "secret");
  CHECK(synced_paths == std::vector<std::string>{folder.path / "secret.new", folder.path});
  CHECK(std::string_view(made).size() == 32);
  CHECK((secret_from_file(folder.path / "secret") == made));
  CHECK((secret_from_file(folder.path / "other") != made));
  CHECK((fs::status(folder.path / "secret").permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("serve: where to listen, and what is missing for it") {
  serve_settings asked;
  asked.devices = "list";
  CHECK(checked_endpoint(asked).address().is_loopback());
  asked.listen = "0.0.0.0";
  CHECK(thrown([&] { (void)checked_endpoint(asked); }).find("--insecure-listen 0.0.0.0") != std::string::npos);
  asked.insecure_listen = "0.0.0.0";
  CHECK(checked_endpoint(asked).address().to_string() == "0.0.0.0");
  asked.tls.certificate = "c";
  CHECK(thrown([&] { (void)checked_endpoint(asked); }).find("excludes TLS") != std::string::npos);
  asked.insecure_listen.clear();
  CHECK(checked_endpoint(asked).address().to_string() == "0.0.0.0");
  asked.tls.peer_authority = "a";
  CHECK(checked_endpoint(asked).port() == 7002);  // certificates, and which of them may speak
  asked.devices.clear();
  CHECK(checked_endpoint(asked).port() == 7002);
  asked.tls = {};
  asked.listen = "::1";
  CHECK(thrown([&] { (void)checked_endpoint(asked); }).find("no device is known") != std::string::npos);
  asked.listen = "localhost";
  CHECK(thrown([&] { (void)checked_endpoint(asked); }).find("not an address") != std::string::npos);
}

TEST_CASE("serve: texts that share engines get the rows of their own") {
  engine_pool pool(large_model(), 2);
  const std::vector<specverify::token_id> words{5, 900, 17, 4000, 33, 1024};
  std::vector<std::unique_ptr<engine_text>> texts;
  for (int i = 0; i < 3; ++i) texts.push_back(std::make_unique<engine_text>(pool));
  for (std::uint32_t step = 0; step < words.size(); ++step) {
    for (std::size_t i = 0; i < 3; ++i) {
      engine own(large_model().weights);
      std::vector<specverify::token_id> whole(words.begin(), words.begin() + step + 1);
      for (auto& token : whole) token += static_cast<int>(i);
      REQUIRE(texts[i]->append(step, std::span(whole).last(1)).ok());
      engine* shared = nullptr;
      REQUIRE(texts[i]->feed(1, 0, shared).ok());
      REQUIRE(own.feed(0, whole, 1).ok());
      CHECK(std::ranges::equal(shared->hidden(0), own.hidden(0)));
    }
  }
  CHECK(pool.made() == 2);
  CHECK(texts[0]->append(9, words).code == specverify::errc::base_length_mismatch);
}

TEST_CASE("serve: sessions side by side write the texts that they write alone") {
  server with;
  device a(1, settings_of(100)), b(2, settings_of(101));
  a.host.begin();
  b.host.begin();
  while (!a.host.finished() || !b.host.finished()) {
    a.steps(with, 1);
    b.steps(with, 1);
  }
  CHECK(a.text() == text_alone(a.run));
  CHECK(b.text() == text_alone(settings_of(101)));
  CHECK(with.sessions->size() == 2);
}

TEST_CASE("serve: a session id belongs to the device that opened it") {
  server with;
  device owner(1, settings_of(100));
  owner.host.begin();
  owner.steps(with, 9);
  REQUIRE(!owner.host.finished());
  guest thief(2);
  const frame hello = owner.said.front();
  REQUIRE(specverify::decode_hello(hello).ok());
  for (const frame& stolen : {hello, hello_of(100)}) {
    CHECK(with.receive(thief.line, stolen) == refusal::none);
    REQUIRE(thief.heard.size() == 1);
    CHECK(refused(thief) == refusal::not_the_owner);
    thief.heard.clear();
  }
  for (const frame& replayed : owner.said) {  // no greeting opened them for this connection
    CHECK(with.receive(thief.line, replayed) == refusal::none);
    REQUIRE(thief.heard.size() == (specverify::name_of(replayed).ok() ? 1u : 0u));
    for (; !thief.heard.empty(); thief.heard.pop_back()) CHECK(refused(thief) == refusal::not_the_owner);
  }
  CHECK(with.log.count(refusal::not_the_owner) >= 3);
  owner.finish(with);
  CHECK(owner.text() == text_alone(owner.run));
}

TEST_CASE("serve: a session has one connection, and a connection speaks for one session") {
  server with;
  device first(1, settings_of(100)), second(1, settings_of(101));
  first.host.begin();
  first.steps(with, 9);
  guest newer(1);
  CHECK(with.receive(newer.line, first.said.front()) == refusal::none);
  CHECK(first.over.closed);
  CHECK_FALSE(newer.heard.empty());
  first.over.heard.clear();
  CHECK(with.receive(first.over.line, first.said.back()) == refusal::none);  // what was under way
  CHECK(refused_as(first.over).code == specverify::errc::no_handshake);
  newer.heard.clear();
  second.host.begin();
  CHECK(with.receive(newer.line, second.said.front()) == refusal::none);
  CHECK_FALSE(newer.closed);
  newer.heard.clear();
  while (with.has_work()) with.work();
  CHECK(newer.heard.empty());  // nothing of the session before
}

TEST_CASE("serve: a device of another version hears its name, and its connection is closed") {
  server with;
  device next(1, settings_of(100));
  next.host.begin();
  frame hello = next.said.front();
  hello[8] = std::byte{4};
  const auto head = specverify::detail::load_head(hello, specverify::detail::hello_head_at);
  (void)specverify::detail::end_headed(specverify::message_kind::hello, head, hello.size(), hello);  // its checksum
  constexpr unsigned char resume[] = {0x26, 1, 3, 0, 0x70, 0x32, 0x7e, 0x90, 7,    0,    0,    0,
                                      0,    0, 0, 0, 2,    0,    0,    0,    1,    0,    0,    0,
                                      3,    0, 0, 0, 0x97, 0x40, 0xb2, 0x74, 0xb9, 0x8b, 0xa8, 0xec};  // of version 2
  for (const frame& message : {hello, frame_of(std::as_bytes(std::span(resume)))}) {
    guest old(1);
    CHECK(with.receive(old.line, message) == refusal::other_version);
    REQUIRE(old.heard.size() == 1);
    const auto heard = specverify::decode_refuse(specverify::name_of(message).value(), old.heard.front());
    REQUIRE(heard.ok());
    CHECK(heard->reason.code == specverify::errc::unknown_version);
  }
  CHECK(with.sessions->size() == 0);
}

TEST_CASE("serve: a device has so many sessions, and finished ones make room") {
  serve_limits limits;
  limits.sessions_of_device = 2;
  server with(limits);
  device first(1, settings_of(100)), second(1, settings_of(101)), third(1, settings_of(102)),
      other(2, settings_of(103));
  for (device* each : {&first, &second, &other}) {
    each->host.begin();
    each->steps(with, 4);
  }
  third.host.begin();
  CHECK(with.receive(third.over.line, third.said.front()) == refusal::none);
  CHECK(refused(third.over) == refusal::sessions_of_device);
  CHECK(!fs::exists(with.folder_of(102)));
  CHECK(with.sessions->size() == 3);
  first.finish(with);
  third.over.heard.clear();
  third.finish(with);
  CHECK(third.text() == text_alone(third.run));
  CHECK(!fs::exists(with.folder_of(100)));
  CHECK(with.sessions->size() == 3);
}

TEST_CASE("serve: a hello that is refused forgets no session that is complete") {
  serve_limits limits;
  limits.sessions_of_device = 2;
  limits.sessions = 3;
  server with(limits);
  device complete(1, settings_of(100)), going_on(1, settings_of(101)), other(2, settings_of(102)),
      unserved(1, settings_of(103)), stranger(3, settings_of(104));
  for (device* each : {&complete, &going_on, &other}) {
    each->host.begin();
    each->steps(with, 4);
  }
  complete.finish(with);
  with.limits.draft_length = 2;  // the library refuses it
  unserved.host.begin();
  CHECK(with.receive(unserved.over.line, unserved.said.front()) == refusal::none);
  CHECK(unserved.over.heard.size() == 1);
  CHECK(with.sessions->size() == 3);
  CHECK(fs::exists(with.folder_of(100) / "journal"));
  with.limits.draft_length = 12;
  with.limits.disk_bytes = 7 * 4096;  // no place of one session is enough
  stranger.host.begin();
  CHECK(with.receive(stranger.over.line, stranger.said.front()) == refusal::none);
  CHECK(refused(stranger.over) == refusal::disk_full);
  CHECK(with.sessions->size() == 3);
  CHECK(fs::exists(with.folder_of(100) / "journal"));
}

TEST_CASE("serve: a hello that is refused takes no connection from its session") {
  serve_limits limits;
  limits.sessions = 1;
  server with(limits);
  device begun(1, settings_of(100)), more(1, settings_of(101));
  begun.host.begin();
  begun.steps(with, 4);
  more.host.begin();
  CHECK(with.receive(begun.over.line, more.said.front()) == refusal::none);
  CHECK(refused(begun.over) == refusal::sessions);
  begun.over.heard.pop_back();
  begun.finish(with);
  CHECK(begun.text() == text_alone(begun.run));
}

TEST_CASE("serve: a session that found the disk full is begun again when there is room") {
  server with;
  device finished(1, settings_of(100)), ended(2, settings_of(101));
  for (device* each : {&finished, &ended}) {
    each->host.begin();
    each->steps(with, 3);
  }
  with.limits.disk_bytes = 1;
  while (with.log.count(refusal::disk_full) == 0) REQUIRE(ended.step(with));
  CHECK(refused(ended.over) == refusal::disk_full);
  with.limits.disk_bytes = 1 << 20;
  ended.over.heard.clear();
  ended.outgoing.clear();
  ended.host.reconnect();
  ended.finish(with);
  CHECK(ended.text() == text_alone(ended.run));
}

TEST_CASE("serve: the server has so many sessions") {
  serve_limits limits;
  limits.sessions = 2;
  server with(limits);
  device first(1, settings_of(100)), second(2, settings_of(101)), third(3, settings_of(102));
  for (device* each : {&first, &second, &third}) each->host.begin();
  first.steps(with, 4);
  second.steps(with, 4);
  CHECK(with.receive(third.over.line, third.said.front()) == refusal::none);
  CHECK(refused(third.over) == refusal::sessions);
  CHECK(with.sessions->size() == 2);
}

TEST_CASE("serve: what goes wrong with a session ends it alone") {
  server with;
  device good(1, settings_of(100));
  run_settings hot = settings_of(101);
  hot.temperature = 0.5;
  device other_temperature(2, hot);
  good.host.begin();
  good.steps(with, 6);
  other_temperature.host.begin();
  CHECK_THROWS_AS(other_temperature.finish(with), std::runtime_error);
  CHECK(with.sessions->size() == 2);
  good.finish(with);
  CHECK(good.text() == text_alone(good.run));
}

TEST_CASE("serve: drafts beyond the limit are refused with the hello") {
  serve_limits limits;
  limits.draft_length = 2;
  server with(limits);
  device asked(1, settings_of(100));  // four drafts a round
  asked.host.begin();
  synced_paths.clear();
  CHECK_THROWS_WITH(asked.finish(with), doctest::Contains("the session exceeds a limit"));
  CHECK(synced_paths.empty());  // a refusal costs no disk
  CHECK(with.sessions->size() == 0);
  CHECK(fs::is_empty(with.folder.path / "sessions"));
}

TEST_CASE("serve: a journal and the disk have their limits") {
  serve_limits limits;
  limits.journal_bytes = 1024;
  server with(limits);
  run_settings many_tokens = settings_of(100);
  many_tokens.tokens = 60;
  device long_one(1, many_tokens);
  long_one.host.begin();
  CHECK_THROWS_AS(long_one.finish(with), std::runtime_error);
  CHECK(with.log.count(refusal::journal_full) == 1);
  CHECK(!fs::exists(with.folder_of(100)));
  CHECK(with.sessions->disk().used == 0);
  CHECK(with.sessions->disk().peak <= 4 * 4096);
  guest again(1);
  CHECK(with.receive(again.line, long_one.said.front()) == refusal::none);
  CHECK(refused(again) == refusal::journal_full);

  serve_limits small;
  small.disk_bytes = 5 * 4096;  // of three blocks each
  server second(small);
  device one(1, settings_of(100)), two(2, settings_of(101));
  one.host.begin();
  one.steps(second, 4);
  two.host.begin();
  const auto both = [&] {
    for (int left = 100000; left > 0 && !one.host.finished(); --left) one.step(second), two.steps(second, 1);
  };
  CHECK_THROWS_AS(both(), std::runtime_error);
  CHECK(second.log.count(refusal::disk_full) >= 1);
  CHECK(second.sessions->disk().peak <= 5 * 4096);
}

TEST_CASE("serve: what the disk takes is counted in blocks, the folder included") {
  server with;
  device writer(1, settings_of(100));
  writer.host.begin();
  while (!writer.host.finished()) {
    REQUIRE(writer.step(with));
    std::uint64_t taken = 0;
    if (!fs::exists(with.folder_of(100))) continue;
    for (const auto& path : {with.folder_of(100), with.folder_of(100) / "owner", with.folder_of(100) / "journal"}) {
      struct stat found {};
      if (::stat(path.c_str(), &found) != 0) continue;  // there is no record yet
      taken += static_cast<std::uint64_t>(found.st_blocks) * 512;
    }
    CHECK(with.sessions->disk().used >= taken);
  }
  CHECK(with.sessions->disk().used == 3 * 4096);
}

TEST_CASE("serve: a session that nobody uses is forgotten") {
  serve_limits limits;
  limits.idle_session_seconds = 10;
  server with(limits);
  device left(1, settings_of(100)), used(2, settings_of(101));
  left.host.begin();
  left.steps(with, 6);
  with.now = 9;
  used.host.begin();
  used.steps(with, 4);
  with.now = 12;
  with.sessions->sweep(with.clock());
  CHECK(with.sessions->size() == 1);
  CHECK(!fs::exists(with.folder_of(100)));
  CHECK(with.log.count(refusal::idle_session) == 1);
  left.host.reconnect();
  left.finish(with);  // it says hello with what it has
  used.finish(with);
}

TEST_CASE("serve: a restarted server goes on with owners and texts") {
  server with;
  device a(1, settings_of(100)), damaged(2, settings_of(101));
  for (device* each : {&a, &damaged}) {
    each->host.begin();
    each->steps(with, 12);
    REQUIRE(!each->host.finished());
  }
  std::ofstream(with.folder_of(101) / "journal", std::ios::binary | std::ios::in) << "garbage that is no record at all";
  fs::create_directories(with.folder.path / "sessions" / "00000000000000ff");  // killed before its owner was written
  with.restart();
  CHECK(with.sessions->size() == 2);
  CHECK(with.damaged() == std::vector<std::string>{"00000001-0000000000000065"});
  CHECK(with.log_text.str().find("session 101 cannot be restored: (journal_corrupt)") != std::string::npos);
  CHECK(!fs::exists(with.folder_of(255)));
  guest thief(3);
  CHECK(with.receive(thief.line, damaged.said.front()) == refusal::none);
  CHECK(refused(thief) == refusal::not_the_owner);
  for (device* each : {&a, &damaged}) {
    each->over.heard.clear();
    each->outgoing.clear();
    each->host.reconnect();
    each->finish(with);
  }
  CHECK(a.text() == text_alone(a.run));
}

TEST_CASE("serve: zero bytes after a journal cost nothing of it") {
  server with;
  device a(1, settings_of(100)), b(2, settings_of(101));
  for (device* each : {&a, &b}) {
    each->host.begin();
    each->steps(with, 12);
    REQUIRE(!each->host.finished());
  }
  const auto whole = file_bytes(with.folder_of(100) / "journal");
  fs::resize_file(with.folder_of(100) / "journal", whole.size() + 4096);  // a power cut
  fs::resize_file(with.folder_of(101) / "journal", 0);
  fs::resize_file(with.folder_of(101) / "journal", 4096);
  with.restart();
  CHECK(with.log_text.str().find("session 100: restored; dropped 4096 bytes after the last whole record\n") !=
        std::string::npos);
  CHECK(with.log_text.str().find("session 101: no journal; the device begins it again; dropped 4096 bytes after") !=
        std::string::npos);
  CHECK(with.damaged().empty());
  CHECK(file_bytes(with.folder_of(100) / "journal") == whole);
  for (device* each : {&a, &b}) {
    each->over.heard.clear();
    each->outgoing.clear();
    each->host.reconnect();
    each->finish(with);
  }
  CHECK(a.text() == text_alone(a.run));
}

TEST_CASE("serve: a restart holds the limits, or names the one that the folder is beyond") {
  server with;
  device over(1, settings_of(100)), first(1, settings_of(101)), second(1, settings_of(102)), other(2, settings_of(103));
  for (device* each : {&over, &first, &second, &other}) {
    each->host.begin();
    each->steps(with, 4);
  }
  over.finish(with);
  const serve_limits roomy;
  with.limits.sessions = 3;
  with.restart();
  CHECK(with.sessions->size() == 3);
  CHECK(!fs::exists(with.folder_of(100)));  // what is over makes room
  CHECK(with.log_text.str().find("session 100: restored; it is over\n") != std::string::npos);
  const auto said = [&](const auto& lower) {
    with.limits = roomy;
    lower(with.limits);
    const std::string words = thrown([&] { with.restart(); });
    for (const std::uint64_t kept : {101u, 102u, 103u}) CHECK(fs::exists(with.folder_of(kept) / "journal"));
    return words;
  };
  CHECK(said([](serve_limits& l) { l.sessions = 2; }).find("--sessions 2: ") != std::string::npos);
  CHECK(said([](serve_limits& l) { l.sessions_of_device = 1; }).find("--sessions-of-device 1: ") != std::string::npos);
  CHECK(said([](serve_limits& l) { l.disk_bytes = 8 * 4096; }).find("--disk-bytes 32768: ") != std::string::npos);
  CHECK(said([](serve_limits& l) { l.open_files = 2; }).find("ulimit -n") != std::string::npos);
  with.limits = roomy;
  with.restart();
  CHECK(with.sessions->size() == 3);
}

TEST_CASE("serve: a session keeps its salt over a restart") {
  server first, second;
  first.run.salt = 0;  // one is drawn for each session
  first.restart();
  run_settings longer = settings_of(100);
  longer.tokens = 40;
  device writer(1, longer);
  writer.host.begin();
  writer.steps(first, 6);
  second.run.salt = 0;
  second.sessions.reset();
  fs::copy(first.folder.path, second.folder.path, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  second.start();  // from what the first one has written by now

  writer.over.heard.clear();
  writer.outgoing.clear();
  const std::size_t before = writer.said.size();
  const message_sender pass_on = writer.over.line->send;
  std::vector<frame> answers;
  writer.over.line->send = [&](std::span<const std::byte> message) {
    answers.emplace_back(message.begin(), message.end());
    pass_on(message);
  };
  first.restart();
  writer.host.reconnect();
  writer.finish(first);
  guest again(1);  // says the same to the other server
  for (std::size_t i = before; i < writer.said.size(); ++i) {
    (void)second.receive(again.line, writer.said[i]);
    while (second.has_work()) second.work();
  }
  REQUIRE(!answers.empty());
  REQUIRE(again.heard.size() >= answers.size());
  CHECK(std::equal(answers.begin(), answers.end(), again.heard.begin()));
}

TEST_CASE("serve: damaged journals outlive their sessions, and the oldest of them make room") {
  serve_limits limits;
  limits.damaged_bytes = 2 * 4096;
  limits.idle_session_seconds = 10;
  server with(limits);
  for (std::uint64_t id = 100; id < 103; ++id) {
    device each(1, settings_of(id));
    each.host.begin();
    each.steps(with, 12);
  }
  for (std::uint64_t id = 100; id < 103; ++id)
    std::ofstream(with.folder_of(id) / "journal", std::ios::binary | std::ios::in)
        << "garbage that is no record at all";
  with.restart();
  const std::vector<std::string> kept{"00000002-0000000000000065", "00000003-0000000000000066"};
  CHECK(with.damaged() == kept);
  with.now = 20;
  with.sessions->sweep(with.clock());
  CHECK(with.sessions->size() == 0);
  CHECK(with.damaged() == kept);
  with.limits.damaged_bytes = 0;
  with.restart();
  CHECK(with.damaged() == kept);  // nothing is written there: nothing makes room
}

TEST_CASE("serve: a kill between any two writes leaves a session with its owner, or none") {
  server with;
  const std::vector<std::uint64_t> ids{100, 101, 102, 103, 104, 105};
  for (const std::uint64_t id : ids) {
    device each(id, settings_of(id));
    each.host.begin();
    each.steps(with, 12);
  }
  const auto file = [&](std::uint64_t id, const char* name) { return with.folder_of(id) / name; };
  with.sessions.reset();
  fs::rename(file(100, "owner"), file(100, "owner.new"));  // before the owner's file had its name
  fs::remove(file(100, "journal"));
  fs::remove(file(101, "journal"));                            // before the first record
  fs::resize_file(file(102, "journal"), 3);                    // within it
  std::ofstream(file(103, "journal.new")) << "half a record";  // while one journal took the place of another
  fs::remove(file(104, "owner"));                              // while it was forgotten
  fs::resize_file(file(105, "owner"), 2);                      // a power cut, on a disk that keeps no order
  with.now = 2;
  with.start();
  CHECK(with.sessions->size() == 3);
  for (const std::uint64_t gone : {100u, 104u, 105u}) CHECK(!fs::exists(with.folder_of(gone)));
  CHECK(!fs::exists(file(103, "journal.new")));
  CHECK(with.damaged() == std::vector<std::string>{"00000001-0000000000000069"});
  CHECK(with.log_text.str().find("session 105 cannot be restored: its owner file is damaged; any device may") !=
        std::string::npos);
  for (const std::uint64_t id : {101u, 102u, 103u}) {
    guest thief(7), owner(id);
    CHECK(with.receive(thief.line, hello_of(id)) == refusal::none);
    CHECK(refused(thief) == refusal::not_the_owner);
    CHECK(with.receive(owner.line, hello_of(id)) == refusal::none);
    CHECK(refused(owner) == refusal::none);
  }
}

TEST_CASE("serve: a disk that fails refuses its session, by name") {
  server with;
  device full(1, settings_of(100)), other(2, settings_of(101));
  for (device* each : {&full, &other}) {
    each->host.begin();
    each->steps(with, 9);
  }
  with.restart();
  fs::remove(with.folder_of(100) / "journal");
  fs::create_symlink("/dev/full", with.folder_of(100) / "journal");
  full.host.reconnect();
  while (with.log.count(refusal::disk_failed) == 0) REQUIRE(full.step(with));
  REQUIRE(refused(full.over) == refusal::disk_failed);
  CHECK(with.log.count(refusal::host_failed) == 0);
  CHECK(with.log_text.str().find("No space left on device") != std::string::npos);
  CHECK(!fs::exists(with.folder_of(100)));
  guest thief(3);
  CHECK(with.receive(thief.line, hello_of(100)) == refusal::none);
  CHECK(refused(thief) == refusal::not_the_owner);
  full.over.heard.clear();  // the device waits for a better time
  full.outgoing.clear();
  for (device* each : {&full, &other}) {
    each->host.reconnect();
    each->finish(with);
    CHECK(each->text() == text_alone(each->run));
  }
}

TEST_CASE("serve: a session whose folder cannot be made is refused once, and was never opened") {
  server with;
  fs::remove_all(with.folder.path / "sessions");
  std::ofstream(with.folder.path / "sessions") << "no folder";
  device asks(1, settings_of(100));
  asks.host.begin();
  CHECK(with.receive(asks.over.line, asks.said.front()) == refusal::none);
  CHECK(asks.over.heard.size() == 1);
  CHECK(refused(asks.over) == refusal::host_failed);
  CHECK(with.log.count(refusal::host_failed) == 1);
  CHECK(with.log_text.str().find("opens") == std::string::npos);
}

TEST_CASE("serve: a file that cannot be read sets its session aside, and strict_restore keeps it in place") {
  server with;
  device begun(1, settings_of(100)), other(2, settings_of(101));
  for (device* each : {&begun, &other}) {
    each->host.begin();
    each->steps(with, 9);
  }
  struct unreadable {
    const char *file, *as, *said;
  };
  const auto cases = {unreadable{"journal", "/proc/self/mem", "the device begins it again"},  // opens, is not readable
                      unreadable{"owner", "/proc/self/mem", "any device may open it"},
                      unreadable{"owner", "/nowhere/at/all", "any device may open it"}};  // does not open
  with.strict_restore = true;
  for (const auto& [file, as, said] : cases) {
    with.sessions.reset();
    const fs::path link = with.folder_of(100) / file, aside = with.folder.path / "aside";
    fs::rename(link, aside);
    fs::create_symlink(as, link);
    const std::string told = thrown([&] { with.start(); });
    CHECK(told.find("session 100 cannot be restored: ") != std::string::npos);
    CHECK(told.find("--strict-restore") != std::string::npos);
    CHECK(with.damaged().empty());
    with.sessions.reset();
    fs::rename(aside, link);
  }
  with.strict_restore = false;
  for (const auto& [file, as, said] : cases) {
    CAPTURE(as);
    with.restart();
    begun.over.heard.clear();
    begun.outgoing.clear();
    begun.host.reconnect();
    begun.steps(with, 6);  // its session is there again
    REQUIRE(!begun.host.finished());
    with.sessions.reset();
    fs::remove(with.folder_of(100) / file);
    fs::create_symlink(as, with.folder_of(100) / file);
    with.log_text.str("");
    with.start();
    CHECK(with.log_text.str().find("session 100 cannot be restored: ") != std::string::npos);
    CHECK(with.log_text.str().find(said) != std::string::npos);
    CHECK(with.log_text.str().find("session 101: restored") != std::string::npos);
  }
  other.over.heard.clear();
  other.outgoing.clear();
  other.host.reconnect();
  other.finish(with);
  CHECK(other.text() == text_alone(other.run));
}

TEST_CASE("serve: open files are parted before they run out") {
  CHECK(share_of_open_files(1024) == 488);
  CHECK(share_of_open_files(64) == 8);
  CHECK(thrown([] { (void)share_of_open_files(63); }).find("63 files, but needs at least 64") != std::string::npos);
  CHECK(raised_open_files() >= 64);
  serve_limits limits;
  limits.open_files = 2;
  server with(limits);
  device first(1, settings_of(100)), second(2, settings_of(101)), third(3, settings_of(102));
  for (device* each : {&first, &second, &third}) each->host.begin();
  first.steps(with, 4);
  second.steps(with, 4);
  CHECK(with.receive(third.over.line, third.said.front()) == refusal::none);
  CHECK(refused(third.over) == refusal::descriptors);
  first.finish(with);
  third.over.heard.clear();
  third.finish(with);  // what is over makes room
  CHECK(with.sessions->size() == 2);
}

TEST_CASE("serve: who owns a session outlives a power cut") {
  synced_paths.clear();
  server with;
  CHECK(synced_paths == std::vector<std::string>{with.folder.path});  // the name of `sessions`
  synced_paths.clear();
  device owner(1, settings_of(100));
  owner.host.begin();
  const fs::path folder = with.folder_of(100);
  std::vector<bool> owned, told;
  look_at_sync = [&] {
    owned.push_back(fs::exists(folder / "owner"));
    told.push_back(!owner.over.heard.empty());
  };
  owner.steps(with, 4);
  look_at_sync = nullptr;
  CHECK(synced_paths == std::vector<std::string>{folder / "owner.new", folder, folder.parent_path()});
  CHECK(owned == std::vector<bool>{false, true, true});
  CHECK(told == std::vector<bool>(3, false));
}

TEST_CASE("serve: under required = unconditional a verdict is on the disk before it is sent") {
  for (const bool required : {false, true}) {
    CAPTURE(required);
    server with;
    with.sync = !required;
    with.required = required ? specverify::guarantee::unconditional : specverify::guarantee::lossy;
    with.restart();
    run_settings run = settings_of(100);
    run.system = "target";
    run.tokens = 40;
    device writer(1, run);
    const fs::path folder = with.folder_of(100), journal = folder / "journal";
    const auto bytes_of = [](const fs::path& file) { return fs::exists(file) ? fs::file_size(file) : 0; };
    std::uintmax_t synced = 0, sent = 0;
    bool named = false;
    look_at_sync = [&] {
      const std::string& path = synced_paths.back();
      if (path == journal) synced = bytes_of(journal);
      if (path == folder / "journal.new") synced = bytes_of(path), named = false;
      if (path == folder) named = fs::exists(journal) && !fs::exists(folder / "journal.new");
    };
    const message_sender pass_on = writer.over.line->send;
    writer.over.line->send = [&](std::span<const std::byte> message) {
      CHECK(synced == bytes_of(journal));
      CHECK((named || !fs::exists(journal)));
      ++sent;
      pass_on(message);
    };
    writer.host.begin();
    writer.steps(with, 12);
    REQUIRE(!writer.host.finished());
    synced = 0;
    with.restart();  // a process that was killed may have left a record that was not synced
    CHECK(synced == bytes_of(journal));
    writer.over.heard.clear();
    writer.outgoing.clear();
    writer.host.reconnect();
    writer.finish(with);
    look_at_sync = nullptr;
    CHECK(sent > 20);
    CHECK(writer.text() == text_alone(run));
  }
}

TEST_CASE("serve: under required = unconditional a text that the server lost is refused by name") {
  for (const bool required : {false, true}) {
    CAPTURE(required);
    server with;
    with.required = required ? specverify::guarantee::unconditional : specverify::guarantee::lossy;
    with.restart();
    run_settings run = settings_of(100);
    run.system = "target";
    device writer(1, run);
    writer.host.begin();
    writer.steps(with, 20);
    REQUIRE(writer.host.report().tokens.size() > 1);
    REQUIRE(!writer.host.finished());
    with.sessions.reset();
    fs::remove(with.folder_of(100) / "journal");  // a disk that lost what it was told to keep
    with.start();
    const char* const said =
        required ? "; the device can begin it again if it has only the prompt" : "; the device begins it again";
    CHECK(with.log_text.str().find(std::string("session 100: no journal") + said) != std::string::npos);
    writer.over.heard.clear();
    writer.outgoing.clear();
    writer.host.reconnect();
    if (required) {
      CHECK_THROWS_WITH(writer.finish(with), doctest::Contains("text that the cloud has not verified"));
    } else {
      writer.finish(with);
      CHECK(writer.host.report().tokens.size() == run.tokens);
    }
  }
}

TEST_CASE("serve: a session with a weaker guarantee than required is refused by name") {
  server with;
  with.required = specverify::guarantee::unconditional;
  with.restart();
  device drafts(1, settings_of(100));
  drafts.host.begin();
  CHECK(with.receive(drafts.over.line, drafts.said.front()) == refusal::none);
  CHECK(with.log_text.str().find("(guarantee_too_weak)") != std::string::npos);
  CHECK(with.sessions->size() == 0);
}

TEST_CASE("state folder: a session id is the whole file") {
  const scratch_folder above;
  const state_folder kept(above.path / "state");
  std::ofstream(above.path / "state" / "journal") << "begun";
  const auto id = [&](std::string_view text) -> std::optional<std::uint64_t> {
    std::ofstream(above.path / "state" / "session") << text;
    try {
      return kept.session_id(std::nullopt);
    } catch (const std::runtime_error&) {
      return std::nullopt;
    }
  };
  CHECK(id("123") == 123u);
  CHECK(id("123\n") == 123u);
  using namespace std::string_view_literals;
  for (const auto bad : {"0123"sv, "+5"sv, " 5"sv, "5\n\n"sv, "5\r\n"sv, "18446744073709551616"sv, "\0"sv, "5\0x"sv}) {
    CAPTURE(bad);
    CHECK_FALSE(id(bad));
  }
}

TEST_CASE("serve: a state folder that is made outlives a power cut") {
  const scratch_folder above;
  const mode_t rights = ::umask(0);
  synced_paths.clear();
  { const state_folder made(above.path / "state/"); }
  { const state_folder found(above.path / "state"); }
  CHECK(synced_paths == std::vector<std::string>{above.path});
  synced_paths.clear();
  { const state_folder deep(above.path / "one/two/three"); }
  ::umask(rights);
  CHECK(synced_paths == std::vector<std::string>{above.path, above.path / "one", above.path / "one/two"});
  CHECK((fs::status(above.path / "one").permissions() & fs::perms::mask) == fs::perms::owner_all);
}

TEST_CASE("serve: a session that other options began is set aside, and strict_restore keeps it in place") {
  server with;
  device begun(1, settings_of(100)), other(2, settings_of(101));  // four drafts per round
  begun.host.begin();
  begun.steps(with, 12);
  const auto kept = file_bytes(with.folder_of(100) / "journal");
  REQUIRE(!kept.empty());
  with.limits.draft_length = 2;
  with.strict_restore = true;
  const std::string said = thrown([&] { with.restart(); });
  for (const char* part : {"--strict-restore", "session 100", "max_draft_length", "another --state-dir"})
    CHECK(said.find(part) != std::string::npos);
  CHECK(file_bytes(with.folder_of(100) / "journal") == kept);
  CHECK(with.damaged().empty());
  with.strict_restore = false;
  with.start();
  CHECK(with.log_text.str().find("session 100 cannot be restored: (beyond_limit)") != std::string::npos);
  CHECK(with.damaged() == std::vector<std::string>{"00000001-0000000000000064"});
  CHECK(file_bytes(with.folder.path / "damaged" / with.damaged().front()) == kept);
  guest thief(7);
  CHECK(with.receive(thief.line, hello_of(100)) == refusal::none);
  CHECK(refused(thief) == refusal::not_the_owner);
  with.limits.draft_length = 12;
  with.restart();
  other.host.begin();
  other.finish(with);
  CHECK(other.text() == text_alone(other.run));
}

TEST_CASE("serve: no two messages of a device keep the server from starting") {
  server with;
  device begun(1, settings_of(100)), other(2, settings_of(101));
  for (device* each : {&begun, &other}) each->host.begin();
  other.steps(with, 9);
  const frame hello = begun.said.front();
  CHECK(with.receive(begun.over.line, hello) == refusal::none);
  const auto heard = specverify::decode_hello(hello);
  REQUIRE(heard.ok());
  REQUIRE(heard->length > 1);
  specverify::hello_message shorter = *heard;  // while the cloud waits for the text of the prompt
  shorter.nonce += 1;
  shorter.length = 1;
  std::array<std::byte, 256> space{};
  CHECK(with.receive(begun.over.line, frame_of(specverify::encode_hello(shorter, space).value())) == refusal::none);
  REQUIRE(fs::exists(with.folder_of(100) / "owner"));
  CHECK(thrown([&] { with.restart(); }) == "nothing was thrown");
  other.over.heard.clear();
  other.outgoing.clear();
  other.host.reconnect();
  other.finish(with);
  CHECK(other.text() == text_alone(other.run));
}

TEST_CASE("serve: only the server's own codes are looked up in its table") {
  using specverify::errc;
  using specverify::part;
  CHECK(host_refusal({errc::refused_by_peer, part::host, 11}) == refusal::key_unknown);
  CHECK(host_refusal({errc::beyond_limit, part::host, 4}) == refusal::journal_full);
  CHECK(host_refusal({errc::engine_failed, part::host, 6}) == refusal::host_failed);
  CHECK(!host_refusal({errc::beyond_limit, part::session, 4}));
  CHECK(!host_refusal({errc::invalid_temperature, part::host, 0}));
  CHECK(!host_refusal({errc::base_length_mismatch, part::host, 4}));
  CHECK(!host_refusal({errc::engine_failed, part::host, 4}));
  for (std::uint32_t where = 0; where <= specverify::cloud_options::at_truncation; ++where) {
    const specverify::status why{errc::beyond_limit, part::session, where};
    const bool of_make = where == specverify::cloud_options::at_trial_cap ||
                         where == specverify::cloud_options::at_secret ||
                         where == specverify::cloud_options::at_vocab_size;
    CHECK((told_to_device(why).find(specverify::message(why.code)) == std::string::npos) == !of_make);
  }
}

TEST_CASE("serve: frames of no use are counted, answered seldom, and not journaled") {
  serve_limits limits;
  limits.useless_frames = 20;
  server with(limits);
  device owner(1, settings_of(100));
  owner.host.begin();
  owner.steps(with, 9);
  const auto written = with.sessions->disk().used;
  owner.over.heard.clear();
  const frame rubbish(64, std::byte{0x5A});
  int taken = 0;
  while (with.receive(owner.over.line, rubbish) == refusal::none) ++taken;
  CHECK(taken == 20);
  CHECK(owner.over.heard.size() <= 21);  // one for each
  CHECK(with.sessions->disk().used == written);

  guest stranger(2);  // never greeted
  taken = 0;
  while (with.receive(stranger.line, rubbish) == refusal::none) ++taken;
  CHECK(taken == 20);
  CHECK(stranger.heard.empty());
}

TEST_CASE("serve: a device has so many handshakes in a second") {
  serve_limits limits;
  limits.handshakes_of_device = 20;
  server with(limits);
  device owner(1, settings_of(100)), other(2, settings_of(101));
  for (device* each : {&owner, &other}) each->host.begin();
  owner.steps(with, 9);
  int taken = 0;
  refusal why = refusal::none;
  while (why == refusal::none && taken < 100) {
    guest again(1);  // each time another connection
    why = with.receive(again.line, hello_of(100));
    taken += why == refusal::none ? 1 : 0;
  }
  CHECK(why == refusal::handshakes_of_device);
  CHECK(taken == 19);
  other.finish(with);
  CHECK(other.text() == text_alone(other.run));
  with.now += 1;
  owner.over.heard.clear();
  owner.outgoing.clear();
  owner.host.reconnect();
  owner.finish(with);
  CHECK(owner.text() == text_alone(owner.run));
}

TEST_CASE("serve: the server writes so many bytes for a device in a second") {
  serve_limits limits;
  limits.written_of_device = 2048;
  server with(limits);
  run_settings run = settings_of(100);
  run.tokens = 60;
  device writer(1, run), other(2, settings_of(101));
  for (device* each : {&writer, &other}) each->host.begin();
  refusal why = refusal::none;
  while (why == refusal::none) {
    while (writer.outgoing.empty()) REQUIRE(writer.step(with));
    why = with.receive(writer.over.line, writer.outgoing.front());
    if (why == refusal::none) writer.outgoing.pop_front();
  }
  CHECK(why == refusal::written_of_device);
  with.now += 1;  // the session goes on where it was
  writer.host.reconnect();
  for (int steps = 0; !writer.host.finished(); ++steps) {
    with.now += steps % 4 == 0 ? 1 : 0;
    REQUIRE(writer.step(with));
  }
  CHECK(writer.text() == text_alone(run));
}

TEST_CASE("serve: greetings that are refused one after the other are of no use either") {
  serve_limits limits;
  limits.useless_frames = 20;
  limits.draft_length = 2;
  server with(limits);
  const auto taken = [&](const guest& from, const frame& message) {
    int count = 0;
    while (count < 100 && with.receive(from.line, message) == refusal::none) ++count;
    return count;
  };
  CHECK(taken(guest(1), hello_of(100)) == 20);  // nobody has opened it
  device asked(2, settings_of(101));            // four drafts a round
  asked.host.begin();
  CHECK(taken(asked.over, asked.said.front()) == 20);
  CHECK(with.sessions->size() == 0);
}

TEST_CASE("serve: each session that waits has its turn") {
  serve_limits limits;
  limits.engines = 1;
  server with(limits);
  device a(1, settings_of(100)), b(2, settings_of(101)), c(3, settings_of(102));
  const std::array<device*, 3> all{&a, &b, &c};
  for (device* each : all) each->host.begin();
  std::size_t finished = 0;
  while (finished < all.size()) {
    finished = 0;
    for (device* each : all) {  // messages first, so that all of them wait
      while (!each->host.finished() && (!each->outgoing.empty() || !each->over.heard.empty())) each->step(with);
      finished += each->host.finished() ? 1u : 0u;
    }
    if (with.has_work()) with.work();
  }
  for (device* each : all) CHECK(each->text() == text_alone(each->run));
  const auto rounds = [](const device& d) { return d.host.report().rounds; };
  CHECK(rounds(a) > 1);
  CHECK(with.engines->made() == 1);
}

//! Tokens that the engines are fed while three devices each have a text streamed.
static std::uint64_t fed_to(std::uint32_t engines) {
  serve_limits limits;
  limits.engines = engines;
  server with(limits);
  std::vector<std::unique_ptr<device>> all;
  for (std::uint64_t id = 100; id < 103; ++id) {
    run_settings run = settings_of(id);
    run.system = "target";
    run.tokens = 60;
    all.push_back(std::make_unique<device>(id, run));
    all.back()->host.begin();
  }
  std::size_t finished = 0;
  while (finished < all.size()) {
    finished = 0;
    for (const auto& each : all) {  // messages first, so that all of them wait
      while (!each->host.finished() && (!each->outgoing.empty() || !each->over.heard.empty())) each->step(with);
      finished += each->host.finished() ? 1u : 0u;
    }
    if (with.has_work()) with.work();
  }
  for (const auto& each : all) CHECK(each->text() == text_alone(each->run));
  CHECK(with.engines->made() == engines);
  return with.engines->fed();
}

TEST_CASE("serve: with fewer caches than sessions, few tokens are fed again") {
  CHECK(10 * fed_to(2) <= 22 * fed_to(3));
  CHECK(10 * fed_to(1) <= 22 * fed_to(3));
}

TEST_CASE("serve: a session whose device is silent keeps its cache for a second") {
  serve_limits limits;
  limits.engines = 1;
  server with(limits);
  device silent(1, settings_of(100)), other(2, settings_of(101));
  for (device* each : {&silent, &other}) each->host.begin();
  while (with.engines->fed() == 0) REQUIRE(silent.step(with));  // its text is fed, and the next draft does not come
  REQUIRE(!silent.host.finished());
  while (!other.outgoing.empty() || !other.over.heard.empty()) REQUIRE(other.step(with));
  CHECK(!with.has_work());
  with.now += 2;
  CHECK(with.has_work());
  other.finish(with);
  CHECK(other.text() == text_alone(other.run));
  silent.finish(with);
  CHECK(silent.text() == text_alone(silent.run));
}

TEST_CASE("serve: a session that is cancelled while it waits for a cache is fed nothing") {
  serve_limits limits;
  limits.engines = 1;
  server with(limits);
  device holder(1, settings_of(100)), brief(2, settings_of(101));
  for (device* each : {&holder, &brief}) each->host.begin();
  while (with.engines->fed() == 0) REQUIRE(holder.step(with));
  while (!brief.outgoing.empty() || !brief.over.heard.empty()) REQUIRE(brief.step(with));
  CHECK(!with.has_work());
  with.now += 2;
  REQUIRE(with.has_work());  // it would have the cache now
  REQUIRE(brief.host.stop());
  while (!brief.outgoing.empty() || !brief.over.heard.empty()) REQUIRE(brief.step(with));
  const std::uint64_t fed = with.engines->fed();
  while (with.has_work()) with.work();
  CHECK(with.engines->fed() == fed);
  holder.finish(with);
  CHECK(holder.text() == text_alone(holder.run));
}

TEST_CASE("serve: a session that asks for a pass every 0.9 seconds keeps its cache for no more than a few") {
  serve_limits limits;
  limits.engines = 1;
  server with(limits);
  run_settings run = settings_of(100);
  for (int i = 0; i < 4; ++i) run.prompt += ". And the LORD spake again unto Moses, and said unto him";
  run.tokens = 60;
  device slow(1, run), other(2, settings_of(101));
  for (device* each : {&slow, &other}) each->host.begin();
  while (with.engines->fed() == 0) REQUIRE(slow.step(with));
  while (!other.outgoing.empty() || !other.over.heard.empty()) REQUIRE(other.step(with));
  int passes = 0;
  while (other.over.heard.empty() && passes < 10) {
    if (!with.has_work()) {  // for the other one
      with.micros += 900'000;
      while (!slow.outgoing.empty() || !slow.over.heard.empty()) REQUIRE(slow.step(with));
      REQUIRE(!slow.host.finished());
    }
    REQUIRE(with.has_work());
    with.work();
    ++passes;
  }
  CHECK(passes <= 4);
  other.finish(with);
  slow.finish(with);
  CHECK(slow.text() == text_alone(run));
}

TEST_CASE("serve: the log names who and why, and holds no secret, prompt or text") {
  server with;
  device owner(1, settings_of(100));
  owner.host.begin();
  owner.steps(with, 9);
  guest thief(2);
  while (with.receive(thief.line, owner.said.front()) == refusal::none) continue;
  owner.finish(with);
  const std::string log = with.log_text.str();
  CHECK(log.find("device 1 opens session 100") != std::string::npos);
  CHECK(log.find("device 2: refused (not_the_owner)") != std::string::npos);
  CHECK(log.find("session 100: complete") != std::string::npos);
  CHECK(std::count(log.begin(), log.end(), '\n') <= 2 * serve_log::lines_a_second + 2);  // a flood is counted
  CHECK(with.log.count(refusal::not_the_owner) == 65);  // then it was of no use for too long
  for (const std::string& secret : {owner.run.prompt, owner.text(), std::string(owner.run.edge_secret),
                                    std::string(owner.run.cloud_secret), std::to_string(owner.run.salt) + " "})
    CHECK(log.find(secret) == std::string::npos);
}

TEST_CASE("serve: a flood is summed up every second, also where nothing follows") {
  std::ostringstream text;
  serve_log log{std::make_shared<spdlog::logger>("t", std::make_shared<spdlog::sinks::ostream_sink_st>(text))};
  const auto lines = [&] {
    const std::string all = text.str();
    return std::count(all.begin(), all.end(), '\n');
  };
  constexpr std::uint64_t second = 1'000'000;
  for (int i = 0; i < 1000; ++i) log.refused(refusal::half_open, "10.0.0.1", 5 * second + 100);
  for (int i = 0; i < 20; ++i) log.event("session 2: restored", 5 * second);
  CHECK(lines() == 2 * serve_log::lines_a_second);
  log.device_event("device 1 opens session 3", 5 * second);
  log.failure("session 3: Input/output error", 5 * second);
  CHECK(lines() == 2 * serve_log::lines_a_second + 2);
  text.str("");
  log.summarize(5 * second + 999'999);
  CHECK(lines() == 0);
  log.summarize(6 * second);
  log.summarize(7 * second);
  CHECK(lines() == 2);
  CHECK(text.str().find("refused (half_open): 992 more in a second") != std::string::npos);
  CHECK(text.str().find("events: 12 more in a second") != std::string::npos);
  CHECK(log.count(refusal::half_open) == 1000);
}

TEST_CASE("serve: devices that flood the log do not hide what goes wrong with the server") {
  serve_limits limits;
  limits.draft_length = 2;
  server with(limits);
  device refused_one(1, settings_of(100));  // four drafts a round
  refused_one.host.begin();
  for (int i = 0; i < 20; ++i) (void)with.receive(refused_one.over.line, refused_one.said.front());
  fs::remove_all(with.folder.path / "sessions");
  std::ofstream(with.folder.path / "sessions") << "no folder";
  with.limits.draft_length = 12;
  device asks(2, settings_of(101));
  asks.host.begin();
  (void)with.receive(asks.over.line, asks.said.front());
  CHECK(with.log_text.str().find("session 101: ") != std::string::npos);
  CHECK(with.log_text.str().find("Not a directory") != std::string::npos);
}

TEST_CASE("serve: the page says what each refusal says") {
  std::ifstream in("docs/serving.md");
  std::stringstream page;
  page << in.rdbuf();
  for (std::size_t i = 1; i < refusal_table.size(); ++i) {
    const refusal_words words = words_of(static_cast<refusal>(i));
    std::string row = "| " + std::to_string(i) + " | `" + std::string(words.name) + "` | " + std::string(words.text) +
                      " | " + std::string(words.told);
    CAPTURE(row);
    CHECK(page.str().find(row + " |\n") != std::string::npos);
  }
  CHECK(words_of(static_cast<refusal>(1000)).name == "unknown");
}
