// SPDX-License-Identifier: Apache-2.0
#include "refusal_text.hpp"

#include <specverify/session/options.hpp>

#include <string_view>

namespace edge_cloud {

namespace {

using specverify::cloud_options;
using specverify::errc;
using specverify::part;
using specverify::status;

struct limit_words {
  std::uint32_t where;
  std::string_view field, advice;
};

constexpr limit_words library_limits[] = {
    {cloud_options::at_max_text_length, "max_text_length", "give a shorter --prompt or fewer --tokens"},
    {cloud_options::at_text_chunk, "text_chunk", "choose another --system"},
    {cloud_options::at_max_skipped, "max_skipped", "choose a --system that sends every token"},
    {cloud_options::at_max_law_entries, "max_law_entries", "choose a --system with smaller laws"},
    {cloud_options::at_max_draft_length, "max_draft_length",
     "this --system has more drafts per message than the server's --draft-length; choose one with fewer"},
    {cloud_options::at_max_hidden_bytes, "max_hidden_bytes", "choose a --system without hidden states"},
    {cloud_options::at_max_message_bytes, "max_message_bytes", "give a smaller --pad-to, or another --system"},
    {cloud_options::at_truncation, "truncation", "use rows without truncation"},
};

const limit_words* limit_of(status why) {
  if (why.code != errc::beyond_limit) return nullptr;
  for (const limit_words& words : library_limits) {
    if (words.where == why.where) return &words;
  }
  return nullptr;
}

//! The server uses only its own temperature. The library's sentence is about an invalid number, so it does not apply.
bool is_other_temperature(status why) { return why.code == errc::invalid_temperature && why.reporter == part::host; }

std::string named(std::string_view name, std::string_view sentence) {
  return "(" + std::string(name) + "): " + std::string(sentence);
}

}  // namespace

std::optional<refusal> host_refusal(status why) {
  const bool own = why.code == errc::refused_by_peer || why.code == errc::beyond_limit ||
                   (why.code == errc::engine_failed && why.where == static_cast<std::uint32_t>(refusal::host_failed));
  if (why.reporter != part::host || !own || why.where == 0) return std::nullopt;
  return static_cast<refusal>(why.where);
}

std::string told_to_device(refusal why) { return named(words_of(why).name, words_of(why).text); }

std::string told_to_device(status why) {
  if (const auto own = host_refusal(why)) return told_to_device(*own);
  const std::string_view name = specverify::name(why.code);
  if (is_other_temperature(why)) return named(name, "it uses another temperature; give the server's --temperature");
  if (const limit_words* const limit = limit_of(why))
    return named(name, std::string(limit->field) + ": " + std::string(limit->advice));
  if (why.code == errc::guarantee_too_weak)
    return named(name, "the server's --required needs a stronger guarantee; give --system greedy or --system target");
  if (why.code == errc::unverified_text)
    return named(name,
                 "the server has not verified this text; give the text so far as --prompt, and another --state-dir");
  if (why.code == errc::vocabulary_mismatch || why.code == errc::fingerprint_mismatch)
    return named(name, "it has other models; give the same --models");
  return named(name, specverify::message(why.code));
}

std::string told_in_log(status why) {
  const std::string_view name = specverify::name(why.code);
  if (is_other_temperature(why)) return named(name, "the device requests another --temperature");
  if (const limit_words* const limit = limit_of(why))
    return named(name, "the device needs more than " + std::string(limit->field) + " allows");
  return named(name, specverify::message(why.code));
}

}  // namespace edge_cloud
