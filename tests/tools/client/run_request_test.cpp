// The command line of `orrery run`, up to the job file that it comes to.
#include "tools/client/run_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/job/spec.hpp"
#include "scenarios/language/jobs/job_file.hpp"
#include "tools/client/run_output.hpp"
#include "tools/client/run_plan.hpp"
#include "tools/console/help.hpp"
#include "tools/node_verbs/specs.hpp"

namespace orrery::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

Caller caller() {
  return {.folder = "/srv/ddp",
          .check_program = "/opt/bin/orrery-check",
          .variable = [](const std::string& name) -> std::optional<std::string> {
            if (name == "SEED") return "17";
            return std::nullopt;
          }};
}

Result<RunRequest> read(const Words& words, const Caller& from = caller()) {
  const auto arguments = parse_arguments(run_spec(), words);
  if (!arguments) return arguments.errors();
  return run_request(*arguments, from);
}

RunRequest request(const Words& words) {
  const auto read_request = read(words);
  EXPECT_TRUE(read_request) << (read_request ? "" : read_request.errors().front().text());
  return read_request ? *read_request : RunRequest{};
}

std::vector<std::string> texts(const Errors& errors) {
  std::vector<std::string> out;
  for (const Error& error : errors) out.push_back(error.text());
  return out;
}

std::vector<std::string> errors_of(const Words& words) {
  const auto read_request = read(words);
  return read_request ? std::vector<std::string>{} : texts(read_request.errors());
}

std::vector<NodeFacts> nodes_of(std::vector<std::int32_t> devices) {
  std::vector<NodeFacts> out;
  for (const std::int32_t count : devices)
    out.push_back({.devices = count, .cpu_millis = 8000, .memory_bytes = std::int64_t{64} << 30});
  return out;
}

std::string job_file(const Words& words,
                     const std::vector<NodeFacts>& nodes,
                     ShareRule rule = ShareRule::JobFile) {
  const RunRequest asked = request(words);
  const auto plan = run_plan(asked, nodes, rule);
  EXPECT_TRUE(plan) << (plan ? "" : plan.errors().front().text());
  if (!plan) return "";
  std::string text = run_job_file(asked, *plan);
  const auto jobs = scenarios::parse_job_file(text, "run");
  EXPECT_TRUE(jobs) << text << (jobs ? "" : jobs.errors().front().text());
  return text;
}

std::string plan_error(const Words& words, const std::vector<NodeFacts>& nodes) {
  const auto plan = run_plan(request(words), nodes, ShareRule::JobFile);
  return plan ? "" : plan.errors().front().text();
}

TEST(RunRequest, FixedSizesKeepTheProcessesOfANodeTogether) {
  EXPECT_EQ(job_file({"--nnodes",
                      "2",
                      "--nproc_per_node=4",
                      "--max-restarts",
                      "3",
                      "train.py",
                      "--lr",
                      "0.1",
                      "--nnodes",
                      "9",
                      "-m"},
                     nodes_of({8, 8})),
            "name: train\n"
            "family: torch\n"
            "recovery: job\n"
            "backoff_limit: 3\n"
            "virtual_clusters:\n"
            "  nodes: {nodes: 2, bundles_per_node: 4, devices_per_bundle: 1, "
            "strategy: strict_spread}\n"
            "roles:\n"
            "  default:\n"
            "    virtual_cluster: nodes\n"
            "    working_directory: \"/srv/ddp\"\n"
            "    command: [\"python3\", \"-u\", \"train.py\", \"--lr\", \"0.1\", \"--nnodes\", "
            "\"9\", \"-m\"]\n"
            "    env:\n"
            "      OMP_NUM_THREADS: \"1\"\n");
}

