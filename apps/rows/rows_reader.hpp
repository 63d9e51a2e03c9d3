// SPDX-License-Identifier: Apache-2.0
//! Reads a rows-1 file in place, mapped into memory. Every defect of a file is reported by name, and nothing outside
//! the file is read. Logits are checked only when they are used.
#ifndef SPECVERIFY_APPS_ROWS_READER_HPP
#define SPECVERIFY_APPS_ROWS_READER_HPP

#include "../../models/tinylm/strict_json.hpp"
#include "../edge_cloud/whole_number.hpp"
#include "rows_format.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace recorded {

//! A file, mapped for reading.
class mapped_file {
 public:
  explicit mapped_file(const std::filesystem::path& file) {
    const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about {};
    if (opened < 0 || ::fstat(opened, &about) != 0 || !S_ISREG(about.st_mode)) {
      if (opened >= 0) ::close(opened);
      throw bad_rows(defect::cannot_open, file.string());
    }
    size_ = static_cast<std::size_t>(about.st_size);
    if (size_ > 0) data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, opened, 0);
    ::close(opened);
    if (data_ == MAP_FAILED) throw bad_rows(defect::cannot_open, file.string());
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

class rows_file {
 public:
  //! Throws bad_rows for every defect except those of values, cannot_write and rows_missing; also throws
  //! token_out_of_range.
  explicit rows_file(const std::filesystem::path& file) : map_(file) {
    read_header();
    rows_ = needed("tokens", dtype::i32, 1).shape[0];
    if (rows_ == 0) throw bad_rows(defect::wrong_shape, "tokens has no entry");
    for (const side which : both_sides) check_side(which);
    for (const char* name : {"hidden_p", "hidden_q", "attention"}) {
      if (has(name)) check_shape(name, needed(name, dtype::f32, 2), 0);
    }
    if (has("positions")) check_shape("positions", needed("positions", dtype::i32, 1), 0);
    for (const std::int32_t token : tokens()) {
      if (token < 0 || static_cast<std::uint32_t>(token) >= vocab_size_)
        throw bad_rows(defect::token_out_of_range, "token " + std::to_string(token));
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return rows_; }
  [[nodiscard]] std::uint32_t vocab_size() const noexcept { return vocab_size_; }
  [[nodiscard]] const metadata& about() const noexcept { return about_; }
  [[nodiscard]] bool has(const std::string& name) const { return tensors_.contains(name); }
  [[nodiscard]] bool has_whole_rows(side which) const { return has(letter_of(which)); }
  [[nodiscard]] dtype type_of(side which) const {
    const std::string letter = letter_of(which);
    return tensors_.at(has_whole_rows(which) ? letter : letter + "_top_logits").type;
  }

  [[nodiscard]] std::span<const std::int32_t> tokens() const { return values<std::int32_t>("tokens"); }
  //! Returns row i of an optional tensor of floats: hidden_p, hidden_q, attention.
  [[nodiscard]] std::span<const float> floats(const std::string& name, std::size_t i) const {
    return row_of<float>(name, i);
  }

  //! Returns row i in place. Scalar must be the stored type: float, or float16_bits. Throws bad_rows: wrong_dtype,
  //! no_such_row. It does not look for NaN; the reader of the row does (errc::row_has_nan).
  template <class Scalar>
  [[nodiscard]] specverify::row_view<Scalar> view(side which, std::size_t i) const {
    constexpr dtype wanted = sizeof(Scalar) == 2 ? dtype::f16 : dtype::f32;
    if (!has_whole_rows(which) || type_of(which) != wanted)
      throw bad_rows(defect::wrong_dtype, std::string(letter_of(which)) + " has no such rows");
    return specverify::logits_row(row_of<Scalar>(letter_of(which), i));
  }

  //! Writes row i as V floats. A row that was cut to the largest entries is rebuilt: all other tokens share the tail
  //! evenly. Throws bad_rows: row_has_nan, bad_top_ids, no_such_row, wrong_shape (`out` must have V entries).
  void logits(side which, std::size_t i, std::span<float> out) const {
    if (out.size() != vocab_size_) throw bad_rows(defect::wrong_shape, "a row has V entries");
    const std::string letter = letter_of(which);
    if (has_whole_rows(which)) {
      widen(letter, i, out);
    } else {
      rebuild(letter, i, out);
    }
    if (std::any_of(out.begin(), out.end(), [](float value) { return std::isnan(value); }))
      throw bad_rows(defect::row_has_nan, letter + ", row " + std::to_string(i));
  }

 private:
  struct tensor {
    dtype type = dtype::f32;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0, end = 0;
    [[nodiscard]] std::uint64_t columns() const { return shape.size() > 1 ? shape[1] : 1; }
  };

  void read_header() {
    const auto bytes = map_.bytes();
    std::uint64_t length = 0;
    if (bytes.size() < sizeof length) throw bad_rows(defect::truncated, "shorter than the length of its header");
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > bytes.size() - sizeof length)
      throw bad_rows(defect::truncated, "the header extends beyond the end of the file");
    const auto* text = reinterpret_cast<const char*>(bytes.data()) + sizeof length;
    const auto header = tinylm::strict_object({text, static_cast<std::size_t>(length)});
    if (!header.ok()) throw bad_rows(defect::bad_header, header.error);
    data_ = bytes.subspan(sizeof length + static_cast<std::size_t>(length));
    if (length % 4 != 0) throw bad_rows(defect::misaligned, "the data does not begin at a multiple of 4");
    for (const auto& [name, entry] : header->items()) {
      if (name == "__metadata__") {
        read_about(entry);
      } else {
        tensors_.emplace(name, read_tensor(name, entry));
      }
    }
    check_about();
    check_offsets();
  }

