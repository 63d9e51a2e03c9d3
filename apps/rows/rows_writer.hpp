// SPDX-License-Identifier: Apache-2.0
//! Writes a rows-1 file row by row. The caller must plan the contents before the first row. The file gets its final
//! name only after every row is written.
#ifndef SPECVERIFY_APPS_ROWS_WRITER_HPP
#define SPECVERIFY_APPS_ROWS_WRITER_HPP

#include "rows_format.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace recorded {

//! Contents of a file.
struct rows_plan {
  std::uint32_t rows = 0;
  std::uint32_t vocab_size = 0;
  dtype logits = dtype::f32;    //!< f16 or f32
  std::uint32_t top = 0;        //!< maximum entries per row, with the rest in one number; 0: whole rows
  std::uint32_t hidden_p = 0;   //!< numbers in a hidden state of the target; 0: not stored
  std::uint32_t hidden_q = 0;   //!< numbers in a hidden state of the drafter
  std::uint32_t attention = 0;  //!< entries of an attention row of the drafter; shorter rows end in zeros
  metadata about{};             //!< strings of the header, except format and vocab_size
};

//! One row of a file. Spans that are not in the plan may be empty.
struct recorded_row {
  specverify::token_id token = 0;  //!< token drawn after this prefix
  std::uint32_t position = 0;      //!< number of tokens before it in the text, including the prompt
  std::span<const float> p{}, q{};
  std::span<const float> hidden_p{}, hidden_q{}, attention{};
};

//! Returns ln of the sum of e^z over the entries that are not among the first `kept` of `order`.
[[nodiscard]] inline double tail_logsumexp(std::span<const float> row, std::span<const std::int32_t> order,
                                           std::size_t kept) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const std::int32_t id : order.subspan(kept)) most = std::max<double>(most, row[static_cast<std::size_t>(id)]);
  if (std::isinf(most)) return most;
  for (const std::int32_t id : order.subspan(kept)) sum += std::exp(double{row[static_cast<std::size_t>(id)]} - most);
  return most + std::log(sum);
}

class rows_writer {
 public:
  //! Throws bad_rows: cannot_write, wrong_shape (no row, no vocabulary, an invalid top).
  rows_writer(std::filesystem::path file, rows_plan plan) : file_(std::move(file)), plan_(std::move(plan)) {
    if (plan_.rows == 0 || plan_.vocab_size == 0 || plan_.vocab_size > specverify::max_vocab_size)
      throw bad_rows(defect::wrong_shape, "a file needs rows and a vocabulary");
    if (plan_.top >= plan_.vocab_size && plan_.top > 0)
      throw bad_rows(defect::wrong_shape, "a row cut to its top entries must keep less than the vocabulary");
    part_ = file_;
    part_ += ".part";
    out_.open(part_, std::ios::binary | std::ios::trunc);
    list_tensors();
    write_header();
  }
  rows_writer(const rows_writer&) = delete;
  rows_writer& operator=(const rows_writer&) = delete;
  ~rows_writer() {
    if (finished_) return;
    out_.close();
    std::error_code ignored;
    std::filesystem::remove(part_, ignored);
  }

  [[nodiscard]] const rows_plan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::uint32_t written() const noexcept { return written_; }

  //! Adds a row. Throws bad_rows: wrong_shape (a span of another size, too many rows), token_out_of_range, row_has_nan,
  //! value_too_large (f16 cannot hold it), cannot_write.
  void add(const recorded_row& row) {
    const std::string where = "row " + std::to_string(written_);
    if (written_ >= plan_.rows) throw bad_rows(defect::wrong_shape, where + " is one too many");
    if (row.token < 0 || static_cast<std::uint32_t>(row.token) >= plan_.vocab_size)
      throw bad_rows(defect::token_out_of_range, where);
    put("tokens", std::span(&row.token, 1));
    const auto position = static_cast<std::int32_t>(row.position);
    put("positions", std::span(&position, 1));
    for (const side which : both_sides) add_logits(which, which == side::target ? row.p : row.q, where);
    add_floats("hidden_p", row.hidden_p, plan_.hidden_p, false, where);
    add_floats("hidden_q", row.hidden_q, plan_.hidden_q, false, where);
    add_floats("attention", row.attention, plan_.attention, true, where);
    if (!out_) throw bad_rows(defect::cannot_write, part_.string());
    ++written_;
  }

  //! Gives the file the final name. Throws bad_rows: rows_missing, cannot_write.
  void finish() {
    if (written_ < plan_.rows)
      throw bad_rows(defect::rows_missing, std::to_string(written_) + " of " + std::to_string(plan_.rows));
    out_.close();
    std::error_code why;
    if (out_) std::filesystem::rename(part_, file_, why);
    if (!out_ || why) throw bad_rows(defect::cannot_write, file_.string());
    finished_ = true;
  }

 private:
  struct planned_tensor {
    std::string name;
    dtype type;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  //!< offset in the data
    [[nodiscard]] std::uint64_t row_bytes() const { return (shape.size() > 1 ? shape[1] : 1) * width_of(type); }
  };

