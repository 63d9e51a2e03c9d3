// SPDX-License-Identifier: Apache-2.0
//! Records a model's results after every prefix once: the hidden state, from which the head computes identical logits,
//! and the attention row if it was requested. Prefixes form a tree, which a file keeps between runs.
//!
//! File: "SVTRACE1", version, dim, probe, number of nodes; all nodes (parent, token, whether there is a state, length
//!       of the attention row); the state and the attention row of each node; checksum. All numbers are little-endian.
//!       The probe is a hash of the model's states on a fixed text, because a file of another model, or of the same
//!       model compiled to other arithmetic, must be rejected.
#ifndef SPECVERIFY_APPS_LAB_TRACE_HPP
#define SPECVERIFY_APPS_LAB_TRACE_HPP

#include "tinylm/tinylm.hpp"

#include <bit>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace lab {

using tinylm::token_id;
using node_id = std::uint32_t;
inline constexpr node_id no_node = ~node_id{0};
inline constexpr node_id root_node = 0;  //!< the empty prefix

//! Hashes bytes to 64 bits. It detects damage, but not malice.
class checksum {
 public:
  void add(const void* data, std::size_t size) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; size >= 8; size -= 8, at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      mix(word);
    }
    std::uint64_t last = size;
    for (; size > 0; --size) last = last << 8 | at[size - 1];
    mix(last);
  }
  [[nodiscard]] std::uint64_t value() const { return state_ ^ state_ >> 29; }

 private:
  void mix(std::uint64_t word) { state_ = (std::rotl(state_, 23) ^ word) * 0x9E3779B97F4A7C15u; }
  std::uint64_t state_ = 0x243F6A8885A308D3u;
};

struct trace_sizes {
  std::size_t nodes = 0;
  std::size_t states = 0;
  std::size_t attention_rows = 0;
};