  void read_about(const nlohmann::json& entry) {
    if (!entry.is_object()) throw bad_rows(defect::bad_metadata, "not a JSON object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) throw bad_rows(defect::bad_metadata, key + " is not a string");
      about_[key] = value.template get<std::string>();
    }
  }

  void check_about() {
    if (about_["format"] != format_name) throw bad_rows(defect::unknown_format, "'" + about_["format"] + "'");
    const std::string& size = about_["vocab_size"];
    const auto entries = edge_cloud::whole_number_from(size);
    if (!entries || *entries == 0 || *entries > specverify::max_vocab_size)
      throw bad_rows(defect::bad_metadata, "vocab_size is '" + size + "'");
    vocab_size_ = static_cast<std::uint32_t>(*entries);
    if (!about_.contains("fingerprint")) throw bad_rows(defect::bad_metadata, "there is no fingerprint");
  }

  //! Returns whether a tensor belongs to this format and so must have one of its types. Other tensors are never read.
  [[nodiscard]] static bool is_ours(std::string_view name) {
    static constexpr std::string_view both[] = {"tokens", "positions", "attention"};
    static constexpr std::string_view either[] = {"p", "p_top_ids", "p_top_logits", "p_tail_logsumexp", "hidden_p"};
    std::string its(name);
    if (its.starts_with('q')) its.front() = 'p';
    if (its == "hidden_q") its.back() = 'p';
    return std::find(std::begin(both), std::end(both), its) != std::end(both) ||
           std::find(std::begin(either), std::end(either), its) != std::end(either);
  }
  [[nodiscard]] static dtype type_named(const std::string& name, const std::string& type) {
    for (const dtype its : {dtype::f16, dtype::f32, dtype::i32}) {
      if (type == name_of(its)) return its;
    }
    throw bad_rows(defect::wrong_dtype, name + " is neither F16, F32 nor I32");
  }
  //! Returns the bytes of an entry of any safetensors type, or 0 for an unknown type.
  [[nodiscard]] static std::size_t width_named(std::string_view type) {
    static constexpr std::pair<std::string_view, std::size_t> widths[] = {
        {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
        {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"I64", 8},     {"U64", 8}, {"F64", 8}};
    const auto* const found =
        std::find_if(std::begin(widths), std::end(widths), [&](const auto& known) { return known.first == type; });
    return found == std::end(widths) ? 0 : found->second;
  }

  [[nodiscard]] tensor read_tensor(const std::string& name, const nlohmann::json& entry) const {
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
      throw bad_rows(defect::bad_tensor, name + " lacks dtype, shape or data_offsets");
    const nlohmann::json& shape = entry["shape"];
    const nlohmann::json& offsets = entry["data_offsets"];
    const auto is_number = [](const nlohmann::json& value) { return value.is_number_unsigned(); };
    if (!entry["dtype"].is_string() || !shape.is_array() || !std::all_of(shape.begin(), shape.end(), is_number) ||
        !offsets.is_array() || offsets.size() != 2 || !std::all_of(offsets.begin(), offsets.end(), is_number))
      throw bad_rows(defect::bad_tensor, name + " must have a type as text, and a shape and offsets as numbers");
    const auto type = entry["dtype"].get<std::string>();
    tensor made;
    if (is_ours(name)) made.type = type_named(name, type);
    made.shape = shape.get<std::vector<std::uint64_t>>();
    made.begin = offsets[0].get<std::uint64_t>();
    made.end = offsets[1].get<std::uint64_t>();
    if (made.end > data_.size()) throw bad_rows(defect::truncated, name + " extends beyond the end of the file");
    if (made.begin > made.end) throw bad_rows(defect::wrong_shape, name + " ends before it begins");
    check_extents(name, made, width_named(type));
    return made;
  }
  void check_extents(const std::string& name, const tensor& made, std::size_t width) const {
    const bool ours = is_ours(name), empty = std::find(made.shape.begin(), made.shape.end(), 0u) != made.shape.end();
    if (ours && empty) throw bad_rows(defect::wrong_shape, name + " has no entry");
    if (width == 0) return;
    std::uint64_t left = data_.size() / width, count = empty ? 0 : 1;
    for (const std::uint64_t extent : made.shape) {
      if (empty) break;
      if (extent > left) throw bad_rows(defect::wrong_shape, name + " is larger than the file");
      count *= extent;
      left /= extent;
    }
    if (made.end - made.begin != count * width)
      throw bad_rows(defect::wrong_shape, name + " has offsets that contradict its shape");
    if (ours && made.begin % width != 0) throw bad_rows(defect::misaligned, name);
  }

  void check_offsets() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const auto& [name, found] : tensors_) ranges.emplace_back(found.begin, found.end);
    std::sort(ranges.begin(), ranges.end());
    std::uint64_t end = 0;
    for (const auto& [first, last] : ranges) {
      if (first < end) throw bad_rows(defect::overlapping_offsets, "at byte " + std::to_string(first));
      if (first > end) throw bad_rows(defect::gap_between_tensors, "at byte " + std::to_string(end));
      end = last;
    }
    if (end != data_.size()) throw bad_rows(defect::trailing_bytes, "after the last tensor");
  }

