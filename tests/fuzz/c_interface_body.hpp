// SPDX-License-Identifier: Apache-2.0
//! The body of the fuzz target of the C interface: a host that makes every mistake that the library can see. Sizes of
//! structs, options, systems, messages, journals, rows, laws and statuses are any bytes. A pointer is null, or holds as
//! many bytes as the host says, at any address. Each struct and array ends at the end of a heap block, so that a
//! sanitizer sees a read behind it.
//! Demanded: every status has words; a session that is refused is null; a text is no longer than the limit; a session
//! returns all its memory. An input: the system, the kinds of mistakes, then the numbers that the host draws. Include
//! "fuzz/c_library.cpp" first.
#ifndef SPECVERIFY_TESTS_FUZZ_C_INTERFACE_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_C_INTERFACE_BODY_HPP

#include <specverify_c.h>
#include <specverify_c_core.h>
#include <specverify/codec/message.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace specverify_fuzz {

inline void demand_c(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

//! Kinds of mistakes.
inline constexpr unsigned wrong_options = 1, wrong_sizes = 2, wrong_rows = 4, wrong_messages = 8, wrong_engine = 16,
                          little_memory = 32, wrong_arrays = 64;

inline constexpr std::array<const char*, 12> c_systems = {
    "qs",     "k-sqs",         "c-sqs",          "hlm",    "u-hlm", "shared-noise", "ui",
    "cu-hlm", "cu-hlm-online", "compressed-hlm", "greedy", "wisv"};
inline constexpr std::array<const char*, 6> c_settings = {"support_size", "resolution", "max_draft_length",
                                                          "threshold",    "nothing",    nullptr};
inline constexpr std::uint32_t c_vocab_size = 24, c_hidden_size = 3;

//! Holds `size` bytes, `shift` bytes behind the beginning of a block and up to the block's end.
class heap_bytes {
 public:
  heap_bytes(const void* from, std::size_t size, std::size_t shift = 0)
      : block_(std::malloc(shift + size + (shift + size == 0 ? 1 : 0)), std::free), shift_(shift) {
    if (size != 0) std::memcpy(at(), from, size);
  }
  [[nodiscard]] unsigned char* at() const { return static_cast<unsigned char*>(block_.get()) + shift_; }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(static_cast<void*>(at()));
  }

 private:
  std::unique_ptr<void, void (*)(void*)> block_;
  std::size_t shift_;
};

class c_host {
 public:
  explicit c_host(std::span<const std::uint8_t> input) : left_(input) {
    system_ = u8() % c_systems.size();
    mistakes_ = u8();
  }

  //! Returns true if the text was written to the end.
  bool run() {
    specverify_edge* const edge = make_edge();
    specverify_cloud* const cloud = make_cloud();
    edge_ = edge, cloud_ = cloud;
    if (edge_ != nullptr) start();
    for (int i = 0; i < 48 && !left_.empty(); ++i) step();
    play_core();
    // Whatever happened, the text must go on without mistakes.
    mistakes_ = 0;
    const bool pair = edge_ != nullptr && cloud_ != nullptr;
    if (pair) (void)said(specverify_run_pair(edge_, host(drafter_), cloud_, host(target_), nullptr));
    const bool whole = pair && specverify_edge_state(edge_) == SPECVERIFY_EDGE_FINISHED;
    specverify_edge_destroy(edge_);
    specverify_cloud_destroy(cloud_);
    demand_c(live_ == 0, "memory that does not come back");
    return whole;
  }

 private:
  struct engine {
    c_host* host;
    std::uint32_t noise;
    std::vector<std::int32_t> last{};
    std::vector<heap_bytes> kept{};
  };

  // ---- Numbers of the input, then zeros

