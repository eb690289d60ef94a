// The table of verbs: parsing, help and completion come from it.
#include <vector>

#include "tools/console/about_verbs.hpp"
#include "tools/node_verbs/specs.hpp"
#include "tools/orrery/cluster_parts.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

const OptionSpec kJson{.name = "--json", .help = "print one JSON document, and nothing else"};
const OptionSpec kSet{.name = "--set",
                      .value = "path=value",
                      .help = "replace one value of the scenario, for example cluster.nodes=312",
                      .repeatable = true};
const OptionSpec kOut{.name = "--out",
                      .value = "DIR",
                      .help = "write summary.json, jobs.csv and the other files there",
                      .takes_path = true};
const OptionSpec kWorld{.name = "--world",
                        .value = "W",
                        .help = "the world to run in (default: the scenario's, else model)",
                        .choices = {"model", "sim"}};
const OptionSpec kFidelity{.name = "--fidelity",
                           .value = "L",
                           .help = "how finely the world is modelled (default: the scenario's)",
                           .choices = {"L0", "L1", "L2", "L3"}};

Verb sim_verb() {
  return {
      {.name = "sim",
       .operands = "SCENARIO [KEY=VALUE...]",
       .operands_min = 1,
       .operands_max = -1,
       .summary = "run a scenario and report its numbers",
       .details = "Prints a table, and the expectations of the scenario that did not hold.\n"
                  "With --out the results are also written to a folder, whole or not at all.\n"
                  "A document of RLinf is a scenario of its job on the nodes of --nodes; KEY=VALUE "
                  "changes it as for\norrery place, --set the scenario that orrery place --as "
                  "scenario prints.",
       .options = {{.name = "--policy",
                    .value = "P",
                    .help = "the policy (default: the scenario's); see orrery policies"},
                   {.name = "--seed",
                    .value = "N",
                    .help = "the seed of all random draws (default: the scenario's)"},
                   {.name = "--nodes",
                    .value = "N",
                    .help = "of a document of RLinf: DEVICESxMODEL:NODES, or a file"},
                   {.name = "--config-dir",
                    .value = "DIR",
                    .help = "of a document of RLinf: look for files of defaults there, too",
                    .repeatable = true},
                   {.name = "--program",
                    .value = "P",
                    .help = "of a document of RLinf: the entry program that it is for (default: by "
                            "its runner.task_type)"},
                   kWorld,
                   kFidelity,
                   kSet,
                   kOut,
                   {.name = "--journal", .help = "with --out: keep the journal too, as journal.db"},
                   kJson},
       .examples = {{"orrery sim scenarios/quickstart.yaml --policy srtf --out results",
                     "the main job under one policy, results kept"},
                    {"orrery sim scenarios/philly.yaml --set cluster.nodes=312 --json",
                     "the Philly trace on a larger cluster, for a script"}}},
      run_sim};
}

Verb compare_verb() {
  return {
      {.name = "compare",
       .operands = "SCENARIO",
       .operands_min = 1,
       .operands_max = 1,
       .summary = "run a scenario under several policies and seeds, side by side",
       .details = "Each run is a process of its own; the workload is read once per seed at "
                  "most.\nWith several seeds the table shows means with 95 percent intervals, and "
                  "how policies "
                  "differ over the\nsame seeds, with what of that may be chance. With --out "
                  "finished runs are kept where\nit is interrupted or killed, and the same command "
                  "goes on with them.",
       .options = {{.name = "--policies",
                    .value = "a,b,c",
                    .help = "the policies, joined by commas (default: the scenario's)"},
                   {.name = "--seeds",
                    .value = "A..B",
                    .help = "seeds from A to B, both included (default: the scenario's)"},
                   {.name = "--parallel",
                    .value = "N",
                    .help = "runs at the same time (default: one per processor)"},
                   kWorld,
                   kFidelity,
                   kSet,
                   kOut,
                   kJson},
       .examples = {{"orrery compare scenarios/quickstart.yaml --policies fifo,easy,srtf,las",
                     "the main job: four policies on the same 20,000 jobs"},
                    {"orrery compare scenarios/quickstart.yaml --policies fifo,las "
                     "--seeds 1..10 --json",
                     "two policies over ten seeds, for a script"}}},
      run_compare};
}

