// SPDX-License-Identifier: Apache-2.0
//! Base class of wrappers of a model. A wrapper passes on the model's optional members. It has an optional member only
//! if the model has it, except for `keep_from`.
#ifndef SPECVERIFY_HOST_DETAIL_WRAPPED_MODEL_HPP
#define SPECVERIFY_HOST_DETAIL_WRAPPED_MODEL_HPP

#include <specverify/host/language_model.hpp>

#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

template <language_model Model>
class wrapped_model {
 public:
  [[nodiscard]] decltype(auto) hidden(std::uint32_t i) requires requires(Model& m) { m.hidden(i); }
  { return model_->hidden(i); }
  [[nodiscard]] decltype(auto) attention(std::uint32_t i) requires requires(Model& m) { m.attention(i); }
  { return model_->attention(i); }
  template <class Transform>
  [[nodiscard]] decltype(auto) transform(std::uint32_t i, const Transform& base) requires requires(Model& m) {
    m.transform(i, base);
  }
  { return model_->transform(i, base); }
  [[nodiscard]] status failed() const requires requires(Model& m) { m.failed(); }
  { return model_->failed(); }
  [[nodiscard]] status scores(const session_output& asked, std::span<double> out) requires requires(Model& m) {
    m.scores(asked, out);
  }
  { return model_->scores(asked, out); }
  //! Returns ok if the model has no `keep_from`.
  [[nodiscard]] status keep_from(std::uint32_t position) {
    if constexpr (requires { model_->keep_from(position); })
      return status_of([&] { return model_->keep_from(position); });
    return {};
  }

 protected:
  explicit wrapped_model(Model& model) noexcept : model_(&model) {}

  Model* model_;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
