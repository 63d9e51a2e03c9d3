// SPDX-License-Identifier: Apache-2.0
// A stand-in for llama.cpp's header: the symbols that adapters/llama_cpp uses, with a toy engine behind them. Its
// logits are a function of all tokens that its memory holds, so a wrong cut writes another text. It refuses what the
// real one refuses: gaps between positions, more tokens than n_batch, cuts of a recurrent memory, a full context. Its
// graph has three tensors, for the evaluation callback: the attention of two layers, and the normed state.
#ifndef SPECVERIFY_TESTS_LLAMA_H
#define SPECVERIFY_TESTS_LLAMA_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

using llama_pos = std::int32_t;
using llama_token = std::int32_t;
using llama_seq_id = std::int32_t;
enum llama_token_attr {
  LLAMA_TOKEN_ATTR_UNDEFINED = 0,
  LLAMA_TOKEN_ATTR_CONTROL = 1 << 3,
  LLAMA_TOKEN_ATTR_BYTE = 1 << 5
};

// Of ggml: what a tensor that the callback is shown says of itself.
enum ggml_type { GGML_TYPE_F32 = 0, GGML_TYPE_F16 = 1 };
enum ggml_op { GGML_OP_NONE = 0, GGML_OP_SOFT_MAX, GGML_OP_FLASH_ATTN_EXT };
struct ggml_tensor {
  ggml_type type = GGML_TYPE_F32;
  std::int64_t ne[4] = {1, 1, 1, 1};
  std::size_t nb[4] = {4, 4, 4, 4};
  ggml_op op = GGML_OP_NONE;
  const void* data = nullptr;
  char name[64] = {};
};
using ggml_backend_sched_eval_callback = bool (*)(ggml_tensor*, bool, void*);
inline void ggml_backend_tensor_get(const ggml_tensor* tensor, void* out, std::size_t offset, std::size_t size) {
  std::memcpy(out, static_cast<const char*>(tensor->data) + offset, size);
}

// What programs need to open a context.
enum llama_flash_attn_type {
  LLAMA_FLASH_ATTN_TYPE_AUTO = -1,
  LLAMA_FLASH_ATTN_TYPE_DISABLED = 0,
  LLAMA_FLASH_ATTN_TYPE_ENABLED = 1
};
enum llama_pooling_type { LLAMA_POOLING_TYPE_UNSPECIFIED = -1, LLAMA_POOLING_TYPE_NONE = 0 };
struct llama_model_params {};
struct llama_context_params {
  std::uint32_t n_ctx = 0, n_batch = 0, n_ubatch = 0, n_seq_max = 1;
  std::int32_t n_threads = 0, n_threads_batch = 0;
  llama_flash_attn_type flash_attn_type = LLAMA_FLASH_ATTN_TYPE_AUTO;
  ggml_backend_sched_eval_callback cb_eval = nullptr;
  void* cb_eval_user_data = nullptr;
  llama_pooling_type pooling_type = LLAMA_POOLING_TYPE_UNSPECIFIED;
  bool embeddings = false;
};

struct llama_vocab {
  std::vector<std::string> pieces;
  llama_token end = -1;
  std::int32_t tokens_a_byte = 0;  // of a text, but for the piece of `end`, which is a token where it is read
};
struct llama_model {
  llama_vocab vocab;
  float noise = 0;  // added to the logits, so that a drafter differs from its target
  bool recurrent = false;
  std::int32_t n_swa = 0;
  bool has_states = true;  // its graph has a tensor of the hidden state
};
struct llama_memory_i {
  std::vector<llama_token> held;  // of the one sequence, position 0 first
  llama_pos dropped = 0;          // positions below it have left the window
};
using llama_memory_t = llama_memory_i*;
struct llama_context {
  const llama_model* model;
  std::uint32_t n_ctx = 256, n_batch = 64;
  llama_memory_i memory{};
  std::vector<float> logits{};
  std::vector<std::int32_t> output_of{};  // of a token of the last batch; -1: none
  std::int32_t fails_with = 0;            // the next llama_decode returns it
  std::int32_t decodes = 0;
  std::vector<std::int32_t> batch_sizes{};
  llama_context_params settings{};   // n_ubatch 0: batches are not cut
  std::size_t cells_of_others = 0;   // with weight, behind those of the sequence
  std::vector<std::string> shown{};  // to the callback
};
struct llama_batch {
  std::int32_t n_tokens;
  llama_token* token;
  float* embd;
  llama_pos* pos;
  std::int32_t* n_seq_id;
  llama_seq_id** seq_id;
  std::int8_t* logits;
};

