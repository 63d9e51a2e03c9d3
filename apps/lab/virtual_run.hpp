// SPDX-License-Identifier: Apache-2.0
//! Generates one text with the library's two sessions in one process on a virtual clock. Messages have the real bytes,
//! but the times of the link and of forward passes are settings.
//!
//! Time: a message of b bytes takes 8 b / rate / (1 - loss) and half a round trip; a pass takes `compute_times`. The
//!       handshake and the prompt's own pass are free, as in the papers. There is one channel state per round: step s
//!       is the s-th round, and a token that the edge commits on its own is a round.
#ifndef SPECVERIFY_APPS_LAB_VIRTUAL_RUN_HPP
#define SPECVERIFY_APPS_LAB_VIRTUAL_RUN_HPP

#include <specverify/codec/hidden_code.hpp>
#include <specverify/host/drive.hpp>
#include <specverify/link/channel.hpp>
#include <specverify/link/channel_trace.hpp>
#include <specverify/session/presets.hpp>
#include <specverify/session/systems.hpp>

#include "models.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

namespace lab {

//! The link during one round.
using link_state = specverify::channel_state;

//! The state of step 0, 1, 2, .... It must be a pure function, because two runs must see the same link.
using channel_function = std::function<link_state(std::uint32_t step)>;

[[nodiscard]] inline channel_function steady(link_state state) {
  return [state](std::uint32_t) { return state; };
}

//! Returns recorded states, one per round, which repeat after the last one.
[[nodiscard]] inline channel_function replayed(std::vector<link_state> states) {
  const auto kept = std::make_shared<const std::vector<link_state>>(std::move(states));
  const auto channel = specverify::recorded_channel::make(*kept);
  if (!channel.ok())
    throw std::runtime_error(std::string("a channel's states: ") + specverify::message(channel.error().code));
  return [kept, replay = channel.value()](std::uint32_t step) { return replay.state(specverify::philox{}, step, {}); };
}

//! Returns the states in the text of a channel trace.
[[nodiscard]] inline channel_function replayed(std::string_view trace) {
  std::vector<link_state> states(specverify::max_channel_trace_steps(trace));
  const auto steps = specverify::read_channel_trace(trace, states);
  if (!steps.ok()) {
    throw std::runtime_error("a channel trace, line " + std::to_string(steps.error().where) + ": " +
                             specverify::message(steps.error().code));
  }
  states.resize(steps->size());
  return replayed(std::move(states));
}

//! Returns the states of a text's rounds from a model of link/channel.hpp, drawn with `seed` and kept.
template <specverify::channel_model Channel>
[[nodiscard]] channel_function drawn_from(const Channel& channel, std::uint64_t seed) {
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  std::vector<link_state> states(256);
  specverify::record(channel, source, std::span<link_state>(states));
  return replayed(std::move(states));
}

//! Seconds of forward passes and other work. The defaults are from the papers' tables.
struct compute_times {
  double draft_pass = 25.6e-3;    //!< seconds of the drafter per token
  double target_pass = 104.6e-3;  //!< seconds of the target per pass, for any number of positions
  double target_position = 0;     //!< additional seconds of the target per row that it returns
  double uncertainty = 0;         //!< seconds at the edge per drafted token, if a skip policy measures the uncertainty
  double score = 0;               //!< seconds of the decision head per mismatch
};

//! A mismatch for which the semantic rule requests a score.
struct score_request {
  std::uint32_t draft = 0;  //!< index in the window, from 0
  //! the edge's hidden state as sent and decoded; empty if the format carries none
  std::span<const float> drafter{};
  std::span<const float> target{};       //!< the target's hidden state that predicts this draft
  specverify::channel_report channel{};  //!< channel that the edge reported; zeros if the format has no report
};

//! Options of a text, except for the system.
struct run_options {
  std::vector<token_id> prompt;  //!< at least 1 token; <|end|> first, as in training
  std::uint32_t tokens = 64;     //!< maximum number of tokens after the prompt
  double temperature = 1.0;      //!< sampling temperature of both models
  double threshold = 0.5;        //!< threshold of the semantic rule
  //! semantic rule: whether hidden states are requested one by one
  bool lazy = false;
  std::function<double(const score_request&)> score{};  //!< semantic rule: the score of a mismatch
  //! data that the edge sends instead of its hidden state (split head)
  std::function<void(std::span<const float>, std::span<float>)> project{};
  //! id that determines the keys of all draws, together with the secrets and the salt
  std::uint64_t session_id = 1;
  specverify::session_secret edge_secret = specverify::secret_from_hex("6564676520616c6f6e65206b6e6f7773");
  specverify::session_secret cloud_secret = specverify::secret_from_hex("636c6f756420616c6f6e65206b6e6f77");
  std::uint64_t salt = 1;  //!< the same for all texts, because each text has another session id
  compute_times compute{};
  channel_function channel = steady({});
};

struct round_entry {
  std::uint32_t drafted = 0;
  std::uint32_t accepted = 0;
  std::uint32_t emitted = 0;
  bool skipped = false;  //!< whether the edge committed the token without the cloud
  //! semantic rule: verified drafts that differ from the target's choice
  std::uint32_t mismatches = 0;
  std::uint32_t accepted_mismatches = 0;  //!< accepted mismatches
  std::uint32_t state = 0;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  double draft = 0;     //!< seconds of the drafter's passes
  double uplink = 0;    //!< seconds of the messages up, without round trips
  double verify = 0;    //!< seconds of the target's passes
  double downlink = 0;  //!< seconds of the messages down
  double waited = 0;    //!< seconds of round trips
  [[nodiscard]] double seconds() const { return draft + uplink + verify + downlink + waited; }
};

struct run_result {
  std::vector<token_id> tokens;
  std::vector<round_entry> rounds;
  double seconds = 0;  //!< seconds from the first draft to the last commit
  std::uint64_t greeting_bytes = 0;
  specverify::session_statistics edge{};
  specverify::session_statistics cloud{};

