// SPDX-License-Identifier: Apache-2.0
//! Who touched which word when, and whether anything orders two touches. The inside of the simulator.
//!
//! Time: an epoch begins at each launch, block and barrier of a block, and epochs only grow, so nothing is cleared
//! between blocks. Inside an epoch each thread knows a clock of the 32 lanes of its warp; __syncwarp joins them.
//! Between blocks of a launch only this orders: a thread calls __threadfence and then an atomic, another reads that
//! atomic and then calls __threadfence.
#ifndef SPECVERIFY_TESTS_DEVICE_MEMORY_HPP
#define SPECVERIFY_TESTS_DEVICE_MEMORY_HPP

#include <device/simulator/simulator.hpp>

#include <array>
#include <cstdlib>
#include <map>
#include <set>

namespace simulator {

inline constexpr unsigned warp_size = 32;
using clocks = std::array<std::uint32_t, warp_size>;

//! What a thread made known by a fence: all that its block did before `last`, and of that epoch what its warp's lanes
//! had done by `clock`.
struct release {
  std::uint32_t first = 0, last = 0;  // epochs of the block
  unsigned warp = 0;
  clocks clock{};
};

//! What a thread knows of others.
struct knowledge {
  std::uint32_t epoch = 0;  //!< that `clock` belongs to
  clocks clock{};
  std::vector<release> fenced, seen, acquired;  //!< to give on; read from atomics; read, and fenced since
};

//! Accesses of one kind to one word: the latest, or several that nothing orders.
struct stamp {
  enum : std::uint8_t { none, one, lanes, warps };
  std::uint32_t epoch = 0;
  std::uint32_t clock = 0;  //!< lanes: which entry of the pool
  std::uint32_t site = 0;
  std::uint16_t thread = 0;
  std::uint8_t kind = none;
};

struct cell {
  stamp write, atomic, read, foreign;  //!< foreign: reads of another block
};

//! Cells that nobody touched, all zero. Most of them stay so: the pages of these are never there.
class untouched_cells {
 public:
  void make(std::size_t count) {
    data_.reset(static_cast<cell*>(std::calloc(count, sizeof(cell))));
    count_ = count;
    if (data_ == nullptr && count != 0) std::abort();
  }
  [[nodiscard]] cell* begin() { return data_.get(); }
  [[nodiscard]] cell* end() { return data_.get() + count_; }

 private:
  struct free_it {
    void operator()(cell* data) const { std::free(data); }
  };
  std::unique_ptr<cell, free_it> data_;
  std::size_t count_ = 0;
};

struct region {
  std::uintptr_t first = 0, last = 0;
  access use = access::input;
  unsigned element = 4;
  untouched_cells cells;
  std::uint64_t bytes_read = 0, bytes_written = 0;
};

enum class touch : std::uint8_t { read, write, atomic };

//! A line of a source file.
struct source_line {
  std::string file;
  unsigned number = 0;
  [[nodiscard]] std::string name() const;    //!< FILE:NUMBER, without folders
  [[nodiscard]] std::string quoted() const;  //!< `the text of the line`
};

class memory {
 public:
  explicit memory(unsigned shared_cell);

  void add(std::uintptr_t data, std::size_t bytes, access use, std::size_t element);
  [[nodiscard]] region* find(std::uintptr_t at);
  void begin_launch(const call& kernel);
  void begin_block();
  void barrier() { ++now_; }
  void begin_thread(knowledge& self) const;
  void join(knowledge* const* all, const unsigned* lanes, unsigned count);  //!< __syncwarp
  void fence(knowledge& self, unsigned thread);
  void access_word(touch what, std::uintptr_t at, std::size_t bytes, std::uint32_t site, knowledge& self,
                   unsigned thread);
  void share_acquired(knowledge& self);  //!< at a barrier: with the whole block
  void clear(region& all);

  [[nodiscard]] std::uint32_t site_of(const void* instruction) const;
  void complain(fault what, const std::string& text);
  [[nodiscard]] const source_line& line(std::uint32_t site) const;  //!< of an instruction

  std::vector<finding> findings;
  unsigned block_number = 0;
  std::uintptr_t stacks_first = 0, stacks_last = 0;

 private:
  struct target {
    cell* cells;
    std::size_t first, last;
    bool shared;
    std::uintptr_t base;
    unsigned size;
  };
  [[nodiscard]] bool locate(touch what, std::uintptr_t at, std::size_t bytes, std::uint32_t site, target& out);
  [[nodiscard]] bool is_ordered(std::uint32_t epoch, unsigned thread, std::uint32_t clock, const knowledge& self,
                                unsigned own) const;
  [[nodiscard]] bool is_ordered(const stamp& earlier, const knowledge& self, unsigned own) const;
  void add(stamp& to, std::uint32_t site, const knowledge& self, unsigned own);
  void check(const char* verb, const char* earlier_verb, const stamp& earlier, const target& where, std::size_t index,
             std::uint32_t site, const knowledge& self, unsigned own);
  [[nodiscard]] std::string name_of(const target& where, std::size_t index) const;

  std::map<std::uintptr_t, region> regions_;  // by their last byte
  region* latest_ = nullptr;
  untouched_cells shared_;
  unsigned shared_cell_;
  std::uintptr_t shared_first_ = 0, shared_last_ = 0;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> constants_, ignored_;
  std::uintptr_t base_ = 0;
  call kernel_;
  std::uint32_t now_ = 1, launch_first_ = 1, block_first_ = 1;
  std::vector<clocks> pool_;
  std::vector<release> block_acquired_;
  std::map<std::uintptr_t, std::vector<release>> atomics_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;
};

}  // namespace simulator

#endif
