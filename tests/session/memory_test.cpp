// SPDX-License-Identifier: Apache-2.0
// Options determine a session's memory. Pages must not be touched before they are used, and a failed allocation must
// return out_of_memory.
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

using namespace specverify;
using specverify_test::secret_of;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SPECVERIFY_TEST_OWN_MEMORY 0
#elif defined(__has_feature)
#define SPECVERIFY_TEST_OWN_MEMORY !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SPECVERIFY_TEST_OWN_MEMORY 1
#endif

namespace {

constexpr std::uint32_t most = 0xffffffffu;

[[nodiscard]] edge_options device_with(std::uint32_t max_text_length) {
  edge_options device;
  device.secret = secret_of(1);
  device.vocab_size = 1000;
  device.max_text_length = max_text_length;
  return device;
}
[[nodiscard]] cloud_options service_with(std::uint32_t max_text_length) {
  cloud_options service;
  service.secret = secret_of(2);
  service.salt = 1;
  service.vocab_size = 1000;
  service.max_text_length = max_text_length;
  return service;
}

//! Returns the resident bytes of this process.
[[nodiscard]] std::size_t resident() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

//! Applies `ulimit -v` in a scope: the current usage plus `more` bytes.
class address_limit {
 public:
  explicit address_limit(std::size_t more) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    rlimit now = before_;
    now.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more;
    set_ = setrlimit(RLIMIT_AS, &now) == 0;
  }
  ~address_limit() { setrlimit(RLIMIT_AS, &before_); }
  address_limit(const address_limit&) = delete;
  address_limit& operator=(const address_limit&) = delete;
  [[nodiscard]] bool is_set() const { return set_; }

 private:
  rlimit before_{};
  bool set_ = false;
};

}  // namespace

TEST_CASE("memory is not touched before it is used") {
  if (!SPECVERIFY_TEST_OWN_MEMORY) return;  // a sanitizer touches its shadow memory
  constexpr std::uint32_t tokens = 1u << 25;
  const std::size_t before = resident();
  const auto edge = make_edge(device_with(tokens));
  CHECK(resident() - before < tokens / 8);
  cloud_options service = service_with(tokens);
  service.limits.max_message_bytes = service.limits.max_hidden_bytes = tokens;
  service.limits.max_hidden_bytes -= 8;
  service.limits.max_law_entries = most;
  const auto cloud = make_cloud(service);
  CHECK(resident() - before < tokens / 8);
  CHECK(edge.ok());
  CHECK(cloud.ok());
}

TEST_CASE("memory that cannot be had is out_of_memory") {
#if defined(__cpp_exceptions)
  if (!SPECVERIFY_TEST_OWN_MEMORY || std::getenv("SPECVERIFY_EMULATED") != nullptr) return;  // no limits there
  const address_limit limit(std::size_t{1} << 28);
  REQUIRE(limit.is_set());
  CHECK(make_edge(device_with(most)).error() == status{errc::out_of_memory, part::session, 0});
  CHECK(make_cloud(service_with(most)).error() == status{errc::out_of_memory, part::session, 0});
  edge_options chunked = device_with(4096);
  chunked.text_chunk = most;
  CHECK(make_edge(chunked).error().code == errc::out_of_memory);
  cloud_options wide = service_with(4096);
  wide.limits.max_message_bytes = most;
  CHECK(make_cloud(wide).error().code == errc::out_of_memory);
  wide = service_with(4096);
  wide.vocab_size = 1u << 24;
  wide.limits.max_draft_length = 4096;
  wide.limits.max_law_entries = most;
  CHECK(make_cloud(wide).error().code == errc::out_of_memory);
  CHECK(make_edge(device_with(4096)).ok());
#endif
}
