// The verbs that ask a running controller.
#include "tools/certs/certs_specs.hpp"
#include "tools/node_verbs/client_options.hpp"
#include "tools/node_verbs/specs.hpp"

namespace orrery::cli {
namespace {

const OptionSpec kJson{.name = "--json", .help = "print one JSON document, and nothing else"};
const OptionSpec kFollow{
    .name = "--follow", .help = "go on as more comes, until Ctrl-C", .letter = "-f"};

}  // namespace

VerbSpec submit_spec() {
  return {
      .name = "submit",
      .operands = "FILE...",
      .operands_min = 1,
      .operands_max = -1,
      .summary = "submit the jobs of job files or DIJob manifests",
      .details =
          "Every file is checked before any job is taken, here and by the controller, which "
          "knows the nodes;\nwhat is wrong is told with place, finding, need and remedy. - reads "
          "standard input. With --wait "
          "the exit code is 1 where a job\nfailed; Ctrl-C ends the waiting, not the jobs.\n"
          "--set is for one FILE of one document: the path has the file's own keys, joined by "
          "dots, and [N] for\nelements of lists; the value is YAML. A document of RLinf is the "
          "job that orrery place --as job prints:\neach process runs --command, and --set changes "
          "a value of the composed document.",
      .options = with_client_options(
          {{.name = "--set",
            .value = "path=value",
            .help = "replace one value of the file, for example roles.main.replicas=4",
            .repeatable = true},
           {.name = "--command",
            .value = "TEXT",
            .help = "of a document of RLinf: what every process runs, under a shell"},
           {.name = "--nodes",
            .value = "N",
            .help = "of a document of RLinf: DEVICESxMODEL:NODES, or a file (default: the "
                    "controller's nodes)"},
           {.name = "--config-dir",
            .value = "DIR",
            .help = "of a document of RLinf: look for files of defaults there, too",
            .repeatable = true},
           {.name = "--program",
            .value = "P",
            .help = "of a document of RLinf: the entry program that it is for (default: by its "
                    "runner.task_type)"},
           {.name = "--dry-run", .help = "let the controller check the files; submit nothing"},
           {.name = "--wait", .help = "wait until every job has ended", .letter = "-w"},
           kJson}),
      .examples = {{"orrery submit train.yaml", "the jobs of one file"},
                   {"orrery submit train.yaml --set name=train-2 --set roles.main.replicas=4",
                    "the same job under another name, and larger"},
                   {"orrery submit ppo.yaml --command 'python3 worker.py'",
                    "a document of RLinf on the controller's nodes"},
                   {"orrery submit train.yaml --dry-run", "does it fit this cluster as written?"},
                   {"orrery submit train.yaml --wait && orrery logs train",
                    "wait for the end, then read what the first worker wrote"}}};
}

VerbSpec apply_spec() {
  return {.name = "apply",
          .operands = "FILE...",
          .operands_min = 1,
          .operands_max = -1,
          .summary = "bring jobs to what files say: submit what is new, change what differs",
          .details =
              "Says for each job what was done. Numbers of replicas, priority, labels, limits and "
              "deadlines change while\nthe job runs; a job that differs in more is left as it is, "
              "with the fields and what to do: exit code 1.\nWhat orrery scale has set counts as "
              "what the job is.",
          .options = with_client_options(
              {{.name = "--dry-run", .help = "say what would be done; change nothing"}, kJson}),
          .examples = {
              {"orrery apply jobs/*.yaml", "what a folder of job files asks for"},
              {"orrery apply train.yaml --dry-run", "how does the job differ from its file?"}}};
}

VerbSpec get_spec() {
  return {
      .name = "get",
      .operands = "[jobs|nodes|queues] [NAME...]",
      .operands_max = -1,
      .summary = "list jobs, nodes or queues",
      .details = "",
      .options =
          with_client_options({{.name = "--all",
                                .help = "also jobs whose name a newer one has, with their numbers",
                                .letter = "-a"},
                               {.name = "--names", .help = "print names only, one a line"},
                               kJson}),
      .examples = {{"orrery get", "all jobs, of each name the newest"},
                   {"orrery get train --all", "every run under this name that is still kept"},
                   {"orrery get nodes", "all nodes, with what they have and what is taken"},
                   {"orrery get queues", "who is entitled to what, holds it and has borrowed it"},
                   {"orrery get jobs train --json", "one job, for a script"}},
      .operand_kind = OperandKind::Job};
}

VerbSpec describe_spec() {
  return {.name = "describe",
          .operands = "JOB|node/NAME",
          .operands_min = 1,
          .operands_max = 1,
          .summary = "all that is known about one job or node",
          .details =
              "Of a job: phase and reason in words, roles, members with nodes and devices, "
              "conditions, profilings and\nthe latest events. Of a node: what it has, what is "
              "taken, and by which jobs.",
          .options = with_client_options({kJson}),
          .examples = {{"orrery describe train", "why does my job wait?"},
                       {"orrery describe node/gpu-7", "which workers run there?"}},
          .operand_kind = OperandKind::Job};
}

VerbSpec logs_spec() {
  return {.name = "logs",
          .operands = "JOB",
          .operands_min = 1,
          .operands_max = 1,
          .summary = "print what a worker of a job wrote",
          .details =
              "Without --rank it is rank 0, of the job or of --role. With --follow it goes on with "
              "the next worker\nwhere this one is started again, and over a restart of the "
              "controller, until the job is over.\nThe node keeps the logs of earlier starts until "
              "some time after the end of the job.",
          .options = with_client_options(
              {{.name = "--role", .value = "R", .help = "count ranks inside this role"},
               {.name = "--rank", .value = "N", .help = "the worker's rank (default: 0)"},
               {.name = "--all", .help = "of all workers, of the job or of --role"},
               {.name = "--previous", .help = "of the start before the present one"},
               kFollow,
               {.name = "--tail",
                .value = "N",
                .help = "only the last N lines, 100,000 and 256 KiB at most"},
               {.name = "--json", .help = "print one JSON document, with --follow one a line"}}),
          .examples = {{"orrery logs train -f", "rank 0, as it writes"},
                       {"orrery logs train --role actor --rank 3 --tail 20",
                        "the last lines of the fourth actor"},
                       {"orrery logs train --all -f", "every worker, a line at a time"},
                       {"orrery logs train --previous", "why was it started again?"}},
          .operand_kind = OperandKind::Job};
}

VerbSpec scale_spec() {
  return {.name = "scale",
          .operands = "JOB [ROLE=]N",
          .operands_min = 2,
          .operands_max = 2,
          .summary = "set how many replicas a job shall have",
          .details =
              "For a preemptible job N is an upper bound for the policy; for a fixed job it "
              "replaces the number.\nA number outside the job's bounds is refused, with the "
              "bounds.",
          .options = with_client_options({kJson}),
          .examples = {{"orrery scale train 4", "a job with one role"},
                       {"orrery scale train collector=16", "one role of several"}},
          .operand_kind = OperandKind::Job};
}

VerbSpec stop_spec() {
  return {.name = "stop",
          .operands = "JOB...",
          .operands_min = 1,
          .operands_max = -1,
          .summary = "stop jobs: their workers are asked to end, then killed",
          .details =
              "A stopped job is Failed with reason StoppedByUser, and can be looked at until "
              "it is deleted.",
          .options = with_client_options({kJson}),
          .examples = {{"orrery stop train", "end one job"}},
          .operand_kind = OperandKind::Job};
}

VerbSpec delete_spec() {
  return {.name = "delete",
          .operands = "JOB...",
          .operands_min = 1,
          .operands_max = -1,
          .summary = "stop jobs and forget them; their logs go within an hour",
          .details = "",
          .options = with_client_options({kJson}),
          .examples = {{"orrery delete train", "the name is free again"}},
          .operand_kind = OperandKind::Job};
}

VerbSpec exclude_spec() {
  return {.name = "exclude",
          .operands = "NODE...",
          .operands_min = 1,
          .operands_max = -1,
          .summary = "give nodes no new workers; what runs there goes on",
          .details =
              "For maintenance, and for a node that breaks again and again. It needs the rights of "
              "an administrator.\norrery describe node/NODE says which jobs still run there; "
              "orrery include lets the node in again.",
          .options = with_client_options({kJson}),
          .examples = {{"orrery exclude gpu-7 gpu-8", "before these two are switched off"}},
          .operand_kind = OperandKind::Node};
}

VerbSpec include_spec() {
  return {.name = "include",
          .operands = "NODE...",
          .operands_min = 1,
          .operands_max = -1,
          .summary = "let nodes that were excluded have workers again",
          .details =
              "Whoever excluded them: a user, as nodes that broke too often, or for a worker that "
              "would not end.",
          .options = with_client_options({kJson}),
          .examples = {{"orrery include gpu-7", "it was repaired"}},
          .operand_kind = OperandKind::Node};
}

VerbSpec forecast_spec() {
  return {
      .name = "forecast",
      .operands = "[JOB|FILE]",
      .operands_min = 0,
      .operands_max = 1,
      .summary = "tell when jobs will start and end, and whom a job would delay",
      .details =
          "A copy of the controller's state goes on in world model, in a process of its own, with "
          "the policy that it has:\nwhen a job starts, where, when it ends, and, by a second run "
          "without it, whose end it delays. FILE is a job\nthat is not submitted, - one on "
          "standard input; without an operand all jobs are told of that wait or run.\nNothing but "
          "the state is read: how long jobs still run is what they report, else what was stated, "
          "else the median of "
          "those that ended.\nWith --journal no controller is asked: the last state of its journal "
          "is, also while it is written.\nExit code 1: the job would be refused, or can never "
          "fit.",
      .options = with_client_options(
          {{.name = "--runs",
            .value = "N",
            .help = "run N times with times drawn as the jobs of the state make them likely, and "
                    "tell quantiles (default: 1)"},
           {.name = "--arrivals",
            .value = "A",
            .help = "jobs that arrive meanwhile: none, or as they did recently (default: none)",
            .choices = {"none", "recent"}},
           {.name = "--seed", .value = "N", .help = "of what is drawn (default: 1)"},
           {.name = "--journal",
            .value = "FILE",
            .help = "ask the last state of this journal, not a controller",
            .takes_path = true},
           {.name = "--set",
            .value = "path=value",
            .help = "with --journal: a parameter of the policy, policy.NAME=value, which a journal "
                    "does not hold; else a value of FILE",
            .repeatable = true},
           kJson}),
      .examples = {{"orrery forecast train", "when will it start?"},
                   {"orrery forecast train.yaml", "and if I submitted this?"},
                   {"orrery forecast train --runs 20 --arrivals recent", "how sure is that?"},
                   {"orrery forecast train --journal state/journal.db", "from a journal alone"},
                   {"orrery forecast --journal state/journal.db --json",
                    "all that wait or run, for a script"}},
      .operand_kind = OperandKind::Job};
}

VerbSpec accuracy_spec() {
  return {.name = "accuracy",
          .operands = "",
          .summary = "how right the forecasts of this controller were",
          .details =
              "Of each job that had to wait, the controller keeps when its first forecast said "
              "that it would start, and\nwhen it did. The error is the difference over the time "
              "that it waited, a minute at least.",
          .options = with_client_options({kJson}),
          .examples = {{"orrery accuracy", "may I believe orrery forecast?"}}};
}

VerbSpec events_spec() {
  return {
      .name = "events",
      .operands = "",
      .summary = "what was decided and what happened, in words",
      .details =
          "A controller keeps the last 4,096 events of its life. The latest 1,000 are listed; with "
          "--follow the\nlatest 20 come first. orrery history knows what ended in earlier lives.",
      .options = with_client_options(
          {kFollow,
           {.name = "--job", .value = "JOB", .help = "only of this job"},
           {.name = "--since",
            .value = "TIME",
            .help = "all from then on that are kept: 10min, 2h, 2026-11-22T10:30:00Z"},
           {.name = "--json", .help = "print one JSON document, with --follow one on each line"}}),
      .examples = {{"orrery events -f", "as it happens"},
                   {"orrery events --job train", "one job's story"},
                   {"orrery events --since 10min", "what happened lately"}}};
}

VerbSpec top_spec() {
  return {.name = "top",
          .operands = "",
          .summary = "nodes and jobs at a glance, refreshed on a terminal",
          .details = "Once where standard output is no terminal.",
          .options = with_client_options({kJson}),
          .examples = {{"orrery top", "until Ctrl-C"}, {"orrery top | head", "once"}}};
}

std::vector<Verb> node_verbs_run_beside() {
  std::vector<Verb> out;
  for (VerbSpec (*spec)() : {up_spec,
                             controller_spec,
                             agent_spec,
                             run_spec,
                             submit_spec,
                             apply_spec,
                             get_spec,
                             describe_spec,
                             logs_spec,
                             scale_spec,
                             stop_spec,
                             delete_spec,
                             exclude_spec,
                             include_spec,
                             events_spec,
                             top_spec,
                             accuracy_spec,
                             certs_init_spec,
                             certs_controller_spec,
                             certs_agent_spec,
                             certs_user_spec,
                             certs_admin_spec,
                             certs_token_spec,
                             certs_show_spec})
    out.push_back({.spec = spec()});
  return out;
}

}  // namespace orrery::cli
