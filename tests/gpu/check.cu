// SPDX-License-Identifier: Apache-2.0
// Runs every kernel on a GPU and compares it with exec::seq: a program of its own, for scripts/gpu_check.
// usage: check [ROWS]     about so many rows of 4 096 ids, and wider and narrower ones besides; 100 000 unless told
// Built by g++ with the header of tests/device/shim, it runs on the block simulator.
#include <gpu/checks.hpp>
#include <gpu/known_answers.hpp>
#include <gpu/law_checks.hpp>
#include <gpu/round_checks.hpp>
#include <gpu/row_checks.hpp>
#include <gpu/steps.hpp>

namespace {

using namespace gpu_tests;

//! Every check on one batch. A new kernel brings its function (checks.hpp and the others) and its line here.
template <class Scalar>
void check_batch(const shape& how, report& found) {
  scene where(how.seed);
  const batch<Scalar> rows(where, how);
  check_digests(rows, found["read_rows"]);
  check_argmax(where, rows, found["argmax"]);
  check_draws(where, rows, how.seed % 8 == 0 ? 1 : 32, found["sample"]);
  const std::uint32_t some[] = {16, 64, 1, 256, 200, 2048, 33, 500};
  check_selections(where, rows, some[how.seed % 8], found["select"]);
  check_numbers(where, rows, found["whole rows"]);
  check_thresholds(where, rows, how.seed % 2 == 0 ? 0.01 : 1e-4, found["threshold"]);
  check_laws(where, rows, how.seed % 3 == 0 ? 1000 : 100, found["lattice"]);
  check_fp16_laws(where, rows, found["fp16 law"]);
  check_perturbations(where, rows, found["perturbation"]);
  check_accepts(where, rows, found["accept"]);
  check_residuals(where, rows, found["residual"]);
  check_sparse_laws(where, rows, 1 + static_cast<std::uint32_t>(how.seed % 64), 100, found["sparse lattice"]);
  check_rounds(where, rows, found["verify"], found["greedy"]);
  if (const std::string said = where.report(); said != scene::nothing) found["device"].complain(said);
}

//! Batches of one size, of all kinds of rows and scalars, until there are `rows` of them.
void check_size(std::uint32_t size, std::uint64_t rows, std::uint32_t most, report& found) {
  std::uint64_t seed = size;
  for (std::uint64_t done = 0; done < rows;) {
    const auto count = static_cast<std::uint32_t>(rows - done < most ? rows - done : most);
    const shape how{count, size, ++seed, seed % 3 == 0};
    if (seed % 3 == 0) check_batch<float>(how, found);
    if (seed % 3 == 1) check_batch<float16_bits>(how, found);
    if (seed % 3 == 2) check_batch<bfloat16_bits>(how, found);
    done += count;
  }
}

void check_all(std::uint64_t rows, report& found) {
  check_known_answers(found["known answers"]);
  const bool small = rows < 10000;
  check_shared_functions(small ? 1000 : 1000000, found["shared functions"]);
  const std::uint32_t most = small ? 16 : 2048;
  for (const std::uint32_t size : {1u, 17u, 1000u, 1024u, 1025u}) check_size(size, rows / 12, most, found);
  for (const std::uint32_t size : {4001u, 4096u}) check_size(size, rows / 3, most, found);
  check_size(32000, rows / 100, most / 8, found);
  if (!small) check_size(128256, rows / 400, 40, found);
  if (!small) check_size(262144, rows / 2000, 25, found);
  for (const std::uint32_t size : {32000u, 128256u})  // few rows, which are split over thread blocks
    for (std::uint32_t count = 1; count <= (small ? 1u : 12u); ++count) check_size(size, count, count, found);
  const shape how{small ? 5u : 64u, small ? 1025u : 32000u, 5, false};
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
