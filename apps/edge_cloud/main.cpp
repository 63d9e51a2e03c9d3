// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the example program. `edge_cloud demo` runs everything on this machine, and `edge_cloud trace`
// makes a channel trace for the demo. `edge_cloud serve` runs a server for many devices, and `edge_cloud device` runs a
// device. `edge_cloud cloud`, `edge_cloud link` and `edge_cloud edge` run the three parts of the demo, each in a
// separate terminal.
#include "../standard_output.hpp"
#include "cloud_process.hpp"
#include "demo.hpp"
#include "edge_process.hpp"
#include "link_process.hpp"
#include "prior_option.hpp"
#include "serve/serve_commands.hpp"
#include "side_options.hpp"
#include "stop_option.hpp"
#include "systems.hpp"
#include "trace_file.hpp"

#include <specverify/core/secret.hpp>

#include <CLI/CLI.hpp>

#include <csignal>
#include <exception>
#include <iostream>

#include <sys/prctl.h>

namespace {

using namespace edge_cloud;

void add_edge_options(CLI::App& app, run_settings& run) {
  app.add_option(
         "--policy", run.policy,
         "file with the weights of the network that chooses the draft length and the resolution; required by qs-dqn")
      ->check(CLI::ExistingFile);
  app.add_option("--on-link-loss", run.on_link_loss,
                 "behaviour while the cloud does not answer: `wait` for it, `stop` with an error, or continue on the "
                 "edge (`local`)")
      ->capture_default_str()
      ->check(CLI::IsMember({"wait", "stop", "local"}));
  app.add_option("--threshold", run.threshold,
                 "accept a mismatch if its score is below this threshold; negative: the threshold stored with the head")
      ->capture_default_str();
}

// Only the demo passes this option, so that both processes use one clock.
void add_origin_option(CLI::App& app, link_settings& link) {
  app.add_option("--trace-origin", link.clock.origin_microseconds,
                 "start time of the channel trace, in microseconds of this machine's steady clock")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 52));
}

std::string not_a_secret(const std::string& text) {
  return specverify::secret_from_hex(text).is_missing() ? "a secret must have 32 hex digits, not all 0" : "";
}

// Options that the edge and the cloud have in common.
struct side_options {
  run_settings run;
  std::uint16_t port = 0;
  bool end_with_parent = false;

  void add_to(CLI::App& app, secret_text& secret, const char* port_help) {
    add_model_options(app, run);
    add_head_option(app, run);
    app.add_option("--port", port, port_help)->capture_default_str();
    const auto take = [&secret](const std::string& digits) { secret = secret_text(digits); };
    app.add_option_function<std::string>(
           "--secret", take, "secret key of this side, as 32 hex digits; default: the demo's key, which is public")
        ->check(CLI::Validator(not_a_secret, "HEX"));
    app.add_option("--state-dir", run.state,
                   "folder for the journal and the report; to resume a text, restart with the same folder")
        ->required();
    app.add_flag("--end-with-parent", end_with_parent, "exit when the parent process exits");
  }

  void apply() const {
    if (end_with_parent) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
};

}  // namespace