Verb sweep_verb() {
  return {
      {.name = "sweep",
       .operands = "FILE",
       .operands_min = 1,
       .operands_max = 1,
       .summary = "run a scenario over a grid of parameters, policies and seeds; resumable",
       .details =
           "FILE names a scenario, values for any of its paths (grid: every combination, list: "
           "point by point),\npolicies and seeds. Each cell is a run. Finished cells are kept in "
           "DIR: the same command goes on where it\nwas interrupted or killed, and writes "
           "sweep.csv and report.html once all are there.\nA changed file, scenario or "
           "program is refused. A COMMAND runs once for each cell, with orrery sweep FILE\n--cells "
           "N at its end or in place of {command}; {cell}, {file} and {out} stand for the parts.",
       .options = {{.name = "--out",
                    .value = "DIR",
                    .help = "for finished cells and the results (default: out/sweep-NAME)",
                    .takes_path = true},
                   {.name = "--parallel",
                    .value = "N",
                    .help = "cells at the same time (default: one per processor; Slurm: as it "
                            "allows)"},
                   {.name = "--launcher",
                    .value = "L",
                    .help = "where cells run: local, 'slurm [OPTIONS OF SBATCH]' as one job array, "
                            "or 'COMMAND ...' (default: local)"},
                   {.name = "--cells",
                    .value = "LIST",
                    .help = "run only these cells (1,4,7-9), write no tables: what launchers call"},
                   {.name = "--dry-run", .help = "print the cells, run nothing"},
                   kJson},
       .examples = {{"orrery sweep scenarios/load_sweep.yaml --out load",
                     "three loads, two policies, five seeds: 30 runs"},
                    {"orrery sweep scenarios/load_sweep.yaml --dry-run", "which cells are there?"},
                    {"orrery sweep scenarios/load_sweep.yaml --out array --launcher 'slurm "
                     "--time=10' --parallel 100",
                     "as a Slurm array, at most 100 at a time; DIR is on a shared file system"},
                    {"orrery sweep scenarios/load_sweep.yaml --out nice --launcher 'nice -n 19' "
                     "--parallel 2",
                     "by a command of one's own"}}},
      run_sweep};
}

Verb test_verb() {
  return {{.name = "test",
           .operands = "PATH...",
           .operands_min = 1,
           .operands_max = -1,
           .summary = "run scenarios and check their expectations",
           .details = "A folder stands for every .yaml file below it. Exit code 1 where an "
                      "expectation is unmet. A scenario with must_fail: true passes where one is "
                      "unmet, as the .unmet file beside it says if there is one.",
           .options = {{.name = "--world",
                        .value = "W",
                        .help = "the world to run in (default: each scenario's, else model)",
                        .choices = {"model", "sim", "cluster"}},
                       kFidelity,
                       kSet,
                       {.name = "--same-decisions",
                        .help = "demand of every job what world model decides too; world cluster "
                                "always does"},
                       {.name = "--keep",
                        .value = "DIR",
                        .help = "with world cluster: keep journals and logs, a folder for each",
                        .takes_path = true},
                       {.name = "--junit",
                        .value = "FILE",
                        .help = "write what became of each as JUnit's XML, for CI systems",
                        .takes_path = true},
                       kJson},
           .examples = {{"orrery test scenarios/lifecycle", "every scenario of a folder"},
                        {"orrery test scenarios/quickstart.yaml --json", "one, for a script"},
                        {"orrery test --world cluster scenarios/lifecycle/preemption.yaml",
                         "with the real controller, agents and processes, 20 times faster"},
                        {"orrery test scenarios/lifecycle --junit scenarios.xml",
                         "a report that GitHub, GitLab and Jenkins show"}}},
          run_test};
}

