// DIJob manifests in files of jobs: every field of a pod template is mapped, ignored with a warning
// that names it, or refused by name.
#include "scenarios/language/manifests/pod_template.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "core/job/check_program.hpp"
#include "scenarios/language/manifests/pod_fields.hpp"
#include "tests/scenarios/language/job_files.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::scenarios {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string manifest_with(std::string_view spec) {
  return "apiVersion: diengine.opendilab.org/v2alpha1\nkind: DIJob\nmetadata: {name: a}\nspec:\n" +
         std::string(spec);
}

/// A manifest whose only container has a command and, on line 10 or before it, `fields`.
std::string container_with(std::string_view fields) {
  return manifest_with("  template:\n    spec:\n      containers:\n      - name: di-container\n" +
                       std::string("        command: [x]\n        ") + std::string(fields) + "\n");
}

/// The same for the pod: on line 9.
std::string pod_with(std::string_view fields) {
  return manifest_with("  template:\n    spec:\n      containers: [{name: c, command: [x]}]\n" +
                       std::string("      ") + std::string(fields) + "\n");
}

constexpr std::string_view kTasks = R"yaml(
apiVersion: diengine.opendilab.org/v2alpha1
kind: DIJob
metadata:
  name: walker
  namespace: rl
  labels: {team: robots}
  annotations: {note: hand-written}
  creationTimestamp: null
spec:
  priority: high
  backoffLimit: 2
  volumes: [{name: cache, emptyDir: {medium: Memory}}, {name: data, hostPath: {path: /data}}]
  tasks:
    - type: learner
      template:
        metadata: {labels: {app: walker, team: others}}
        spec:
          restartPolicy: Never
          terminationGracePeriodSeconds: 45
          tolerations: [{operator: Exists}]
          securityContext: {}
          containers:
            - name: di-container
              image: example.org/walker:1
              imagePullPolicy: Always
              workingDir: /walker
              command: [/bin/bash, -c]
              args: ["exec learn --dir $(DIR) --at $(OTHER) $$(HOME)"]
              env: [{name: ROOT, value: /data}, {name: DIR, value: $(ROOT)/runs}]
              resources: {limits: {cpu: "2", memory: 1Gi, nvidia.com/gpu: 1}}
              volumeMounts: [{name: data, mountPath: /data}, {name: data, mountPath: /mnt}]
    - type: collector
      replicas: 3
      template:
        spec: {containers: [{name: any, command: [collect]}]}
)yaml";

TEST(PodTemplate, EveryMappedFieldBecomesPartOfTheJob) {
  const JobSpec spec = read_job(kTasks);
  EXPECT_EQ(spec.name, "rl.walker");
  EXPECT_THAT(spec.labels, ElementsAre(KeyValue{"team", "robots"}, KeyValue{"app", "walker"}));
  EXPECT_EQ(spec.drain_grace, Duration::seconds(45)) << "the longest of the templates";
  ASSERT_EQ(spec.roles.size(), 2U);
  const RoleSpec& learner = spec.roles[0];
  EXPECT_EQ(learner.image, "example.org/walker:1");
  EXPECT_EQ(learner.working_directory, "/walker");
  EXPECT_THAT(learner.command,
              ElementsAre("/bin/bash", "-c", "exec learn --dir /data/runs --at $(OTHER) $(HOME)"));
  EXPECT_EQ(learner.environment[1], (KeyValue{"DIR", "/data/runs"}));
  EXPECT_EQ(learner.bundle.devices, 1);
  EXPECT_EQ(learner.bundle.cpu.count, 2000);
  EXPECT_THAT(learner.volumes, ElementsAre("/data:/data", "/data:/mnt"));
  EXPECT_THAT(spec.roles[1].volumes, IsEmpty()) << "it mounts none";
}

TEST(PodTemplate, AFolderOfTheJobIsMountedByItsName) {
  std::string text(kTasks);
  const std::string mount = "{name: data, mountPath: /mnt}";
  text.replace(text.find(mount), mount.size(), "{name: cache, mountPath: /dev/shm}");
  EXPECT_THAT(read_job(text).roles[0].volumes, ElementsAre("cache:/dev/shm:memory", "/data:/data"));
  const std::string medium = "medium: Memory";
  text.replace(text.find(medium), medium.size(), "");
  EXPECT_THAT(read_job(text).roles[0].volumes, ElementsAre("cache:/dev/shm", "/data:/data"));
}

TEST(PodTemplate, AMediumThatIsNotKnownIsRefused) {
  EXPECT_THAT(job_file_errors(pod_with("volumes: [{name: v, emptyDir: {medium: HugePages}}]")),
              ElementsAre(HasSubstr("volumes[0].emptyDir.medium: is 'HugePages', 'Memory'")));
}