TEST(RunRequest, ARangeOfNodesIsARangeOfProcesses) {
  EXPECT_EQ(job_file({"--nnodes=1:4",
                      "--nproc-per-node",
                      "2",
                      "--devices-per-proc",
                      "0",
                      "--cpus-per-proc",
                      "500m",
                      "--memory-per-proc",
                      "1GiB",
                      "--priority",
                      "high",
                      "--group",
                      "team: \"a\"",
                      "--role",
                      "trainer",
                      "--env",
                      "SEED",
                      "--env",
                      "TEXT=a \"b\": #c",
                      "--env",
                      "OMP_NUM_THREADS=8",
                      "./solver"},
                     nodes_of({8})),
            "name: solver\n"
            "family: torch\n"
            "priority: high\n"
            "group: \"team: \\\"a\\\"\"\n"
            "recovery: job\n"
            "backoff_limit: 0\n"
            "roles:\n"
            "  trainer:\n"
            "    replicas: {min: 2, max: 8}\n"
            "    devices: 0\n"
            "    cpu: 500m\n"
            "    memory: 1GiB\n"
            "    working_directory: \"/srv/ddp\"\n"
            "    command: [\"./solver\"]\n"
            "    env:\n"
            "      SEED: \"17\"\n"
            "      TEXT: \"a \\\"b\\\": #c\"\n"
            "      OMP_NUM_THREADS: \"8\"\n");
}

TEST(RunRequest, APairOfEqualNumbersIsNoRange) {
  EXPECT_FALSE(request({"--nnodes", "2:2", "train.py"}).is_elastic());
  EXPECT_TRUE(request({"--nnodes", "2:3", "train.py"}).is_elastic());
}

TEST(RunRequest, OneProcessOfANodeMayUseAllThreads) {
  EXPECT_THAT(job_file({"train.py"}, {}), Not(HasSubstr("OMP_NUM_THREADS")));
}

TEST(RunRequest, CommandsRunAsTorchrunRunsThem) {
  EXPECT_THAT(request({"src/train.py", "x"}).command,
              ElementsAre("python3", "-u", "src/train.py", "x"));
  EXPECT_THAT(request({"-m", "project.train", "-m"}).command,
              ElementsAre("python3", "-u", "-m", "project.train", "-m"));
  EXPECT_THAT(request({"--no-python", "train.py"}).command, ElementsAre("train.py"));
  EXPECT_THAT(request({"--", "bash", "-c", "date", "--", "-h"}).command,
              ElementsAre("bash", "-c", "date", "--", "-h"));
  Caller with_python = caller();
  with_python.variable = [](const std::string& name) -> std::optional<std::string> {
    if (name == "PYTHON_EXEC") return "/opt/env/bin/python";
    return std::nullopt;
  };
  EXPECT_THAT(read({"train.py"}, with_python)->command,
              ElementsAre("/opt/env/bin/python", "-u", "train.py"));
}

TEST(RunRequest, TheCheckOfNodesRunsBeforeTheCommand) {
  const auto command = [](Words words, std::vector<NodeFacts> nodes) {
    words.insert(words.end(), {"--node-check", "train.py", "--node-check"});
    const RunRequest asked = request(words);
    const auto plan = run_plan(asked, nodes, ShareRule::JobFile);
    EXPECT_TRUE(plan);
    const std::string file = run_job_file(asked, *plan);
    const std::size_t begin = file.find("command: ");
    return file.substr(begin, file.find('\n', begin) - begin);
  };
  EXPECT_EQ(command({}, nodes_of({0})),
            R"(command: ["orrery-check", "--", "python3", "-u", "train.py", "--node-check"])");
  EXPECT_EQ(command({}, nodes_of({8})),
            R"(command: ["orrery-check-cuda", "--", "python3", "-u", "train.py", "--node-check"])");
  EXPECT_EQ(
      command({"--standalone"}, nodes_of({0})),
      R"(command: ["/opt/bin/orrery-check", "--", "python3", "-u", "train.py", "--node-check"])");
  EXPECT_THAT(request({"train.py", "--node-check"}).check_program, IsEmpty())
      << "what stands behind the script is its own";
}