  [[nodiscard]] std::uint64_t bytes_up() const { return sum(&round_entry::bytes_up); }
  [[nodiscard]] std::uint64_t bytes_down() const { return sum(&round_entry::bytes_down); }
  [[nodiscard]] std::uint64_t uploads() const {
    return static_cast<std::uint64_t>(
        std::count_if(rounds.begin(), rounds.end(), [](const round_entry& r) { return r.bytes_up > 0; }));
  }
  [[nodiscard]] std::uint64_t emitted() const { return sum(&round_entry::emitted); }
  //! Returns tokens divided by time: `ratio_of_sums`.
  [[nodiscard]] double tokens_per_second() const { return seconds > 0 ? static_cast<double>(emitted()) / seconds : 0; }
  //! Returns the mean over rounds of tokens / latency of the round: `mean_of_rounds`.
  [[nodiscard]] double mean_of_rounds() const {
    double total = 0;
    for (const round_entry& r : rounds) total += r.seconds() > 0 ? r.emitted / r.seconds() : 0;
    return rounds.empty() ? 0 : total / static_cast<double>(rounds.size());
  }

 private:
  template <class Field>
  [[nodiscard]] std::uint64_t sum(Field round_entry::*field) const {
    std::uint64_t total = 0;
    for (const round_entry& r : rounds) total += r.*field;
    return total;
  }
};

namespace detail {

inline void require(specverify::status why) { demand(why, "a session says"); }

template <language_model EdgeModel, language_model CloudModel, class Session>
class virtual_pair {
 public:
  virtual_pair(const run_options& options, const specverify::system_shape& system, EdgeModel& drafter,
               CloudModel& target, Session session)
      : options_(options),
        system_(system),
        drafter_(drafter),
        target_(target),
        edge_(std::move(session)),
        cloud_(make_cloud(options, system)) {
    draft_seconds_ = options.compute.draft_pass + (system.needs_uncertainty ? options.compute.uncertainty : 0.0);
  }
  virtual_pair(const virtual_pair&) = delete;
  virtual_pair& operator=(const virtual_pair&) = delete;

  [[nodiscard]] run_result run() {
    drafter_.rollback(0);
    target_.rollback(0);
    tell_link(0);
    require(edge_.start(options_.prompt, now()));
    take_edge();
    while (!finished_) {
      if (!up_.empty()) {
        const message arrived = take(up_);
        cloud_time_ = std::max(cloud_time_, arrived.at);
        require(cloud_.receive(arrived.bytes, now()));
        take_cloud();
      } else if (rows_wanted_) {
        rows_wanted_ = false;
        require(specverify::supply(cloud_, verifier_, now()));
        take_cloud();
      } else if (scores_wanted_) {
        scores_wanted_ = false;
        require(cloud_.supply_scores(scores_, now()));
        take_cloud();
      } else if (!down_.empty()) {
        const message arrived = take(down_);
        edge_time_ = std::max(edge_time_, arrived.at);
        tell_link(static_cast<std::uint32_t>(made_.rounds.size()) + 1);
        require(edge_.receive(arrived.bytes, now()));
        take_edge();
      } else {
        throw std::logic_error("both sides wait for each other");
      }
    }
    made_.seconds = last_commit_ - begin_;
    made_.edge = edge_.statistics();
    made_.cloud = cloud_.statistics();
    return std::move(made_);
  }

