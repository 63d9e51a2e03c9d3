// SPDX-License-Identifier: Apache-2.0
#include "system_run.hpp"

#include <specverify/codec/message.hpp>
#include <specverify/delivery/datagram.hpp>
#include <specverify/host/host.hpp>

#include "edge_cloud/stopped_text.hpp"
#include "edge_cloud/systems.hpp"
#include "emulated_pipe.hpp"

#include <algorithm>
#include <cmath>
#include <exception>

namespace llama_pair {

namespace sv = specverify;
namespace {

constexpr sv::session_secret edge_secret = sv::secret_from_hex("6564676520616c6f6e65206b6e6f7773");
constexpr sv::session_secret cloud_secret = sv::secret_from_hex("636c6f756420616c6f6e65206b6e6f77");
constexpr std::uint32_t draft_room = 8;  // positions for drafts after the end of a text

sv::edge_options options_of(const run_settings& run, const engine& small, const edge_cloud::chosen_system& system) {
  sv::edge_options options;
  options.session_id = run.session_id;
  options.secret = edge_secret;
  options.vocab_size = small.vocab_size();
  options.transform.temperature = run.temperature;
  options.token_budget = run.tokens;
  options.max_text_length = text_room(small);
  options.fingerprint = small.fingerprint();
  if (edge_cloud::sends_only_ids(system)) options.prior = run.prior;
  if (run.fault == session_fault::other_vocabulary) ++options.fingerprint.low;
  options.stop_tokens = small.ends();
  options.retry_timeout = run.fault == session_fault::none ? 20'000'000 : 500'000;  // longer than any row of HLM takes
  options.retry_limit = run.fault == session_fault::none ? 64 : 3;
  return options;
}

//! Makes a hello look as if another version sent it.
void raise_version(std::vector<std::byte>& message) {
  if (!sv::decode_hello(message).ok()) return;
  sv::numeric::store_le(message.data() + sv::message_header_bytes, sv::wire_version + 1u, 2);
  // The checksum covers session to prefix hash, the length, and all bytes except the checksum.
  std::vector<std::byte> covered(message.begin() + 10, message.begin() + 38);
  covered.resize(32);
  sv::numeric::store_le(covered.data() + 28, message.size(), 4);
  covered.insert(covered.end(), message.begin(), message.begin() + 4);
  covered.insert(covered.end(), message.begin() + 8, message.end());
  sv::numeric::store_le(message.data() + 4, sv::crc32c(covered), 4);
}

edge_cloud::token_kind kind_of(bool streams, const sv::session_output& out, std::uint32_t i) {
  using edge_cloud::token_kind;
  if (streams) return token_kind::streamed;
  if (out.authority == sv::token_authority::edge) return token_kind::skipped;
  if (i < out.accepted) return token_kind::accepted;
  return out.source == sv::token_source::bonus ? token_kind::bonus : token_kind::corrected;
}

//! Data that both sides of a text share.
struct course {
  const run_settings& run;
  const edge_cloud::chosen_system& system;  // with all settings
  engine& small;
  std::span<const sv::token_id> prompt;
  const observer& show;
  emulated_pipe::end& link;
  std::uint32_t room_at_cloud;
};

bool streams(const edge_cloud::chosen_system& system) { return system.shape().mode == sv::session_mode::stream; }

edge_cloud::run_report write(const course& c) {
  auto made = sv::make_edge(options_of(c.run, c.small, c.system), c.system.info().name, c.system.settings());
  if (!made) throw failure_of(made.error(), {});
  sv::edge_session session = *std::move(made);
  const bool streamed = streams(c.system);
  edge_cloud::run_report report;
  const auto origin = c.link.now();
  std::uint32_t noted = 0;
  edge_cloud::stopped_text written(c.run.stop_strings);
  edge_cloud::token_kind last{};
  const auto show = [&](std::string_view shown) {
    if (!shown.empty()) c.show(last, shown);
  };
  const auto hear = [&](const sv::session_output& out) -> sv::status {
    for (std::uint32_t i = 0; i < out.tokens.size(); ++i) {
      report.arrival.push_back(static_cast<double>(c.link.now() - origin) * 1e-6);
      last = kind_of(streamed, out, i);
      show(written.take(c.small.piece(out.tokens[i])));
    }
    const sv::round_record& round = session.last_round();
    if (round.round > noted) {
      noted = round.round;
      report.resolution_sum += std::uint64_t{round.drafted} * round.resolution;
      report.support_sum += round.support_sum;
    }
    return written.ended() ? sv::status{sv::errc::session_closed, sv::part::host, 0} : sv::status{};
  };
  const auto text = sv::generate(session, c.prompt, c.small, c.link, sv::on_committed(hear));
  if (!text && !written.ended()) throw failure_of(text.error(), session.refusal());
  show(written.waiting());
  const auto committed = session.text().subspan(c.prompt.size());
  report.tokens.assign(committed.begin(), committed.end());
  if (written.ended()) report.tokens.resize(written.tokens());
  report.arrival.resize(report.tokens.size());
  const std::size_t room = std::min(text_room(c.small), c.room_at_cloud);
  if (!written.ended() && report.tokens.size() < c.run.tokens && c.prompt.size() + report.tokens.size() >= room)
    throw failure_of({sv::errc::context_full, sv::part::host, c.small.context_length()}, {});
  report.text = written.text();
  const sv::session_statistics& counted = session.statistics();
  report.rounds = counted.rounds;
  report.drafted = counted.drafted;
  report.evaluated = counted.evaluated;
  report.accepted = counted.accepted;
  report.residual_tokens = counted.residual_tokens;
  report.skipped = counted.skipped;
  report.skipped_uncertain = counted.skipped_uncertain;
  report.resumes = counted.restarts;
  report.texts = 1;
  return report;
}

sv::result<sv::cloud_session> cloud_of(const run_settings& run, const engine& large,
                                       const edge_cloud::chosen_system& system) {
  sv::cloud_options options;
  options.secret = cloud_secret;
  options.salt = run.salt;
  options.vocab_size = large.vocab_size();
  options.max_text_length = text_room(large);
  options.fingerprint = large.fingerprint();
  options.stop_tokens = large.ends();
  if (run.prior != nullptr) options.priors = {&run.prior, 1};
  return sv::make_cloud(options, system.info().name, system.settings());
}

}  // namespace

std::uint32_t text_room(const engine& side) {
  return side.context_length() - std::min(side.context_length() - 1, draft_room);
}

edge_cloud::run_report write_text(const run_settings& run, std::string_view named, engine& small, engine& large,
                                  std::span<const sv::token_id> prompt, const observer& show) {
  const edge_cloud::chosen_system system = edge_cloud::chosen_system(named).completed(large.vocab_size(), 0);
  auto cloud = cloud_of(run, large, system);
  if (!cloud) throw failure_of(cloud.error(), {});
  const std::uint64_t small_passes = small.passes, large_passes = large.passes;
  const double small_seconds = small.seconds, large_seconds = large.seconds;
  emulated_pipe pipe(run.link);
  emulated_pipe::end up(pipe, 0), down(pipe, 1);
  if (run.fault == session_fault::other_version) up.change = raise_version;
  int answers = 0;
  if (run.fault == session_fault::cloud_gone) {
    down.change = [&](std::vector<std::byte>& message) {
      if (++answers > 4) message.clear();
    };
  }
  std::thread server([&] { (void)sv::serve(*cloud, large, down); });
  edge_cloud::run_report report;
  std::exception_ptr failed;
  try {
    report = write({run, system, small, prompt, show, up, text_room(large)});
  } catch (...) {
    failed = std::current_exception();
  }
  pipe.close();
  server.join();
  if (failed) std::rethrow_exception(failed);
  report.system = named;
  if (streams(system)) report.rounds = report.tokens.size();
  report.bytes_up = pipe.bytes_up();
  report.bytes_down = pipe.bytes_down();
  report.edge_passes = small.passes - small_passes;
  report.edge_compute = small.seconds - small_seconds;
  report.cloud_passes = large.passes - large_passes;
  report.cloud_compute = large.seconds - large_seconds;
  return report;
}

greedy_comparison compare_greedily(engine& large, std::span<const sv::token_id> prompt,
                                   std::span<const sv::token_id> text) {
  greedy_comparison found;
  std::span<const sv::token_id> fed = prompt;
  std::uint32_t position = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const sv::status why = large.feed(position, fed, 1); !why.ok()) throw failure_of(why, {});
    position += static_cast<std::uint32_t>(fed.size());
    const std::span<const float> row = large.logits();
    const auto best = std::max_element(row.begin(), row.end());
    // minimum of the finite logits, because -inf means an impossible token and does not count for the range
    float least = *best;
    for (const float logit : row) least = std::isfinite(logit) ? std::min(least, logit) : least;
    const float range = *best - least;
    const float gap = *best - row[static_cast<std::size_t>(text[i])];
    if (best - row.begin() == text[i]) {
      ++found.same;
    } else {
      (gap < 1e-3F * range ? found.near_ties : found.others).push_back(i);
    }
    fed = text.subspan(i, 1);
  }
  return found;
}

}  // namespace llama_pair