TEST(RunRequest, TheScriptNamesTheJob) {
  EXPECT_EQ(request({"src/Train_DDP.v2.py"}).name, "train-ddp-v2");
  EXPECT_EQ(request({"-m", "project.train"}).name, "train");
  EXPECT_EQ(request({"-m", "project.__main__"}).name, "project");
  EXPECT_EQ(request({"/usr/bin/env"}).name, "env");
  EXPECT_EQ(request({"--no-python", "./..."}).name, "run");
  EXPECT_TRUE(request({"train.py"}).name_is_free);
  EXPECT_EQ(request({"--name", "rl.walker", "train.py"}).name, "rl.walker");
  EXPECT_FALSE(request({"--name", "walker", "train.py"}).name_is_free);
  const RunRequest by_id = request({"--rdzv_id", "Job_17", "train.py"});
  EXPECT_EQ(by_id.name, "job-17");
  EXPECT_FALSE(by_id.name_is_free);
  EXPECT_THAT(by_id.notes, ElementsAre("--rdzv-id: the job is called job-17"));
  EXPECT_TRUE(request({"--rdzv-id=none", "train.py"}).name_is_free);
}

TEST(RunRequest, WhatTorchrunTakesIsTakenWithAWord) {
  const RunRequest asked = request({"--rdzv_backend",
                                    "c10d",
                                    "--rdzv-endpoint=host:29400",
                                    "--master_port",
                                    "29500",
                                    "--node_rank",
                                    "0",
                                    "--start-method",
                                    "spawn",
                                    "-r",
                                    "3",
                                    "-t",
                                    "3",
                                    "train.py"});
  EXPECT_THAT(
      asked.notes,
      ElementsAre("--rdzv-backend, --rdzv-endpoint, --master-port mean nothing here: the "
                  "controller tells every rank where rank 0 listens",
                  "--node-rank means nothing here: the controller gives the nodes their ranks",
                  "--start-method means nothing here: the agents of the nodes start and watch the "
                  "processes",
                  "--redirects, --tee mean nothing here: what ranks write is printed here, and "
                  "orrery logs prints what their nodes keep"));
}

TEST(RunRequest, EveryUnlistedOptionHasAWord) {
  for (const OptionSpec& option : run_spec().options) {
    if (!option.unlisted) continue;
    Words words{std::string(option.name)};
    if (!option.value.empty()) words.emplace_back("0");
    words.emplace_back("train.py");
    EXPECT_THAT(request(words).notes, ElementsAre(HasSubstr(option.name)));
  }
}

TEST(RunRequest, HelpShowsWhatMeansSomething) {
  const std::string help = verb_help(run_spec());
  EXPECT_THAT(help, HasSubstr("--nproc-per-node M"));
  EXPECT_THAT(help, Not(HasSubstr("--start-method")));
  EXPECT_THAT(help, HasSubstr("usage: orrery run [--nnodes N|MIN:MAX]"));
  EXPECT_THAT(help, HasSubstr(" SCRIPT|CMD [args...]\n"));
}

TEST(RunRequest, EverythingThatIsUnfitIsToldAtOnce) {
  EXPECT_THAT(
      errors_of({"--node-rank",
                 "1",
                 "--nnodes",
                 "4:2",
                 "--nproc-per-node",
                 "xpu",
                 "--devices-per-proc",
                 "65",
                 "--cpus-per-proc",
                 "many",
                 "--memory-per-proc",
                 "16",
                 "--max-restarts",
                 "-1",
                 "-m",
                 "--no-python",
                 "--name",
                 "My_Job",
                 "--rdzv-id",
                 "7",
                 "--role",
                 "Trainer",
                 "--priority",
                 "9urgent",
                 "--env",
                 "1A=2",
                 "--env",
                 "ABSENT",
                 "--env",
                 "SEED",
                 "--env",
                 "SEED=2",
                 "--ranks",
                 "a",
                 "--local-ranks-filter",
                 "0",
                 "--set",
                 "novalue",
                 "--ports",
                 "1-2",
                 "train.py"}),
      ElementsAre(
          HasSubstr("--node-rank: \"1\" found, but this command is given once for all nodes"),
          HasSubstr("--nnodes: \"4:2\" found, needed a number of nodes from 1 to 65536"),
          HasSubstr("--nproc-per-node: \"xpu\" found, needed processes of a node"),
          HasSubstr("--devices-per-proc: \"65\" found, needed a whole number from 0 to 64"),
          HasSubstr("--cpus-per-proc: \"many\" found, needed cores of a process"),
          HasSubstr("--memory-per-proc: \"16\" found, needed memory of a process with its unit"),
          HasSubstr("--max-restarts: \"-1\" found, needed a whole number"),
          HasSubstr("--module: found beside --no-python"),
          HasSubstr("--name: found beside --rdzv-id"),
          HasSubstr("--name: \"My_Job\" found, needed 1 to 63 of a-z, 0-9 and -"),
          HasSubstr("--role: \"Trainer\" found"),
          HasSubstr(
              "--priority: \"9urgent\" found, needed normal, high, a class of the controller"),
          HasSubstr("--env: \"1A=2\" found, needed NAME=value"),
          HasSubstr("--env: ABSENT is not set here, a value is needed; write ABSENT=value"),
          HasSubstr("--env: SEED twice, needed once"),
          HasSubstr("--ranks: \"a\" found, needed a whole number"),
          HasSubstr("--ranks: found beside --local-ranks-filter"),
          HasSubstr("novalue"),
          HasSubstr("--ports: found without --standalone")));
}

