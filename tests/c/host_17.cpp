// SPDX-License-Identifier: Apache-2.0
// A host in C++17 without exceptions: each side in a thread of its own over a blocking link that is lost once, and a
// host that takes the outputs one by one.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>
#include "check.h"

namespace {

using bytes = std::vector<unsigned char>;

// One direction. It goes down once, after so many messages, and comes back when asked.
struct way {
  std::mutex mutex{};
  std::condition_variable came{};
  std::deque<bytes> messages{};
};
struct link_end {
  way& to;
  way& from;
  int loses_after;  // its sends
  bytes last{};
  bool down = false;

  static int32_t send(void* self, const void* message, size_t size) {
    auto& me = *static_cast<link_end*>(self);
    if (me.loses_after-- == 0) me.down = true;
    if (me.down) return specverify_errc_link_lost;
    const std::lock_guard<std::mutex> lock(me.to.mutex);
    const auto* const first = static_cast<const unsigned char*>(message);
    me.to.messages.emplace_back(first, first + size);
    me.to.came.notify_one();
    return 0;
  }
  static int32_t receive(void* self, uint64_t, const void** message, size_t* size) {
    auto& me = *static_cast<link_end*>(self);
    if (me.down) return specverify_errc_link_lost;
    std::unique_lock<std::mutex> lock(me.from.mutex);
    me.from.came.wait(lock, [&] { return !me.from.messages.empty(); });
    me.last = me.from.messages.front();
    me.from.messages.pop_front();
    *message = me.last.data();
    *size = me.last.size();
    return 0;
  }
  static uint64_t now(void*) { return 0; }
  static int32_t reconnect(void* self, uint64_t) {
    static_cast<link_end*>(self)->down = false;
    return 0;
  }
  [[nodiscard]] specverify_link callbacks() {
    specverify_link made{};
    made.struct_size = sizeof made;
    made.self = this;
    made.send = send;
    made.receive = receive;
    made.now = now;
    made.reconnect = reconnect;
    return made;
  }
};

std::vector<int32_t> text_of(const specverify_edge* edge) {
  size_t count = 0;
  const int32_t* const first = specverify_edge_text(edge, &count, nullptr);
  return {first, first + count};
}

struct pair {
  engine small{}, large{};
  specverify_edge* edge = nullptr;
  specverify_cloud* cloud = nullptr;

  explicit pair(const char* name) {
    const specverify_system system = system_of(name);
    const specverify_edge_options device = device_options();
    const specverify_cloud_options service = service_options();
    small.noise = 2;
    IS(specverify_edge_create(&device, &system, nullptr, &edge), ok);
    IS(specverify_cloud_create(&service, &system, nullptr, &cloud), ok);
    const int32_t prompt = 1;
    IS(specverify_edge_start(edge, &prompt, 1, 0), ok);
  }
  ~pair() {
    specverify_edge_destroy(edge);
    specverify_cloud_destroy(cloud);
  }
  pair(const pair&) = delete;
  pair& operator=(const pair&) = delete;
};

std::vector<int32_t> over_threads(pair& p, int loses_after) {
  way up, down;
  link_end device{up, down, loses_after}, service{down, up, -1};
  const specverify_link edge_link = device.callbacks(), cloud_link = service.callbacks();
  const specverify_model drafter = model_of(&p.small), target = model_of(&p.large);
  std::thread server([&] { IS(specverify_serve(p.cloud, &target, &cloud_link, nullptr), ok); });
  IS(specverify_generate(p.edge, &drafter, &edge_link, nullptr), ok);
  server.join();
  return text_of(p.edge);
}

// Level 1: the host moves every output itself.
std::vector<int32_t> one_by_one(pair& p) {
  std::deque<bytes> up, down;
  const auto copy = [](const specverify_output& out) {
    const auto* const first = static_cast<const unsigned char*>(out.bytes);
    return bytes(first, first + out.bytes_size);
  };
  specverify_output out{};
  out.struct_size = sizeof out;
  while (specverify_edge_state(p.edge) != SPECVERIFY_EDGE_FINISHED && failed_checks == 0) {
    do {
      IS(specverify_edge_next(p.edge, &out), ok);
      if (out.action == SPECVERIFY_SEND) up.push_back(copy(out));
      if (out.action != SPECVERIFY_EVALUATE) continue;
      CHECK(specverify_edge_wants_rows(p.edge) == 1 && out.rows == 1);
      CHECK(feed(&p.small, out.position, out.tokens, out.token_count, 1) == 0);
      const specverify_row its = row_of(&p.small, 0);
      IS(specverify_edge_supply_row(p.edge, &its, nullptr, nullptr, 0), ok);
    } while (out.action != SPECVERIFY_NONE);
    // One message, and all its outputs before the next message.
    if (!up.empty()) {
      IS(specverify_cloud_receive(p.cloud, up.front().data(), up.front().size(), 0), ok);
      up.pop_front();
    }
    do {
      IS(specverify_cloud_next(p.cloud, &out), ok);
      if (out.action == SPECVERIFY_SEND) down.push_back(copy(out));
      if (out.action != SPECVERIFY_EVALUATE || out.rows == 0) continue;
      CHECK(feed(&p.large, out.position, out.tokens, out.token_count, out.rows) == 0);
      std::vector<specverify_row> rows;
      for (uint32_t i = 0; i < out.rows; ++i) rows.push_back(row_of(&p.large, i));
      specverify_transform one = specverify_transform_defaults();
      IS(specverify_cloud_transform(p.cloud, &one), ok);
      const std::vector<specverify_transform> transforms(rows.size(), one);
      IS(specverify_cloud_supply_rows(p.cloud, rows.data(), rows.size(), transforms.data(), 0), ok);
    } while (out.action != SPECVERIFY_NONE);
    if (!down.empty()) {
      IS(specverify_edge_receive(p.edge, down.front().data(), down.front().size(), 0), ok);
      down.pop_front();
    }
  }
  return text_of(p.edge);
}

}  // namespace

int main() {
  pair whole("c-sqs"), lossy("c-sqs"), stepped("c-sqs");
  const std::vector<int32_t> text = over_threads(whole, -1);
  CHECK(text.size() == 41);
  CHECK(over_threads(lossy, 4) == text);
  CHECK(one_by_one(stepped) == text);
  std::printf("%d checks failed\n", failed_checks);
  return failed_checks != 0;
}