 private:
  struct message {
    double at = 0;
    std::vector<std::byte> bytes;
  };
  //! The drafter as the session sees it. A pass takes the time of the settings, and the session gets the link's state.
  struct drafting {
    virtual_pair& run;
    [[nodiscard]] specverify::status feed(std::uint32_t position, std::span<const token_id> tokens,
                                          std::uint32_t rows) {
      if (position != run.drafter_.size())
        throw std::logic_error("the session and its drafter disagree about the position");
      run.drafter_.feed(tokens, rows);
      run.drafted_one();
      return {};
    }
    [[nodiscard]] specverify::row_view<float> row(std::uint32_t i) const { return row_of(run.drafter_, i); }
    void truncate(std::uint32_t position) { run.drafter_.rollback(position); }
    [[nodiscard]] std::span<const float> hidden(std::uint32_t i) { return run.hidden_to_send(i); }
    [[nodiscard]] std::span<const float> attention(std::uint32_t i) const { return run.drafter_.attention(i); }
  };
  //! The target as the session sees it. A pass takes the time of the settings.
  struct verifying {
    virtual_pair& run;
    [[nodiscard]] specverify::status feed(std::uint32_t position, std::span<const token_id> tokens,
                                          std::uint32_t rows) {
      if (position != run.target_.size())
        throw std::logic_error("the session and its target disagree about the position");
      run.target_.feed(tokens, rows);
      run.spend_at_cloud(run.options_.compute.target_pass + run.options_.compute.target_position * rows);
      return {};
    }
    [[nodiscard]] specverify::row_view<float> row(std::uint32_t i) const { return row_of(run.target_, i); }
  };
  //! Gives the time in microseconds of the side whose time is later.
  struct virtual_clock {
    const virtual_pair& run;
    [[nodiscard]] specverify::session_time now() const { return run.now(); }
  };

  static specverify::cloud_session make_cloud(const run_options& options, const specverify::system_shape& system) {
    static constexpr token_id end[] = {tinylm::tokenizer::end_token};
    specverify::cloud_options wanted;
    wanted.secret = options.cloud_secret;
    wanted.salt = options.salt;
    wanted.vocab_size = system.format.vocab_size;
    wanted.limits = specverify::cloud_session::limits_for(system.format);
    wanted.max_text_length = 256;
    wanted.stop_tokens = end;
    wanted.lazy = options.lazy;
    auto made = specverify::make_cloud(wanted);
    if (!made.ok()) require(made.error());
    return std::move(made).value();
  }

  static message take(std::vector<message>& queue) {
    message first = std::move(queue.front());
    queue.erase(queue.begin());
    return first;
  }
  [[nodiscard]] specverify::session_time now() const {
    return static_cast<specverify::session_time>(std::max(edge_time_, cloud_time_) * 1e6);
  }
  //! Returns whether a message takes no time, because the papers do not count it: a hello, or the prompt, which is sent
  //! up as text. A streamed text, which comes down as text, takes time.
  [[nodiscard]] static bool greets(std::span<const std::byte> bytes, bool up) {
    const auto kind = specverify::kind_of(bytes);
    if (!kind) return false;
    return *kind == specverify::message_kind::hello || (up && *kind == specverify::message_kind::text);
  }
  [[nodiscard]] link_state link() const { return options_.channel(static_cast<std::uint32_t>(made_.rounds.size())); }

  void tell_link(std::uint32_t step) {
    const link_state next = options_.channel(begun_ ? step : 0);
    edge_.record_link(static_cast<float>(next.uplink_rate), static_cast<float>(next.downlink_rate),
                      static_cast<float>(next.round_trip), static_cast<float>(options_.compute.draft_pass));
    edge_.record_channel({static_cast<float>(next.uplink_rate), static_cast<float>(next.downlink_rate),
                          static_cast<float>(next.uplink_loss), static_cast<float>(next.downlink_loss),
                          static_cast<float>(next.round_trip)},
                         next.index);
  }

