// SPDX-License-Identifier: Apache-2.0
//! The cloud without a network: a session, the target that works for it, and its journal. What the edge wants (which
//! laws, how many, how long a text) it says in hello; the cloud only knows its model, its secret and how much it is
//! willing to hold.
#ifndef EDGE_CLOUD_CLOUD_HOST_HPP
#define EDGE_CLOUD_CLOUD_HOST_HPP

#include <specverify/session/cloud.hpp>

#include "mismatch_judge.hpp"
#include "run_report.hpp"
#include "run_settings.hpp"
#include "side_model.hpp"
#include "take_outputs.hpp"

namespace edge_cloud {

class cloud_host {
 public:
  cloud_host(const run_settings& run, const side_model& model, std::function<void(std::span<const std::byte>)> send);
  cloud_host(const cloud_host&) = delete;
  cloud_host& operator=(const cloud_host&) = delete;

  void receive(std::span<const std::byte> message);

  //! Rows stand ready for the session. `work` hands them over; whoever owns the host may send and receive in between.
  [[nodiscard]] bool has_work() const noexcept { return rows_wanted_ > 0 || scores_wanted_; }
  void work();

  [[nodiscard]] run_report report() const;

 private:
  void judge(const specverify::session_output& asked);
  void take();

  engine engine_;
  std::optional<mismatch_judge> judge_;
  specverify::cloud_session session_;
  specverify::row_transform transform_;
  std::optional<state_file> journal_;
  outlets outlets_;
  std::vector<double> scores_;
  std::vector<std::array<std::uint32_t, 3>> judged_rounds_;
  specverify::status judged_{};
  std::uint32_t rows_wanted_ = 0;
  std::uint32_t noted_round_ = 0;
  bool scores_wanted_ = false;
};

}  // namespace edge_cloud

#endif