Verb check_verb() {
  return {{.name = "check",
           .operands = "FILE...",
           .operands_min = 1,
           .operands_max = -1,
           .summary = "validate scenarios, sweeps and files of jobs, run nothing",
           .details = "Reports everything that is wrong with every file, with place, finding, need "
                      "and remedy.",
           .options = {{"--json", "", "one JSON document on standard output, errors in it"}},
           .examples = {{"orrery check scenarios/*.yaml", "all scenarios of the project"},
                        {"orrery check --json train.yaml", "one file, for a script"}}},
          run_check};
}

Verb place_verb() {
  return {
      {.name = "place",
       .operands = "FILE [KEY=VALUE...]",
       .operands_min = 1,
       .operands_max = -1,
       .summary = "show which process would sit on which device, start nothing",
       .details = "FILE is YAML of RLinf, a scenario whose roles have a placement, or a document "
                  "with cluster and\ncomponent_placement, strategy or config; - reads standard "
                  "input. A document of RLinf is composed of\nthe files that its defaults name; "
                  "KEY=VALUE, +KEY=VALUE and ~KEY change values as on RLinf's own\ncommand line. "
                  "Prints a table for each component and a picture of nodes and devices. "
                  "Everything\nthat is wrong is told at once, with file, line and column: exit "
                  "code 2.",
       .options = {{.name = "--nodes",
                    .value = "N",
                    .help = "what the nodes have: DEVICESxMODEL:NODES, or a file (default: "
                            "cluster.nodes)"},
                   {.name = "--config-dir",
                    .value = "DIR",
                    .help = "look for files of defaults there, too",
                    .repeatable = true},
                   {.name = "--mode",
                    .value = "M",
                    .help = "how components share the cluster; all that is placed is shown "
                            "(default: as the program does)",
                    .choices = {"hybrid",
                                "model-parallel",
                                "evaluation",
                                "multi-agent",
                                "multi-agent-evaluation"}},
                   {.name = "--program",
                    .value = "P",
                    .help = "the entry program of RLinf that starts it (default: by "
                            "runner.task_type)"},
                   {.name = "--explicit",
                    .help = "print the placement with all process ranks written out"},
                   {.name = "--env",
                    .value = "C[:RANK]",
                    .help = "print the environment of component C's processes, or of one"},
                   {.name = "--family",
                    .value = "F",
                    .help = "whose variables --env prints (default: the job's, else rlinf)",
                    .choices = {"native", "torch", "rlinf", "nemo_rl", "dlrover"}},
                   {.name = "--as",
                    .value = "FORM",
                    .help = "print what orrery submit or sim would take a document of RLinf for",
                    .choices = {"job", "scenario"}},
                   {.name = "--command",
                    .value = "TEXT",
                    .help = "with --as: what every process runs, under a shell"},
                   {.name = "--search",
                    .help = "FILE is a scenario: find the placement of its job's work.loop whose "
                            "turns are shortest"},
                   {.name = "--job",
                    .value = "NAME",
                    .help = "with --search: which job (default: the one that has a loop)"},
                   {.name = "--turns",
                    .value = "N",
                    .help = "with --search: simulate so many of each candidate (default: 32)"},
                   {.name = "--candidates",
                    .value = "N",
                    .help = "with --search: at most so many before the best are refined (default: "
                            "100000)"},
                   {.name = "--top",
                    .value = "N",
                    .help = "with --search: show so many, and the best of each mode (default: 5)"},
                   {.name = "--json",
                    .help = "print {component: [records]} or {errors: [...]}, nothing else"}},
       .examples = {{"orrery place train.yaml", "tables and a picture of a placement"},
                    {"orrery place train.yaml --json | jq '.actor | length'",
                     "how many processes does the actor have?"},
                    {"orrery place train.yaml --env actor:0",
                     "what the first actor would find in its environment"},
                    {"orrery place train.yaml --nodes 8xH100:2,4xA100",
                     "a document of RLinf on two nodes of eight H100 and one of four A100"},
                    {"orrery place train.yaml --nodes 8xH100 rollout.tensor_parallel_size=2",
                     "the same on one node, with another engine"},
                    {"orrery place train.yaml --nodes 8xH100 --as job --command 'python3 main.py'",
                     "the job that it is"},
                    {"orrery place - < train.yaml", "a document from standard input"},
                    {"orrery place --search grpo.yaml",
                     "which roles of a loop should share devices, and how many has each?"},
                    {"orrery place --search grpo.yaml --json | jq '.candidates[0].roles'",
                     "the placement of each role, for a job file"}}},
      run_place};
}