static int run(int argc, char** argv) try {
  CLI::App app{"An edge and a cloud generate a text together over a slow link."};
  app.require_subcommand(1);

  demo_settings demo;
  demo.run.pace = "paper";
  demo.systems.assign(demo_systems.begin(), demo_systems.end());
  CLI::App* demo_command = app.add_subcommand(
      "demo", "run each method with an edge process and a cloud process; print a table and draw a plot");
  demo_command->add_option("--prompt", demo.prompts, "text to continue; repeatable, one run per prompt");
  std::filesystem::path prompt_file;
  std::size_t prompt_lines = 16;
  CLI::Option* file =
      demo_command
          ->add_option(
              "--prompt-file", prompt_file,
              "file with one prompt per line; only the first 16 words of each line are used; replaces --prompt")
          ->check(CLI::ExistingFile);
  demo_command->add_option("--prompt-lines", prompt_lines, "maximum number of lines to read from the prompt file")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000))
      ->needs(file);
  add_text_options(*demo_command, demo.run);
  add_stop_option(*demo_command, demo.run.stop_strings);
  add_salt_option(*demo_command, demo.run);
  add_model_options(*demo_command, demo.run);
  add_head_option(*demo_command, demo.run);
  add_prior_option(*demo_command, demo.run.prior, "both sides use it");
  add_edge_options(*demo_command, demo.run);
  add_link_options(*demo_command, demo.link);
  demo_command->add_option("--systems", demo.systems, "comma-separated methods, run in this order (names: --list)")
      ->delimiter(',')
      ->capture_default_str();
  add_settings_options(*demo_command, demo.run.set);
  demo.run.protocol = "model";
  demo_command
      ->add_option(
          "--protocol", demo.run.protocol,
          "when to send hidden states, for methods that need them: `fh` with the drafts, `sh` on request, `lazy` one "
          "per request; `round-trip` chooses `fh` or `sh` by the round-trip time; `model` chooses the one of the three "
          "with the least expected time")
      ->capture_default_str()
      ->check(CLI::IsMember({"model", "round-trip", "fh", "sh", "lazy"}));
  demo_command->add_option("--out", demo.out, "folder for the reports, the journals and the plot")
      ->capture_default_str();

  side_options edge, cloud;
  edge.run.pace = cloud.run.pace = "paper";
  edge.port = 7001;
  cloud.port = 7000;
  CLI::App* edge_command = app.add_subcommand(
      "edge", "run the edge: the small model, which drafts; this side sets the prompt and the method");
  add_system_option(*edge_command, edge.run);
  add_prior_option(*edge_command, edge.run.prior, "the cloud needs the same table");
  add_edge_options(*edge_command, edge.run);
  add_link_options(*edge_command, edge.run.link);
  add_origin_option(*edge_command, edge.run.link);
  edge_command->add_option("--prompt", edge.run.prompt, "text to continue")->capture_default_str();
  add_stop_option(*edge_command, edge.run.stop_strings);
  edge_command
      ->add_option(
          "--protocol", edge.run.protocol,
          "when to send hidden states, for methods that need them: `fh` with the drafts, `sh` on request, `lazy` one "
          "per request (start the cloud with --lazy); `round-trip` chooses `fh` or `sh` by the round-trip time")
      ->capture_default_str()
      ->check(CLI::IsMember({"round-trip", "fh", "sh", "lazy"}));
  add_retry_option(*edge_command, edge.run);
  add_text_options(*edge_command, edge.run);
  edge.add_to(*edge_command, edge.run.edge_secret, "port of the emulated link on the loopback interface");
  CLI::App* cloud_command = app.add_subcommand("cloud", "run the cloud: the large model, which verifies drafts");
  cloud.add_to(*cloud_command, cloud.run.cloud_secret, "port on the loopback interface to listen on");
  add_prior_option(*cloud_command, cloud.run.prior, "used for edges with the same table");
  add_salt_option(*cloud_command, cloud.run);
  cloud_command->add_flag(
      "--lazy", cloud.run.lazy,
      "request the hidden state of one mismatch at a time; required if the edge uses --protocol lazy");

  link_settings link;
  std::uint16_t link_port = 7001, cloud_port = 7000;
  CLI::App* link_command = app.add_subcommand("link", "emulate a slow link between an edge and a cloud");
  add_link_options(*link_command, link);
  add_origin_option(*link_command, link);
  link_command->add_option("--port", link_port, "port on the loopback interface to which the edge connects")
      ->capture_default_str();
  link_command->add_option("--cloud-port", cloud_port, "port of the cloud on the loopback interface")
      ->capture_default_str();

  trace_model model;
  link_settings of_trace;
  CLI::App* trace_command = app.add_subcommand(
      "trace", "generate a random channel trace, and print it as CSV in the format of --channel-trace");
  trace_command->add_option("--model", model.name, "channel model that generates the uplink's rates")
      ->capture_default_str()
      ->check(CLI::IsMember(trace_model_names));
  trace_command->add_option("--steps", model.steps, "number of states to generate")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  trace_command->add_option("--seed", model.seed, "random seed of the trace")->capture_default_str();
  trace_command
      ->add_option("--snr-db", model.mean_snr_decibel,
                   "mean signal-to-noise ratio of a fading uplink (rayleigh, rician), in dB")
      ->capture_default_str();
  trace_command->add_option_function<double>("--bandwidth-khz", kilo(model.bandwidth_hertz),
                                             "bandwidth of a fading uplink (rayleigh, rician), in kHz; default: 100");
  add_steady_options(*trace_command, of_trace);

  serve_commands strangers;
  strangers.add_to(app);

  CLI11_PARSE(app, argc, argv);
  if (const std::optional<int> code = strangers.run(app)) return *code;
  if (app.got_subcommand("trace")) return std::fputs(drawn_trace(model, of_trace).c_str(), stdout) < 0 ? 1 : 0;
  if (!prompt_file.empty()) demo.prompts = openings(prompt_file, prompt_lines);
  if (app.got_subcommand("demo")) {
    demo.systems = with_settings(demo.systems, demo.run.set);
    check_prior_use(demo.run.prior, demo.systems);
    return run_demo(demo) ? 0 : 1;
  }
  if (app.got_subcommand("link")) return run_link_process(link, link_port, cloud_port);
  if (app.got_subcommand("edge")) {
    edge.apply();
    edge.run.system = with_settings({edge.run.system}, edge.run.set).front();
    check_prior_use(edge.run.prior, {&edge.run.system, 1});
    return run_edge_process(edge.run, edge.port);
  }
  cloud.apply();
  return run_cloud_process(cloud.run, cloud.port);
} catch (const std::exception& error) {
  std::cerr << "edge_cloud: " << error.what() << '\n';
  return 1;
}

int main(int argc, char** argv) {
  return programs::with_output("edge_cloud", [&] { return run(argc, argv); });
}
