// SPDX-License-Identifier: Apache-2.0
// Times kernels of cuda/ on a GPU, in turn with a plain read of memory: a table on stdout, and lines of CSV in a file.
// usage: bench CSV [--quick]     --quick: V = 128 256 and 64 rows alone
// Each call takes other rows than the one before, until three times the L2 cache is passed or there are 256 copies;
// "L2" says that the copies fit there all the same. ratio: the time over that of reading the rows once, at the speed of
// the plain reads of the same samples.
#include <specverify/cuda/argmax.cuh>
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/lattice.cuh>
#include <specverify/cuda/log_sum_exp.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/select.cuh>
#include <specverify/cuda/temperature_perturbation.cuh>
#include <specverify/cuda/verify.cuh>

#include <cmath>
#include <cstring>
#include <string>

#include "peers.cuh"
#include "timing.cuh"

namespace {

using namespace specverify;
using namespace cuda_bench;

constexpr double temperature = 0.8;
constexpr int samples = 7;
constexpr double sample_microseconds = 3000;

void must_take(status why, const char* what) {
  if (why.ok()) return;
  std::printf("%s: error %d\n", what, static_cast<int>(why.code));
  std::exit(1);
}

//! The card, and what is read as a floor.
struct machine {
  explicit machine(std::FILE* lines) : csv(lines), memory(std::size_t{1} << 28), sink(1) {
    must(cudaGetDeviceProperties(&card, 0), "cudaGetDeviceProperties");
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    must(cudaMemset(memory.data(), 1, memory.size()), "cudaMemset");
  }
  cudaDeviceProp card{};
  cudaStream_t stream = nullptr;
  std::FILE* csv;
  array<unsigned char> memory;
  array<unsigned> sink;

  void read(cudaStream_t on) const {
    const auto blocks = static_cast<unsigned>(4 * card.multiProcessorCount);
    read_kernel<<<blocks, 512, 0, on>>>(reinterpret_cast<const uint4*>(memory.data()), memory.size() / sizeof(uint4),
                                        sink.data());
    must(cudaGetLastError(), "read_kernel");
  }
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

//! Logits of a model in shape: normal numbers, three wide.
template <class Scalar>
std::vector<Scalar> make_logits(std::size_t count) {
  std::vector<Scalar> table(1 << 16), made(count);
  std::uint64_t state = 88172645463325252ull;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  for (Scalar& value : table) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(next() >> 11) * 0x1.0p-53;
    value = scalar_of<Scalar>(static_cast<float>(3.0 * sum));
  }
  for (Scalar& value : made) value = table[next() >> 48];
  return made;
}

//! A batch that calls take in turn: copies of its rows, and memory for all that is found.
template <class Scalar>
class inputs {
 public:
  static constexpr std::uint32_t most_selected = 2048, drafted = 3;

  inputs(const machine& on, std::uint32_t rows, std::uint32_t vocab_size)
      : count(rows),
        size(vocab_size),
        copies(copies_for(on, rows, vocab_size)),
        logits_(std::size_t{copies} * rows * vocab_size),
        digest_bytes_(device_batch_size(rows_of(0), transform())),
        digests_(digest_bytes_ * copies),
        keys_(std::vector{philox_key{{3, 4}}}),
        places_(std::vector<std::uint32_t>(rows, 7)),
        best(rows),
        tokens(rows),
        supports(rows),
        ids(std::size_t{rows} * most_selected),
        weights(std::size_t{rows} * most_selected),
        probabilities(std::size_t{rows} * vocab_size),
        draft_laws(std::size_t{rows} * vocab_size),
        drafts(std::vector<token_id>(rows, 11)),
        peer_tokens(rows),
        accepted(rows),
        sums(rows),
        disagreements(rows),
        laws(rows),
        verdicts(rows),
        law_ids_(listed_ids(vocab_size)),
        law_counts_(std::vector<std::uint32_t>(listed, 1)),
        claims_(std::vector<device_draft>(rows, drafted_token_of(vocab_size))),
        draft_begin_(offsets(rows / (drafted + 1))),
        round_bytes_(device_batch_size(rows_of(0), transform())),
        round_memory_(round_bytes_) {
    const std::vector<Scalar> made = make_logits<Scalar>(std::size_t{rows} * vocab_size);
    for (std::uint32_t copy = 0; copy < copies; ++copy)
      must(cudaMemcpy(logits_.data() + copy * made.size(), made.data(), made.size() * sizeof(Scalar),
                      cudaMemcpyHostToDevice),
           "cudaMemcpy");
    for (std::uint32_t copy = 0; copy < copies; ++copy) must_take(read_rows(exec::cuda{}, batch(copy)), "read_rows");
    cuda_peers::peer_softmax_kernel<<<rows, cuda_peers::threads>>>(rows_of(0), 0.5f, draft_laws.data());
    must(cudaDeviceSynchronize(), "the first reads");
  }