  void plan_tensor(const std::string& name, dtype type, std::uint64_t columns) {
    planned_tensor made{name, type, {plan_.rows}, 0};
    if (columns > 0) made.shape.push_back(columns);
    tensors_.push_back(std::move(made));
  }

  //! Lists entries of 4 bytes first, because every tensor must begin at a multiple of the entry size.
  void list_tensors() {
    plan_tensor("tokens", dtype::i32, 0);
    plan_tensor("positions", dtype::i32, 0);
    for (const side which : both_sides) {
      const std::string letter = letter_of(which);
      if (plan_.top == 0) {
        plan_tensor(letter, plan_.logits, plan_.vocab_size);
        continue;
      }
      plan_tensor(letter + "_top_ids", dtype::i32, plan_.top);
      plan_tensor(letter + "_top_logits", plan_.logits, plan_.top);
      plan_tensor(letter + "_tail_logsumexp", dtype::f32, 0);
    }
    if (plan_.hidden_p > 0) plan_tensor("hidden_p", dtype::f32, plan_.hidden_p);
    if (plan_.hidden_q > 0) plan_tensor("hidden_q", dtype::f32, plan_.hidden_q);
    if (plan_.attention > 0) plan_tensor("attention", dtype::f32, plan_.attention);
    std::stable_sort(tensors_.begin(), tensors_.end(), [](const planned_tensor& a, const planned_tensor& b) {
      return width_of(a.type) > width_of(b.type);
    });
    std::uint64_t at = 0;
    for (planned_tensor& made : tensors_) {
      made.begin = at;
      at += made.row_bytes() * plan_.rows;
    }
  }

  void write_header() {
    nlohmann::json header;
    metadata about = plan_.about;
    about["format"] = format_name;
    about["vocab_size"] = std::to_string(plan_.vocab_size);
    header["__metadata__"] = about;
    for (const planned_tensor& made : tensors_) {
      header[made.name] = {{"dtype", name_of(made.type)},
                           {"shape", made.shape},
                           {"data_offsets", {made.begin, made.begin + made.row_bytes() * plan_.rows}}};
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const std::uint64_t size = text.size();
    out_.write(reinterpret_cast<const char*>(&size), sizeof size);
    out_.write(text.data(), static_cast<std::streamsize>(text.size()));
    data_ = sizeof size + size;
    if (!out_) throw bad_rows(defect::cannot_write, part_.string());
  }

  template <class Value>
  void put(const std::string& name, std::span<const Value> values) {
    const auto made =
        std::find_if(tensors_.begin(), tensors_.end(), [&](const planned_tensor& t) { return t.name == name; });
    out_.seekp(static_cast<std::streamoff>(data_ + made->begin + made->row_bytes() * written_));
    out_.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
  }

  void put_logits(const std::string& name, std::span<const float> values, const std::string& where) {
    if (plan_.logits == dtype::f32) return put(name, values);
    halves_.clear();
    for (const float value : values) {
      halves_.push_back(narrowed(value));
      if ((halves_.back().bits & 0x7fffu) == 0x7c00u && !std::isinf(value))
        throw bad_rows(defect::value_too_large, where + ": " + std::to_string(value) + " is beyond F16");
    }
    put(name, std::span<const specverify::float16_bits>(halves_));
  }

  void add_logits(side which, std::span<const float> row, const std::string& where) {
    const std::string letter = letter_of(which);
    if (row.size() != plan_.vocab_size) throw bad_rows(defect::wrong_shape, where + ", " + letter);
    if (std::any_of(row.begin(), row.end(), [](float value) { return std::isnan(value); }))
      throw bad_rows(defect::row_has_nan, where + ", " + letter);
    if (plan_.top == 0) return put_logits(letter, row, where);
    std::vector<std::int32_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    const auto larger = [row](std::int32_t a, std::int32_t b) {
      const float x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
      return x > y || (x == y && a < b);
    };
    std::partial_sort(order.begin(), order.begin() + plan_.top, order.end(), larger);
    std::vector<float> kept;
    for (std::size_t i = 0; i < plan_.top; ++i) kept.push_back(row[static_cast<std::size_t>(order[i])]);
    put(letter + "_top_ids", std::span<const std::int32_t>(order).first(plan_.top));
    put_logits(letter + "_top_logits", kept, where);
    const auto tail = static_cast<float>(tail_logsumexp(row, order, plan_.top));
    put(letter + "_tail_logsumexp", std::span(&tail, 1));
  }

  void add_floats(const std::string& name, std::span<const float> values, std::size_t size, bool may_be_shorter,
                  const std::string& where) {
    if (size == 0) return;
    if (values.size() > size || (values.size() < size && !may_be_shorter))
      throw bad_rows(defect::wrong_shape, where + ", " + name);
    std::vector<float> padded(values.begin(), values.end());
    padded.resize(size, 0.0f);
    put(name, std::span<const float>(padded));
  }

  std::filesystem::path file_, part_;
  rows_plan plan_;
  std::vector<planned_tensor> tensors_;
  std::ofstream out_;
  std::uint64_t data_ = 0;  //!< offset of the data in the file
  std::uint32_t written_ = 0;
  std::vector<specverify::float16_bits> halves_;
  bool finished_ = false;
};

}  // namespace recorded

#endif
