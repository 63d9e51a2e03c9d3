// SPDX-License-Identifier: Apache-2.0
//! Reads files of token ids, and computes the bits that a table of id weights needs for them.
//!
//! Each line of a file is one text: the given ids, for example a prompt, then `|`, then the ids that a model drew. A
//! line without `|` has no given ids.
#ifndef SPECVERIFY_APPS_ROWS_PRIOR_TEXTS_HPP
#define SPECVERIFY_APPS_ROWS_PRIOR_TEXTS_HPP

#include <specverify/codec/token_prior.hpp>

#include "../edge_cloud/whole_number.hpp"

#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace priors {

namespace sv = specverify;

struct id_text {
  std::vector<sv::token_id> ids{};
  std::size_t given = 0;  //!< ids that no draft contains
};

//! Reads a file of ids. Every id must be below vocab_size.
inline std::vector<id_text> read_ids(const std::string& name, std::uint32_t vocab_size) {
  std::ifstream in(name);
  if (!in) throw std::runtime_error("cannot read " + name);
  std::vector<id_text> made;
  std::size_t number = 0;
  for (std::string line, word; std::getline(in, line);) {
    ++number;
    std::istringstream words(line);
    id_text text;
    while (words >> word) {
      if (word == "|") {
        text.given = text.ids.size();
        continue;
      }
      const auto id = edge_cloud::whole_number_from(word);
      if (!id || *id >= vocab_size)
        throw std::runtime_error(name + ", line " + std::to_string(number) + ": " + word + " is no id below " +
                                 std::to_string(vocab_size));
      text.ids.push_back(static_cast<sv::token_id>(*id));
    }
    if (!text.ids.empty()) made.push_back(std::move(text));
  }
  return made;
}

//! Number of ids, and bits that they need in total: by the weights of a table only, and by the whole table.
struct measured_bits {
  std::size_t ids = 0;
  double weights = 0, table = 0;
};

inline measured_bits bits_of(const sv::prior_table& table, std::span<const id_text> texts) {
  measured_bits sum;
  const double all = table.sum_below(table.vocab_size());
  for (const id_text& text : texts) {
    for (std::size_t i = text.given; i < text.ids.size(); ++i) {
      const auto id = static_cast<std::uint32_t>(text.ids[i]);
      const sv::token_prior prior(table, std::span(text.ids).first(i));
      const auto width = static_cast<double>(prior.part_of(text.ids[i]).width);
      ++sum.ids;
      sum.weights += std::log2(all / (table.sum_below(id + 1) - table.sum_below(id)));
      sum.table += std::log2(static_cast<double>(prior.total()) / width);
    }
  }
  return sum;
}

}  // namespace priors

#endif