Verb explore_verb() {
  return {
      {.name = "explore",
       .operands = "",
       .summary = "every interleaving of a small cluster, within bounds",
       .details = "One to three nodes with an agent and a device each, one or two leaders at a "
                  "time, and jobs:\nthe real core, driver, sessions, agents and fence. All "
                  "orders of messages, deadlines and\nfaults that the bounds allow are tried, "
                  "each state once. What breaks is told with the\nshortest way there.\n"
                  "Exit code 3 where anything broke.",
       .options = {{.name = "--nodes", .value = "N", .help = "1 to 3 (default: 2)"},
                   {.name = "--leaders",
                    .value = "N",
                    .help = "that may begin, one after the other or beside it (default: 1)"},
                   {.name = "--jobs", .value = "N", .help = "that clients submit (default: 1)"},
                   {.name = "--workers",
                    .value = "N",
                    .help = "of each job, on a device of its own each (default: 1)"},
                   {.name = "--seconds",
                    .value = "N",
                    .help = "that may pass; a lease lasts 5 (default: 3)"},
                   {.name = "--losses",
                    .value = "N",
                    .help = "connections that may break (default: 0)"},
                   {.name = "--crashes",
                    .value = "N",
                    .help = "of leaders, agents and machines (default: 0)"},
                   {.name = "--exits",
                    .value = "N",
                    .help = "workers that may end by themselves (default: 0)"},
                   {.name = "--stops", .value = "N", .help = "requests to stop a job (default: 0)"},
                   {.name = "--late",
                    .value = "N",
                    .help = "deadlines of nodes that may come a second late (default: 0)"},
                   {.name = "--resends",
                    .value = "N",
                    .help = "requests that may be repeated too early (default: 0)"},
                   {.name = "--recovery",
                    .value = "SCOPE",
                    .help = "of the jobs (default: worker)",
                    .choices = {"worker", "role", "job"}},
                   {.name = "--delays",
                    .value = "N",
                    .help = "things that may be held up, for any time; any: every order of "
                            "everything (default: 1)"},
                   {.name = "--depth", .value = "N", .help = "steps at the most (default: any)"},
                   {.name = "--states",
                    .value = "N",
                    .help = "after so many it is cut short (default: 1000000)"},
                   kJson},
       .examples = {{"orrery explore --crashes 1 --seconds 2",
                     "one crash of anything at any point, one thing late"},
                    {"orrery explore --nodes 1 --delays any --crashes 1 --seconds 1",
                     "all orders of everything, for a second"},
                    {"orrery explore --leaders 2 --seconds 6 --delays 0 --losses 1 --json",
                     "a second leader at any point, for a script"}}},
      run_explore};
}