  //! Runs after each pass of the drafter, and reports the link of the next round.
  void drafted_one() {
    if (!begun_) begin_ = edge_time_;
    begun_ = true;
    edge_time_ += draft_seconds_;
    open_.draft += draft_seconds_;
    tell_link(static_cast<std::uint32_t>(made_.rounds.size()) + 1);
  }
  void spend_at_cloud(double seconds) {
    cloud_time_ += seconds;
    open_.verify += seconds;
  }

  //! Returns the drafter's hidden state as the format carries it; a split head sends a projection.
  [[nodiscard]] std::span<const float> hidden_to_send(std::uint32_t i) {
    if (system_.format.attachments.hidden == specverify::hidden_format::none) return {};
    if (!options_.project) return drafter_.hidden(i);
    projected_.resize(system_.format.attachments.hidden_size);
    options_.project(drafter_.hidden(i), projected_);
    return projected_;
  }

  //! Scores the mismatches for which the cloud requests a score.
  void score(const specverify::session_output& asked) {
    if (!options_.score) throw std::logic_error("the semantic rule needs a scorer");
    const specverify::attachment_format& format = system_.format.attachments;
    const std::size_t each = specverify::hidden_bytes(format);
    std::vector<double> scores;
    score_request request;
    request.channel = cloud_.reported_channel();
    for (std::uint32_t i = 0; scores.size() < asked.rows; ++i) {
      if ((asked.positions[i / 64] >> (i % 64) & 1) == 0) continue;
      request.draft = i;
      request.target = target_.hidden(i);
      if (each > 0) {
        decoded_.resize(format.hidden_size);
        require(specverify::decode_hidden(asked.bytes.subspan(each * scores.size(), each), format.hidden, decoded_)
                    .error());
        request.drafter = decoded_;
      }
      scores.push_back(options_.score(request));
    }
    spend_at_cloud(options_.compute.score * static_cast<double>(scores.size()));
    scores_ = std::move(scores);
    scores_wanted_ = true;
  }

  void take_edge() {
    using specverify::session_action;
    const auto hear = [this](const specverify::session_output& out) {
      if (out.action == session_action::send) send_up(out.bytes);
      if (out.action == session_action::committed) commit(out);
      if (out.action == session_action::finished) finished_ = true;
    };
    require(specverify::drive(edge_, drafter_at_work_, hear, virtual_clock{*this}));
  }

  //! Computes rows and scores immediately, but supplies them only if no message waits.
  void take_cloud() {
    const specverify::session_work work =
        specverify::take_outputs(cloud_, [this](const specverify::session_output& out) {
          if (out.action == specverify::session_action::send) send_down(out.bytes);
          if (out.action == specverify::session_action::rollback) target_.rollback(out.position);
        });
    require(work.reason);
    if (work.wait == specverify::session_wait::scores) score(work.asked);
    if (work.wait != specverify::session_wait::rows) return;
    require(verifier_.feed(work.asked.position, work.asked.tokens, work.asked.rows));
    rows_wanted_ = true;
  }

  //! One direction of the link, in the current state.
  struct lane {
    double rate, loss, flight;
    double& free_at;
    std::uint64_t& bytes;
    double& seconds;
    std::vector<message>& under_way;
  };
  void send_up(std::span<const std::byte> bytes) {
    const link_state state = link();
    send(bytes, greets(bytes, true), edge_time_,
         {state.uplink_rate, state.uplink_loss, state.round_trip / 2, up_free_, open_.bytes_up, open_.uplink, up_});
  }
  void send_down(std::span<const std::byte> bytes) {
    const link_state state = link();
    send(bytes, greets(bytes, false), cloud_time_,
         {state.downlink_rate, state.downlink_loss, state.round_trip / 2, down_free_, open_.bytes_down, open_.downlink,
          down_});
  }
  //! Sends a message. It starts when the lane is free, and arrives when all bytes are through and half a round trip has
  //! passed.
  void send(std::span<const std::byte> bytes, bool greeting, double at, const lane& on) {
    message sent{at, {bytes.begin(), bytes.end()}};
    if (greeting) {
      made_.greeting_bytes += bytes.size();
    } else {
      const double took = 8.0 * static_cast<double>(bytes.size()) / on.rate / (1 - on.loss);
      on.bytes += bytes.size();
      on.seconds += took;
      open_.waited += on.flight;
      on.free_at = std::max(on.free_at, at) + took;
      sent.at = on.free_at + on.flight;
    }
    on.under_way.push_back(std::move(sent));
  }

