// SPDX-License-Identifier: Apache-2.0
// Runs a device and a cloud on two GGUF files in one program. usage: two_files DRAFTER.gguf TARGET.gguf "prompt"
#include <llama_cpp/model.hpp>
#include <specverify/all.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <cstdio>
#include <memory>
#include <random>
#include <thread>

using namespace specverify;
struct opened {  // a file and its context; your program already has these
  std::unique_ptr<llama_model, decltype(&llama_model_free)> weights{nullptr, llama_model_free};
  std::unique_ptr<llama_context, decltype(&llama_free)> context{nullptr, llama_free};
  explicit opened(const char* file) {
    weights.reset(llama_model_load_from_file(file, llama_model_default_params()));
    llama_context_params settings = llama_context_default_params();
    settings.n_ctx = 2048, settings.n_threads = settings.n_threads_batch = 1;  // both sides share this machine
    if (weights) context.reset(llama_init_from_model(weights.get(), settings));
  }
};

status run_device(message_pipe& pipe, llama_cpp::model& drafter, const edge_options& options, std::string_view prompt) {
  auto edge = make_edge(options, k_sqs());
  if (!edge) return edge.error();
  auto link = pipe.edge();
  const auto show = [&](const session_output& out) {
    for (const token_id token : out.tokens) std::fputs(llama_cpp::piece_of(drafter.vocab(), token).c_str(), stdout);
  };
  const auto text = generate(*edge, llama_cpp::tokens_of(drafter.vocab(), prompt), drafter, link, on_committed(show));
  return edge->refusal().ok() ? text.error() : edge->refusal();  // prefer the cloud's reason
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const opened small(argv[1]), large(argv[2]);
  auto drafter = llama_cpp::model::make(small.context.get()), target = llama_cpp::model::make(large.context.get());
  if (!drafter || !target) return 3;
  std::random_device random;
  const std::vector<token_id> ends = llama_cpp::stop_tokens_of(target->vocab());
  auto cloud = make_cloud({.secret = secret_from(random),
                           .salt = salt_from(random),
                           .vocab_size = target->vocab_size(),
                           .max_text_length = 2040,
                           .fingerprint = llama_cpp::fingerprint_of(target->vocab()),
                           .stop_tokens = ends});
  if (!cloud) return 4;
  message_pipe pipe;
  std::thread server([&, link = pipe.cloud()]() mutable { (void)serve(*cloud, *target, link); });
  const status why = run_device(pipe, *drafter,
                                {.secret = secret_from(random),
                                 .vocab_size = drafter->vocab_size(),
                                 .token_budget = 100,
                                 .max_text_length = 2040,
                                 .fingerprint = llama_cpp::fingerprint_of(drafter->vocab()),
                                 .stop_tokens = ends},
                                argv[3]);
  server.join();
  return why.ok() ? 0 : (std::fprintf(stderr, "%s\n", why.text().c_str()), 5);
}
