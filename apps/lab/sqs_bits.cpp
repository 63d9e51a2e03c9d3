// SPDX-License-Identifier: Apache-2.0
// Computes the bits of SQS's drafts by formula and on the wire.
#include <specverify/codec/bit_cost.hpp>
#include <specverify/quantize/sparse_lattice.hpp>

#include "sqs_compare.hpp"
#include "sqs_figures.hpp"

namespace lab {

namespace {

constexpr std::uint32_t bits_resolution = 100;
constexpr std::size_t bits_block = 8;
constexpr std::array<std::uint32_t, 11> bits_sizes{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

struct bit_sums {
  double formula = 0, paper_wire = 0, drop_formula = 0, drop_wire = 0, kept = 0, positive = 0, drafts = 0;
  double lattice = 0;  //!< largest TV(q-, q^) divided by the bound K / (4 l)

  void add(const bit_sums& other) {
    formula += other.formula, paper_wire += other.paper_wire, drop_formula += other.drop_formula;
    drop_wire += other.drop_wire, kept += other.kept, positive += other.positive, drafts += other.drafts;
    lattice = std::max(lattice, other.lattice);
  }
};

//! Returns the distance between the kept tokens' distribution and the lattice point, divided by K / (4 l).
double lattice_share(const std::vector<double>& q, const specverify::draft_law& made) {
  double mass = 0, apart = 0;
  const auto of = [&](std::uint32_t i) { return q[static_cast<std::size_t>(made.drafted.ids[i])]; };
  for (std::uint32_t i = 0; i < made.drafted.size; ++i) mass += of(i);
  for (std::uint32_t i = 0; i < made.drafted.size; ++i)
    apart += std::fabs(of(i) / mass - made.drafted.counts[i] / static_cast<double>(bits_resolution));
  return apart / 2 / (made.drafted.size / (4.0 * bits_resolution));
}

//! Encodes the drafts of one text in both codes, and counts the bits. `size` 0: C-SQS with the paper's constants.
class bit_counter {
 public:
  bit_counter(std::uint32_t vocab_size, std::uint32_t size)
      : vocab_size_(vocab_size),
        size_(size),
        paper_{specverify::law_format::sparse_paper, vocab_size, bits_resolution, size, bits_block, 1},
        ours_{specverify::law_format::sparse_drop_zero, vocab_size, bits_resolution, 0, bits_block, 1},
        whole_(demand(specverify::draft_block::make({bits_block, std::uint64_t{bits_block} * vocab_size}), "drafts")),
        short_(demand(specverify::draft_block::make({bits_block, std::uint64_t{bits_block} * bits_resolution}),
                      "drafts")) {}

  void add(std::span<const float> row, const specverify::uniform_stream<>& draws, bool last) {
    using namespace specverify;
    const draft_law made = size_ == 0 ? make_(row, 1, rule_, state_, bits_resolution, true)
                                      : make_(row, 1, top_k{size_, true, true}, {}, bits_resolution, true);
    if (size_ == 0) state_ = rule_.advance(state_, made.kept);
    std::vector<token_id> ids(made.drafted.size);
    std::vector<std::uint32_t> counts(made.drafted.size);
    const std::uint32_t positive =
        demand(drop_zero({made.drafted.ids, made.drafted.size}, {made.drafted.counts, made.drafted.size}, ids, counts),
               "drop_zero");
    const law dropped = demand(make_law(std::span<const token_id>(ids).first(positive),
                                        std::span<const std::uint32_t>(counts).first(positive), vocab_size_),
                               "law");
    detail::require(whole_.push(draw(made.drafted, draws)));
    detail::require(short_.push(draw(dropped, draws)));
    sums.kept += made.drafted.size;
    sums.positive += positive;
    sums.drafts += 1;
    sums.lattice = std::max(sums.lattice, lattice_share(law_of(row, 1), made));
    sums.formula += size_ == 0 ? threshold_law_bits(vocab_size_, made.drafted.size, bits_resolution)
                               : top_k_law_bits(vocab_size_, made.drafted.size, bits_resolution);
    sums.drop_formula += drop_zero_law_bits(vocab_size_, positive, bits_resolution);
    if (whole_.size() != bits_block && !last) return;
    sums.paper_wire += 8.0 * static_cast<double>(demand(draft_bytes(paper_, whole_.drafts(), {}), "bytes"));
    sums.drop_wire += 8.0 * static_cast<double>(demand(draft_bytes(ours_, short_.drafts(), {}), "bytes"));
    whole_.clear();
    short_.clear();
  }

  bit_sums sums;

 private:
  std::uint32_t vocab_size_, size_;
  specverify::wire_format paper_, ours_;
  specverify::draft_block whole_, short_;
  specverify::conformal rule_ = threshold_rule(5e-4, 1e-3, 1e-3);
  specverify::conformal_state state_ = rule_.initial_state();
  law_maker make_;
};

//! Returns the sums of each of `bits_sizes`, and of C-SQS at the end.
std::vector<bit_sums> measure_bits(lab_context& context, std::uint32_t vocab_size) {
  const prompt_list texts = context.prose(context.scaled<std::size_t>(40, 4), 41);
  std::vector<std::vector<bit_sums>> found(texts.size(), std::vector<bit_sums>(bits_sizes.size() + 1));
  const std::uint64_t seed = context.seed("sqs_bits");
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  context.for_each(texts.size(), [&](lab_worker& worker, std::size_t i) {
    worker.drafter.rollback(0);
    const auto length = static_cast<std::uint32_t>(texts[i].size());
    worker.drafter.feed(texts[i], length);
    for (std::size_t s = 0; s <= bits_sizes.size(); ++s) {
      bit_counter counter(vocab_size, s == bits_sizes.size() ? 0 : bits_sizes[s]);
      for (std::uint32_t n = 0; n < length; ++n) {
        const specverify::uniform_stream draws =
            specverify::uniforms{source, n, static_cast<std::uint32_t>(i)}.at(specverify::purpose::draft_draw);
        counter.add(worker.drafter.logits(n), draws, n + 1 == length);
      }
      found[i][s] = counter.sums;
    }
  });
  std::vector<bit_sums> all(bits_sizes.size() + 1);
  for (const auto& text : found) {
    for (std::size_t s = 0; s < all.size(); ++s) all[s].add(text[s]);
  }
  return all;
}

void draw_bits(const std::vector<bit_sums>& all, double dense, figure& f) {
  panel& p = f.add_panel("bits of a draft", "K", "bits");
  p.log_x = p.log_y = true;
  for (const char* name : {"paper's formula", "paper's code, on the wire", "without zero counts, formula",
                           "without zero counts, on the wire", "dense (K = V), formula"})
    p.add(name);
  table& t = f.add_table("Bits of a draft", {"support", "mean K", "mean K+", "paper's formula", "paper's code, wire",
                                             "no zeros, formula", "no zeros, wire"});
  for (std::size_t s = 0; s < all.size(); ++s) {
    const double n = all[s].drafts;
    const bool learns = s == bits_sizes.size();
    t.rows.push_back({learns ? "C-SQS, paper's constants" : "K = " + std::to_string(bits_sizes[s]),
                      number(all[s].kept / n), number(all[s].positive / n), number(all[s].formula / n),
                      number(all[s].paper_wire / n), number(all[s].drop_formula / n), number(all[s].drop_wire / n)});
    if (learns) continue;
    const double k = bits_sizes[s];
    p.curves[0].add(k, std::max(all[s].formula / n, 1.0));
    p.curves[1].add(k, all[s].paper_wire / n);
    p.curves[2].add(k, all[s].drop_formula / n);
    p.curves[3].add(k, all[s].drop_wire / n);
    p.curves[4].add(k, dense);
  }
}

//! Returns the smallest K at which a K-SQS draft costs more than a dense one.
std::uint32_t dear_from(std::uint32_t vocab_size) {
  const auto dense = static_cast<double>(specverify::dense_law_bits(vocab_size, bits_resolution));
  std::uint32_t size = 1;
  while (size < vocab_size && specverify::top_k_law_bits(vocab_size, size, bits_resolution) <= dense) ++size;
  return size;
}

void say_bits(const std::vector<bit_sums>& all, std::uint32_t vocab_size, double dense, figure& f) {
  const bit_sums& conformal = all.back();
  const auto formula = [&](std::uint32_t v, std::uint32_t k) {
    return number(specverify::top_k_law_bits(v, k, bits_resolution));
  };
  double equal = 0;  // the sums of the run against the formula in logarithms of the gamma function
  const auto binomial = [](double n, double k) {
    return (std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1)) / std::log(2.0);
  };
  for (std::size_t s = 0; s < bits_sizes.size(); ++s) {
    const double k = bits_sizes[s], expected = binomial(vocab_size, k) + binomial(bits_resolution + k - 1, k - 1);
    equal = std::max(equal, std::fabs(all[s].formula / all[s].drafts - expected));
  }
  f.answer("sqs.bits", met_if(equal < 1e-3),
           "at K = 8: " + formula(vocab_size, 8) + " bits for V = " + std::to_string(vocab_size) + ", " +
               formula(50257, 8) + " for V = 50257",
           "eleven sizes K agree with log2 C(V, K) + log2 C(l + K - 1, K - 1) by another computation");
  f.answer("sqs.bits_conformal", finding::met,
           number(conformal.formula / conformal.drafts) + " bits a draft with the paper's constants, " +
               number(conformal.drop_wire / conformal.drafts) + " on our wire",
           "the threshold falls and keeps " + number(conformal.kept / conformal.drafts) + " tokens, of which " +
               number(conformal.positive / conformal.drafts) + " get a count; only those need be named");
  f.answer("sqs.bandwidth", dear_from(vocab_size) > 32 ? finding::in_sign : finding::not_met,
           "a dense draft costs " + number(dense) + " bits here; K-SQS costs more from K = " +
               std::to_string(dear_from(vocab_size)) + " on (V = 50257: " + std::to_string(dear_from(50257)) +
               "), C-SQS with the paper's constants " + number(conformal.formula / conformal.drafts),
           "true for small supports alone; without zero counts every support costs less than the dense one, " +
               number(all[bits_sizes.size() - 1].drop_wire / all[bits_sizes.size() - 1].drafts) + " bits at K = 1024");
  double lattice = 0;
  for (const bit_sums& sums : all) lattice = std::max(lattice, sums.lattice);
  f.answer(
      "sqs.algorithm2", met_if(lattice <= 1 + 1e-9),
      "TV(q-, q^) is at most " + number(lattice, 3) + " of the bound K / (4 l)",
      "over all supports of this figure; the input is renormalized as in (17), which the listing forgets (errata E6)");
  f.compare("cost of a larger support", "grows with K, then falls: dense costs " + number(dense) + " bits here",
            "without zero counts, on the wire: " + number(all[7].drop_wire / all[7].drafts) +
                " bits at K = " + std::to_string(bits_sizes[7]) + ", " +
                number(all[bits_sizes.size() - 1].drop_wire / all[bits_sizes.size() - 1].drafts) +
                " at K = " + std::to_string(bits_sizes.back()),
            "tokens without a count cannot be drafted, so they need not be named");
}

}  // namespace

void run_sqs_bits(lab_context& context, figure& f) {
  f.about =
      "The drafter's laws along held-out prose at temperature 1, l = 100: bits per draft by the paper's "
      "formula (without the drafted token), on the wire in the paper's code, and on the wire without zero "
      "counts. Messages of 8 drafts, including kind and check.";
  const auto vocab_size = static_cast<std::uint32_t>(context.pair().drafter->vocab);
  const auto dense = static_cast<double>(specverify::dense_law_bits(vocab_size, bits_resolution));
  const std::vector<bit_sums> all = measure_bits(context, vocab_size);
  draw_bits(all, dense, f);
  say_bits(all, vocab_size, dense, f);
  double worst = 0;
  for (const bit_sums& sums : all) {
    // Bits beyond the formula: kind and check, divided among 8 drafts, the token's index, and the loss of the code.
    const double n = sums.drafts, place = std::log2(std::max(1.0, sums.positive / n));
    worst = std::max(worst, sums.drop_wire / n - sums.drop_formula / n - place);
  }
  f.require(
      "without zero counts a draft costs at most 20 bits more than its formula and the index of its token, "
      "including framing",
      worst <= 20, number(worst));
}

}  // namespace lab
