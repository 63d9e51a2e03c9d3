// SPDX-License-Identifier: Apache-2.0
//! A few caches of one model for many sessions. A cache is far larger than a session. If there are more sessions than
//! caches, a session without one is fed its whole text again when it gets one, so a session that has a cache keeps it
//! for a turn: until it was fed as many tokens as its text has, or was idle for too long. It is idle while it asks for
//! no pass and another one wants the cache; too long is a second on end, or in all 20 ms for each token of its text.
//! Unless devices are slow, the tokens that are fed again are then at most as many as those that are fed anyway.
#ifndef EDGE_CLOUD_SERVE_ENGINE_POOL_HPP
#define EDGE_CLOUD_SERVE_ENGINE_POOL_HPP

#include "../engine.hpp"
#include "../side_model.hpp"

#include <memory>
#include <vector>

namespace edge_cloud {

class engine_pool;

//! What one session would have its engine hold. Nothing is fed before rows are wanted. Times are in microseconds.
class engine_text {
 public:
  explicit engine_text(engine_pool& pool) : pool_(pool) {}
  ~engine_text() { release(); }
  engine_text(const engine_text&) = delete;
  engine_text& operator=(const engine_text&) = delete;

  //! As session_action::evaluate asks: `tokens` stand at `position`, and what stood behind is void.
  //! Errors: base_length_mismatch (a gap before `position`).
  [[nodiscard]] specverify::status append(std::uint32_t position, std::span<const specverify::token_id> tokens);
  //! As session_action::rollback asks.
  void truncate(std::uint32_t position);
  //! Whether `feed` comes next: a text that waits for it is not idle.
  void set_waiting(bool waits, std::uint64_t now) noexcept;
  //! Whether `feed` takes no cache from a text whose turn lasts.
  [[nodiscard]] bool may_feed(std::uint64_t now) const;
  //! An engine that holds the whole text, with the rows of its last `rows` tokens. Valid until another text asks.
  //! Errors: those of engine::feed.
  [[nodiscard]] specverify::status feed(std::uint32_t rows, std::uint64_t now, engine*& fed);
  //! Nothing more is fed for now: another text may have the cache.
  void release();

 private:
  friend class engine_pool;
  engine_pool& pool_;
  std::vector<specverify::token_id> tokens_;
  std::size_t held_ = 0;  // the first of them, which its engine has
  bool waits_ = false;
};

class engine_pool {
 public:
  static constexpr std::uint64_t idle_time = 1'000'000;        //!< that ends a turn, on end
  static constexpr std::uint64_t idle_time_of_token = 20'000;  //!< that ends it, in all, for each token of the text

  //! `count` at least 1; each is made when it is first needed.
  engine_pool(const side_model& model, std::uint32_t count) : model_(model), count_(count) {}

  [[nodiscard]] std::size_t made() const noexcept { return places_.size(); }
  //! Tokens that all engines were fed.
  [[nodiscard]] std::uint64_t fed() const noexcept { return fed_; }

 private:
  friend class engine_text;
  struct place {
    std::unique_ptr<engine> machine;
    engine_text* holder = nullptr;
    std::uint64_t spent = 0;           // tokens fed in this turn, after the first pass
    std::uint64_t order = 0;           // of its last pass among all
    std::uint64_t idle = 0;            // in this turn, before `wanted`
    mutable std::uint64_t wanted = 0;  // since when its holder is idle and another text wants it; 0: it is not so

    [[nodiscard]] std::uint64_t idle_since_wanted(std::uint64_t now) const noexcept {
      return wanted != 0 && now > wanted ? now - wanted : 0;
    }
  };

  static constexpr std::uint64_t in_turn = std::uint64_t{1} << 63;  // rank of a place that a text keeps, and above

  [[nodiscard]] std::uint64_t rank(const place& p, const engine_text& text, std::uint64_t now) const;
  [[nodiscard]] bool may_grow() const;
  [[nodiscard]] place& place_for(engine_text& text, std::uint64_t now);

  const side_model& model_;
  std::uint32_t count_;
  std::vector<place> places_;
  std::uint64_t passes_ = 0;
  std::uint64_t fed_ = 0;
};

}  // namespace edge_cloud

#endif