  [[nodiscard]] static std::size_t row_bytes(std::uint32_t rows, std::uint32_t vocab_size) {
    return std::size_t{rows} * vocab_size * sizeof(Scalar);
  }
  [[nodiscard]] static std::uint32_t copies_for(const machine& on, std::uint32_t rows, std::uint32_t vocab_size) {
    const std::size_t bytes = row_bytes(rows, vocab_size), wanted = 3 * static_cast<std::size_t>(on.card.l2CacheSize);
    return static_cast<std::uint32_t>(
        std::min<std::size_t>(256, std::max<std::size_t>(1, (wanted + bytes - 1) / bytes)));
  }
  //! Bytes of device memory that a batch takes, about.
  [[nodiscard]] static std::size_t needed(const machine& on, std::uint32_t rows, std::uint32_t vocab_size) {
    return row_bytes(rows, vocab_size) * copies_for(on, rows, vocab_size) * 5 / 4 + std::size_t{rows} * vocab_size * 8 +
           std::size_t{rows} * most_selected * 8;
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
  [[nodiscard]] device_stream<> draws() const {
    return device_uniforms<>{keys_.data(), 0, places_.data(), places_.data()}.at(purpose::bonus_draw);
  }
  [[nodiscard]] device_supports selected() const {
    return {supports.data(), ids.data(), weights.data(), most_selected};
  }
  [[nodiscard]] const philox_key* key() const { return keys_.data(); }
  [[nodiscard]] std::uint32_t requests() const { return count / (drafted + 1); }
  [[nodiscard]] cuda_peers::dense_round round() const {
    return {probabilities.data(), draft_laws.data(), drafts.data(), drafted, size, key(),
            accepted.data(),      peer_tokens.data()};
  }

  //! Rounds of three drafts over the rows of a copy. Each draft comes from a law of 64 listed ids.
  [[nodiscard]] device_rounds<Scalar> rounds(std::uint32_t copy) const {
    device_rounds<Scalar> all;
    all.rows = rows_of(copy);
    all.transform = transform();
    all.count = requests();
    all.drafts = claims_.data();
    all.draft_begin = draft_begin_.data();
    return all;
  }
  [[nodiscard]] device_uniforms<> uniforms_of_rows() const { return {keys_.data(), 0, places_.data(), places_.data()}; }
  [[nodiscard]] device_memory round_memory() const { return {round_memory_.data(), round_bytes_}; }

  std::uint32_t count, size, copies;

 private:
  static constexpr std::uint32_t listed = 64;
  [[nodiscard]] static std::vector<token_id> listed_ids(std::uint32_t vocab_size) {
    std::vector<token_id> ids;
    for (std::uint32_t i = 0; i < listed; ++i) ids.push_back(static_cast<token_id>(i * (vocab_size / listed)));
    return ids;
  }
  [[nodiscard]] device_draft drafted_token_of(std::uint32_t vocab_size) const {
    device_draft one;
    one.token = static_cast<token_id>(vocab_size / listed);
    one.source = {law_ids_.data(), law_counts_.data(), listed, 0, listed, vocab_size};
    return one;
  }
  [[nodiscard]] static std::vector<std::uint32_t> offsets(std::uint32_t requests) {
    std::vector<std::uint32_t> made;
    for (std::uint32_t i = 0; i <= requests; ++i) made.push_back(i * drafted);
    return made;
  }

  array<Scalar> logits_;
  std::size_t digest_bytes_;
  array<unsigned char> digests_;
  array<philox_key> keys_;
  array<std::uint32_t> places_;

 public:
  array<device_argmax> best;
  array<device_token> tokens;
  array<device_support> supports;
  array<token_id> ids;
  array<std::uint32_t> weights;
  array<float> probabilities, draft_laws;
  array<token_id> drafts, peer_tokens;
  array<std::uint32_t> accepted;
  array<device_value> sums;
  array<device_disagreement> disagreements;
  array<device_law> laws;
  array<device_verdict> verdicts;

 private:
  array<token_id> law_ids_;
  array<std::uint32_t> law_counts_;
  array<device_draft> claims_;
  array<std::uint32_t> draft_begin_;
  std::size_t round_bytes_;
  array<unsigned char> round_memory_;
};

//! Times one task and prints its line.
template <class Scalar, class Enqueue>
void measure(const machine& on, const inputs<Scalar>& in, const char* who, const char* task, const Enqueue& enqueue) {
  const int calls = static_cast<int>(std::max(in.copies, 8u));
  const graph ours(on.stream, calls,
                   [&](int i, cudaStream_t stream) { enqueue(static_cast<std::uint32_t>(i) % in.copies, stream); });
  const graph plain(on.stream, 2, [&](int, cudaStream_t stream) { on.read(stream); });
  const int replays = ours.replays_for(sample_microseconds), plain_replays = plain.replays_for(sample_microseconds);
  const double bytes = static_cast<double>(in.row_bytes(in.count, in.size));
  std::vector<double> times, floors, ratios;
  for (int sample = 0; sample < samples; ++sample) {
    const double read = plain.time(plain_replays);
    times.push_back(ours.time(replays));
    floors.push_back(bytes * read / static_cast<double>(on.memory.size()));
    ratios.push_back(times.back() / floors.back());
  }
  const timing time = timing_of(times), floor = timing_of(floors), ratio = timing_of(ratios);
  const bool in_cache = bytes * in.copies < 2.0 * static_cast<double>(on.card.l2CacheSize);
  const char* scalar = sizeof(Scalar) == 4 ? "float32" : "bf16";
  std::printf("%-16s %-18s %-8s %5u %7u %10.2f %10.2f %10.2f %8.2f  %s\n", who, task, scalar, in.count, in.size,
              time.least, time.median, floor.median, ratio.median, in_cache ? "L2" : "");
  std::fprintf(on.csv, "%s,%s,%s,%u,%u,%.3f,%.3f,%.3f,%.3f,%s\n", who, task, scalar, in.count, in.size, time.least,
               time.median, floor.median, ratio.median, in_cache ? "L2" : "memory");
}

//! What this library does. A new kernel brings its line here.
template <class Scalar>
void measure_ours(const machine& on, const inputs<Scalar>& in) {
  const char* who = "specverify";
  const auto digest = [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(read_rows(exec::cuda{stream}, in.batch(copy)), "read_rows");
  };
  const auto draw = [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(sample(exec::cuda{stream}, in.batch(copy), in.draws(), in.tokens.data()), "sample");
  };
  measure(on, in, who, "digest", digest);
  measure(on, in, who, "sample", draw);
  measure(on, in, who, "digest+sample", [&](std::uint32_t copy, cudaStream_t stream) {
    digest(copy, stream);
    draw(copy, stream);
  });
  measure(on, in, who, "argmax", [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(argmax(exec::cuda{stream}, in.rows_of(copy), in.transform(), in.best.data()), "argmax");
  });
  for (const std::uint32_t k : {16u, 256u, 2048u}) {
    const std::string task = "select_" + std::to_string(k);
    measure(on, in, who, task.c_str(), [&](std::uint32_t copy, cudaStream_t stream) {
      must_take(select(exec::cuda{stream}, in.batch(copy), k, in.selected()), "select");
    });
  }
}

//! Numbers and laws of rows, and verification of three drafts a request.
template <class Scalar>
void measure_our_laws(const machine& on, const inputs<Scalar>& in) {
  const char* who = "specverify";
  measure(on, in, who, "log_sum_exp", [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(log_sum_exp(exec::cuda{stream}, in.rows_of(copy), in.transform(), in.sums.data()), "log_sum_exp");
  });
  measure(on, in, who, "lattice_100", [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(quantize(exec::cuda{stream}, in.batch(copy), 100,
                       {in.laws.data(), in.ids.data(), in.weights.data(), in.most_selected}),
              "quantize");
  });
  measure(on, in, who, "perturbation", [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(temperature_perturbation(exec::cuda{stream}, in.batch(copy), in.drafts.data(), {}, in.uniforms_of_rows(),
                                       in.disagreements.data()),
              "temperature_perturbation");
  });
  if (in.requests() == 0) return;
  measure(on, in, who, "verify_3", [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(verify_batch(exec::cuda{stream}, device_token_rule{}, in.rounds(copy), in.uniforms_of_rows(),
                           {in.verdicts.data(), nullptr}, in.round_memory()),
              "verify_batch");
  });
}

//! Draws by the other ways: a softmax to memory, then noise or a running sum.
template <class Scalar>
void measure_peer_draws(const machine& on, const inputs<Scalar>& in) {
  using namespace cuda_peers;
  const auto scale = static_cast<float>(1 / temperature);
  measure(on, in, "vllm-style", "softmax+draw", [&](std::uint32_t copy, cudaStream_t stream) {
    peer_softmax_kernel<<<in.count, threads, 0, stream>>>(in.rows_of(copy), scale, in.probabilities.data());
    peer_noise_kernel<<<in.count, threads, 0, stream>>>(in.probabilities.data(), in.size, in.key(),
                                                        in.peer_tokens.data());
  });
  measure(on, in, "flashinfer-style", "softmax+draw", [&](std::uint32_t copy, cudaStream_t stream) {
    peer_online_softmax_kernel<<<in.count, threads, 0, stream>>>(in.rows_of(copy), scale, in.probabilities.data());
    peer_sum_kernel<<<in.count, threads, 0, stream>>>(in.probabilities.data(), in.size, in.key(),
                                                      in.peer_tokens.data());
  });
  must(cudaGetLastError(), "peers");
}

//! Verification by the other ways, of three drafts a request, whose dense laws are there before.
template <class Scalar>
void measure_peer_rounds(const machine& on, const inputs<Scalar>& in) {
  using namespace cuda_peers;
  if (in.requests() == 0) return;
  const auto scale = static_cast<float>(1 / temperature);
  const std::uint32_t requests = in.requests();
  measure(on, in, "vllm-style", "verify_3", [&](std::uint32_t copy, cudaStream_t stream) {
    peer_softmax_kernel<<<in.count, threads, 0, stream>>>(in.rows_of(copy), scale, in.probabilities.data());
    peer_recover_kernel<<<requests*(in.drafted + 1), threads, 0, stream>>>(in.round(), in.ids.data());
    peer_accept_kernel<<<(requests + threads - 1) / threads, threads, 0, stream>>>(in.round(), requests, in.ids.data());
  });
  measure(on, in, "flashinfer-style", "verify_3", [&](std::uint32_t copy, cudaStream_t stream) {
    peer_online_softmax_kernel<<<in.count, threads, 0, stream>>>(in.rows_of(copy), scale, in.probabilities.data());
    peer_chain_kernel<<<requests, threads, 0, stream>>>(in.round());
  });
  must(cudaGetLastError(), "peers");
}

template <class Scalar>
void measure_size(const machine& on, std::uint32_t rows, std::uint32_t vocab_size) {
  std::size_t free_bytes = 0, all = 0;
  must(cudaMemGetInfo(&free_bytes, &all), "cudaMemGetInfo");
  const std::size_t needed = inputs<Scalar>::needed(on, rows, vocab_size);
  if (needed > free_bytes / 10 * 8) {
    std::printf("%u rows of %u: not measured, %zu MB are needed and %zu MB are free\n", rows, vocab_size, needed >> 20,
                free_bytes >> 20);
    return;
  }
  const inputs<Scalar> in(on, rows, vocab_size);
  measure_ours(on, in);
  measure_our_laws(on, in);
  measure_peer_draws(on, in);
  measure_peer_rounds(on, in);
}

}  // namespace

int main(int count, char** arguments) {
  int cards = 0;
  if (const cudaError_t why = cudaGetDeviceCount(&cards); why != cudaSuccess || cards == 0) {
    std::printf("no GPU found: %s\n", cudaGetErrorString(why));
    return 77;
  }
  std::FILE* csv = count > 1 ? std::fopen(arguments[1], "w") : nullptr;
  if (csv == nullptr) {
    std::printf("usage: bench CSV [--quick]\n");
    return 2;
  }
  const machine on(csv);
  const bool quick = count > 2 && std::strcmp(arguments[2], "--quick") == 0;
  const graph plain(on.stream, 4, [&](int, cudaStream_t stream) { on.read(stream); });
  const double read = static_cast<double>(on.memory.size()) / plain.time(plain.replays_for(20000));
  std::printf("%s, %d multiprocessors, L2 %d MB; a plain read: %.0f GB/s\n\n", on.card.name,
              on.card.multiProcessorCount, on.card.l2CacheSize >> 20, read / 1000);
  std::printf("%-16s %-18s %-8s %5s %7s %10s %10s %10s %8s\n", "who", "task", "scalar", "rows", "V", "us, least",
              "us, median", "one read", "ratio");
  std::fprintf(csv, "who,task,scalar,rows,V,us_least,us_median,us_one_read,ratio,from\n");
  for (const std::uint32_t vocab_size : {32000u, 128256u, 262144u}) {
    for (const std::uint32_t rows : {1u, 8u, 64u, 512u}) {
      if (quick && (vocab_size != 128256 || rows != 64)) continue;
      measure_size<float>(on, rows, vocab_size);
      measure_size<bfloat16_bits>(on, rows, vocab_size);
    }
  }
  return std::fclose(csv) == 0 ? 0 : 1;
}