inline const llama_model* llama_get_model(const llama_context* context) { return context->model; }
inline const llama_vocab* llama_model_get_vocab(const llama_model* model) { return &model->vocab; }
inline std::int32_t llama_vocab_n_tokens(const llama_vocab* vocab) {
  return static_cast<std::int32_t>(vocab->pieces.size());
}
inline bool llama_vocab_is_eog(const llama_vocab* vocab, llama_token token) { return token == vocab->end; }
inline llama_token_attr llama_vocab_get_attr(const llama_vocab* vocab, llama_token token) {
  return token == vocab->end ? LLAMA_TOKEN_ATTR_CONTROL : LLAMA_TOKEN_ATTR_UNDEFINED;
}
inline std::int32_t llama_token_to_piece(const llama_vocab* vocab, llama_token token, char* out, std::int32_t room,
                                         std::int32_t, bool special) {
  if (token == vocab->end && !special) return 0;
  const std::string& piece = vocab->pieces[static_cast<std::size_t>(token)];
  const auto length = static_cast<std::int32_t>(piece.size());
  if (length > room) return -length;
  std::memcpy(out, piece.data(), piece.size());
  return length;
}
inline bool llama_model_is_recurrent(const llama_model* model) { return model->recurrent; }
inline bool llama_model_is_hybrid(const llama_model*) { return false; }
inline std::int32_t llama_model_n_layer(const llama_model*) { return 2; }
inline std::int32_t llama_model_n_swa(const llama_model* model) { return model->n_swa; }
inline std::uint32_t llama_n_ctx_seq(const llama_context* context) { return context->n_ctx; }
inline std::uint32_t llama_n_batch(const llama_context* context) { return context->n_batch; }
inline llama_memory_t llama_get_memory(const llama_context* context) {
  return const_cast<llama_memory_i*>(&context->memory);
}
inline llama_pos llama_memory_seq_pos_max(llama_memory_t memory, llama_seq_id) {
  return static_cast<llama_pos>(memory->held.size()) - 1;
}
inline llama_pos llama_memory_seq_pos_min(llama_memory_t memory, llama_seq_id) {
  return memory->held.empty() ? -1 : memory->dropped;
}
// A recurrent memory holds one state: that behind its last token. The toy marks it by `dropped`.
inline bool llama_memory_seq_rm(llama_memory_t memory, llama_seq_id, llama_pos from, llama_pos) {
  const auto size = static_cast<llama_pos>(memory->held.size());
  if (from >= size) return true;
  if (from > 0 && memory->dropped == size - 1) return false;
  memory->held.resize(static_cast<std::size_t>(from < 0 ? 0 : from));
  if (from <= 0) memory->dropped = 0;
  return true;
}
inline std::uint64_t toy_mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
inline float toy_unit(std::uint64_t key) { return static_cast<float>(toy_mix(key) >> 40) * 0x1p-24f; }
// Of the text up to a position, in `text` a prefix of what is held.
inline std::uint64_t toy_state(const llama_context& context, std::size_t length) {
  std::uint64_t state = 0x9E37;
  for (std::size_t i = 0; i < length; ++i)
    state = toy_mix(state * 31 + static_cast<std::uint64_t>(context.memory.held[i]) + 1);
  return state;
}
inline void toy_row(const llama_context& context, std::vector<float>& out) {
  const std::uint64_t state = toy_state(context, context.memory.held.size());
  const std::size_t n = context.model->vocab.pieces.size();
  for (std::size_t v = 0; v < n; ++v)
    out.push_back(6 * toy_unit(state + 2 * v) + context.model->noise * toy_unit(state + 2 * v + 1));
}
// What the graph holds of the token at a position: 6 numbers, and of each of 3 heads a weight a cell.
inline constexpr std::int64_t toy_hidden = 6, toy_heads = 3;
inline float toy_hidden_number(const llama_context& context, std::size_t position, std::int64_t k) {
  return toy_unit(toy_state(context, position + 1) + 1000 + static_cast<std::uint64_t>(k));
}
inline float toy_weight(const llama_context& context, int layer, std::int64_t head, std::size_t query,
                        std::size_t key) {
  if (key > query) return 0;
  const std::uint64_t of_layer = toy_state(context, query + 1) + static_cast<std::uint64_t>(100 * layer + 7 * head);
  float sum = 0, own = 0;
  for (std::size_t k = 0; k <= query; ++k) {
    const float weight = toy_unit(toy_mix(of_layer) + k);
    sum += weight;
    if (k == key) own = weight;
  }
  return own / sum;
}
inline void toy_show(llama_context& context, const char* name, ggml_op op, const std::vector<float>& data,
                     std::int64_t numbers, std::int64_t rows, std::int64_t heads) {
  ggml_tensor made;
  made.ne[0] = numbers, made.ne[1] = rows, made.ne[2] = heads;
  for (int i = 1; i < 4; ++i) made.nb[i] = made.nb[i - 1] * static_cast<std::size_t>(made.ne[i - 1]);
  made.op = op;
  made.data = data.data();
  std::snprintf(made.name, sizeof made.name, "%s", name);
  const llama_context_params& asked = context.settings;
  if (asked.cb_eval == nullptr || !asked.cb_eval(&made, true, asked.cb_eval_user_data)) return;
  context.shown.emplace_back(name);
  (void)asked.cb_eval(&made, false, asked.cb_eval_user_data);
}
// Of the tokens at positions first...end, all of them held; `wanted` says which have an output.
inline void toy_graph(llama_context& context, std::size_t first, std::size_t end, const std::int8_t* wanted) {
  const std::size_t cells = (context.memory.held.size() + context.cells_of_others + 31) / 32 * 32;
  const auto rows = static_cast<std::int64_t>(end - first);
  for (int layer = 0; layer < 2; ++layer) {
    std::vector<float> weights;
    for (std::int64_t head = 0; head < toy_heads; ++head) {
      for (std::size_t query = first; query < end; ++query) {
        for (std::size_t key = 0; key < cells; ++key) weights.push_back(toy_weight(context, layer, head, query, key));
        for (std::size_t k = 0; k < context.cells_of_others; ++k)
          weights[weights.size() - cells + query + 1 + k] = 0.1F;
      }
    }
    const bool flash = context.settings.flash_attn_type != LLAMA_FLASH_ATTN_TYPE_DISABLED;
    const std::string name = (flash ? "fattn-" : "kq_soft_max-") + std::to_string(layer);
    toy_show(context, name.c_str(), flash ? GGML_OP_FLASH_ATTN_EXT : GGML_OP_SOFT_MAX, weights,
             static_cast<std::int64_t>(cells), rows, toy_heads);
  }
  std::vector<float> states;
  for (std::size_t i = first; i < end; ++i) {
    for (std::int64_t k = 0; k < toy_hidden && wanted[i - first] != 0; ++k)
      states.push_back(toy_hidden_number(context, i, k));
  }
  if (!context.model->has_states) return;
  toy_show(context, "result_norm", GGML_OP_NONE, states, toy_hidden,
           static_cast<std::int64_t>(states.size()) / toy_hidden, 1);
}
inline std::int32_t llama_decode(llama_context* context, llama_batch batch) {
  ++context->decodes;
  context->batch_sizes.push_back(batch.n_tokens);
  if (const std::int32_t why = context->fails_with; why != 0) return context->fails_with = 0, why;
  if (batch.n_tokens <= 0 || batch.n_tokens > static_cast<std::int32_t>(context->n_batch)) return -1;
  const std::size_t before = context->memory.held.size();
  if (before + static_cast<std::size_t>(batch.n_tokens) > context->n_ctx) return 1;
  for (std::int32_t i = 0; i < batch.n_tokens; ++i) {
    const auto expected = static_cast<llama_pos>(before) + i;
    if (batch.pos[i] != expected || batch.n_seq_id[i] != 1 || batch.seq_id[i][0] != 0) return -1;
  }
  context->logits.clear();
  context->output_of.clear();
  for (std::int32_t i = 0; i < batch.n_tokens; ++i) {
    context->memory.held.push_back(batch.token[i]);
    const auto rows = context->logits.size() / context->model->vocab.pieces.size();
    context->output_of.push_back(batch.logits[i] != 0 ? static_cast<std::int32_t>(rows) : -1);
    if (batch.logits[i] != 0) toy_row(*context, context->logits);
    const auto held = context->memory.held.size(), piece = std::size_t{context->settings.n_ubatch};
    const bool cut = piece > 0 && (held - before) % piece == 0;
    if (context->settings.cb_eval == nullptr || (!cut && i + 1 < batch.n_tokens)) continue;
    const std::size_t first = cut ? held - piece : held - (piece > 0 ? (held - before) % piece : held - before);
    toy_graph(*context, first, held, batch.logits + (first - before));
  }
  const auto size = static_cast<llama_pos>(context->memory.held.size());
  if (context->model->recurrent) context->memory.dropped = size - 1;
  if (context->model->n_swa > 0 && size > context->model->n_swa) context->memory.dropped = size - context->model->n_swa;
  return 0;
}
inline float* llama_get_logits_ith(llama_context* context, std::int32_t i) {
  if (i < 0 || i >= static_cast<std::int32_t>(context->output_of.size())) return nullptr;
  const std::int32_t row = context->output_of[static_cast<std::size_t>(i)];
  return row < 0 ? nullptr
                 : context->logits.data() + static_cast<std::size_t>(row) * context->model->vocab.pieces.size();
}
inline std::size_t llama_state_seq_get_size(llama_context* context, llama_seq_id) {
  return (context->memory.held.size() + 1) * sizeof(llama_token);
}
inline std::size_t llama_state_seq_get_data(llama_context* context, std::uint8_t* out, std::size_t size, llama_seq_id) {
  std::memcpy(out, &context->memory.dropped, sizeof(llama_pos));
  if (size > sizeof(llama_pos))
    std::memcpy(out + sizeof(llama_pos), context->memory.held.data(), size - sizeof(llama_pos));
  return size;
}
inline std::size_t llama_state_seq_set_data(llama_context* context, const std::uint8_t* from, std::size_t size,
                                            llama_seq_id) {
  if (size < sizeof(llama_pos)) return 0;
  std::memcpy(&context->memory.dropped, from, sizeof(llama_pos));
  context->memory.held.resize(size / sizeof(llama_token) - 1);
  if (size > sizeof(llama_pos))
    std::memcpy(context->memory.held.data(), from + sizeof(llama_pos), size - sizeof(llama_pos));
  return size;
}

