// SPDX-License-Identifier: Apache-2.0
// Runs llama_pair: a device and a cloud on two GGUF models over an emulated link (./run demo --engine=llama).
#include <CLI/CLI.hpp>

#include "../standard_output.hpp"
#include "chat.hpp"
#include "edge_cloud/pace.hpp"
#include "edge_cloud/plot.hpp"
#include "edge_cloud/prior_option.hpp"
#include "edge_cloud/stop_option.hpp"
#include "edge_cloud/system_options.hpp"
#include "edge_cloud/table.hpp"
#include "model_pair.hpp"
#include "prior_file.hpp"
#include "system_run.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>

namespace {

using namespace llama_pair;

struct settings {
  std::string edge_model, cloud_model;
  std::string prompt = "Explain in three sentences why the sky is blue.";
  std::vector<std::string> systems{"target", "k-sqs", "c-sqs", "greedy"}, set;
  std::string pace = "paper", fault = "none";
  std::filesystem::path out, prior;
  std::uint32_t context = 2048;
  int threads = 1;
  bool raw = false, interactive = false;
  run_settings run;
};

//! Returns the reason why a system cannot run, for example because no decision head is trained for this pair; empty if
//! it can run.
std::string wrong_system(const std::string& text) {
  try {
    const edge_cloud::chosen_system system(text);
    if (system.info().needs_head)
      return text +
             " needs a decision head trained on states of these two models; there is none, because ./run lab trains "
             "one only for the bundled models. To use your own, see examples/llama/inside.cpp";
    if (system.info().needs_network)
      return text + " needs a trained network; ./run lab trains one only for the bundled models";
    return {};
  } catch (const std::invalid_argument& why) {
    return why.what();
  }
}

//! Returns the parts of the drafter's graph to observe.
specverify::llama_cpp::inside_parts parts_for(const std::vector<std::string>& systems) {
  const auto wants = [](const std::string& text) { return edge_cloud::chosen_system(text).info().needs_attention; };
  return {.hidden = false, .attention = std::any_of(systems.begin(), systems.end(), wants)};
}

void add_options(CLI::App& app, settings& set) {
  add_model_options(app, set);
  app.add_option("--prompt", set.prompt, "question to answer; the program inserts it into the target's chat template")
      ->capture_default_str();
  app.add_flag("--raw", set.raw, "use the prompt as it is, without a chat template");
  app.add_flag("--interactive", set.interactive,
               "chat: read one question per line and answer it with the first method of --systems (default: k-sqs)");
  app.add_option("--systems", set.systems, "comma-separated methods, run in this order (names: --list)")
      ->delimiter(',')
      ->check(wrong_system);
  edge_cloud::add_settings_options(app, set.set);
  edge_cloud::add_prior_option(app, set.prior,
                               "both sides use it; ./run uplink --engine=llama makes a table for these models");
  app.add_option("--tokens", set.run.tokens, "maximum number of tokens per answer")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  edge_cloud::add_stop_option(app, set.run.stop_strings);
  app.add_option("--temperature", set.run.temperature, "sampling temperature of both models")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 4.0));
  app.add_option("--pace", set.pace,
                 "minimum time of a forward pass: `paper` is 25.6 ms on the device and 104.6 ms in the cloud, "
                 "`none` adds no delay")
      ->capture_default_str()
      ->check(CLI::IsMember({"paper", "none"}));
  app.add_option("--context", set.context, "context size of each model, in tokens")
      ->capture_default_str()
      ->check(CLI::Range(256, 1 << 20));
  app.add_option("--out", set.out, "folder for the plot")->required();
  app.add_option(
      "--salt", set.run.salt,
      "salt of the cloud's random draws; pass the salt of an earlier run to repeat its text; default: random");
  const auto kilo = [](double& rate) { return [&rate](const double& given) { rate = given * 1e3; }; };
  app.add_option_function<double>("--up-kbit", kilo(set.run.link.uplink_bits_per_second),
                                  "rate of the uplink in kbit/s; default: 350");
  app.add_option_function<double>("--down-kbit", kilo(set.run.link.downlink_bits_per_second),
                                  "rate of the downlink in kbit/s; default: 4000");
  app.add_option("--rtt-ms", set.run.link.round_trip_ms, "round-trip time of the link in milliseconds")
      ->capture_default_str();
  app.add_option("--fault", set.fault, "fault to inject, to see the error message that a user would get")
      ->check(CLI::IsMember({"none", "pair", "cloud-gone", "version", "nan", "decode"}));
}

