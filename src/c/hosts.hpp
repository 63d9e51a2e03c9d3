// SPDX-License-Identifier: Apache-2.0
// Adapts a host's callbacks to the model, link and observer that `drive`, `generate` and `serve` take.
#ifndef SPECVERIFY_SRC_C_HOSTS_HPP
#define SPECVERIFY_SRC_C_HOSTS_HPP

#include "rows.hpp"

#include <specverify/host/host.hpp>

namespace specverify_c {

// Converts the number that a callback returned to a status.
[[nodiscard]] constexpr sv::status said(std::int32_t number) noexcept {
  if (number == 0) return {};
  const bool is_code = number > 0 && number <= 0xffff;
  return is_code ? refused(static_cast<sv::errc>(number))
                 : refused(sv::errc::engine_failed, static_cast<std::uint32_t>(number));
}

class c_model {
 public:
  explicit c_model(const specverify_model& from) noexcept : from_(from) {}

  // Returns the error that a callback returned for a row or for extras of the row (hidden state, attention). It is
  // reported in place of the session's own error, which would be less precise.
  [[nodiscard]] sv::status failed() const noexcept { return failed_; }

  sv::status feed(std::uint32_t position, std::span<const sv::token_id> tokens, std::uint32_t rows) {
    given_for_.reset();
    return said(from_.feed(from_.self, position, tokens.data(), tokens.size(), rows));
  }
  // Returns whether the model gives tokens in place of rows.
  [[nodiscard]] bool samples() const noexcept { return from_.row == nullptr; }
  sv::token_id token(std::uint32_t index) {
    sv::token_id given = sv::no_token;
    return note(from_.token(from_.self, index, &given)) ? given : sv::no_token;
  }
  any_row row(std::uint32_t index) {
    any_row made{};
    if (!note(from_.row(from_.self, index, &made.row))) made.row = {};
    return made;
  }
  sv::status truncate(std::uint32_t position) const { return said(from_.truncate(from_.self, position)); }
  sv::status keep_from(std::uint32_t position) const {
    return from_.keep_from == nullptr ? sv::status{} : said(from_.keep_from(from_.self, position));
  }
  sv::row_transform transform(std::uint32_t index, const sv::row_transform& base) {
    if (from_.transform == nullptr) return base;
    specverify_transform changed = to_c(base);
    const bool is_set = note(from_.transform(from_.self, index, &changed));
    const sv::result<sv::row_transform> made = is_set ? from_c(&changed) : failed_;
    if (failed_.ok()) failed_ = made.error();
    return made ? *made : base;
  }
  std::span<const float> hidden(std::uint32_t index) {
    ask_for_extras(index);
    return span_of(given_.hidden, given_.hidden_count);
  }
  std::span<const float> attention(std::uint32_t index) {
    ask_for_extras(index);
    return span_of(given_.attention, given_.attention_count);
  }
  sv::status scores(const sv::session_output& asked, std::span<double> out) const {
    const specverify_output shown = to_c(asked);
    return from_.scores == nullptr ? refused(sv::errc::unsupported, asked.position)
                                   : said(from_.scores(from_.self, &shown, out.data()));
  }

 private:
  [[nodiscard]] bool note(std::int32_t number) noexcept {
    const sv::status why = said(number);
    if (failed_.ok()) failed_ = why;
    return why.ok();
  }
  // Calls the callback once per row for both extras, because a host may copy them from a GPU.
  void ask_for_extras(std::uint32_t index) {
    if (given_for_ == index) return;
    given_ = {};
    if (from_.extras != nullptr && !note(from_.extras(from_.self, index, &given_))) given_ = {};
    given_for_ = index;
  }
  specverify_model from_;
  sv::status failed_{};
  specverify_extras given_{};
  std::optional<std::uint32_t> given_for_{};  // row whose extras the callback has supplied since the last feed
};

struct c_observer {
  specverify_observer to;
  sv::status operator()(const sv::session_output& out) const {
    const specverify_output shown = to_c(out);
    return to.on_output == nullptr ? sv::status{} : said(to.on_output(to.self, &shown));
  }
};

class c_link {
 public:
  static constexpr bool ordered_and_whole = true;  // the C interface requires this guarantee from a host

  explicit c_link(const specverify_link& from) noexcept : from_(from) {}

  sv::status send(std::span<const std::byte> message) {
    return lost_ = said(from_.send(from_.self, message.data(), message.size()));
  }
  sv::result<std::span<const std::byte>> receive(std::optional<sv::session_time> until) {
    const void* message = nullptr;
    std::size_t size = 0;
    lost_ = said(from_.receive(from_.self, until.value_or(SPECVERIFY_NO_DEADLINE), &message, &size));
    if (!lost_.ok()) return lost_;
    return bytes_of(message, size);
  }
  sv::session_time now() { return from_.now(from_.self); }
  sv::status reconnect(std::optional<sv::session_time> until) {
    if (from_.reconnect == nullptr) return lost_.ok() ? refused(sv::errc::link_lost) : lost_;
    return said(from_.reconnect(from_.self, until.value_or(SPECVERIFY_NO_DEADLINE)));
  }

 private:
  specverify_link from_;
  sv::status lost_{};
};

struct c_clock {
  sv::session_time time;
  [[nodiscard]] sv::session_time now() const noexcept { return time; }
};

// Returns a model. The target (`is_target`) may give tokens in place of rows. Errors: as for `taken`; null_span
// (`where` = offset of a callback that must not be null).
[[nodiscard]] inline sv::result<c_model> model_of(const specverify_model* given, bool is_target) noexcept {
  const auto set = taken(given);
  if (!set) return set.error();
  if (set->feed == nullptr) return refused(sv::errc::null_span, offsetof(specverify_model, feed));
  if (set->row == nullptr && !(is_target && set->token != nullptr))
    return refused(sv::errc::null_span, offsetof(specverify_model, row));
  if (set->truncate == nullptr) return refused(sv::errc::null_span, offsetof(specverify_model, truncate));
  return c_model(*set);
}
// Returns an observer; null gives an observer that ignores every output. Errors: as for `taken`.
[[nodiscard]] inline sv::result<c_observer> observer_of(const specverify_observer* given) noexcept {
  if (given == nullptr) return c_observer{};
  const auto set = taken(given);
  if (!set) return set.error();
  return c_observer{*set};
}
[[nodiscard]] inline sv::result<c_link> link_of(const specverify_link* given) noexcept {
  const auto set = taken(given);
  if (!set) return set.error();
  if (set->send == nullptr || set->receive == nullptr || set->now == nullptr) return refused(sv::errc::null_span);
  return c_link(*set);
}

// Calls work(model, observer) with the objects for the callbacks.
template <bool IsTarget, class Work>
[[nodiscard]] specverify_status with_engine(const specverify_model* model, const specverify_observer* observer,
                                            Work&& work) noexcept {
  auto its_model = model_of(model, IsTarget);
  if (!its_model) return to_c(its_model.error());
  const auto its_observer = observer_of(observer);
  if (!its_observer) return to_c(its_observer.error());
  return to_c(work(*its_model, *its_observer));
}
// Calls work(model, link, observer) with the objects for the callbacks.
template <bool IsTarget, class Work>
[[nodiscard]] specverify_status with_host(const specverify_model* model, const specverify_link* link,
                                          const specverify_observer* observer, Work&& work) noexcept {
  return with_engine<IsTarget>(model, observer, [&](c_model& its_model, const c_observer& its_observer) {
    auto its_link = link_of(link);
    return its_link ? work(its_model, *its_link, its_observer) : its_link.error();
  });
}

}  // namespace specverify_c

#endif
