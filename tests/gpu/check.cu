// SPDX-License-Identifier: Apache-2.0
// Runs every kernel on a GPU and compares it with exec::seq: a program of its own, for scripts/gpu_check.
// usage: check [ROWS]     about so many rows of 4 096 ids, and wider and narrower ones besides; 100 000 unless told
// Built by g++ with the header of tests/device/shim, it runs on the block simulator.
//
// SPECVERIFY_CHECK_READS, _DECISIONS, _ROUNDS: this unit holds the kernels of a third of the checks, for this type of
// rows; SPECVERIFY_CHECK_APART: they are in others. scripts/gpu_check compiles ten units side by side.
#include <gpu/batch_checks.hpp>
#include <gpu/steps.hpp>

namespace gpu_tests {

#define SPECVERIFY_READS(Scalar, declared)                                                             \
  declared template copied_digests<Scalar> check_reads<Scalar>(scene&, const batch<Scalar>&, report&); \
  declared template status enqueue_reads<Scalar>(exec::cuda, const batch<Scalar>&, device_token*,      \
                                                 const device_supports&)
#define SPECVERIFY_DECISIONS(Scalar, declared) \
  declared template void check_decisions<Scalar>(scene&, const batch<Scalar>&, const copied_digests<Scalar>&, report&)
#define SPECVERIFY_ROUNDS(Scalar, declared)                                                                           \
  declared template void check_rounds<Scalar>(scene&, const batch<Scalar>&, const copied_digests<Scalar>&, tally&,    \
                                              tally&);                                                                \
  declared template status enqueue_rounds<Scalar>(exec::cuda, const device_rounds<Scalar>&, const device_uniforms<>&, \
                                                  const device_verdicts&, device_memory)

#if defined(SPECVERIFY_CHECK_READS)
SPECVERIFY_READS(SPECVERIFY_CHECK_READS, );
#elif defined(SPECVERIFY_CHECK_DECISIONS)
SPECVERIFY_DECISIONS(SPECVERIFY_CHECK_DECISIONS, );
#elif defined(SPECVERIFY_CHECK_ROUNDS)
SPECVERIFY_ROUNDS(SPECVERIFY_CHECK_ROUNDS, );
#else
#define SPECVERIFY_CHECK_MAIN
#endif
#if defined(SPECVERIFY_CHECK_APART)
#define SPECVERIFY_ALL(Scalar)          \
  SPECVERIFY_READS(Scalar, extern);     \
  SPECVERIFY_DECISIONS(Scalar, extern); \
  SPECVERIFY_ROUNDS(Scalar, extern)
SPECVERIFY_ALL(float);
SPECVERIFY_ALL(float16_bits);
SPECVERIFY_ALL(bfloat16_bits);
#endif

}  // namespace gpu_tests

#if defined(SPECVERIFY_CHECK_MAIN)
#include <specverify/cuda/known_answers.cuh>
#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/scalar/integer_weights.hpp>
#include <specverify/kernel/scalar/log_sum_exp.hpp>

// Arithmetic on the device, which must not depend on nvcc's flags, and functions that kernels share with the host.
SPECVERIFY_TYPES_BEGIN
namespace gpu_checks {

//! What the functions that kernels share with the host give.
struct shared_values {
  float coarse;
  std::uint32_t weight;
  double exact, logarithm;
  random_block random;
};

SPECVERIFY_HD SPECVERIFY_INLINE shared_values values_at(float logit, std::uint32_t at, double temperature) {
  const kernel::envelope<float> coarse{0.0f, kernel::coarse_scale(temperature), false};
  const kernel::integer_weight weight{0.0, kernel::weight_scale(temperature), false};
  return {coarse(logit), weight(static_cast<double>(logit)),
          kernel::exponential(static_cast<double>(logit) / temperature),
          kernel::logarithm(1.0 + static_cast<double>(at) - static_cast<double>(logit)),
          random_at(philox_key{{at, 17u}}, random_counter{at, 3, 5, purpose::bonus_draw, 0})};
}

__global__ void shared_kernel(const float* logits, std::uint32_t count, double temperature, shared_values* out) {
  const std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) out[at] = values_at(logits[at], at, temperature);
}

//! Half precision, by an instruction of the card: all 2^16 numbers.
__global__ void half_kernel(float* out) {
  const std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  out[at] = kernel::to_working(float16_bits{static_cast<std::uint16_t>(at)});
}

}  // namespace gpu_checks
SPECVERIFY_TYPES_END

