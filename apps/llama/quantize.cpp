// SPDX-License-Identifier: Apache-2.0
// quantize FROM.gguf TO.gguf: converts a model to 2 bits with llama.cpp. `./run engine` makes the default drafter with
// this program.
#include <llama.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: quantize FROM.gguf TO.gguf\n"), 2;
  llama_model_quantize_params wanted = llama_model_quantize_default_params();
  wanted.ftype = LLAMA_FTYPE_MOSTLY_Q2_K;
  wanted.allow_requantize = true;
  wanted.nthread = 1;
  return llama_model_quantize(argv[1], argv[2], &wanted) == 0 ? 0 : 1;
}
