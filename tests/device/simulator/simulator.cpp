// SPDX-License-Identifier: Apache-2.0
#include <device/shim/cuda_runtime.h>
#include <device/simulator/memory.hpp>

#include <ucontext.h>
#include <csetjmp>
#include <cstdlib>

namespace simulator {
namespace {

struct request {
  operation what = operation::barrier;
  std::uint32_t mask = 0;
  std::uint64_t value = 0, result = 0;
  unsigned source = 0;
  place at{};
};

enum class state : std::uint8_t { ready, at_warp, at_barrier, gone };

struct fibre {
  jmp_buf resume;
  ucontext_t begin;
  bool begun = false;
  state is = state::gone;
  request wants;
  knowledge known;
};

constexpr std::uint64_t canary = 0x5EC5EC5EC5EC5EC5u;

bool is_block_operation(operation what) { return what <= operation::barrier_count; }

std::string lines_of(const place& at) {
  const source_line line{at.file, at.line};
  return line.name() + " " + line.quoted();
}

bool same_place(const place& a, const place& b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

// Stacks of threads outlive a device: a test makes many.
struct memory_of_stacks {
  std::unique_ptr<char[]> data;
  std::size_t bytes = 0;
  char* take(std::size_t wanted) {
    if (wanted > bytes) {
      data.reset(new char[wanted]);
      bytes = wanted;
    }
    return data.get();
  }
} stacks;

}  // namespace

// Fibres of one block after the other. They give way at rendezvous only; what could happen in between is settled by the
// order of accesses (memory.hpp), not by chance.
class machine {
 public:
  explicit machine(const options& wanted) : words(wanted.shared_cell), options_(wanted), random_(wanted.seed) {}

  bool launch(const extent& grid, const extent& block, const call& kernel);
  std::uint64_t arrive(const request& wanted);
  fibre& self() { return fibres_[running_]; }
  [[nodiscard]] bool is_running() const { return inside_; }
  [[nodiscard]] unsigned thread() const { return running_; }
  // The running thread's own stack.
  [[nodiscard]] bool is_local(std::uintptr_t at) const { return at - local_ < options_.stack; }

  memory words;

 private:
  void make_fibres(unsigned count);
  void run_block(const extent& block);
  void resume(unsigned thread, const extent& block);
  static void enter();
  void give_way();
  void finish_warp(unsigned thread);
  void finish_barrier();
  void compute(unsigned warp, std::uint32_t mask);
  [[nodiscard]] std::uint64_t result_of(operation what, unsigned warp, std::uint32_t mask) const;
  void fail(fault what, const std::string& text);
  void say_deadlock();
  std::uint64_t draw(std::uint64_t bound);
  //! From one stack to the next: not a power of two, or the tops of all stacks would share a few lines of the caches.
  [[nodiscard]] std::size_t stride() const { return options_.stack + 832; }
  std::uintptr_t stack_of(unsigned thread) const {
    return reinterpret_cast<std::uintptr_t>(stacks_) + thread * stride();
  }
  void wake(unsigned thread) {
    fibres_[thread].is = state::ready;
    ready_.push_back(thread);
  }
  // Of a warp: a bit a thread.
  struct lanes {
    std::uint32_t present = 0, waiting = 0;
  };

