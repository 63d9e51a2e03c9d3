// SPDX-License-Identifier: Apache-2.0
//! Declares the figures of SQS, each in the file of that name or subject.
#ifndef SPECVERIFY_APPS_LAB_SQS_FIGURES_HPP
#define SPECVERIFY_APPS_LAB_SQS_FIGURES_HPP

#include "figure.hpp"
#include "lab_context.hpp"

namespace lab {

void run_sqs_temperature(lab_context& context, figure& f);
void run_sqs_thresholds(lab_context& context, figure& f);
void run_sqs_step(lab_context& context, figure& f);
void run_sqs_support(lab_context& context, figure& f);
void run_sqs_accuracy(lab_context& context, figure& f);
void run_sqs_bits(lab_context& context, figure& f);
void run_sqs_dropped(lab_context& context, figure& f);
void run_sqs_rejections(lab_context& context, figure& f);

}  // namespace lab

#endif
