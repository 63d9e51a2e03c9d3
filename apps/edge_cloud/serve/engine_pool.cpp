// SPDX-License-Identifier: Apache-2.0
#include "engine_pool.hpp"

#include "serve_limits.hpp"
#include "tinylm/tinylm.hpp"

#include <algorithm>

namespace edge_cloud {

engine_text::~engine_text() { pool_.leave(*this); }

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

specverify::status engine_text::feed(std::uint32_t rows, engine*& fed) {
  engine& machine = pool_.engine_for(*this);
  // The last rows are wanted anew, even where the engine has been here before.
  held_ = std::min(held_, tokens_.size() - std::min<std::size_t>(tokens_.size(), rows));
  const auto held = static_cast<std::uint32_t>(held_);
  machine.truncate(held);
  const specverify::status why = machine.feed(held, std::span(tokens_).subspan(held_), rows);
  if (!why.ok()) return why;
  held_ = tokens_.size();
  fed = &machine;
  return {};
}

engine& engine_pool::engine_for(engine_text& text) {
  const auto rank = [&](const place& p) {
    if (p.holder == &text) return std::uint64_t{0};
    return p.holder == nullptr ? 1 : p.used + 2;
  };
  const auto less = [&](const place& a, const place& b) { return rank(a) < rank(b); };
  auto best = std::min_element(places_.begin(), places_.end(), less);
  if ((best == places_.end() || rank(*best) > 1) && !exceeds("engines", places_.size() + 1, count_)) {
    places_.push_back({std::make_unique<engine>(model_.weights, model_.pass_seconds), nullptr, 0});
    best = places_.end() - 1;
  }
  if (best->holder != &text) {
    if (best->holder != nullptr) best->holder->held_ = 0;
    best->machine->truncate(0);
    best->holder = &text;
    text.held_ = 0;
  }
  best->used = ++uses_;
  return *best->machine;
}

void engine_pool::leave(const engine_text& text) {
  for (place& p : places_) {
    if (p.holder == &text) p.holder = nullptr;
  }
}

}  // namespace edge_cloud