//! The recorded results of one model. Threads can share a trace, and call any member except `load` at any time.
class model_trace {
 public:
  explicit model_trace(std::shared_ptr<const tinylm::weights> model, std::size_t max_states = 400'000)
      : model_(std::move(model)), max_states_(max_states), nodes_(1), probe_(probe(model_)) {}

  [[nodiscard]] const std::shared_ptr<const tinylm::weights>& model() const { return model_; }
  //! Returns the hash of the model's states on a fixed text: equal where the weights and the arithmetic are.
  [[nodiscard]] std::uint64_t arithmetic() const { return probe_; }

  //! Returns the node for the prefix of `parent` plus `token`. If this node does not exist, the function creates it if
  //! `make` is set and there is room; otherwise it returns no_node.
  [[nodiscard]] node_id child(node_id parent, token_id token, bool make) {
    if (parent == no_node) return no_node;
    const std::uint64_t key = key_of(parent, token);
    {
      const std::shared_lock lock(mutex_);
      const auto found = children_.find(key);
      if (found != children_.end()) return found->second;
      if (!make || nodes_.size() >= 4 * max_states_) return no_node;
    }
    const std::unique_lock lock(mutex_);
    const auto [at, fresh] = children_.emplace(key, static_cast<node_id>(nodes_.size()));
    if (fresh) nodes_.push_back({parent, token, no_node, no_node});
    return at->second;
  }

  [[nodiscard]] bool has(node_id node, bool with_attention) const {
    if (node == no_node) return false;
    const std::shared_lock lock(mutex_);
    return nodes_[node].state != no_node && (!with_attention || nodes_[node].attention != no_node);
  }

  //! Copies the recorded data of a node. `attention` is resized, to 0 if there is none. Returns false if there is no
  //! state.
  [[nodiscard]] bool read(node_id node, std::span<float> hidden, std::vector<float>& attention) const {
    attention.clear();
    if (node == no_node) return false;
    const std::shared_lock lock(mutex_);
    const place& n = nodes_[node];
    if (n.state == no_node) return false;
    std::copy_n(state(n.state), model_->dim, hidden.data());
    if (n.attention != no_node) attention = attention_[n.attention];
    return true;
  }

  //! Stores a node's results. Returns false if there is no node or the trace is full.
  bool record(node_id node, std::span<const float> hidden, std::span<const float> attention) {
    if (node == no_node) return false;
    const std::unique_lock lock(mutex_);
    if (nodes_[node].state == no_node) {
      if (states_ >= max_states_) return false;
      nodes_[node].state = add_state(hidden.data());
    }
    if (!attention.empty() && nodes_[node].attention == no_node) {
      nodes_[node].attention = static_cast<node_id>(attention_.size());
      attention_.emplace_back(attention.begin(), attention.end());
    }
    return true;
  }

  [[nodiscard]] trace_sizes sizes() const {
    const std::shared_lock lock(mutex_);
    return {nodes_.size(), states_, attention_.size()};
  }

  //! Writes the trace to a file. Returns an empty string, or the error.
  [[nodiscard]] std::string save(const std::filesystem::path& path) const;
  //! Replaces all contents by those of the file. Returns an empty string, or the error; on an error nothing changes.
  [[nodiscard]] std::string load(const std::filesystem::path& path);

 private:
  struct place {
    node_id parent = no_node;
    token_id token = -1;
    node_id state = no_node;      // index of the hidden state
    node_id attention = no_node;  // index of the attention row
  };
  struct file_node {
    node_id parent;
    token_id token;
    std::uint32_t has_state;
    std::uint32_t attention_length;
  };
  struct file_head {
    char magic[8] = {'S', 'V', 'T', 'R', 'A', 'C', 'E', '1'};
    std::uint32_t version = 1;
    std::uint32_t dim = 0;
    std::uint64_t probe = 0;
    std::uint64_t nodes = 0;
  };
  static constexpr std::size_t chunk_states = 1024;

  static std::uint64_t key_of(node_id parent, token_id token) {
    return std::uint64_t{parent} << 32 | static_cast<std::uint32_t>(token);
  }

  [[nodiscard]] const float* state(node_id number) const {
    return chunks_[number / chunk_states].data() + number % chunk_states * model_->dim;
  }
  node_id add_state(const float* values) {
    if (states_ % chunk_states == 0) chunks_.emplace_back(chunk_states * model_->dim);
    std::copy_n(values, model_->dim, chunks_.back().data() + states_ % chunk_states * model_->dim);
    return static_cast<node_id>(states_++);
  }

  static std::uint64_t probe(const std::shared_ptr<const tinylm::weights>& model) {
    tinylm::sequence live(model);
    const token_id text[] = {256, 81, 58, 1200, 777, 4000, 32, 10};
    std::vector<token_id> ids;
    for (const token_id id : text) ids.push_back(static_cast<token_id>(static_cast<std::size_t>(id) % model->vocab));
    (void)live.feed(ids, {});
    checksum sum;
    for (std::size_t i = 0; i < ids.size(); ++i) sum.add(live.hidden_row(i).data(), model->dim * sizeof(float));
    sum.add(model->embed.data(), model->embed.size() * sizeof(float));
    return sum.value();
  }

  std::shared_ptr<const tinylm::weights> model_;
  std::size_t max_states_;
  mutable std::shared_mutex mutex_;
  std::vector<place> nodes_;
  std::unordered_map<std::uint64_t, node_id> children_;
  std::vector<std::vector<float>> chunks_;
  std::size_t states_ = 0;
  std::deque<std::vector<float>> attention_;
  std::uint64_t probe_;
};

inline std::string model_trace::save(const std::filesystem::path& path) const {
  static_assert(std::endian::native == std::endian::little);
  const std::shared_lock lock(mutex_);
  const std::filesystem::path fresh = path.string() + ".new";
  std::ofstream file(fresh, std::ios::binary);
  checksum sum;
  const auto write = [&](const void* data, std::size_t size) {
    sum.add(data, size);
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  };
  file_head head;
  head.dim = static_cast<std::uint32_t>(model_->dim);
  head.probe = probe_;
  head.nodes = nodes_.size();
  write(&head, sizeof head);
  for (const place& n : nodes_) {
    const file_node out{n.parent, n.token, n.state != no_node ? 1u : 0u,
                        n.attention != no_node ? static_cast<std::uint32_t>(attention_[n.attention].size()) : 0u};
    write(&out, sizeof out);
  }
  for (const place& n : nodes_) {
    if (n.state != no_node) write(state(n.state), model_->dim * sizeof(float));
    if (n.attention != no_node) write(attention_[n.attention].data(), attention_[n.attention].size() * sizeof(float));
  }
  const std::uint64_t value = sum.value();
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
  file.close();
  if (!file) return path.string() + ": cannot be written";
  std::error_code error;
  std::filesystem::rename(fresh, path, error);
  return error ? path.string() + ": " + error.message() : std::string();
}

inline std::string model_trace::load(const std::filesystem::path& path) {
  const auto wrong = [&](const std::string& what) { return path.string() + ": " + what; };
  std::ifstream file(path, std::ios::binary);
  if (!file) return wrong("cannot be opened");
  checksum sum;
  const auto read = [&](void* data, std::size_t size) {
    file.read(static_cast<char*>(data), static_cast<std::streamsize>(size));
    if (static_cast<std::size_t>(file.gcount()) != size) return false;
    sum.add(data, size);
    return true;
  };
  file_head head, mine;
  if (!read(&head, sizeof head)) return wrong("truncated: no header");
  if (std::memcmp(head.magic, mine.magic, sizeof mine.magic) != 0) return wrong("is not a trace");
  if (head.version != mine.version)
    return wrong("version " + std::to_string(head.version) + ", this program reads " + std::to_string(mine.version));
  if (head.dim != model_->dim || head.probe != probe_) return wrong("recorded with another model or other arithmetic");
  if (head.nodes == 0 || head.nodes > no_node) return wrong("has a bad number of nodes");
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error || head.nodes > bytes / sizeof(file_node)) return wrong("truncated: fewer nodes than in the header");

