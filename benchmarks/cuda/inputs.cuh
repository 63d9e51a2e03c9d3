// SPDX-License-Identifier: Apache-2.0
//! Creates the rows, drafts and memory of the benchmarks, as a serving engine would have them for a batch.
#ifndef SPECVERIFY_BENCHMARKS_CUDA_INPUTS_CUH
#define SPECVERIFY_BENCHMARKS_CUDA_INPUTS_CUH

#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/lattice.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/device/rounds.hpp>

#include <cstring>
#include <vector>

#include "peers.cuh"
#include "timing.cuh"

namespace cuda_bench {

using namespace specverify;

constexpr double temperature = 0.8;

inline void must_take(status why, const char* what) {
  if (why.ok()) return;
  std::printf("%s: error %d\n", what, static_cast<int>(why.code));
  std::exit(1);
}

//! Generates words of a fixed sequence.
class words {
 public:
  std::uint64_t operator()() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  double unit() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_ = 88172645463325252ull;
};

template <class Scalar>
Scalar scalar_of(float value) {
  if constexpr (std::is_same_v<Scalar, float>) {
    return value;
  } else {
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return Scalar{static_cast<std::uint16_t>(bits >> 16)};
  }
}

//! Generates logits like those of a model: normal numbers with deviation three, and 40 ids that fall by one each from
//! the maximum. At temperature 0.8 these have about two thirds of the mass for V = 128 256.
template <class Scalar>
std::vector<Scalar> make_logits(std::uint32_t rows, std::uint32_t vocab_size) {
  constexpr int head = 40;
  std::vector<Scalar> table(1 << 16), made(std::size_t{rows} * vocab_size);
  words next;
  for (Scalar& value : table) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += next.unit();
    value = scalar_of<Scalar>(static_cast<float>(3.0 * sum));
  }
  for (Scalar& value : made) value = table[next() >> 48];
  for (std::uint32_t row = 0; row < rows; ++row)
    for (int i = 0; i < head; ++i)
      made[std::size_t{row} * vocab_size + next() % vocab_size] = scalar_of<Scalar>(static_cast<float>(15.5 - i));
  return made;
}

//! Inputs and outputs of all calls of one size, except for the copies of the rows.
struct outputs {
  static constexpr std::uint32_t most_selected = 2048;

  outputs(std::uint32_t rows, std::uint32_t vocab_size)
      : best(rows),
        tokens(rows),
        supports(rows),
        ids(std::size_t{rows} * most_selected),
        weights(std::size_t{rows} * most_selected),
        probabilities(std::size_t{rows} * vocab_size),
        peer_tokens(rows),
        accepted(rows),
        sums(rows),
        disagreements(rows),
        laws(rows),
        verdicts(rows) {}

  array<device_argmax> best;
  array<device_token> tokens;
  array<device_support> supports;
  array<token_id> ids;
  array<std::uint32_t> weights;
  array<float> probabilities;
  array<token_id> peer_tokens;
  array<std::uint32_t> accepted;
  array<device_value> sums;
  array<device_disagreement> disagreements;
  array<device_law> laws;
  array<device_verdict> verdicts;
};

//! Three drafts per request, each drawn from the lattice point of 100 nearest to the row's distribution, like those of
//! a good drafter. About two thirds of the tested drafts are accepted; the benchmark prints the number.
struct drafted {
  static constexpr std::uint32_t a_request = 3, resolution = 100;

  drafted(std::uint32_t rows, std::uint32_t vocab_size)
      : requests(rows / (a_request + 1)),
        ids(std::size_t{rows} * resolution),
        counts(std::size_t{rows} * resolution),
        claims(std::size_t{requests} * a_request),
        begin(requests + 1),
        tokens(std::size_t{requests} * a_request),
        dense(std::size_t{requests} * a_request * vocab_size) {}

