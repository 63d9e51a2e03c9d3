// SPDX-License-Identifier: Apache-2.0
//! A few caches of one model for many sessions. A cache is far larger than a session: the one that was used longest ago
//! is taken for the session that works next, and its own session is fed again when its turn comes.
#ifndef EDGE_CLOUD_SERVE_ENGINE_POOL_HPP
#define EDGE_CLOUD_SERVE_ENGINE_POOL_HPP

#include "../engine.hpp"
#include "../side_model.hpp"

#include <memory>
#include <vector>

namespace edge_cloud {

class engine_pool;

//! What one session would have its engine hold. Nothing is fed before rows are wanted.
class engine_text {
 public:
  explicit engine_text(engine_pool& pool) : pool_(pool) {}
  ~engine_text();
  engine_text(const engine_text&) = delete;
  engine_text& operator=(const engine_text&) = delete;

  //! As session_action::evaluate asks: `tokens` stand at `position`, and what stood behind is void.
  //! Errors: base_length_mismatch (a gap before `position`).
  [[nodiscard]] specverify::status append(std::uint32_t position, std::span<const specverify::token_id> tokens);
  //! As session_action::rollback asks.
  void truncate(std::uint32_t position);
  //! An engine that holds the whole text, with the rows of its last `rows` tokens. Valid until another text asks.
  //! Errors: those of engine::feed.
  [[nodiscard]] specverify::status feed(std::uint32_t rows, engine*& fed);

 private:
  friend class engine_pool;
  engine_pool& pool_;
  std::vector<specverify::token_id> tokens_;
  std::size_t held_ = 0;  // the first of them, which its engine has
};

class engine_pool {
 public:
  //! `count` at least 1; each is made when it is first needed.
  engine_pool(const side_model& model, std::uint32_t count) : model_(model), count_(count) {}

  [[nodiscard]] std::size_t made() const noexcept { return places_.size(); }

 private:
  friend class engine_text;
  struct place {
    std::unique_ptr<engine> machine;
    engine_text* holder = nullptr;
    std::uint64_t used = 0;
  };

  // The holder's own, a free one, a new one, or the one that was used longest ago.
  [[nodiscard]] engine& engine_for(engine_text& text);
  void leave(const engine_text& text);

  const side_model& model_;
  std::uint32_t count_;
  std::vector<place> places_;
  std::uint64_t uses_ = 0;
};

}  // namespace edge_cloud

#endif
