// SPDX-License-Identifier: Apache-2.0
//! The main job: starts an edge and a cloud process with the emulated link between them, once a system, and compares
//! what they report. A child that is killed is started again with the same arguments: it finds its journal and the text
//! goes on.
#ifndef EDGE_CLOUD_DEMO_HPP
#define EDGE_CLOUD_DEMO_HPP

#include "link_settings.hpp"
#include "run_settings.hpp"

namespace edge_cloud {

struct demo_settings {
  run_settings run;  //!< `system`, `prompt` and `state` are filled in for each run
  std::vector<std::string> prompts{
      "Q: Paul fills 4 bags with 8 cakes each and has 6 cakes left over. How many cakes are there?\nA:",
      "And it came to pass in those days, that"};
  link_settings link;
  std::vector<std::string> systems;  //!< texts of chosen_system (systems.hpp), in this order
  std::filesystem::path out = "edge-cloud-demo";
};

//! Prompts from a file: the first 16 words of each of its first `lines` lines that have a word. Throws where there is
//! none.
[[nodiscard]] std::vector<std::string> openings(const std::filesystem::path& file, std::size_t lines);

//! Runs all systems on all prompts under one salt, prints the table, draws the plot. False if a text is not the one
//! that is written within one process.
[[nodiscard]] bool run_demo(const demo_settings& demo);

}  // namespace edge_cloud

#endif