TEST(RunRequest, WhatContradictsItselfIsRefused) {
  EXPECT_THAT(errors_of({"--standalone", "--detach", "--server", "unix:/a", "train.py"}),
              ElementsAre(HasSubstr("--detach: found beside --standalone"),
                          HasSubstr("--server: found beside --standalone")));
  EXPECT_THAT(errors_of({"--nproc-per-node", "gpu", "--devices-per-proc", "0", "train.py"}),
              ElementsAre(HasSubstr("0 found beside --nproc-per-node gpu")));
  EXPECT_THAT(errors_of({"--nnodes", "1:2", "--local-ranks-filter", "0", "train.py"}),
              ElementsAre(HasSubstr("found with a range of --nnodes")));
  EXPECT_THAT(errors_of({"--nproc-per-node", "2", "--ranks", "1,2", "train.py"}),
              ElementsAre("orrery run: --ranks: 2 found, but the job has 2 processes at most, "
                          "counted from 0; write 0 to 1, or leave it out"));
  EXPECT_THAT(errors_of({"--nnodes", "1:2", "--ranks", "0,1,2", "train.py"}),
              ElementsAre(HasSubstr("--ranks: 2 found, but the job has 2 processes at most")));
  EXPECT_THAT(errors_of({"--nnodes", "2", "--local-ranks-filter", "1", "train.py"}),
              ElementsAre("orrery run: --local-ranks-filter: 1 found, but a node has 1 process at "
                          "most, counted from 0; write 0, or leave it out"));
  // Of what is refused itself, or known to the cluster alone, there is no number to hold it to.
  EXPECT_THAT(errors_of({"--nnodes", "none", "--ranks", "7", "train.py"}),
              ElementsAre(HasSubstr("--nnodes")));
  EXPECT_THAT(errors_of({"--nproc-per-node", "gpu", "--ranks", "7", "train.py"}), ElementsAre());
  EXPECT_THAT(errors_of({"--nnodes", "2"}),
              ElementsAre("orrery run: 0 operands, needed SCRIPT|CMD [args...]; usage: orrery run "
                          "[options] SCRIPT|CMD [args...]"));
  Caller nowhere = caller();
  nowhere.folder.clear();
  EXPECT_THAT(read({"train.py"}, nowhere).errors().front().text(),
              HasSubstr("the present folder is gone"));
}

TEST(RunPlan, ProcessesOfANodeAreCountedByWhatItHas) {
  const auto per_node = [](const char* word, const std::vector<NodeFacts>& nodes) {
    const auto plan =
        run_plan(request({"--nproc-per-node", word, "train.py"}), nodes, ShareRule::JobFile);
    return plan ? std::pair(plan->per_node, plan->devices) : std::pair(0, 0);
  };
  EXPECT_EQ(per_node("gpu", nodes_of({4, 0, 4})), std::pair(4, 1));
  EXPECT_EQ(per_node("auto", nodes_of({4, 4})), std::pair(4, 1));
  EXPECT_EQ(per_node("auto", nodes_of({0, 0})), std::pair(8, 0));
  EXPECT_EQ(per_node("cpu", nodes_of({4, 4})), std::pair(8, 0));
  EXPECT_EQ(per_node("3", nodes_of({0, 4})), std::pair(3, 1));
  EXPECT_EQ(per_node("3", {}), std::pair(3, 0));
  const auto halves =
      run_plan(request({"--nproc-per-node", "gpu", "--devices-per-proc", "2", "train.py"}),
               nodes_of({8}),
               ShareRule::JobFile);
  EXPECT_EQ(halves->per_node, 4);
}

