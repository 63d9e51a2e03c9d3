// SPDX-License-Identifier: Apache-2.0
//! Defines the execution policy `exec::thrust_on{thrust::device}`, which runs operations on a batch of rows on any back
//! end of Thrust.
//!
//! Pass it as the first argument to the functions of device/. It can hold any execution policy of Thrust, for example
//! `thrust::omp::par` for a CPU, or `thrust::cuda::par(allocator).on(stream)`. If Thrust throws, a call returns
//! engine_failed under part::host, `where` = code of a system error (a cudaError_t), or 0.
//! Guarantees: results do not depend on the back end, because one thread adds each sum of floats. The policy's
//!             allocator provides temporary memory until the call ends. A caching allocator allocates nothing after the
//!             first call, because sizes depend only on the batch's shape. Calls may wait for the device.
//! Cost:       O(1); no allocation.
//! See:        docs/algorithms/device.md, tests/device/thrust_memory_test.cpp
#ifndef SPECVERIFY_DEVICE_THRUST_HPP
#define SPECVERIFY_DEVICE_THRUST_HPP

#include <specverify/device/batch.hpp>
#include <specverify/device/results.hpp>

#if !__has_include(<thrust/execution_policy.h>)
#error "specverify/device needs Thrust: link to specverify::device in CMake, or name the folder that holds thrust/"
#endif
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/memory.h>
#include <thrust/reduce.h>
#include <thrust/system_error.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

// Names of functors must be equal on the CPU and on the device, because functors name kernels. Without nvcc they are
// ordinary functions of the translation unit (specverify/config.hpp).
#if defined(__CUDACC__)
#define SPECVERIFY_DEVICE_BEGIN SPECVERIFY_TYPES_BEGIN
#define SPECVERIFY_DEVICE_END SPECVERIFY_TYPES_END
#else
#define SPECVERIFY_DEVICE_BEGIN SPECVERIFY_NAMESPACE_BEGIN
#define SPECVERIFY_DEVICE_END SPECVERIFY_NAMESPACE_END
#endif

SPECVERIFY_NAMESPACE_BEGIN
namespace exec {

//! Holds the Thrust execution policy that runs a batch.
template <class Policy>
struct thrust_on {
  Policy policy;
};
template <class Policy>
thrust_on(Policy) -> thrust_on<Policy>;

}  // namespace exec
SPECVERIFY_NAMESPACE_END

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

// Name of Thrust in device/. A build may wrap Thrust in a namespace (THRUST_CUB_WRAPPED_NAMESPACE), as PyTorch does.
namespace thrust_ns = THRUST_NS_QUALIFIER;

using device_detail::refusal;

//! Calls `work(i)` for 0 <= i < count, in any order.
template <class Policy, class Work>
SPECVERIFY_INLINE void for_each_index(const Policy& policy, std::size_t count, const Work& work) {
  thrust_ns::for_each_n(policy, thrust_ns::counting_iterator<std::size_t>(0), count, work);
}

//! Memory from the policy's allocator, held for the lifetime of this object.
template <class T, class Policy>
class temporary {
 public:
  SPECVERIFY_INLINE temporary(const Policy& policy, std::size_t count) : policy_(policy) {
    if (count == 0) return;
    made_ = thrust_ns::get_temporary_buffer<T>(policy, static_cast<std::ptrdiff_t>(count));
    if (static_cast<std::size_t>(made_.second) < count) {
      give_back();
      throw std::bad_alloc();
    }
  }
  SPECVERIFY_INLINE ~temporary() { give_back(); }
  temporary(const temporary&) = delete;
  temporary& operator=(const temporary&) = delete;

  [[nodiscard]] SPECVERIFY_INLINE T* data() const { return thrust_ns::raw_pointer_cast(made_.first); }

 private:
  SPECVERIFY_INLINE void give_back() {
    if (data() != nullptr) thrust_ns::return_temporary_buffer(policy_, made_.first, made_.second);
  }
  const Policy& policy_;
  decltype(thrust_ns::get_temporary_buffer<T>(std::declval<const Policy&>(), std::ptrdiff_t{})) made_{};
};

//! Returns the number of the group of `size` consecutive indexes that contains an index.
struct group_of {
  std::size_t size;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::size_t operator()(std::size_t i) const noexcept {
    return i / size;
  }
};

//! out[g] = reduction of value_of(i) over the `size` indices of group g. `join` must be associative and commutative,
//! and must work on integers.
template <class Policy, class ValueOf, class Out, class Join>
SPECVERIFY_INLINE void reduce_groups(const Policy& policy, std::size_t groups, std::size_t size,
                                     const ValueOf& value_of, Out* out, const Join& join) {
  const thrust_ns::counting_iterator<std::size_t> first(0);
  const auto keys = thrust_ns::make_transform_iterator(first, group_of{size});
  const auto values = thrust_ns::make_transform_iterator(first, value_of);
  thrust_ns::reduce_by_key(policy, keys, keys + static_cast<std::ptrdiff_t>(groups * size), values,
                           thrust_ns::make_discard_iterator(), out, thrust_ns::equal_to<std::size_t>(), join);
}

//! Returns the status of `work()`, or engine_failed if it throws.
template <class Work>
[[nodiscard]] SPECVERIFY_INLINE status guarded(const Work& work) noexcept {
  try {
    return work();
  } catch (const thrust_ns::system_error& thrown) {
    return {errc::engine_failed, part::host, static_cast<std::uint32_t>(thrown.code().value())};
  } catch (...) {
    return {errc::engine_failed, part::host, 0};
  }
}

}  // namespace thrust_detail
SPECVERIFY_DEVICE_END

#endif
