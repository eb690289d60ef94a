// The verbs that run daemons.
#include "tools/node_verbs/specs.hpp"

namespace orrery::cli {
namespace {

std::vector<OptionSpec> daemon_options() {
  return {{.name = "--config",
           .value = "FILE",
           .help = "its settings (default: all defaults); see docs/configuration.md",
           .takes_path = true},
          {.name = "--set",
           .value = "path=value",
           .help = "replace one value of the settings",
           .repeatable = true},
          {.name = "--print-systemd-unit",
           .value = "",
           .help = "print a unit that runs it with this --config, and end"},
          {.name = "--ready-fd",
           .value = "N",
           .help = "write a line there once it is ready, for a supervising process"},
          {.name = "--parent",
           .value = "PID",
           .help = "end at once when this process, which started it, ends"}};
}

std::vector<OptionSpec> agent_options() {
  std::vector<OptionSpec> options = daemon_options();
  options.insert(options.begin() + 2,
                 {.name = "--launcher",
                  .value = "NAME",
                  .help = "take name, CPUs, memory and devices from what started it",
                  .choices = {"slurm"}});
  return options;
}

}  // namespace

VerbSpec controller_spec() {
  return {.name = "controller",
          .operands = "",
          .summary = "run a controller",
          .details =
              "Leads agents, keeps the journal, answers clients over HTTP, until SIGTERM or "
              "Ctrl-C.\nThe workers run on without it, and the next one takes them over.",
          .options = daemon_options(),
          .examples = {{"orrery controller --config controller.yaml", "with a file of settings"},
                       {"orrery controller --set policy=easy --set store.sqlite=j.db",
                        "with defaults and two settings"}}};
}

VerbSpec agent_spec() {
  return {.name = "agent",
          .operands = "",
          .summary = "run the agent of this node",
          .details =
              "Registers with the controller and starts workers as it is told. The workers run "
              "on without it, and\nthe next one takes them over, within their lease.",
          .options = agent_options(),
          .examples = {{"orrery agent --config agent.yaml", "with a file of settings"},
                       {"srun orrery agent --launcher slurm --config agent.yaml",
                        "in an allocation of Slurm"},
                       {"orrery agent --config agent.yaml --print-systemd-unit",
                        "a unit that keeps it running"}}};
}

VerbSpec up_spec() {
  return {
      .name = "up",
      .operands = "[FILE...]",
      .operands_max = -1,
      .summary = "run a controller and agents on this machine, until Ctrl-C",
      .details =
          "Everything that is needed lies in one folder, which is removed in the end unless "
          "--state names it;\nwith --state the next up goes on where this one ended. The nodes "
          "share the machine's cores and memory\nequally, with a core each at least. FILE: jobs "
          "that are submitted at once. A daemon\nthat dies is started again. Ctrl-C ends the "
          "workers too, and leaves nothing behind; a second one kills.",
      .options = {{.name = "--agents", .value = "N", .help = "nodes to play (default: 1)"},
                  {.name = "--devices",
                   .value = "N",
                   .help = "pretended devices per node (default: the real ones, on the first)"},
                  {.name = "--http",
                   .value = "ADDR",
                   .help = "where clients connect (default: 127.0.0.1:22100; port 0: any free)"},
                  {.name = "--ports",
                   .value = "A-B",
                   .help = "where workers listen, a share for each node (default: 22270-32767)"},
                  {.name = "--policy", .value = "P", .help = "see orrery policies (default: fifo)"},
                  {.name = "--state",
                   .value = "DIR",
                   .help = "keep journal, states and logs there",
                   .takes_path = true},
                  {.name = "--volume-root",
                   .value = "DIR",
                   .help = "a folder that jobs may mount, with all below it (default: none)",
                   .repeatable = true,
                   .takes_path = true},
                  {.name = "--set",
                   .value = "path=value",
                   .help = "replace one value of the controller's settings",
                   .repeatable = true},
                  {.name = "--agent-set",
                   .value = "path=value",
                   .help = "replace one value of every agent's settings",
                   .repeatable = true}},
      .examples = {
          {"orrery up", "one node, all defaults"},
          {"orrery up --volume-root /data --volume-root /src",
           "jobs may mount what lies in these folders"},
          {"orrery up --agents 3 --devices 8 --policy easy train.yaml",
           "three nodes with 8 pretended devices each, and a job"},
          {"orrery up --http 127.0.0.1:0 --ports 20000-20999", "a second cluster on this machine"},
          {"orrery up --agents 2 --agent-set inventory.cpu=64 --agent-set log_size=1MiB",
           "two nodes that pretend to have 64 cores each, and small logs"}}};
}

}  // namespace orrery::cli
