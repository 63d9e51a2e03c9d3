// SPDX-License-Identifier: Apache-2.0
// Replays the committed inputs of the fuzz target of the C interface and copies of them with changed bytes; then tests
// mistakes of a caller by name. SPECVERIFY_WRITE_CORPUS=1 writes the seeds anew.
#if defined(__cpp_exceptions)  // the C library is built with them
#include "fuzz/c_library.cpp"

#include "fuzz/c_interface_body.hpp"
#include "fuzz/corpus.hpp"
#include "session/hash_model.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

using namespace specverify_fuzz;

namespace {

constexpr std::uint16_t struct_size_wrong = 158, misaligned = 159, abi_mismatch = 161;

using bytes = std::vector<std::uint8_t>;

//! Writes a host without mistakes for each system, and a script under all kinds of mistakes.
void write_seeds() {
  const auto write = [](const std::string& name, const bytes& content) {
    keep_input("c_interface", name, std::as_bytes(std::span(content)));
  };
  specverify_test::dice dice(23);
  for (std::uint8_t i = 0; i < c_systems.size(); ++i) {
    const std::string name = c_systems[i];
    write(name + "_whole", {i, 0});
    bytes script{i, static_cast<std::uint8_t>(dice.next() & 127)};
    while (script.size() < 300) script.push_back(static_cast<std::uint8_t>(dice.next()));
    write(name + "_mistakes", script);
  }
}

//! Makes a struct of `size` bytes with that struct_size, in a block that ends there.
template <class Struct>
heap_bytes sized(Struct value, std::size_t size) {
  std::vector<unsigned char> all(std::max(sizeof(Struct), size) + 64);
  value.struct_size = size;
  std::memcpy(all.data(), &value, sizeof value);
  return heap_bytes(all.data(), std::max(size, sizeof size));
}

specverify_edge_options device() {
  specverify_edge_options made = specverify_edge_defaults();
  made.vocab_size = c_vocab_size;
  made.secret[0] = 1;
  return made;
}
specverify_cloud_options service() {
  specverify_cloud_options made = specverify_cloud_defaults();
  made.vocab_size = c_vocab_size;
  made.secret[0] = 2;
  made.salt = 5;
  return made;
}

specverify_status create_with(const specverify_edge_options& options, std::size_t size) {
  const specverify_system system = specverify_system_named("k-sqs");
  const heap_bytes given = sized(options, size);
  specverify_edge* edge = nullptr;
  const specverify_status why = specverify_edge_create(given.as<specverify_edge_options>(), &system, nullptr, &edge);
  specverify_edge_destroy(edge);
  return why;
}
specverify_status create(const specverify_edge_options& options) { return create_with(options, sizeof options); }

//! Holds the elements of an array, one byte behind an aligned address.
template <class Element>
struct shifted {
  explicit shifted(const std::vector<Element>& values) : block(values.data(), values.size() * sizeof(Element), 1) {}
  [[nodiscard]] const Element* data() const { return block.template as<Element>(); }
  heap_bytes block;
};

//! Takes all outputs of an edge. The cloud receives the messages.
void drain(specverify_edge* edge, specverify_cloud* cloud) {
  specverify_output out{};
  do {
    out.struct_size = sizeof out;
    REQUIRE(specverify_edge_next(edge, &out).code == 0);
    if (out.action == SPECVERIFY_SEND) CHECK(specverify_cloud_receive(cloud, out.bytes, out.bytes_size, 0).code == 0);
  } while (out.action != SPECVERIFY_NONE);
}

struct started_edge {
  started_edge() {
    const specverify_edge_options options = device();
    const specverify_system system = specverify_system_named("k-sqs");
    REQUIRE(specverify_edge_create(&options, &system, nullptr, &edge).code == 0);
  }
  ~started_edge() { specverify_edge_destroy(edge); }
  started_edge(const started_edge&) = delete;
  started_edge& operator=(const started_edge&) = delete;
  specverify_edge* edge = nullptr;
};

}  // namespace