  std::uint8_t u8() {
    if (left_.empty()) return 0;
    const std::uint8_t first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }
  std::uint32_t u16() { return u8() | static_cast<std::uint32_t>(u8()) << 8; }
  std::uint32_t u32() { return u16() | u16() << 16; }
  std::uint32_t below(std::uint32_t bound) { return bound <= 256 ? u8() % bound : u16() % bound; }
  //! Returns true if it is time for a mistake of a kind.
  bool wrong(unsigned kind, std::uint32_t one_of = 8) { return (mistakes_ & kind) != 0 && below(one_of) == 0; }
  std::uint64_t any_number() {
    constexpr std::uint64_t edges[] = {0, 1, 2, 7, 255, 256, 65535, 65536, 0x7fffffff, 0xffffffff, ~std::uint64_t{0}};
    const std::uint32_t chosen = below(16);
    return chosen < std::size(edges) ? edges[chosen] : u32() | static_cast<std::uint64_t>(u32()) << 32;
  }
  double any_double() {
    constexpr double edges[] = {0, 1, 0.5, -1, 1e300, 1e-300};
    const std::uint32_t chosen = below(9);
    if (chosen < std::size(edges)) return edges[chosen];
    return chosen == 6   ? std::numeric_limits<double>::quiet_NaN()
           : chosen == 7 ? std::numeric_limits<double>::infinity()
                         : static_cast<double>(u16()) / 16384;
  }
  //! Returns what a callback may return: any number.
  std::int32_t any_answer() { return static_cast<std::int32_t>(below(2) == 0 ? u16() : u32()); }
  specverify_status any_status() {
    return {static_cast<std::uint16_t>(u16()), static_cast<std::uint16_t>(u8()), u32()};
  }

  // ---- Arguments of a call

  //! Scribbles over numbers of a struct. `pointers`: offsets of members that stay.
  template <class Struct>
  void scribble(Struct& in, std::initializer_list<std::size_t> pointers, unsigned kind = wrong_options) {
    if (!wrong(kind, 2)) return;
    auto* const bytes = reinterpret_cast<unsigned char*>(&in);
    for (std::uint32_t n = 1 + below(3); n > 0; --n) {
      const std::size_t at = sizeof(std::size_t) + below(sizeof(Struct) - sizeof(std::size_t)) / 4 * 4;
      bool stays = false;
      for (const std::size_t pointer : pointers) stays = stays || (at >= pointer && at < pointer + sizeof(void*));
      const auto number = static_cast<std::uint32_t>(any_number());
      if (!stays && at + 4 <= sizeof(Struct)) std::memcpy(bytes + at, &number, 4);
    }
  }
  //! Makes a struct with any size that a caller may write into it.
  template <class Struct>
  Struct* given(Struct value) {
    std::size_t size = sizeof(Struct);
    if (wrong(wrong_sizes, 3)) {
      const std::uint32_t how = below(4);
      size = how == 0   ? below(sizeof(Struct) + 1)
             : how == 1 ? sizeof(Struct) + below(64)
             : how == 2 ? below(10000)
                        : any_number();
    }
    // Beyond any struct, nothing behind the size counts.
    const std::size_t held = size > sizeof(Struct) + 4096 ? sizeof(Struct) : std::max(size, sizeof(std::size_t));
    std::vector<unsigned char> bytes(held);
    value.struct_size = size;
    std::memcpy(bytes.data(), &value, std::min(held, sizeof(Struct)));
    if (held > sizeof(Struct) && wrong(wrong_sizes, 2))
      bytes[sizeof(Struct) + below(static_cast<std::uint32_t>(held - sizeof(Struct)))] = u8();
    return keep(bytes.data(), held, wrong(wrong_arrays) ? below(8) : 0).template as<Struct>();
  }
  heap_bytes& keep(const void* from, std::size_t size, std::size_t shift) {
    return kept_.emplace_back(from, size, shift);
  }
  template <class Element>
  const Element* array(const std::vector<Element>& values) {
    if (wrong(wrong_arrays) && values.empty()) return nullptr;
    const std::size_t shift = wrong(wrong_arrays) ? below(alignof(Element) * 2) : 0;
    return keep(values.data(), values.size() * sizeof(Element), shift).template as<Element>();
  }
  //! Returns null with a count, or the array.
  template <class Element>
  const Element* array_or_none(const std::vector<Element>& values) {
    return wrong(wrong_arrays, 16) ? nullptr : array(values);
  }
  std::vector<std::int32_t> tokens(std::uint32_t most) {
    std::vector<std::int32_t> made(below(most + 1));
    for (std::int32_t& token : made)
      token = static_cast<std::int32_t>(wrong(wrong_options) ? u32() : u8() % c_vocab_size);
    return made;
  }

