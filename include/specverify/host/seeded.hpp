// SPDX-License-Identifier: Apache-2.0
//! Adds shared noise to a model's rows, so that the largest entry of a row is the token that row/race.hpp would draw.
//!
//! Use it with the method `greedy`: wrap the models of both sides with the same key. The text is then the one that the
//! target alone would draw with this key, and a draft is accepted if both models draw the same token. The method
//! `shared-noise` is much faster, because `seeded` writes V doubles per row.
//! Symbols:    entry = z - T ln E, with the logit z (ln p for a row of probabilities p), the temperature T, and E of
//!             core/noise.hpp.
//! Guarantees: rows are valid until the next feed. The session still applies the model's bias and mask.
//! Cost:       O(V) per row; only `make` allocates.
//! See:        docs/algorithms/coupled.md, tests/unit/host/seeded_test.cpp
#ifndef SPECVERIFY_HOST_SEEDED_HPP
#define SPECVERIFY_HOST_SEEDED_HPP

#include <specverify/core/noise.hpp>
#include <specverify/host/detail/wrapped_model.hpp>
#include <specverify/row/detail/open.hpp>

#include <span>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN

struct seeded_options {
  coupling_noise noise{};        //!< must be the same on both sides
  std::uint32_t vocab_size = 0;  //!< V, 1 .. max_vocab_size
  std::uint32_t most_rows = 1;   //!< rows per feed: 1 on the device, the longest draft + 1 in the cloud
  double temperature = 1;        //!< T, finite, > 0
};

//! A model with shared noise. Refers to the given model, which must outlive this object.
template <row_model Model>
class seeded : public detail::wrapped_model<Model> {
 public:
  //! Errors: invalid_argument (`where` = 0: vocab_size, 1: most_rows, 2: temperature).
  [[nodiscard]] static result<seeded> make(Model& model, const seeded_options& options) {
    const auto wrong = [](std::uint32_t where) { return status{errc::invalid_argument, part::session, where}; };
    if (options.vocab_size == 0 || options.vocab_size > max_vocab_size) return wrong(0);
    if (options.most_rows == 0) return wrong(1);
    if (!numeric::is_finite(options.temperature) || !(options.temperature > 0)) return wrong(2);
    return seeded(model, options);
  }

  //! Errors: the model's errors; invalid_argument (`where` = 1: more rows than `most_rows`).
  [[nodiscard]] status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    if (rows > options_.most_rows) return {errc::invalid_argument, part::session, 1};
    first_ = position + static_cast<std::uint32_t>(tokens.size()) - rows + 1;
    return model_->feed(position, tokens, rows);
  }
  //! Returns row i with noise. Entries beyond V, for example padding, are omitted.
  [[nodiscard]] row_view<double> row(std::uint32_t i) {
    const auto given = model_->row(i);
    const auto source = detail::open(given, row_transform{});
    const std::uint32_t size = given.valid_size() < options_.vocab_size ? given.valid_size() : options_.vocab_size;
    double* const out = rows_.data() + std::size_t{i} * options_.vocab_size;
    for (std::uint32_t id = 0; id < size; ++id) {
      const auto value = static_cast<double>(source.value(id));
      const double time = options_.noise.time(first_ + i, static_cast<token_id>(id));
      out[id] = (source.probabilities ? logarithm(value) : value) - options_.temperature * numeric::log(time);
    }
    return {row_kind::logits, out, size};
  }
  [[nodiscard]] status truncate(std::uint32_t position) requires truncating_model<Model> {
    return detail::status_of([&] { return model_->truncate(position); });
  }
  [[nodiscard]] decltype(auto) save() requires saving_model<Model> { return model_->save(); }
  template <class State>
  [[nodiscard]] status load(const State& state) requires saving_model<Model> {
    return detail::status_of([&] { return model_->load(state); });
  }

 private:
  using detail::wrapped_model<Model>::model_;

  seeded(Model& model, const seeded_options& options)
      : detail::wrapped_model<Model>(model),
        options_(options),
        rows_(std::size_t{options.most_rows} * options.vocab_size) {}

  [[nodiscard]] static double logarithm(double probability) noexcept {
    return probability > 0 ? numeric::log(probability) : kernel::negative_infinity<double>();
  }

  seeded_options options_;
  std::vector<double> rows_;
  std::uint32_t first_ = 0;  // text position that row 0 decides
};

SPECVERIFY_NAMESPACE_END

#endif