TEST_CASE("c: a struct_size that cuts a member is refused by name") {
  specverify_transform transform = specverify_transform_defaults();
  specverify_edge_options options = device();
  options.transform = &transform;
  const std::size_t pointer = offsetof(specverify_edge_options, transform);
  CHECK(create_with(options, 28).code == struct_size_wrong);  // inside the secret
  CHECK(create_with(options, 32).code == struct_size_wrong);
  CHECK(create_with(options, pointer + 4).code == struct_size_wrong);  // half a pointer
  CHECK(create_with(options, 0).code == struct_size_wrong);
  CHECK(create_with(options, 9999).code == struct_size_wrong);
  for (std::size_t size = 1; size < sizeof options + 64; ++size) {
    const specverify_status why = create_with(options, size);
    const bool whole = size % alignof(specverify_edge_options) == 0 && size != 32;
    CHECK((why.code == struct_size_wrong) == !whole);
    if (!whole) CHECK(why.where == size);
  }
  const started_edge one;
  for (const std::size_t size : {12u, 20u, 1u}) {
    const heap_bytes room = sized(specverify_statistics{}, size);
    CHECK(specverify_edge_statistics(one.edge, room.as<specverify_statistics>()).code == struct_size_wrong);
  }
}

TEST_CASE("c: a program of another ABI is refused by name") {
  for (const std::uint32_t other : {0u, SPECVERIFY_ABI - 1, SPECVERIFY_ABI + 1}) {
    specverify_edge_options options = device();
    options.abi = other;
    CHECK(create(options).code == abi_mismatch);
    CHECK(create(options).where == SPECVERIFY_ABI);
    specverify_cloud_options made = specverify_cloud_defaults();
    CHECK(specverify_cloud_options_init(&made, sizeof made, other).code == abi_mismatch);
    specverify_cloud* cloud = nullptr;
    CHECK(specverify_cloud_create(&made, nullptr, nullptr, &cloud).code == abi_mismatch);
  }
}

TEST_CASE("c: an array that is not aligned is refused by name") {
  const shifted<std::int32_t> ids({1, 2});
  const shifted<float> floats(std::vector<float>(c_vocab_size, 0.5f));
  const shifted<std::uint64_t> words({~std::uint64_t{0}});
  const specverify_space none{nullptr, 0};
  specverify_edge_options options = device();
  options.stop_tokens = ids.data(), options.stop_count = 2;
  CHECK(create(options).code == misaligned);
  CHECK(create(options).where == offsetof(specverify_edge_options, stop_tokens));

  started_edge one;
  CHECK(specverify_edge_start(one.edge, ids.data(), 2, 0).code == misaligned);
  CHECK(specverify_edge_state(one.edge) == SPECVERIFY_EDGE_IDLE);

  // A row with bias and mask; without a session, and in one.
  const specverify_system system = specverify_system_named("k-sqs");
  const std::vector<float> aligned(c_vocab_size, 0.5f);
  const specverify_row good = specverify_logits(aligned.data(), c_vocab_size);
  const specverify_row row = specverify_logits(floats.data(), c_vocab_size);
  std::vector<unsigned char> space(1 << 20);
  const specverify_space room{space.data(), space.size()};
  specverify_law law{};
  CHECK(specverify_draft_law(&system, &good, nullptr, room, &law).code == 0);
  CHECK(specverify_draft_law(&system, &row, nullptr, room, &law).code == misaligned);
  specverify_row half = row;
  half.scalar = SPECVERIFY_FLOAT16;
  CHECK(specverify_draft_law(&system, &half, nullptr, room, &law).code == misaligned);
  specverify_transform transform = specverify_transform_defaults();
  transform.mask_words = words.data(), transform.mask_word_count = 1;
  CHECK(specverify_draft_law(&system, &good, &transform, room, &law).code == misaligned);
  transform = specverify_transform_defaults();
  transform.bias_ids = ids.data(), transform.bias_values = aligned.data(), transform.bias_count = 2;
  CHECK(specverify_draft_law(&system, &good, &transform, room, &law).code == misaligned);
  law = {ids.data(), reinterpret_cast<const std::uint32_t*>(aligned.data()), 2, 0, 2, c_vocab_size};
  std::int32_t token = 0;
  CHECK(specverify_draw(&law, {{1, 2}}, 0, 0, &token).code == misaligned);
  const shifted<specverify_draft> drafts({specverify_draft{}});
  const specverify_round round = specverify_round_defaults();
  std::size_t size = 0;
  specverify_round at = round;
  at.vocab_size = c_vocab_size;
  CHECK(specverify_encode(&at, &system, drafts.data(), 1, nullptr, &size).code == misaligned);
  const shifted<specverify_row> rows({good, good});
  specverify_target target = specverify_target_defaults();
  target.rows = rows.data(), target.row_count = 2;
  specverify_verdict verdict{};
  verdict.struct_size = sizeof verdict;
  CHECK(specverify_verify(&at, nullptr, 0, &target, none, &verdict).code == misaligned);
}

