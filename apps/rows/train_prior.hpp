// SPDX-License-Identifier: Apache-2.0
//! Makes a table of id weights (codec/prior_table.hpp) from texts.
//!
//! Weights and shares are counts of the texts. Lists of followers are chosen by the bits that they save per byte of the
//! file. Texts are cut into pieces of at most 256 ids. The mixing weights are fitted on every fifth piece, with a table
//! made from the other pieces. Therefore a list gets only the weight that it deserves on new text.
#ifndef SPECVERIFY_APPS_ROWS_TRAIN_PRIOR_HPP
#define SPECVERIFY_APPS_ROWS_TRAIN_PRIOR_HPP

#include <specverify/codec/token_prior.hpp>

#include "../prior_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace priors {

namespace sv = specverify;
using texts = std::vector<std::vector<sv::token_id>>;
using mixing_rows = std::array<std::array<std::uint8_t, sv::prior_sources>, sv::prior_source_sets>;
using follower_counts = std::map<sv::token_id, std::uint32_t>;
//! Counts of the ids that follow one id or two ids (the context).
using context_counts = std::map<std::vector<sv::token_id>, follower_counts>;

//! Added to the count of every id, because a text can have ids that the texts of the table do not have. For the drafts
//! of both pairs of docs/choosing.md (V = 4096 and 49 152), no other constant saves more than 0.03 bits per id.
inline constexpr double unseen_count = 0.25;

struct table_settings {
  std::uint32_t vocab_size = 0;
  std::size_t max_bytes = 16384;  //!< maximum bytes of the file
};

//! Returns the byte whose weight is nearest to a value.
inline std::uint8_t byte_of(double value) {
  unsigned best = 0;
  for (unsigned b = 1; b < 256; ++b) {
    const double now = sv::prior_weight(static_cast<std::uint8_t>(b)),
                 before = sv::prior_weight(static_cast<std::uint8_t>(best));
    if (std::abs(now - value) < std::abs(before - value)) best = b;
  }
  return static_cast<std::uint8_t>(best);
}

struct content {
  std::vector<std::uint8_t> weights;
  context_counts one{}, two{};
  mixing_rows mixing{};
};

inline std::vector<std::byte> file_of(const content& made) {
  std::vector<std::byte> file;
  const auto put = [&file](std::uint64_t value, std::size_t bytes) {
    for (; bytes > 0; --bytes, value >>= 8) file.push_back(static_cast<std::byte>(value & 255u));
  };
  const std::size_t vocab_size = made.weights.size(),
                    id_bytes = sv::prior_id_bytes(static_cast<std::uint32_t>(vocab_size));
  for (const std::uint64_t number :
       {std::uint64_t{sv::prior_mark}, std::uint64_t{sv::prior_version}, std::uint64_t{vocab_size},
        std::uint64_t{made.one.size()}, std::uint64_t{made.two.size()}})
    put(number, 4);
  for (std::size_t set = 1; set < sv::prior_source_sets; ++set) {
    for (const std::uint8_t mixing : made.mixing[set]) put(mixing, 1);
  }
  for (const std::uint8_t weight : made.weights) put(weight, 1);
  for (const context_counts* lists : {&made.one, &made.two}) {
    for (const auto& [context, followers] : *lists) {
      for (const sv::token_id id : context) put(static_cast<std::uint32_t>(id), id_bytes);
      put(followers.size(), 1);
      for (const auto& [id, count] : followers) {
        put(static_cast<std::uint32_t>(id), id_bytes);
        put(byte_of(8.0 * count), 1);
      }
    }
  }
  return file;
}

//! Counts of all ids, and of followers.
struct counted {
  std::vector<double> ids;
  double total = 0;
  context_counts one{}, two{};
};

inline counted count(const texts& from, std::uint32_t vocab_size) {
  counted made{std::vector<double>(vocab_size)};
  for (const auto& text : from) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] < 0 || static_cast<std::uint32_t>(text[i]) >= vocab_size)
        throw std::runtime_error("id " + std::to_string(text[i]) + " is not below the vocabulary size");
      ++made.ids[static_cast<std::size_t>(text[i])];
      ++made.total;
      if (i > 0) ++made.one[{text[i - 1]}][text[i]];
      if (i > 1) ++made.two[{text[i - 2], text[i - 1]}][text[i]];
    }
  }
  if (made.total < 1) throw std::runtime_error("the texts have no ids");
  return made;
}

