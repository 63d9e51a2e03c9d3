// SPDX-License-Identifier: Apache-2.0
// No byte of a session comes from elsewhere than its hooks: the C++ heap of this program counts, and stays untouched.
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include "check.h"

static std::size_t heap_calls = 0;

void* operator new(std::size_t size) {
  ++heap_calls;
  return std::malloc(size);
}
void* operator new(std::size_t size, std::align_val_t, const std::nothrow_t&) noexcept {
  ++heap_calls;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }

static engine small, large;

int main() {
  for (const char* name : {"qs", "k-sqs", "c-sqs", "hlm", "u-hlm", "rand-hlm", "ui", "cu-hlm", "cu-hlm-online",
                           "compressed-hlm", "greedy", "shared-noise", "wisv"}) {
    const specverify_system system = system_of(name);
    const specverify_edge_options device = device_options();
    const specverify_cloud_options service = service_options();
    const specverify_model drafter = model_of(&small), target = model_of(&large);
    const int32_t prompt = 1;
    for (const bool hooked : {true, false}) {
      counted memory{};
      const specverify_allocator hooks = allocator_of(&memory);
      specverify_edge* edge = nullptr;
      specverify_cloud* cloud = nullptr;
      heap_calls = 0;
      IS(specverify_edge_create(&device, &system, hooked ? &hooks : nullptr, &edge), ok);
      IS(specverify_cloud_create(&service, &system, hooked ? &hooks : nullptr, &cloud), ok);
      const std::size_t made = heap_calls;
      IS(specverify_edge_start(edge, &prompt, 1, 0), ok);
      IS(specverify_edge_drive(edge, &drafter, nullptr, 0), ok);
      IS(specverify_cloud_drive(cloud, &target, nullptr, 0), ok);
      CHECK(heap_calls == made && (made == 0) == hooked);
      CHECK(specverify_run_pair(edge, &drafter, cloud, &target, nullptr).code != specverify_errc_out_of_memory);
      specverify_edge_destroy(edge);
      specverify_cloud_destroy(cloud);
    }
  }
  std::printf("%d checks failed\n", failed_checks);
  return failed_checks != 0;
}
