// Files of jobs for a controller: our own form in one document or several, and JSON.
#include "scenarios/language/jobs/job_file.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "scenarios/language/yaml/reading.hpp"
#include "tests/scenarios/language/job_files.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::scenarios {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(JobFile, OneDocumentIsAJob) {
  const JobSpec spec = read_job(R"(
name: train
labels: {team: vision}
devices: 2
command: [python3, train.py]
env: {SEED: 7}
working_directory: /srv/train
image: docker.io/library/python:3.12
isolation: {key: torch-2, prepare: [./make_env], interpreter: bin/python, deadline: 5min}
estimate: 2h
)");
  EXPECT_EQ(spec.name, "default.train");
  EXPECT_THAT(spec.labels, ElementsAre(KeyValue{"team", "vision"}));
  EXPECT_EQ(spec.estimate_source, EstimateSource::Declared);
  ASSERT_EQ(spec.roles.size(), 1U);
  const RoleSpec& role = spec.roles[0];
  EXPECT_EQ(role.bundle.devices, 2);
  EXPECT_THAT(role.command, ElementsAre("python3", "train.py"));
  EXPECT_EQ(role.working_directory, "/srv/train");
  EXPECT_EQ(role.image, "docker.io/library/python:3.12");
  EXPECT_EQ(role.isolation.key, "torch-2");
  EXPECT_THAT(role.isolation.prepare, ElementsAre("./make_env"));
  EXPECT_EQ(role.isolation.interpreter, "bin/python");
  EXPECT_EQ(role.isolation.prepare_deadline, Duration::seconds(300));
}

TEST(JobFile, RolesSayForThemselvesWhatTheyRunIn) {
  const JobSpec spec = read_job(R"(
name: rl
roles:
  learner:
    command: exec ./learn
    isolation: {key: new, prepare: make new, interpreter: bin/python}
    sub_master: {command: [./lead], env: {LEADS: learner}}
  collector: {command: [./collect], isolation: {key: old}, completion: follower}
)");
  ASSERT_EQ(spec.roles.size(), 3U);
  EXPECT_THAT(spec.roles[0].command, ElementsAre("/bin/sh", "-c", "exec ./learn"));
  EXPECT_THAT(spec.roles[0].isolation.prepare, ElementsAre("/bin/sh", "-c", "make new"));
  EXPECT_EQ(spec.roles[1].isolation.key, "old");
  EXPECT_THAT(spec.roles[1].isolation.prepare, IsEmpty()) << "the folder exists already";
  EXPECT_EQ(spec.roles[2].name, "learner-master");
  EXPECT_THAT(spec.roles[2].command, ElementsAre("./lead"));
  EXPECT_THAT(spec.roles[2].environment, ElementsAre(KeyValue{"LEADS", "learner"}));
}

TEST(JobFile, DocumentsListsAndJsonHoldSeveral) {
  const std::string documents = R"(---
name: a
command: [x]
---
# nothing but words
---
jobs:
  - {name: b, command: &c [y]}
  - {name: other.a, command: *c}
---
{"name": "c", "command": ["z"], "replicas": {"min": 1, "max": 4}}
)";
  const auto file = parse_job_file(documents, "jobs.yaml");
  ASSERT_TRUE(file) << testing::PrintToString(job_file_errors(documents));
  std::vector<std::string> names;
  for (const JobSpec& job : file->jobs) names.push_back(job.name);
  EXPECT_THAT(names, ElementsAre("default.a", "default.b", "other.a", "default.c"));
  EXPECT_TRUE(file->jobs[3].preemptible);
  EXPECT_THAT(file->warnings, IsEmpty());
}

TEST(JobFile, AVariableThatIsComputedIsToldByName) {
  const auto file = parse_job_file(
      "name: a\nfamily: torch\nroles:\n  m:\n    command: [x]\n    env: {RANK: '7', COLOUR: green, "
      "ORRERY_RANK: '9'}\n",
      "jobs.yaml");
  ASSERT_TRUE(file);
  EXPECT_THAT(texts_of(file->warnings),
              ElementsAre("jobs.yaml:4: default.a: role m: env sets RANK, which identifies a "
                          "worker and is computed; leave it out",
                          "jobs.yaml:4: default.a: role m: env sets ORRERY_RANK, which identifies "
                          "a worker and is computed; leave it out"));
}