  //! Draws from distributions that the device has made, `made[row]`.
  void draw(const std::vector<device_law>& made, std::uint32_t vocab_size) {
    const std::vector<token_id> listed = ids.copied();
    const std::vector<std::uint32_t> counted = counts.copied();
    std::vector<device_draft> all;
    std::vector<token_id> drawn;
    std::vector<std::uint32_t> offsets{0};
    words next;
    for (std::uint32_t row = 0; row < requests * (a_request + 1); ++row) {
      if (row % (a_request + 1) == a_request) {
        offsets.push_back(static_cast<std::uint32_t>(all.size()));
        continue;
      }
      must_take(made[row].why, "quantize");
      const std::size_t first = std::size_t{row} * resolution;
      std::uint32_t at = 0, target = static_cast<std::uint32_t>(next() >> 32) % resolution;
      while (target >= counted[first + at]) target -= counted[first + at++];
      device_draft one;
      one.token = listed[first + at];
      one.source = {ids.data() + first, counts.data() + first, made[row].size, 0, resolution, vocab_size};
      all.push_back(one);
      drawn.push_back(one.token);
    }
    claims.copy(all);
    tokens.copy(drawn);
    begin.copy(offsets);
  }

  std::uint32_t requests;
  array<token_id> ids;
  array<std::uint32_t> counts;
  array<device_draft> claims;
  array<std::uint32_t> begin;
  array<token_id> tokens;  //!< draft tokens, in the form that the alternatives read
  array<float> dense;      //!< distributions of the drafts, V floats each
};

//! A batch whose copies the calls take in turn: copies of the rows, and memory for all results.
template <class Scalar>
class inputs {
 public:
  inputs(const cudaDeviceProp& card, std::uint32_t rows, std::uint32_t vocab_size)
      : count(rows),
        size(vocab_size),
        copies(copies_for(card, rows, vocab_size)),
        out(rows, vocab_size),
        drafts(rows, vocab_size),
        likely(rows),
        perturbed(rows),
        logits_(std::size_t{copies} * rows * vocab_size),
        digest_bytes_(device_batch_size(rows_of(0), transform())),
        digests_(digest_bytes_ * copies),
        keys_(std::vector{philox_key{{3, 4}}}),
        positions_(positions_of(rows)),
        rounds_(std::vector<std::uint32_t>(rows, 7)),
        round_bytes_(device_batch_size(rows_of(0), transform())),
        round_memory_(round_bytes_) {
    const std::vector<Scalar> made = make_logits<Scalar>(rows, vocab_size);
    for (std::uint32_t copy = 0; copy < copies; ++copy)
      must(cudaMemcpy(logits_.data() + copy * made.size(), made.data(), made.size() * sizeof(Scalar),
                      cudaMemcpyHostToDevice),
           "cudaMemcpy");
    for (std::uint32_t copy = 0; copy < copies; ++copy) must_take(read_rows(exec::cuda{}, batch(copy)), "read_rows");
    must_take(sample(exec::cuda{}, batch(0), draws(), out.tokens.data()), "sample");
    std::vector<token_id> drawn;
    for (const device_token& one : out.tokens.copied()) drawn.push_back(one.token);
    likely.copy(drawn);
    words next;
    for (std::size_t row = 0; row < drawn.size(); row += 4) drawn[row] = static_cast<token_id>(next() % vocab_size);
    perturbed.copy(drawn);
    make_drafts();
  }

  [[nodiscard]] static std::size_t row_bytes(std::uint32_t rows, std::uint32_t vocab_size) {
    return std::size_t{rows} * vocab_size * sizeof(Scalar);
  }
  [[nodiscard]] static std::uint32_t copies_for(const cudaDeviceProp& card, std::uint32_t rows,
                                                std::uint32_t vocab_size) {
    const std::size_t bytes = row_bytes(rows, vocab_size), wanted = 3 * static_cast<std::size_t>(card.l2CacheSize);
    return static_cast<std::uint32_t>(
        std::min<std::size_t>(256, std::max<std::size_t>(1, (wanted + bytes - 1) / bytes)));
  }
  //! Returns the approximate bytes of device memory of a batch.
  [[nodiscard]] static std::size_t needed(const cudaDeviceProp& card, std::uint32_t rows, std::uint32_t vocab_size) {
    return row_bytes(rows, vocab_size) * copies_for(card, rows, vocab_size) * 5 / 4 +
           std::size_t{rows} * vocab_size * 8 + std::size_t{rows} * outputs::most_selected * 8;
  }