//! The best list of followers for one context, if a byte of the file is worth `price` bits.
struct candidate {
  follower_counts followers{};
  double gain = 0;
};

//! base: probability of a follower without this list.
template <class Base>
candidate best_list(const follower_counts& all, std::size_t head_bytes, std::size_t id_bytes, double price,
                    const Base& base) {
  std::vector<std::pair<std::uint32_t, sv::token_id>> order;
  double total = 0;
  for (const auto& [id, count] : all) {
    order.emplace_back(count, id);
    total += count;
  }
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  constexpr double trusted = 0.7;
  double listed = 0, best = 0;
  std::size_t kept = 0;
  for (std::size_t size = 1; size <= std::min(order.size(), sv::max_prior_followers); ++size) {
    listed += order[size - 1].first;
    double gain = (total - listed) * std::log2(1 - trusted);
    for (std::size_t i = 0; i < size; ++i) {
      const double seen = order[i].first, known = base(order[i].second);
      // New text agrees with the counts less than the counted text does.
      gain += (seen - 0.7) * std::log2((trusted * (seen / listed) + (1 - trusted) * known) / known);
    }
    gain -= price * static_cast<double>(head_bytes + size * (id_bytes + 1));
    if (gain > best) {
      best = gain;
      kept = size;
    }
  }
  candidate made{{}, best};
  for (std::size_t i = 0; i < kept; ++i) made.followers[order[i].second] = order[i].first;
  return made;
}

//! Chooses the lists that are worth their bytes at a price, and returns the size of the file.
inline std::size_t choose_lists(const counted& from, double price, content& made) {
  const auto vocab_size = static_cast<std::uint32_t>(made.weights.size());
  const std::size_t id_bytes = sv::prior_id_bytes(vocab_size);
  made.one.clear();
  made.two.clear();
  std::size_t bytes = 80 + made.weights.size();
  const auto alone = [&](sv::token_id id) {
    return (from.ids[static_cast<std::size_t>(id)] + unseen_count) / from.total;
  };
  const auto keep = [&](context_counts& lists, const std::vector<sv::token_id>& context, candidate&& best) {
    if (best.followers.empty()) return;
    bytes += context.size() * id_bytes + 1 + best.followers.size() * (id_bytes + 1);
    lists[context] = std::move(best.followers);
  };
  for (const auto& [context, followers] : from.one)
    keep(made.one, context, best_list(followers, id_bytes + 1, id_bytes, price, alone));
  for (const auto& [context, followers] : from.two) {
    const auto list = made.one.find({context[1]});
    double listed = 0;
    if (list != made.one.end()) {
      for (const auto& [id, count] : list->second) listed += count;
    }
    const auto by_one = [&](sv::token_id id) {
      if (listed <= 0) return alone(id);
      const auto found = list->second.find(id);
      return 0.3 * alone(id) + (found == list->second.end() ? 0 : 0.7 * found->second / listed);
    };
    keep(made.two, context, best_list(followers, 2 * id_bytes + 1, id_bytes, price, by_one));
  }
  return bytes;
}

//! Makes a table without mixing weights.
inline content make_lists(const texts& from, const table_settings& settings) {
  const counted all = count(from, settings.vocab_size);
  content made;
  const double scale = std::min(16.0, 0x1p26 / (all.total + settings.vocab_size));
  for (const double seen : all.ids) made.weights.push_back(byte_of(std::max(1.0, (seen + unseen_count) * scale)));
  if (80 + made.weights.size() > settings.max_bytes)
    throw std::runtime_error("the table needs at least " + std::to_string(80 + made.weights.size()) + " bytes");
  double low = 0, high = 1024;
  if (choose_lists(all, low, made) <= settings.max_bytes) return made;
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (choose_lists(all, middle, made) <= settings.max_bytes ? high : low) = middle;
  }
  static_cast<void>(choose_lists(all, high, made));
  return made;
}