namespace {

using namespace gpu_tests;

//! What an engine may ask its card (cuda/known_answers.cuh).
void check_known_answers(tally& found) {
  scene where(1);
  const array<device_answers> out(where, 1);
  if (!taken(known_answers(exec::cuda{}, out.data()), "known_answers", found)) return;
  const device_answers card = out.read()[0];
  const auto expect = [&](bool right, const char* what) { found.expect(right, what, 0, 0); };
  expect(card.denormals, "denormals (is -ftz=true set?)");
  expect(card.roundings, "products that are rounded before sums");
  expect(card.shared, "weights and random numbers");
  expect(card.right(), "all known answers");
  std::printf("plain products are %s with sums\n", card.fuses ? "fused" : "not fused");
}

//! Coarse and exact exponentials, logarithms, integer weights and Philox have the host's bits.
void check_shared_functions(std::uint32_t count, tally& found) {
  scene where(2);
  generator random{11};
  std::vector<float> logits(count);
  for (float& logit : logits) logit = static_cast<float>(-80.0 * random.uniform() * random.uniform());
  const array<float> in(where, logits);
  const array<gpu_checks::shared_values> out(where, count);
  const double temperature = 0.7;
  const status why = cuda_detail::enqueue(exec::cuda{}, {(count + 127) / 128, 128}, &gpu_checks::shared_kernel,
                                          in.data(), count, temperature, out.data());
  if (!taken(why, "shared_kernel", found)) return;
  const std::vector<gpu_checks::shared_values> made = out.read();
  for (std::uint32_t i = 0; i < count; ++i) {
    const gpu_checks::shared_values host = gpu_checks::values_at(logits[i], i, temperature);
    found.expect(same_bits(made[i].coarse, host.coarse), "coarse exponential", 0, i);
    found.expect(made[i].weight == host.weight, "integer weight", 0, i);
    found.expect(made[i].random == host.random, "Philox", 0, i);
    found.expect(same_bits(made[i].exact, host.exact), "exact exponential", 0, i);
    found.expect(same_bits(made[i].logarithm, host.logarithm), "logarithm", 0, i);
  }
}

//! What a number of half precision is as a float: the host's bits, and a NaN for a NaN.
void check_half_precision(tally& found) {
  constexpr std::uint32_t count = 1u << 16;
  scene where(3);
  const array<float> out(where, count);
  const status why = cuda_detail::enqueue(exec::cuda{}, {count / 128, 128}, &gpu_checks::half_kernel, out.data());
  if (!taken(why, "half_kernel", found)) return;
  const std::vector<float> made = out.read();
  for (std::uint32_t i = 0; i < count; ++i) {
    const float host = kernel::to_working(float16_bits{static_cast<std::uint16_t>(i)});
    found.expect(same_bits(made[i], host) || (numeric::is_nan(made[i]) && numeric::is_nan(host)), "half precision", 0,
                 i);
  }
}

template <class Scalar>
void check_batch(const shape& how, report& found) {
  scene where(how.seed);
  const batch<Scalar> rows(where, how);
  const copied_digests<Scalar> digests = check_reads(where, rows, found);
  check_decisions(where, rows, digests, found);
  check_rounds(where, rows, digests, found["verify"], found["greedy"]);
  if (const std::string said = where.report(); said != scene::nothing) found["device"].complain(said);
}

//! Batches of one size, of all types of rows, plain, transformed, truncated and both, until there are `rows` of them.
void check_size(std::uint32_t size, std::uint64_t rows, std::uint32_t most, std::uint64_t seed, report& found) {
  for (std::uint64_t done = 0; done < rows; ++seed) {
    const auto count = static_cast<std::uint32_t>(rows - done < most ? rows - done : most);
    const shape how{count, size, seed, seed / 3 % 2 == 1, seed / 6 % 2 == 1};
    if (seed % 3 == 0) check_batch<float>(how, found);
    if (seed % 3 == 1) check_batch<float16_bits>(how, found);
    if (seed % 3 == 2) check_batch<bfloat16_bits>(how, found);
    done += count;
  }
}

void check_all(std::uint64_t rows, report& found) {
  check_known_answers(found["known answers"]);
  check_half_precision(found["half precision"]);
  const bool small = rows < 10000;
  check_shared_functions(small ? 1000 : 1000000, found["shared functions"]);
  const std::uint32_t most = small ? 3 : 1024;
  for (const std::uint32_t size : {1u, 17u, 1000u, 1024u, 1025u}) check_size(size, rows / 12, most, size, found);
  for (const std::uint32_t size : {4001u, 4096u}) check_size(size, rows / 3, most, size, found);
  check_size(32000, rows / 100, most / 8 + 1, 32000, found);
  if (!small) check_size(128256, rows / 400, 21, 1, found);
  if (!small) check_size(262144, rows / 2000, 5, 1, found);
  for (const std::uint32_t size : {32000u, 128256u})  // few rows, which are split over thread blocks
    for (std::uint32_t count = 1; count <= (small ? 1u : 12u); ++count) check_size(size, count, count, count, found);
  const shape how{small ? 5u : 64u, small ? 1025u : 32000u, 5};
  check_repeat(how, found["run again"]);
  check_replay(how, found["graph replay"]);
  check_two_streams(how, found["two streams"]);
}

//! Names the card; false where there is none.
bool find_card() {
#if defined(__CUDACC__)
  int count = 0;
  if (const cudaError_t why = cudaGetDeviceCount(&count); why != cudaSuccess || count == 0) {
    std::printf("no GPU found: %s\n", cudaGetErrorString(why));
    return false;
  }
  cudaDeviceProp card{};
  must(cudaGetDeviceProperties(&card, 0), "cudaGetDeviceProperties");
  std::printf("on %s, compute capability %d.%d\n", card.name, card.major, card.minor);
#else
  std::printf("on the block simulator\n");
#endif
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  if (!find_card()) return 77;
  gpu_tests::report found;
  check_all(count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 100000, found);
  return found.print() ? 0 : 1;
}

#endif
