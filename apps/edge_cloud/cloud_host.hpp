// SPDX-License-Identifier: Apache-2.0
//! Runs the cloud without a network: a session, the target model, and the journal. The edge's hello specifies the
//! format, the draft length and the length of the text. The cloud's own settings are the target model, the secret and
//! the limits.
#ifndef EDGE_CLOUD_CLOUD_HOST_HPP
#define EDGE_CLOUD_CLOUD_HOST_HPP

#include <specverify/host/drive.hpp>
#include <specverify/session/cloud.hpp>

#include "mismatch_scorer.hpp"
#include "run_report.hpp"
#include "run_settings.hpp"
#include "side_model.hpp"
#include "state_file.hpp"

#include <functional>

namespace edge_cloud {

class cloud_host {
 public:
  cloud_host(const run_settings& run, const side_model& model, std::function<void(std::span<const std::byte>)> send);
  cloud_host(const cloud_host&) = delete;
  cloud_host& operator=(const cloud_host&) = delete;

  void receive(std::span<const std::byte> message);

  //! Returns whether rows or scores are ready for the session. `work` passes them to the session. The owner can send
  //! and receive messages before it calls `work`.
  [[nodiscard]] bool has_work() const noexcept { return ready_ != specverify::session_wait::peer; }
  void work();

  [[nodiscard]] run_report report() const;

 private:
  [[nodiscard]] specverify::status prepare(const specverify::session_work& work);
  void hear(const specverify::session_output& out);
  void take();

  engine engine_;
  std::optional<mismatch_scorer> scorer_;
  specverify::cloud_session session_;
  specverify::row_transform transform_{};  // transform of the rows that the target returns
  std::optional<state_file> journal_;
  std::function<void(std::span<const std::byte>)> send_;
  std::vector<double> scores_;
  std::vector<std::array<std::uint32_t, 3>> scored_rounds_;
  // kind of the results that `work` must pass to the session; `peer`: none
  specverify::session_wait ready_ = specverify::session_wait::peer;
  specverify::status prepared_{};  // error of the engine or the head, or ok
  std::uint32_t noted_round_ = 0;
};

}  // namespace edge_cloud

#endif