TEST(JobFile, ACommandNamesAProgram) {
  for (const char* command : {"\"\"", "' '", "[\"\"]", "['  ', x]"}) {
    EXPECT_THAT(job_file_errors("name: a\ncommand: " + std::string(command) + "\n"),
                ElementsAre("jobs.yaml:2: job a: command: names no program, one is needed; write "
                            "for example command: [python3, train.py]"));
  }
  EXPECT_THAT(job_file_errors("name: a\nroles:\n  m: {command: [x], sub_master: {command: ''}}\n"),
              ElementsAre(StartsWith("jobs.yaml:3: job a: roles.m.sub_master.command: names no")));
}

TEST(JobFile, AnAnchorOfAnotherDocumentIsUnknown) {
  EXPECT_THAT(job_file_errors("name: a\ncommand: &c [x]\n---\nname: b\ncommand: *c\n"),
              ElementsAre(StartsWith("jobs.yaml:5: YAML: ")));
}

TEST(JobFile, AllErrorsComeAtOnceWithTheirLines) {
  EXPECT_THAT(job_file_errors(R"(name: a
command: [x]
replica: 2
---
name: b
work: 300s
at: 5s
ready_after: 1s
hello_after: never
workers: [{rank: 0}]
estimate: oracle
---
name: a
command: [x]
labels: {-bad: "no spaces"}
working_directory: ../elsewhere
image: --privileged
isolation: {interpreter: bin/python}
---
- name: c
---
jobs: []
)"),
              ElementsAre("jobs.yaml:3: job a: replica: is no key here, the nearest is "
                          "'replicas'; rename or remove it",
                          AllOf(StartsWith("jobs.yaml:5: default.b: role worker: has no command"),
                                HasSubstr("write command: [python3, train.py]")),
                          StartsWith("jobs.yaml:6: job b: work: is for simulators"),
                          StartsWith("jobs.yaml:7: job b: at: is for simulators"),
                          StartsWith("jobs.yaml:8: job b: ready_after: is for simulators"),
                          StartsWith("jobs.yaml:9: job b: hello_after: is for simulators"),
                          StartsWith("jobs.yaml:10: job b: workers: is for simulators"),
                          StartsWith("jobs.yaml:11: job b: estimate: is oracle"),
                          StartsWith("jobs.yaml:13: default.a: role worker: working_directory is "
                                     "'../elsewhere'"),
                          StartsWith("jobs.yaml:13: default.a: role worker: image is"),
                          StartsWith("jobs.yaml:13: default.a: a label is called '-bad'"),
                          StartsWith("jobs.yaml:13: default.a: label -bad is 'no spaces'"),
                          StartsWith("jobs.yaml:13: job default.a: has the name of the job at "
                                     "jobs.yaml:1"),
                          StartsWith("jobs.yaml:18: job a: isolation.key: is missing"),
                          StartsWith("jobs.yaml:20: jobs[3]: is a list, a map"),
                          StartsWith("jobs.yaml:22: jobs: has no job")));
}

TEST(JobFile, OneKeyIsPreparedInOneWay) {
  EXPECT_THAT(job_file_errors(R"(
name: rl
roles:
  a: {command: [x], isolation: {key: k, prepare: [one]}}
  b: {command: [x], isolation: {key: k, prepare: [other]}}
  c: {command: [x], isolation: {key: ../k, deadline: 0s}}
)"),
              ElementsAre(AllOf(StartsWith("jobs.yaml:5: default.rl: role b: isolation.key is 'k'"),
                                HasSubstr("role a, which prepares it otherwise")),
                          StartsWith("jobs.yaml:6: default.rl: role c: isolation.key is '../k'"),
                          StartsWith("jobs.yaml:6: default.rl: role c: isolation.deadline is 0")));
}

TEST(JobFile, ProcessesAreShownWhatTheRoleSays) {
  const JobSpec spec = read_job(R"(
name: rl
command: [python3, main.py]
group_name: ActorGroup
isolate_devices: false
on_nodes:
  - {nodes: [0-1, 4], env: {A: b}, interpreter: /opt/bin/python}
  - {nodes: 2, node_group: generate}
)");
  const ProcessSpec& process = *spec.roles.at(0).process;
  EXPECT_EQ(process.group_name, "ActorGroup");
  EXPECT_FALSE(process.isolate_devices);
  ASSERT_NE(process.program_of(4, 0), nullptr);
  EXPECT_THAT(process.program_of(4, 0)->environment, ElementsAre(KeyValue{"A", "b"}));
  EXPECT_EQ(process.program_of(1, 0)->interpreter, "/opt/bin/python");
  EXPECT_EQ(process.program_of(2, 0)->node_group, "generate");
  EXPECT_EQ(process.program_of(3, 0), nullptr);
  EXPECT_EQ(read_job("{name: a, command: [x], isolate_devices: true}").roles.at(0).process,
            RarePart<ProcessSpec>{});
}