// Samplers: a penalty for each time that a token was accepted, or a grammar of tokens that grow by no more than 40.
struct llama_token_data {
  llama_token id;
  float logit, p;
};
struct llama_token_data_array {
  llama_token_data* data;
  std::size_t size;
  std::int64_t selected;
  bool sorted;
};
struct llama_sampler {
  float penalty = 0;
  std::uint32_t step = 0;  // of the grammar; 0: none
  std::vector<std::int32_t> counts{};
  llama_token last = -1;
};
inline llama_sampler* toy_penalty(float penalty, std::size_t vocabulary) {
  return new llama_sampler{penalty, 0, std::vector<std::int32_t>(vocabulary), -1};
}
inline llama_sampler* toy_grammar(std::uint32_t step) { return new llama_sampler{0, step, {}, -1}; }
inline void llama_sampler_free(llama_sampler* sampler) { delete sampler; }
inline llama_sampler* llama_sampler_clone(const llama_sampler* sampler) { return new llama_sampler(*sampler); }
inline bool toy_allows(const llama_sampler& grammar, llama_token token) {
  return grammar.last < 0 || token <= grammar.last % 24 + static_cast<llama_token>(grammar.step);
}
inline void llama_sampler_accept(llama_sampler* sampler, llama_token token) {
  if (sampler->step == 0) ++sampler->counts[static_cast<std::size_t>(token)];
  sampler->last = token;
}
inline void llama_sampler_apply(llama_sampler* sampler, llama_token_data_array* all) {
  std::size_t left = 0;
  for (std::size_t i = 0; i < all->size; ++i) {
    llama_token_data one = all->data[i];
    if (sampler->step == 0)
      one.logit -= sampler->penalty * static_cast<float>(sampler->counts[static_cast<std::size_t>(one.id)]);
    if (sampler->step == 0 || toy_allows(*sampler, one.id)) all->data[left++] = one;
  }
  all->size = left;
}

