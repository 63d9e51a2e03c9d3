// SPDX-License-Identifier: Apache-2.0
// Runs UI and WISV on two GGUF files. usage: inside DRAFTER.gguf TARGET.gguf "prompt" [HEAD.safetensors]
#include <llama_cpp/inside.hpp>
#include <llama_cpp/model.hpp>
#include <specverify/all.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <thread>

using namespace specverify;
using watched_model = llama_cpp::with_inside<llama_cpp::model>;

struct opened {  // a file, its context, and the observed data, in this order
  std::unique_ptr<llama_model, decltype(&llama_model_free)> weights{nullptr, llama_model_free};
  llama_cpp::inside seen;
  std::unique_ptr<llama_context, decltype(&llama_free)> context{nullptr, llama_free};
  opened(const char* file, llama_cpp::inside_parts wanted) : seen(wanted) {
    weights.reset(llama_model_load_from_file(file, llama_model_default_params()));
    llama_context_params settings = llama_context_default_params();
    settings.n_ctx = 2048, settings.n_threads = settings.n_threads_batch = 1;
    if (!weights) return;
    seen.watch(settings, weights.get());
    context.reset(llama_init_from_model(weights.get(), settings));
  }
};

//! WISV's target: a decision head scores drafts that differ from the target's choice, from the hidden states of both
//! models.
struct scoring_target : watched_model {
  const decision_head* head;
  const cloud_session* session;
  status scores(const session_output& asked, std::span<double> out) {
    const head_weights weights = head->view();
    const auto channel = channel_features(session->reported_channel());
    if (!channel) return channel.error();
    std::vector<float> state(weights.shape.drafter_size);
    const std::size_t each = hidden_bytes(hidden_format::float16, state.size());
    for (std::uint32_t i = 0, found = 0; found < asked.rows; ++i) {
      if ((asked.positions[0] >> i & 1u) == 0) continue;
      if (const auto read = decode_hidden(asked.bytes.subspan(found * each, each), hidden_format::float16, state);
          !read)
        return read.error();
      const auto rho = head_score(weights, drafter_input::hidden_state, state, hidden(i),  // the target's, at row i
                                  standardise(*channel, weights.channel));
      if (!rho) return rho.error();
      out[found++] = *rho;
    }
    return {};
  }
};

template <class Preset, class Target>
int write(const Preset& system, edge_options device, cloud_options cloud_side, watched_model& drafter, Target& target,
          const char* prompt) {
  const std::vector<token_id> ends = llama_cpp::stop_tokens_of(target.vocab());
  device.vocab_size = cloud_side.vocab_size = target.vocab_size();
  device.fingerprint = cloud_side.fingerprint = llama_cpp::fingerprint_of(target.vocab());
  device.max_text_length = cloud_side.max_text_length = 2040;
  device.stop_tokens = cloud_side.stop_tokens = ends;
  auto edge = make_edge(device, system);
  auto cloud = make_cloud(cloud_side, system);
  if (!edge || !cloud) return 4;
  if constexpr (requires { target.session; }) {  // WISV: the edge reports its measurements of the link
    target.session = &*cloud;
    edge->record_channel({4e6F, 8e6F, 0.01F, 0.01F, 0.05F});
  }
  message_pipe pipe;
  std::thread server([&, link = pipe.cloud()]() mutable { (void)serve(*cloud, target, link); });
  const auto why = [&, link = pipe.edge()]() mutable {
    const auto text = generate(*edge, llama_cpp::tokens_of(drafter.vocab(), prompt), drafter, link);
    return edge->refusal().ok() ? text.error() : edge->refusal();  // prefer the cloud's reason
  }();
  server.join();
  for (const token_id token : edge->text()) std::fputs(llama_cpp::piece_of(drafter.vocab(), token).c_str(), stdout);
  return why.ok() ? 0 : (std::fprintf(stderr, "%s\n", why.text().c_str()), 5);
}

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  const bool scored = argc == 5;  // WISV; otherwise UI, which needs only the drafter's attention
  opened small(argv[1], {.hidden = scored, .attention = !scored}),
      large(argv[2], {.hidden = scored, .attention = false});
  auto first = llama_cpp::model::make(small.context.get()), second = llama_cpp::model::make(large.context.get());
  if (!first || !second) return 3;
  watched_model drafter(*std::move(first), small.seen), target(*std::move(second), large.seen);
  std::random_device random;
  edge_options device{.secret = secret_from(random), .token_budget = 100};
  const cloud_options cloud{.secret = secret_from(random), .salt = salt_from(random)};
  if (!scored) return write(ui(), device, cloud, drafter, target, argv[3]);
  std::ifstream in(argv[4], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  const auto head = decision_head::make(std::as_bytes(std::span(bytes)));
  if (!head) return 6;
  device.threshold = head->view().threshold;
  scoring_target scorer{std::move(target), &*head, nullptr};
  return write(wisv({.hidden_size = head->view().shape.drafter_size}), device, cloud, drafter, scorer, argv[3]);
}