specverify::prior_table table_of(const std::filesystem::path& file, const engine& large) {
  try {
    return programs::read_prior_file(file, large.vocab_size());
  } catch (const std::runtime_error& why) {
    throw failure(exit_code::table_unusable, why.what());
  }
}

void break_something(settings& set, engine& large) {
  if (set.fault == "cloud-gone") set.run.fault = session_fault::cloud_gone;
  if (set.fault == "version") set.run.fault = session_fault::other_version;
  if (set.fault == "pair") set.run.fault = session_fault::other_vocabulary;
  if (set.fault == "nan") large.fault = engine_fault::nan_row;
  if (set.fault == "decode") large.fault = engine_fault::failed_decode;
}

//! Compares the greedy text with the target's own greedy text. Returns false if they differ without a near tie.
bool check_greedy(engine& large, std::span<const specverify::token_id> prompt, const edge_cloud::run_report& report) {
  const double pace = std::exchange(large.pass_seconds, 0);
  const greedy_comparison found = compare_greedily(large, prompt, report.tokens);
  large.pass_seconds = pace;
  std::printf("greedy: %zu of %zu tokens are those of the target alone", found.same, report.tokens.size());
  for (const std::size_t at : found.near_ties) std::printf("; a near tie at %zu", at);
  for (const std::size_t at : found.others) std::printf("; ANOTHER token at %zu", at);
  std::printf("\n");
  return found.others.empty();
}

//! The models' own computing times, without the minimum time per pass.
struct own_times {
  //! seconds per pass; target_pass: time per token of the target without drafts
  double draft_pass = 0, target_pass = 0;
  //! seconds per token of the target without drafts, and of the fastest system with drafts
  double alone = 0, with_drafts = 0;

  void add(const edge_cloud::run_report& report, double small_seconds, double large_seconds) {
    if (report.tokens.empty()) return;
    const double each = (small_seconds + large_seconds) / static_cast<double>(report.tokens.size());
    if (edge_cloud::shape_of(report).mode == specverify::session_mode::stream) {
      alone = each;
      target_pass = large_seconds / static_cast<double>(std::max<std::uint64_t>(report.cloud_passes, 1));
    } else if (with_drafts == 0 || each < with_drafts) {
      with_drafts = each;
      draft_pass = small_seconds / static_cast<double>(std::max<std::uint64_t>(report.edge_passes, 1));
    }
  }
};

void print_headline(const own_times& own) {
  if (own.alone <= 0 || own.with_drafts <= 0) return;
  std::printf(
      "\nUnpaced, a draft pass takes %.1f ms here and a pass of the target alone %.1f ms; computing takes %.1f ms\n"
      "per token with drafts and %.1f ms without.%s\n",
      own.draft_pass * 1e3, own.target_pass * 1e3, own.with_drafts * 1e3, own.alone * 1e3,
      own.with_drafts < own.alone ? ""
                                  : " MODELS AS EQUAL AS THESE CANNOT GAIN: speeds are meaningful only\n"
                                    "with --pace paper, which slows both to the passes of larger models.");
}

void print_notes(std::span<const edge_cloud::run_report> reports, const settings& set) {
  const edge_cloud::mean_passes took = edge_cloud::passes_of(reports);
  edge_cloud::print_pace_warning(stdout, took, set.pace);
  std::printf("\nmeasured: %.1f ms per draft pass, %.1f ms per target pass (--pace %s).\n", took.edge, took.cloud,
              set.pace.c_str());
  std::printf(
      "modelled: 25.6 and 104.6 ms, the times of HLM's authors. Uplink bits count every byte that entered the link, "
      "hello\n"
      "and prompt included.\n");
}