  const specverify_transform* transform() {
    if (!wrong(wrong_rows, 2)) return nullptr;
    specverify_transform made = specverify_transform_defaults();
    if (below(2) == 0) made.temperature = any_double();
    if (below(2) == 0) made.top_p = any_double();
    if (below(2) == 0) made.min_p = any_double();
    made.top_k = below(3) == 0 ? u32() : below(8);
    made.truncation_order = below(4);
    if (below(2) == 0) {
      std::vector<std::int32_t> ids;
      std::vector<float> values;
      for (std::uint32_t n = below(4); n > 0; --n) {
        ids.push_back(
            static_cast<std::int32_t>(ids.empty() ? below(8) : static_cast<std::uint32_t>(ids.back()) + below(4)));
        values.push_back(static_cast<float>(any_double()));
      }
      made.bias_ids = array_or_none(ids), made.bias_values = array_or_none(values), made.bias_count = ids.size();
    }
    if (below(2) == 0) {
      std::vector<std::uint64_t> words(below(3));
      for (std::uint64_t& word : words) word = any_number();
      made.mask_words = array_or_none(words), made.mask_word_count = words.size();
    }
    scribble(made,
             {offsetof(specverify_transform, bias_ids), offsetof(specverify_transform, bias_values),
              offsetof(specverify_transform, bias_count), offsetof(specverify_transform, mask_words),
              offsetof(specverify_transform, mask_word_count)},
             wrong_rows);
    return given(made);
  }

  //! Makes a row of the engine, or a row that a host may take for one. `from` keeps the numbers alive.
  specverify_row make_row(std::vector<heap_bytes>& from, std::uint32_t place) {
    std::uint32_t size = c_vocab_size, stride = 1, scalar = SPECVERIFY_FLOAT, shift = 0;
    if (wrong(wrong_rows)) {
      size = below(40), stride = below(3), scalar = below(4);
      if (wrong(wrong_arrays, 2)) shift = below(8);
    }
    const std::size_t each = scalar == SPECVERIFY_FLOAT ? sizeof(float) : sizeof(std::uint16_t);
    const std::size_t count = size == 0 ? 0 : std::size_t{size - 1} * stride + 1;
    std::vector<unsigned char> bytes(each * count);
    for (std::size_t i = 0; i < count; ++i) {
      float value = static_cast<float>((place * 7 + i * 13 + (place * i) % 11) % 17) / 3;
      if (wrong(wrong_rows, 32)) value = static_cast<float>(any_double());
      std::memcpy(bytes.data() + i * each, &value, each);
    }
    specverify_row made{};
    made.data = wrong(wrong_rows, 32) ? nullptr : from.emplace_back(bytes.data(), bytes.size(), shift).as<void>();
    made.size = size, made.valid_size = wrong(wrong_rows, 16) ? u32() : size, made.stride = stride;
    made.scalar = static_cast<std::uint8_t>(scalar);
    made.probabilities = wrong(wrong_rows) ? u8() : std::uint8_t{0};
    return made;
  }

  // ---- Sessions

  specverify_system system() {
    specverify_system made = specverify_system_named(c_systems[system_]);
    settings_.clear();
    if (std::strcmp(made.name, "c-sqs") == 0) settings_.push_back({"support_size", c_vocab_size});
    if (std::strcmp(made.name, "wisv") == 0) settings_.push_back({"hidden_size", c_hidden_size});
    if (wrong(wrong_options, 8)) settings_.push_back({c_settings[below(c_settings.size())], any_double()});
    made.settings = settings_.data(), made.setting_count = static_cast<std::uint32_t>(settings_.size());
    scribble(made, {offsetof(specverify_system, name), offsetof(specverify_system, settings),
                    offsetof(specverify_system, setting_count)});
    if (wrong(wrong_options, 16)) made.name = below(2) == 0 ? nullptr : "none";
    return made;
  }
  static void* allocate(void* self, std::size_t size, std::size_t alignment) {
    c_host& host = *static_cast<c_host*>(self);
    if (host.wrong(little_memory, 24) || size > (1u << 24)) return nullptr;
    demand_c(alignment != 0 && (alignment & (alignment - 1)) == 0, "no alignment");
    host.live_ += size;
    const std::size_t least = std::max(alignment, sizeof(void*));
    return std::aligned_alloc(least, (size + least - 1) / least * least);
  }
  static void deallocate(void* self, void* memory, std::size_t size, std::size_t) {
    static_cast<c_host*>(self)->live_ -= size;
    std::free(memory);
  }
  const specverify_allocator* allocator() { return given(specverify_allocator{0, this, allocate, deallocate}); }