TEST_CASE("c: a session names a row or a state that is not aligned") {
  const std::vector<float> aligned(c_vocab_size, 0.5f);
  const shifted<float> floats(aligned);
  for (const bool is_row : {true, false}) {
    specverify_edge_options options = device();
    const specverify_setting states{"hidden_size", c_hidden_size};
    const specverify_system system = specverify_system_with(is_row ? "k-sqs" : "wisv", &states, is_row ? 0 : 1);
    const specverify_cloud_options its_service = service();
    specverify_edge* edge = nullptr;
    specverify_cloud* cloud = nullptr;
    REQUIRE(specverify_edge_create(&options, &system, nullptr, &edge).code == 0);
    REQUIRE(specverify_cloud_create(&its_service, &system, nullptr, &cloud).code == 0);
    const std::int32_t prompt = 1;
    REQUIRE(specverify_edge_start(edge, &prompt, 1, 0).code == 0);
    specverify_output out{};
    // Until the edge wants a row.
    for (int i = 0; i < 40 && specverify_edge_wants_rows(edge) == 0; ++i) {
      out.struct_size = sizeof out;
      REQUIRE(specverify_edge_next(edge, &out).code == 0);
      if (out.action == SPECVERIFY_SEND) (void)specverify_cloud_receive(cloud, out.bytes, out.bytes_size, 0);
      out.struct_size = sizeof out;
      REQUIRE(specverify_cloud_next(cloud, &out).code == 0);
      if (out.action == SPECVERIFY_SEND) (void)specverify_edge_receive(edge, out.bytes, out.bytes_size, 0);
    }
    REQUIRE(specverify_edge_wants_rows(edge) == 1);
    drain(edge, cloud);
    const specverify_row row = specverify_logits(is_row ? floats.data() : aligned.data(), c_vocab_size);
    const specverify_extras extras{floats.data(), c_hidden_size, nullptr, 0};
    CHECK(specverify_edge_supply_row(edge, &row, nullptr, is_row ? nullptr : &extras, 0).code == misaligned);
    CHECK(specverify_edge_state(edge) == SPECVERIFY_EDGE_FAILED);
    specverify_edge_destroy(edge);
    specverify_cloud_destroy(cloud);
  }
}

TEST_CASE("c: run_pair takes the outputs that wait at the cloud first") {
  const specverify_cloud_options its_service = service();
  const specverify_system system = specverify_system_named("k-sqs");
  specverify_edge_options options = device();
  options.token_budget = 4;
  specverify_edge* edge = nullptr;
  specverify_cloud* cloud = nullptr;
  REQUIRE(specverify_edge_create(&options, &system, nullptr, &edge).code == 0);
  REQUIRE(specverify_cloud_create(&its_service, &system, nullptr, &cloud).code == 0);
  const std::int32_t prompt = 1;
  REQUIRE(specverify_edge_start(edge, &prompt, 1, 0).code == 0);
  drain(edge, cloud);
  static const std::vector<float> flat(c_vocab_size, 1.0f);
  const specverify_model model = specverify_model_of(
      nullptr, [](void*, std::uint32_t, const std::int32_t*, std::size_t, std::uint32_t) { return 0; },
      [](void*, std::uint32_t, specverify_row* given) {
        *given = specverify_logits(flat.data(), c_vocab_size);
        return 0;
      },
      [](void*, std::uint32_t) { return 0; });
  CHECK(specverify_run_pair(edge, &model, cloud, &model, nullptr).code == 0);
  std::size_t count = 0;
  (void)specverify_edge_text(edge, &count, nullptr);
  CHECK(count == 5);
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
}

TEST_CASE("T29 fuzz replay: mistakes of a host in C") {
  if (writes_corpus()) write_seeds();
  specverify_test::dice dice(29);
  std::size_t whole = 0, files = 0;
  for (const auto& [name, input] : corpus_of("c_interface")) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(input.data());
    const bytes content(first, first + input.size());
    whole += c_input(content) ? 1u : 0u;
    ++files;
    for (int i = 0; i < 40 && content.size() > 2; ++i) {
      bytes changed = content;
      changed[1] = static_cast<std::uint8_t>(dice.next());
      for (std::uint64_t n = dice.below(6); n > 0; --n)
        changed[2 + dice.below(static_cast<std::uint32_t>(changed.size() - 2))] =
            static_cast<std::uint8_t>(dice.next());
      c_input(changed);
    }
  }
  CHECK(files >= 2 * c_systems.size());
  CHECK(whole >= c_systems.size());
}
#endif