TEST(RunPlan, DevicesAreTakenWhereEnoughNodesHaveThem) {
  const auto one_of_two =
      run_plan(request({"--nnodes", "2", "train.py"}), nodes_of({4, 0}), ShareRule::JobFile);
  EXPECT_EQ(one_of_two->devices, 0);
  EXPECT_TRUE(one_of_two->leaves_devices);
  const auto elastic =
      run_plan(request({"--nnodes", "1:2", "train.py"}), nodes_of({4, 0}), ShareRule::JobFile);
  EXPECT_EQ(elastic->devices, 1);
  EXPECT_FALSE(elastic->leaves_devices);
}

TEST(RunPlan, NodesThatDoNotSayItAreTold) {
  EXPECT_THAT(plan_error({"--nproc-per-node", "gpu", "train.py"}, nodes_of({0, 0})),
              HasSubstr("no node with devices found"));
  EXPECT_THAT(plan_error({"--nproc-per-node", "gpu", "train.py"}, nodes_of({4, 8})),
              HasSubstr("nodes with 4 to 8 devices found, needed the same number on each"));
  EXPECT_THAT(plan_error({"--nproc-per-node", "auto", "train.py"}, {}),
              HasSubstr("no node with cores found"));
  EXPECT_THAT(
      plan_error({"--nproc-per-node", "gpu", "--devices-per-proc", "8", "train.py"}, nodes_of({4})),
      HasSubstr("8 found, but a node has 4 devices"));
}

TEST(RunPlan, ProcessesOfAClusterOfTheirOwnShareItsNodes) {
  const std::string text =
      job_file({"--nproc-per-node", "3", "train.py"}, nodes_of({0}), ShareRule::WholeNode);
  EXPECT_THAT(text, HasSubstr("    cpu: 2666m\n    memory: 21845MiB\n"));
  EXPECT_THAT(job_file({"--cpus-per-proc", "1", "--memory-per-proc", "1GiB", "train.py"},
                       nodes_of({0}),
                       ShareRule::WholeNode),
              HasSubstr("    cpu: 1\n    memory: 1GiB\n"));
}

TEST(RunPlan, ANameThatYamlTakesForNothingIsAName) {
  const std::string file =
      job_file({"--role", "null", "--env", "NULL=x", "null.py"}, nodes_of({0}));
  const auto jobs = scenarios::parse_job_file(file, "run");
  ASSERT_TRUE(jobs) << file;
  EXPECT_EQ(jobs->jobs.front().name, "default.null");
  EXPECT_EQ(jobs->jobs.front().roles.front().name, "null");
  EXPECT_THAT(file, HasSubstr("\"NULL\": \"x\""));
}

TEST(RunPlan, TheJobIsWhatItsFileSays) {
  const auto jobs = scenarios::parse_job_file(
      job_file({"--nnodes", "2", "--nproc-per-node", "4", "--max-restarts", "2", "train.py"},
               nodes_of({4, 4})),
      "run");
  ASSERT_TRUE(jobs);
  const JobSpec& job = jobs->jobs.front();
  EXPECT_EQ(job.name, "default.train");
  EXPECT_EQ(job.roles.front().min_replicas, 8);
  EXPECT_EQ(job.roles.front().max_replicas, 8);
  EXPECT_FALSE(job.preemptible);
}

TEST(RunView, RanksAreChosenInTheJobOrOnTheirNode) {
  RunView view{.per_node = 4};
  EXPECT_TRUE(view.shows(7));
  view.filter.local_ranks = {0, 3};
  EXPECT_TRUE(view.shows(7));
  EXPECT_FALSE(view.shows(6));
  view.filter = {.ranks = {6}};
  EXPECT_TRUE(view.shows(6));
  EXPECT_FALSE(view.shows(7));
}

}  // namespace
}  // namespace orrery::cli