  specverify_status said(specverify_status why) {
    char words[256];
    demand_c(specverify_message(why, words, sizeof words).code == 0, "a status without words");
    return why;
  }
  template <class Options, class Session>
  Session* made(specverify_status (*create)(const Options*, const specverify_system*, const specverify_allocator*,
                                            Session**),
                const Options& options) {
    Session* session = nullptr;
    const specverify_status why = said(create(given(options), given(system()), allocator(), &session));
    demand_c((why.code == 0) == (session != nullptr), "a session that is refused, and there");
    return session;
  }
  specverify_edge* make_edge() {
    specverify_edge_options options = specverify_edge_defaults();
    options.vocab_size = c_vocab_size;
    options.token_budget = 12;
    options.max_text_length = edge_limit_;
    options.secret[0] = 1;
    options.session_id = 9;
    options.retry_timeout = below(3) * 1000;
    const std::vector<std::int32_t> stops = (mistakes_ & wrong_options) != 0 ? tokens(3) : std::vector<std::int32_t>{};
    options.stop_tokens = array_or_none(stops), options.stop_count = stops.size();
    options.transform = wrong(wrong_options) ? transform() : nullptr;
    scribble(options, {offsetof(specverify_edge_options, transform), offsetof(specverify_edge_options, stop_tokens),
                       offsetof(specverify_edge_options, stop_count),
                       offsetof(specverify_edge_options, max_text_length), offsetof(specverify_edge_options, prior)});
    return made(specverify_edge_create, options);
  }
  specverify_cloud* make_cloud() {
    specverify_cloud_options options = specverify_cloud_defaults();
    options.vocab_size = c_vocab_size;
    options.salt = 5;
    options.secret[0] = 2;
    const std::vector<std::int32_t> stops = (mistakes_ & wrong_options) != 0 ? tokens(3) : std::vector<std::int32_t>{};
    options.stop_tokens = array_or_none(stops), options.stop_count = stops.size();
    options.transform = wrong(wrong_options) ? transform() : nullptr;
    scribble(options, {offsetof(specverify_cloud_options, transform), offsetof(specverify_cloud_options, stop_tokens),
                       offsetof(specverify_cloud_options, stop_count), offsetof(specverify_cloud_options, priors),
                       offsetof(specverify_cloud_options, prior_count)});
    return made(specverify_cloud_create, options);
  }
  void start() {
    const std::vector<std::int32_t> prompt =
        (mistakes_ & wrong_options) != 0 ? tokens(5) : std::vector<std::int32_t>{1, 2};
    (void)said(specverify_edge_start(edge_, array_or_none(prompt), prompt.size(), now_));
  }

  // ---- Callbacks

  static std::int32_t feed(void* self, std::uint32_t, const std::int32_t* tokens, std::size_t count,
                           std::uint32_t rows) {
    engine& me = *static_cast<engine*>(self);
    demand_c(rows <= count, "more rows than tokens");
    me.kept.clear();
    me.last.assign(tokens + (count - rows), tokens + count);
    return me.host->wrong(wrong_engine, 12) ? me.host->any_answer() : 0;
  }
  static std::int32_t row(void* self, std::uint32_t index, specverify_row* given) {
    engine& me = *static_cast<engine*>(self);
    demand_c(index < me.last.size(), "a row that was not wanted");
    *given = me.host->make_row(me.kept, static_cast<std::uint32_t>(me.last[index]) + me.noise);
    return me.host->wrong(wrong_engine, 24) ? me.host->any_answer() : 0;
  }
  static std::int32_t move_to(void* self, std::uint32_t) {
    engine& me = *static_cast<engine*>(self);
    return me.host->wrong(wrong_engine, 12) ? me.host->any_answer() : 0;
  }
  static std::int32_t change(void* self, std::uint32_t, specverify_transform* changed) {
    c_host& host = *static_cast<engine*>(self)->host;
    if (const specverify_transform* const other = host.transform(); other != nullptr) {
      std::size_t size = 0;
      std::memcpy(&size, other, sizeof size);
      std::memcpy(static_cast<void*>(changed), other, std::min(size, sizeof *changed));
    }
    return host.wrong(wrong_engine, 24) ? host.any_answer() : 0;
  }
  static std::int32_t add_extras(void* self, std::uint32_t, specverify_extras* extras) {
    engine& me = *static_cast<engine*>(self);
    c_host& host = *me.host;
    const auto floats = [&](std::uint32_t usual) {
      std::vector<float> made(host.wrong(wrong_rows) ? host.below(9) : usual);
      for (float& one : made)
        one = host.wrong(wrong_rows) ? static_cast<float>(host.any_double()) : 1.0f / static_cast<float>(made.size());
      return made;
    };
    std::size_t length = 0;
    if (host.edge_ != nullptr) (void)specverify_edge_text(host.edge_, &length, nullptr);
    const std::vector<float> hidden = floats(c_hidden_size), attention = floats(static_cast<std::uint32_t>(length));
    extras->hidden = host.array_or_none(hidden), extras->hidden_count = hidden.size();
    extras->attention = host.array_or_none(attention), extras->attention_count = attention.size();
    return host.wrong(wrong_engine, 24) ? host.any_answer() : 0;
  }
  static std::int32_t score(void* self, const specverify_output* asked, double* out) {
    c_host& host = *static_cast<engine*>(self)->host;
    for (std::uint32_t i = 0; i < asked->rows; ++i) out[i] = host.wrong(wrong_engine) ? host.any_double() : 0.75;
    return host.wrong(wrong_engine, 12) ? host.any_answer() : 0;
  }
  static std::int32_t sample(void* self, std::uint32_t index, std::int32_t* given) {
    c_host& host = *static_cast<engine*>(self)->host;
    *given = host.any_token(index);
    return host.wrong(wrong_engine, 24) ? host.any_answer() : 0;
  }
  const specverify_model* host(engine& self) {
    specverify_model made = specverify_model_of(&self, feed, row, move_to);
    made.keep_from = wrong(wrong_options) ? move_to : nullptr;
    made.transform = (mistakes_ & wrong_rows) != 0 ? change : nullptr;
    made.extras = add_extras, made.scores = score, made.token = sample;
    if (wrong(wrong_options, 16)) made.row = nullptr;
    return given(made);
  }