//! Probabilities of one id: by the table's weights only, and by each source.
using parts = std::array<double, sv::prior_sources + 1>;

//! Returns, for each set of sources, the parts of all ids of the texts. A table whose mixing weights are all on one
//! source gives the probabilities of this source.
inline std::array<std::vector<parts>, sv::prior_source_sets> parts_of(content made, const texts& of) {
  const auto vocab_size = static_cast<std::uint32_t>(made.weights.size());
  std::vector<sv::prior_table> probes;
  for (std::size_t source = 0; source < sv::prior_sources; ++source) {
    made.mixing = {};
    for (std::size_t set = 1; set < sv::prior_source_sets; ++set) {
      if ((set >> source & 1u) != 0) made.mixing[set][source] = 240;
    }
    probes.push_back(programs::read_prior(file_of(made), vocab_size, "table"));
  }
  const double sum = probes[0].sum_below(vocab_size);
  std::array<std::vector<parts>, sv::prior_source_sets> found;
  for (const auto& text : of) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto id = static_cast<std::uint32_t>(text[i]);
      const double alone = probes[0].sum_below(id + 1) - probes[0].sum_below(id);
      parts one{alone / sum};
      std::size_t set = 0;
      for (std::size_t source = 0; source < sv::prior_sources; ++source) {
        const sv::token_prior prior(probes[source], std::span(text).first(i));
        if (static_cast<double>(prior.total()) > sum) set |= std::size_t{1} << source;
        one[source + 1] = (static_cast<double>(prior.part_of(text[i]).width) - alone) / (15 * sum);
      }
      found[set].push_back(one);
    }
  }
  return found;
}

//! Fits the mixing weights of each set by expectation maximization.
inline mixing_rows fit(const std::array<std::vector<parts>, sv::prior_source_sets>& found) {
  mixing_rows made{};
  for (std::size_t set = 1; set < sv::prior_source_sets; ++set) {
    parts mix{};
    for (std::size_t k = 0; k < mix.size(); ++k) mix[k] = k == 0 || (set >> (k - 1) & 1u) != 0 ? 0.2 : 0;
    for (int round = 0; round < 100; ++round) {
      parts sums{};
      for (std::size_t k = 0; k < mix.size(); ++k) sums[k] = mix[k] > 0 ? 2 : 0;  // as if each part were counted twice
      for (const parts& one : found[set]) {
        double all = 0;
        for (std::size_t k = 0; k < mix.size(); ++k) all += mix[k] * one[k];
        for (std::size_t k = 0; k < mix.size(); ++k) sums[k] += mix[k] * one[k] / all;
      }
      double all = 0;
      for (const double part : sums) all += part;
      for (std::size_t k = 0; k < mix.size(); ++k) mix[k] = sums[k] / all;
    }
    double others = 0;
    for (std::size_t k = 1; k < mix.size(); ++k) others += mix[k];
    const double scale = std::min(16 / mix[0], (sv::max_prior_mixing - 2) / others);
    for (std::size_t k = 1; k < mix.size(); ++k)
      made[set][k - 1] = static_cast<std::uint8_t>(std::floor(mix[k] * scale + 0.5));
  }
  return made;
}

//! Cuts texts into pieces of at most 256 ids, so that even a single text can be split for counting and fitting.
inline texts pieces_of(const texts& from) {
  constexpr std::size_t piece = 256;
  texts made;
  for (const auto& text : from) {
    for (std::size_t at = 0; at < text.size(); at += piece) {
      const std::size_t end = std::min(text.size(), at + piece);
      made.emplace_back(text.begin() + static_cast<std::ptrdiff_t>(at),
                        text.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  return made;
}

//! Returns the bytes of the table's file.
inline std::vector<std::byte> train(const texts& from, const table_settings& settings) {
  content made = make_lists(from, settings);
  texts most, rest;
  std::size_t number = 0;
  for (auto& text : pieces_of(from)) (++number % 5 == 0 ? rest : most).push_back(std::move(text));
  if (rest.empty()) throw std::runtime_error("five texts are needed, or one of more than 1024 ids");
  made.mixing = fit(parts_of(make_lists(most, settings), rest));
  return file_of(made);
}

}  // namespace priors

#endif