  [[nodiscard]] const tensor& needed(const std::string& name, dtype type, std::size_t dimensions) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) throw bad_rows(defect::missing_tensor, name);
    if (found->second.type != type) throw bad_rows(defect::wrong_dtype, name + " is not " + std::string(name_of(type)));
    if (found->second.shape.size() != dimensions)
      throw bad_rows(defect::wrong_shape, name + " has " + std::to_string(found->second.shape.size()) + " dimensions");
    return found->second;
  }
  //! Returns a tensor of logits, which may be f16 or f32.
  [[nodiscard]] const tensor& needed_logits(const std::string& name) const {
    const auto found = tensors_.find(name);
    const bool half = found != tensors_.end() && found->second.type == dtype::f16;
    return needed(name, half ? dtype::f16 : dtype::f32, 2);
  }
  //! Throws bad_rows (wrong_shape) if a tensor does not have one row per token. `columns` = 0 allows any number of
  //! columns.
  void check_shape(const std::string& name, const tensor& found, std::uint64_t columns) const {
    if (found.shape[0] != rows_ || (columns > 0 && found.columns() != columns))
      throw bad_rows(defect::wrong_shape, name + " contradicts tokens or vocab_size");
  }

  void check_side(side which) const {
    const std::string letter = letter_of(which), ids = letter + "_top_ids", top = letter + "_top_logits",
                      tail = letter + "_tail_logsumexp";
    const bool cut = has(ids) || has(top) || has(tail);
    if (has(letter) && cut)
      throw bad_rows(defect::two_forms, letter + " is present both whole and cut to its top entries");
    if (!cut) return check_shape(letter, needed_logits(letter), vocab_size_);
    const tensor& kept = needed(ids, dtype::i32, 2);
    check_shape(ids, kept, 0);
    if (kept.columns() >= vocab_size_) throw bad_rows(defect::wrong_shape, ids + " leaves no tail");
    check_shape(top, needed_logits(top), kept.columns());
    check_shape(tail, needed(tail, dtype::f32, 1), 0);
  }

  template <class Value>
  [[nodiscard]] std::span<const Value> values(const std::string& name) const {
    const tensor& found = tensors_.at(name);
    return {reinterpret_cast<const Value*>(data_.data() + found.begin),
            static_cast<std::size_t>((found.end - found.begin) / sizeof(Value))};
  }
  template <class Value>
  [[nodiscard]] std::span<const Value> row_of(const std::string& name, std::size_t i) const {
    if (i >= rows_) throw bad_rows(defect::no_such_row, std::to_string(i) + " of " + std::to_string(rows_));
    const auto columns = static_cast<std::size_t>(tensors_.at(name).columns());
    return values<Value>(name).subspan(i * columns, columns);
  }

  void widen(const std::string& name, std::size_t i, std::span<float> out) const {
    if (tensors_.at(name).type == dtype::f32) {
      const auto row = row_of<float>(name, i);
      std::copy(row.begin(), row.end(), out.begin());
    } else {
      const auto row = row_of<specverify::float16_bits>(name, i);
      std::transform(row.begin(), row.end(), out.begin(), widened);
    }
  }

  void rebuild(const std::string& letter, std::size_t i, std::span<float> out) const {
    const auto ids = row_of<std::int32_t>(letter + "_top_ids", i);
    std::vector<float> kept(ids.size());
    widen(letter + "_top_logits", i, kept);
    const double others = static_cast<double>(out.size() - ids.size());
    const double tail = row_of<float>(letter + "_tail_logsumexp", i)[0];
    std::fill(out.begin(), out.end(), static_cast<float>(tail - std::log(others)));
    std::vector<bool> seen(out.size());
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const auto id = static_cast<std::size_t>(ids[k]);
      if (ids[k] < 0 || id >= out.size() || seen[id])
        throw bad_rows(defect::bad_top_ids, letter + ", row " + std::to_string(i));
      seen[id] = true;
      out[id] = kept[k];
    }
  }

  mapped_file map_;
  std::span<const std::byte> data_{};
  std::map<std::string, tensor> tensors_;
  metadata about_;
  std::uint32_t vocab_size_ = 0;
  std::size_t rows_ = 0;
};

}  // namespace recorded

#endif