  options options_;
  std::uint64_t random_;
  call kernel_;
  std::vector<fibre> fibres_;
  char* stacks_ = nullptr;
  std::vector<unsigned> ready_;
  std::array<lanes, 1024 / warp_size> warps_;
  unsigned count_ = 0, gone_ = 0, at_barrier_ = 0, running_ = 0;
  std::uintptr_t local_ = 0;
  bool inside_ = false, failed_ = false;
  jmp_buf scheduler_;
};

namespace {
machine* current = nullptr;
}

std::uint64_t machine::draw(std::uint64_t bound) {  // splitmix64
  std::uint64_t z = random_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return ((z ^ (z >> 31)) >> 32) * bound >> 32;
}

void machine::fail(fault what, const std::string& text) {
  words.complain(what, text);
  failed_ = true;
}

void machine::make_fibres(unsigned count) {
  if (fibres_.size() < count) {
    fibres_ = std::vector<fibre>(count);
    stacks_ = stacks.take(count * stride());
    for (unsigned i = 0; i < count; ++i) *reinterpret_cast<std::uint64_t*>(stack_of(i)) = canary;
    words.stacks_first = stack_of(0);
    words.stacks_last = stack_of(count);
  }
}

// The body of every fibre: the kernel, once a block.
void machine::enter() {
  for (;;) {
    current->kernel_.enter(current->kernel_.arguments);
    fibre& self = current->self();
    self.is = state::gone;
    ++current->gone_;
    current->warps_[current->running_ / warp_size].present &= ~(1u << (current->running_ % warp_size));
    current->give_way();
  }
}

void machine::give_way() {
  if (_setjmp(self().resume) == 0) _longjmp(scheduler_, 1);
}

void machine::resume(unsigned thread, const extent& block) {
  running_ = thread;
  local_ = stack_of(thread);
  threadIdx = {thread, 0, 0};
  if (block.x < count_) threadIdx = {thread % block.x, thread / block.x % block.y, thread / (block.x * block.y)};
  inside_ = true;
  if (_setjmp(scheduler_) == 0) {
    fibre& next = fibres_[thread];
    if (next.begun) _longjmp(next.resume, 1);
    next.begun = true;
    getcontext(&next.begin);
    next.begin.uc_stack.ss_sp = reinterpret_cast<void*>(local_ + 64);
    next.begin.uc_stack.ss_size = options_.stack - 64;
    next.begin.uc_link = nullptr;
    makecontext(&next.begin, &machine::enter, 0);
    setcontext(&next.begin);
  }
  inside_ = false;
  if (*reinterpret_cast<std::uint64_t*>(stack_of(running_)) != canary) {
    std::fprintf(stderr, "the stack of a simulated thread ran over: options::stack\n");
    std::abort();
  }
}

bool machine::launch(const extent& grid, const extent& block, const call& kernel) {
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  if (threads == 0 || threads > 1024 || block.z > 64 || blocks == 0 || grid.x > 0x7FFFFFFFu || grid.y > 65535 ||
      grid.z > 65535) {
    words.complain(fault::refused, "a launch of " + std::to_string(blocks) + " blocks of " + std::to_string(threads));
    return false;
  }
  make_fibres(static_cast<unsigned>(threads));
  count_ = static_cast<unsigned>(threads);
  kernel_ = kernel;
  failed_ = false;
  words.begin_launch(kernel);
  blockDim = dim3(block.x, block.y, block.z);
  gridDim = dim3(grid.x, grid.y, grid.z);
  std::vector<unsigned> order(blocks);
  for (unsigned i = 0; i < blocks; ++i) order[i] = i;
  for (unsigned i = static_cast<unsigned>(blocks); options_.seed != 0 && i > 1; --i)
    std::swap(order[i - 1], order[draw(i)]);
  for (const unsigned number : order) {
    blockIdx = {number % grid.x, number / grid.x % grid.y, number / (grid.x * grid.y)};
    words.block_number = number;
    run_block(block);
    if (failed_) break;
  }
  words.begin_launch({});  // what comes next, comes after
  return true;
}

void machine::run_block(const extent& block) {
  words.begin_block();
  ready_.clear();
  gone_ = at_barrier_ = 0;
  warps_ = {};
  for (unsigned i = count_; i-- > 0;) {
    words.begin_thread(fibres_[i].known);
    warps_[i / warp_size].present |= 1u << (i % warp_size);
    wake(i);
  }
  while (!ready_.empty() && !failed_) {
    if (options_.seed != 0) std::swap(ready_[draw(ready_.size())], ready_.back());
    const unsigned next = ready_.back();
    ready_.pop_back();
    resume(next, block);
    const unsigned warp = next / warp_size * warp_size;
    if (fibres_[next].is == state::at_warp) finish_warp(next);
    for (unsigned i = warp; fibres_[next].is == state::gone && i < warp + warp_size && i < count_; ++i) {
      if (fibres_[i].is == state::at_warp) finish_warp(i);  // may wait for the one that left
    }
    if (at_barrier_ > 0 && at_barrier_ + gone_ == count_) finish_barrier();
  }
  if (!failed_ && gone_ < count_) say_deadlock();
  if (!failed_) return;
  for (unsigned i = 0; i < count_; ++i) {  // they stand somewhere inside the kernel
    fibres_[i].begun = false;
    fibres_[i].is = state::gone;
  }
}

void machine::say_deadlock() {
  std::string text = "threads wait for each other:";
  unsigned named = 0;
  for (unsigned i = 0; i < count_ && named < 8; ++i) {
    const fibre& one = fibres_[i];
    if (one.is == state::gone ||
        (i > 0 && fibres_[i - 1].is == one.is && same_place(one.wants.at, fibres_[i - 1].wants.at)))
      continue;
    text += " from " + std::to_string(i) + (one.is == state::at_barrier ? " at a barrier, " : " for their warp, ") +
            lines_of(one.wants.at) + ";";
    ++named;
  }
  fail(fault::deadlock, text);
}

std::uint64_t machine::arrive(const request& wanted) {
  fibre& me = self();
  me.wants = wanted;
  if (is_block_operation(wanted.what)) {
    me.is = state::at_barrier;
    ++at_barrier_;
  } else {
    me.is = state::at_warp;
  }
  give_way();
  return self().wants.result;
}

void machine::finish_barrier() {
  const fibre* first = nullptr;
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < count_; ++i) {
    const fibre& one = fibres_[i];
    if (one.is != state::at_barrier) continue;
    if (first == nullptr) first = &one;
    if (one.wants.what != first->wants.what || !same_place(one.wants.at, first->wants.at))
      return fail(fault::barrier, "a barrier reached at different lines: " + lines_of(first->wants.at) + " and " +
                                      lines_of(one.wants.at));
    sum += one.wants.value;
  }
  if (gone_ > 0)
    return fail(fault::barrier, "a barrier at " + lines_of(first->wants.at) + " after " + std::to_string(gone_) +
                                    " of " + std::to_string(count_) + " threads have left");
  const operation what = first->wants.what;
  const std::uint64_t result = what == operation::barrier_and  ? sum == count_
                               : what == operation::barrier_or ? sum > 0
                                                               : sum;
  for (unsigned i = 0; i < count_; ++i) words.share_acquired(fibres_[i].known);
  words.barrier();
  at_barrier_ = 0;
  for (unsigned i = count_; i-- > 0;) {
    fibres_[i].wants.result = result;
    wake(i);
  }
}

// After an arrival: whether all lanes of its mask are there.
void machine::finish_warp(unsigned thread) {
  const request& asked = fibres_[thread].wants;
  const unsigned warp = thread / warp_size * warp_size;
  lanes& all = warps_[thread / warp_size];
  all.waiting |= 1u << (thread % warp_size);
  if ((asked.mask >> (thread % warp_size) & 1u) == 0)
    return fail(fault::mask, "thread " + std::to_string(thread) + " is not in its own mask at " + lines_of(asked.at));
  if (const std::uint32_t lacking = asked.mask & ~all.present; lacking != 0)
    return fail(fault::mask, "the mask at " + lines_of(asked.at) + " names thread " +
                                 std::to_string(warp + static_cast<unsigned>(__builtin_ctz(lacking))) +
                                 ", which is gone");
  if ((asked.mask & ~all.waiting) != 0) return;
  for (std::uint32_t left = asked.mask; left != 0; left &= left - 1) {
    const unsigned other = warp + static_cast<unsigned>(__builtin_ctz(left));
    const request& theirs = fibres_[other].wants;
    if (theirs.what != asked.what || theirs.mask != asked.mask || !same_place(theirs.at, asked.at))
      return fail(fault::divergence, "thread " + std::to_string(thread) + " at " + lines_of(asked.at) +
                                         " waits for thread " + std::to_string(other) + ", which is at " +
                                         lines_of(theirs.at));
  }
  compute(warp, asked.mask);
}

// What a vote or a reduction gives to all of its lanes.
std::uint64_t machine::result_of(operation what, unsigned warp, std::uint32_t mask) const {
  const auto is_signed_less = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
  };
  const unsigned first = warp + static_cast<unsigned>(__builtin_ctz(mask));
  std::uint64_t all = fibres_[first].wants.value, votes = 0, sum = 0;
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const unsigned other = warp + static_cast<unsigned>(__builtin_ctz(left));
    const std::uint64_t value = fibres_[other].wants.value;
    votes |= (value & 1u) << (other % warp_size);
    sum += value;
    if (what == operation::least ? value < all : what == operation::most ? value > all : false) all = value;
    if (what == operation::least_signed ? is_signed_less(value, all)
                                        : what == operation::most_signed && is_signed_less(all, value))
      all = value;
    if (what == operation::bits_and) all &= value;
    if (what == operation::bits_or) all |= value;
    if (what == operation::bits_xor) all = other == first ? value : all ^ value;
  }
  return what == operation::ballot ? votes : what == operation::add ? sum & 0xFFFFFFFFu : all;
}