TEST(PodTemplate, WhatIsIgnoredIsNamedInAWarning) {
  EXPECT_THAT(
      job_file_warnings(kTasks),
      ElementsAre(StartsWith("jobs.yaml:8: job walker: manifest.metadata.annotations: is ignored"),
                  "jobs.yaml:17: job walker: manifest.spec.tasks[0].template.metadata.labels.team: "
                  "is ignored: the job has the label already, as 'robots'",
                  StartsWith("jobs.yaml:21: job walker: "
                             "manifest.spec.tasks[0].template.spec.tolerations: is ignored"),
                  StartsWith("jobs.yaml:26: job walker: manifest.spec.tasks[0].template.spec."
                             "containers[0].imagePullPolicy: is ignored")));
}

TEST(PodTemplate, EveryFieldIsTreatedAsItsTableSays) {
  for (const FieldTable& table : pod_field_tables())
    for (const FieldRule& rule : table.rules) {
      std::string name(rule.name);
      if (const std::size_t star = name.find('*'); star != std::string::npos)
        name = name == "*/*" ? "example.com/thing" : name.substr(0, star) + "2Mi";
      const std::string field = "{" + name + ": {said: true}}";
      Reading reading({"pod.yaml"});
      const auto node = parse_yaml(field, "pod.yaml", 0);
      ASSERT_TRUE(node) << field;
      judge_object(reading, *node, table.object, "it");
      const Errors errors = reading.take_errors();
      const Errors warnings = reading.take_warnings();
      const std::string place = "pod.yaml:1: it." + name + ": is ";
      EXPECT_EQ(errors.size(), rule.treatment == FieldTreatment::Refused ? 1U : 0U) << field;
      EXPECT_EQ(warnings.size(), rule.treatment == FieldTreatment::Ignored ? 1U : 0U) << field;
      for (const Errors* said : {&errors, &warnings})
        for (const Error& each : *said)
          EXPECT_THAT(each.text(), AllOf(StartsWith(place), HasSubstr(std::string(rule.words))));
    }
}

TEST(PodTemplate, UnknownNamesAreErrorsWithTheNearestOne) {
  EXPECT_THAT(job_file_errors(container_with("volumeMount: []")),
              ElementsAre(AllOf(StartsWith("jobs.yaml:10: job a: manifest.spec.template.spec."
                                           "containers[0].volumeMount: is no field"),
                                HasSubstr("did you mean 'volumeMounts'?"))));
  EXPECT_THAT(job_file_errors(container_with("resources: {limits: {gpu: 1}}")),
              ElementsAre(HasSubstr("resources.limits.gpu: is no field")));
}

TEST(PodTemplate, ARefusalSaysWhatToDoInstead) {
  EXPECT_THAT(job_file_errors(pod_with("initContainers: [{name: fetch}]")),
              ElementsAre(AllOf(StartsWith("jobs.yaml:8: job a: manifest.spec.template.spec."
                                           "initContainers: is nothing that is done here"),
                                HasSubstr("isolation.prepare"))));
  EXPECT_THAT(job_file_errors(pod_with("volumes: [{name: v, secret: {secretName: s}}]")),
              ElementsAre(HasSubstr("volumes[0].secret: is nothing that is done here")));
  EXPECT_THAT(
      job_file_errors(container_with("env: [{name: N, valueFrom: {fieldRef: {fieldPath: x}}}]")),
      ElementsAre(HasSubstr("env[0].valueFrom: is nothing that is done here")));
  EXPECT_THAT(
      job_file_errors(pod_with("restartPolicy: Sometimes")),
      ElementsAre(HasSubstr("restartPolicy: is 'Sometimes', one of Always, OnFailure, Never")));
  EXPECT_THAT(job_file_errors(pod_with("os: {name: windows}")),
              ElementsAre(HasSubstr("os.name: is 'windows', 'linux' is needed")));
}

TEST(PodTemplate, EveryRestartPolicyIsTakenForNever) {
  for (const std::string policy : {"Always", "OnFailure"}) {
    EXPECT_THAT(job_file_warnings(pod_with("restartPolicy: " + policy)),
                ElementsAre(AllOf(HasSubstr("spec.restartPolicy: is " + policy),
                                  HasSubstr("taken for Never"))));
    EXPECT_THAT(job_file_warnings(container_with("restartPolicy: " + policy)),
                ElementsAre(HasSubstr("containers[0].restartPolicy: is " + policy)));
  }
  EXPECT_THAT(job_file_warnings(pod_with("restartPolicy: Never")), IsEmpty());
}