  model_trace made(model_, max_states_);
  std::vector<file_node> list(head.nodes);
  for (file_node& n : list) {
    if (!read(&n, sizeof n)) return wrong("truncated: in its nodes");
  }
  std::vector<float> values(std::max(model_->dim, model_->context));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const file_node& n = list[i];
    if (i > 0 && n.parent >= i) return wrong("node " + std::to_string(i) + " is before its parent");
    if (i > 0 && (n.token < 0 || static_cast<std::size_t>(n.token) >= model_->vocab))
      return wrong("node " + std::to_string(i) + " has no token");
    if (n.has_state > 1 || n.attention_length > model_->context)
      return wrong("node " + std::to_string(i) + " has bad sizes");
    if (i > 0) {
      if (!made.children_.emplace(key_of(n.parent, n.token), static_cast<node_id>(i)).second)
        return wrong("node " + std::to_string(i) + " is listed twice");
      made.nodes_.push_back({n.parent, n.token, no_node, no_node});
    }
    if (n.has_state != 0) {
      if (!read(values.data(), model_->dim * sizeof(float))) return wrong("truncated: in its states");
      made.nodes_[i].state = made.add_state(values.data());
    }
    if (n.attention_length != 0) {
      if (!read(values.data(), n.attention_length * sizeof(float))) return wrong("truncated: in its attention rows");
      made.nodes_[i].attention = static_cast<node_id>(made.attention_.size());
      made.attention_.emplace_back(values.begin(), values.begin() + n.attention_length);
    }
  }
  std::uint64_t expected = 0;
  const std::uint64_t found = sum.value();
  if (!read(&expected, sizeof expected)) return wrong("truncated: no checksum");
  if (expected != found) return wrong("checksum differs");
  if (file.peek() != std::ifstream::traits_type::eof()) return wrong("has bytes after its checksum");
  nodes_ = std::move(made.nodes_);
  children_ = std::move(made.children_);
  chunks_ = std::move(made.chunks_);
  states_ = made.states_;
  attention_ = std::move(made.attention_);
  return {};
}

}  // namespace lab

#endif