  //! Returns the growth of a counter since the last round.
  static std::uint32_t since(std::uint64_t counter, std::uint64_t& before) {
    const auto grown = static_cast<std::uint32_t>(counter - before);
    before = counter;
    return grown;
  }

  void commit(const specverify::session_output& out) {
    made_.tokens.insert(made_.tokens.end(), out.tokens.begin(), out.tokens.end());
    open_.state = link().index;
    open_.skipped = out.authority == specverify::token_authority::edge;
    open_.accepted = out.accepted;
    open_.emitted = static_cast<std::uint32_t>(out.tokens.size());
    open_.drafted = open_.skipped ? 1 : since(edge_.statistics().drafted, drafted_before_);
    open_.mismatches = since(cloud_.statistics().mismatches, mismatches_before_);
    open_.accepted_mismatches = since(cloud_.statistics().accepted_mismatches, accepted_mismatches_before_);
    made_.rounds.push_back(open_);
    open_ = {};
    last_commit_ = edge_time_;
  }

  const run_options& options_;
  const specverify::system_shape system_;
  EdgeModel& drafter_;
  CloudModel& target_;
  Session edge_;
  specverify::cloud_session cloud_;
  drafting drafter_at_work_{*this};
  verifying verifier_{*this};
  std::vector<message> up_, down_;
  double edge_time_ = 0, cloud_time_ = 0, up_free_ = 0, down_free_ = 0, begin_ = 0, last_commit_ = 0;
  double draft_seconds_ = 0;
  std::uint64_t drafted_before_ = 0, mismatches_before_ = 0, accepted_mismatches_before_ = 0;
  std::vector<float> projected_, decoded_;
  std::vector<double> scores_;
  bool begun_ = false, rows_wanted_ = false, scores_wanted_ = false, finished_ = false;
  round_entry open_{};
  run_result made_{};
};

}  // namespace detail

//! Returns the options of the edge's session for a run, except for the system.
[[nodiscard]] inline specverify::edge_options edge_options_of(const run_options& options, std::uint32_t vocab_size) {
  static constexpr token_id end[] = {tinylm::tokenizer::end_token};
  specverify::edge_options made;
  made.session_id = options.session_id;
  made.secret = options.edge_secret;
  made.vocab_size = vocab_size;
  made.threshold = options.threshold;
  made.transform.temperature = options.temperature;
  made.max_text_length = 256;
  made.token_budget = options.tokens;
  made.stop_tokens = end;
  return made;
}

//! Writes one text by `system` with a session made from `edge_options_of`. The session may be any type with the inputs,
//! outputs and statistics of the library's. The function clears the models' caches first, because results must depend
//! only on the text.
template <language_model EdgeModel, language_model CloudModel, class Session>
[[nodiscard]] run_result run_session(const run_options& options, EdgeModel& drafter, CloudModel& target,
                                     Session session, const specverify::system_shape& system) {
  return detail::virtual_pair<EdgeModel, CloudModel, Session>(options, system, drafter, target, std::move(session))
      .run();
}

//! Writes one text with a session of the library. If a skip policy uses attention, the drafter must provide it
//! (`replayed_model::want_attention`).
template <language_model EdgeModel, language_model CloudModel, specverify::sparsifier Sparsifier,
          specverify::skip_policy Skip, specverify::window_policy Window>
[[nodiscard]] run_result run_virtually(const run_options& options, EdgeModel& drafter, CloudModel& target,
                                       const specverify::preset<Sparsifier, Skip, Window>& system) {
  const std::uint32_t vocab_size = drafter.vocab_size();
  specverify::system_shape shape;
  shape.format = system.format_for(vocab_size);
  shape.needs_uncertainty = Skip::needs_uncertainty;
  return run_session(options, drafter, target,
                     demand(specverify::make_edge(edge_options_of(options, vocab_size), system), "a session says"),
                     shape);
}
//! Writes one text with a system by name, from the library's list.
template <language_model EdgeModel, language_model CloudModel>
[[nodiscard]] run_result run_virtually(const run_options& options, EdgeModel& drafter, CloudModel& target,
                                       std::string_view system,
                                       std::initializer_list<specverify::setting> settings = {}) {
  const std::uint32_t vocab_size = drafter.vocab_size();
  return run_session(
      options, drafter, target,
      demand(specverify::make_edge(edge_options_of(options, vocab_size), system, settings), "a session says"),
      demand(specverify::shape_of(system, {settings.begin(), settings.size()}, vocab_size), "a system says"));
}

}  // namespace lab

#endif