  using messages = std::deque<std::vector<unsigned char>>;
  static std::int32_t hear_edge(void* self, const specverify_output* out) {
    c_host& host = *static_cast<c_host*>(self);
    return host.take(*out, host.up_, host.edge_journal_);
  }
  static std::int32_t hear_cloud(void* self, const specverify_output* out) {
    c_host& host = *static_cast<c_host*>(self);
    return host.take(*out, host.down_, host.cloud_journal_);
  }
  std::int32_t take(const specverify_output& out, messages& way, std::vector<unsigned char>& journal) {
    const auto* const bytes = static_cast<const unsigned char*>(out.bytes);
    if (out.action == SPECVERIFY_SEND) way.emplace_back(bytes, bytes + out.bytes_size);
    if (out.action == SPECVERIFY_JOURNAL) {
      if (out.replaces) journal.clear();
      journal.insert(journal.end(), bytes, bytes + out.bytes_size);
    }
    for (std::size_t i = 0; i < out.token_count; ++i)
      demand_c(out.tokens[i] >= 0 && out.tokens[i] < (1 << 24), "a token outside every vocabulary");
    return wrong(wrong_engine, 24) ? any_answer() : 0;
  }
  const specverify_observer* ears(specverify_hear* hear) {
    return wrong(wrong_options, 16) ? nullptr : given(specverify_observer{0, this, hear});
  }

  static std::int32_t link_send(void* self, const void* message, std::size_t size) {
    c_host& host = *static_cast<c_host*>(self);
    const auto* const bytes = static_cast<const unsigned char*>(message);
    (host.edge_side_ ? host.up_ : host.down_).emplace_back(bytes, bytes + size);
    return 0;
  }
  static std::int32_t link_receive(void* self, std::uint64_t, const void** message, std::size_t* size) {
    c_host& host = *static_cast<c_host*>(self);
    messages& way = host.edge_side_ ? host.down_ : host.up_;
    if (way.empty()) return specverify_errc_link_lost;
    host.heard_ = way.front();
    way.pop_front();
    *message = host.heard_.data(), *size = host.heard_.size();
    return 0;
  }
  static std::uint64_t link_now(void* self) { return static_cast<c_host*>(self)->now_ += 10; }

  // ---- One step of the host