TEST(JobFile, AnEntryOfOnNodesMayBeOfSomeRanks) {
  const JobSpec spec = read_job(R"(
name: rl
command: [x]
on_nodes:
  - {nodes: 1, node_group: all}
  - {nodes: [1, 2], ranks: 2-3, node_group: some, env: {A: b}}
)");
  const ProcessSpec& process = *spec.roles.at(0).process;
  EXPECT_EQ(process.program_of(1, 3)->node_group, "some");
  EXPECT_EQ(process.program_of(1, 1)->node_group, "all");
  EXPECT_EQ(process.program_of(2, 1), nullptr);
  EXPECT_THAT(job_file_errors("name: a\ncommand: [x]\n"
                              "on_nodes: [{nodes: 0, ranks: 0-3}, {nodes: 0-1, ranks: [3, 5]}]\n"),
              ElementsAre(HasSubstr("on_nodes has rank 3 on node 0 twice")));
}

TEST(JobFile, RangesOfOnNodesMayBeWide) {
  const auto errors_of = [](const std::string& entries) {
    return job_file_errors("name: a\ncommand: [x]\non_nodes: [" + entries + "]\n");
  };
  // Of 17 billion processes none is in memory.
  EXPECT_EQ(read_job("{name: a, command: [x], on_nodes: [{nodes: 0-131071, ranks: 0-131071}]}")
                .roles.at(0)
                .process->on_nodes.at(0)
                .ranks.size(),
            131'072U);
  EXPECT_THAT(errors_of("{nodes: 0-131071, ranks: 0-9}, {nodes: 70000, ranks: 9-12}"),
              ElementsAre(HasSubstr("on_nodes has rank 9 on node 70000 twice")));
  EXPECT_THAT(errors_of("{nodes: [3, 3], ranks: 1}"),
              ElementsAre(HasSubstr("on_nodes has rank 1 on node 3 twice")));
  std::string many;
  for (int entry = 0; entry < 40; ++entry) many += "{nodes: 0-131071, ranks: 0},";
  EXPECT_THAT(errors_of(many), Contains(HasSubstr("more than 4194304 numbers")));
  std::string mixed = "{nodes: 0-99, ranks: 1000-30999},";
  for (int node = 0; node < 100; node += 2)
    mixed += "{nodes: " + std::to_string(node) + ", ranks: " + std::to_string(node) + "},";
  EXPECT_THAT(errors_of(mixed), ElementsAre(HasSubstr("bring entries of neighbouring nodes")));
}

TEST(JobFile, ProcessesOfOneNodeByTwoGroupsHaveTheLabelOfTheirs) {
  NodeGroup first;
  first.name = "train";
  first.count = 2;
  first.devices = 2;
  first.hardware = {{"arm", 2}};
  const std::vector<NodeGroup> groups{first};
  JobFileOptions options;
  options.groups = groups;
  // Each node has two devices, by the first label, and two arms, by the second.
  const auto file = parse_job_file(
      "name: a\ncommand: [x]\ncpu: 0\nmemory: 0B\n"
      "placement: {node_group: 'train, arm', placement: 0-7}\n"
      "on_nodes: [{nodes: 1, env: {A: b}}]\n",
      "jobs.yaml",
      options);
  ASSERT_TRUE(file) << file.errors().front().text();
  const ProcessSpec& process = *file->jobs.at(0).roles.at(0).process;
  EXPECT_EQ(process.program_of(0, 1)->node_group, "train");
  EXPECT_EQ(process.program_of(0, 5)->node_group, "arm");
  EXPECT_EQ(process.program_of(1, 3)->node_group, "train");
  EXPECT_EQ(process.program_of(1, 6)->node_group, "arm");
  EXPECT_THAT(process.program_of(1, 6)->environment, ElementsAre(KeyValue{"A", "b"}));
  EXPECT_TRUE(process.program_of(0, 5)->environment.empty());
}

TEST(JobFile, WhatIsWrongWithItIsTold) {
  EXPECT_THAT(
      job_file_errors(R"(
name: rl
roles:
  a: {command: [./run], group_name: "a b", on_nodes: [{nodes: 0, interpreter: ../python}]}
  b: {command: [python, x], on_nodes: [{nodes: 0-3, env: {A: b}}, {nodes: [5, 3]}]}
  c: {command: [x], on_nodes: [{env: {A: b}}, {nodes: all}, {nodes: 200000}]}
)"),
      ElementsAre(
          StartsWith("jobs.yaml:4: default.rl: role a: group_name is 'a b'"),
          StartsWith("jobs.yaml:4: default.rl: role a: on_nodes.interpreter is '../python'"),
          StartsWith("jobs.yaml:4: default.rl: role a: on_nodes names an interpreter, but"),
          StartsWith("jobs.yaml:5: default.rl: role b: on_nodes has node 3 twice"),
          StartsWith("jobs.yaml:6: job rl: roles.c.on_nodes[0].nodes: is missing"),
          StartsWith("jobs.yaml:6: job rl: roles.c.on_nodes[1].nodes: is 'all'"),
          StartsWith("jobs.yaml:6: job rl: roles.c.on_nodes[2].nodes: is 200000")));
}

TEST(JobFile, ARoleOnSeveralGroupsHasTheLabelOfEachNode) {
  NodeGroup first;
  first.name = "train";
  first.count = 1;
  first.devices = 2;
  NodeGroup second = first;
  second.name = "generate";
  const std::vector<NodeGroup> groups{first, second};
  JobFileOptions options;
  options.groups = groups;
  const auto file = parse_job_file(
      "name: a\ncommand: [x]\ncpu: 0\nmemory: 0B\n"
      "placement: {node_group: 'train, generate', placement: 0-3}\n"
      "on_nodes: [{nodes: 0-1, env: {A: b}}]\n",
      "jobs.yaml",
      options);
  ASSERT_TRUE(file) << file.errors().front().text();
  const ProcessSpec& process = *file->jobs.at(0).roles.at(0).process;
  for (const auto& [node, label] : {std::pair{0, "train"}, {1, "generate"}}) {
    ASSERT_NE(process.program_of(node, 0), nullptr);
    EXPECT_EQ(process.program_of(node, 0)->node_group, label);
    EXPECT_THAT(process.program_of(node, 0)->environment, ElementsAre(KeyValue{"A", "b"}));
  }
}

TEST(JobFile, MayNameTheClassesOfItsController) {
  const std::string text = "name: a\ncommand: [x]\npriority: production\n";
  EXPECT_THAT(job_file_errors(text),
              ElementsAre(HasSubstr("jobs.yaml:3: job a: priority: is 'production', one of normal, "
                                    "high or a whole number")));
  const auto unjudged = parse_job_file(text, "jobs.yaml", {.other_priority_classes = true});
  ASSERT_TRUE(unjudged) << unjudged.errors().front().text();
  EXPECT_TRUE(unjudged->needs_priority_classes);
  EXPECT_EQ(unjudged->jobs.at(0).priority, 0);
  EXPECT_FALSE(parse_job_file(
      "name: a\ncommand: [x]\npriority: 1e9\n", "jobs.yaml", {.other_priority_classes = true}));
  JobFileOptions options;
  options.priority_classes = {{"production", 50}};
  const auto file = parse_job_file(text, "jobs.yaml", options);
  ASSERT_TRUE(file) << file.errors().front().text();
  EXPECT_EQ(file->jobs.at(0).priority, 50);
  EXPECT_FALSE(file->needs_priority_classes);
}

TEST(JobFile, ASubMasterNeedsAProgramToo) {
  EXPECT_THAT(job_file_errors("name: a\nroles:\n  w: {command: [x], sub_master: true}\n"),
              ElementsAre(AllOf(StartsWith("jobs.yaml:3: default.a: role w-master: has no command"),
                                HasSubstr("write sub_master: {command:"))));
}

TEST(JobFile, PlacementsNeedTheNodesThatTheyName) {
  const std::string text = "name: a\nroles:\n  w:\n    command: [x]\n    placement: \"0-1\"\n";
  const auto without_groups = parse_job_file(text, "jobs.yaml", {std::span<const NodeGroup>{}, {}});
  ASSERT_FALSE(without_groups);
  EXPECT_THAT(
      texts_of(without_groups.errors()),
      ElementsAre(StartsWith("jobs.yaml:5: job a: roles.w.placement: names devices of nodes")));
  NodeGroup group;
  group.name = "default";
  group.count = 1;
  group.devices = 2;
  const auto file = parse_job_file(text, "jobs.yaml", {std::span(&group, 1), {}});
  ASSERT_TRUE(file) << file.errors().front().text();
  EXPECT_EQ(file->jobs[0].roles[0].min_replicas, 2) << "one process on each device";
  EXPECT_FALSE(file->needs_cluster);
}

TEST(JobFile, WithoutAClusterOfPlacementsIsJudgedWhatHoldsForEveryOne) {
  const auto of = [](const std::string& keys) {
    return "name: a\ntake_turns: [[v, w]]\nroles:\n  v: {command: [x], placement: all}\n  w: "
           "{command: [x], " +
           keys + "}\n";
  };
  for (const char* keys : {"placement: \"0-7:0-3\"",
                           "placement: {node_group: a800, placement: \"0-1\"}",
                           "placement: all, replicas: 4",
                           "placement: \"99999\"",
                           "placements: {2: \"0-1\", 4: \"0-3\"}",
                           "placements: {2: \"0-1\", 4: \"0-3\"}, replicas: {min: 2, max: 4}"}) {
    const auto file = parse_job_file(of(keys), "jobs.yaml");
    ASSERT_TRUE(file) << keys << ": " << file.errors().front().text();
    EXPECT_TRUE(file->needs_cluster);
    EXPECT_EQ(file->jobs[0].roles[1].placements.empty(), false);
  }
  for (const auto& [keys, words] :
       {std::pair{"placement: \"3-1\"", "roles.w.placement: found"},
        {"placement: \"0-x\"", "roles.w.placement: found"},
        {"placement: \"0-2:0-1\"", "roles.w.placement: found"},
        {"placement: {node_group: a800}", "without placement"},
        {"placement: all, replicas: {min: 1, max: 4}", "roles.w.replicas: is 1 to 4"},
        {"placements: {2: \"0-1\", 4: \"0-3\"}, replicas: 3", "roles.w.replicas: is 3"}})
    EXPECT_THAT(job_file_errors(of(keys)), ElementsAre(HasSubstr(words))) << keys;
}

TEST(JobFile, ValuesAreReplacedFromTheCommandLine) {
  const std::vector<Override> overrides{{"command", "[y]"}, {"roles", "7"}};
  const auto broken = parse_job_file("name: a\ncommand: [x]\n", "jobs.yaml", {{}, overrides});
  ASSERT_FALSE(broken);
  EXPECT_THAT(texts_of(broken.errors()), Contains(StartsWith("--set roles=7: job a: roles: is")));
  const auto file =
      parse_job_file("name: a\ncommand: [x]\n", "jobs.yaml", {{}, {overrides.front()}});
  ASSERT_TRUE(file);
  EXPECT_THAT(file->jobs[0].roles[0].command, ElementsAre("y"));
  const auto two = parse_job_file("name: a\n---\nname: b\n", "jobs.yaml", {{}, overrides});
  ASSERT_FALSE(two);
  EXPECT_THAT(texts_of(two.errors()), Contains(HasSubstr("in a file of 2 documents")));
}

TEST(JobFile, EveryExampleIsSoundAndNeedsNoDevice) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ORRERY_SOURCE_ROOT) +
                                                               "/docs/examples/jobs")) {
    const auto file = parse_job_file(text_of_file(entry.path()), entry.path());
    ASSERT_TRUE(file) << file.errors().front().text();
    ++files;
    for (const JobSpec& job : file->jobs)
      for (const RoleSpec& role : job.roles)
        EXPECT_EQ(role.bundle.devices, 0) << entry.path() << ": role " << role.name;
  }
  EXPECT_GE(files, 4U);
}

