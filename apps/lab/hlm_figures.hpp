// SPDX-License-Identifier: Apache-2.0
//! Lists the figures of HLM and CU-HLM; a figure is computed in the file of the same name.
#ifndef SPECVERIFY_APPS_LAB_HLM_FIGURES_HPP
#define SPECVERIFY_APPS_LAB_HLM_FIGURES_HPP

#include "papers.hpp"

namespace lab {

void run_hlm_uncertainty(lab_context& context, figure& f);
void run_hlm_paraphrase(lab_context& context, figure& f);
void run_hlm_threshold(lab_context& context, figure& f);
void run_hlm_laws(lab_context& context, figure& f);
void run_hlm_size(lab_context& context, figure& f);
void run_hlm_systems_figure(lab_context& context, figure& f);

}  // namespace lab

#endif
