// SPDX-License-Identifier: Apache-2.0
//! Estimates each system of the papers on recorded rows: acceptance of drafts, and bits per draft.
//!
//! Symbols:    p, q = rows under the temperature, q^ = distribution that a system drafts from and sends.
#ifndef SPECVERIFY_APPS_ROWS_REPORT_HPP
#define SPECVERIFY_APPS_ROWS_REPORT_HPP

#include <specverify/codec/bit_cost.hpp>
#include <specverify/codec/message.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/session/systems.hpp>

#include "../demand.hpp"
#include "../edge_cloud/systems.hpp"
#include "../lab/measure.hpp"
#include "rows_reader.hpp"

#include <numeric>

namespace recorded {

//! Results of one system with one setting over all rows of a file. The members are sums at first, and become means at
//! the end.
struct measured {
  std::string system, setting;
  bool preset = false;    //!< whether all settings have the papers' values
  double overlap = 0;     //!< sum of min(p, q), that is 1 - TV
  double acceptance = 0;  //!< sum of min(p, q^), the probability that a draft is accepted
  double paper_bits = 0;  //!< bits per drafted token, by the paper's formula
  double ideal_bits = 0;  //!< bits per drafted token: log2 of the number of possible drafts
  double coded_bits = 0;  //!< bits per drafted token: real messages, with kind and check
};

using programs::demand;

//! Reads row i of both models under one temperature.
class row_pair {
 public:
  row_pair(const rows_file& file, double temperature)
      : file_(file), transform_{.temperature = temperature}, p_(file.vocab_size()), q_(file.vocab_size()) {
    memory_.resize(specverify::digest_workspace_size(file.vocab_size(), transform_, {.exact_normaliser = true}) + 64);
  }

  void load(std::size_t i) {
    file_.logits(side::target, i, p_);
    file_.logits(side::drafter, i, q_);
  }
  [[nodiscard]] const specverify::row_transform& transform() const { return transform_; }
  [[nodiscard]] specverify::row_view<float> drafter() const {
    return specverify::logits_row(std::span<const float>(q_));
  }
  //! Returns the target's row, which is valid until the next call.
  [[nodiscard]] auto target() {
    specverify::workspace scratch{std::span<std::byte>(memory_)};
    const auto row = specverify::logits_row(std::span<const float>(p_));
    return demand(specverify::read_row(specverify::exec::simd, row, transform_, {.exact_normaliser = true}, scratch),
                  "a target's row");
  }
  //! Returns the sum of min(p, q).
  [[nodiscard]] double overlap() const {
    return 1 - lab::total_variation(lab::law_of(p_, transform_.temperature), lab::law_of(q_, transform_.temperature));
  }
  [[nodiscard]] specverify::token_id likeliest(side which) const {
    const auto& row = which == side::target ? p_ : q_;
    return static_cast<specverify::token_id>(std::max_element(row.begin(), row.end()) - row.begin());
  }

 private:
  const rows_file& file_;
  specverify::row_transform transform_;
  std::vector<float> p_, q_;
  std::vector<std::byte> memory_;
};

//! Returns the bits of a distribution and a token by the formula of the system's paper. `kept`: tokens of the support.
template <class Sparsifier>
[[nodiscard]] double paper_bits(const specverify::wire_format& format, std::uint32_t kept) {
  const auto l = format.resolution, V = format.vocab_size;
  if (format.format == specverify::law_format::fp16_row) return static_cast<double>(specverify::full_law_bits(V, 16));
  if (format.format == specverify::law_format::dense_lattice)
    return static_cast<double>(specverify::dense_token_bits(V, l));
  if constexpr (std::is_same_v<Sparsifier, specverify::top_k>) {
    return specverify::top_k_law_bits(V, kept, l);
  } else {
    return specverify::threshold_law_bits(V, kept, l);
  }
}

//! Returns log2 of the number of pairs of a distribution in this format and a drafted token.
[[nodiscard]] inline double ideal_bits(const specverify::law& drafted, const specverify::wire_format& format) {
  using specverify::log2_binomial;
  const auto l = format.resolution, V = format.vocab_size;
  const double any_token = std::log2(static_cast<double>(V));
  switch (format.format) {
    case specverify::law_format::dense_lattice:
      return log2_binomial(std::uint64_t{l} + V - 1, l) + any_token;
    case specverify::law_format::fp16_row:
      return static_cast<double>(specverify::full_law_bits(V, 16)) + any_token;
    default: {
      const std::uint32_t most = std::min(std::min(l, V), format.support_size == 0 ? V : format.support_size);
      return std::log2(static_cast<double>(most)) + log2_binomial(V, drafted.size) +
             log2_binomial(l - 1, drafted.size - 1) + std::log2(static_cast<double>(drafted.size));
    }
  }
}

//! Packs drafts into messages of L and counts the bytes.
class message_counter {
 public:
  explicit message_counter(const specverify::wire_format& format)
      : format_(format),
        block_(demand(specverify::draft_block::make(
                          {format.max_draft_length, specverify::max_draft_entries(format, format.max_draft_length)}),
                      "the drafts of a message")),
        bytes_(specverify::max_draft_bytes(format, format.max_draft_length)) {}