void machine::compute(unsigned warp, std::uint32_t mask) {
  const operation what = fibres_[warp + static_cast<unsigned>(__builtin_ctz(mask))].wants.what;
  const bool shuffles = what == operation::shuffle, joins = what == operation::warp_barrier;
  const std::uint64_t common = shuffles || joins ? 0 : result_of(what, warp, mask);
  knowledge* known[warp_size];
  unsigned group[warp_size], count = 0;
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
    request& asked = fibres_[warp + lane].wants;
    asked.result = common;
    if (shuffles) {
      if (asked.source >= warp_size || (mask >> asked.source & 1u) == 0)
        return fail(fault::mask, "thread " + std::to_string(warp + lane) + " takes a value of lane " +
                                     std::to_string(asked.source) + ", which is not in the mask, at " +
                                     lines_of(asked.at));
      asked.result = fibres_[warp + asked.source].wants.value;
    }
    known[count] = &fibres_[warp + lane].known;
    group[count++] = lane;
  }
  if (joins) words.join(known, group, count);
  warps_[warp / warp_size].waiting &= ~mask;
  while (count-- > 0) wake(warp + group[count]);
}

// ---- the interface

const char* name(fault what) noexcept {
  constexpr const char* names[] = {"race",    "uninitialised", "outside",    "input_written", "misaligned",
                                   "barrier", "mask",          "divergence", "deadlock",      "refused"};
  return names[static_cast<std::size_t>(what)];
}