  std::vector<unsigned char> damaged(std::vector<unsigned char> bytes) {
    if (!wrong(wrong_messages, 3) || bytes.empty()) return bytes;
    for (std::uint32_t n = 1 + below(3); n > 0; --n) bytes[below(static_cast<std::uint32_t>(bytes.size()))] = u8();
    if (below(3) == 0) bytes.resize(below(static_cast<std::uint32_t>(bytes.size()) + 9));
    namespace detail = specverify::detail;
    if (bytes.size() >= detail::terms_at && (bytes[0] & 15u) == 1 && below(2) == 0) {  // a hello with a good checksum
      const auto hello = std::as_writable_bytes(std::span(bytes));
      detail::end_headed(specverify::message_kind::hello, detail::load_head(hello, detail::hello_head_at), hello.size(),
                         hello);
    }
    return bytes;
  }
  template <class Receive, class Session>
  void deliver(messages& way, Session* to, Receive receive) {
    if (way.empty()) return;
    const std::vector<unsigned char> message = damaged(way.front());
    if (!wrong(wrong_messages, 6)) way.pop_front();
    (void)said(receive(to, array(message), message.size(), now_));
  }
  template <class Session, class Next>
  void drain(Session* session, Next next, messages& way, std::vector<unsigned char>& journal) {
    for (int i = 0; i < 24; ++i) {
      specverify_output* const out = given(specverify_output{});
      const specverify_status why = said(next(session, out));
      std::size_t size = 0;
      std::memcpy(&size, out, sizeof size);
      if (why.code != 0 || size < sizeof *out) return;
      specverify_output shown;
      std::memcpy(&shown, out, sizeof shown);
      if (shown.action == SPECVERIFY_NONE) return;
      if (shown.action == SPECVERIFY_EVALUATE) wanted_ = std::min<std::uint32_t>(shown.rows, 16);
      if (shown.action == SPECVERIFY_SCORE) wanted_ = std::min<std::uint32_t>(shown.rows, 16);
      (void)take(shown, way, journal);
    }
  }
  void look() {
    (void)said(specverify_edge_statistics(edge_, given(specverify_statistics{})));
    (void)said(specverify_edge_last_round(edge_, given(specverify_edge_round{})));
    (void)said(specverify_edge_transform(edge_, given(specverify_transform{})));
    (void)said(specverify_cloud_statistics(cloud_, given(specverify_statistics{})));
    (void)said(specverify_cloud_last_round(cloud_, given(specverify_cloud_round{})));
    (void)said(specverify_cloud_transform(cloud_, given(specverify_transform{})));
    (void)said(specverify_edge_refusal(edge_)), (void)said(specverify_cloud_refusal(cloud_));
    std::size_t count = 0, prompt = 0;
    const std::int32_t* const text = specverify_edge_text(edge_, &count, &prompt);
    demand_c(count <= edge_limit_ && (text != nullptr || count == 0), "a text beyond its limit");
    (void)specverify_edge_deadline(edge_), (void)specverify_edge_keep_from(edge_),
        (void)specverify_edge_wants_rows(edge_);
    (void)specverify_cloud_keep_from(cloud_), (void)specverify_cloud_draft_position(cloud_);
    (void)specverify_cloud_text(cloud_, &count, nullptr), (void)specverify_cloud_reported_channel(cloud_);
    (void)specverify_cloud_session_id(cloud_), (void)specverify_edge_agreed_id_code(edge_);
    (void)specverify_cloud_agreed_id_code(cloud_);
    demand_c((specverify_cloud_noise_kind(cloud_) == 0) == (specverify_cloud_noise_key(cloud_) == 0),
             "a kind of noise without a key, or a key without a kind");
  }
  void restart_edge() {
    specverify_edge_destroy(edge_);
    edge_ = make_edge();
    const std::vector<unsigned char> journal = damaged(edge_journal_);
    std::size_t kept = 0;
    const specverify_status why = below(8) == 0
                                      ? specverify_edge_recover(edge_, u8(), now_)
                                      : specverify_edge_restore(edge_, array(journal), journal.size(), now_, &kept);
    demand_c(said(why).code != 0 || kept <= journal.size(), "more is kept than there is");
  }
  void restart_cloud() {
    specverify_cloud_destroy(cloud_);
    cloud_ = make_cloud();
    const std::vector<unsigned char> journal = damaged(cloud_journal_);
    (void)said(specverify_cloud_restore(cloud_, array(journal), journal.size(), nullptr));
  }
  void supply_edge() {
    std::vector<heap_bytes> rows;
    const specverify_row one = make_row(rows, u8());
    specverify_extras extras{};
    engine self{this, 0};
    if (below(2) == 0) (void)add_extras(&self, 0, &extras);
    (void)said(specverify_edge_supply_row(edge_, array(std::vector<specverify_row>{one}), transform(),
                                          below(2) == 0 ? &extras : nullptr, now_));
  }
  void supply_cloud() {
    std::vector<heap_bytes> data;
    std::vector<specverify_row> rows;
    for (std::uint32_t n = wrong(wrong_rows) ? below(12) : wanted_; n > 0; --n) rows.push_back(make_row(data, u8()));
    (void)said(specverify_cloud_supply_rows(cloud_, array_or_none(rows), rows.size(), nullptr, now_));
  }
  std::int32_t any_token(std::uint32_t place) { return wrong(wrong_rows) ? u8() * 64 - 64 : static_cast<int>(place); }
  void supply_tokens() {
    std::vector<std::int32_t> tokens(wrong(wrong_rows) ? below(12) : wanted_);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = any_token(static_cast<std::uint32_t>(i));
    (void)said(specverify_cloud_supply_tokens(cloud_, array_or_none(tokens), tokens.size(), now_));
  }
  void supply_scores() {
    if (cloud_ != nullptr && specverify_cloud_wants_rows(cloud_) != 0) return supply_tokens();
    std::vector<double> scores(wrong(wrong_engine) ? below(9) : wanted_);
    for (double& one : scores) one = wrong(wrong_engine) ? any_double() : 0.5;
    (void)said(specverify_cloud_supply_scores(cloud_, array_or_none(scores), scores.size(), now_));
  }
  void step() {
    now_ += u8();
    switch (below(18)) {
      case 0:
      case 1:
        return drain(edge_, specverify_edge_next, up_, edge_journal_);
      case 2:
      case 3:
        return drain(cloud_, specverify_cloud_next, down_, cloud_journal_);
      case 4:
      case 5:
        return deliver(up_, cloud_, specverify_cloud_receive);
      case 6:
      case 7:
        return deliver(down_, edge_, specverify_edge_receive);
      case 8:
        (void)said(specverify_edge_drive(edge_, host(drafter_), ears(hear_edge), now_));
        return;
      case 9:
        (void)said(specverify_cloud_drive(cloud_, host(target_), ears(hear_cloud), now_));
        return;
      case 10:
        return supply_edge();
      case 11:
        return below(3) == 0 ? supply_scores() : supply_cloud();
      case 12:
        return look();
      case 13:
        return restart_edge();
      case 14:
        return restart_cloud();
      case 15:
        return play_core();
      case 16:
        return drive_a_link();
      default:
        break;
    }
    const std::uint32_t what = below(9);
    if (what == 0) (void)said(specverify_edge_tick(edge_, now_ += u16()));
    if (what == 1) (void)said(specverify_edge_reconnect(edge_, now_));
    if (what == 2) (void)said(specverify_edge_disconnect(edge_, now_));
    if (what == 3 && (mistakes_ & wrong_engine) != 0) (void)said(specverify_edge_engine_failed(edge_, any_status()));
    if (what == 4 && (mistakes_ & wrong_engine) != 0) (void)said(specverify_cloud_engine_failed(cloud_, any_status()));
    const specverify_channel channel{static_cast<float>(any_double()), static_cast<float>(any_double()), 0, 0, 0};
    if (what == 5) (void)said(specverify_edge_report_channel(edge_, &channel));
    if (what == 6) start();
    if (what == 8) (void)said(specverify_edge_stop(edge_, wrong(wrong_engine) ? u32() : below(2) * 3, now_));
    if (what == 7 && edge_ != nullptr && cloud_ != nullptr)
      (void)said(specverify_run_pair(edge_, host(drafter_), cloud_, host(target_), ears(hear_edge)));
  }
  void drive_a_link() {
    specverify_link link{0, this, link_send, link_receive, link_now, nullptr};
    edge_side_ = below(2) == 0;
    if (edge_side_)
      (void)said(specverify_generate(edge_, host(drafter_), given(link), ears(hear_edge)));
    else
      (void)said(specverify_serve(cloud_, host(target_), given(link), ears(hear_cloud)));
  }