  void add(const specverify::draft& drafted) {
    if (const specverify::status why = block_.push(drafted); !why.ok()) throw std::runtime_error(why.text().c_str());
    if (block_.size() == format_.max_draft_length) send();
  }
  //! Returns the bytes of all messages.
  [[nodiscard]] std::uint64_t total() {
    if (block_.size() > 0) send();
    return total_;
  }

 private:
  void send() {
    const specverify::wire_place place{.round = ++messages_};
    total_ += demand(specverify::encode_draft(place, format_, block_.drafts(), bytes_), "a message").size();
    block_.truncate(0);
  }

  specverify::wire_format format_;
  specverify::draft_block block_;
  std::vector<std::byte> bytes_;
  std::uint32_t messages_ = 0;
  std::uint64_t total_ = 0;
};

//! Measures a system whose drafts carry distributions.
template <class Sparsifier>
[[nodiscard]] measured measure(const rows_file& file, double temperature, const specverify::wire_format& format,
                               const Sparsifier& sparsifier) {
  using namespace specverify;
  const std::uint32_t V = file.vocab_size();
  const draft_law_options options{format.format, format.resolution};
  row_pair rows(file, temperature);
  message_counter messages(format);
  auto state = sparsifier.initial_state();
  const auto widest = widest_state(sparsifier);
  std::vector<std::byte> memory(
      digest_workspace_size(V, rows.transform(), draft_law_request(V, sparsifier, widest, options)) +
      draft_law_workspace_size(V, sparsifier, widest, options) + 64);
  measured sum;
  for (std::size_t i = 0; i < file.size(); ++i) {
    rows.load(i);
    workspace scratch{std::span<std::byte>(memory)};
    const auto row = demand(read_row(exec::simd, rows.drafter(), rows.transform(),
                                     draft_law_request(V, sparsifier, state, options), scratch),
                            "a drafter's row");
    const draft_law made = demand(make_draft_law(row, sparsifier, state, options, scratch), "a law");
    sum.acceptance += demand(rows.target().acceptance_probability(made.drafted), "a target's row");
    sum.paper_bits += paper_bits<Sparsifier>(format, made.kept.size());
    sum.ideal_bits += ideal_bits(made.drafted, format);
    messages.add(draw(made.drafted, uniforms{philox{}, static_cast<std::uint32_t>(i), 0}.at(purpose::draft_draw)));
    if (has_support(format.format)) state = sparsifier.advance(state, made.kept);
  }
  sum.coded_bits = 8 * static_cast<double>(messages.total());
  return sum;
}

//! Measures drafts without distributions: the drafter's most probable tokens. If `greedy`, a draft is accepted if it is
//! also the target's most probable token; otherwise with probability p.
[[nodiscard]] inline measured measure_ids(const rows_file& file, double temperature, bool greedy) {
  using namespace specverify;
  const wire_format format = specverify::greedy().format_for(file.vocab_size());
  row_pair rows(file, temperature);
  std::vector<std::byte> bytes(max_draft_bytes(format, format.max_draft_length));
  std::vector<claimed_draft> window;
  measured sum;
  for (std::size_t i = 0; i < file.size(); ++i) {
    rows.load(i);
    const token_id token = rows.likeliest(side::drafter);
    const double agrees = token == rows.likeliest(side::target) ? 1 : 0;
    sum.acceptance += greedy ? agrees : std::exp(demand(rows.target().log_probability(token), "a target's row"));
    window.push_back({token, 0, 0});
    if (window.size() < format.max_draft_length && i + 1 < file.size()) continue;
    const auto message = encode_claims({}, format, std::span<const claimed_draft>(window), bytes);
    sum.coded_bits += 8 * static_cast<double>(demand(message, "a message").size());
    window.clear();
  }
  const auto n = static_cast<double>(file.size());
  sum.paper_bits = n * token_bits(file.vocab_size());
  sum.ideal_bits = n * std::log2(static_cast<double>(file.vocab_size()));
  return sum;
}

//! Returns the mean of the sum of min(p, q).
[[nodiscard]] inline double mean_overlap(const rows_file& file, double temperature) {
  row_pair rows(file, temperature);
  double sum = 0;
  for (std::size_t i = 0; i < file.size(); ++i) {
    rows.load(i);
    sum += rows.overlap();
  }
  return sum / static_cast<double>(file.size());
}

//! Systems of the library's list whose drafts carry distributions. K and l grow together.
inline constexpr const char* reported_systems[] = {  // in the syntax of the command line
    "hlm",
    "qs:resolution=30",
    "qs:resolution=60",
    "qs:resolution=120",
    "qs:resolution=240",
    "qs:resolution=480",
    "k-sqs:support_size=4:resolution=10",
    "k-sqs:support_size=8:resolution=30",
    "k-sqs:support_size=16:resolution=100",
    "k-sqs:support_size=32:resolution=240",
    "k-sqs:support_size=64:resolution=480",
    "c-sqs:support_size=256:resolution=10",
    "c-sqs:support_size=256:resolution=30",
    "c-sqs:support_size=256:resolution=100",
    "c-sqs:support_size=256:resolution=240",
    "c-sqs:support_size=256:resolution=480"};

//! Returns whether all settings have the papers' values.
[[nodiscard]] inline bool is_usual(const edge_cloud::chosen_system& system) {
  for (const specverify::setting& given : system.settings())
    for (const specverify::setting_info& known : system.info().settings)
      if (known.name == given.name && !known.must_be_given() && known.usual != given.value) return false;
  return true;
}

//! Measures one system over all rows. Returns sums over the rows, with the system's name and setting.
[[nodiscard]] inline measured measure(const rows_file& file, double temperature, std::string_view text) {
  using namespace specverify;
  const edge_cloud::chosen_system system(text);
  const auto use = [&](const auto& preset) -> result<measured> {
    using sparsifier = typename decltype(preset.sparsifier)::value_type;
    return measure(file, temperature, preset.format_for(file.vocab_size()), preset.sparsifier.value_or(sparsifier{}));
  };
  measured sum = demand(with_system<result<measured>>(system.info().name, system.settings(), use), "a system");
  sum.system = system.info().name;
  sum.setting = text.substr(std::min(text.size(), sum.system.size() + 1));
  sum.preset = is_usual(system);
  return sum;
}

//! Measures every system with every setting. Returns means over the rows.
[[nodiscard]] inline std::vector<measured> measure_all(const rows_file& file, double temperature) {
  std::vector<measured> all;
  for (const char* const system : reported_systems) all.push_back(measure(file, temperature, system));
  for (const bool greedy : {false, true}) {
    all.push_back(measure_ids(file, temperature, greedy));
    all.back().system = greedy ? "greedy" : "ids only";
    all.back().setting = greedy ? "T=0" : "argmax of q";
    all.back().preset = true;
  }
  const double overlap = mean_overlap(file, temperature);
  for (measured& one : all) {
    for (double measured::*mean :
         {&measured::acceptance, &measured::paper_bits, &measured::ideal_bits, &measured::coded_bits})
      one.*mean /= static_cast<double>(file.size());
    one.overlap = overlap;
  }
  all.back().overlap = all.back().acceptance;  // at T = 0 two distributions are equal or disjoint
  return all;
}

}  // namespace recorded

#endif