TEST(JobFile, NothingInItIsAnErrorToo) {
  for (const char* text : {"", "---\n---\n", "# nothing\n"})
    EXPECT_THAT(job_file_errors(text), ElementsAre(HasSubstr("there is no job"))) << text;
}

TEST(JobFile, IsToldApartFromAScenario) {
  EXPECT_EQ(kind_of_file("name: a\ncommand: [x]\n"), FileKind::Jobs);
  EXPECT_EQ(kind_of_file("jobs: [{name: a}]\n"), FileKind::Jobs);
  EXPECT_EQ(kind_of_file("{kind: DIJob}\n"), FileKind::Jobs);
  EXPECT_EQ(kind_of_file("name: a\n---\nname: b\n"), FileKind::Jobs);
  EXPECT_EQ(kind_of_file("cluster: {nodes: 1}\njobs: [{name: a}]\n"), FileKind::Scenario);
  EXPECT_EQ(kind_of_file("name: a\npolicy: fifo\njobs: []\n"), FileKind::Scenario);
  EXPECT_EQ(kind_of_file(""), FileKind::Scenario);
  EXPECT_EQ(kind_of_file("- a\n"), FileKind::Scenario);
}

TEST(JobFile, WhatIsWrongWithItIsToldInABoundedNumberOfErrors) {
  std::string text = "name: a\ncommand: [x]\n";
  for (int i = 0; i < 1000; ++i) text += "unknown-" + std::to_string(i) + ": 1\n";
  const std::vector<std::string> errors = job_file_errors(text);
  EXPECT_EQ(errors.size(), kFindingsMax + 1);
  EXPECT_THAT(errors.back(), HasSubstr("900 more were found"));
}

