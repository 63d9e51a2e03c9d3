// SPDX-License-Identifier: Apache-2.0
#include <device/shim/cuda_runtime.h>
#include <device/simulator/memory.hpp>

#include <link.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <fstream>

namespace simulator {
namespace {

struct image {
  std::uintptr_t base = 0, shared_first = 0, shared_last = 0;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> constants;
};

// The program itself: where it was loaded, its thread-local block (which is what __shared__ stands for) and which parts
// cannot be written.
int look(dl_phdr_info* info, std::size_t, void* out) {
  image& found = *static_cast<image*>(out);
  found.base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const std::uintptr_t first = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_TLS) {
      found.shared_first = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
      found.shared_last = found.shared_first + part.p_memsz;
    } else if (part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0) {
      found.constants.emplace_back(first, first + part.p_memsz);
    }
  }
  return 1;  // the first one is the program
}

template <class T>
std::pair<std::uintptr_t, std::uintptr_t> bytes_of(const T& object) {
  const auto first = reinterpret_cast<std::uintptr_t>(&object);
  return {first, first + sizeof(T)};
}

std::string text(const source_line& line) { return line.name() + " " + line.quoted(); }

bool holds(const std::vector<std::pair<std::uintptr_t, std::uintptr_t>>& all, std::uintptr_t at) {
  return std::any_of(all.begin(), all.end(), [at](const auto& one) { return at >= one.first && at < one.second; });
}

}  // namespace

memory::memory(unsigned shared_cell) : shared_cell_(shared_cell) {
  image program;
  dl_iterate_phdr(look, &program);
  base_ = program.base;
  shared_first_ = program.shared_first;
  shared_last_ = program.shared_last;
  constants_ = program.constants;
  shared_.make((shared_last_ - shared_first_ + shared_cell - 1) / shared_cell);
  ignored_ = {bytes_of(threadIdx), bytes_of(blockIdx), bytes_of(blockDim), bytes_of(gridDim)};
}

void memory::add(std::uintptr_t data, std::size_t bytes, access use, std::size_t element) {
  if (bytes == 0) return;
  region made;
  made.first = data;
  made.last = data + bytes;
  made.use = use;
  made.element = element < 4 ? static_cast<unsigned>(element) : 4;
  if (use != access::input) made.cells.make((bytes + made.element - 1) / made.element);
  const std::uintptr_t key = made.last - 1;
  regions_.insert_or_assign(key, std::move(made));
  latest_ = nullptr;
}

region* memory::find(std::uintptr_t at) {
  if (latest_ != nullptr && at >= latest_->first && at < latest_->last) return latest_;
  const auto found = regions_.lower_bound(at);
  if (found == regions_.end() || at < found->second.first) return nullptr;
  return latest_ = &found->second;
}

void memory::clear(region& all) {
  ++now_;
  for (cell& one : all.cells) {
    one = {};
    one.write.epoch = now_;
    one.write.kind = stamp::one;
  }
  ++now_;
}

void memory::begin_launch(const call& kernel) {
  kernel_ = kernel;
  launch_first_ = ++now_;
  pool_.clear();
  atomics_.clear();
}

void memory::begin_block() {
  block_first_ = ++now_;
  block_acquired_.clear();
}

void memory::begin_thread(knowledge& self) const {
  self.epoch = 0;
  self.fenced.clear();
  self.seen.clear();
  self.acquired.clear();
}

namespace {

// The clock of a lane, as the thread `own` knows it.
std::uint32_t clock_of(const knowledge& self, unsigned lane, unsigned own, std::uint32_t now) {
  if (self.epoch == now) return self.clock[lane];
  return lane == own % warp_size ? 1 : 0;
}

void refresh(knowledge& self, unsigned own, std::uint32_t now) {
  if (self.epoch == now) return;
  self.epoch = now;
  self.clock = {};
  self.clock[own % warp_size] = 1;
}

}  // namespace

void memory::join(knowledge* const* all, const unsigned* lanes, unsigned count) {
  clocks joined{};
  std::vector<release> acquired;  // of few kernels: empty costs nothing
  for (unsigned i = 0; i < count; ++i) {
    refresh(*all[i], lanes[i], now_);
    for (unsigned lane = 0; lane < warp_size; ++lane) joined[lane] = std::max(joined[lane], all[i]->clock[lane]);
    acquired.insert(acquired.end(), all[i]->acquired.begin(), all[i]->acquired.end());
  }
  for (unsigned i = 0; i < count; ++i) {
    all[i]->clock = joined;
    ++all[i]->clock[lanes[i]];
    if (!acquired.empty()) all[i]->acquired = acquired;
  }
}