Verb storm_verb() {
  return {{.name = "storm",
           .operands = "",
           .summary = "random faults under invariants; what fails is made small",
           .details = "Each seed is a random small cluster with jobs, a policy and faults, run "
                      "through the real core,\ndriver, journal and agents under an independent "
                      "checker. A failing seed is shrunk to a\nscenario that orrery test runs; one "
                      "that ends its process is told as a finding.\nA storm that was interrupted "
                      "goes on where it stopped when the same command is given again.\n"
                      "Exit code 3 where anything broke.",
           .options = {{.name = "--seeds",
                        .value = "A..B",
                        .help = "seeds from A to B, both included, as many as you like (default: "
                                "1..1000)"},
                       {.name = "--minutes",
                        .value = "M",
                        .help = "in place of --seeds: from seed 1 on, for so long"},
                       {.name = "--pins",
                        .value = "FILE",
                        .help = "the seeds of a golden file: also what they decide otherwise than "
                                "it says is a finding",
                        .takes_path = true},
                       {.name = "--parallel",
                        .value = "N",
                        .help = "runs at the same time (default: one per processor)"},
                       {.name = "--out",
                        .value = "DIR",
                        .help = "for shrunk scenarios, and progress to go on from (default: "
                                "out/storm)",
                        .takes_path = true},
                       {.name = "--no-shrink", .help = "only tell which seeds failed"},
                       kJson},
           .examples = {{"orrery storm", "a thousand seeds"},
                        {"orrery storm --seeds 42", "one seed again"},
                        {"orrery storm --seeds 1..1000000 --out million",
                         "a million; after Ctrl-C again to go on"},
                        {"orrery storm --pins tests/sim/storm/pins.txt",
                         "is anything decided or said otherwise?"},
                        {"orrery storm --minutes 60 --out found --json", "an hour, for a script"}}},
          run_storm_verb};
}

Verb policies_verb() {
  return {{.name = "policies",
           .operands = "",
           .summary = "list the policies with their parameters, and the placers",
           .details = "",
           .options = {kJson},
           .examples = {{"orrery policies", "names, parameters, units and defaults"}}},
          run_policies};
}

Verb journal_dump_verb() {
  return {{.name = "journal dump",
           .operands = "FILE",
           .operands_min = 1,
           .operands_max = 1,
           .summary = "print every record of a journal, one JSON object a line",
           .details = "",
           .options = {},
           .examples = {{"orrery journal dump run.db | head", "the first records of a journal"}}},
          run_journal_dump};
}

Verb replay_verb() {
  return {
      {.name = "replay",
       .operands = "JOURNAL",
       .operands_min = 1,
       .operands_max = 1,
       .summary = "run a recorded journal again, as it was or as a what-if",
       .details =
           "Folds the journal from its first record and prints for each term of a leader "
           "what was ordered, as a fingerprint.\nWith --log it must be what that controller "
           "said when it ended; exit code 3 where it is not.\n\nWith --policy or --set it is a "
           "what-if: the arrivals, requests and faults that were recorded happen again in\nworld "
           "model, under another policy, cluster or parameter, and each job's start and completion "
           "stand beside\nthose that were recorded. What the journal does not tell (the work of "
           "jobs that did not end) is estimated,\nand said. Exit code 1 where a job can never fit.",
       .options = {{.name = "--policy",
                    .value = "P[,P...]",
                    .help = "what-if: the policies that decide; see orrery policies"},
                   {.name = "--set",
                    .value = "path=value",
                    .help = "what-if: replace one value of cluster, policy, placer, timing or "
                            "controller",
                    .repeatable = true},
                   {.name = "--out",
                    .value = "DIR",
                    .help = "what-if: write what_if.json, pages and the files of each run there",
                    .takes_path = true},
                   {.name = "--log",
                    .value = "FILE",
                    .help = "the controller's log: its lines 'led epoch' must hold",
                    .takes_path = true},
                   kJson},
       .examples = {{"orrery replay run.db", "what each leader ordered"},
                    {"orrery replay state/journal.db --policy easy,tiresias",
                     "how would last week have gone under other policies?"},
                    {"orrery replay state/journal.db --set cluster.groups[0].nodes=8 --out what-if",
                     "the same with another cluster, and pages"},
                    {"orrery replay state/journal.db --log state/controller.log",
                     "does the journal of that controller decide as it did?"}}},
      run_replay};
}

Verb forecast_verb() { return {forecast_spec(), run_journal_forecast}; }

Verb calibrate_verb() { return {calibrate_spec(), run_calibrate_from}; }

