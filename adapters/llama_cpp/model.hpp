// SPDX-License-Identifier: Apache-2.0
//! Adapts one sequence of a llama.cpp context to a session's language model (host/language_model.hpp).
//!
//! Open a context, then call `llama_cpp::model::make(context)`. If llama.cpp cannot truncate the model's memory (a
//! recurrent or hybrid model, or an attention window without `swa_full`), wrap the model:
//! `rewinding<llama_cpp::model>`.
//! Guarantees: rows are valid until the next feed. One llama_decode computes all requested rows. Only std::vector can
//!             throw.
//! Deviates:   a position's logits can differ in the last bits, because llama.cpp adds numbers in an order that depends
//!             on the batch size. A greedy text can therefore differ at a near tie.
//! See:        docs/llama.md, tests/adapters/llama_model_test.cpp, examples/llama/two_files.cpp
#ifndef SPECVERIFY_ADAPTERS_LLAMA_CPP_MODEL_HPP
#define SPECVERIFY_ADAPTERS_LLAMA_CPP_MODEL_HPP

#include <specverify/core/views.hpp>

#include <llama_cpp/vocabulary.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN
namespace llama_cpp {

class model {
 public:
  //! Returns a model. The context must outlive the model, and no other code may feed the sequence `id`. The call
  //! empties this sequence.
  //! Errors: null_span (no context, or a context without a memory), vocabulary_too_large.
  [[nodiscard]] static result<model> make(llama_context* context, llama_seq_id id = 0) {
    if (context == nullptr || llama_get_memory(context) == nullptr) return status{errc::null_span, part::host, 0};
    model made(context, id);
    if (made.vocab_size() > max_vocab_size) return status{errc::vocabulary_too_large, part::host, made.vocab_size()};
    (void)llama_memory_seq_rm(llama_get_memory(context), id, -1, -1);  // never fails for a whole sequence
    return made;
  }

  model(const model&) = delete;  // otherwise two copies would feed one sequence
  model& operator=(const model&) = delete;
  model(model&&) noexcept = default;
  model& operator=(model&&) noexcept = default;
  ~model() = default;

  //! Returns the maximum number of positions of a text. `max_text_length` plus the longest draft must not exceed this
  //! number.
  [[nodiscard]] std::uint32_t context_length() const { return llama_n_ctx_seq(context_); }
  [[nodiscard]] std::uint32_t vocab_size() const { return static_cast<std::uint32_t>(llama_vocab_n_tokens(vocab())); }
  [[nodiscard]] const llama_vocab* vocab() const { return llama_model_get_vocab(llama_get_model(context_)); }
  //! Returns false if the model is recurrent or hybrid, because `truncate` cannot work for such a model. Then wrap it
  //! in `rewinding`. An attention window without `swa_full` is not detected.
  [[nodiscard]] bool can_truncate() const {
    const llama_model* const weights = llama_get_model(context_);
    return !llama_model_is_recurrent(weights) && !llama_model_is_hybrid(weights);
  }

  //! Errors: base_length_mismatch (a gap; `where` = positions in the cache), context_full (`where` = context_length()),
  //!         beyond_limit (more rows than one llama_decode can return; `where` = n_batch), the errors of `truncate`,
  //!         engine_failed (`where` = result of llama_decode, as 32 bits).
  [[nodiscard]] status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    if (position > size_) return {errc::base_length_mismatch, part::host, size_};
    if (tokens.size() > context_length() || position > context_length() - tokens.size()) return full();
    if (rows > positions_.size()) return {errc::beyond_limit, part::host, llama_n_batch(context_)};
    if (const status why = truncate(position); !why.ok()) return why;
    while (tokens.size() > positions_.size()) {
      const std::size_t piece = (std::min)(positions_.size(), tokens.size() - rows);
      if (const status why = decode(tokens.first(piece), 0); !why.ok()) return why;
      tokens = tokens.subspan(piece);
    }
    first_row_ = static_cast<std::int32_t>(tokens.size() - rows);
    return tokens.empty() ? status{} : decode(tokens, rows);
  }
  [[nodiscard]] row_view<float> row(std::uint32_t i) const { return logits_row(logits(i)); }
  //! Returns the logits of row i, or an empty span if llama.cpp has none.
  [[nodiscard]] std::span<const float> logits(std::uint32_t i) const {
    const float* const row = llama_get_logits_ith(context_, first_row_ + static_cast<std::int32_t>(i));
    return {row, row == nullptr ? 0 : vocab_size()};
  }