  [[nodiscard]] device_rows<Scalar> rows_of(std::uint32_t copy) const {
    return {logits_.data() + std::size_t{copy} * count * size, size, count, size};
  }
  [[nodiscard]] static device_transform transform() {
    device_transform made;
    made.temperature = temperature;
    return made;
  }
  [[nodiscard]] device_batch<Scalar> batch(std::uint32_t copy) const {
    const auto made =
        make_device_batch(rows_of(copy), transform(), {digests_.data() + copy * digest_bytes_, digest_bytes_});
    must_take(made.error(), "make_device_batch");
    return *made;
  }
  [[nodiscard]] device_uniforms<> uniforms() const { return {keys_.data(), 0, positions_.data(), rounds_.data()}; }
  [[nodiscard]] device_stream<> draws() const { return uniforms().at(purpose::bonus_draw); }
  [[nodiscard]] device_supports selected() const {
    return {out.supports.data(), out.ids.data(), out.weights.data(), outputs::most_selected};
  }
  [[nodiscard]] device_laws laws() const {
    return {out.laws.data(), out.ids.data(), out.weights.data(), outputs::most_selected};
  }
  [[nodiscard]] const philox_key* key() const { return keys_.data(); }
  [[nodiscard]] cuda_peers::dense_round round() const {
    return {out.probabilities.data(), drafts.dense.data(),   drafts.tokens.data(), drafted::a_request, size, key(),
            out.accepted.data(),      out.peer_tokens.data()};
  }
  [[nodiscard]] device_rounds<Scalar> rounds(std::uint32_t copy) const {
    device_rounds<Scalar> all;
    all.rows = rows_of(copy);
    all.transform = transform();
    all.count = drafts.requests;
    all.drafts = drafts.claims.data();
    all.draft_begin = drafts.begin.data();
    return all;
  }
  [[nodiscard]] device_memory round_memory() const { return {round_memory_.data(), round_bytes_}; }

  std::uint32_t count, size, copies;
  outputs out;
  drafted drafts;
  array<token_id> likely;     //!< a draw from each row
  array<token_id> perturbed;  //!< the draw, but in every fourth row any id, which is unlikely

 private:
  [[nodiscard]] static std::vector<std::uint32_t> positions_of(std::uint32_t rows) {
    std::vector<std::uint32_t> made;
    for (std::uint32_t row = 0; row < rows; ++row) made.push_back(8 * row);
    return made;
  }
  void make_drafts() {
    if (drafts.requests == 0) return;
    const device_laws written{out.laws.data(), drafts.ids.data(), drafts.counts.data(), drafted::resolution};
    must_take(quantize(exec::cuda{}, batch(0), drafted::resolution, written), "quantize");
    must(cudaDeviceSynchronize(), "the first reads");
    drafts.draw(out.laws.copied(), size);
    must(cudaMemset(drafts.dense.data(), 0, drafts.dense.size() * sizeof(float)), "cudaMemset");
    cuda_peers::peer_laws_kernel<cuda_peers::threads><<<drafts.requests * drafted::a_request, cuda_peers::threads>>>(
        drafts.claims.data(), size, drafts.dense.data());
    must(cudaDeviceSynchronize(), "the laws of drafts");
  }

  array<Scalar> logits_;
  std::size_t digest_bytes_;
  array<unsigned char> digests_;
  array<philox_key> keys_;
  array<std::uint32_t> positions_, rounds_;
  std::size_t round_bytes_;
  array<unsigned char> round_memory_;
};

}  // namespace cuda_bench

#endif
