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
#include <gpu/known_answers.hpp>

namespace {

using namespace gpu_tests;

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