device::device(const options& wanted) {
  if (current != nullptr) std::abort();  // one at a time
  current = new machine(wanted);
}
device::~device() {
  delete current;
  current = nullptr;
}
void device::add(const void* data, std::size_t bytes, access use, std::size_t element) {
  current->words.add(reinterpret_cast<std::uintptr_t>(data), bytes, use, element);
}
std::uint64_t device::bytes_read(const void* data) const {
  const region* found = current->words.find(reinterpret_cast<std::uintptr_t>(data));
  return found == nullptr ? 0 : found->bytes_read;
}
std::uint64_t device::bytes_written(const void* data) const {
  const region* found = current->words.find(reinterpret_cast<std::uintptr_t>(data));
  return found == nullptr ? 0 : found->bytes_written;
}
const std::vector<finding>& device::findings() const noexcept { return current->words.findings; }
bool device::saw(fault what) const noexcept {
  for (const finding& one : findings()) {
    if (one.what == what) return true;
  }
  return false;
}
std::string device::report() const {
  std::string text;
  for (const finding& one : findings()) text += std::string(name(one.what)) + ": " + one.text + "\n";
  return text;
}

bool launch(const extent& grid, const extent& block, const call& kernel) {
  return current != nullptr && current->launch(grid, block, kernel);
}
bool clear(void* data, int value, std::size_t bytes) {
  region* found = current == nullptr ? nullptr : current->words.find(reinterpret_cast<std::uintptr_t>(data));
  if (found == nullptr || found->use == access::input || found->first != reinterpret_cast<std::uintptr_t>(data) ||
      found->last != found->first + bytes)
    return false;
  std::memset(data, value, bytes);
  current->words.clear(*found);
  return true;
}
std::uint64_t arrive(operation what, std::uint32_t mask, std::uint64_t value, unsigned source, const place& at) {
  return current->arrive({what, mask, value, 0, source, at});
}
unsigned lane() noexcept { return current->thread() % warp_size; }
void fence() noexcept { current->words.fence(current->self().known, current->thread()); }

namespace {

//! The linker may take a test's watched copy of what the simulator itself calls: that is not the kernel's.
bool is_inside = false;

void seen(touch what, const void* data, std::size_t bytes, void* site) {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  if (is_inside || current == nullptr || !current->is_running() || current->is_local(at)) return;
  is_inside = true;
  current->words.access_word(what, at, bytes, current->words.site_of(site), current->self().known, current->thread());
  is_inside = false;
}

}  // namespace

void touch_atomic(void* data, std::size_t bytes, void* site) noexcept { seen(touch::atomic, data, bytes, site); }
void check_aligned(const void* data, std::size_t bytes, void* site) noexcept {
  (void)site;
  if (current == nullptr || !current->is_running() || reinterpret_cast<std::uintptr_t>(data) % bytes == 0) return;
  current->words.complain(fault::misaligned, "a load of " + std::to_string(bytes) + " bytes is not aligned to them");
}

}  // namespace simulator

// What g++ -fsanitize=thread calls. libtsan, which would define these, is not linked.
extern "C" {
void __tsan_init() {}
#define SPECVERIFY_TSAN(bytes)                                                        \
  void __tsan_read##bytes(void* at) {                                                 \
    simulator::seen(simulator::touch::read, at, bytes, __builtin_return_address(0));  \
  }                                                                                   \
  void __tsan_write##bytes(void* at) {                                                \
    simulator::seen(simulator::touch::write, at, bytes, __builtin_return_address(0)); \
  }                                                                                   \
  void __tsan_unaligned_read##bytes(void* at) {                                       \
    simulator::seen(simulator::touch::read, at, bytes, __builtin_return_address(0));  \
  }                                                                                   \
  void __tsan_unaligned_write##bytes(void* at) {                                      \
    simulator::seen(simulator::touch::write, at, bytes, __builtin_return_address(0)); \
  }
SPECVERIFY_TSAN(1)
SPECVERIFY_TSAN(2)
SPECVERIFY_TSAN(4)
SPECVERIFY_TSAN(8)
SPECVERIFY_TSAN(16)
#undef SPECVERIFY_TSAN
void __tsan_read_range(void* at, std::size_t bytes) {
  simulator::seen(simulator::touch::read, at, bytes, __builtin_return_address(0));
}
void __tsan_write_range(void* at, std::size_t bytes) {
  simulator::seen(simulator::touch::write, at, bytes, __builtin_return_address(0));
}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
}
