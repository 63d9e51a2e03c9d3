// SPDX-License-Identifier: Apache-2.0
//! Runs CUDA kernels on the CPU, with one fibre per CUDA thread, and reports errors in them.
//!
//! Kernels are compiled unchanged, with <cuda_runtime.h> of tests/device/shim and with g++ -fsanitize=thread. The
//! simulator implements the calls of this option, so it sees each plain load and store. A test makes a `device`, names
//! the memory that kernels may access, launches kernels, and reads the findings. See
//! docs/decisions/0011-block-simulator.md for the errors that can be found.
#ifndef SPECVERIFY_TESTS_DEVICE_SIMULATOR_HPP
#define SPECVERIFY_TESTS_DEVICE_SIMULATOR_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace simulator {

//! A location in a kernel's source.
struct place {
  const char* file;
  unsigned line;
};

enum class fault : std::uint8_t {
  race,           //!< two unordered accesses, at least one of them a write
  uninitialised,  //!< a read of memory that was not written
  outside,        //!< memory outside all regions, or a forbidden kind of access
  input_written,
  misaligned,
  barrier,     //!< reached at different lines, or after threads have left
  mask,        //!< a lane outside its own mask, or a mask with lanes that have left
  divergence,  //!< lanes of one mask at different operations
  deadlock,
  refused  //!< a launch that a device would refuse
};
[[nodiscard]] const char* name(fault what) noexcept;

struct finding {
  fault what;
  std::string text;
};

enum class access : std::uint8_t { input, both, output };  //!< output: unwritten at first

struct options {
  std::uint64_t seed = 0;         //!< seed of the order of threads and blocks; 0: ascending
  unsigned shared_cell = 4;       //!< bytes per tracked cell of shared memory; 1 if threads share a word
  std::size_t stack = 64 * 1024;  //!< bytes per thread
};

struct extent {
  unsigned x = 1, y = 1, z = 1;
};

//! A kernel with its arguments.
struct call {
  void (*enter)(const void* arguments) = nullptr;
  const void* arguments = nullptr;
  std::size_t bytes = 0;
};

//! There can be only one device at a time. Launches run on it.
class device {
 public:
  explicit device(const options& wanted = {});
  ~device();
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  template <class T>
  void input(const T* data, std::size_t count) {
    add(data, count * sizeof(T), access::input, sizeof(T));
  }
  template <class T>
  void both(T* data, std::size_t count) {
    add(data, count * sizeof(T), access::both, sizeof(T));
  }
  template <class T>
  void output(T* data, std::size_t count) {
    add(data, count * sizeof(T), access::output, sizeof(T));
  }
  void add(const void* data, std::size_t bytes, access use, std::size_t element);

  //! Returns the bytes of all plain loads from the region that begins at `data`, and of all plain stores to it.
  [[nodiscard]] std::uint64_t bytes_read(const void* data) const;
  [[nodiscard]] std::uint64_t bytes_written(const void* data) const;

  [[nodiscard]] const std::vector<finding>& findings() const noexcept;
  [[nodiscard]] bool saw(fault what) const noexcept;
  [[nodiscard]] std::string report() const;  //!< one line per finding; empty if there is none
};

// ---- interface of the shim

[[nodiscard]] bool launch(const extent& grid, const extent& block, const call& kernel);
bool clear(void* data, int value, std::size_t bytes);  //!< between kernels; false: no such region

enum class operation : std::uint8_t {
  barrier,
  barrier_and,
  barrier_or,
  barrier_count,
  warp_barrier,
  shuffle,
  ballot,
  add,
  least,
  most,
  least_signed,
  most_signed,
  bits_and,
  bits_or,
  bits_xor
};
//! The calling thread waits until all lanes of the operation have arrived. `source`: the lane that a shuffle reads.
[[nodiscard]] std::uint64_t arrive(operation what, std::uint32_t mask, std::uint64_t value, unsigned source,
                                   const place& at);
[[nodiscard]] unsigned lane() noexcept;
void fence() noexcept;
//! Call before an atomic access, a plain access by the shim, and an access that must be aligned.
void touch_atomic(void* data, std::size_t bytes, void* site) noexcept;
void check_aligned(const void* data, std::size_t bytes, void* site) noexcept;

}  // namespace simulator

#endif