int demo(settings& set, engine& small, engine& large) {
  const auto prompt = prompt_of(small, {{"user", set.prompt}}, !set.raw);
  edge_cloud::live_text screen(stdout);
  screen.note("prompt: " + set.prompt + "\nsalt: --salt " + std::to_string(set.run.salt) + " repeats these texts\n" +
              screen.legend() + "\n");
  std::vector<edge_cloud::run_report> reports;
  bool same = true;
  own_times own;
  for (const std::string& system : set.systems) {
    screen.note("\n" + edge_cloud::chosen_system(system).text() + "\n");
    const double before_small = small.unpaced_seconds, before_large = large.unpaced_seconds;
    reports.push_back(
        write_text(set.run, system, small, large, prompt,
                   [&](edge_cloud::token_kind kind, std::string_view piece) { screen.token(kind, piece); }));
    own.add(reports.back(), small.unpaced_seconds - before_small, large.unpaced_seconds - before_large);
    std::printf("\n");
    if (edge_cloud::chosen_system(system).info().name == "greedy") same = check_greedy(large, prompt, reports.back());
  }
  print_headline(own);
  edge_cloud::print_rows(stdout, reports);
  print_notes(reports, set);
  const auto picture = edge_cloud::draw_plot(reports, set.out);
  std::printf("%s\n",
              picture.empty() ? "no plot: gnuplot is not installed or failed" : ("plot: " + picture.string()).c_str());
  return same ? 0 : static_cast<int>(exit_code::text_differs);
}

int chat(settings& set, engine& small, engine& large) {
  edge_cloud::live_text screen(stdout);
  screen.note("Type a line and press Enter; an empty line ends the chat. " + screen.legend() + "\n");
  const std::size_t room = std::min(text_room(small), text_room(large));
  const std::size_t answer = std::min<std::size_t>(set.run.tokens, room / 2);
  std::vector<turn> turns;
  for (std::string line;
       std::printf("\n> ") > 0 && std::fflush(stdout) == 0 && std::getline(std::cin, line) && !line.empty();) {
    const std::size_t alone = prompt_of(small, {{"user", line}}, !set.raw).size();
    if (alone >= room) {
      screen.note("(prompt too long: it has " + std::to_string(alone) + " tokens; ask in fewer words)\n");
      continue;
    }
    turns.push_back({"user", line});
    if (const std::size_t dropped = drop_oldest(small, turns, !set.raw, room - answer); dropped > 0)
      screen.note("(context full: the oldest " + std::to_string(dropped) + " turns are dropped)\n");
    const auto prompt = prompt_of(small, turns, !set.raw);
    run_settings run = set.run;
    run.tokens = std::min(run.tokens, static_cast<std::uint32_t>(room - prompt.size()));
    const auto report =
        write_text(run, set.systems.front(), small, large, prompt,
                   [&](edge_cloud::token_kind kind, std::string_view piece) { screen.token(kind, piece); });
    ++set.run.session_id;  // each answer is a separate session
    turns.push_back({"assistant", report.text});
    std::printf("\n(%zu tokens, %.1f per second, %.0f uplink bits per token)\n", report.tokens.size(),
                report.tokens_per_second(), report.uplink_bits_per_token());
  }
  return 0;
}

}  // namespace

static int run(int argc, char** argv) {
  CLI::App app{"Runs a device and a cloud with two GGUF models over an emulated link."};
  settings set;
  set.run.salt = std::random_device{}() | 1u;
  set.run.temperature = 0.7;  // at 1, texts of the small default pair become nonsense
  add_options(app, set);
  try {
    app.parse(argc, argv);
    if (set.interactive && app.count("--systems") == 0) set.systems = {"k-sqs"};  // the system `target` has no drafts
    set.systems = edge_cloud::with_settings(set.systems, set.set);
    edge_cloud::check_prior_use(set.prior, set.systems);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(exit_code::usage);
  } catch (const std::invalid_argument& why) {
    std::fprintf(stderr, "%s\n", why.what());
    return static_cast<int>(exit_code::usage);
  }
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  try {
    std::filesystem::create_directories(set.out);  // before the run, because otherwise its plot could be lost
    engine small(set.edge_model, set.context, set.threads, parts_for(set.systems)),
        large(set.cloud_model, set.context, set.threads);
    small.pass_seconds = edge_cloud::paced(set.pace, edge_cloud::paper_edge_pass);
    large.pass_seconds = edge_cloud::paced(set.pace, edge_cloud::paper_cloud_pass);
    std::optional<specverify::prior_table> table;
    if (!set.prior.empty()) set.run.prior = &table.emplace(table_of(set.prior, large));
    break_something(set, large);
    return set.interactive ? chat(set, small, large) : demo(set, small, large);
  } catch (const failure& why) {
    std::fprintf(stderr, "\n%s\n", why.what());
    return static_cast<int>(why.code);
  } catch (const std::exception& why) {
    std::fprintf(stderr, "\nthe run failed: %s\n", why.what());
    return static_cast<int>(exit_code::session_failed);
  }
}

int main(int argc, char** argv) {
  return programs::with_output("llama_pair", [&] { return run(argc, argv); });
}
