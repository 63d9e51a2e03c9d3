// SPDX-License-Identifier: Apache-2.0
//! Declares QS's figures, each in the file of that name, for example qs_speed.cpp.
#ifndef SPECVERIFY_APPS_LAB_QS_FIGURES_HPP
#define SPECVERIFY_APPS_LAB_QS_FIGURES_HPP

#include "figure.hpp"
#include "lab_context.hpp"

namespace lab {

void run_qs_quality(lab_context& context, figure& f);
void run_qs_speed(lab_context& context, figure& f);
void run_qs_temperature(lab_context& context, figure& f);
void run_qs_state(lab_context& context, figure& f);
void run_qs_coarse(lab_context& context, figure& f);
void run_qs_regret(lab_context& context, figure& f);
void run_qs_network(lab_context& context, figure& f);

}  // namespace lab

#endif