// Every file is the same model, or none.
inline llama_model* toy_file = nullptr;
inline llama_model_params llama_model_default_params() { return {}; }
inline llama_context_params llama_context_default_params() { return {}; }
inline llama_model* llama_model_load_from_file(const char*, llama_model_params) { return toy_file; }
inline void llama_model_free(llama_model*) {}
inline llama_context* llama_init_from_model(llama_model* model, llama_context_params settings) {
  return new llama_context{model, settings.n_ctx};
}
inline void llama_free(llama_context* context) { delete context; }
inline std::int32_t llama_tokenize(const llama_vocab* vocab, const char* text, std::int32_t length, llama_token* out,
                                   std::int32_t room, bool, bool special) {
  const std::string whole(text, static_cast<std::size_t>(length));
  const std::string name = special && vocab->end >= 0 ? vocab->pieces[static_cast<std::size_t>(vocab->end)] : "";
  std::vector<llama_token> ids;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool control = !name.empty() && whole.compare(i, name.size(), name) == 0;
    ids.insert(ids.end(), static_cast<std::size_t>(control ? 1 : vocab->tokens_a_byte),
               control ? vocab->end : whole[i]);
    if (control) i += name.size() - 1;
  }
  const auto tokens = static_cast<std::int32_t>(ids.size());
  if (tokens > room) return -tokens;
  std::copy(ids.begin(), ids.end(), out);
  return tokens;
}

// Every model has the same chat template, or none: "role:text" and what `toy_template` holds, for each turn.
struct llama_chat_message {
  const char *role, *content;
};
inline const char* toy_template = nullptr;
inline const char* llama_model_chat_template(const llama_model*, const char*) { return toy_template; }
inline std::int32_t llama_chat_apply_template(const char* end, const llama_chat_message* turns, std::size_t count, bool,
                                              char* out, std::int32_t room) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += std::string(turns[i].role) + ":" + turns[i].content + end;
  text += "assistant:";
  const auto length = static_cast<std::int32_t>(text.size());
  if (length > 0) std::memcpy(out, text.data(), static_cast<std::size_t>(std::min(length, room)));
  return length;
}

#endif
