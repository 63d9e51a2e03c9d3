// SPDX-License-Identifier: Apache-2.0
//! Shares a few caches of one model among many sessions, because a cache is far larger than a session. A session
//! without a cache must be fed the whole text again when it gets one. Therefore a session keeps a cache for a turn,
//! which ends if the session has been fed as many tokens as the text has, or has been idle too long. A session is idle
//! while it needs no pass and another session wants the cache. The limit is one second at a time; in total it is 20 ms
//! per token of the text, but at least one second. Unless devices are slow, tokens are then fed at most twice on
//! average.
#ifndef EDGE_CLOUD_SERVE_ENGINE_POOL_HPP
#define EDGE_CLOUD_SERVE_ENGINE_POOL_HPP

#include "../engine.hpp"
#include "../side_model.hpp"

#include <memory>
#include <vector>

namespace edge_cloud {

class engine_pool;

//! The text that one session needs in an engine. Tokens are fed only if rows are needed. Times are in microseconds.
class engine_text {
 public:
  explicit engine_text(engine_pool& pool) : pool_(pool) {}
  ~engine_text() { release(); }
  engine_text(const engine_text&) = delete;
  engine_text& operator=(const engine_text&) = delete;

  //! Implements session_action::evaluate: `tokens` are at `position`, and later tokens become invalid.
  //! Errors: base_length_mismatch (a gap before `position`).
  [[nodiscard]] specverify::status append(std::uint32_t position, std::span<const specverify::token_id> tokens);
  //! Implements session_action::rollback.
  void truncate(std::uint32_t position);
  //! Sets whether the session waits for `feed`. A text is not idle while the session waits.
  void set_waiting(bool waits, std::uint64_t now) noexcept;
  //! Returns whether `feed` can get a cache without ending another text's turn.
  [[nodiscard]] bool may_feed(std::uint64_t now) const;
  //! Returns an engine that has the whole text, and the rows of the last `rows` tokens. The engine is valid until
  //! another text calls this function.
  //! Errors: the errors of engine::feed.
  [[nodiscard]] specverify::status feed(std::uint32_t rows, std::uint64_t now, engine*& fed);
  //! Releases the cache for other texts. Call this function if this text feeds nothing for now.
  void release();

 private:
  friend class engine_pool;
  engine_pool& pool_;
  std::vector<specverify::token_id> tokens_;
  std::size_t held_ = 0;  // tokens that the engine has
  bool waits_ = false;
};

class engine_pool {
 public:
  static constexpr std::uint64_t idle_time = 1'000'000;  //!< microseconds of continuous idle time that end a turn
  //! microseconds of total idle time, per token of the text, that end a turn
  static constexpr std::uint64_t idle_time_of_token = 20'000;

  //! `count` must be at least 1. Caches are created when they are first needed.
  engine_pool(const side_model& model, std::uint32_t count) : model_(model), count_(count) {}

  [[nodiscard]] std::size_t made() const noexcept { return places_.size(); }
  //! Returns the number of tokens fed to all engines.
  [[nodiscard]] std::uint64_t fed() const noexcept { return fed_; }

 private:
  friend class engine_text;
  struct place {
    std::unique_ptr<engine> machine;
    engine_text* holder = nullptr;
    std::uint64_t spent = 0;  // tokens fed in this turn after the first pass
    std::uint64_t order = 0;  // sequence number of the last pass on this cache
    std::uint64_t idle = 0;   // idle time in this turn before `wanted`
    // time at which the holder became idle while another text wants the cache; 0: not idle
    mutable std::uint64_t wanted = 0;

    [[nodiscard]] std::uint64_t idle_since_wanted(std::uint64_t now) const noexcept {
      return wanted != 0 && now > wanted ? now - wanted : 0;
    }
  };

  static constexpr std::uint64_t in_turn = std::uint64_t{1} << 63;  // minimum rank of a cache that a text keeps

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