TEST(JobFile, PartsThatAreComparedWithEachOtherAreBounded) {
  std::string text = "name: a\ncommand: [x]\n";
  for (int i = 0; i < 80'000; ++i) text += "unknown-" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(job_file_errors(text), ElementsAre(HasSubstr("has 80002 keys, at most 1024")));
  text = "jobs:\n- name: a\n  command: [x]\n  env:\n";
  for (int i = 0; i < 2000; ++i) text += "    N" + std::to_string(i) + ": v\n";
  EXPECT_THAT(job_file_errors(text), ElementsAre(HasSubstr("has 2000 keys, at most 1024")));
  text =
      "apiVersion: diengine.opendilab.org/v2alpha1\nkind: DIJob\nmetadata: {name: a}\nspec:\n  "
      "tasks:\n";
  for (int i = 0; i < 5000; ++i) text += "  - {type: learner}\n";
  EXPECT_THAT(job_file_errors(text), ElementsAre(HasSubstr("has 5000 items, at most 4096")));
  std::string jobs = "jobs:\n";
  for (int i = 0; i < 5000; ++i) jobs += "- {name: j" + std::to_string(i) + ", command: [x]}\n";
  const auto many = parse_job_file(jobs, "jobs.yaml");
  ASSERT_TRUE(many) << "jobs themselves may be many";
  EXPECT_EQ(many->jobs.size(), 5000u);
}

TEST(JobFile, VolumesThatNoAgentTakesAreRefused) {
  for (const char* volume : {"data",
                             "",
                             ":/x",
                             "a:../b",
                             "a:/b/..",
                             "c:/x:disk",
                             "/data:/x:ro",
                             "a::memory",
                             ".hidden:/x",
                             "some/where:/x"})
    EXPECT_THAT(
        job_file_errors("name: a\ncommand: [x]\nvolumes:\n  - \"" + std::string(volume) + "\"\n"),
        ElementsAre(
            AllOf(HasSubstr("jobs.yaml:4: "), HasSubstr("volumes"), HasSubstr("source:target"))))
        << volume;
  const JobSpec job = read_job(
      "name: a\ncommand: [x]\n"
      "volumes: [\"data:in\", \"/data:/mnt/..x\", \"shm:/dev/shm:memory\", \"unused:\"]\n");
  EXPECT_EQ(job.roles[0].volumes.size(), 4u);
}

TEST(JobFile, WordsThatNoProgramCanBeGivenAreRefused) {
  EXPECT_THAT(job_file_errors("name: a\ncommand: [\"x\\0y\"]\n"),
              ElementsAre(HasSubstr("holds a zero byte")));
  EXPECT_THAT(job_file_errors("name: a\ncommand: [x]\nenv: {\"A=B\": c}\n"),
              ElementsAre(HasSubstr("a variable is called 'A=B'")));
  EXPECT_THAT(job_file_errors("name: a\ncommand: [x]\nenv: {A: \"b\\0\"}\n"),
              ElementsAre(HasSubstr("variable A holds a zero byte")));
}

}  // namespace
}  // namespace orrery::scenarios