Verb journal_verify_verb() {
  return {
      {.name = "journal verify",
       .operands = "FILE",
       .operands_min = 1,
       .operands_max = 1,
       .summary = "check that a journal is whole, and fold it into its final state",
       .details = "Checks the numbering, the chain of digests and that every record can be "
                  "read;\nprints the digest of the state that the records lead to.",
       .options =
           {{.name = "--recompute",
             .value = "SCENARIO",
             .help = "ask the policy again for every recorded plan; parameters are the scenario's",
             .takes_path = true},
            kJson},
       .examples = {{"orrery journal verify run.db", "after a crash, or before a replay"},
                    {"orrery journal verify results/journal.db --recompute "
                     "scenarios/quickstart.yaml",
                     "does the policy still decide as it did?"}}},
      run_journal_verify};
}

Verb history_verb() {
  return {
      {.name = "history",
       .operands = "JOURNAL",
       .operands_min = 1,
       .operands_max = 1,
       .summary = "list the jobs that have ended, from a controller's journal",
       .details =
           "JOURNAL is the file of store.sqlite, or journal.db in the folder of orrery up --state; "
           "it may be read\nwhile its controller writes it. A controller forgets ended jobs after "
           "a while (retain_finished), its\njournal does not. With --json each job has its latest "
           "failures, with exit codes and the last lines that\ntheir workers wrote.",
       .options =
           {{.name = "--state",
             .value = "STATE",
             .help = "only jobs that ended so; stopped ones are failed",
             .choices = {"succeeded", "failed"}},
            {.name = "--user", .value = "NAME", .help = "only jobs that this user submitted"},
            {.name = "--job", .value = "JOB", .help = "only jobs of this name"},
            {.name = "--since",
             .value = "TIME",
             .help = "only jobs that ended then or later: 2h, 7d, 2026-11-22T10:30:00Z"},
            {.name = "--until", .value = "TIME", .help = "only jobs that ended before: as --since"},
            kJson},
       .examples = {{"orrery history journal.db --since 1d", "what ended within a day"},
                    {"orrery history journal.db --state failed --user ada --json",
                     "failures of one user's jobs, with the last lines of their workers"}}},
      run_history};
}

Verb report_verb() {
  return {{.name = "report",
           .operands = "JOURNAL",
           .operands_min = 1,
           .operands_max = 1,
           .summary = "make the page of a run from a controller's journal",
           .details = "The same page as of a simulated run: which job held which devices when, the "
                      "queue, failures, every job.\nJOURNAL is as for orrery history.",
           .options = {{.name = "--out",
                        .value = "FILE",
                        .help = "where the page is written (default: report.html)",
                        .takes_path = true}},
           .examples = {{"orrery report journal.db --out week.html", "open it with any browser"}}},
          run_report};
}

}  // namespace

std::span<const Verb> verbs() {
  static const std::vector<Verb> kVerbs = [] {
    std::vector<Verb> all{sim_verb(),
                          compare_verb(),
                          sweep_verb(),
                          test_verb(),
                          check_verb(),
                          place_verb(),
                          storm_verb(),
                          explore_verb(),
                          trace_info_verb(),
                          trace_convert_verb(),
                          policies_verb(),
                          journal_dump_verb(),
                          journal_verify_verb(),
                          replay_verb(),
                          forecast_verb(),
                          calibrate_verb(),
                          parity_verb(),
                          history_verb(),
                          report_verb()};
    for (const Verb& verb : node_verbs_run_beside()) all.push_back(verb);
    for (const Verb& verb : {version_verb(), completion_verb(), help_verb()}) all.push_back(verb);
    return all;
  }();
  return kVerbs;
}

std::string_view program_instead(std::string_view verb, const Arguments& arguments) {
  if (verb == "forecast" && !arguments.value("--journal")) return "orrery-node";
  if (verb == "calibrate" && arguments.values("--from").empty()) return "orrery-node";
  return program_of_world_cluster(verb, arguments);
}

}  // namespace orrery::cli
