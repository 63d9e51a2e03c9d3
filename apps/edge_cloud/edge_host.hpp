// SPDX-License-Identifier: Apache-2.0
//! Runs the edge without a network: a session, the drafter, the journal, and the time of each token. The owner must
//! pass in received messages, send the messages from `send`, and call `tick` at the deadline.
#ifndef EDGE_CLOUD_EDGE_HOST_HPP
#define EDGE_CLOUD_EDGE_HOST_HPP

#include "engine.hpp"
#include "live_text.hpp"
#include "run_report.hpp"
#include "run_settings.hpp"
#include "side_model.hpp"
#include "state_file.hpp"
#include "stopped_text.hpp"
#include "systems.hpp"

#include <functional>

namespace edge_cloud {

class edge_host {
 public:
  //! `show` receives every committed token: its origin, the bytes that can be shown now, and whether an earlier process
  //! already wrote the token.
  using observer = std::function<void(token_kind, std::string_view, bool restored)>;

  edge_host(const run_settings& run, const side_model& model, std::function<void(std::span<const std::byte>)> send,
            observer show);
  edge_host(const edge_host&) = delete;
  edge_host& operator=(const edge_host&) = delete;

  //! Must be called when the link is first up. Begins a new session, or restores the session in the journal. Throws
  //! std::runtime_error if the journal's session has other options.
  void begin();
  void receive(std::span<const std::byte> message);
  void tick();
  //! Handles a lost link: the session waits, fails or writes ahead, depending on the run's settings.
  void disconnect();
  //! Handles a restored link.
  void reconnect();
  //! Ends the text because the user stops it. Returns false if the cloud does not need a message about the end.
  [[nodiscard]] bool stop();

  [[nodiscard]] std::optional<std::uint64_t> deadline() const { return session_.deadline(); }
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  //! Returns whether `stop` ended the text.
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_; }
  [[nodiscard]] run_report report() const;
  //! Returns whether this side has a table of id weights that the cloud does not have, so that ids are plain.
  [[nodiscard]] bool has_prior_alone() const noexcept {
    return offers_prior_ && session_.agreed_id_code() == specverify::id_code::plain;
  }

 private:
  [[nodiscard]] bool restore(std::span<const specverify::token_id> prompt);
  void measure_channel();
  void work();
  void hear(const specverify::session_output& out);
  void record(const specverify::session_output& out);
  void note_round();
  [[nodiscard]] token_kind kind_of(const specverify::session_output& out, std::uint32_t i) const;
  void require(specverify::status why, const char* what);

  run_settings run_;
  const tinylm::tokenizer& vocabulary_;
  engine engine_;
  std::unique_ptr<const specverify::dqn_weights> network_;  // network of a learned window; must outlive the session
  chosen_system system_;
  specverify::edge_session session_;
  std::optional<state_file> journal_;
  std::function<void(std::span<const std::byte>)> send_;
  observer show_;
  stopped_text written_;
  token_kind last_kind_{};
  std::vector<double> arrival_;
  std::uint64_t origin_ = 0;
  std::uint64_t resolution_sum_ = 0;
  std::uint64_t support_sum_ = 0;
  std::uint32_t noted_round_ = 0;
  bool streams_ = false;  // whether the cloud generates without drafts
  bool offers_prior_ = false;
  bool restoring_ = false;
  bool finished_ = false;
  bool cancelled_ = false;
};

}  // namespace edge_cloud

#endif
