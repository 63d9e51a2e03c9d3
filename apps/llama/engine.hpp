// SPDX-License-Identifier: Apache-2.0
//! Opens a GGUF file as a session's language model with a minimum time per pass. If llama.cpp cannot truncate the
//! model's memory, the engine wraps the model in `rewinding`.
#ifndef LLAMA_PAIR_ENGINE_HPP
#define LLAMA_PAIR_ENGINE_HPP

#include <llama_cpp/inside.hpp>
#include <llama_cpp/model.hpp>
#include <specverify/host/rewinding.hpp>

#include "failure.hpp"

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <thread>

namespace llama_pair {

//! Faults to inject from the third pass on, in order to test the reports.
enum class engine_fault { none, nan_row, failed_decode };

class engine {
 public:
  //! `wanted`: parts of the graph to observe. Throws failure if the file is missing or llama.cpp cannot read it.
  engine(const std::string& file, std::uint32_t context_length, int threads,
         specverify::llama_cpp::inside_parts wanted = {false, false})
      : seen_(wanted) {
    weights_.reset(llama_model_load_from_file(file.c_str(), llama_model_default_params()));
    if (!weights_)
      throw failure(exit_code::model_missing, "missing model: " + file + " cannot be opened as a GGUF model");
    llama_context_params settings = llama_context_default_params();
    settings.n_ctx = context_length;
    settings.n_threads = settings.n_threads_batch = threads;
    if (wanted.hidden || wanted.attention) seen_.watch(settings, weights_.get());
    context_.reset(llama_init_from_model(weights_.get(), settings));
    auto made = specverify::llama_cpp::model::make(context_.get());
    if (!made) throw failure(exit_code::model_missing, "missing model: no context of " + file);
    model_.emplace(*std::move(made), seen_);
    if (!model_->can_truncate()) {
      auto wrapped = specverify::rewinding<watched_model>::make(*model_, model_->context_length());
      rewound_.emplace(*std::move(wrapped));
    }
    fingerprint_ = specverify::llama_cpp::fingerprint_of(vocab());
    ends_ = specverify::llama_cpp::stop_tokens_of(vocab());
  }
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  [[nodiscard]] specverify::status feed(std::uint32_t position, std::span<const specverify::token_id> tokens,
                                        std::uint32_t rows) {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    if (++fed_ > 3 && fault == engine_fault::failed_decode)
      return {specverify::errc::engine_failed, specverify::part::host, static_cast<std::uint32_t>(-3)};
    const specverify::status why =
        rewound_ ? rewound_->feed(position, tokens, rows) : model_->feed(position, tokens, rows);
    unpaced_seconds += std::chrono::duration<double>(clock::now() - begin).count();
    if (pass_seconds > 0) std::this_thread::sleep_until(begin + std::chrono::duration<double>(pass_seconds));
    seconds += std::chrono::duration<double>(clock::now() - begin).count();
    ++passes;
    return why;
  }
  [[nodiscard]] specverify::row_view<float> row(std::uint32_t i) {
    if (fed_ <= 3 || fault != engine_fault::nan_row) return model_->row(i);
    nan_row_.assign(model_->vocab_size(), std::numeric_limits<float>::quiet_NaN());
    return specverify::logits_row(std::span<const float>(nan_row_));
  }
  [[nodiscard]] specverify::status truncate(std::uint32_t position) {
    if (!rewound_) return model_->truncate(position);
    rewound_->truncate(position);
    return {};
  }
  [[nodiscard]] specverify::status keep_from(std::uint32_t position) {
    return rewound_ ? rewound_->keep_from(position) : specverify::status{};
  }
  //! Return the observed part, or an empty span if it was not requested.
  [[nodiscard]] std::span<const float> hidden(std::uint32_t i) const { return model_->hidden(i); }
  [[nodiscard]] std::span<const float> attention(std::uint32_t i) const { return model_->attention(i); }

  //! Returns the i-th of the last `rows` logits, for readers without a session.
  [[nodiscard]] std::span<const float> logits(std::uint32_t i = 0, std::uint32_t rows = 1) const {
    const auto from_the_end = static_cast<std::int32_t>(i) - static_cast<std::int32_t>(rows);
    return {llama_get_logits_ith(context_.get(), from_the_end), model_->vocab_size()};
  }
  //! Returns the adapter, for wrappers.
  [[nodiscard]] specverify::llama_cpp::model& model() { return *model_; }
  [[nodiscard]] const llama_vocab* vocab() const { return model_->vocab(); }
  [[nodiscard]] const llama_model* weights() const { return weights_.get(); }
  [[nodiscard]] std::uint32_t vocab_size() const { return model_->vocab_size(); }
  [[nodiscard]] std::uint32_t context_length() const { return model_->context_length(); }
  [[nodiscard]] specverify::vocabulary_fingerprint fingerprint() const { return fingerprint_; }
  [[nodiscard]] std::span<const specverify::token_id> ends() const { return ends_; }
  //! Returns the text to show; it is empty for the end of a text.
  [[nodiscard]] std::string piece(specverify::token_id token) const {
    return llama_vocab_is_eog(vocab(), token) ? std::string{} : specverify::llama_cpp::piece_of(vocab(), token);
  }

  double pass_seconds = 0;  //!< minimum seconds per pass
  engine_fault fault = engine_fault::none;
  std::uint64_t passes = 0;
  double seconds = 0;  //!< seconds in all passes
  double unpaced_seconds = 0;

 private:
  using watched_model = specverify::llama_cpp::with_inside<specverify::llama_cpp::model>;
  specverify::llama_cpp::inside seen_;
  std::unique_ptr<llama_model, decltype(&llama_model_free)> weights_{nullptr, llama_model_free};
  std::unique_ptr<llama_context, decltype(&llama_free)> context_{nullptr, llama_free};
  std::optional<watched_model> model_;
  std::optional<specverify::rewinding<watched_model>> rewound_;
  specverify::vocabulary_fingerprint fingerprint_{};
  std::vector<specverify::token_id> ends_;
  std::vector<float> nan_row_;
  std::uint64_t fed_ = 0;
};

}  // namespace llama_pair

#endif
