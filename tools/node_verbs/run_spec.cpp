// run: a plain distributed program as a job, with the options that torchrun takes.
#include <algorithm>
#include <iterator>

#include "tools/node_verbs/client_options.hpp"
#include "tools/node_verbs/specs.hpp"

namespace orrery::cli {
namespace {

std::vector<OptionSpec> run_options() {
  return {
      {.name = "--nnodes",
       .value = "N|MIN:MAX",
       .help = "nodes, with all processes of one together; a range: elastic (default: 1)"},
      {.name = "--nproc-per-node",
       .value = "M",
       .help = "processes on each node: a number, gpu, cpu, or auto: gpu, else cpu (default: 1)"},
      {.name = "--devices-per-proc",
       .value = "D",
       .help = "devices of each process (default: 1 where enough nodes have some, else 0)"},
      {.name = "--cpus-per-proc",
       .value = "C",
       .help = "cores of each (default: 1; with --standalone an equal part of what there is)"},
      {.name = "--memory-per-proc",
       .value = "SIZE",
       .help = "memory of each (default: 2GiB; with --standalone an equal part)"},
      {.name = "--max-restarts",
       .value = "N",
       .help = "restarts of all processes after a failure of one (default: 0)"},
      {.name = "--name",
       .value = "NAME",
       .help = "name of the job (default: that of the script, with a number where it is taken)"},
      {.name = "--rdzv-id", .value = "ID", .help = "the same, as torchrun has it"},
      {.name = "--module", .help = "SCRIPT is the name of a Python module", .letter = "-m"},
      {.name = "--no-python", .help = "run CMD as it is, even where it ends with .py"},
      {.name = "--env",
       .value = "K=V|K",
       .help = "a variable of every process; K alone: with the value that it has here",
       .repeatable = true},
      {.name = "--role",
       .value = "R",
       .help = "what the job's role is called, ROLE_NAME (default: default)"},
      {.name = "--priority",
       .value = "P",
       .help = "normal, high, a class of the controller or a whole number"},
      {.name = "--group", .value = "G", .help = "group of the job, for listing and quotas"},
      {.name = "--set",
       .value = "path=value",
       .help = "replace one value of the job file, for example drain_grace=5min",
       .repeatable = true},
      {.name = "--node-check",
       .help = "before they start, processes check their devices and the way to each other"},
      {.name = "--ranks",
       .value = "A,B,...",
       .help = "show only what these ranks write (default: all)"},
      {.name = "--local-ranks-filter",
       .value = "A,B,...",
       .help = "the same, counted on each node from 0"},
      {.name = "--standalone",
       .help = "start a controller and an agent for each node on this machine, and end them"},
      {.name = "--ports",
       .value = "A-B",
       .help = "with --standalone: where processes listen (default: 22270-32767)"},
      {.name = "--detach", .help = "submit the job, and return", .letter = "-d"},
      {.name = "--dry-run", .help = "print the job file; submit and start nothing"},
      {.name = "--json",
       .help = "print JSON: an object for each line that a rank writes, at last the job"}};
}

/// Options of torchrun that scripts of its users carry. What becomes of them the client says.
std::vector<OptionSpec> options_of_torchrun() {
  std::vector<OptionSpec> out;
  for (const std::string_view name : {"--rdzv-backend",
                                      "--rdzv-endpoint",
                                      "--rdzv-conf",
                                      "--master-addr",
                                      "--master-port",
                                      "--local-addr",
                                      "--node-rank",
                                      "--monitor-interval",
                                      "--start-method",
                                      "--event-log-handler",
                                      "--logs-specs",
                                      "--numa-binding",
                                      "--signals-to-handle",
                                      "--shutdown-timeout",
                                      "--log-dir",
                                      "--redirects",
                                      "--tee"})
    out.push_back({.name = name, .value = "VALUE", .help = "of torchrun", .unlisted = true});
  for (const std::string_view name : {"--run-path", "--virtual-local-rank"})
    out.push_back({.name = name, .help = "of torchrun", .unlisted = true});
  for (OptionSpec& option : out) {
    if (option.name == "--redirects") option.letter = "-r";
    if (option.name == "--tee") option.letter = "-t";
  }
  return out;
}

}  // namespace

VerbSpec run_spec() {
  std::vector<OptionSpec> options = with_client_options(run_options());
  std::ranges::copy(options_of_torchrun(), std::back_inserter(options));
  return {
      .name = "run",
      .operands = "SCRIPT|CMD [args...]",
      .operands_min = 1,
      .operands_max = -1,
      .summary = "run a distributed program as a job, typed as for torchrun",
      .details =
          "A SCRIPT that ends with .py runs as python3 -u SCRIPT args ($PYTHON_EXEC in place of "
          "python3), anything else\nas it is. All that stands behind it is its own. It starts in "
          "the present folder, which every node must see,\nand finds RANK, WORLD_SIZE, "
          "MASTER_ADDR and the other variables of torchrun. The command is given once,\nnot on "
          "each node. What ranks write is printed with [RANK] before each line; the end is code 0 "
          "or 1. Ctrl-C\nstops the job, a second one leaves at once. --nnodes MIN:MAX takes any "
          "number of processes between MIN x M and\nMAX x M, wherever they fit, as the policy of "
          "the controller decides.\n"
          "torchrun's other options, --rdzv-backend, --master-addr, --tee and the like, are "
          "accepted with a word on\nwhat becomes of them; underscores in names are dashes.",
      .options = std::move(options),
      .examples = {{"orrery run --standalone --nproc-per-node 2 train.py --lr 0.1",
                    "two processes on this machine, nothing else needed"},
                   {"orrery run --nnodes 2 --nproc-per-node gpu train.py",
                    "on a cluster: two nodes, a process for each of their devices"},
                   {"orrery run --nnodes 1:4 --nproc-per-node 8 --max-restarts 3 --detach train.py",
                    "elastic, and this terminal is free"},
                   {"orrery run --nproc-per-node 4 --env WANDB_MODE=offline -m project.train",
                    "a module, with a variable"},
                   {"orrery run --nnodes 2 --dry-run ./solver --steps 100",
                    "the job file, to change and to submit"}},
      .runs_command = true};
}

}  // namespace orrery::cli