void memory::fence(knowledge& self, unsigned thread) {
  refresh(self, thread, now_);
  self.acquired.insert(self.acquired.end(), self.seen.begin(), self.seen.end());
  self.seen.clear();
  self.fenced = self.acquired;
  self.fenced.insert(self.fenced.end(), block_acquired_.begin(), block_acquired_.end());
  self.fenced.push_back({block_first_, now_, thread / warp_size, self.clock});
  ++self.clock[thread % warp_size];
}

void memory::share_acquired(knowledge& self) {
  block_acquired_.insert(block_acquired_.end(), self.acquired.begin(), self.acquired.end());
  self.acquired.clear();
}

bool memory::is_ordered(std::uint32_t epoch, unsigned thread, std::uint32_t clock, const knowledge& self,
                        unsigned own) const {
  if (epoch < launch_first_) return true;
  if (epoch >= block_first_) {
    if (epoch < now_ || thread == own) return true;
    if (thread / warp_size == own / warp_size && clock <= clock_of(self, thread % warp_size, own, now_)) return true;
  }
  const auto covers = [&](const release& known) {
    if (epoch < known.first || epoch > known.last) return false;
    return epoch < known.last || (known.warp == thread / warp_size && clock <= known.clock[thread % warp_size]);
  };
  return std::any_of(self.acquired.begin(), self.acquired.end(), covers) ||
         std::any_of(block_acquired_.begin(), block_acquired_.end(), covers);
}

bool memory::is_ordered(const stamp& earlier, const knowledge& self, unsigned own) const {
  if (earlier.epoch < launch_first_) return true;  // its entry of the pool is gone
  switch (earlier.kind) {
    case stamp::none:
      return true;
    case stamp::one:
      return is_ordered(earlier.epoch, earlier.thread, earlier.clock, self, own);
    case stamp::lanes: {
      const clocks& all = pool_[earlier.clock];
      const unsigned first = earlier.thread / warp_size * warp_size;
      for (unsigned lane = 0; lane < warp_size; ++lane) {
        if (all[lane] != 0 && !is_ordered(earlier.epoch, first + lane, all[lane], self, own)) return false;
      }
      return true;
    }
    default:
      return is_ordered(earlier.epoch, 0xFFFF, 0xFFFFFFFFu, self, own);
  }
}

std::uint32_t memory::site_of(const void* instruction) const {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(instruction) - base_);
}

void memory::add(stamp& to, std::uint32_t site, const knowledge& self, unsigned own) {
  const std::uint32_t clock = clock_of(self, own % warp_size, own, now_);
  if (to.kind == stamp::none || to.epoch != now_) {
    to = {now_, clock, site, static_cast<std::uint16_t>(own), stamp::one};
    return;
  }
  if (to.kind == stamp::warps) return;
  if (to.kind == stamp::one && to.thread == own) {
    to.clock = clock;
    return;
  }
  if (to.thread / warp_size != own / warp_size) {
    to.kind = stamp::warps;
    return;
  }
  if (to.kind == stamp::one) {
    pool_.emplace_back();
    pool_.back()[to.thread % warp_size] = to.clock;
    to.clock = static_cast<std::uint32_t>(pool_.size() - 1);
    to.kind = stamp::lanes;
  }
  pool_[to.clock][own % warp_size] = clock;
}

bool memory::locate(touch what, std::uintptr_t at, std::size_t bytes, std::uint32_t site, target& out) {
  if (at >= shared_first_ && at < shared_last_) {
    out = {shared_.begin(),
           (at - shared_first_) / shared_cell_,
           (at + bytes - 1 - shared_first_) / shared_cell_,
           true,
           shared_first_,
           shared_cell_};
    return true;
  }
  if (region* found = find(at)) {
    if (at + bytes > found->last)
      complain(fault::outside, "an access across the end of a region at " + text(line(site)));
    if (what == touch::read) found->bytes_read += bytes;
    if (what == touch::write) found->bytes_written += bytes;
    if (found->use == access::input) {
      if (what != touch::read) complain(fault::input_written, "an input is written at " + text(line(site)));
      return false;
    }
    const std::size_t last = std::min(at + bytes, found->last) - 1;
    out = {found->cells.begin(),
           (at - found->first) / found->element,
           (last - found->first) / found->element,
           false,
           found->first,
           found->element};
    return true;
  }
  const auto arguments = reinterpret_cast<std::uintptr_t>(kernel_.arguments);
  const bool known =
      holds(ignored_, at) || holds(constants_, at) || (at >= arguments && at < arguments + kernel_.bytes);
  if (known && what == touch::read) return false;
  const bool local = at >= stacks_first && at < stacks_last;
  complain(fault::outside,
           (local ? "another thread's local memory at " : "memory outside of all regions at ") + text(line(site)));
  return false;
}

