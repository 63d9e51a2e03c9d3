// SPDX-License-Identifier: Apache-2.0
#include "serve_log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace edge_cloud {

serve_log::serve_log()
    : serve_log(std::make_shared<spdlog::logger>("serve", std::make_shared<spdlog::sinks::stderr_sink_st>())) {}
serve_log::serve_log(std::shared_ptr<spdlog::logger> to) : logger_(std::move(to)) {}

void serve_log::refused(refusal why, const std::string& who, std::uint64_t now) {
  const auto index = static_cast<std::size_t>(why);
  counts_[index] += 1;
  if (!may_write(index, now)) return;
  const refusal_words words = words_of(why);
  logger_->warn("{}: refused ({}): {}", who, words.name, words.text);
}

void serve_log::write(std::size_t kind, const std::string& what, std::uint64_t now) {
  if (may_write(kind, now)) logger_->log(kind == failures ? spdlog::level::err : spdlog::level::info, "{}", what);
}

void serve_log::summarize(std::uint64_t now) {
  for (std::size_t kind = 0; kind < buckets_.size(); ++kind) begin_second(kind, now / 1'000'000);
}

bool serve_log::may_write(std::size_t kind, std::uint64_t now) {
  begin_second(kind, now / 1'000'000);
  bucket& found = buckets_[kind];
  if (found.lines < lines_a_second) return ++found.lines > 0;
  found.left_out += 1;
  return false;
}

void serve_log::begin_second(std::size_t kind, std::uint64_t second) {
  bucket& found = buckets_[kind];
  if (found.second == second) return;
  std::string name = "refused (" + std::string(words_of(static_cast<refusal>(kind)).name) + ")";
  if (kind == own_events) name = "events";
  if (kind == device_events) name = "events of devices";
  if (kind == failures) name = "failures";
  if (found.left_out > 0) logger_->warn("{}: {} more in a second", name, found.left_out);
  found = {second, 0, 0};
}

}  // namespace edge_cloud
