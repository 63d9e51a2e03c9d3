// SPDX-License-Identifier: Apache-2.0
#include "engine_pool.hpp"

#include "serve_limits.hpp"
#include "tinylm/tinylm.hpp"

#include <algorithm>

namespace edge_cloud {

specverify::status engine_text::append(std::uint32_t position, std::span<const specverify::token_id> tokens) {
  if (position > tokens_.size()) return {specverify::errc::base_length_mismatch, specverify::part::host, position};
  truncate(position);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return {};
}

void engine_text::truncate(std::uint32_t position) {
  tokens_.resize(std::min<std::size_t>(tokens_.size(), position));
  held_ = std::min(held_, tokens_.size());
}

void engine_text::set_waiting(bool waits, std::uint64_t now) noexcept {
  waits_ = waits;
  for (engine_pool::place& p : pool_.places_) {
    if (!waits || p.holder != this) continue;
    p.idle += p.idle_since_wanted(now);
    p.wanted = 0;
  }
}

bool engine_text::may_feed(std::uint64_t now) const {
  const auto free = [&](const engine_pool::place& p) { return pool_.rank(p, *this, now) < engine_pool::in_turn; };
  return pool_.may_grow() || std::any_of(pool_.places_.begin(), pool_.places_.end(), free);
}

specverify::status engine_text::feed(std::uint32_t rows, std::uint64_t now, engine*& fed) {
  engine_pool::place& place = pool_.place_for(*this, now);
  // The last rows must be computed again, even if the engine already has these tokens.
  held_ = std::min(held_, tokens_.size() - std::min<std::size_t>(tokens_.size(), rows));
  const auto held = static_cast<std::uint32_t>(held_);
  place.machine->truncate(held);
  const specverify::status why = place.machine->feed(held, std::span(tokens_).subspan(held_), rows);
  if (!why.ok()) return why;
  const std::uint64_t tokens = tokens_.size() - held_;
  place.spent += held_ == 0 ? 0 : tokens;
  pool_.fed_ += tokens;
  held_ = tokens_.size();
  fed = place.machine.get();
  return {};
}

void engine_text::release() {
  for (engine_pool::place& p : pool_.places_) {
    if (p.holder == this) p.holder = nullptr;
  }
}

//! Ranks caches: the cache that the text has, then free caches, then caches whose turn is over. Among equal caches, the
//! least recently used cache is first.
std::uint64_t engine_pool::rank(const place& p, const engine_text& text, std::uint64_t now) const {
  if (p.holder == &text) return 0;
  if (p.holder == nullptr) return 1;
  if (p.wanted == 0 && !p.holder->waits_) p.wanted = now;
  const std::uint64_t lasts = p.idle_since_wanted(now);
  const std::uint64_t most = std::max(idle_time, idle_time_of_token * p.holder->tokens_.size());
  const bool idle = !p.holder->waits_ && (lasts >= idle_time || p.idle + lasts >= most);
  const bool kept = !idle && exceeds("cache_turn", p.holder->tokens_.size(), p.spent);
  return 2 + p.order + (kept ? in_turn : 0);
}

bool engine_pool::may_grow() const { return !exceeds("engines", places_.size() + 1, count_); }

engine_pool::place& engine_pool::place_for(engine_text& text, std::uint64_t now) {
  const auto less = [&](const place& a, const place& b) { return rank(a, text, now) < rank(b, text, now); };
  auto best = std::min_element(places_.begin(), places_.end(), less);
  if ((best == places_.end() || rank(*best, text, now) > 1) && may_grow()) {
    places_.push_back({std::make_unique<engine>(model_.weights, model_.pass_seconds)});
    best = places_.end() - 1;
  }
  if (best->holder != &text) {
    if (best->holder != nullptr) best->holder->held_ = 0;
    best->machine->truncate(0);
    best->holder = &text;
    best->spent = best->idle = best->wanted = 0;
    text.held_ = 0;
  }
  best->order = ++passes_;
  return *best;
}

}  // namespace edge_cloud