std::string memory::name_of(const target& where, std::size_t index) const {
  char text[64];
  std::snprintf(text, sizeof(text), "%s word %zu", where.shared ? "shared" : "global", index);
  return text;
}

void memory::check(const char* verb, const char* earlier_verb, const stamp& earlier, const target& where,
                   std::size_t index, std::uint32_t site, const knowledge& self, unsigned own) {
  if (where.shared && earlier.epoch < block_first_) return;  // of another block: other memory
  if (is_ordered(earlier, self, own) || !told_.emplace(earlier.site, site).second) return;
  const source_line &own_line = line(site), &other_line = line(earlier.site);
  complain(fault::race, own_line.quoted() + " " + verb + " what " + other_line.quoted() + " " + earlier_verb + ": " +
                            name_of(where, index) + ", thread " + std::to_string(own) + " of block " +
                            std::to_string(block_number) + " at " + own_line.name() + ", thread " +
                            std::to_string(earlier.thread) +
                            (earlier.epoch < block_first_ ? " of another block at " : " at ") + other_line.name());
}

void memory::access_word(touch what, std::uintptr_t at, std::size_t bytes, std::uint32_t site, knowledge& self,
                         unsigned thread) {
  target where;
  if (!locate(what, at, bytes, site, where)) return;
  for (std::size_t index = where.first; index <= where.last; ++index) {
    cell& word = where.cells[index];
    const std::uint32_t since = where.shared ? block_first_ : 1;
    const bool written =
        word.write.epoch >= since || word.atomic.epoch >= since || (!where.shared && find(at)->use == access::both);
    if (!written && what != touch::write && told_.emplace(site, 0xFFFFFFFFu).second)
      complain(fault::uninitialised,
               line(site).quoted() + " reads what nobody wrote: " + name_of(where, index) + " at " + line(site).name());
    const char* verb = what == touch::read ? "reads" : what == touch::write ? "writes" : "atomically changes";
    check(verb, "wrote", word.write, where, index, site, self, thread);
    if (what != touch::atomic) check(verb, "atomically changed", word.atomic, where, index, site, self, thread);
    if (what != touch::read) {
      check(verb, "read", word.read, where, index, site, self, thread);
      check(verb, "read", word.foreign, where, index, site, self, thread);
    }
    if (what == touch::read) {
      if (!where.shared && word.read.epoch >= launch_first_ && word.read.epoch < block_first_) word.foreign = word.read;
      add(word.read, site, self, thread);
    } else {
      if (what == touch::write) word.write.kind = stamp::none;  // an earlier one that was a race is told of
      add(what == touch::write ? word.write : word.atomic, site, self, thread);
    }
  }
  if (what != touch::atomic) return;
  auto& known = atomics_[at];
  self.seen.insert(self.seen.end(), known.begin(), known.end());
  known.insert(known.end(), self.fenced.begin(), self.fenced.end());
}

void memory::complain(fault what, const std::string& text) {
  if (findings.size() >= 32) return;
  const auto same = [&](const finding& one) { return one.what == what && one.text == text; };
  if (std::none_of(findings.begin(), findings.end(), same)) findings.push_back({what, text});
}

std::string source_line::name() const {
  if (number == 0) return "an unknown line";
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(number);
}

std::string source_line::quoted() const {
  std::ifstream in(file);
  std::string text;
  for (unsigned i = 0; i < number && in; ++i) std::getline(in, text);
  const std::size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return "`" + (first == std::string::npos ? std::string() : text.substr(first, last + 1 - first)) + "`";
}

const source_line& memory::line(std::uint32_t site) const {
  static std::map<std::uint32_t, source_line> known;
  const auto [at, is_new] = known.try_emplace(site);
  source_line& found = at->second;
  if (!is_new) return found;
  char command[160], read[1024];
  std::snprintf(command, sizeof(command), "addr2line -i -e /proc/%d/exe 0x%x 2>/dev/null", static_cast<int>(getpid()),
                site - 1);  // the call itself, not what follows it
  if (FILE* lines = popen(command, "r")) {
    while (std::fgets(read, sizeof(read), lines) != nullptr) {
      const std::string one(read);
      const std::size_t end = one.rfind(':');
      if (end == std::string::npos) break;
      found = {one.substr(0, end), static_cast<unsigned>(std::strtoul(read + end + 1, nullptr, 10))};
      if (one.find("cuda_runtime.h") == std::string::npos) break;  // not the line of the shim that was inlined there
    }
    pclose(lines);
  }
  return found;
}

}  // namespace simulator