TEST(PodTemplate, OfAnotherVersionOrKindOneThingIsTold) {
  EXPECT_THAT(job_file_errors(R"yaml(
apiVersion: diengine.opendilab.org/v1alpha1
kind: DIJob
metadata: {name: old}
spec:
  group: xxx
  priorityClassName: ""
  cleanPodPolicy: Running
  volumes: [{name: work-dir, emptyDir: {}}]
  coordinator: {template: {spec: {containers: [{name: di-container, image: i}]}}}
  collector: {template: {spec: {containers: [{name: di-container, image: i}]}}}
  learner: {template: {spec: {containers: [{name: di-container, image: i}]}}}
)yaml"),
              ElementsAre(AllOf(StartsWith("jobs.yaml:2: job old: manifest.apiVersion: is "),
                                HasSubstr("spec.tasks"))));
  EXPECT_THAT(job_file_errors("{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {a: b}}"),
              ElementsAre(HasSubstr("manifest.kind: is 'Service', 'DIJob' is needed")));
}

constexpr std::string_view kWithConfigMap = R"yaml(
apiVersion: diengine.opendilab.org/v2alpha1
kind: DIJob
metadata: {name: configured}
spec:
  tasks:
    - type: learner
      template:
        spec:
          volumes: [{name: conf, configMap: {name: settings, defaultMode: 420}}]
          containers:
            - {name: di-container, command: [x], volumeMounts: [{name: conf, mountPath: /conf}]}
    - type: collector
      template:
        spec:
          volumes:
            - {name: conf, configMap: {name: settings, items: [{key: b.py, path: main.py}]}}
          containers:
            - {name: di-container, command: [x], volumeMounts: [{name: conf, mountPath: /conf}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  a.yaml: |
    rate: 0.1
  b.py: print()
)yaml";

TEST(PodTemplate, AConfigMapOfTheFileIsMountedAsFiles) {
  const JobSpec spec = read_job(kWithConfigMap);
  EXPECT_THAT(spec.roles[0].volumes, ElementsAre("conf:/conf"));
  EXPECT_THAT(spec.roles[1].volumes, ElementsAre("conf-2:/conf")) << "other files, another folder";
  EXPECT_THAT(spec.files,
              ElementsAre(JobFileSpec{"conf", "a.yaml", "rate: 0.1\n"},
                          JobFileSpec{"conf", "b.py", "print()"},
                          JobFileSpec{"conf-2", "main.py", "print()"}));
  EXPECT_THAT(job_file_warnings(kWithConfigMap),
              ElementsAre(HasSubstr("configMap.defaultMode: is ignored")));
}

TEST(PodTemplate, AConfigMapThatIsNotThereOrNoFileIsRefused) {
  std::string text(kWithConfigMap);
  text.replace(text.find("{name: settings, def"), 15, "{name: others  ");
  EXPECT_THAT(job_file_errors(text),
              ElementsAre(HasSubstr("configMap.name: is 'others', a ConfigMap of this file")));
  text = kWithConfigMap;
  text.replace(text.find("key: b.py"), 9, "key: c.py");
  EXPECT_THAT(job_file_errors(text), ElementsAre(HasSubstr("configMap.items.key: is 'c.py'")));
  text = kWithConfigMap;
  text.replace(text.find("b.py: print"), 4, "../b");
  EXPECT_THAT(job_file_errors(text), testing::Contains(HasSubstr("data.../b: is no name of a")));
  text = kWithConfigMap;
  text.replace(text.find("print()"), 7, std::string(kFilesBytesMax, 'x'));
  EXPECT_THAT(job_file_errors(text), testing::Contains(HasSubstr("at most 1048576 go with a job")));
  EXPECT_THAT(job_file_errors("{apiVersion: v1, kind: ConfigMap, metadata: {name: s}}"),
              ElementsAre(HasSubstr("there is no job")));
}

TEST(PodTemplate, OneContainerIsTheWorker) {
  EXPECT_THAT(job_file_errors(manifest_with(R"(
  template:
    spec:
      containers:
        - {name: proxy, image: p, command: [p]}
        - {name: di-container, command: [x]}
)")),
              ElementsAre(AllOf(StartsWith("jobs.yaml:9: job a: manifest.spec.template.spec."
                                           "containers[0]: stands beside the worker's container"),
                                HasSubstr("make it a task of its own"))));
}

TEST(PodTemplate, BrokenFormsAreErrorsAtOnce) {
  EXPECT_THAT(job_file_errors(manifest_with(R"(
  tasks:
    - type: learner
      template: {spec: {containers: [{args: [x], env: {A: 1}}]}}
    - type: collector
      template:
        spec:
          terminationGracePeriodSeconds: soon
          volumes: [{name: A_B}, {name: v, hostPath: {path: ../x}}, {name: v}]
          containers:
            - command: [x, [y]]
              image: [z]
              env: [{name: A=B}, {value: c}, text]
              volumeMounts: [{name: w, mountPath: /w}, {name: v, mountPath: data}]
    - type: evaluator
)")),
              ElementsAre(HasSubstr(":8: job a: manifest.spec.tasks[0].template.spec.containers[0]"
                                    ".env: is a map, a list"),
                          HasSubstr(":8: job a: manifest.spec.tasks[0].template.args: stand "
                                    "without a command"),
                          HasSubstr("terminationGracePeriodSeconds: is 'soon'"),
                          HasSubstr("volumes[0].name: is 'A_B', a DNS label"),
                          HasSubstr("volumes[1].hostPath.path: is '../x', a path"),
                          HasSubstr("volumes[2].name: is 'v' as an earlier one"),
                          HasSubstr("containers[0].command: is a list, a text"),
                          HasSubstr("containers[0].image: is a list, a text"),
                          HasSubstr("env[0].name: is 'A=B', a name without '='"),
                          HasSubstr("env[1].name: is missing or no text"),
                          HasSubstr("env[2]: is 'text', a map"),
                          HasSubstr("volumeMounts[0].name: is 'w', one of the volumes"),
                          HasSubstr("volumeMounts[1].mountPath: is 'data', a path"),
                          HasSubstr(":19: default.a: role evaluator: has no command")));
}

TEST(PodTemplate, WhatOnlyTheWorkerWillKnowCannotBePutIn) {
  EXPECT_THAT(job_file_errors(container_with("args: [--rank, $(DI_RANK)]")),
              ElementsAre(AllOf(HasSubstr("template.args: names $(DI_RANK)"),
                                HasSubstr("write ${DI_RANK} in a command that a shell runs"))));
}

TEST(PodTemplate, VariablesThatGrowEndAtTheLongestWord) {
  std::string environment = "env: [{name: A0, value: xxxxxxxxxxxxxxxx}";
  for (int i = 1; i < 60; ++i)
    environment += ", {name: A" + std::to_string(i) + ", value: $(A" + std::to_string(i - 1) +
                   ")$(A" + std::to_string(i - 1) + ")}";
  EXPECT_THAT(job_file_errors(container_with(environment + "]")),
              testing::Each(HasSubstr("is longer than 131071 bytes")));
}

TEST(PodTemplate, AListOfKubernetesIsReadItemByItem) {
  const std::string item = R"({apiVersion: diengine.opendilab.org/v2alpha1, kind: DIJob,
     metadata: {name: NAME, uid: x}, status: {phase: Running},
     spec: {template: {spec: {containers: [{name: c, command: [x]}]}}}})";
  std::string first = item;
  std::string second = item;
  first.replace(first.find("NAME"), 4, "a");
  second.replace(second.find("NAME"), 4, "b");
  const auto file = parse_job_file(
      "apiVersion: v1\nkind: List\nitems:\n  - " + first + "\n  - " + second + "\n", "jobs.yaml");
  ASSERT_TRUE(file) << file.errors().front().text();
  ASSERT_EQ(file->jobs.size(), 2U);
  EXPECT_EQ(file->jobs[1].name, "default.b");
  EXPECT_THAT(job_file_errors("{apiVersion: v1, kind: Service, metadata: {name: s}}"),
              testing::Contains(HasSubstr("manifest.kind: is 'Service', 'DIJob' is needed")));
}

TEST(PodTemplate, WhatDiOrchestratorWouldFailAtRunTimeIsRefusedAtOnce) {
  EXPECT_THAT(job_file_errors(manifest_with(R"(  tasks:
    - {type: learner, template: {spec: {containers: [{command: [x]}]}}}
    - {type: learner, name: b, template: {spec: {containers: [{command: [x]}]}}}
)")),
              ElementsAre(StartsWith("jobs.yaml:7: default.a: role b: a second task of type")));
}

TEST(PodTemplate, CommonKeysStandBesideAManifestInAnEntry) {
  std::string text = "start_deadline: 90s\nmanifest:\n";
  std::istringstream lines(container_with("image: i"));
  for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
  const JobSpec spec = read_job(text);
  EXPECT_EQ(spec.start_deadline, Duration::seconds(90));
  EXPECT_EQ(spec.roles[0].image, "i");
}

/// A table as docs/job_files.md must have it.
std::string written(const FieldTable& table) {
  std::string text =
      "\n### `" + std::string(table.object) + "`\n\n| field | treatment | |\n| --- | --- | --- |\n";
  for (const FieldRule& rule : table.rules)
    text += "| `" + std::string(rule.name) + "` | " + std::string(to_string(rule.treatment)) +
            " | " + std::string(rule.words) + " |\n";
  return text;
}

TEST(PodTemplate, TheTablesAreDocumented) {
  const std::string document =
      text_of_file(std::string(ORRERY_SOURCE_ROOT) + "/docs/job_files.md") + '\n';
  for (const FieldTable& table : pod_field_tables())
    EXPECT_TRUE(document.find(written(table) + "\n") != std::string::npos)
        << "docs/job_files.md has no" << written(table);
}

}  // namespace
}  // namespace orrery::scenarios