  //! Truncates the sequence. Errors: unsupported (this memory cannot be truncated there; `where` = position).
  [[nodiscard]] status truncate(std::uint32_t position) {
    if (position >= size_) return {};
    llama_memory_t const memory = llama_get_memory(context_);
    const auto from = static_cast<llama_pos>(position);
    // An attention window may have dropped positions that the next query needs.
    const llama_pos seen = (std::max)(0, from - llama_model_n_swa(llama_get_model(context_)));
    const bool dropped = position > 0 && llama_memory_seq_pos_min(memory, id_[0]) > seen && seen < from;
    if (dropped || !llama_memory_seq_rm(memory, id_[0], position == 0 ? -1 : from, -1))
      return {errc::unsupported, part::host, position};
    size_ = position;
    return {};
  }

  //! Returns the state of the whole sequence, for `rewinding`.
  [[nodiscard]] std::vector<std::uint8_t> save() {
    std::vector<std::uint8_t> kept(llama_state_seq_get_size(context_, id_[0]));
    kept.resize(llama_state_seq_get_data(context_, kept.data(), kept.size(), id_[0]));
    return kept;
  }
  //! Restores a state. Errors: engine_failed (0).
  [[nodiscard]] status load(const std::vector<std::uint8_t>& kept) {
    llama_memory_t const memory = llama_get_memory(context_);
    (void)llama_memory_seq_rm(memory, id_[0], -1, -1);
    const bool read = llama_state_seq_set_data(context_, kept.data(), kept.size(), id_[0]) > 0;
    size_ = static_cast<std::uint32_t>(llama_memory_seq_pos_max(memory, id_[0]) + 1);
    return read ? status{} : status{errc::engine_failed, part::host, 0};
  }

 private:
  model(llama_context* context, llama_seq_id id)
      : context_(context),
        id_{id},
        positions_(llama_n_batch(context)),
        wanted_(llama_n_batch(context)),
        ids_(llama_n_batch(context), id_.data()),
        one_(llama_n_batch(context), 1) {}

  [[nodiscard]] status full() const { return {errc::context_full, part::host, context_length()}; }

  //! Feeds up to n_batch tokens after the current end.
  [[nodiscard]] status decode(std::span<const token_id> tokens, std::uint32_t rows) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      positions_[i] = static_cast<llama_pos>(size_ + i);
      wanted_[i] = i + rows >= tokens.size() ? 1 : 0;
    }
    const llama_batch batch{static_cast<std::int32_t>(tokens.size()),
                            const_cast<llama_token*>(tokens.data()),
                            nullptr,
                            positions_.data(),
                            one_.data(),
                            ids_.data(),
                            wanted_.data()};
    const std::int32_t returned = llama_decode(context_, batch);
    size_ = static_cast<std::uint32_t>(llama_memory_seq_pos_max(llama_get_memory(context_), id_[0]) + 1);
    if (returned == 0) return {};
    return returned == 1 ? full() : status{errc::engine_failed, part::host, static_cast<std::uint32_t>(returned)};
  }

  llama_context* context_;
  std::vector<llama_seq_id> id_;  // one id; llama_batch points to it
  std::vector<llama_pos> positions_;
  std::vector<std::int8_t> wanted_;
  std::vector<llama_seq_id*> ids_;
  std::vector<std::int32_t> one_;
  std::uint32_t size_ = 0;
  std::int32_t first_row_ = 0;
};

}  // namespace llama_cpp
SPECVERIFY_NAMESPACE_END

#endif
