// SPDX-License-Identifier: Apache-2.0
//! Adds `truncate` to a model that has none, for example to a recurrent model.
//!
//! A session needs `truncate`, because it truncates the caches of both models after a rejection. Instead, `rewinding`
//! feeds ids again: either all ids from position 0, or only the ids after the last checkpoint. The model must start a
//! new text when it is fed at position 0. Checkpoints need `save` and `load`. The last one is at or before the position
//! of the last `keep_from`.
//! Guarantees: the rows equal the rows of a model that was fed the same ids without truncation. Ids that are fed again
//!             request no rows.
//! Cost:       O(ids fed), plus the time of the model; only `make` and the model's `save` allocate.
//! See:        docs/algorithms/host.md, tests/unit/host/rewinding_test.cpp
#ifndef SPECVERIFY_HOST_REWINDING_HPP
#define SPECVERIFY_HOST_REWINDING_HPP

#include <specverify/host/detail/wrapped_model.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

struct nothing_saved {};
template <class Model>
struct checkpoint_of {
  using type = nothing_saved;
};
template <saving_model Model>
struct checkpoint_of<Model> {
  using type = decltype(std::declval<Model&>().save());
};

}  // namespace detail

//! Refers to the model, which must outlive it.
template <language_model Model>
class rewinding : public detail::wrapped_model<Model> {
 public:
  //! `max_length` is the maximum number of positions that are fed: the session's max_text_length plus the longest
  //! draft. Errors: invalid_argument (`max_length` is 0).
  [[nodiscard]] static result<rewinding> make(Model& model, std::uint32_t max_length) {
    if (max_length == 0) return status{errc::invalid_argument, part::session, 0};
    return rewinding(model, max_length);
  }

  //! Errors: the model's errors; base_length_mismatch (`position` is after the ids fed so far; `where` = number of
  //! these ids), invalid_argument (the text is longer than `max_length`; `where` = `max_length`).
  [[nodiscard]] status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    if (position > size_) return {errc::base_length_mismatch, part::session, size_};
    if (tokens.size() > ids_.size() - position)
      return {errc::invalid_argument, part::session, static_cast<std::uint32_t>(ids_.size())};
    truncate(position);
    std::copy(tokens.begin(), tokens.end(), ids_.begin() + static_cast<std::ptrdiff_t>(position));
    const auto end = position + static_cast<std::uint32_t>(tokens.size());
    const result<std::uint32_t> stands = go_back(position);
    if (!stands) return stands.error();
    const result<std::uint32_t> from = save_on_the_way(*stands, end, rows);
    if (!from) return from.error();
    in_step_ = false;
    if (const status why = model_->feed(*from, fed(*from, end), rows); !why.ok()) return why;
    in_step_ = true;
    size_ = end;
    return {};
  }
  [[nodiscard]] decltype(auto) row(std::uint32_t i) requires row_model<Model> { return model_->row(i); }
  [[nodiscard]] token_id token(std::uint32_t i) requires token_model<Model> { return model_->token(i); }

  void truncate(std::uint32_t position) {
    if (position >= size_) return;
    size_ = position;
    in_step_ = false;
  }
  [[nodiscard]] status keep_from(std::uint32_t position) {
    keep_ = position;
    return wrapped::keep_from(position);
  }

 private:
  using wrapped = detail::wrapped_model<Model>;
  using wrapped::model_;

  rewinding(Model& model, std::uint32_t max_length) : wrapped(model), ids_(max_length) {}

  [[nodiscard]] std::span<const token_id> fed(std::uint32_t from, std::uint32_t end) const noexcept {
    return std::span<const token_id>(ids_).subspan(from, end - from);
  }

  //! Returns the position to feed from: `from` if the model has seen exactly the ids before it, otherwise the position
  //! of the checkpoint, whose state it loads, or 0.
  [[nodiscard]] result<std::uint32_t> go_back(std::uint32_t from) {
    if (from == 0) saved_.reset();
    if (in_step_ || from == 0) return from;
    if constexpr (saving_model<Model>) {
      if (saved_.has_value() && saved_at_ <= from) {
        if (const status why = detail::status_of([&] { return model_->load(*saved_); }); !why.ok()) return why;
        return saved_at_;
      }
    }
    return std::uint32_t{0};
  }

  //! Saves the model's state at keep_ if this feed passes keep_ before the wanted rows, or at `from` if `from` is at
  //! most keep_. Feeds the ids before the saved position. Returns the position from which to continue.
  [[nodiscard]] result<std::uint32_t> save_on_the_way(std::uint32_t from, std::uint32_t end, std::uint32_t rows) {
    if constexpr (saving_model<Model>) {
      const std::uint32_t at = keep_ > from && keep_ < end && end - keep_ >= rows ? keep_ : from;
      if (at > keep_ || at == 0 || (saved_.has_value() && saved_at_ >= at)) return from;
      if (at > from) {
        in_step_ = false;
        if (const status why = model_->feed(from, fed(from, at), 0); !why.ok()) return why;
      }
      saved_.emplace(model_->save());
      saved_at_ = at;
      return at;
    }
    return from;
  }

  std::vector<token_id> ids_;
  std::optional<typename detail::checkpoint_of<Model>::type> saved_{};
  std::uint32_t saved_at_ = 0;
  std::uint32_t keep_ = 0;
  std::uint32_t size_ = 0;
  bool in_step_ = true;  // the model has seen exactly the ids up to size_
};

SPECVERIFY_NAMESPACE_END

#endif
