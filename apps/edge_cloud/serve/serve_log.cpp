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
  if (!may_write(buckets_[index], now)) return;
  const refusal_words words = words_of(why);
  logger_->warn("{}: refused ({}): {}", who, words.name, words.text);
}

void serve_log::event(const std::string& what, std::uint64_t now) {
  if (may_write(buckets_[0], now)) logger_->info("{}", what);
}

bool serve_log::may_write(bucket& kind, std::uint64_t now) {
  const std::uint64_t second = now / 1'000'000;
  if (kind.second != second) {
    if (kind.left_out > 0) logger_->warn("{} more lines like the following were left out", kind.left_out);
    kind = {second, 0, 0};
  }
  if (kind.lines < lines_a_second) return ++kind.lines > 0;
  kind.left_out += 1;
  return false;
}

}  // namespace edge_cloud