  // ---- Rounds without a session

  specverify_law make_law() {
    std::vector<std::int32_t> ids;
    std::vector<std::uint32_t> counts;
    std::uint32_t sum = 0;
    for (std::uint32_t n = 1 + below(4); n > 0; --n) {
      ids.push_back(
          static_cast<std::int32_t>(ids.empty() ? below(5) : static_cast<std::uint32_t>(ids.back()) + 1 + below(4)));
      counts.push_back(wrong(wrong_rows) ? u32() : 1 + below(60));
      sum += counts.back();
    }
    specverify_law made{array_or_none(ids), array_or_none(counts), static_cast<std::uint32_t>(ids.size()), 0, sum,
                        c_vocab_size};
    if (wrong(wrong_rows)) made.tail_count = u32();
    if (wrong(wrong_rows)) made.resolution = u32();
    if (wrong(wrong_rows)) made.vocab_size = static_cast<std::uint32_t>(any_number());
    return made;
  }
  //! Calls with no room, then with as much room as the call asked for; or with any.
  template <class Call>
  void with_room(Call call) {
    specverify_status why = said(call(specverify_space{nullptr, 0}));
    std::size_t size = why.where;
    if (why.code != specverify_errc_output_too_small || size > (1u << 22)) return;
    if (wrong(wrong_sizes)) size = below(256);
    std::vector<unsigned char> nothing(size);
    const heap_bytes room(nothing.data(), size, wrong(wrong_arrays) ? below(8) : 0);
    (void)said(call(specverify_space{room.at(), size}));
  }
  void play_core() {
    specverify_round round = specverify_round_defaults();
    round.vocab_size = c_vocab_size, round.round = 1, round.base_length = 3;
    scribble(round, {});
    specverify_system chosen = system();
    std::vector<heap_bytes> data;
    const specverify_row one = make_row(data, u8());
    specverify_law law = make_law();
    const specverify_key key{{u8(), u8()}};
    with_room(
        [&](specverify_space space) { return specverify_draft_law(given(chosen), &one, transform(), space, &law); });
    law = make_law();
    std::vector<specverify_draft> drafts;
    for (std::uint32_t n = below(4); n > 0; --n) {
      specverify_draft made{-1, make_law()};
      (void)said(specverify_draw(&made.law, key, n, 1, &made.token));
      if (wrong(wrong_rows)) made.token = static_cast<std::int32_t>(u32());
      drafts.push_back(made);
    }
    double bits = 0;
    (void)said(specverify_law_bits(given(chosen), &law, &bits));
    std::vector<unsigned char> message(300);
    std::size_t size = wrong(wrong_sizes) ? below(300) : message.size();
    message.resize(size);
    if (said(
            specverify_encode(given(round), given(chosen), array_or_none(drafts), drafts.size(), message.data(), &size))
            .code == 0) {
      message.resize(size);
      message = damaged(message);
    }
    std::array<specverify_draft, 4> read{};
    with_room([&](specverify_space space) {
      std::size_t count = below(5);
      return specverify_decode(given(round), given(chosen), {message.data(), message.size()}, space, read.data(),
                               &count);
    });
    specverify_target target = specverify_target_defaults();
    std::vector<specverify_row> rows;
    for (std::uint32_t n = wrong(wrong_rows) ? below(6) : static_cast<std::uint32_t>(drafts.size()) + 1; n > 0; --n)
      rows.push_back(make_row(data, u8()));
    const std::vector<std::int32_t> stops = tokens(2);
    target.key = key, target.rows = array_or_none(rows), target.row_count = rows.size(), target.transform = transform();
    target.stop_tokens = array_or_none(stops), target.stop_count = stops.size();
    scribble(target, {offsetof(specverify_target, rows), offsetof(specverify_target, row_count),
                      offsetof(specverify_target, transform), offsetof(specverify_target, stop_tokens),
                      offsetof(specverify_target, stop_count)});
    with_room([&](specverify_space space) {
      return specverify_verify(given(round), array_or_none(drafts), drafts.size(), given(target), space,
                               given(specverify_verdict{}));
    });
  }

  std::span<const std::uint8_t> left_;
  std::size_t system_ = 0;
  std::vector<specverify_setting> settings_;
  unsigned mistakes_ = 0;
  std::uint64_t now_ = 0;
  std::size_t live_ = 0;
  std::uint32_t edge_limit_ = 64, wanted_ = 0;
  bool edge_side_ = true;
  engine drafter_{this, 0}, target_{this, 3};
  specverify_edge* edge_ = nullptr;
  specverify_cloud* cloud_ = nullptr;
  messages up_{}, down_{};
  std::vector<unsigned char> edge_journal_{}, cloud_journal_{}, heard_{};
  std::deque<heap_bytes> kept_{};  // arguments of calls of this input
};

//! Returns true if the text of an input was written to the end.
inline bool c_input(std::span<const std::uint8_t> input) { return c_host(input).run(); }

}  // namespace specverify_fuzz

#endif
