// SPDX-License-Identifier: Apache-2.0
//! Lists the figures on uncertainty and importance; a figure is computed in the file of the same name.
#ifndef SPECVERIFY_APPS_LAB_UI_FIGURES_HPP
#define SPECVERIFY_APPS_LAB_UI_FIGURES_HPP

#include "papers.hpp"

namespace lab {

//! Threshold on u. At the default of 0.8 the bundled pair uploads too few tokens for a second skip policy to matter;
//! ui_grid shows the number.
inline constexpr double ui_threshold = 0.2;

void run_ui_grid(lab_context& context, figure& f);
void run_ui_uploads(lab_context& context, figure& f);
void run_ui_trace(lab_context& context, figure& f);
void run_ui_signals(lab_context& context, figure& f);
void run_ui_settings(lab_context& context, figure& f);
void run_ui_controller(lab_context& context, figure& f);

}  // namespace lab

#endif
