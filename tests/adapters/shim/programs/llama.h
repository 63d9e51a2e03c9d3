// SPDX-License-Identifier: Apache-2.0
// What programs (apps/llama) use of llama.cpp beyond the adapters: declared, so that they compile without it.
#ifndef SPECVERIFY_TESTS_PROGRAMS_LLAMA_H
#define SPECVERIFY_TESTS_PROGRAMS_LLAMA_H

#include "../llama.h"

enum ggml_log_level {
  GGML_LOG_LEVEL_NONE = 0,
  GGML_LOG_LEVEL_DEBUG = 1,
  GGML_LOG_LEVEL_INFO = 2,
  GGML_LOG_LEVEL_WARN = 3,
  GGML_LOG_LEVEL_ERROR = 4,
  GGML_LOG_LEVEL_CONT = 5
};
using ggml_log_callback = void (*)(ggml_log_level level, const char* text, void* user_data);
void llama_log_set(ggml_log_callback log_callback, void* user_data);

llama_sampler* llama_sampler_init_grammar(const llama_vocab* vocab, const char* grammar_str, const char* grammar_root);
llama_sampler* llama_sampler_init_penalties(std::int32_t n_vocab, std::int32_t penalty_last_n, float penalty_repeat,
                                            float penalty_freq, float penalty_present);

std::int32_t llama_model_n_embd(const llama_model* model);
float* llama_get_embeddings_ith(llama_context* context, std::int32_t i);
llama_batch llama_batch_get_one(llama_token* tokens, std::int32_t n_tokens);
llama_batch llama_batch_init(std::int32_t n_tokens, std::int32_t embd, std::int32_t n_seq_max);
void llama_batch_free(llama_batch batch);

enum llama_ftype { LLAMA_FTYPE_MOSTLY_Q2_K = 10 };
struct llama_model_quantize_params {
  std::int32_t nthread;
  llama_ftype ftype;
  bool allow_requantize;
};
llama_model_quantize_params llama_model_quantize_default_params();
std::uint32_t llama_model_quantize(const char* fname_inp, const char* fname_out,
                                   const llama_model_quantize_params* params);

#endif
