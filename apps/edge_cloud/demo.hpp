// SPDX-License-Identifier: Apache-2.0
//! Runs the demo: for each system it starts an edge and a cloud process with an emulated link between them, and then
//! compares the reports. If a child is killed, the demo starts it again with the same arguments, and the child
//! continues the text from its journal.
#ifndef EDGE_CLOUD_DEMO_HPP
#define EDGE_CLOUD_DEMO_HPP

#include "link_settings.hpp"
#include "run_settings.hpp"

namespace edge_cloud {

struct demo_settings {
  run_settings run;  //!< the demo sets `system`, `prompt` and `state` for each run
  std::vector<std::string> prompts{
      "Q: Paul fills 4 bags with 8 cakes each and has 6 cakes left over. How many cakes are there?\nA:",
      "And it came to pass in those days, that"};
  link_settings link;
  std::vector<std::string> systems;  //!< systems to run, in this order, as texts for chosen_system (systems.hpp)
  std::filesystem::path out = "edge-cloud-demo";
};

//! Returns prompts from a file: the first 16 words of each line, for at most `lines` lines that have a word. Throws if
//! no line has a word.
[[nodiscard]] std::vector<std::string> openings(const std::filesystem::path& file, std::size_t lines);

//! Runs all systems on all prompts under one salt, prints the table and draws the plot. Returns false if a text differs
//! from the text of a run within one process.
[[nodiscard]] bool run_demo(const demo_settings& demo);

}  // namespace edge_cloud

#endif
