// The rows of the verbs about traces in the table of verbs.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/traces/formats.hpp"
#include "sim/traces/trace_target.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

/// "NAME  what it is", a line for each of `table`.
template <class Table>
std::string lines_of(const Table& table) {
  std::string out;
  for (const auto& each : table)
    out += "\n  " + std::string(each.name) + std::string(13 - each.name.size(), ' ') +
           std::string(each.what);
  return out;
}

/// What every verb about a trace can be told about how to read it.
std::vector<OptionSpec> reading_options(std::vector<std::string_view> more_formats) {
  std::vector<std::string_view> formats;
  for (const sim::TraceFormat& format : sim::trace_formats()) formats.push_back(format.name);
  formats.push_back("batsim");
  formats.insert(formats.end(), more_formats.begin(), more_formats.end());
  return {{.name = "--format",
           .value = "F",
           .help = "how the file is written (default: seen from how it begins)",
           .choices = std::move(formats)},
          {.name = "--throughputs",
           .value = "FILE",
           .help = "measured speeds (JSON), for Gavel's traces, which count steps",
           .takes_path = true},
          {.name = "--device-model",
           .value = "M",
           .help = "the model whose speeds count (default: v100)"},
          {.name = "--zero-gpus",
           .value = "R",
           .help = "jobs that need no GPU (default: keep)",
           .choices = {"keep", "drop"}},
          {.name = "--censored",
           .value = "R",
           .help = "jobs whose end is unknown; kept, they run to the trace's end (default: drop)",
           .choices = {"keep", "drop"}},
          {.name = "--duplicates",
           .value = "R",
           .help = "rows equal to an earlier one (default: keep)",
           .choices = {"keep", "drop"}}};
}

}  // namespace

Verb trace_info_verb() {
  static const std::string kDetails =
      "formats of jobs:" + lines_of(sim::trace_formats()) +
      "\n  batsim       workloads of Batsim, those jobs that last a fixed time\n"
      "Failure records (lanl), lists of machines (openb-nodes, pai-machines), tables of speeds\n"
      "(gavel-throughputs) and ElastiSim's jobs (elastisim) are described too. What each holds:\n"
      "docs/traces.md.";
  std::vector<OptionSpec> options =
      reading_options({"lanl", "openb-nodes", "pai-machines", "gavel-throughputs", "elastisim"});
  options.push_back({.name = "--json", .help = "print one JSON document, and nothing else"});
  return {{.name = "trace info",
           .operands = "FILE",
           .operands_min = 1,
           .operands_max = 1,
           .summary = "what a trace of jobs or failures holds, and what became of each of its rows",
           .details = kDetails,
           .options = std::move(options),
           .examples = {{"orrery trace info philly.csv", "sizes, durations and counted quirks"},
                        {"orrery trace info max_min_fairness.trace --throughputs "
                         "simulation_throughputs.json",
                         "a trace of Gavel, its steps as seconds on a V100"},
                        {"orrery trace info log.swf --json", "the same of a log, for a script"}}},
          run_trace_info};
}

Verb trace_convert_verb() {
  static const std::string kDetails =
      "forms:" + lines_of(sim::trace_targets()) +
      "\n  cluster      of a list of machines: the cluster section of a scenario\n"
      "What became of the rows, and what the form cannot hold, is told on standard error.";
  std::vector<OptionSpec> options = reading_options({"openb-nodes", "pai-machines"});
  OptionSpec to{.name = "--to", .value = "F", .help = "the form to write; needed"};
  for (const sim::TraceTarget& target : sim::trace_targets()) to.choices.push_back(target.name);
  to.choices.push_back("cluster");
  options.insert(options.begin(), std::move(to));
  options.push_back({.name = "--out",
                     .value = "FILE",
                     .help = "where to write (default: standard output)",
                     .takes_path = true});
  return {{.name = "trace convert",
           .operands = "FILE",
           .operands_min = 1,
           .operands_max = 1,
           .summary = "write the jobs of a trace, or a list of machines, in another form",
           .details = kDetails,
           .options = std::move(options),
           .examples = {{"orrery trace convert openb.csv --to orrery --out openb.orrery.csv",
                         "all that is known of every job, in one form"},
                        {"orrery trace convert philly.csv --to swf > philly.swf",
                         "for a scheduler that reads the Standard Workload Format"},
                        {"orrery trace convert log.swf --to batsim --out workload.json",
                         "delay jobs for Batsim"},
                        {"orrery trace convert openb_node_list_gpu_node.csv --to cluster",
                         "machines as the cluster section of a scenario"}}},
          run_trace_convert};
}

}  // namespace orrery::cli
